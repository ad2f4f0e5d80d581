//! Which steps of a name were handed out.

use organza_ledger::KeyFingerprint;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The turn of each key that comes of one source; its clones and all that are named from it share it.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<Mutex<BTreeMap<KeyFingerprint, Turn>>>);

impl Turns {
    /// The turn of the key that `name` names: the same for the same key.
    pub(super) fn of(&self, name: KeyFingerprint) -> Turn {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default().clone()
    }
}

/// The first step of a key that was not handed out yet.
///
/// # Privacy
/// Steps are handed out in ascending order, some perhaps passed over. So the noise of a step goes onto one
/// value: whoever asks for a step a second time is refused, by whichever sampler and on whichever thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn(Arc<AtomicU64>);

impl Turn {
    /// Whether it is the turn of `step`; afterwards it no longer is. The largest number is no step.
    pub(crate) fn take(&self, step: u64) -> bool {
        step < u64::MAX && self.0.fetch_max(step + 1, Ordering::Relaxed) <= step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_one_turn() {
        let turns = Turns::default();
        let (one, same) = (turns.of(KeyFingerprint::new([1; 16])), turns.clone());
        let same = same.of(KeyFingerprint::new([1; 16]));
        let other = turns.of(KeyFingerprint::new([2; 16]));
        assert!(one.take(0) && !same.take(0) && other.take(0));
        assert!(same.take(7) && !one.take(7) && !one.take(3) && one.take(8));
        assert!(Turns::default().of(KeyFingerprint::new([1; 16])).take(0), "of another source");
        assert!(one.take(u64::MAX - 1) && !one.take(u64::MAX - 1) && !one.take(u64::MAX));
    }

    #[test]
    fn of_many_threads_one_has_the_turn() {
        let turn = Turn::default();
        let taken = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| (0..1_000).filter(|step| turn.take(*step)).count()))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).sum::<usize>()
        });
        assert!((1..=1_000).contains(&taken), "{taken}");
    }
}
