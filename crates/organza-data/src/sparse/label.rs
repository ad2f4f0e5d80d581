//! Which labels a model takes.

use super::RowProblem;
use serde::{Deserialize, Serialize};

/// Which labels a model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelKind {
    /// Two classes: 1 and either 0 or -1.
    Binary,
    /// Any finite number.
    Real,
    /// A count: 0, 1, 2, ...
    Count,
    /// A number from 0 to 1.
    Share,
    /// Any finite number, or none: rows that are only predicted.
    Ignored,
}

impl LabelKind {
    /// The label as models see it: classes as 0 and 1.
    ///
    /// # Errors
    /// Says which labels there are.
    pub(crate) fn accept(self, value: f64) -> Result<f64, RowProblem> {
        let (fits, expected) = match self {
            Self::Binary => {
                (value == 1.0 || value == 0.0 || value == -1.0, "a class is 1 or 0 (or 1 and -1)")
            }
            Self::Count => {
                (value >= 0.0 && value.fract() == 0.0 && value < 1e9, "a count is 0, 1, 2, ...")
            }
            Self::Share => ((0.0..=1.0).contains(&value), "it must lie between 0 and 1"),
            Self::Real => (value.is_finite(), "it must be a finite number"),
            Self::Ignored => return Ok(if value.is_finite() { value } else { 0.0 }),
        };
        match (fits, self) {
            (false, _) => Err(RowProblem::Label { value: value.to_string(), expected }),
            (true, Self::Binary) => Ok(value.max(0.0)),
            (true, _) => Ok(value),
        }
    }
}
