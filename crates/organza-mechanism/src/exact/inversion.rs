//! Whole numbers by inversion: a uniform number, known bit by bit, is compared with tail probabilities.

use super::interval::Interval;
use crate::random::PrivateRandom;

/// 2^-64.
const LAST_BIT: f64 = 1.0 / 18_446_744_073_709_551_616.0;
/// 2^-60: how far the first word of a uniform number must be from a probability, beside its slack.
const COARSENESS: f64 = 16.0 * LAST_BIT;
/// The words of fraction with which the first exact comparison is made.
pub(crate) const FIRST_PLACES: usize = 4;

/// A law on whole numbers, by its tail.
pub(crate) trait Tail {
    /// Pr\[X >= `value`\] as a float, wrong by at most [`Tail::slack`] relative to itself wherever it is
    /// 2^-64 or more; elsewhere it is below 2^-63.
    fn tail(&self, value: i64) -> f64;

    /// The bound on the relative error of [`Tail::tail`].
    fn slack(&self) -> f64;

    /// Encloses Pr\[X >= `value`\], as closely as one likes with enough `places`; nothing if there are
    /// too few.
    fn enclosed(&self, value: i64, places: usize) -> Option<Interval>;

    /// Whether a `uniform` number is below the tail, if that can be told at its precision.
    fn is_below(&self, uniform: &Interval, value: i64) -> Option<bool> {
        let tail = self.enclosed(value, uniform.places())?;
        decided(uniform, &tail)
    }

    /// About the largest value whose tail exceeds `chance`, which is above 0 and below 1. It decides
    /// how long a draw takes, and nothing else.
    fn guess(&self, chance: f64) -> i64;
}

/// Whether a uniform number that begins like `uniform` is below what `other` encloses.
pub(crate) fn decided(uniform: &Interval, other: &Interval) -> Option<bool> {
    // The number is below the high end of its enclosure, never equal to it.
    if uniform.is_at_most(other) {
        return Some(true);
    }
    other.is_at_most(uniform).then_some(false)
}

/// A uniform number in \[0, 1), of which as many bits are drawn as are looked at.
struct Uniform<'a> {
    first: u64,
    /// What follows the first word.
    more: Vec<u64>,
    random: &'a mut PrivateRandom,
}

impl Uniform<'_> {
    /// Whether it is below Pr\[X >= `value`\].
    fn is_below(&mut self, law: &impl Tail, value: i64) -> bool {
        let (number, tail) = (self.first as f64 * LAST_BIT, law.tail(value));
        let margin = law.slack() * tail + COARSENESS;
        if number < tail - margin {
            return true;
        }
        if number > tail + margin {
            return false;
        }
        self.is_below_exactly(law, value)
    }

    #[cold]
    fn is_below_exactly(&mut self, law: &impl Tail, value: i64) -> bool {
        let mut places = FIRST_PLACES;
        loop {
            while self.more.len() + 1 < places {
                self.more.push(self.random.word());
            }
            let words: Vec<u64> =
                [self.first].iter().chain(&self.more).take(places).copied().collect();
            if let Some(answer) = law.is_below(&Interval::begun_by(&words), value) {
                return answer;
            }
            places *= 2;
        }
    }
}

/// A draw from `law`, exactly.
///
/// # Proof
/// Let V be uniform on \[0, 1). The result is the largest x with V < Pr\[X >= x\], so it is at least x
/// with probability Pr\[X >= x\], for every x: it has the law of X. Comparisons are right with
/// certainty, not just nearly: the fast one answers only where V and the float differ by more than
/// all their errors, which are the slack of the float, 2^-64 for the bits of V that were not drawn yet and
/// 2^-53 V for the conversion (at most 2^-53 of the tail where V is not above twice of it). All other
/// comparisons are made between enclosures, with ever more bits of V until they are apart, which
/// happens after finitely many with probability 1, since no tail probability has more than one V
/// equal to it. Where the search begins changes its length and not its result, because the tail falls.
pub(crate) fn draw(law: &impl Tail, random: &mut PrivateRandom) -> i64 {
    let mut uniform = Uniform { first: random.word(), more: Vec::new(), random };
    let guess = law.guess((uniform.first as f64 + 0.5) * LAST_BIT);
    let (mut low, mut high, mut stride) = (guess, guess, 1_i64);
    if uniform.is_below(law, guess) {
        high = guess.saturating_add(1);
        while uniform.is_below(law, high) {
            low = high;
            high = high.saturating_add(stride);
            stride = stride.saturating_mul(2);
        }
    } else {
        low = guess.saturating_sub(1);
        while !uniform.is_below(law, low) {
            high = low;
            low = low.saturating_sub(stride);
            stride = stride.saturating_mul(2);
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if uniform.is_below(law, middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// A law given that the value is at least `bar`.
///
/// Its tail is Pr\[X >= x\] / Pr\[X >= bar\]; enclosures are compared without the division.
pub(crate) struct AtLeast<'a, Law> {
    pub(crate) law: &'a Law,
    pub(crate) bar: i64,
    /// Pr\[X >= bar\], as a float.
    pub(crate) chance: f64,
}

impl<Law: Tail> Tail for AtLeast<'_, Law> {
    fn tail(&self, value: i64) -> f64 {
        if value <= self.bar { 1.0 } else { self.law.tail(value) / self.chance }
    }

    fn slack(&self) -> f64 {
        3.0 * self.law.slack()
    }

    fn enclosed(&self, value: i64, places: usize) -> Option<Interval> {
        if value <= self.bar {
            return Some(Interval::whole(1, places));
        }
        self.law.enclosed(value, places)
    }

    fn is_below(&self, uniform: &Interval, value: i64) -> Option<bool> {
        if value <= self.bar {
            return Some(true);
        }
        let places = uniform.places();
        let scaled = uniform.multiply(&self.law.enclosed(self.bar, places)?)?;
        decided(&scaled, &self.law.enclosed(value, places)?)
    }

    fn guess(&self, chance: f64) -> i64 {
        self.law.guess(chance * self.chance).max(self.bar)
    }
}

/// How many of `trials` trials fail before the first success (all of them, if there is none), where a
/// trial succeeds if a draw from `law` is at least `bar`: Pr\[n or more fail\] = (1 - Pr\[X >= bar\])^n.
pub(crate) struct Failures<'a, Law> {
    law: &'a Law,
    bar: i64,
    /// -ln of the probability that a trial fails.
    hazard: f64,
    trials: i64,
}

impl<'a, Law: Tail> Failures<'a, Law> {
    /// `law` must be symmetric: the probability to fail is then Pr\[X >= 1 - bar\], which is taken where
    /// it is the smaller one, because 1 - chance would have lost its digits.
    pub(crate) fn of_symmetric(law: &'a Law, bar: i64) -> Self {
        let hazard =
            if bar > 0 { -libm::log1p(-law.tail(bar)) } else { -libm::log(law.tail(1 - bar)) };
        Self { law, bar, hazard, trials: 0 }
    }

    /// The same for so many trials; more than 2^63 are not told from 2^63.
    pub(crate) fn among(&self, trials: u64) -> Self {
        let trials = i64::try_from(trials).unwrap_or(i64::MAX);
        Self { law: self.law, bar: self.bar, hazard: self.hazard, trials }
    }
}

impl<Law: Tail> Tail for Failures<'_, Law> {
    fn tail(&self, value: i64) -> f64 {
        match value {
            ..=0 => 1.0,
            _ if value > self.trials => 0.0,
            _ => libm::exp(-self.hazard * value as f64),
        }
    }

    /// Where the tail is 2^-64 or more, the exponent is below 45 and errs by as many slacks of the law.
    fn slack(&self) -> f64 {
        64.0 * self.law.slack()
    }

    fn enclosed(&self, value: i64, places: usize) -> Option<Interval> {
        if value > self.trials {
            return Some(Interval::whole(0, places));
        }
        let one = Interval::whole(1, places);
        let Ok(trials @ 1..) = u64::try_from(value) else { return Some(one) };
        one.subtract(&self.law.enclosed(self.bar, places)?).power(trials)
    }

    fn guess(&self, chance: f64) -> i64 {
        ((-libm::log(chance) / self.hazard) as i64).clamp(0, self.trials)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::random::{RandomSource, Secret};
    use crate::sample::{DiscreteLaplace, RoundedGaussian};

    /// The same law, every comparison of which is made exactly.
    struct Exactly<'a, Law>(&'a Law);

    impl<Law: Tail> Tail for Exactly<'_, Law> {
        fn tail(&self, value: i64) -> f64 {
            self.0.tail(value)
        }
        fn slack(&self) -> f64 {
            f64::INFINITY
        }
        fn enclosed(&self, value: i64, places: usize) -> Option<Interval> {
            self.0.enclosed(value, places)
        }
        fn is_below(&self, uniform: &Interval, value: i64) -> Option<bool> {
            self.0.is_below(uniform, value)
        }
        fn guess(&self, chance: f64) -> i64 {
            self.0.guess(chance)
        }
    }

    /// A law whose float errs by more than it says.
    struct Wrong<'a, Law>(&'a Law);

    impl<Law: Tail> Tail for Wrong<'_, Law> {
        fn tail(&self, value: i64) -> f64 {
            self.0.tail(value) * (1.0 + 1e-3)
        }
        fn slack(&self) -> f64 {
            self.0.slack()
        }
        fn enclosed(&self, value: i64, places: usize) -> Option<Interval> {
            self.0.enclosed(value, places)
        }
        fn guess(&self, chance: f64) -> i64 {
            self.0.guess(chance)
        }
    }

    /// How many of so many draws come out otherwise if every comparison is exact.
    fn differing(law: &impl Tail, draws: u64) -> usize {
        let source = RandomSource::from_seed(1);
        let random = |shard| source.secret(Secret::Noise, 0).shard(shard);
        (0..draws)
            .filter(|shard| {
                draw(law, &mut random(*shard)) != draw(&Exactly(law), &mut random(*shard))
            })
            .count()
    }

    #[test]
    fn fast_and_exact_comparisons_agree() {
        for scale in [0.1, 1.0 / 3.0, 20.0, 1e9] {
            let (laplace, gaussian) = (DiscreteLaplace::new(scale), RoundedGaussian::new(scale));
            assert_eq!(differing(&laplace, 100), 0);
            assert_eq!(differing(&gaussian, 60), 0);
            let bar = (5.0 * scale) as i64 + 1;
            let chance = laplace.tail(bar);
            assert_eq!(differing(&AtLeast { law: &laplace, bar, chance }, 60), 0);
            let chance = gaussian.tail(bar);
            assert_eq!(differing(&AtLeast { law: &gaussian, bar, chance }, 30), 0);
            let skips = Failures::of_symmetric(&laplace, bar).among(1 << 40);
            assert_eq!(differing(&skips, 60), 0);
            let skips = Failures::of_symmetric(&gaussian, -bar).among(1 << 40);
            assert_eq!(differing(&skips, 30), 0);
        }
        assert!(differing(&Wrong(&DiscreteLaplace::new(1e9)), 200) > 100);
        assert!(differing(&Wrong(&RoundedGaussian::new(1e9)), 100) > 50);
    }

    /// The worst error of the float, relative to the slack.
    fn worst(law: &impl Tail, values: impl Iterator<Item = i64>) -> f64 {
        values
            .map(|value| {
                let (low, high) = law.enclosed(value, 8).unwrap().ends();
                assert!(high - low <= 1e-16 * high, "{value}: {low} {high}");
                (law.tail(value) / high - 1.0).abs() / law.slack()
            })
            .fold(0.0, f64::max)
    }

    /// With a hundredfold reserve.
    #[test]
    fn floats_err_less_than_they_say() {
        for scale in [0.05, 0.7, 3.0, 1234.5, 1e7] {
            let grid =
                |most: f64| (-40..=40).map(move |step| (f64::from(step) / 40.0 * most) as i64);
            assert!(worst(&DiscreteLaplace::new(scale), grid(45.0 * scale)) < 0.01);
            assert!(worst(&RoundedGaussian::new(scale), grid(9.0 * scale)) < 0.01);
            let law = RoundedGaussian::new(scale);
            let skips = Failures::of_symmetric(&law, (5.0 * scale) as i64 + 1).among(1 << 40);
            let some = (0..10).map(|step| (f64::from(step) * 4.0 / skips.hazard) as i64);
            assert!(worst(&skips, some) < 0.01);
        }
    }

    /// A uniform number a few bits from a probability, where floats cannot tell.
    #[test]
    fn close_calls_are_decided() {
        let law = RoundedGaussian::new(1000.0);
        let mut random = RandomSource::from_seed(3).secret(Secret::Noise, 0).shard(0);
        for value in [-2000_i64, -3, 0, 1, 700, 4000] {
            // The first word of the probability itself, so that later words decide.
            let tail = law.enclosed(value, 4).unwrap();
            let mut first = (law.tail(value) / LAST_BIT) as u64;
            while decided(&Interval::begun_by(&[first, 0, 0, 0]), &tail) == Some(false) {
                first -= 1;
            }
            while decided(&Interval::begun_by(&[first, u64::MAX, u64::MAX, u64::MAX]), &tail)
                == Some(true)
            {
                first += 1;
            }
            let mut uniform = Uniform { first: first - 1, more: Vec::new(), random: &mut random };
            assert!(uniform.is_below(&law, value));
            let mut uniform = Uniform { first: first + 1, more: Vec::new(), random: &mut random };
            assert!(!uniform.is_below(&law, value));
        }
    }
}
