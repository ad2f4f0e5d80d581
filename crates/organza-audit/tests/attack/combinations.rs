//! What is attacked: all combinations, or few in which every two choices meet.

use crate::pairwise::{pairwise, product};
use crate::{found, linear, words};
use organza_audit::attack::{Attack, Verdict, Victim};
use std::io;

/// Runs a side that prove a leak which never errs: 26 of 26 against 0 of 26 are an epsilon of .29 at the least, and .2 is
/// what is promised to two units. The twins show that they suffice.
pub(crate) const RUNS: u64 = 52;

/// An attack and its victim.
pub(crate) struct Target {
    pub(crate) attack: Attack,
    victim: Box<dyn Victim>,
}

impl Target {
    fn words(name: String, victim: words::Words, runs: u64) -> Self {
        let (knowledge, promised) = (victim.knowledge(), victim.promised());
        let attack = Attack { name, runs, knowledge, promised };
        Self { attack, victim: Box::new(victim) }
    }

    fn linear(name: String, victim: linear::Linear, runs: u64) -> Self {
        let (knowledge, promised) = (victim.knowledge(), victim.promised());
        let attack = Attack { name, runs, knowledge, promised };
        Self { attack, victim: Box::new(victim) }
    }

    /// Makes the attack.
    pub(crate) fn attack(&self, progress: &(dyn Fn() + Sync)) -> io::Result<Verdict> {
        let place = tempfile::tempdir()?;
        self.attack.run(self.victim.as_ref(), place.path(), progress)
    }
}

/// Every combination.
pub(crate) fn everything() -> [Vec<Vec<usize>>; 2] {
    [product(&words::levels(), words::is_reached), product(&linear::LEVELS, linear::is_reached)]
}

/// The attacks on these combinations, with so many runs a side.
pub(crate) fn targets(of: [Vec<Vec<usize>>; 2], runs: u64) -> Vec<Target> {
    let [of_words, of_linear] = of;
    let of_words = of_words.into_iter().map(|levels| {
        let (name, victim) = words::combination(&levels);
        Target::words(name, victim, runs)
    });
    let of_linear = of_linear.into_iter().map(|levels| {
        let (name, victim) = linear::combination(&levels);
        Target::linear(name, victim, runs)
    });
    of_words.chain(of_linear).collect()
}

/// Combinations in which every two choices meet.
pub(crate) fn checked() -> Vec<Target> {
    let [mut of_words, mut of_linear] = everything();
    of_words.retain(|levels| words::is_quick(levels));
    of_linear.retain(|levels| linear::is_quick(levels));
    targets([of_words, of_linear].map(|all| pairwise(&all)), RUNS)
}

/// What was found once.
pub(crate) fn found_once() -> Vec<Target> {
    let found = found::found().into_iter();
    found.map(|(name, victim, runs)| Target::words(name, victim, runs)).collect()
}
