//! Rows as a model sees them: bounded, with an intercept.

use crate::bounds::InputBounds;
use crate::loss::Loss;
use organza_data::sparse::{Row, SparseRows};
use std::borrow::Cow;

/// How much a row is shrunk below its bound, to cover the rounding of its norm and its entries.
const MARGIN: f64 = 1e-12;

/// Rows of a declared norm: longer ones are scaled down to it. Those for private methods ([`Design::bounded`]) have
/// labels within declared bounds as well.
///
/// # Privacy
/// The factor of a row and its label depend on that row and the declared bounds alone, so one record changes
/// nothing but its own term of the loss.
#[derive(Clone, Debug)]
pub(crate) struct Design<'a> {
    rows: Cow<'a, SparseRows>,
    bound: Option<f64>,
    factors: Vec<f64>,
    features: u64,
    intercept: bool,
    /// How labels are brought within bounds, if they are.
    labels: Option<(Loss, f64)>,
    /// How many models are fitted beside each other: one for each class if there are more than two.
    models: usize,
}

impl<'a> Design<'a> {
    /// The rows, of norm at most `bound` if there is one, with `features` features; labels as they are.
    pub(crate) fn new(
        rows: Cow<'a, SparseRows>,
        features: u64,
        bound: Option<f64>,
        intercept: bool,
    ) -> Self {
        let factors = rows.iter().map(|row| factor(&row, bound)).collect();
        Self { rows, bound, factors, features, intercept, labels: None, models: 1 }
    }

    /// The rows with all that was declared about them made true: the norm, and labels by
    /// [`Loss::bounded_label`].
    pub(crate) fn bounded(
        rows: Cow<'a, SparseRows>,
        features: u64,
        loss: Loss,
        input: &InputBounds,
    ) -> Self {
        let design = Self::new(rows, features, Some(input.norm), input.intercept);
        Self { labels: Some((loss, input.label)), ..design }
    }

    /// The number of rows. *Not private* unless declared public.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The number of features, without the intercept.
    pub(crate) fn features(&self) -> u64 {
        self.features
    }

    /// Whether there is an intercept; its coordinate comes after the features.
    pub(crate) fn intercept(&self) -> bool {
        self.intercept
    }

    /// The same for so many classes: more than two are told apart by a model each, of this class or of another.
    pub(crate) fn with_classes(self, classes: usize) -> Self {
        Self { models: if classes > 2 { classes } else { 1 }, ..self }
    }

    /// How many models are fitted beside each other.
    pub(crate) fn models(&self) -> usize {
        self.models
    }

    /// The number of coordinates of one of the models (p).
    pub(crate) fn coordinates(&self) -> u64 {
        self.features + u64::from(self.intercept)
    }

    /// The label of a row for one of the models: whether it is of its class, or the label itself within bounds if they
    /// were declared.
    pub(crate) fn label(&self, index: usize, model: usize) -> f64 {
        let label = self.rows.row(index).label;
        if self.models > 1 {
            return f64::from(u8::from(label == model as f64));
        }
        self.labels.map_or(label, |(loss, bound)| loss.bounded_label(label, bound))
    }

    /// The rows themselves.
    pub(crate) fn rows(&self) -> &SparseRows {
        &self.rows
    }

    /// The norm that longer rows are scaled down to.
    pub(crate) fn bound(&self) -> Option<f64> {
        self.bound
    }

    /// The entries of a row after the bound, the intercept's last.
    pub(crate) fn entries(&self, index: usize) -> impl Iterator<Item = (u32, f64)> {
        let factor = self.factors[index];
        let last = self.intercept.then_some((self.features as u32, 1.0));
        let entries = self.rows.row(index).entries();
        let features = self.features;
        entries
            .filter(move |(column, _)| u64::from(*column) < features)
            .map(move |(column, value)| (column, f64::from(value) * factor))
            .chain(last)
    }

    /// The margin of a row under dense coordinates.
    pub(crate) fn margin(&self, index: usize, coordinates: &[f64]) -> f64 {
        self.entries(index).map(|(column, value)| coordinates[column as usize] * value).sum()
    }
}

/// What a row is scaled by: min(1, bound / norm), a little less for what is rounded.
///
/// A norm of k entries errs by (k / 2 + 1) 2^-53 of itself at the most, an entry by two roundings: with more than some thousand
/// entries that could be more than `MARGIN`, so it grows with them.
pub(crate) fn factor(row: &Row<'_>, bound: Option<f64>) -> f64 {
    let norm = row.norm();
    let Some(bound) = bound else { return 1.0 };
    let within = bound * (1.0 - MARGIN.max(row.values.len() as f64 * f64::EPSILON));
    if norm > within { within / norm } else { 1.0 }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sum::Sum;

    #[test]
    fn long_rows_are_within_their_bound_although_their_norm_is_rounded() {
        let columns = 3_000_000_u32;
        let mut falls_short = false;
        for value in [0.1_f32, 0.3, 0.7] {
            let mut entries: Vec<(u32, f32)> = (0..columns).map(|it| (it, value)).collect();
            let mut rows = SparseRows::new(Some(u64::from(columns)));
            rows.push(1.0, &mut entries, None).unwrap();
            let design = Design::new(Cow::Borrowed(&rows), u64::from(columns), Some(1.0), false);
            let squares: Sum = design.entries(0).map(|(_, entry)| entry * entry).collect();
            assert!(squares.value() <= 1.0, "{value}: {}", squares.value() - 1.0);
            let scale = (1.0 - MARGIN) / rows.row(0).norm();
            let entry = f64::from(value) * scale;
            falls_short |= entry * entry * f64::from(columns) > 1.0;
        }
        assert!(falls_short, "a margin for short rows has to be seen");
    }
}
