//! Noise on every cell, drawn for few of them.

use super::plan::HistogramPlan;
use crate::random::StepRandom;
use organza_progress::{Size, Stage};
use rayon::prelude::*;
use std::ops::Range;

/// Which substream serves what.
const OCCUPIED: u64 = 0;
const SKIPS: u64 = 1;
const EMPTY: u64 = 2;
const DENSE: u64 = 3;
/// How many there are, so that the next part has others.
const SHARDS: u64 = 4;

/// So many cells are noised in one go.
const CELLS_AT_ONCE: u64 = 1 << 14;

/// Noisy counts: a released result.
///
/// # Privacy
/// It has the law of noise on *all* cells, of which those at or above the public bar are kept. Cells with
/// a count get their own noise and meet the bar; the others are independent of each other and of
/// these, and have no count, so it is enough to draw which of them reach the bar (each with
/// the exact probability p = Pr\[Z >= bar\], by geometric skips: their number is Binomial and their places are
/// uniform without replacement) and, for these, Z given Z >= bar. The result is sorted by cell and shows
/// nowhere which way a cell went. Time and memory follow the cells that occur, and are not private.
#[derive(Clone, Debug)]
pub struct NoisyHistogram {
    plan: HistogramPlan,
    /// By cell, in grid steps.
    cells: Vec<(u64, i64)>,
    private: bool,
}

impl NoisyHistogram {
    pub(super) fn new(
        plan: HistogramPlan,
        sums: &[(u64, u64)],
        random: &StepRandom,
        private: bool,
    ) -> Self {
        let cells = match plan.bar_in_steps() {
            None => dense(&plan, plan.settings().cells, sums, random, OCCUPIED),
            Some(bar) => {
                let first = plan.settings().dense;
                let (below, others) =
                    sums.split_at(sums.partition_point(|(cell, _)| *cell < first));
                let mut cells = dense(&plan, first, below, random, DENSE);
                cells.append(&mut above(&plan, bar, others, random));
                cells
            }
        };
        Self { plan, cells, private }
    }

    /// What was released elsewhere, by cell, in grid steps; none if it cannot be of this plan.
    pub(super) fn of_steps(
        plan: HistogramPlan,
        cells: Vec<(u64, i64)>,
        private: bool,
    ) -> Option<Self> {
        let fits = cells.last().is_none_or(|(cell, _)| *cell < plan.settings().cells);
        let all = plan.bar_in_steps().is_some() || cells.len() as u64 == plan.settings().cells;
        (fits && all).then_some(Self { plan, cells, private })
    }

    /// The released cells, in grid steps.
    pub(super) fn in_steps(&self) -> &[(u64, i64)] {
        &self.cells
    }

    /// The released cells in their order, with their noisy counts.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = (u64, f64)> {
        let step = self.plan.step();
        self.cells.iter().map(move |(cell, count)| (*cell, *count as f64 * step))
    }

    /// How many cells were released.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether no cell was.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The plan it was made by.
    pub fn plan(&self) -> &HistogramPlan {
        &self.plan
    }

    /// Whether nobody can know the noise.
    pub fn is_private(&self) -> bool {
        self.private
    }
}

fn noisy(count: u64, noise: i64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX).saturating_add(noise)
}

/// Noise on `number` cells, of which `counts` gives those of a range; kept is what reaches the bar, if there is one. Parts have
/// randomness of their own, so that threads change nothing.
fn with_noise<Counts: Iterator<Item = (u64, u64)>>(
    plan: &HistogramPlan,
    number: u64,
    (source, substream): (&StepRandom, u64),
    bar: Option<i64>,
    counts: impl Fn(Range<u64>) -> Counts + Sync,
) -> Vec<(u64, i64)> {
    let stage = Stage::begin("drawing noise", Size::Hidden(number));
    let part = |part: u64| {
        let mut random = source.shard(SHARDS * part + substream);
        let first = part * CELLS_AT_ONCE;
        let range = first..number.min(first + CELLS_AT_ONCE);
        stage.add(range.end - first);
        let noisy = counts(range)
            .map(|(cell, count)| (cell, noisy(count, plan.noise().draw(&mut random))))
            .filter(|(_, count)| bar.is_none_or(|bar| *count >= bar));
        noisy.collect::<Vec<_>>()
    };
    match number.div_ceil(CELLS_AT_ONCE) {
        parts @ (0 | 1) => (0..parts).flat_map(part).collect(),
        parts => (0..parts).into_par_iter().flat_map_iter(part).collect(),
    }
}

/// Noise on the first cells, whatever their counts.
fn dense(
    plan: &HistogramPlan,
    cells: u64,
    sums: &[(u64, u64)],
    source: &StepRandom,
    substream: u64,
) -> Vec<(u64, i64)> {
    with_noise(plan, cells, (source, substream), None, |range| {
        let before = sums.partition_point(|(cell, _)| *cell < range.start);
        let mut sums = sums[before..].iter().peekable();
        range.map(move |cell| sums.next_if(|(next, _)| *next == cell).copied().unwrap_or((cell, 0)))
    })
}

/// Noise on the cells after the first ones, of which those at or above the bar are kept.
fn above(
    plan: &HistogramPlan,
    bar: i64,
    sums: &[(u64, u64)],
    source: &StepRandom,
) -> Vec<(u64, i64)> {
    let occupied =
        |range: Range<u64>| sums[range.start as usize..range.end as usize].iter().copied();
    let mut cells = with_noise(plan, sums.len() as u64, (source, OCCUPIED), Some(bar), occupied);
    let noise = plan.noise().above(bar).expect("the plan has checked that noise reaches its bar");
    let mut skips = source.shard(SKIPS);
    let mut values = source.shard(EMPTY);
    let mut occupied = sums.iter().map(|(cell, _)| *cell).peekable();
    // The number of the next empty cell among the empty ones, and how many cells that are none of them lie before it.
    let (mut place, mut before) = (0, plan.settings().dense);
    let empty = plan.settings().cells - before - sums.len() as u64;
    loop {
        place += noise.skip(empty - place, &mut skips);
        if place == empty {
            break;
        }
        while occupied.next_if(|cell| *cell <= place + before).is_some() {
            before += 1;
        }
        cells.push((place + before, noise.draw(&mut values)));
        place += 1;
    }
    cells.sort_unstable_by_key(|(cell, _)| *cell);
    cells
}
