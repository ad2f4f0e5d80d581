//! What a checkpoint keeps of tables: everything as it is, with debts unsettled.

use super::adam::Moments;
use super::aligned::Aligned;
use super::owed::Owed;
use super::{Kept, Tables};

/// A named list of numbers of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TableState<'a> {
    /// Single precision.
    Floats(&'a str, &'a [f32]),
    /// Counts, or bits.
    Counts(&'a str, &'a [u32]),
}

/// Lists of numbers as they were read.
pub(crate) trait SavedTables {
    /// Takes the list of this name; `None` if it is not there.
    fn floats(&mut self, name: &str) -> Option<Vec<f32>>;

    /// Takes the list of this name; `None` if it is not there.
    fn counts(&mut self, name: &str) -> Option<Vec<u32>>;
}

const WEIGHTS: &str = "parameters";
const FIRST: &str = "first_moment";
const SECOND: &str = "second_moment";
const RESTING: &str = "resting";
const SETTLED: &str = "settled";
const WHOLES: &str = "wholes";

impl Tables {
    /// All that makes up the state, to be written as it is.
    pub(crate) fn state(&self) -> Vec<TableState<'_>> {
        let mut state = match &self.kept {
            Kept::Owed(_) => vec![TableState::Counts(WHOLES, Owed::wholes(&self.weights))],
            _ => vec![TableState::Floats(WEIGHTS, &self.weights)],
        };
        match &self.kept {
            Kept::Sgd { .. } => {}
            Kept::Adam(moments) => state.extend([
                TableState::Floats(FIRST, &moments.first),
                TableState::Floats(SECOND, &moments.second),
            ]),
            Kept::Resting(resting) => state.push(TableState::Counts(RESTING, resting.state())),
            Kept::Owed(owed) => state.push(TableState::Counts(SETTLED, &owed.settled)),
        }
        state
    }

    /// Puts the state after `steps` steps into fresh tables of the same settings; `None` if it does not fit.
    pub(crate) fn resume(mut self, steps: u64, saved: &mut dyn SavedTables) -> Option<Self> {
        let coordinates = self.weights.len();
        let weights = match &self.kept {
            Kept::Owed(_) => bytemuck::cast_vec(saved.counts(WHOLES)?),
            _ => saved.floats(WEIGHTS)?,
        };
        if weights.len() != coordinates {
            return None;
        }
        self.weights = Aligned::new(weights, 0);
        self.steps = steps;
        match &mut self.kept {
            Kept::Sgd { .. } => {}
            Kept::Adam(moments) => {
                let first = saved.floats(FIRST).filter(|it| it.len() == coordinates)?;
                let second = saved.floats(SECOND).filter(|it| it.len() == coordinates)?;
                *moments = Moments::resume(moments.settings, first, second);
            }
            Kept::Resting(resting) => {
                resting.resume(&self.shape, steps, saved.counts(RESTING)?).then_some(())?;
            }
            Kept::Owed(owed) => {
                let fits = |settled: &Vec<u32>| {
                    settled.len() == owed.settled.len()
                        && settled.iter().all(|settled| u64::from(*settled) <= steps)
                };
                owed.settled = saved.counts(SETTLED).filter(fits)?;
            }
        }
        Some(self)
    }
}
