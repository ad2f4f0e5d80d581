//! The account that the paper prints, kept for comparison, and what is true in its place.
//!
//! "Wide Network Learning with Differential Privacy" (Zhang, Mironov and Hejazinia 2021) states its
//! cost by Theorems 1 and 3. Several steps on the way do not hold, so nothing in [`printed`] is a
//! guarantee: its results are [`AsPrinted`], carry the [`Objection`]s that apply, and are not accepted
//! where an account is asked for. [`corrected`] has the short statements that do hold; a whole run is
//! priced by the other accountants.

pub mod corrected;
mod objection;
pub mod printed;
mod run;

pub use objection::Objection;
pub use run::{TheoremThree, as_printed};

/// A figure as the paper prints it: *not sound*, for the reasons it carries.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct AsPrinted<T> {
    /// What the formula gives.
    pub figure: T,
    /// Whether the paper's own conditions on the parameters hold here.
    pub within_its_conditions: bool,
    /// Why it is no guarantee. Empty only where the statement is sound within its conditions.
    pub objections: &'static [Objection],
}

/// An (epsilon, delta) that a formula claims.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// The claimed epsilon.
    pub epsilon: f64,
    /// The claimed delta.
    pub delta: f64,
}

impl<T: std::fmt::Display> std::fmt::Display for AsPrinted<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} (as printed, not sound)", self.figure)
    }
}

impl std::fmt::Display for Claim {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "epsilon {:.4} at delta {:e}", self.epsilon, self.delta)
    }
}
