//! The gradient of a unit: a user with all rows, or a row.

use crate::data::ClickData;
use crate::layout::Layout;
use crate::model::log_odds;
use crate::settings::Settings;
use organza_data::sparse::SparseRows;
use organza_mechanism::Groups;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::uniform_subset;
use organza_train::{Failure, Losses, ReadRows, Task, WriteRows};

/// Rows of clicks as training sees them.
///
/// # Privacy
/// The gradient of a unit is the sum of those of its rows, or of as many of them as `most` says, drawn anew in each step. With
/// the log odds s of a row, its label y and g = 1 / (1 + e^-s) - y it is
///
/// ```text
/// intercept      g
/// number n       g x_n
/// category c     weight g, vector g (V - v_c), where V is the sum of the vectors of the row
/// ```
///
/// It depends on the unit and the weights alone, and the engine clips it as one: what several rows of a user give to one
/// parameter is added up before.
#[derive(Debug)]
pub struct ClickTask {
    pub(crate) layout: Layout,
    pub(crate) rows: SparseRows,
    pub(crate) test: Option<SparseRows>,
    /// The rows of each unit.
    pub(crate) units: Groups,
    /// At most so many rows of a user count in a step.
    pub(crate) most: usize,
}

impl ClickTask {
    /// The task of rows, in the columns that they have.
    ///
    /// # Errors
    /// If these are not those of a click model, or the unit is the user and rows name none.
    pub fn new(settings: &Settings, data: ClickData) -> Result<Self, Failure> {
        let layout = Layout::new(&data.columns, settings.vectors())?;
        // What a program hands over has the features of its columns: a row beyond them would end the run where it is counted.
        if data.rows.declared_features() != Some(data.columns.width()) {
            return Err("the rows have other features than their columns".into());
        }
        let units = data.units(settings.privacy.unit)?;
        let ClickData { rows, test, .. } = data;
        let most = settings.privacy.per_unit as usize;
        Ok(Self { layout, rows, test, units, most })
    }

    /// The names of its units, by which they are known on every machine. *Not private.*
    pub fn unit_names(&self) -> Vec<&str> {
        self.rows.group_names()
    }

    /// The rows of a unit that count in a step.
    fn drawn<'a>(&'a self, unit: u64, draw: &'a [u32]) -> impl Iterator<Item = usize> + 'a {
        let own = self.units.units(unit as usize);
        let all = if draw.is_empty() { own } else { &[] };
        let some = draw.iter().filter_map(|place| own.get(*place as usize));
        all.iter().chain(some).map(|row| *row as usize)
    }

    /// The mean log loss. *Not private.*
    fn mean_loss(&self, rows: &SparseRows, weights: &dyn ReadRows) -> f64 {
        let mut sums = vec![0.0; self.layout.dimensions];
        let losses = rows.iter().map(|row| {
            let log_odds = f64::from(log_odds(&self.layout, &row, weights, &mut sums));
            log_loss(log_odds, row.label)
        });
        losses.sum::<f64>() / rows.len() as f64
    }
}

/// The log loss of log odds.
pub(crate) fn log_loss(log_odds: f64, label: f64) -> f64 {
    log_odds.max(0.0) + libm::log1p(libm::exp(-log_odds.abs())) - label * log_odds
}

impl Task for ClickTask {
    fn tables(&self) -> Vec<(u64, u64)> {
        self.layout.tables()
    }

    fn dense_tables(&self) -> usize {
        1
    }

    fn units(&self) -> u64 {
        self.units.len() as u64
    }

    /// The places of the rows that count, where a user has more than may; nothing, where all do.
    fn draw(&self, unit: u64, random: &mut PrivateRandom, draw: &mut Vec<u32>) {
        let length = self.units.units(unit as usize).len();
        if length > self.most {
            let places = uniform_subset(length as u64, self.most as u64, random);
            draw.extend(places.into_iter().map(|place| place as u32));
        }
    }

    fn reads(&self, unit: u64, draw: &[u32], visit: &mut dyn FnMut(u32)) {
        visit(self.layout.rows());
        for row in self.drawn(unit, draw) {
            self.layout.categories(&self.rows.row(row)).for_each(&mut *visit);
        }
    }

    fn gradient(
        &self,
        unit: u64,
        draw: &[u32],
        weights: &dyn ReadRows,
        gradient: &mut dyn WriteRows,
    ) {
        let layout = &self.layout;
        let mut sums = vec![0.0; layout.dimensions];
        for row in self.drawn(unit, draw) {
            let row = self.rows.row(row);
            let score = log_odds(layout, &row, weights, &mut sums);
            let miss = 1.0 / (1.0 + libm::expf(-score)) - row.label as f32;
            if let Some((intercept, numbers)) = gradient.row(layout.rows()).split_first_mut() {
                *intercept += miss;
                for (place, value) in layout.numbers(&row) {
                    if let Some(slope) = numbers.get_mut(place) {
                        *slope += miss * value;
                    }
                }
            }
            for category in layout.categories(&row) {
                let Some((_, vector)) = weights.row(category).split_first() else { continue };
                if let Some((slope, slopes)) = gradient.row(category).split_first_mut() {
                    *slope += miss;
                    let entries = slopes.iter_mut().zip(&sums).zip(vector);
                    entries.for_each(|((slope, sum), entry)| *slope += miss * (sum - entry));
                }
            }
        }
    }

    fn evaluate(&self, weights: &dyn ReadRows) -> Losses {
        let test = self.test.as_ref().map_or(f64::NAN, |rows| self.mean_loss(rows, weights));
        Losses { train: self.mean_loss(&self.rows, weights), validation: f64::NAN, test }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::ClickModel;
    use crate::testing;
    use organza_mechanism::{FlatRows, PlainSum, Purpose, RandomSource, Shape};

    /// Rows of one user, in each of which a category stands in two places of the table.
    fn task(dimensions: usize) -> ClickTask {
        let rows =
            [([0.5, 0.0], [1, 5], 1.0), ([0.25, 1.0], [1, 6], 0.0), ([0.0, 0.5], [3, 5], 1.0)];
        testing::task(testing::data(&[("ann", &rows)]), dimensions)
    }

    #[test]
    fn the_gradient_is_that_of_the_loss() {
        for dimensions in [0, 3] {
            let task = task(dimensions);
            let parameters: Vec<f32> =
                (0..task.layout.len()).map(|it| ((it * 7 + 3) % 11) as f32 / 11.0 - 0.4).collect();
            let shape = Shape::tables(&task.tables()).unwrap();
            let mut sum = PlainSum::new(shape.clone());
            task.gradient(0, &[], &FlatRows::new(shape, &parameters), &mut sum);
            let mut gradient = vec![0.0; parameters.len()];
            sum.drain(1.0, true, |first, row| {
                gradient[first as usize..][..row.len()].copy_from_slice(row)
            });
            let model = |parameters| ClickModel { layout: task.layout.clone(), parameters };
            let loss = |parameters: Vec<f32>| {
                let model = model(parameters);
                let losses = task.rows.iter().map(|row| log_loss(model.log_odds(&row), row.label));
                losses.sum::<f64>()
            };
            for (place, slope) in gradient.iter().enumerate() {
                let at = |by: f32| {
                    let mut moved = parameters.clone();
                    moved[place] += by;
                    loss(moved)
                };
                let expected = (at(0.01) - at(-0.01)) / 0.02;
                assert!((expected - f64::from(*slope)).abs() < 2e-3, "{place}: {expected} {slope}");
            }
            assert!(gradient.iter().filter(|slope| **slope != 0.0).count() > 6);
        }
    }

    #[test]
    fn a_user_of_many_rows_gives_some_of_them() {
        let task = ClickTask { most: 2, ..task(0) };
        let source = RandomSource::from_seed(3);
        let mut seen = std::collections::HashSet::new();
        for step in 0..50 {
            let mut draw = Vec::new();
            task.draw(0, &mut source.substream(Purpose::Data, step, 0), &mut draw);
            assert_eq!(task.drawn(0, &draw).count(), 2);
            seen.insert(draw);
        }
        assert_eq!(seen.len(), 3, "each pair of the three");
        assert_eq!(task.drawn(0, &[]).count(), 3);
    }
}
