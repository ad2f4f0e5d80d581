//! What a run is at, for whoever looks at it from Python.

use organza_cli::Caller;
use organza_progress::{Size, Stage, Watch};
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// The stage in which a run asks by itself whether it shall stop, and saves what it has.
const TRAINING: &str = "training";

/// What is thrown where a run is stopped between two polls.
pub(crate) struct Stopped;

/// What a run is at. *Not private.*
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    pub(crate) stage: String,
    /// From 0 to 1, where the whole is known.
    pub(crate) part: Option<f64>,
    /// How many there are of what, where that is public.
    pub(crate) of: Option<(u64, &'static str)>,
}

/// Looks at a run, and stops it where it does not ask.
#[derive(Default)]
pub(crate) struct Looking {
    state: Mutex<State>,
    caller: OnceLock<Weak<Caller>>,
}

impl Looking {
    /// Stops the run when this caller is stopped.
    pub(crate) fn stops_with(&self, caller: &Arc<Caller>) {
        let _ = self.caller.set(Arc::downgrade(caller));
    }

    /// What the run is at.
    pub(crate) fn state(&self) -> State {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn look(&self, stage: &Stage) {
        let of = match stage.size() {
            Size::Public(number, name) => Some((number, name)),
            Size::Bytes(number) => Some((number, "bytes")),
            Size::Unknown | Size::Hidden(_) => None,
        };
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) =
            State { stage: stage.name().to_owned(), part: stage.part(), of };
        let caller = self.caller.get().and_then(Weak::upgrade);
        let is_stopped = caller.is_some_and(|caller| caller.is_stopped());
        if is_stopped && stage.name() != TRAINING && !std::thread::panicking() {
            resume_unwind(Box::new(Stopped));
        }
    }
}

impl Watch for Looking {
    fn begun(&self, stage: &Stage) {
        self.look(stage);
    }

    fn moved(&self, stage: &Stage) {
        self.look(stage);
    }

    fn ended(&self, _: &Stage) {}
}
