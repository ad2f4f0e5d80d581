//! Second moments of a small design: what the counts of buckets, which know nothing of each other, leave to be learned.

use crate::buckets::Buckets;
use crate::layout::Layout;
use organza_data::sparse::Row;
use organza_mechanism::UnitCounts;

/// What numbers between 0 and 1 are centred at and divided by: most counts are small.
const CENTRE: f64 = 0.25;
/// No entry of the design is larger.
const LARGEST: f64 = 3.0;
/// How much the gradient weighs beside the curvature in what a unit gives.
const GRADIENT: f64 = 2.0;
/// The deviation of a step in each direction beforehand: log odds over columns that have deviation 1.
const STEP: f64 = 0.3;

/// The design: a constant, the log odds of each column of categories, centred and scaled, and the numbers.
#[derive(Clone, Debug)]
pub(crate) struct Design<'a> {
    layout: &'a Layout,
    buckets: &'a Buckets,
}

/// Memory for one unit.
#[derive(Default)]
pub(crate) struct Sums {
    row: Vec<f64>,
    curvature: Vec<f64>,
    gradient: Vec<f64>,
}

/// A linear model: an intercept, a weight for each number and for each category.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinearStart {
    pub(crate) intercept: f64,
    pub(crate) numbers: Vec<f64>,
    pub(crate) categories: Vec<f64>,
}

impl<'a> Design<'a> {
    pub(crate) fn new(layout: &'a Layout, buckets: &'a Buckets) -> Self {
        Self { layout, buckets }
    }

    /// How many columns it has.
    fn size(&self) -> usize {
        1 + self.layout.columns.len() + self.layout.numbers
    }

    /// How many numbers are released: the curvature from its diagonal on, and the gradient.
    fn released(&self) -> usize {
        let size = self.size();
        size * (size + 1) / 2 + size
    }

    /// Two cells for each number, one for what is above zero and one for what is below.
    pub(crate) fn cells(&self) -> u64 {
        2 * self.released() as u64
    }

    /// The design of a row, and the probability that the counts of its buckets give.
    fn row(&self, row: &Row<'_>, design: &mut Vec<f64>) -> f64 {
        design.clear();
        design.resize(self.size(), 0.0);
        design[0] = 1.0;
        let mut score = self.buckets.intercept;
        for category in self.layout.categories(row) {
            let column = self.layout.column_of(category);
            let (mean, deviation) = self.buckets.columns[column];
            let log_odds = self.buckets.log_odds[category as usize];
            score += log_odds;
            if deviation > 0.0 {
                let entry = (log_odds - mean) / deviation;
                design[1 + column] = entry.clamp(-LARGEST, LARGEST);
            }
        }
        let (_, numbers) = design.split_at_mut(1 + self.layout.columns.len());
        numbers.fill(-1.0);
        for (place, value) in self.layout.numbers(row) {
            numbers[place] = ((f64::from(value) - CENTRE) / CENTRE).clamp(-LARGEST, LARGEST);
        }
        1.0 / (1.0 + libm::exp(-score))
    }

    /// Adds what a unit gives: over its rows z with label y and probability p, the sums of p (1 - p) z z' and of
    /// [`GRADIENT`] (y - p) z, divided by a length that follows z and p alone.
    ///
    /// The length is the norm of the first and twice what is expected of the second under p, and more where one row is
    /// all there is, so that the bound of the histogram, to which longer units are scaled down, is seldom met. It does not
    /// follow labels: units with clicks would else count for less.
    ///
    /// # Privacy
    /// The histogram bounds the norm of what is given by 1, whatever is put in. A number is either above or below zero, so it
    /// moves one of its two cells, by its size.
    pub(crate) fn count<'r>(
        &self,
        rows: impl Iterator<Item = Row<'r>>,
        sums: &mut Sums,
        unit: &mut UnitCounts,
    ) {
        let size = self.size();
        let Sums { row: design, curvature, gradient } = sums;
        curvature.clear();
        curvature.resize(self.released() - size, 0.0);
        gradient.clear();
        gradient.resize(size, 0.0);
        let (mut expected, mut largest) = (0.0_f64, 0.0_f64);
        for row in rows {
            let probability = self.row(&row, design);
            let weight = probability * (1.0 - probability);
            let square: f64 = design.iter().map(|entry| entry * entry).sum();
            expected += weight * square;
            largest = largest.max(probability.max(1.0 - probability).powi(2) * square);
            let mut place = 0;
            for (from, entry) in design.iter().enumerate() {
                let weighted = weight * entry;
                let others = &design[from..];
                let cells = &mut curvature[place..place + others.len()];
                cells.iter_mut().zip(others).for_each(|(cell, other)| *cell += weighted * other);
                place += others.len();
            }
            let miss = row.label - probability;
            gradient.iter_mut().zip(&*design).for_each(|(sum, entry)| *sum += miss * entry);
        }
        let square: f64 = curvature.iter().map(|cell| cell * cell).sum();
        let length = libm::sqrt(square + GRADIENT * GRADIENT * (2.0 * expected + largest));
        if length <= 0.0 {
            return;
        }
        let weighted = gradient.iter().map(|slope| GRADIENT * slope);
        for (number, value) in (0_u64..).zip(curvature.iter().copied().chain(weighted)) {
            unit.add(2 * number + u64::from(value < 0.0), value.abs() / length);
        }
    }

    /// The linear model after a step of Newton's method from the log odds of buckets, with noisy cells of this deviation.
    ///
    /// With curvature H, gradient g whose noise has deviation s, and a step that is normal with deviation t beforehand, the likeliest
    /// step minimises |g - H step|^2 / s^2 + |step|^2 / t^2: it is (H H + (s / t)^2)^-1 H g. What noise adds to H only makes it
    /// shorter.
    ///
    /// # Privacy
    /// A post-processing: it sees noisy cells and public numbers alone.
    pub(crate) fn solved(&self, cells: &[f64], deviation: f64) -> LinearStart {
        let size = self.size();
        let values: Vec<f64> = cells.chunks_exact(2).map(|pair| pair[0] - pair[1]).collect();
        let (upper, gradient) = values.split_at(self.released() - size);
        let mut curvature = vec![0.0; size * size];
        let mut rest = upper.iter();
        for row in 0..size {
            for column in row..size {
                let cell = rest.next().copied().unwrap_or_default();
                curvature[row * size + column] = cell;
                curvature[column * size + row] = cell;
            }
        }
        let noise = std::f64::consts::SQRT_2 * deviation / GRADIENT;
        let row = |row: usize| &curvature[row * size..(row + 1) * size];
        let mut square = vec![0.0; size * size];
        for one in 0..size {
            for other in 0..size {
                square[one * size + other] = inner(row(one), row(other));
            }
            square[one * size + one] += (noise / STEP).powi(2).max(f64::MIN_POSITIVE);
        }
        let gradient: Vec<f64> = gradient.iter().map(|slope| slope / GRADIENT).collect();
        let image = (0..size).map(|place| inner(row(place), &gradient)).collect();
        self.model(&solve(square, image))
    }

    /// The model of a step.
    fn model(&self, step: &[f64]) -> LinearStart {
        let (columns, numbers) = step[1..].split_at(self.layout.columns.len());
        let mut intercept = self.buckets.intercept + step[0];
        let mut categories = self.buckets.log_odds.clone();
        for ((range, step), (mean, deviation)) in
            self.layout.columns.iter().zip(columns).zip(&self.buckets.columns)
        {
            if *deviation > 0.0 {
                let slope = step / deviation;
                intercept -= slope * mean;
                let weights = &mut categories[range.start as usize..range.end as usize];
                weights.iter_mut().for_each(|weight| *weight *= 1.0 + slope);
            }
        }
        intercept -= numbers.iter().sum::<f64>();
        let numbers = numbers.iter().map(|step| step / CENTRE).collect();
        LinearStart { intercept, numbers, categories }
    }
}

fn inner(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The solution of a symmetric positive definite system, by Cholesky's factorisation. A pivot that rounding made too small counts
/// as none: its direction stays zero.
fn solve(mut matrix: Vec<f64>, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    let at = |row: usize, column: usize| row * size + column;
    for pivot in 0..size {
        let largest = matrix[at(pivot, pivot)];
        let squares: f64 = (0..pivot).map(|it| matrix[at(pivot, it)].powi(2)).sum();
        let rest = largest - squares;
        let root = if rest > 1e-13 * largest { libm::sqrt(rest) } else { f64::INFINITY };
        for row in pivot + 1..size {
            let known: f64 = (0..pivot).map(|it| matrix[at(row, it)] * matrix[at(pivot, it)]).sum();
            matrix[at(row, pivot)] = (matrix[at(row, pivot)] - known) / root;
        }
        matrix[at(pivot, pivot)] = root;
        let known: f64 = (0..pivot).map(|it| matrix[at(pivot, it)] * right[it]).sum();
        right[pivot] = (right[pivot] - known) / root;
    }
    for pivot in (0..size).rev() {
        let known: f64 = (pivot + 1..size).map(|it| matrix[at(it, pivot)] * right[it]).sum();
        right[pivot] = (right[pivot] - known) / matrix[at(pivot, pivot)];
    }
    right
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::task::ClickTask;
    use crate::testing;

    #[test]
    fn a_system_is_solved() {
        let matrix = vec![4.0, 2.0, 0.6, 2.0, 5.0, 1.0, 0.6, 1.0, 3.0];
        let found = solve(matrix, vec![9.8, 15.0, 11.6]);
        let expected = [1.0, 2.0, 3.0];
        assert!(found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-12));
        assert_eq!(
            solve(vec![1.0, 1.0, 1.0, 1.0], vec![2.0, 2.0]),
            [2.0, 0.0],
            "no second direction"
        );
    }

    /// Clicks that follow a number and one column far more than their counts alone say, without noise.
    #[test]
    fn a_step_finds_numbers_and_how_far_counts_go() {
        let rows: Vec<_> = (0..4_000_u32)
            .map(|row| {
                let number = f64::from(row % 10) / 10.0;
                let score = 3.0 * number + 0.8 * f64::from(row % 2) - 2.0;
                let clicked =
                    f64::from(row * 7_919 % 4_000) / 4_000.0 < 1.0 / (1.0 + (-score).exp());
                ([number as f32, 0.0], [row % 2, 5], f64::from(u8::from(clicked)))
            })
            .collect();
        let users: Vec<(String, _)> =
            rows.iter().enumerate().map(|(number, row)| (format!("u{number}"), [*row])).collect();
        let named: Vec<(&str, &[_])> =
            users.iter().map(|(name, row)| (&name[..], &row[..])).collect();
        let ClickTask { layout, rows, .. } = testing::task(testing::data(&named), 0);
        let buckets = Buckets {
            intercept: -0.1,
            log_odds: vec![-0.2, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            columns: vec![(0.0, 0.2), (0.0, 0.0)],
        };
        let design = Design::new(&layout, &buckets);
        let mut cells = vec![0.0; design.cells() as usize];
        for row in rows.iter() {
            let mut unit = UnitCounts::new();
            design.count(std::iter::once(row), &mut Sums::default(), &mut unit);
            let given = unit.merge();
            let square: f64 = given.iter().map(|(_, amount)| amount * amount).sum();
            assert!(square <= 1.0, "a row alone is never scaled down: {square}");
            given.iter().for_each(|(cell, amount)| cells[*cell as usize] += amount);
        }
        let model = design.solved(&cells, 1e-3);
        let apart = model.categories[1] - model.categories[0];
        assert!((model.numbers[0] - 3.0).abs() < 0.5, "{model:?}");
        assert!((apart - 0.8).abs() < 0.2, "{model:?}");
    }
}
