//! From settings to a plan: how much noise a budget asks for.

use crate::phases::noise;
use crate::settings::{EngineSettings, SelectionRule, Steps};
use crate::tables::defers;
use organza_accountant::Accountant;
use organza_accountant::calibrate::CalibrateError;
use organza_ledger::{Account, Event, MaxNoise};
use organza_mechanism::{
    AdaptiveClip, By, DeferredGrid, NoiseSettings, Plan, PlanError, PlanSettings,
    SelectionSettings, Shape, ShapeError,
};
use thiserror::Error;

/// The delta of one limited-domain selection.
const LIMITED_DOMAIN_DELTA: f64 = 1e-10;

/// Why settings give no plan.
#[derive(Debug, Error)]
pub enum CalibrationError {
    /// The model has no sensible shape.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A setting makes no sense.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No noise meets the budget.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    /// It is not said how much noise there shall be.
    #[error(
        "neither a budget nor a noise multiplier is given: give --epsilon or --noise-multiplier"
    )]
    NoBudget,
}

/// What is known before a plan is made.
pub(crate) struct Known<'a> {
    pub(crate) settings: &'a EngineSettings,
    pub(crate) tables: Vec<(u64, u64)>,
    /// The public or released number of units.
    pub(crate) units: u64,
    /// What was charged before training.
    pub(crate) before: Vec<Event>,
}

impl Known<'_> {
    fn selects(&self) -> bool {
        self.settings.steps == Some(Steps::Selected)
    }

    /// The probability with which a unit joins a batch.
    pub(crate) fn rate(&self) -> f64 {
        (self.settings.training.batch / self.units as f64).min(1.0)
    }

    /// The number of steps.
    pub(crate) fn steps(&self) -> u64 {
        let training = &self.settings.training;
        let steps = training.epochs / self.rate();
        training.steps.unwrap_or(steps.round().clamp(1.0, 1e12) as u64)
    }

    /// Names settings that make no sense at any noise, so that they are not taken for a budget that is too small.
    pub(crate) fn first_look(&self) -> Result<(), CalibrationError> {
        match self.settings.privacy.noise_multiplier {
            Some(multiplier) => self.with_noise(multiplier, self.settings.selection.epsilon)?,
            None => self.at_scale(1.0)?,
        };
        Ok(())
    }

    /// The plan that spends the budget, or that has the noise which was asked for.
    pub(crate) fn plan(&self) -> Result<Plan, CalibrationError> {
        if let Some(multiplier) = self.settings.privacy.noise_multiplier {
            return self.with_noise(multiplier, self.settings.selection.epsilon);
        }
        self.first_look()?;
        let mut before = self.before.clone();
        before.extend(self.deferred()?.map(|grid| grid.event()));
        let together = noise(&self.settings.privacy, &before, 1.0, |together| {
            let plan = self.at_scale(together).ok()?;
            Some(vec![plan.step_event().clone().repeat(self.steps())])
        })?;
        self.at_scale(together)
    }

    /// The grid on which noise is left for later, where that pays: it costs a little of delta.
    ///
    /// It is as fine as that asks for at the epsilon of the budget, or, where noise was given and no budget, at what
    /// everything else costs.
    pub(crate) fn deferred(&self) -> Result<Option<DeferredGrid>, CalibrationError> {
        let EngineSettings { privacy, training, .. } = self.settings;
        let (shape, steps) = (Shape::tables(&self.tables)?, self.steps());
        let EngineSettings { private, steps: place, .. } = self.settings;
        if !private
            || *place != Some(Steps::Everywhere)
            // Whole numbers of a table need one grid for all steps.
            || training.adaptive_clip.is_some()
            || !defers(&shape, training.batch, training.optimizer, training.average, steps)
        {
            return Ok(None);
        }
        let epsilon = match (privacy.epsilon, privacy.noise_multiplier) {
            (Some(epsilon), _) => epsilon,
            (None, Some(multiplier)) => {
                let plan = self.with_noise(multiplier, None)?;
                let mut events = self.before.clone();
                events.push(plan.step_event().clone().repeat(steps));
                let account = Accountant::new(privacy.neighbouring);
                match Account::epsilon(&account, &events, privacy.delta) {
                    Ok(epsilon) => epsilon,
                    Err(_) => return Ok(None),
                }
            }
            (None, None) => return Err(CalibrationError::NoBudget),
        };
        Ok(DeferredGrid::new(shape.coordinates(), steps, epsilon, privacy.delta))
    }

    /// The plan whose selection and noise together cost about as much as one Gaussian of multiplier
    /// `together`: of 1 / together^2 the selection gets its share f, the noise the rest. A draw of
    /// bounded range e counts e^2 / 4, one of pure differential privacy e^2.
    fn at_scale(&self, together: f64) -> Result<Plan, CalibrationError> {
        let choice = &self.settings.selection;
        let selects =
            self.selects() && choice.rule != SelectionRule::Uniform && choice.epsilon.is_none();
        if !selects {
            return self.with_noise(together, choice.epsilon);
        }
        let draw = (choice.share / self.draws()? as f64).sqrt() / together;
        let draw = match choice.rule {
            SelectionRule::Exponential | SelectionRule::LimitedDomain => 2.0 * draw,
            _ => draw,
        };
        self.with_noise(together / (1.0 - choice.share).sqrt(), Some(draw))
    }

    fn with_noise(&self, multiplier: f64, draw: Option<f64>) -> Result<Plan, CalibrationError> {
        let EngineSettings { privacy, training, .. } = self.settings;
        let selection = match self.selects() {
            false => SelectionSettings::Everything,
            true => self.selection(draw.unwrap_or(0.1))?,
        };
        // Without selection there is nothing to clip again, as in the paper's DP-SGD.
        let second_clip = training.second_clip.filter(|_| self.selects());
        let plan = Plan::new(PlanSettings {
            shape: Shape::tables(&self.tables)?,
            neighbouring: privacy.neighbouring,
            rate: self.rate(),
            expected_batch: training.batch,
            clip: training.clip,
            selection,
            noise: NoiseSettings::Gaussian { multiplier, second_clip },
        })?;
        Ok(match training.adaptive_clip {
            Some(quantile) => plan.adapting(AdaptiveClip::new(quantile, training.clip))?,
            None => plan,
        })
    }

    fn selection(&self, epsilon: f64) -> Result<SelectionSettings, CalibrationError> {
        let choice = &self.settings.selection;
        let by = if choice.by_row { By::Row } else { By::Coordinate };
        let draws = self.draws()?;
        let (cap, half) = (choice.cap, epsilon / 2.0);
        Ok(match choice.rule {
            SelectionRule::Exponential => {
                SelectionSettings::Exponential { by, draws, epsilon, cap }
            }
            SelectionRule::SparseVector => SelectionSettings::SparseVector {
                by,
                hits: draws,
                threshold: choice.threshold,
                threshold_epsilon: half,
                query_epsilon: half,
                cap: Some(cap),
            },
            SelectionRule::NoisyMax => {
                let noise = MaxNoise::Laplace;
                SelectionSettings::NoisyMax { by, draws, epsilon, noise, cap: Some(cap) }
            }
            SelectionRule::LimitedDomain => SelectionSettings::LimitedDomain {
                draws,
                domain: (10 * draws).min(self.candidates(true)?),
                rows_per_unit: 32.min(self.candidates(true)?),
                epsilon,
                delta: LIMITED_DOMAIN_DELTA,
            },
            SelectionRule::Uniform => SelectionSettings::Uniform { by, draws },
        })
    }

    /// floor(gamma p), at least one.
    fn draws(&self) -> Result<u64, CalibrationError> {
        let choice = &self.settings.selection;
        let by_row = choice.by_row || choice.rule == SelectionRule::LimitedDomain;
        let all = self.candidates(by_row)? as f64;
        Ok(choice.draws.unwrap_or(((choice.gamma * all).floor() as u64).max(1)))
    }

    fn candidates(&self, by_row: bool) -> Result<u64, CalibrationError> {
        let shape = Shape::tables(&self.tables)?;
        Ok(if by_row { shape.rows() } else { shape.coordinates() })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use organza_ledger::Unit;

    fn plan(settings: &EngineSettings) -> Plan {
        let known =
            Known { settings, tables: vec![(1_000, 100)], units: 200_000, before: Vec::new() };
        assert_eq!((known.rate(), known.steps()), (1e-4, 200_000));
        known.plan().unwrap()
    }

    /// Table 1 of the paper: the second clip is not for DP-SGD, and 100 of 100,000 are selected.
    #[test]
    fn the_second_clip_is_for_what_was_selected() {
        let mut settings = EngineSettings::new("train", Unit::Pair, 10.0, 1e-5);
        settings.privacy.noise_multiplier = Some(0.5);
        settings.selection.epsilon = Some(0.283_79);
        (settings.training.batch, settings.training.second_clip) = (20.0, Some(1.0));
        let noise = |second_clip| NoiseSettings::Gaussian { multiplier: 0.5, second_clip };
        assert_eq!(plan(&settings).settings().noise, noise(None));
        settings.steps = Some(Steps::Selected);
        let sparse = plan(&settings);
        assert_eq!(sparse.settings().noise, noise(Some(1.0)));
        let by = By::Coordinate;
        let expected =
            SelectionSettings::Exponential { by, draws: 100, epsilon: 0.283_79, cap: 0.1 };
        assert_eq!(sparse.settings().selection, expected);
    }
}
