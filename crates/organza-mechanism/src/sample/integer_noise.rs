//! Noise that is a whole number, drawn exactly.

use super::discrete_laplace::DiscreteLaplace;
use super::rounded_gaussian::RoundedGaussian;
use crate::exact::interval::Interval;
use crate::exact::inversion::{AtLeast, Failures, Tail, draw};
use crate::plan::PlanError;
use crate::random::PrivateRandom;

/// The smallest chance to reach a bar for which values above it are drawn.
const RAREST: f64 = 1e-60;

/// Symmetric noise on whole numbers, exact in law.
///
/// # Privacy
/// All draws are made by comparing random bits with tail probabilities that are enclosed as closely as
/// it takes (see the proof at `exact::inversion::draw`): the law is the one that is stated, for exactly
/// the float that is given as its scale, and not one of floats near it. Given perfect random
/// bits, nothing has to be added to delta.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntegerNoise(Law);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    Laplace(DiscreteLaplace),
    Gaussian(RoundedGaussian),
}

impl IntegerNoise {
    /// Two-sided geometric noise, Pr\[z\] ~ e^(-|z| / `scale`).
    ///
    /// # Errors
    /// If the scale is not between 2^-5 and 2^40.
    pub fn discrete_laplace(scale: f64) -> Result<Self, PlanError> {
        within("scale of the noise", scale)?;
        Ok(Self(Law::Laplace(DiscreteLaplace::new(scale))))
    }

    /// A normal variable of standard deviation `deviation`, rounded to the nearest whole number.
    ///
    /// # Errors
    /// If the deviation is not between 2^-5 and 2^40.
    pub fn rounded_gaussian(deviation: f64) -> Result<Self, PlanError> {
        within("deviation of the noise", deviation)?;
        Ok(Self(Law::Gaussian(RoundedGaussian::new(deviation))))
    }

    /// A draw.
    pub fn draw(&self, random: &mut PrivateRandom) -> i64 {
        draw(&self.0, random)
    }

    /// The noise of many cells, as far as it reaches `bar`.
    ///
    /// # Errors
    /// If a cell reaches it more rarely than 10^-60.
    pub fn above(&self, bar: i64) -> Result<NoiseAbove<'_>, PlanError> {
        let chance = self.chance_at_least(bar);
        if chance < RAREST {
            let reason = format!("noise reaches it with probability {chance:e} only");
            return Err(PlanError::new("bar", bar, reason, "lower the bar"));
        }
        Ok(NoiseAbove {
            values: AtLeast { law: &self.0, bar, chance },
            failures: Failures::of_symmetric(&self.0, bar),
        })
    }

    /// The probability of at least `value`, to nine digits or more.
    pub fn chance_at_least(&self, value: i64) -> f64 {
        self.0.tail(value)
    }

    /// The standard deviation.
    pub fn deviation(&self) -> f64 {
        match self.0 {
            Law::Laplace(law) => law.deviation(),
            Law::Gaussian(law) => law.deviation(),
        }
    }
}

/// What noise above a bar looks like on many cells that hold nothing else.
pub struct NoiseAbove<'a> {
    values: AtLeast<'a, Law>,
    failures: Failures<'a, Law>,
}

impl NoiseAbove<'_> {
    /// A draw given that it is at least the bar.
    pub fn draw(&self, random: &mut PrivateRandom) -> i64 {
        draw(&self.values, random)
    }

    /// How many of `cells` cells in a row stay below the bar, before the first that does not: all of
    /// them, if there is none.
    ///
    /// # Proof
    /// This number is geometric with the exact probability p that noise is at least the bar: it is n or
    /// more with probability (1 - p)^n, which is enclosed like any other tail. Skips one after another
    /// give each cell its own, independent chance p, so among m cells the number that reaches the bar
    /// is Binomial(m, p) and their places are uniform without replacement, exactly.
    pub fn skip(&self, cells: u64, random: &mut PrivateRandom) -> u64 {
        draw(&self.failures.among(cells), random).unsigned_abs()
    }
}

impl std::fmt::Debug for NoiseAbove<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "NoiseAbove({})", self.values.bar)
    }
}

impl Tail for Law {
    fn tail(&self, value: i64) -> f64 {
        match self {
            Self::Laplace(law) => law.tail(value),
            Self::Gaussian(law) => law.tail(value),
        }
    }

    fn slack(&self) -> f64 {
        match self {
            Self::Laplace(law) => law.slack(),
            Self::Gaussian(law) => law.slack(),
        }
    }

    fn enclosed(&self, value: i64, places: usize) -> Option<Interval> {
        match self {
            Self::Laplace(law) => law.enclosed(value, places),
            Self::Gaussian(law) => law.enclosed(value, places),
        }
    }

    fn guess(&self, chance: f64) -> i64 {
        match self {
            Self::Laplace(law) => law.guess(chance),
            Self::Gaussian(law) => law.guess(chance),
        }
    }
}

fn within(setting: &'static str, value: f64) -> Result<(), PlanError> {
    if (1.0 / 32.0..=(1_u64 << 40) as f64).contains(&value) {
        return Ok(());
    }
    let reason = "in steps of the counts it must be between 2^-5 and 2^40";
    Err(PlanError::new(setting, value, reason, "take more or less noise, or other bounds"))
}
