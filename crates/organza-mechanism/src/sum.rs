//! The sum of clipped gradients, in integers, with nothing to read.

use crate::clip::{Clipped, truncated};
use crate::memory::Lease;
use crate::row_index::RowIndex;
use crate::scores::By;
use crate::shape::Shape;
use pulp::{Arch, Simd, WithSimd};
use std::sync::Arc;

/// The sum of a batch's clipped gradients in grid steps, and how many units touched each row.
///
/// # Privacy
/// Adding or removing one unit changes the sum by at most 2^30 steps (S1) in L2, the count of at
/// most `rows_per_unit` rows by one each, and that of units within the clip by one. Integer sums do not depend on order or threads. It never
/// leaves this crate: only a mechanism can look inside.
pub(crate) struct ClippedSum {
    shape: Arc<Shape>,
    index: RowIndex,
    places: Vec<Place>,
    values: Vec<i64>,
    /// Sums of other parts of the batch: rows that only they touched stay where they are.
    joined: Vec<Lease>,
    /// The number that each row has in the sum that is being joined.
    shared: Vec<u32>,
    /// How many coordinates the touched rows have.
    coordinates: usize,
    units: u64,
    /// Empty unless the selection looks at counts.
    counts: Vec<u64>,
    /// The rows of a unit with their sizes, while they are counted.
    sizes: Vec<(f32, u32)>,
    rows_per_unit: usize,
    not_finite: u64,
    /// Units within the clip, less those beyond it.
    within: i64,
}

/// How many rows of a joined sum are looked up ahead.
const AHEAD: usize = 32;
/// A row that only one of two sums has.
const NOT_SHARED: u32 = u32::MAX;
/// So many rows are not worth a second thread.
const FEW_ROWS: usize = 256;

/// Where the values of a row are.
#[derive(Clone, Copy)]
struct Place {
    /// 0 for the sum's own values, otherwise the number of a joined one, from 1.
    part: u32,
    start: usize,
    length: usize,
}

/// Without a value: whoever holds a sum may print it.
impl std::fmt::Debug for ClippedSum {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ClippedSum(secret)")
    }
}

impl ClippedSum {
    pub(crate) fn new(shape: Arc<Shape>, rows_per_unit: usize) -> Self {
        Self {
            shape,
            index: RowIndex::new(),
            places: Vec::new(),
            values: Vec::new(),
            joined: Vec::new(),
            shared: Vec::new(),
            coordinates: 0,
            units: 0,
            counts: Vec::new(),
            sizes: Vec::new(),
            rows_per_unit,
            not_finite: 0,
            within: 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.index.clear();
        self.places.clear();
        self.values.clear();
        self.joined.clear();
        self.counts.clear();
        (self.coordinates, self.units, self.not_finite, self.within) = (0, 0, 0, 0);
    }

    /// How many gradients held a NaN or an infinity and were counted as zero.
    pub(crate) fn not_finite(&self) -> u64 {
        self.not_finite
    }

    /// How many units were within the clip, less those that were not: every unit counts once.
    pub(crate) fn within(&self) -> i64 {
        self.within
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// How many units it is of, without those that were not finite.
    pub(crate) fn units(&self) -> u64 {
        self.units
    }

    /// Whether units count at rows.
    pub(crate) fn counts_rows(&self) -> bool {
        self.rows_per_unit > 0
    }

    /// The values of a row that was touched, with the units that counted at it, if units count.
    pub(crate) fn row_with_count(&self, row: u32) -> (&[i64], Option<u64>) {
        let Some(number) = self.index.get(row) else { return (&[], None) };
        let count = || self.counts.get(number).copied().unwrap_or(0);
        (self.row_at(number), self.counts_rows().then(count))
    }

    /// Begins a sum that was made elsewhere; it is empty.
    pub(crate) fn begin(&mut self, units: u64, not_finite: u64, within: i64) {
        (self.units, self.not_finite, self.within) = (units, not_finite, within);
    }

    /// Adds a row of a sum that was made elsewhere, which no row before it was, with the units that counted at it.
    pub(crate) fn push_row(&mut self, row: u32, count: u64, values: impl Iterator<Item = i64>) {
        self.index.insert(row);
        let start = self.values.len();
        self.values.extend(values);
        let length = self.values.len() - start;
        self.places.push(Place { part: 0, start, length });
        self.coordinates += length;
        if self.counts_rows() {
            self.counts.push(count);
        }
    }

    pub(crate) fn shared_shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// The largest size that a value can have, in grid steps: 2^30 a unit.
    pub(crate) fn largest(&self) -> f64 {
        self.units as f64 * crate::grid::STEPS_OF_CLIP
    }

    /// Adds one unit.
    pub(crate) fn add(&mut self, unit: &Clipped<'_>) {
        self.within += if unit.is_within { 1 } else { -1 };
        if unit.not_finite {
            self.not_finite += 1;
            return;
        }
        if !unit.gradient.is_of(&self.shape) {
            // Swapped for one of another plan: its rows do not fit, and count as none.
            return;
        }
        self.units += 1;
        Arch::new().dispatch(AddUnit { sum: self, unit });
        if self.rows_per_unit > 0 {
            self.count(unit);
        }
    }

    /// Counts the unit at the rows where it is largest (ties: the lower row), `rows_per_unit` at the
    /// most: a rule that looks at this unit alone.
    fn count(&mut self, unit: &Clipped<'_>) {
        let size = |values: &[f32]| values.iter().map(|value| value.abs()).fold(0.0, f32::max);
        self.counts.resize(self.places.len(), 0);
        self.sizes.clear();
        let candidates = unit.gradient.rows().filter(|(row, _)| self.shape.is_selectable(*row));
        self.sizes.extend(candidates.map(|(row, values)| (size(values), row)));
        if self.sizes.len() > self.rows_per_unit {
            self.sizes
                .sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
            self.sizes.truncate(self.rows_per_unit);
        }
        for (_, row) in &self.sizes {
            if let Some(place) = self.index.get(*row) {
                self.counts[place] += 1;
            }
        }
    }

    /// Joins the sum of another part of the same batch, on all threads. Rows that are new stay in the other's
    /// memory.
    pub(crate) fn join(&mut self, other: Lease) {
        let part = self.joined.len() as u32 + 1;
        self.not_finite += other.sum.not_finite;
        self.units += other.sum.units;
        self.within += other.sum.within;
        let own_rows = self.places.len();
        self.shared.clear();
        self.shared.resize(own_rows, NOT_SHARED);
        let rows = other.sum.index.rows();
        for (number, row) in rows.iter().enumerate() {
            if number % AHEAD == 0 {
                self.index.touch(&rows[number..rows.len().min(number + AHEAD)]);
            }
            let Place { start, length, .. } = other.sum.places[number];
            let (own, new) = self.index.insert(*row);
            if new {
                self.places.push(Place { part, start, length });
                self.coordinates += length;
            } else {
                self.shared[own] = number as u32;
            }
            if self.rows_per_unit > 0 {
                self.counts.resize(self.places.len(), 0);
                self.counts[own] += other.sum.counts[number];
            }
        }
        let mut left = &self.places[..own_rows];
        for home in 0..part {
            let here = left.partition_point(|place| place.part <= home);
            let (places, after) = left.split_at(here);
            let shared = &self.shared[own_rows - left.len()..];
            let values = match home {
                0 => &mut self.values,
                home => &mut self.joined[home as usize - 1].sum.values,
            };
            add_shared(places, shared, values, 0, &other.sum);
            left = after;
        }
        self.joined.push(other);
    }

    fn row_at(&self, number: usize) -> &[i64] {
        let Place { part, start, length } = self.places[number];
        let values = match part {
            0 => &self.values,
            part => &self.joined[part as usize - 1].sum.values,
        };
        &values[start..start + length]
    }

    /// The values of `row`, if any unit touched it.
    pub(crate) fn row(&self, row: u32) -> Option<&[i64]> {
        self.index.get(row).map(|number| self.row_at(number))
    }

    /// The value at `coordinate`: zero where no unit touched its row.
    pub(crate) fn value(&self, coordinate: u64) -> i64 {
        let Some((row, place)) = self.shape.place(coordinate) else { return 0 };
        self.row(row).map_or(0, |values| values[place])
    }

    /// How many candidates the touched rows have.
    pub(crate) fn touched(&self, by: By) -> u64 {
        match by {
            By::Coordinate => self.coordinates as u64,
            By::Row => self.places.len() as u64,
        }
    }

    /// The numbers of all touched rows, in no order.
    pub(crate) fn rows(&self) -> &[u32] {
        self.index.rows()
    }

    /// All touched rows, in no order.
    pub(crate) fn all_rows(&self) -> impl Iterator<Item = &[i64]> {
        (0..self.places.len()).map(|number| self.row_at(number))
    }

    /// The values of all touched rows, in no order.
    pub(crate) fn all_values(&self) -> impl Iterator<Item = i64> {
        self.all_rows().flatten().copied()
    }

    /// A number that tells sums apart, whatever the order of their rows: all of their values, where they stand, the rows
    /// that were touched, and what is counted beside them.
    pub(crate) fn digest(&self) -> u64 {
        let of_row = |(number, row): (usize, &u32)| {
            let count = self.counts.get(number).copied().unwrap_or(0);
            let values = self.row_at(number).iter().map(|value| value.cast_unsigned());
            values.fold(mixed(mixed(MIX, u64::from(*row)), count), mixed)
        };
        let counted = [self.units, self.not_finite, self.within.cast_unsigned()];
        let rows = self.index.rows().iter().enumerate().map(of_row);
        rows.fold(counted.into_iter().fold(MIX, mixed), u64::wrapping_add)
    }

    /// Puts the touched rows into `rows` in ascending order: one that says nothing about the batch's own.
    pub(crate) fn sorted_rows(&self, rows: &mut Vec<u32>) {
        rows.clear();
        rows.extend_from_slice(self.index.rows());
        rows.sort_unstable();
    }

    /// Puts the rows that some unit counted at into `counted`, with their counts, in no order.
    pub(crate) fn counted_rows(&self, counted: &mut Vec<(u32, u64)>) {
        counted.clear();
        counted.extend(self.index.rows().iter().copied().zip(self.counts.iter().copied()));
        counted.retain(|(_, count)| *count > 0);
    }
}

/// 2^64 over the golden ratio.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Adds a number to those that were mixed before it: a digest that tells accidents apart, and keeps no secret.
pub(crate) fn mixed(all: u64, number: u64) -> u64 {
    (all.rotate_left(29) ^ number).wrapping_mul(MIX)
}

/// Adds to the rows at `places` what `other` has of them, by their numbers there. The values of the rows are those
/// from `first` on, one row after another with gaps between.
fn add_shared(
    places: &[Place],
    shared: &[u32],
    values: &mut [i64],
    first: usize,
    other: &ClippedSum,
) {
    if places.len() > FEW_ROWS && rayon::current_num_threads() > 1 {
        let (places, later) = places.split_at(places.len() / 2);
        let (shared, shared_later) = shared.split_at(places.len());
        let cut = later[0].start;
        let (values, values_later) = values.split_at_mut(cut - first);
        rayon::join(
            || add_shared(places, shared, values, first, other),
            || add_shared(later, shared_later, values_later, cut, other),
        );
        return;
    }
    for (Place { start, length, .. }, number) in places.iter().zip(shared) {
        if *number != NOT_SHARED {
            let sums = values[start - first..start - first + length].iter_mut();
            let values = other.row_at(*number as usize);
            sums.zip(values).for_each(|(sum, value)| *sum += value);
        }
    }
}

/// Adds a unit's rows, truncated toward zero to the grid; compiled once for each kind of processor.
struct AddUnit<'a> {
    sum: &'a mut ClippedSum,
    unit: &'a Clipped<'a>,
}

impl WithSimd for AddUnit<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { sum, unit } = self;
        let factor = unit.factor;
        sum.index.touch(unit.gradient.row_numbers());
        for (row, values) in unit.gradient.rows() {
            let (number, new) = sum.index.insert(row);
            if new {
                let (start, length) = (sum.values.len(), values.len());
                sum.places.push(Place { part: 0, start, length });
                sum.coordinates += length;
                sum.values.extend(values.iter().map(|value| truncated(*value, factor)));
            } else {
                let start = sum.places[number].start;
                let sums = &mut sum.values[start..start + values.len()];
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum += truncated(*value, factor);
                }
            }
        }
    }
}

#[cfg(test)]
impl ClippedSum {
    /// What one unit adds, coordinate by coordinate of its rows.
    pub(crate) fn of(unit: &Clipped<'_>, shape: Arc<Shape>) -> Vec<i64> {
        let [mut narrow, mut wide] = [0, 1].map(|_| Self::new(shape.clone(), 0));
        AddUnit { sum: &mut narrow, unit }.with_simd(pulp::Scalar);
        Arch::new().dispatch(AddUnit { sum: &mut wide, unit });
        assert_eq!(narrow.values, wide.values, "the same on every processor");
        // Once more, on rows that are there already.
        Arch::new().dispatch(AddUnit { sum: &mut wide, unit });
        assert!(narrow.values.iter().zip(&wide.values).all(|(once, twice)| 2 * once == *twice));
        narrow.values
    }
}
