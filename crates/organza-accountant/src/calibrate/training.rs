//! Training by sampled, selected and noised steps.

use super::{CalibrateError, Target, positive, search};
use crate::pld::Guarantee;
use organza_ledger::Event;

/// The least and the largest noise multiplier that is considered.
const MULTIPLIERS: (f64, f64) = (0.01, 1e6);

/// Steps on Poisson batches, each of which may select coordinates and adds Gaussian noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Training {
    /// The probability with which a unit joins a batch.
    pub rate: f64,
    /// The number of steps.
    pub steps: u64,
    /// How coordinates are selected, if not all get noise.
    pub selection: Option<Selection>,
}

/// How the coordinates that get noise are selected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Selection {
    /// Draws of bounded range, as in [`Event::Exponential`].
    Exponential {
        /// The number of draws.
        draws: u64,
        /// The share f of the budget that goes to selection: of 1/s^2, where s is the multiplier of
        /// one Gaussian that would cost as much as selection and noise together. The noise gets the
        /// multiplier s / sqrt(1-f), a draw the range 2 sqrt(f / draws) / s, since k draws of range
        /// eta compose like a Gaussian of squared shift k eta^2 / 4.
        share: f64,
        /// What else is known of the scores and of the noise on what was selected.
        capped: Option<Capped>,
    },
    /// A mask that does not depend on the data and lets this share of the coordinates through.
    Uniform {
        /// The share of the coordinates.
        share: f64,
    },
}

/// What allows selection and noise to be priced as one, as in [`Event::Selected`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capped {
    /// The number of candidates.
    pub candidates: u64,
    /// The largest score.
    pub cap: f64,
    /// How far a unit moves the whole vector, in L2.
    pub l2: f64,
    /// How far it moves what gets the noise; none if no second clip bounds it further.
    pub sensitivity: Option<f64>,
}

/// A training that meets its target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibrated {
    /// Standard deviation of the noise over the sensitivity.
    pub noise_multiplier: f64,
    /// The range of one draw, where there are draws.
    pub selection_epsilon: Option<f64>,
    /// What it costs.
    pub guarantee: Guarantee,
}

impl Training {
    /// The event of the whole training. `selection_epsilon` is only used where there are draws.
    pub fn event(&self, noise_multiplier: f64, selection_epsilon: f64) -> Event {
        let noise = Event::Gaussian { noise_multiplier };
        let step = match self.selection {
            None => noise,
            Some(Selection::Uniform { share }) => {
                Event::UniformMask { share, event: Box::new(noise) }
            }
            Some(Selection::Exponential { draws, capped, .. }) => {
                let by = Event::Exponential {
                    epsilon: selection_epsilon,
                    draws,
                    candidates: capped.map(|known| known.candidates),
                    cap: capped.map(|known| known.cap),
                    l2: capped.map(|known| known.l2),
                };
                match capped {
                    None => Event::Compose(vec![by, noise]),
                    Some(Capped { sensitivity, .. }) => {
                        Event::Selected { by: Box::new(by), sensitivity, noise: Box::new(noise) }
                    }
                }
            }
        };
        step.poisson(self.rate).repeat(self.steps)
    }

    /// The smallest noise multiplier that meets `target`, and the range of a draw with it.
    ///
    /// # Errors
    /// If a field makes no sense, no multiplier up to 10^6 is enough, or the accountant refuses.
    pub fn noise_multiplier(&self, target: &Target) -> Result<Calibrated, CalibrateError> {
        target.check()?;
        positive("rate", self.rate)?;
        let split = |together: f64| match self.selection {
            Some(Selection::Exponential { draws, share, .. }) if draws > 0 => {
                let range = 2.0 * (share / draws as f64).sqrt() / together;
                (together / (1.0 - share).sqrt(), Some(range))
            }
            _ => (together, None),
        };
        if let Some(Selection::Exponential { share, .. }) = self.selection
            && !(0.0..1.0).contains(&share)
        {
            let expected = "at least 0 and below 1";
            return Err(CalibrateError::Invalid { field: "share", value: share, expected });
        }
        // A guess: 1/s falls with the logarithm of the rate, and with the root of all exposures.
        let exposures = (self.steps.max(1) as f64).sqrt() * self.rate;
        let guess =
            (3.0 * exposures / target.epsilon).max(0.5) * if self.rate < 1.0 { 1.0 } else { 1.4 };
        let (together, guarantee) =
            search::falling("noise multiplier", target, guess, MULTIPLIERS, |together| {
                let (multiplier, range) = split(together);
                target.price(&self.event(multiplier, range.unwrap_or(0.0)))
            })?;
        let (noise_multiplier, selection_epsilon) = split(together);
        Ok(Calibrated { noise_multiplier, selection_epsilon, guarantee })
    }

    /// The largest range of a draw that meets `target` beside noise of a given multiplier.
    ///
    /// # Errors
    /// If there are no draws, the noise alone costs too much, or the accountant refuses.
    pub fn selection_epsilon(
        &self,
        noise_multiplier: f64,
        target: &Target,
    ) -> Result<Calibrated, CalibrateError> {
        target.check()?;
        positive("noise_multiplier", noise_multiplier)?;
        let Some(Selection::Exponential { draws: 1.., .. }) = self.selection else {
            return Err(CalibrateError::Unreachable {
                parameter: "selection epsilon",
                reason: "the training draws nothing".into(),
            });
        };
        let (range, guarantee) =
            search::rising("selection epsilon", target, 0.1, (1e-9, 20.0), |range| {
                target.price(&self.event(noise_multiplier, range))
            })?;
        Ok(Calibrated { noise_multiplier, selection_epsilon: Some(range), guarantee })
    }
}
