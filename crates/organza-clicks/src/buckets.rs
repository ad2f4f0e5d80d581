//! Clicks and views of every category, and the log odds that they give.

use crate::layout::Layout;
use organza_data::sparse::Row;
use organza_mechanism::UnitCounts;

/// The variance of a count by chance, beside that of independent rows that weigh 1 each: rows weigh less, but those of a user are
/// not independent.
const CHANCE: f64 = 0.3;
/// Deviations of the log odds of a column that are tried: from the first, so many, each larger by this factor.
const FIRST_DEVIATION: f64 = 0.02;
const DEVIATIONS: usize = 24;
const FACTOR: f64 = 1.25;
/// A rate of clicks is kept away from 0 and 1.
const LEAST_RATE: f64 = 1e-3;

/// Two cells of each category: views without a click, and with one.
pub(crate) fn cells(layout: &Layout) -> u64 {
    2 * u64::from(layout.rows())
}

/// Adds what a unit gives to the cells: of each column its views, divided by their L2 norm and by the square root of the number
/// of columns.
///
/// # Privacy
/// The views of a unit in a column, with and without a click, are two parts of a vector of the norm that is divided by, so the
/// L2 norm of the unit is at most 1, whatever its rows are. The histogram bounds it once more. The divisor does not follow
/// the labels: units with many clicks would else count for less, and the rate of clicks come out too small.
pub(crate) fn count<'a>(
    layout: &Layout,
    rows: impl Iterator<Item = Row<'a>>,
    seen: &mut Vec<(u32, bool)>,
    unit: &mut UnitCounts,
) {
    seen.clear();
    for row in rows {
        seen.extend(layout.categories(&row).map(|category| (category, row.label > 0.5)));
    }
    seen.sort_unstable();
    for column in seen.chunk_by(|one, other| layout.column_of(one.0) == layout.column_of(other.0)) {
        let views = column.chunk_by(|one, other| one.0 == other.0);
        let square: f64 = views.map(|views| (views.len() as f64).powi(2)).sum();
        let amount = 1.0 / libm::sqrt(square * layout.columns.len() as f64);
        for (category, clicked) in column {
            unit.add(2 * u64::from(*category) + u64::from(*clicked), amount);
        }
    }
}

/// What the noisy counts say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Buckets {
    /// The log odds of the rate of clicks.
    pub(crate) intercept: f64,
    /// What each category adds to them.
    pub(crate) log_odds: Vec<f64>,
    /// The mean and the deviation of that in each column, over views.
    pub(crate) columns: Vec<(f64, f64)>,
}

impl Buckets {
    /// From noisy cells whose noise has this deviation.
    ///
    /// With W views and C clicks of a category (weighted as [`count`] does), the rate p of all, v = p (1 - p), and log odds that
    /// are e beyond those of the rate, C - p W is about W v e, with a variance of [`CHANCE`] W v by chance and
    /// ((1 - p)^2 + p^2) deviation^2 by noise. If e is normal with deviation t beforehand, C - p W is normal, and what is expected
    /// of e is W v t^2 (C - p W) / variance of C - p W. The t of a column is that under which its cells are likeliest (empirical
    /// Bayes).
    ///
    /// W is taken for (p C + (1 - p) (W - C)) / (p^2 + (1 - p)^2), whose noise is independent of that of C - p W. By the sum of both
    /// cells, buckets that only noise filled would all seem to be clicked.
    ///
    /// # Privacy
    /// A post-processing: it sees noisy cells and public numbers alone.
    pub(crate) fn of(layout: &Layout, cells: &[f64], deviation: f64) -> Self {
        let scale = libm::sqrt(layout.columns.len() as f64);
        let clicks: f64 = cells.iter().skip(1).step_by(2).sum();
        let views: f64 = cells.iter().sum();
        let rate = (clicks / views.max(1.0)).clamp(LEAST_RATE, 1.0 - LEAST_RATE);
        let squares = (1.0 - rate).powi(2) + rate.powi(2);
        let known = CellVariances {
            variance: rate * (1.0 - rate),
            noise: (scale * deviation).powi(2) * squares,
        };
        let mut buckets = Self {
            intercept: libm::log(rate / (1.0 - rate)),
            log_odds: Vec::with_capacity(cells.len() / 2),
            columns: Vec::with_capacity(layout.columns.len()),
        };
        for range in &layout.columns {
            let cells = &cells[2 * range.start as usize..2 * range.end as usize];
            let of_cell = |pair: &[f64]| {
                let (without, with) = (scale * pair[0], scale * pair[1]);
                let views = (rate * with + (1.0 - rate) * without) / squares;
                (views.max(0.0), (1.0 - rate) * with - rate * without)
            };
            let cells: Vec<(f64, f64)> = cells.chunks_exact(2).map(of_cell).collect();
            let prior = known.likeliest(&cells);
            let log_odds: Vec<f64> =
                cells.iter().map(|cell| known.expected(*cell, prior)).collect();
            buckets.columns.push(moments(&cells, &log_odds));
            buckets.log_odds.extend(log_odds);
        }
        buckets
    }
}

/// Public or released numbers of all cells.
struct CellVariances {
    /// Of the label of a row.
    variance: f64,
    /// Of C - p W, by noise.
    noise: f64,
}

impl CellVariances {
    /// The variance of C - p W, if log odds have this one.
    fn all(&self, views: f64, prior: f64) -> f64 {
        let slope = views * self.variance;
        self.noise + CHANCE * slope + slope * slope * prior
    }

    /// The variance of log odds under which pairs of W and C - p W are likeliest; 0 if none is likelier than that.
    fn likeliest(&self, cells: &[(f64, f64)]) -> f64 {
        let tried =
            (0..DEVIATIONS as i32).map(|power| (FIRST_DEVIATION * FACTOR.powi(power)).powi(2));
        let likelihood = |prior: f64| -> f64 {
            let of_cell = |(views, beyond): &(f64, f64)| {
                let variance = self.all(*views, prior);
                -libm::log(variance) - beyond * beyond / variance
            };
            cells.iter().map(of_cell).sum()
        };
        let tried = std::iter::once(0.0).chain(tried).map(|prior| (likelihood(prior), prior));
        tried.max_by(|one, other| one.0.total_cmp(&other.0)).map_or(0.0, |(_, prior)| prior)
    }

    fn expected(&self, (views, beyond): (f64, f64), prior: f64) -> f64 {
        views * self.variance * prior * beyond / self.all(views, prior).max(f64::MIN_POSITIVE)
    }
}

/// The mean and the deviation of log odds over views.
fn moments(cells: &[(f64, f64)], log_odds: &[f64]) -> (f64, f64) {
    let all: f64 = cells.iter().map(|(views, _)| views).sum::<f64>().max(f64::MIN_POSITIVE);
    let over = |value: &dyn Fn(f64) -> f64| -> f64 {
        cells.iter().zip(log_odds).map(|((views, _), it)| views * value(*it)).sum::<f64>() / all
    };
    let mean = over(&|it| it);
    (mean, libm::sqrt(over(&|it| (it - mean).powi(2))))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing;

    #[test]
    fn a_unit_has_norm_one_whatever_its_rows_are() {
        let rows: Vec<_> = (0..12_u32)
            .map(|row| ([0.5, 0.0], [row % 3, 4 + row % 4], f64::from(row % 2)))
            .collect();
        for number in [1, 2, 12] {
            let task = testing::task(testing::data(&[("ann", &rows[..number])]), 0);
            let mut unit = UnitCounts::new();
            count(&task.layout, task.rows.iter(), &mut Vec::new(), &mut unit);
            let square: f64 = unit.merge().iter().map(|(_, amount)| amount * amount).sum();
            // Clicks and views without one stand in different cells.
            assert!((0.5..=1.0 + 1e-12).contains(&square), "{square}");
        }
    }

    /// Cells that have the counts of known log odds give these, and with much noise none.
    #[test]
    fn log_odds_come_back_and_are_shrunk_by_noise() {
        let layout = testing::task(testing::data(&[]), 0).layout;
        let truth: Vec<f64> = (0..layout.rows()).map(|it| 0.2 * f64::from(it % 3) - 0.2).collect();
        let probability = |log_odds: f64| 1.0 / (1.0 + (1.0 - log_odds).exp());
        let cells: Vec<f64> = truth
            .iter()
            .flat_map(|it| [1.0 - probability(*it), probability(*it)].map(|part| 1e5 * part))
            .collect();
        let near = Buckets::of(&layout, &cells, 1.0);
        let middle = near.log_odds.iter().sum::<f64>() / 8.0 - truth.iter().sum::<f64>() / 8.0;
        for (found, truth) in near.log_odds.iter().zip(&truth) {
            assert!((found - truth - middle).abs() < 0.02, "{found} {truth}");
        }
        let far = Buckets::of(&layout, &cells, 1e6);
        assert!(far.log_odds.iter().all(|it| it.abs() < 1e-3));
    }
}
