//! Made-up clicks with the shape of advertising data, and a known truth.

use crate::data::ClickData;
use crate::reader::{LARGEST_NUMBER, features};
use organza_data::sparse::{Columns, RowProblem, SparseRows};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{normal, unit};
use organza_mechanism::{Purpose, RandomSource};

const NUMBERS: usize = 13;
const COLUMNS: usize = 26;
/// Values of the columns: from so many to so many.
const FEWEST: f64 = 10.0;
const MOST: f64 = 100_000.0;
/// Each third column belongs to the user.
const OF_USER: usize = 3;
/// The columns with the fewest values, whose pairs matter, and the dimensions of their vectors.
const PAIRED: usize = 13;
const RANK: usize = 4;
/// The log odds of a click without all that follows.
const BASE: f64 = -1.8;
/// The deviations of log odds: of all categories, of all pairs, of all numbers, and of what only the user knows.
const OF_CATEGORIES: f64 = 1.5;
const OF_PAIRS: f64 = 1.0;
const OF_NUMBERS: f64 = 0.4;
const UNSEEN: f64 = 0.5;
/// The mean and the deviation of numbers as they are read.
const NUMBER: (f64, f64) = (0.24, 0.19);

/// Rows of clicks that are made up: 13 numbers, 26 categories from 10 to 100,000 values by Zipf's law, users with several rows.
///
/// The log odds of a click are the sum of a weight for each value (deviation 1.5 over all 26), the product of vectors of 4
/// numbers for each pair of values in the 13 columns with the fewest (deviation 1), a weight for each number (deviation 0.4)
/// and something about the user that no column shows (deviation 0.5). 9 columns belong to the user, all else to the row. Rare
/// values have weights as large as frequent ones, which nobody can learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeUp {
    /// Users to learn from.
    pub users: u64,
    /// Other users, to measure with.
    pub test_users: u64,
    /// The rows of each.
    pub rows: u64,
    /// The buckets of each column.
    pub buckets: u64,
    /// Truth and rows are drawn by it.
    pub seed: u64,
}

impl Default for MadeUp {
    fn default() -> Self {
        Self { users: 20_000, test_users: 2_000, rows: 10, buckets: 1_000, seed: 0 }
    }
}

/// What is true.
struct Truth {
    columns: Vec<TrueColumn>,
    numbers: [f64; NUMBERS],
}

struct TrueColumn {
    /// The chances of values, summed up.
    ends: Vec<f64>,
    weights: Vec<f64>,
    /// Where pairs matter.
    vectors: Vec<[f64; RANK]>,
}

impl MadeUp {
    /// The rows, and the true log odds of those to measure with, without what only the user knows.
    ///
    /// # Errors
    /// If there are no buckets.
    pub fn data(&self) -> Result<(ClickData, Vec<f64>), RowProblem> {
        let source = RandomSource::from_seed(self.seed);
        let truth = Truth::draw(&mut source.substream(Purpose::Data, 0, 0));
        let width = NUMBERS as u64 + COLUMNS as u64 * self.buckets;
        let mut parts = [SparseRows::new(Some(width)), SparseRows::new(Some(width))];
        let mut log_odds = Vec::new();
        for user in 0..self.users + self.test_users {
            let is_test = user >= self.users;
            let mut random = source.substream(Purpose::Data, 1, user);
            let own = truth.values(true, &mut random);
            let unseen = UNSEEN * normal(&mut random);
            for _ in 0..self.rows {
                let values = truth.values(false, &mut random);
                let values = std::array::from_fn(|column| own[column].max(values[column]));
                let (known, mut entries) = self.row(&truth, &values, &mut random);
                let clicked = unit(&mut random) < 1.0 / (1.0 + libm::exp(-known - unseen));
                let label = f64::from(u8::from(clicked));
                let name = format!("u{user}");
                parts[usize::from(is_test)].push(label, &mut entries, Some(&name))?;
                if is_test {
                    log_odds.push(known);
                }
            }
        }
        let [rows, test] = parts;
        let numbers = (1..=NUMBERS).map(|number| (format!("I{number}"), LARGEST_NUMBER));
        let categories = (1..=COLUMNS).map(|column| format!("C{column}"));
        let columns = Columns {
            label: Some("clicked".to_owned()),
            group: Some("user".to_owned()),
            features: features(numbers, categories, self.buckets),
            ..Columns::default()
        };
        let test = (self.test_users > 0).then_some(test);
        Ok((ClickData::new(rows, test, columns), log_odds))
    }

    /// The true log odds of a row with these values, and its entries.
    fn row(
        &self,
        truth: &Truth,
        values: &[usize; COLUMNS],
        random: &mut PrivateRandom,
    ) -> (f64, Vec<(u32, f32)>) {
        let mut log_odds = BASE;
        let mut entries = Vec::with_capacity(NUMBERS + COLUMNS);
        for (number, weight) in (0_u32..).zip(&truth.numbers) {
            let amount = libm::exp(2.0 + 2.0 * normal(random)).floor().min(LARGEST_NUMBER);
            let value = libm::log1p(amount) / libm::log1p(LARGEST_NUMBER);
            log_odds += weight * (value - NUMBER.0);
            entries.push((number, value as f32));
        }
        let (mut sums, mut squares) = ([0.0; RANK], 0.0);
        for (number, (column, value)) in truth.columns.iter().zip(values).enumerate() {
            log_odds += column.weights[*value];
            if let Some(vector) = column.vectors.get(*value) {
                sums.iter_mut().zip(vector).for_each(|(sum, entry)| *sum += entry);
                squares += vector.iter().map(|entry| entry * entry).sum::<f64>();
            }
            let bucket = hashed(number as u64, *value as u64) % self.buckets.max(1);
            entries.push(((NUMBERS as u64 + number as u64 * self.buckets + bucket) as u32, 1.0));
        }
        let pairs = sums.iter().map(|sum| sum * sum).sum::<f64>() - squares;
        (log_odds + pairs / 2.0, entries)
    }
}

impl Truth {
    fn draw(random: &mut PrivateRandom) -> Self {
        let pairs = (PAIRED * (PAIRED - 1) / 2 * RANK) as f64;
        let spread = libm::sqrt(OF_PAIRS / libm::sqrt(pairs));
        let column = |column: usize| {
            let part = column as f64 / (COLUMNS - 1) as f64;
            let size = (FEWEST * libm::pow(MOST / FEWEST, part)).round() as usize;
            let mut end = 0.0;
            let ends = (1..=size).map(|rank| {
                end += 1.0 / rank as f64;
                end
            });
            let ends = ends.collect();
            let weight = OF_CATEGORIES / libm::sqrt(COLUMNS as f64);
            let weights = (0..size).map(|_| weight * normal(random)).collect();
            let vectors = if column < PAIRED { size } else { 0 };
            let vectors =
                (0..vectors).map(|_| std::array::from_fn(|_| spread * normal(random))).collect();
            TrueColumn { ends, weights, vectors }
        };
        let columns = (0..COLUMNS).map(column).collect();
        let weight = OF_NUMBERS / (NUMBER.1 * libm::sqrt(NUMBERS as f64));
        Self { columns, numbers: std::array::from_fn(|_| weight * normal(random)) }
    }

    /// Values of the columns of the user, or of all others; 0 elsewhere.
    fn values(&self, of_user: bool, random: &mut PrivateRandom) -> [usize; COLUMNS] {
        std::array::from_fn(|number| {
            let ends = &self.columns[number].ends;
            match number.is_multiple_of(OF_USER) == of_user {
                true => {
                    let at = unit(random) * ends.last().copied().unwrap_or_default();
                    ends.partition_point(|end| *end <= at).min(ends.len() - 1)
                }
                false => 0,
            }
        })
    }
}

/// SplitMix64 of a column and a value.
fn hashed(column: u64, value: u64) -> u64 {
    let mut mixed = (value + (column << 48)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::quality::Quality;
    use organza_ledger::Unit;

    #[test]
    fn rows_have_the_shape_that_is_said_and_the_truth_predicts_them() {
        let made_up = MadeUp { users: 100, test_users: 1_000, ..MadeUp::default() };
        let (data, log_odds) = made_up.data().unwrap();
        let test = data.test.clone().unwrap();
        assert_eq!(
            (data.rows.len(), data.units(Unit::User).unwrap().len(), log_odds.len()),
            (1_000, 100, 10_000)
        );
        let pairs = log_odds.iter().zip(test.iter()).map(|(it, row)| (*it, row.label)).collect();
        let quality = Quality::of_log_odds(pairs);
        assert!((0.8..0.9).contains(&quality.auc.unwrap()), "{quality:?}");
        assert!((0.9..1.1).contains(&quality.expected_over_observed.unwrap()), "{quality:?}");
        // Columns of the user are the same in all rows of one.
        let first = |row: usize| {
            let features = data.rows.row(row).columns;
            features[features.len() - COLUMNS]
        };
        assert!((0..10).all(|row| first(row) == first(0)));
        assert_eq!(made_up.data().unwrap().1, log_odds);
        let other = MadeUp { seed: 1, ..made_up }.data().unwrap().1;
        assert_ne!(other, log_odds, "another truth");
    }
}
