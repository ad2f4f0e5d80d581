//! A private count: how many units there are.

use crate::due::NotPaid;
use crate::plan::{PlanError, positive};
use crate::random::RandomSource;
use crate::release::Release;
use crate::sample::IntegerNoise;
use organza_ledger::{Charged, Event, Neighbouring};

/// The largest epsilon that is spent: noise is then a single step with probability 10^-14.
const MOST: f64 = 32.0;

/// A count with discrete Laplace noise, drawn exactly.
///
/// # Privacy
/// Neighbours' counts differ by at most one, so noise with Pr\[z\] ~ e^(-|z| / scale), scale at least
/// 1 / epsilon, makes it epsilon-differentially private, for exactly the float that is charged. Rate,
/// steps and noise of what follows are chosen by the outcome, so the event is
/// [`Event::Added`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisyCount {
    epsilon: f64,
    neighbouring: Neighbouring,
    noise: IntegerNoise,
}

impl NoisyCount {
    /// A count that costs `epsilon`, or 32 if that is less. For either relation neighbours' counts must differ by
    /// one at the most.
    ///
    /// # Errors
    /// If epsilon is not positive, or below 10^-12.
    pub fn new(epsilon: f64, neighbouring: Neighbouring) -> Result<Self, PlanError> {
        let epsilon = positive("count epsilon", epsilon)?.min(MOST);
        // The float above the quotient is no less than the true quotient.
        let noise = IntegerNoise::discrete_laplace((1.0 / epsilon).next_up())?;
        Ok(Self { epsilon, neighbouring, noise })
    }

    /// What releasing it costs.
    pub fn event(&self) -> Event {
        Event::Added { epsilon: self.epsilon }
    }

    /// The release under a purpose, which names its charge and its noise.
    pub fn release(&self, purpose: &str, source: &RandomSource) -> Release {
        Release::new(purpose, self.event(), self.neighbouring, source)
    }

    /// The noisy count: at least 1, whatever the data.
    ///
    /// # Errors
    /// If the charge is not for this release of this count, or it was released before.
    pub fn noise(&self, count: u64, release: &Release, paid: Charged) -> Result<u64, NotPaid> {
        let noise = self.noise.draw(&mut release.random(paid, &self.event())?.shard(0));
        let noisy = i128::from(count) + i128::from(noise);
        Ok(noisy.clamp(1, i128::from(u64::MAX >> 1)) as u64)
    }

    /// Whether all neighbours have the same count: replacing a unit leaves the number of all units as it
    /// is. The number of those that remain after some were held out by what they are is another matter.
    pub fn is_public(neighbouring: Neighbouring) -> bool {
        neighbouring == Neighbouring::ReplaceOne
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use organza_ledger::testing::paid;

    fn noisy(epsilon: f64) -> NoisyCount {
        NoisyCount::new(epsilon, Neighbouring::AddRemove).expect("a good epsilon")
    }

    fn drawn(count: &NoisyCount, truth: u64, seed: u64) -> u64 {
        let release = count.release("units", &RandomSource::from_seed(seed));
        count.noise(truth, &release, paid(release.charge())).expect("paid")
    }

    #[test]
    fn the_noise_has_the_scale_of_the_event() {
        let count = noisy(0.1);
        let draws = 20_000;
        let mean = (0..draws)
            .map(|seed| drawn(&count, 100_000, seed).abs_diff(100_000))
            .sum::<u64>() as f64
            / draws as f64;
        // E|Z| is 2a / (1 - a^2) = 9.983 with a = e^(-0.1), its deviation 10; five of the mean.
        assert!((mean - 9.983).abs() < 5.0 * 10.0 / (draws as f64).sqrt(), "{mean}");
        assert!(drawn(&noisy(1e-9), 0, 1) >= 1);
        assert!(NoisyCount::new(0.0, Neighbouring::AddRemove).is_err());
    }

    /// Neighbouring counts, at a cost that shows: no outcome is more than e^epsilon times as likely.
    /// The chance that a sound release fails is below 1e-6 (five and a half deviations, 6 outcomes).
    #[test]
    fn neighbouring_counts_are_as_close_as_the_event_says() {
        let count = noisy(0.5);
        assert_eq!(count.event(), Event::Added { epsilon: 0.5 });
        let draws = 40_000;
        let shares = |truth: u64| {
            let mut hits = [0_u32; 6];
            for seed in 0..draws {
                let outcome = drawn(&count, truth, seed + (truth << 32));
                if let Some(hit) = hits.get_mut(outcome.wrapping_sub(98) as usize) {
                    *hit += 1;
                }
            }
            hits.map(|hits| f64::from(hits) / draws as f64)
        };
        let excess = |epsilon: f64| {
            let (left, right) = (shares(100), shares(101));
            let pairs = left.into_iter().zip(right);
            pairs
                .map(|(left, right)| {
                    let (more, less) = (left.max(right), left.min(right));
                    let bound = epsilon.exp() * less;
                    (more - bound) / ((more + epsilon.exp() * bound) / draws as f64).sqrt()
                })
                .fold(f64::NEG_INFINITY, f64::max)
        };
        assert!(excess(0.5) < 5.5, "{}", excess(0.5));
        // The broken twin: the same noise, charged as 0.4.
        assert!(excess(0.4) > 5.5, "{}", excess(0.4));
    }

    #[test]
    fn every_epsilon_of_a_budget_is_taken() {
        for epsilon in [1e-11, 0.03, 1.0, 40.0, 1e6] {
            let count = noisy(epsilon);
            assert_eq!(count.event(), Event::Added { epsilon: epsilon.min(32.0) });
        }
    }
}
