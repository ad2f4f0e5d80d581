//! A lower bound on epsilon from one training run.

use statrs::distribution::{Binomial, Discrete};

/// Bisections of an interval that is at most one wide: enough for ten digits.
const BISECTIONS: u32 = 40;
/// No run of 64-bit counts has a lower bound above this.
const LARGEST_EPSILON: f64 = 64.0;

/// How likely so many correct guesses are at most, if training is (epsilon, delta)-differentially
/// private: Theorem 5.2 of Steinke, Nasr and Jagielski, *Privacy auditing with one (1) training run*,
/// 2023.
///
/// Of `canaries` canaries each is in the training data or not by its own fair coin; an observer of
/// everything that training released makes `guesses` guesses about coins and abstains from the others.
/// With F(v) = Pr\[Binomial(r, e^epsilon / (1 + e^epsilon)) >= v\],
///
/// ```text
/// Pr[correct >= v] <= F(v) + 2 m delta max over i in 1..=v of (F(v - i) - F(v)) / i
/// ```
///
/// # Conditions
/// A canary is one unit of privacy under add-remove; coins are fair and independent of each other, of
/// the phrases and of how canaries are scored; sampling rate and batch size do not depend on them; the
/// number of guesses was fixed beforehand. m counts all canaries, those without a guess included.
///
/// More correct guesses than guesses are as likely as all correct ones; no guesses prove nothing.
pub(crate) fn probability_of_so_many(
    canaries: u64,
    guesses: u64,
    correct: u64,
    epsilon: f64,
    delta: f64,
) -> f64 {
    let correct = correct.min(guesses);
    let chance = 1.0 / (1.0 + (-epsilon).exp());
    let Ok(law) = Binomial::new(chance, guesses) else { return 1.0 };
    // Summed from the far end, where the terms are small.
    let at_least: f64 = (correct..=guesses).rev().map(|count| law.pmf(count)).sum();
    let (mut below, mut steepest) = (0.0, 0.0_f64);
    for (distance, count) in (1..).zip((0..correct).rev()) {
        below += law.pmf(count);
        steepest = steepest.max(below / f64::from(distance));
        // The sum never passes 1, so from here on no quotient can be larger.
        if 1.0 / f64::from(distance) <= steepest {
            break;
        }
    }
    (at_least + 2.0 * canaries as f64 * delta * steepest).min(1.0)
}

/// The largest epsilon that so many correct guesses refute at the level `error`: with probability at
/// least 1 - `error` over coins and training, training is not (epsilon', delta)-differentially private
/// for any epsilon' below the result. Zero if nothing is refuted.
pub fn lower_bound(canaries: u64, guesses: u64, correct: u64, delta: f64, error: f64) -> f64 {
    let refuted =
        |epsilon: f64| probability_of_so_many(canaries, guesses, correct, epsilon, delta) <= error;
    if !refuted(0.0) {
        return 0.0;
    }
    let mut low = 0.0;
    while refuted(low + 1.0) {
        low += 1.0;
        if low >= LARGEST_EPSILON {
            return low;
        }
    }
    let mut high = low + 1.0;
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if refuted(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use organza_mechanism::sample::coin;
    use organza_mechanism::{Purpose, RandomSource};

    /// (canaries, guesses, correct, epsilon, delta) and the probability, by scipy.stats.binom.
    const PROBABILITIES: [(u64, u64, u64, f64, f64, f64); 5] = [
        (10_000, 10_000, 8_808, 1.9, 0.0, 0.0005501335111727621),
        (10_000, 1_000, 700, 0.5, 1e-5, 0.0018660565715199332),
        (2_000, 400, 330, 1.0, 1e-6, 8.080551912681336e-05),
        (100, 10, 10, 1.0, 0.0, 0.04360354279412869),
        (5_000, 1_000, 600, 0.3, 1e-4, 0.07376360802085381),
    ];
    /// (canaries, guesses, correct, delta) and the bound with 95 % confidence, by the same.
    const BOUNDS: [(u64, u64, u64, f64, f64); 5] = [
        (10_000, 10_000, 8_808, 0.0, 1.9490046744454863),
        (10_000, 1_000, 700, 1e-5, 0.7292532390257122),
        (2_000, 400, 330, 1e-6, 1.3291594193751939),
        (100, 10, 10, 0.0, 1.051873233231709),
        (5_000, 1_000, 500, 1e-5, 0.0),
    ];

    #[test]
    fn figures_are_those_of_scipy() {
        for (canaries, guesses, correct, epsilon, delta, expected) in PROBABILITIES {
            let found = probability_of_so_many(canaries, guesses, correct, epsilon, delta);
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        }
        for (canaries, guesses, correct, delta, expected) in BOUNDS {
            let found = lower_bound(canaries, guesses, correct, delta, 0.05);
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn ends_are_sound() {
        assert_eq!(lower_bound(0, 0, 0, 1e-6, 0.05), 0.0);
        assert_eq!(lower_bound(100, 0, 0, 0.0, 0.05), 0.0);
        assert_eq!(lower_bound(100, 100, 0, 0.0, 0.05), 0.0);
        assert_eq!(
            probability_of_so_many(10, 5, 9, 1.0, 0.0),
            probability_of_so_many(10, 5, 5, 1.0, 0.0)
        );
        // A delta that lets everything through refutes nothing.
        assert_eq!(lower_bound(1_000, 1_000, 1_000, 0.5, 0.05), 0.0);
        let (loose, tight) =
            (lower_bound(1_000, 200, 190, 1e-4, 0.05), lower_bound(1_000, 200, 190, 0.0, 0.05));
        assert!(0.0 < loose && loose < tight, "{loose} {tight}");
        assert!(lower_bound(1_000, 200, 190, 0.0, 0.01) < tight);
    }

    /// How many of `canaries` coins randomised response gives away: each coin is shown as it is with
    /// probability e^epsilon / (1 + e^epsilon), so it is (epsilon, 0)-differentially private and no more.
    fn correct_of_randomised_response(canaries: u64, epsilon: f64, seed: u64) -> u64 {
        let mut random = RandomSource::from_seed(seed).substream(Purpose::Data, 0, 0);
        let truthful = 1.0 / (1.0 + (-epsilon).exp());
        (0..canaries).filter(|_| coin(truthful, &mut random)).count() as u64
    }

    #[test]
    fn randomised_response_is_bounded_from_just_below() {
        let correct = correct_of_randomised_response(10_000, 2.0, 1);
        let bound = lower_bound(10_000, 10_000, correct, 0.0, 0.05);
        assert!((1.85..2.0).contains(&bound), "{bound}");
    }

    /// With 95 % confidence, at most one bound in twenty is too high: of 400, more than 43 have a
    /// probability below 1e-6. The broken twin forgets the tail and reads the bound off the share of
    /// correct guesses, which is too high half of the time.
    #[test]
    fn bounds_are_too_high_no_more_often_than_stated() {
        let (mut high, mut high_twins) = (0, 0);
        for seed in 0..400 {
            let correct = correct_of_randomised_response(2_000, 2.0, 100 + seed);
            high += u32::from(lower_bound(2_000, 2_000, correct, 0.0, 0.05) > 2.0);
            let share = correct as f64 / 2_000.0;
            high_twins += u32::from((share / (1.0 - share)).ln() > 2.0);
        }
        assert!(high <= 43, "{high}");
        assert!(high_twins > 43, "{high_twins}");
    }
}
