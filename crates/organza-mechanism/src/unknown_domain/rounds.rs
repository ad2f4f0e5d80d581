//! Noise in rounds: each round weights the items of a unit by what earlier rounds showed of them.

use super::threshold::least_threshold;
use crate::plan::PlanError;
use crate::random::StepRandom;
use crate::sample::IntegerNoise;
use organza_progress::{Size, Stage};
use rayon::prelude::*;

/// How often the units are looked at. More rounds follow the noisy sums more closely, and gain little.
pub(super) const ROUNDS: u64 = 16;
/// The square root of the number of rounds.
pub(super) const ROOT_OF_ROUNDS: f64 = 4.0;
/// Grid steps of the weight 1.
pub(super) const STEPS_OF_WEIGHT: u64 = 1 << 20;
/// An item has at most so many times the weight that it would have if all items of its unit had the same.
const MOST_OF_EVEN: u64 = 4;

/// The value of an item that stands exactly where it has to stand to reach the threshold in the last round.
const FULL: u64 = 1 << 16;
/// The value of one that is sure to reach it, or sure not to: little, since noise may have hidden what it is.
const LEAST: u64 = FULL / 20;
/// So many deviations of the noise from there it has only that.
const REACH: f64 = 3.0;

/// So many items are noised in one go, by randomness of their own; fewer are not worth a second thread.
const ITEMS_AT_ONCE: usize = 1 << 12;
/// Each part of the units has sums of its own for a moment.
const MOST_PARTS: usize = 8;

/// Some items: their sums, their values and what the units add.
type Chunk<'a> = ((&'a mut [i64], &'a mut [u32]), &'a [u64]);

/// The noise of all rounds, and the threshold of their sum.
///
/// A word that everybody has needs none of a unit's weight to be released, and one that nobody else has is not helped by
/// any. So the units divide their weight anew in every round, most of it to the items that may go either way.
///
/// # Privacy
/// In each round a unit adds to its items weights, none below zero, with an L2 norm of at most 1, which depend on the unit
/// and on the noisy sums of the rounds before. So the L2 sensitivity of a round is 1 given those sums (sqrt2 if a unit is
/// replaced), each round has Gaussian noise for it, and rounds are composed as releases that may depend on those before.
/// It does not matter to this proof how the weights are found. What only one unit has is hidden by the threshold: the
/// proof of both stands at [`ItemsPlan`](super::ItemsPlan).
///
/// All sums are of whole numbers, so threads change nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rounds {
    noise: IntegerNoise,
    /// Of the noise of one round, in steps.
    deviation: f64,
    /// What the sum over all rounds has to reach, in steps.
    pub(super) threshold: i64,
}

impl Rounds {
    /// Rounds with Gaussian noise of `deviation` each, for units of at most `items` items.
    ///
    /// # Proof of the threshold
    /// An item of a unit of j items has at most `cap(j)` in each round, whatever the noise was, so one that no other
    /// unit has reaches the threshold t only if the sum of its noise is t - 16 cap(j) or more. A rounded Gaussian is
    /// within 1/2 of the Gaussian that was rounded, so that the sum of 16 Gaussians, a Gaussian of 4 times the deviation,
    /// is then t - 16 cap(j) - 8 or more. Noise of different items is independent; the rest is
    /// [`least_threshold`].
    pub(super) fn new(deviation: f64, items: u64, delta: f64) -> Result<Self, PlanError> {
        let noise = IntegerNoise::rounded_gaussian(deviation)?;
        let sum = IntegerNoise::rounded_gaussian(ROOT_OF_ROUNDS * deviation)?;
        let most: Vec<u64> = (1..=items).map(|number| ROUNDS * cap(number)).collect();
        let threshold = least_threshold(&sum, &most, delta).saturating_add(ROUNDS as i64 / 2);
        Ok(Self { noise, deviation, threshold })
    }

    /// The sums over all rounds, with their noise, of each item.
    pub(super) fn sums(&self, units: &Numbered, random: &StepRandom) -> Vec<i64> {
        let mut sums = vec![0_i64; units.items];
        let mut values = vec![FULL as u32; units.items];
        let stage = Stage::begin("choosing what is released", Size::Public(ROUNDS, "rounds"));
        for round in 0..ROUNDS {
            stage.add(1);
            let weights = units.weights(&values);
            self.add_round(round, (&mut sums, &mut values), &weights, random);
        }
        sums
    }

    /// The noise of one round on what the units add, and what items are worth after it.
    pub(super) fn add_round(
        &self,
        round: u64,
        (sums, values): (&mut [i64], &mut [u32]),
        weights: &[u64],
        random: &StepRandom,
    ) {
        let value = Value::after(round + 1, self);
        let noise = |(chunk, ((sums, values), weights)): (usize, Chunk<'_>)| {
            let mut random = random.shard(round << 48 | chunk as u64);
            for ((sum, item), weight) in sums.iter_mut().zip(values).zip(weights) {
                let weight = i64::try_from(*weight).unwrap_or(i64::MAX);
                let noisy = weight.saturating_add(self.noise.draw(&mut random));
                *sum = sum.saturating_add(noisy);
                *item = value.of(*sum);
            }
        };
        if sums.len() <= ITEMS_AT_ONCE {
            noise((0, ((sums, values), weights)));
            return;
        }
        let items = sums.par_chunks_mut(ITEMS_AT_ONCE).zip(values.par_chunks_mut(ITEMS_AT_ONCE));
        items.zip(weights.par_chunks(ITEMS_AT_ONCE)).enumerate().for_each(noise);
    }

    /// What an item is worth after some rounds, by its noisy sum.
    pub(super) fn value(&self, rounds: u64, sum: i64) -> u32 {
        match rounds {
            0 => FULL as u32,
            rounds => Value::after(rounds, self).of(sum),
        }
    }

    /// The standard deviation of the noise on the sum over all rounds.
    pub(super) fn deviation(&self) -> f64 {
        ROOT_OF_ROUNDS * self.noise.deviation()
    }
}

/// The largest weight, in one round, of an item in a unit of so many: at most 1.
fn cap(items: u64) -> u64 {
    let even_square = (MOST_OF_EVEN * STEPS_OF_WEIGHT).pow(2) / items;
    even_square.isqrt().min(STEPS_OF_WEIGHT)
}

/// What an item is worth to a unit, by its noisy sum after some rounds: the most on the line from nothing to the threshold,
/// and less with each deviation of the noise from there.
#[derive(Clone, Copy, Debug)]
struct Value {
    line: i64,
    reach: u64,
}

impl Value {
    fn after(rounds: u64, plan: &Rounds) -> Self {
        let line = i128::from(plan.threshold) * i128::from(rounds) / i128::from(ROUNDS);
        let reach = REACH * plan.deviation * libm::sqrt(rounds as f64);
        // No deviation is above 2^40, so this is below 2^44.
        Self { line: line as i64, reach: libm::ceil(reach) as u64 }
    }

    fn of(self, sum: i64) -> u32 {
        let distance = sum.abs_diff(self.line);
        let lost = if distance < self.reach { distance * FULL / self.reach } else { FULL };
        (FULL - lost).max(LEAST) as u32
    }
}

/// The units, with their items as numbers below `items`, each at most once in a unit.
pub(super) struct Numbered {
    pub(super) items: usize,
    pub(super) numbers: Vec<u32>,
    /// Where the items of each unit end.
    pub(super) ends: Vec<usize>,
}

impl Numbered {
    /// The weight of each item, over all units.
    pub(super) fn weights(&self, values: &[u32]) -> Vec<u64> {
        let many = self.numbers.len() > ITEMS_AT_ONCE;
        let parts = if many { rayon::current_num_threads().min(MOST_PARTS) } else { 1 };
        let cut = |part: usize| match part {
            0 => 0,
            _ if part == parts => self.ends.len(),
            _ => self.ends.partition_point(|end| end * parts < self.numbers.len() * part),
        };
        let sums = |part: usize| {
            let mut sums = vec![0_u64; self.items];
            for unit in cut(part)..cut(part + 1) {
                let start = unit.checked_sub(1).map_or(0, |before| self.ends[before]);
                let numbers = &self.numbers[start..self.ends[unit]];
                let weights = unit_weights(numbers.iter().map(|number| values[*number as usize]));
                numbers.iter().zip(weights).for_each(|(number, weight)| {
                    sums[*number as usize] += weight;
                });
            }
            sums
        };
        if parts == 1 {
            return sums(0);
        }
        let joined = (0..parts).into_par_iter().map(sums).reduce_with(|mut one, other| {
            one.iter_mut().zip(other).for_each(|(sum, more)| *sum += more);
            one
        });
        joined.unwrap_or_default()
    }
}

/// The weights, in steps, of a unit whose items have these values.
///
/// # Proof of the norm
/// With s the root of the sum of all squares of values v, rounded up, and f = floor(2^52 / s), a weight is at most
/// v f / 2^32 <= 2^20 v / s. Squares of weights add up to at most 2^40 (sum of v^2) / s^2 <= 2^40. (Values are at
/// most 2^16 and at least 2^11, so v f fits into 57 bits.)
fn unit_weights(values: impl Iterator<Item = u32> + Clone) -> impl Iterator<Item = u64> {
    let (mut square, mut items) = (0_u64, 0_u64);
    for value in values.clone() {
        square += u64::from(value).pow(2);
        items += 1;
    }
    let root = square.isqrt();
    let root = if root * root < square { root + 1 } else { root };
    let factor = (1_u64 << 52) / root.max(1);
    let most = cap(items.max(1));
    values.map(move |value| ((u64::from(value) * factor) >> 32).min(most))
}

#[cfg(test)]
#[path = "rounds_tests.rs"]
mod tests;
