//! Made-up clicks with a known truth, and hashed logistic regression on them: a row is a unit.

use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{normal, unit};
use organza_mechanism::{Purpose, RandomSource, ReadRows, WriteRows};
use organza_paper::compared::WithPublic;
use organza_train::{Failure, Losses, Task};
use serde::Serialize;

/// The columns of a row.
const CATEGORIES: usize = 26;

/// A row: a bucket of each column, and whether it was clicked.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    buckets: Vec<u32>,
    clicked: bool,
}

/// Rows with their parts: those that train are private, those beside them are other people's, declared public.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Clicks {
    buckets: u32,
    /// The units.
    pub(crate) train: Vec<Row>,
    /// Public ones.
    pub(crate) public: Vec<Row>,
    /// What it is judged by.
    pub(crate) test: Vec<Row>,
}

impl Clicks {
    /// `sizes` rows that train, are public, and are judged by. The values of a column are distributed by Zipf's law; each has a
    /// weight in the true log odds, and columns weigh less and less.
    pub(crate) fn made_up(sizes: [usize; 3], buckets: u32, seed: u64) -> Self {
        let source = RandomSource::from_seed(seed);
        let mut random = source.substream(Purpose::Data, 0, 0);
        let truth: Vec<f64> = (0..CATEGORIES as u32 * buckets)
            .map(|place| normal(&mut random) / (1.0 + f64::from(place / buckets)).sqrt())
            .collect();
        let harmonic: f64 = (1..=buckets).map(|rank| 1.0 / f64::from(rank)).sum();
        let mut rows = |count: usize| -> Vec<Row> {
            (0..count).map(|_| row(buckets, harmonic, &truth, &mut random)).collect()
        };
        let [train, public, test] = sizes.map(&mut rows);
        Self { buckets, train, public, test }
    }

    /// The bias, and the weights of all buckets after it.
    fn score(&self, row: &Row, weights: &dyn ReadRows) -> f64 {
        let of = |place: u32| weights.row(place).first().copied().unwrap_or_default();
        std::iter::once(0).chain(row.places()).map(|place| f64::from(of(place))).sum()
    }

    /// The mean log loss of rows; not a number if there are none.
    fn loss(&self, rows: &[Row], weights: &dyn ReadRows) -> f64 {
        let of = |row: &Row| {
            let score = self.score(row, weights);
            (if row.clicked { -score } else { score }).exp().ln_1p()
        };
        rows.iter().map(of).sum::<f64>() / rows.len() as f64
    }

    /// The share of pairs of a clicked and another test row that are in the right order.
    #[allow(dead_code, reason = "the test of this example has no use for it")]
    pub(crate) fn area(&self, weights: &dyn ReadRows) -> f64 {
        let mut scored: Vec<(f64, bool)> =
            self.test.iter().map(|row| (self.score(row, weights), row.clicked)).collect();
        scored.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (mut before, mut right, mut clicked) = (0.0, 0.0, 0.0);
        for (_, click) in scored {
            if click {
                right += before;
                clicked += 1.0;
            } else {
                before += 1.0;
            }
        }
        right / (before * clicked)
    }
}

impl Row {
    fn places(&self) -> impl Iterator<Item = u32> {
        self.buckets.iter().copied()
    }
}

fn row(buckets: u32, harmonic: f64, truth: &[f64], random: &mut PrivateRandom) -> Row {
    let mut score = -1.0;
    let mut chosen = Vec::with_capacity(CATEGORIES);
    for column in 0..CATEGORIES as u32 {
        let mut left = unit(random) * harmonic;
        let mut rank = 0;
        while rank + 1 < buckets && left > 1.0 / f64::from(rank + 1) {
            left -= 1.0 / f64::from(rank + 1);
            rank += 1;
        }
        let place = column * buckets + rank;
        score += truth[place as usize];
        chosen.push(1 + place);
    }
    let clicked = unit(random) < 1.0 / (1.0 + (-score).exp());
    Row { buckets: chosen, clicked }
}

impl Task for Clicks {
    fn tables(&self) -> Vec<(u64, u64)> {
        vec![(1 + CATEGORIES as u64 * u64::from(self.buckets), 1)]
    }

    fn units(&self) -> u64 {
        self.train.len() as u64
    }

    fn reads(&self, unit: u64, _: &[u32], visit: &mut dyn FnMut(u32)) {
        visit(0);
        self.train[unit as usize].places().for_each(visit);
    }

    fn gradient(&self, unit: u64, _: &[u32], weights: &dyn ReadRows, gradient: &mut dyn WriteRows) {
        let row = &self.train[unit as usize];
        let chance = 1.0 / (1.0 + (-self.score(row, weights)).exp());
        let slope = (chance - f64::from(u8::from(row.clicked))) as f32;
        for place in std::iter::once(0).chain(row.places()) {
            gradient.row(place).iter_mut().for_each(|value| *value += slope);
        }
    }

    fn evaluate(&self, weights: &dyn ReadRows) -> Losses {
        let [train, test] = [&self.train, &self.test].map(|rows| self.loss(rows, weights));
        Losses { train, validation: f64::NAN, test }
    }
}

impl WithPublic for Clicks {
    type Public = Self;

    /// The public rows alone.
    fn public(&self, most: u64) -> Result<Self, Failure> {
        let count = self.public.len().min(most as usize);
        let train = self.public[..count].to_vec();
        Ok(Self { train, public: Vec::new(), test: Vec::new(), ..*self })
    }

    fn public_samples() -> &'static str {
        "rows of others"
    }
}
