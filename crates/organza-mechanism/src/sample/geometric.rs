//! The geometric distribution, and the hazard that lets one draw cross many trials.

use super::exponential::exponential;
use crate::random::PrivateRandom;

/// What trials of one success probability use up of an exponential: -ln(1 - probability) a trial.
///
/// n failures in a row have probability (1-p)^n = exp(-n hazard), the chance that an exponential of
/// mean 1 exceeds n hazards. Runs of trials with different probabilities share one exponential.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hazard(f64);

impl Hazard {
    /// The hazard of a success probability in \[0, 1\]; what is not a number never succeeds.
    #[inline]
    pub fn of(probability: f64) -> Self {
        let probability = if probability.is_nan() { 0.0 } else { probability.clamp(0.0, 1.0) };
        Self(-libm::log1p(-probability))
    }

    /// How many of `trials` trials fail before the first success, with `patience` left at the start;
    /// `None`, and less patience, if all of them fail.
    #[inline]
    pub fn cross(self, trials: u64, patience: &mut f64) -> Option<u64> {
        if trials == 0 {
            return None;
        }
        let needed = self.0 * trials as f64;
        if *patience >= needed {
            *patience -= needed;
            return None;
        }
        let failures = (*patience / self.0) as u64;
        *patience = 0.0;
        Some(failures.min(trials - 1))
    }
}

/// The number of failures before the first success; `u64::MAX` if there is none.
#[inline]
pub fn geometric(probability: f64, random: &mut PrivateRandom) -> u64 {
    Hazard::of(probability).cross(u64::MAX, &mut exponential(random)).unwrap_or(u64::MAX)
}
