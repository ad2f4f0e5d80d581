//! What is declared about the input.

/// What a person declares about the input. Rows and labels beyond are brought within by a rule that
/// sees one record at a time ([`crate::Design::bounded`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InputBounds {
    /// The L2 norm of a row, without the intercept.
    pub(crate) norm: f64,
    /// The largest size of a label; of use to linear and Poisson regression.
    pub(crate) label: f64,
    /// Whether there is an intercept, which adds a constant feature of 1.
    pub(crate) intercept: bool,
}

impl InputBounds {
    /// The norm of a row with its intercept.
    pub(crate) fn whole_norm(&self) -> f64 {
        libm::hypot(self.norm, if self.intercept { 1.0 } else { 0.0 })
    }
}
