//! What is trained: units of data, and the gradient of each.

use organza_mechanism::random::PrivateRandom;
use organza_mechanism::{PlainSum, UnitGradient};

/// A model on data, as training sees it.
///
/// # Privacy
/// [`Task::gradient`] of a unit may depend on that unit, on the parameters (which were released by
/// earlier steps) and on randomness that no data has touched, and on no other unit. [`Task::reads`] must name every row
/// that it reads: one that is left out may hold what tells which rows earlier batches touched.
pub trait Task: Sync {
    /// The tables of parameters: (rows, dimensions) each.
    fn tables(&self) -> Vec<(u64, u64)>;

    /// How many units there are. *Not private* unless declared public.
    fn units(&self) -> u64;

    /// Writes the gradient of `unit`. `random` is fresh for each step and unit and independent of the
    /// data: it drives draws such as negative examples.
    fn gradient(
        &self,
        parameters: &[f32],
        unit: u64,
        random: &mut PrivateRandom,
        rows: &mut dyn Rows,
    );

    /// Calls `visit` with every row that [`Task::gradient`] of `unit` reads or writes when it is given the
    /// same randomness, in any order and perhaps more than once; false if the task cannot tell, as any task
    /// may, and then everything counts as read. *Not private.*
    fn reads(&self, _unit: u64, _random: &mut PrivateRandom, _visit: &mut dyn FnMut(u32)) -> bool {
        false
    }

    /// The losses to watch. *Not private*: they come from the data without noise.
    fn evaluate(&self, parameters: &[f32]) -> Losses;
}

/// Where a gradient is written.
pub trait Rows {
    /// The gradient of `row`, to add to; the same again when asked again.
    fn row(&mut self, row: u32) -> &mut [f32];
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

/// Takes rows to a unit's gradient, for a task whose tables gave the plan its shape.
pub(crate) struct IntoUnit<'a> {
    pub(crate) gradient: &'a mut UnitGradient,
    /// Takes what is written beyond the last row, which a task of this shape never does.
    pub(crate) nowhere: Vec<f32>,
}

impl Rows for IntoUnit<'_> {
    fn row(&mut self, row: u32) -> &mut [f32] {
        self.gradient.row(row).unwrap_or(&mut self.nowhere)
    }
}

/// Takes rows to a plain sum, for a task whose tables gave it its shape.
pub(crate) struct IntoSum<'a> {
    pub(crate) sum: &'a mut PlainSum,
    /// Takes what is written beyond the last row, which a task of this shape never does.
    pub(crate) nowhere: Vec<f32>,
}

impl Rows for IntoSum<'_> {
    fn row(&mut self, row: u32) -> &mut [f32] {
        self.sum.row(row).unwrap_or(&mut self.nowhere)
    }
}
