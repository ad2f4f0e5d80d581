//! What a checkpoint keeps of tables: everything as it is, with debts unsettled.

use super::Tables;
use super::aligned::Aligned;
use std::borrow::Cow;

/// A named list of numbers of a checkpoint.
pub(crate) type TableState<'a> = (&'static str, List<'a>);

/// A list of numbers to be written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum List<'a> {
    /// Single precision.
    Floats(&'a [f32]),
    /// Counts, or bits.
    Counts(&'a [u32]),
    /// Double precision.
    Doubles(Cow<'a, [f64]>),
}

/// Lists of numbers as they were read.
pub(crate) trait SavedTables {
    /// Takes the list of this name; `None` if it is not there.
    fn floats(&mut self, name: &str) -> Option<Vec<f32>>;

    /// Takes the list of this name; `None` if it is not there.
    fn counts(&mut self, name: &str) -> Option<Vec<u32>>;

    /// Takes the list of this name; `None` if it is not there.
    fn doubles(&mut self, name: &str) -> Option<Vec<f64>>;
}

/// The name of the weights.
pub(crate) const WEIGHTS: &str = "parameters";

impl Tables {
    /// All that makes up the state, to be written as it is.
    pub(crate) fn state(&self) -> Vec<TableState<'_>> {
        self.optimizer.state(&self.weights)
    }

    /// Puts the state after `steps` steps into fresh tables of the same settings; `None` if it does not fit.
    pub(crate) fn resume(mut self, steps: u64, saved: &mut dyn SavedTables) -> Option<Self> {
        let weights = self.optimizer.resume(&self.shape, steps, saved)?;
        if weights.len() != self.weights.len() {
            return None;
        }
        self.weights = Aligned::new(weights, 0);
        self.steps = steps;
        Some(self)
    }
}
