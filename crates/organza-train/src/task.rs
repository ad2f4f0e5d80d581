//! What is trained: units of data, and the gradient of each.

use crate::refinement::Refinement;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::{Groups, ReadRows, Shape, ShapeError, WriteRows};
use std::sync::Arc;

/// A model on data, as training sees it.
///
/// In a step each unit of the batch is [drawn](Task::draw) for once, then asked what it [reads](Task::reads), then for
/// its [gradient](Task::gradient).
///
/// # Privacy
/// All three of a unit may depend on that unit, on the weights (which were released by earlier steps) and on
/// randomness that no data has touched, and on no other unit.
pub trait Task: Sync {
    /// The tables of parameters: (rows, dimensions) each.
    fn tables(&self) -> Vec<(u64, u64)>;

    /// How many of the last tables are dense: all of them is moved in every step, whatever is selected.
    fn dense_tables(&self) -> usize {
        0
    }

    /// The shape of all tables.
    ///
    /// # Errors
    /// If no tables have it.
    fn shape(&self) -> Result<Shape, ShapeError> {
        Shape::tables(&self.tables())?.with_dense(self.dense_tables())
    }

    /// How many units there are. *Not private* unless declared public.
    fn units(&self) -> u64;

    /// The groups that units are in, where a step looks at all of one; without them they are contiguous blocks.
    fn groups(&self) -> Option<Arc<Groups>> {
        None
    }

    /// Appends what chance decides of `unit` in a step, such as which of its samples count and their negatives, in
    /// numbers of the task's own; nothing, if chance decides nothing. `random` is fresh for each step and unit
    /// and independent of the data.
    fn draw(&self, _unit: u64, _random: &mut PrivateRandom, _draw: &mut Vec<u32>) {}

    /// Calls `visit` with the rows that the gradient of `unit` reads when it is given `draw`, in any order and perhaps
    /// more than once. This is for speed alone: rows that it names are made ready together, and any other is
    /// made ready when it is read. *Not private.*
    fn reads(&self, _unit: u64, _draw: &[u32], _visit: &mut dyn FnMut(u32)) {}

    /// Adds the gradient of `unit` at `weights` to the rows of `gradient`; `draw` is what [`Task::draw`] has appended.
    fn gradient(
        &self,
        unit: u64,
        draw: &[u32],
        weights: &dyn ReadRows,
        gradient: &mut dyn WriteRows,
    );

    /// What is made of the released gradient of a private step before parameters move; nothing, unless said otherwise. It must
    /// hold nothing that comes of the units: see [`Refinement`].
    fn refinement(&self) -> Option<Box<dyn Refinement>> {
        None
    }

    /// The losses to watch. *Not private*: they come from the data without noise.
    fn evaluate(&self, weights: &dyn ReadRows) -> Losses;
}

/// The mean loss of a sample on the three parts of the data. *Not private*. It is no number where a
/// part is empty, and JSON has `null` for it.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Losses {
    /// On training data.
    #[serde(deserialize_with = "number_or_null")]
    pub train: f64,
    /// On validation data.
    #[serde(deserialize_with = "number_or_null")]
    pub validation: f64,
    /// On test data.
    #[serde(deserialize_with = "number_or_null")]
    pub test: f64,
}

/// Reads a number; `null` is none.
///
/// # Errors
/// If it is something else.
pub fn number_or_null<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number: Option<f64> = serde::Deserialize::deserialize(from)?;
    Ok(number.unwrap_or(f64::NAN))
}
