//! A program that runs a command: what it is told, and how it stops it.

use crate::progress::Stop;
use organza_progress::Watch;
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};

/// A program that runs a command.
#[derive(Default)]
pub struct Caller {
    pub(crate) stop: Stop,
    /// Who sees what is being done.
    pub(crate) watcher: Option<Arc<dyn Watch>>,
    /// Whether the run stays in its folder, so that it can go on if it is stopped.
    pub(crate) goes_on: bool,
    notes: Mutex<Vec<String>>,
    result: Mutex<Option<Value>>,
}

impl Caller {
    /// A program that watches what is being done. A run that `goes_on` can be resumed if it is stopped.
    pub fn new(watcher: Option<Arc<dyn Watch>>, goes_on: bool) -> Self {
        Self { watcher, goes_on, ..Self::default() }
    }

    /// Stops the command at its next poll.
    pub fn stop(&self) {
        self.stop.ask();
    }

    /// Whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_there()
    }

    /// What a person should know beside the result.
    pub fn notes(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What came of it, as `--json` prints it.
    pub fn result(&self) -> Option<Value> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn note(&self, note: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    pub(crate) fn take(&self, result: Value) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }
}
