//! Random subsets, at the cost of what they hold.

use super::exponential::exponential;
use super::geometric::Hazard;
use super::uniform::below;
use crate::random::PrivateRandom;
use std::collections::BTreeSet;

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
///
/// Floyd's method: for j = universe - size .. universe - 1 in turn, add a uniform number up to j, or
/// j itself if that number is in already.
pub fn uniform_subset(universe: u64, size: u64, random: &mut PrivateRandom) -> Vec<u64> {
    let size = size.min(universe);
    let mut members = BTreeSet::new();
    for last in universe - size..universe {
        if !members.insert(below(last + 1, random)) {
            members.insert(last);
        }
    }
    members.into_iter().collect()
}
