//! The sums of all units, at the cost of the pairs that occur.

use super::noisy::NoisyGram;
use super::plan::GramPlan;
use super::row::{Direction, scaled};
use crate::due::NotPaid;
use crate::exchange::{ReleasedNumbers, Summed, Sums};
use crate::random::StepRandom;
use crate::release::Release;
use crate::wide::WideNumbers;
use organza_ledger::{Charged, Event};

/// The cells of all units, which have no noise yet: there is nothing to read.
///
/// The sum over units of F (u - a p)(u - a p)' is that of F u u', less the products of p with the sum of F a u, plus the
/// sum of F a^2 times p p'. So a unit costs the pairs of columns that it has, and the dense part is made once, at the end.
///
/// # Privacy
/// Each unit is added once, and scaled as one. Sums are of whole numbers, so neither the order of units nor threads matter. They are
/// known modulo 2^128, which cells of rests never fill: a unit adds at most 2^43 to each.
///
/// ```compile_fail,E0599
/// # fn read(sum: organza_mechanism::GramSum) {
/// sum.cells();
/// # }
/// ```
pub struct GramSum {
    plan: GramPlan,
    direction: Direction,
    /// Of F u u', unordered pairs by rows; then of F a u; then of F a^2.
    sums: WideNumbers,
}

impl GramSum {
    pub(super) fn new(plan: GramPlan, direction: &[u32]) -> Self {
        let columns = plan.columns();
        let direction = Direction::new(columns, direction);
        let sums = WideNumbers::zeros(row_start(columns, columns) + columns + 1);
        Self { plan, direction, sums }
    }

    /// Adds a unit: (column, entry) in the order of columns, each once, with entries from 1 to
    /// [`LARGEST_ENTRY`](super::LARGEST_ENTRY). A row of any other kind counts as empty.
    pub fn add(&mut self, row: &[(u32, u32)]) {
        let Some(scaled) = scaled(&self.direction, row) else { return };
        let columns = self.plan.columns();
        let (factor, multiple) = (i128::from(scaled.factor), i128::from(scaled.multiple));
        let along = row_start(columns, columns);
        self.sums.add(along + columns, factor * multiple * multiple);
        for (place, (column, entry)) in row.iter().enumerate() {
            let (column, entry) = (*column as usize, i128::from(*entry));
            self.sums.add(along + column, factor * multiple * entry);
            // Below 2^57.
            let weight = (factor * entry) as i64;
            let start = row_start(columns, column) - column;
            for (other, value) in &row[place..] {
                let cell = i128::from(weight) * i128::from(*value);
                self.sums.add(start + *other as usize, cell);
            }
        }
    }

    /// The units of both. They have to be sums of one plan and direction: any other is not added.
    pub fn merge(mut self, other: Self) -> Self {
        if self.plan == other.plan && self.direction == other.direction {
            self.sums.join(&other.sums);
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
    pub(super) fn finished(self) -> WideNumbers {
        let Self { direction: Direction { entries, .. }, mut sums, .. } = self;
        let columns = entries.len();
        let along: Vec<i128> =
            (0..columns + 1).map(|column| sums.get(row_start(columns, columns) + column)).collect();
        let twice = along[columns];
        for (row, part) in entries.iter().map(|entry| i128::from(*entry)).enumerate() {
            let outer = twice.wrapping_mul(part).wrapping_sub(along[row]);
            let start = row_start(columns, row) - row;
            for column in row..columns {
                let both = outer.wrapping_mul(entries[column].into());
                sums.add(start + column, both.wrapping_sub(part.wrapping_mul(along[column])));
            }
        }
        sums.truncate(row_start(columns, columns));
        sums
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
        Sums::Places(self.sums)
    }

    fn with_sums(mut self, sums: Sums) -> Option<Self> {
        let Sums::Places(sums) = sums else { return None };
        (sums.len() == self.sums.len()).then(|| {
            self.sums.join(&sums);
            self
        })
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
        (cells.len() == row_start(self.plan.columns(), self.plan.columns()))
            .then(|| NoisyGram::of_cells(self.plan, cells, private))
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
