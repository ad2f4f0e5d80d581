//! Lines and rows that cannot be used, and are left out.

use crate::{DataError, LineProblem, Place};

/// Lines or rows that could not be used: how many, and what is wrong with the first.
///
/// # Privacy
/// Whether a line can be used depends on that line alone, so a text without one line leaves out the same of all
/// others. A private run leaves lines out without a word before its end, because to refuse the data for the sake of
/// one line tells that it is there; what is said here is *not private*. A run without privacy should
/// [`refuse`](Self::refuse).
#[derive(Clone, Debug, Default)]
pub struct LeftOut {
    pub(crate) count: u64,
    first: Option<(Place, LineProblem)>,
}

impl LeftOut {
    pub(crate) fn add(&mut self, place: &Place, problem: LineProblem) {
        self.count += 1;
        self.first.get_or_insert_with(|| (place.clone(), problem));
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Refuses data of which something was left out, where that may be said.
    ///
    /// # Errors
    /// Names the first line and what is wrong with it.
    pub fn refuse(&self) -> Result<(), DataError> {
        match &self.first {
            Some((place, problem)) => Err(DataError::line(place, problem.clone())),
            None => Ok(()),
        }
    }
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.first {
            None => formatter.write_str("no line was left out"),
            Some((place, problem)) => {
                let count = self.count;
                write!(
                    formatter,
                    "{count} of the lines could not be used and were left out, first {place}: {problem}"
                )
            }
        }
    }
}
