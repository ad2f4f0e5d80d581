//! Steps by the settings of the engine: DP-SGD, or private selection.

use crate::optimizer::OptimizerSettings;
use crate::schedule::{CalibrationError, Schedule};
use crate::settings::{EngineSettings, Steps};
use crate::tables::defers;
use organza_accountant::Accountant;
use organza_ledger::{Account, Event};
use organza_mechanism::{
    AdaptiveClip, DeferredGrid, NoiseSettings, Plan, PlanSettings, SelectionSettings, Shape, Split,
};

/// The epsilon of a draw where noise was given and no epsilon of a draw.
const DRAW: f64 = 0.1;

/// Steps as the settings of the engine say: public or released numbers beside them.
pub(crate) struct EngineSchedule {
    pub(crate) settings: EngineSettings,
    pub(crate) shape: Shape,
    /// The public or released number of units.
    pub(crate) units: u64,
}

impl Schedule for EngineSchedule {
    fn steps(&self) -> u64 {
        let training = &self.settings.training;
        let steps = training.epochs / self.rate();
        training.steps.unwrap_or(steps.round().clamp(1.0, 1e12) as u64)
    }

    fn sampling(&self) -> (f64, f64) {
        (self.rate(), self.settings.training.batch)
    }

    fn fixed(&self) -> Option<Result<Plan, CalibrationError>> {
        let multiplier = self.settings.privacy.noise_multiplier?;
        Some(self.with_noise(multiplier, self.settings.selection.epsilon))
    }

    fn optimizer(&self, _: Option<&Plan>) -> OptimizerSettings {
        self.settings.training.optimizer
    }

    /// It is as fine as that asks for at the epsilon of the budget, or, where noise was given and no budget, at what
    /// everything else costs.
    fn deferred(&self, before: &[Event]) -> Result<Option<DeferredGrid>, CalibrationError> {
        let EngineSettings { privacy, training, .. } = &self.settings;
        let (shape, steps) = (&self.shape, self.steps());
        if !self.settings.may_defer() || !defers(shape, training.batch, steps) {
            return Ok(None);
        }
        let epsilon = match (privacy.epsilon, privacy.noise_multiplier) {
            (Some(epsilon), _) => epsilon,
            (None, Some(multiplier)) => {
                let plan = self.with_noise(multiplier, None)?;
                let mut events = before.to_vec();
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

    /// By [`Selection::split`](organza_mechanism::Selection::split).
    fn at_scale(&self, together: f64) -> Result<Plan, CalibrationError> {
        if !self.selects() {
            return self.with_noise(together, None);
        }
        let selection = &self.settings.selection;
        let draws = selection.draws(&self.shape);
        let Split { noise_multiplier, draw } = selection.split(draws, together);
        self.with_noise(noise_multiplier, draw)
    }
}

impl EngineSchedule {
    fn selects(&self) -> bool {
        self.settings.steps == Some(Steps::Selected)
    }

    fn rate(&self) -> f64 {
        (self.settings.training.batch / self.units as f64).min(1.0)
    }

    fn with_noise(&self, multiplier: f64, draw: Option<f64>) -> Result<Plan, CalibrationError> {
        let EngineSettings { privacy, training, selection, .. } = &self.settings;
        let shape = self.shape.clone();
        let selection = match self.selects() {
            false => SelectionSettings::Everything,
            true => selection.settings(&shape, draw.unwrap_or(DRAW)),
        };
        // Without selection there is nothing to clip again, as in the paper's DP-SGD, and there are no candidates.
        let second_clip = training.second_clip.filter(|_| self.selects());
        let plan = Plan::new(PlanSettings {
            shape,
            neighbouring: privacy.neighbouring,
            rate: self.rate(),
            expected_batch: training.batch,
            clip: training.clip,
            selection,
            noise: NoiseSettings::Gaussian { multiplier, second_clip },
        })?;
        let plan = match training.candidate_clip.filter(|_| self.selects()) {
            Some(clip) => plan.clipping_candidates(clip)?,
            None => plan,
        };
        Ok(match training.adaptive_clip {
            Some(quantile) => plan.adapting(AdaptiveClip::new(quantile, training.clip))?,
            None => plan,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use organza_ledger::Unit;
    use organza_mechanism::By;

    fn plan(settings: &EngineSettings) -> Plan {
        let (settings, shape) = (settings.clone(), Shape::table(1_000, 100).unwrap());
        let known = EngineSchedule { settings, shape, units: 200_000 };
        assert_eq!((known.rate(), known.steps()), (1e-4, 200_000));
        known.fixed().unwrap().unwrap()
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

    /// It is for candidates of a selection, and makes their noise smaller.
    #[test]
    fn the_clip_at_each_candidate_is_for_steps_that_select() {
        let mut settings = EngineSettings::new("train", Unit::Pair, 10.0, 1e-5);
        settings.privacy.noise_multiplier = Some(0.5);
        settings.training.batch = 20.0;
        settings.training.candidate_clip = Some(settings.training.clip / 40.0);
        let everywhere = plan(&settings);
        assert_eq!(everywhere.candidate_clip(), None);
        settings.steps = Some(Steps::Selected);
        let selected = plan(&settings);
        assert_eq!(selected.candidate_clip(), settings.training.candidate_clip);
        // 100 are selected: 10 of 40.
        let ratio = selected.noise_deviation() / everywhere.noise_deviation();
        assert!((ratio - 0.25).abs() < 1e-12, "{ratio}");
    }
}
