//! Where a row stands in a short list of rows.

/// Spreads consecutive numbers over the table: 2^32 over the golden ratio.
const SPREAD: u32 = 0x9e37_79b9;
const EMPTY: u32 = u32::MAX;
/// Up to so many slots a row, wiping all in order is cheaper than finding each.
const WIPED: usize = 32;

/// Maps row numbers to their place in a list, by open addressing.
///
/// It is cleared at the cost of what it holds, so that it can serve step after step.
#[derive(Clone, Debug)]
pub(crate) struct RowIndex {
    /// (row, place) with `EMPTY` as the place of a free slot; a power of two of slots.
    slots: Vec<(u32, u32)>,
    rows: Vec<u32>,
}

impl RowIndex {
    pub(crate) fn new() -> Self {
        Self { slots: vec![(0, EMPTY); 32], rows: Vec::new() }
    }

    /// The rows in the order in which they came.
    pub(crate) fn rows(&self) -> &[u32] {
        &self.rows
    }

    pub(crate) fn get(&self, row: u32) -> Option<usize> {
        match self.slots[self.slot(row)].1 {
            EMPTY => None,
            place => Some(place as usize),
        }
    }

    /// Fetches where `rows` belong, all at once: looking one up after another would wait for memory each
    /// time, because what comes next hangs on what was found.
    #[inline]
    pub(crate) fn touch(&self, rows: &[u32]) {
        let touched = rows.iter().fold(0, |touched, row| touched ^ self.slots[self.home(*row)].1);
        std::hint::black_box(touched);
    }

    /// The place of `row`, and whether it is new.
    #[inline]
    pub(crate) fn insert(&mut self, row: u32) -> (usize, bool) {
        let slot = self.slot(row);
        if self.slots[slot].1 != EMPTY {
            return (self.slots[slot].1 as usize, false);
        }
        let place = self.rows.len();
        self.rows.push(row);
        if self.rows.len() * 2 > self.slots.len() {
            self.rebuild(self.slots.len() * 4);
        } else {
            self.slots[slot] = (row, place as u32);
        }
        (place, true)
    }

    pub(crate) fn clear(&mut self) {
        if self.slots.len() <= WIPED * self.rows.len() {
            self.slots.fill((0, EMPTY));
            self.rows.clear();
            return;
        }
        let mask = self.slots.len() - 1;
        for &row in &self.rows {
            // Every occupied slot lies on the probe path of a row, before its first free slot.
            let mut slot = self.home(row);
            while self.slots[slot].1 != EMPTY {
                self.slots[slot].1 = EMPTY;
                slot = (slot + 1) & mask;
            }
        }
        self.rows.clear();
    }

    #[inline]
    fn home(&self, row: u32) -> usize {
        let bits = self.slots.len().trailing_zeros();
        (row.wrapping_mul(SPREAD) >> (32 - bits)) as usize
    }

    /// The slot that holds `row`, or the free one where it belongs.
    #[inline]
    fn slot(&self, row: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.home(row);
        while self.slots[slot].1 != EMPTY && self.slots[slot].0 != row {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn rebuild(&mut self, size: usize) {
        self.slots = vec![(0, EMPTY); size];
        for place in 0..self.rows.len() {
            let slot = self.slot(self.rows[place]);
            self.slots[slot] = (self.rows[place], place as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_agrees_with_a_map_and_clears_wholly() {
        let mut index = RowIndex::new();
        // Growing and shrinking, so that it is cleared both ways.
        for round in (0..50_u32).chain((0..50).rev()) {
            let mut map = BTreeMap::new();
            for step in 0..(round * 37) {
                let row = step.wrapping_mul(2_654_435_761) % (round * 20 + 1);
                let next = map.len();
                let expected = *map.entry(row).or_insert(next);
                assert_eq!(index.insert(row).0, expected);
            }
            assert_eq!(index.rows().len(), map.len());
            assert!(map.iter().all(|(row, place)| index.get(*row) == Some(*place)));
            assert_eq!(index.get(u32::MAX), None);
            index.clear();
            assert!(map.keys().all(|row| index.get(*row).is_none()));
        }
    }
}
