//! Random subsets, at the cost of what they hold.

use super::exponential::exponential;
use super::geometric::Hazard;
use super::uniform::below;
use crate::random::PrivateRandom;

/// Spreads consecutive numbers over the slots: 2^64 over the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// The mark of a free slot; no number of a subset is so large.
const FREE: u64 = u64::MAX;

/// The members of a Poisson subset of 0..`universe`, in order.
#[derive(Debug)]
pub struct Skips<'a> {
    hazard: Hazard,
    next: u64,
    universe: u64,
    random: &'a mut PrivateRandom,
}

impl Iterator for Skips<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let left = self.universe - self.next;
        let mut patience = exponential(self.random);
        let member = self.next + self.hazard.cross(left, &mut patience)?;
        self.next = member + 1;
        Some(member)
    }
}

/// A subset of 0..`universe` that each number joins independently with probability `rate`.
///
/// The gaps between members are geometric, so the cost follows the members, not the universe.
pub fn poisson_subset(universe: u64, rate: f64, random: &mut PrivateRandom) -> Skips<'_> {
    Skips { hazard: Hazard::of(rate), next: 0, universe, random }
}

/// A subset of 0..`universe` with exactly `size` members (all of them, if `size` is larger), each
/// such subset equally likely, in order.
pub fn uniform_subset(universe: u64, size: u64, random: &mut PrivateRandom) -> Vec<u64> {
    let mut subset = Subset::default();
    subset.draw(universe, size, random);
    subset.numbers
}

/// Distinct numbers, in memory that is used again.
#[derive(Clone, Debug, Default)]
pub struct Subset {
    /// Open addressing; a power of two of slots, at least twice as many as numbers.
    slots: Vec<u64>,
    numbers: Vec<u64>,
}

impl Subset {
    /// Becomes a subset of 0..`universe` with exactly `size` members (all of them, if `size` is larger),
    /// each such subset equally likely, in order.
    ///
    /// Floyd's method: for j = universe - size .. universe - 1 in turn, add a uniform number up to j, or
    /// j itself if that number is in already.
    pub fn draw(&mut self, universe: u64, size: u64, random: &mut PrivateRandom) {
        let size = size.min(universe);
        self.clear();
        for last in universe - size..universe {
            if !self.insert(below(last + 1, random)) {
                self.insert(last);
            }
        }
        self.sort();
    }

    /// The numbers, in the order in which they came unless they were sorted.
    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// Adds a number below 2^64 - 1; false if it is there already.
    #[inline]
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        if self.slots.len() < 2 * (self.numbers.len() + 1) {
            self.grow();
        }
        let slot = self.slot(number);
        let new = self.slots[slot] == FREE;
        if new {
            self.slots[slot] = number;
            self.numbers.push(number);
        }
        new
    }

    pub(crate) fn clear(&mut self) {
        self.slots.fill(FREE);
        self.numbers.clear();
    }

    pub(crate) fn sort(&mut self) {
        self.numbers.sort_unstable();
    }

    /// The slot that holds `number`, or the free one where it belongs.
    fn slot(&self, number: u64) -> usize {
        let mask = self.slots.len() - 1;
        let shift = 64 - self.slots.len().trailing_zeros();
        let mut slot = (number.wrapping_mul(SPREAD) >> shift) as usize;
        while self.slots[slot] != FREE && self.slots[slot] != number {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let size = (4 * self.slots.len()).max(64);
        self.slots.clear();
        self.slots.resize(size, FREE);
        for place in 0..self.numbers.len() {
            let slot = self.slot(self.numbers[place]);
            self.slots[slot] = self.numbers[place];
        }
    }
}
