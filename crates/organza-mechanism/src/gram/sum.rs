//! The sums of all units, at the cost of the pairs that occur.

use super::noisy::NoisyGram;
use super::plan::GramPlan;
use super::row::{Direction, scaled};
use crate::due::NotPaid;
use crate::exchange::{ReleasedNumbers, Summed, Sums};
use crate::random::StepRandom;
use crate::release::Release;
use organza_ledger::{Charged, Event};

/// The cells of all units, which have no noise yet: there is nothing to read.
///
/// The sum over units of F (u - a p)(u - a p)' is that of F u u', less the products of p with the sum of F a u, plus the
/// sum of F a^2 times p p'. So a unit costs the pairs of columns that it has, and the dense part is made once, at the end.
///
/// # Privacy
/// Each unit is added once, and scaled as one. Sums are of whole numbers, so neither the order of units nor threads
/// matter. They wrap around at 2^63, after a million units that all have one and the same column and no other; what is released is
/// then known modulo 2^64 as well, so that it is a post-processing of noise on the true sum.
///
/// ```compile_fail,E0599
/// # fn read(sum: organza_mechanism::GramSum) {
/// sum.cells();
/// # }
/// ```
pub struct GramSum {
    plan: GramPlan,
    direction: Direction,
    /// Of F u u', unordered pairs by rows.
    cells: Vec<i64>,
    /// Of F a u.
    along: Vec<i64>,
    /// Of F a^2.
    twice: i64,
}

impl GramSum {
    pub(super) fn new(plan: GramPlan, direction: &[u32]) -> Self {
        let columns = plan.columns();
        let direction = Direction::new(columns, direction);
        let cells = vec![0; columns * (columns + 1) / 2];
        Self { plan, direction, cells, along: vec![0; columns], twice: 0 }
    }

    /// Adds a unit: (column, entry) in the order of columns, each once, with entries from 1 to
    /// [`LARGEST_ENTRY`](super::LARGEST_ENTRY). A row of any other kind counts as empty.
    pub fn add(&mut self, row: &[(u32, u32)]) {
        let Some(scaled) = scaled(&self.direction, row) else { return };
        let columns = self.plan.columns();
        let (factor, multiple) = (scaled.factor as i64, scaled.multiple);
        let once = factor.wrapping_mul(multiple);
        self.twice = self.twice.wrapping_add(once.wrapping_mul(multiple));
        for (place, (column, entry)) in row.iter().enumerate() {
            let (column, entry) = (*column as usize, i64::from(*entry));
            self.along[column] = self.along[column].wrapping_add(once.wrapping_mul(entry));
            let weight = factor.wrapping_mul(entry);
            let cells = &mut self.cells[row_start(columns, column)..][..columns - column];
            for (other, value) in &row[place..] {
                let cell = &mut cells[*other as usize - column];
                *cell = cell.wrapping_add(weight.wrapping_mul(i64::from(*value)));
            }
        }
    }

    /// The units of both. They have to be sums of one plan and direction: any other is not added.
    pub fn merge(mut self, other: Self) -> Self {
        if self.plan == other.plan && self.direction == other.direction {
            let add = |to: &mut [i64], from: &[i64]| {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = to.wrapping_add(*from));
            };
            add(&mut self.cells, &other.cells);
            add(&mut self.along, &other.along);
            self.twice = self.twice.wrapping_add(other.twice);
        }
        self
    }

    /// The noise.
    ///
    /// # Errors
    /// If the charge is not for this release of this plan, or it was released before.
    pub fn noise(self, release: &Release, paid: Charged) -> Result<NoisyGram, NotPaid> {
        release.of_sum(self, paid)
    }

    /// The cells of all rests.
    pub(super) fn finished(self) -> Vec<i64> {
        let Self { direction: Direction { entries, .. }, mut cells, along, twice, .. } = self;
        let mut rest = &mut cells[..];
        for (row, (part, along_row)) in entries.iter().zip(&along).enumerate() {
            let (cells, others) = rest.split_at_mut(entries.len() - row);
            rest = others;
            let outer = twice.wrapping_mul(*part).wrapping_sub(*along_row);
            for ((cell, other), along) in cells.iter_mut().zip(&entries[row..]).zip(&along[row..]) {
                let both = outer.wrapping_mul(*other).wrapping_sub(part.wrapping_mul(*along));
                *cell = cell.wrapping_add(both);
            }
        }
        cells
    }
}

/// All sums in their places: of pairs, along the direction, and twice along it.
impl Summed for GramSum {
    type Released = NoisyGram;

    fn event(&self) -> Event {
        self.plan.event()
    }

    fn plan(&self) -> String {
        format!("gram {:?} {:?}", self.plan.settings(), self.direction.entries)
    }

    fn into_sums(self) -> Sums {
        let Self { mut cells, along, twice, .. } = self;
        cells.extend(along);
        cells.push(twice);
        Sums::Places(cells)
    }

    fn with_sums(mut self, sums: Sums) -> Option<Self> {
        let Sums::Places(mut cells) = sums else { return None };
        let twice = cells.pop()?;
        let pairs = cells.len().checked_sub(self.along.len())?;
        let along = cells.split_off(pairs);
        (pairs == self.cells.len()).then_some(())?;
        let (plan, direction) = (self.plan.clone(), self.direction.clone());
        self = self.merge(Self { plan, direction, cells, along, twice });
        Some(self)
    }

    fn drawn(self, random: &StepRandom, private: bool) -> NoisyGram {
        let plan = self.plan.clone();
        NoisyGram::new(plan, &self.finished(), random, private)
    }

    fn told(released: &NoisyGram) -> ReleasedNumbers {
        ReleasedNumbers::Places(released.cells().iter().map(|cell| cell.to_bits()).collect())
    }

    fn with_told(self, told: ReleasedNumbers, private: bool) -> Option<NoisyGram> {
        let ReleasedNumbers::Places(cells) = told else { return None };
        let cells: Vec<f32> = cells.into_iter().map(f32::from_bits).collect();
        (cells.len() == self.cells.len()).then(|| NoisyGram::of_cells(self.plan, cells, private))
    }
}

/// Where the cells of a row begin, with the one on the diagonal.
pub(super) fn row_start(columns: usize, row: usize) -> usize {
    row * columns - row * row.saturating_sub(1) / 2
}

/// Without anything of the sums.
impl std::fmt::Debug for GramSum {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "GramSum({} columns)", self.plan.columns())
    }
}
