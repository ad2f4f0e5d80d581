//! A private count: how many units there are.

use crate::plan::{PlanError, positive};
use crate::random::{Purpose, RandomSource};
use crate::sample::laplace;
use organza_ledger::{Event, Neighbouring};

/// A count with rounded Laplace noise.
///
/// # Privacy
/// One unit more or less changes the count by one (replacing one changes nothing), so noise of scale
/// 1 / epsilon makes it epsilon-differentially private, and rounding an integer plus noise is a
/// post-processing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisyCount {
    epsilon: f64,
}

impl NoisyCount {
    /// A count that costs `epsilon`.
    ///
    /// # Errors
    /// If epsilon is not positive.
    pub fn new(epsilon: f64) -> Result<Self, PlanError> {
        Ok(Self { epsilon: positive("count epsilon", epsilon)? })
    }

    /// What releasing it costs.
    pub fn event(&self) -> Event {
        Event::Laplace { noise_multiplier: 1.0 / self.epsilon }
    }

    /// The noisy count: at least 1, whatever the data.
    pub fn release(&self, count: u64, source: &RandomSource) -> u64 {
        let noise = laplace(&mut source.substream(Purpose::Release, 0, 0)) / self.epsilon;
        let noisy = i128::from(count) + noise.round_ties_even() as i128;
        noisy.clamp(1, i128::from(u64::MAX >> 1)) as u64
    }

    /// Whether `neighbouring` counts differ at all: replacing a unit leaves their number as it is.
    pub fn is_public(neighbouring: Neighbouring) -> bool {
        neighbouring == Neighbouring::ReplaceOne
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_has_the_scale_of_the_event() {
        let count = NoisyCount::new(0.1).expect("a good epsilon");
        let draws = 20_000;
        let mean = (0..draws)
            .map(|seed| count.release(100_000, &RandomSource::from_seed(seed)).abs_diff(100_000))
            .sum::<u64>() as f64
            / draws as f64;
        // The mean size of a Laplace variable is its scale, 10; five deviations of the mean.
        assert!((mean - 10.0).abs() < 5.0 * 10.0 / (draws as f64).sqrt(), "{mean}");
        assert_eq!(
            NoisyCount::new(1e-9).map(|it| it.release(0, &RandomSource::from_seed(1)) >= 1),
            Ok(true)
        );
        assert!(NoisyCount::new(0.0).is_err());
    }
}
