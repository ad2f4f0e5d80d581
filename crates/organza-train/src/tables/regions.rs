//! Tables divided into regions of rows, each for a thread of its own.

use super::parts::are_divided;
use organza_mechanism::Shape;

/// One row in so many is looked at to find where regions begin.
const LOOKED_AT: u32 = 16;
/// Spreads rows, so that those that are looked at do not depend on their order.
const SPREAD: u32 = 0x9e37_79b1;

/// The first rows of all regions but the first.
///
/// Where they lie depends on which rows were asked for, and shows in nothing but how long it takes: each row is
/// treated alike wherever the borders are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Borders {
    rows: Vec<u32>,
    seen: Vec<u32>,
}

impl Borders {
    /// Puts them where regions, as many as there are threads, have about as many distinct ones of `rows` each, of a
    /// table of `most` rows; a few rows are one region.
    pub(super) fn place(&mut self, rows: impl Iterator<Item = u32> + Clone, most: usize) {
        let Self { rows: borders, seen } = self;
        borders.clear();
        let regions = rayon::current_num_threads();
        if regions == 1 || !are_divided(rows.clone().count()) {
            return;
        }
        seen.clear();
        let looked_at = |row: &u32| row.wrapping_mul(SPREAD) < u32::MAX / LOOKED_AT;
        seen.extend(rows.filter(|row| looked_at(row) && (*row as usize) < most));
        seen.sort_unstable();
        seen.dedup();
        borders.extend((1..regions).filter_map(|region| seen.get(region * seen.len() / regions)));
        borders.dedup();
    }

    /// Puts them evenly among all rows of a table.
    pub(super) fn place_evenly(&mut self, rows: usize) {
        self.rows.clear();
        if are_divided(rows) {
            let regions = rayon::current_num_threads();
            self.rows.extend((1..regions).map(|region| (region * rows / regions) as u32));
        }
    }

    /// How many regions there are.
    pub(super) fn regions(&self) -> usize {
        self.rows.len() + 1
    }
}

/// A region of rows: something for each row, the weights of the rows, and memory of its own.
pub(super) struct Region<'a, Memory> {
    pub(super) first_row: u32,
    pub(super) by_row: &'a mut [u32],
    /// Where the weights begin in the table.
    pub(super) first: usize,
    pub(super) weights: &'a mut [f32],
    /// One for each region.
    pub(super) memory: &'a mut [Memory],
}

impl<Memory> Region<'_, Memory> {
    /// Those of `rows` that belong here, with their places in `by_row`.
    pub(super) fn rows<Rows: Iterator<Item = u32>>(
        &self,
        rows: Rows,
    ) -> impl Iterator<Item = (u32, usize)> + use<Memory, Rows> {
        let (first, count) = (self.first_row, self.by_row.len());
        rows.filter_map(move |row| {
            let place = row.wrapping_sub(first) as usize;
            (row >= first && place < count).then_some((row, place))
        })
    }
}

/// Calls `visit` with each region of `whole`, on all threads.
pub(super) fn each_region<Memory: Send>(
    borders: &Borders,
    shape: &Shape,
    whole: Region<'_, Memory>,
    visit: &(impl Fn(Region<'_, Memory>) + Sync),
) {
    divide(&borders.rows, shape, whole, visit);
}

fn divide<Memory: Send>(
    borders: &[u32],
    shape: &Shape,
    whole: Region<'_, Memory>,
    visit: &(impl Fn(Region<'_, Memory>) + Sync),
) {
    let middle = borders.len() / 2;
    let Some(&border) = borders.get(middle) else { return visit(whole) };
    let Region { first_row, by_row, first, weights, memory } = whole;
    let start = shape.row(border).map_or(first + weights.len(), |(start, _)| start as usize);
    let (by_row, by_row_after) = by_row.split_at_mut((border - first_row) as usize);
    let (weights, weights_after) = weights.split_at_mut(start - first);
    let (memory, memory_after) = memory.split_at_mut(middle + 1);
    let before = Region { first_row, by_row, first, weights, memory };
    let after = Region {
        first_row: border,
        by_row: by_row_after,
        first: start,
        weights: weights_after,
        memory: memory_after,
    };
    rayon::join(
        || divide(&borders[..middle], shape, before, visit),
        || divide(&borders[middle + 1..], shape, after, visit),
    );
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// All of a table, with memory for each region.
    fn whole<'a>(
        by_row: &'a mut [u32],
        weights: &'a mut [f32],
        memory: &'a mut [usize],
    ) -> Region<'a, usize> {
        Region { first_row: 0, by_row, first: 0, weights, memory }
    }

    #[test]
    fn every_row_is_in_one_region_and_regions_are_about_equal() {
        let shape = Shape::tables(&[(30_000, 3), (10_000, 1)]).unwrap();
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            // Some rows very often.
            let rows: Vec<u32> = (0..20_000_u32).map(|it| (it % 200) * (it % 200)).collect();
            let mut borders = Borders::default();
            let (mut by_row, mut weights) = (vec![0; 40_000], vec![0.0; 100_000]);
            pool.install(|| {
                borders.place(rows.iter().copied(), by_row.len());
                assert_eq!(borders.regions(), threads);
                let mut memory = vec![0; borders.regions()];
                let whole = whole(&mut by_row, &mut weights, &mut memory);
                each_region(&borders, &shape, whole, &|region| {
                    assert_eq!(region.memory.len(), 1);
                    for (row, place) in region.rows(rows.iter().copied()) {
                        region.by_row[place] += 1;
                        let (start, length) = shape.row(row).unwrap();
                        let start = start as usize - region.first;
                        region.weights[start..start + length].fill(row as f32);
                        region.memory[0] += usize::from(region.by_row[place] == 1);
                    }
                });
                let distinct: usize = memory.iter().sum();
                assert_eq!(distinct, 200);
                assert!(memory.iter().all(|count| threads * count < 4 * distinct));
            });
            for row in 0..200 {
                assert_eq!(by_row[row * row], 100);
                let (start, _) = shape.row((row * row) as u32).unwrap();
                assert_eq!(weights[start as usize], (row * row) as f32);
            }
        }
        let mut borders = Borders::default();
        borders.place(0..3, 3);
        assert_eq!(borders.regions(), 1);
    }

    #[test]
    fn rows_beyond_the_table_are_nobody_s() {
        let shape = Shape::table(300, 2).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        pool.install(|| {
            for evenly in [false, true] {
                let mut borders = Borders::default();
                let rows = (0..100).chain(1_000..9_000);
                if evenly {
                    borders.place_evenly(300)
                } else {
                    borders.place(rows.clone(), 300)
                }
                let (mut by_row, mut weights) = (vec![0; 300], vec![0.0; 600]);
                let mut memory = vec![0; borders.regions()];
                let whole = whole(&mut by_row, &mut weights, &mut memory);
                each_region(&borders, &shape, whole, &|region| {
                    region.memory[0] = region.rows(rows.clone()).count();
                });
                assert_eq!(memory.iter().sum::<usize>(), 100);
            }
        });
    }
}
