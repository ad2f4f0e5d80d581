//! A click model, and its file.

use crate::layout::Layout;
use organza_data::sparse::{Columns, Row};
use organza_model::{Tensors, numbers};
use organza_train::{Failure, ReadRows, RunFolder};
use safetensors::SafeTensors;
use std::collections::BTreeMap;
use std::path::Path;

/// The file of a model.
pub const MODEL: &str = "model.safetensors";

/// The probability of a click: a logistic function of
///
/// b + sum over numbers w_n x_n + sum over categories w_c + sum over pairs of categories v_c v_d.
///
/// Without vectors v it is a logistic regression, with them a factorisation machine (Rendle 2010).
#[derive(Clone, Debug, PartialEq)]
pub struct ClickModel {
    pub(crate) layout: Layout,
    /// The table, row after row, then the dense row.
    pub(crate) parameters: Vec<f32>,
}

impl ClickModel {
    /// The log odds of a click.
    pub fn log_odds(&self, row: &Row<'_>) -> f64 {
        let mut sums = vec![0.0; self.layout.dimensions];
        f64::from(log_odds(&self.layout, row, self, &mut sums))
    }

    /// The probability of a click.
    pub fn predict(&self, row: &Row<'_>) -> f64 {
        1.0 / (1.0 + libm::exp(-self.log_odds(row)))
    }

    /// How many parameters it has.
    pub fn parameters(&self) -> usize {
        self.parameters.len()
    }

    /// Writes the model as safetensors: `table` has for each category its weight and its vector, `dense` the intercept and
    /// the weights of numbers.
    pub(crate) fn write(
        &self,
        folder: &RunFolder,
        metadata: &BTreeMap<String, String>,
    ) -> Result<(), Failure> {
        let shape = [self.layout.rows() as usize, self.layout.width()];
        let (table, dense) = self.parameters.split_at(shape[0] * shape[1]);
        let mut tensors = Tensors::default();
        tensors.add("table", shape, table);
        tensors.list("dense", dense);
        Ok(folder.write_with(&folder.file(MODEL), |file| tensors.write(metadata, file))?)
    }

    /// Reads the model in the folder of a run, for rows of these columns.
    ///
    /// # Errors
    /// If the file is missing or damaged, or is for other columns.
    pub fn read(path: &Path, columns: &Columns) -> Result<Self, Failure> {
        let file = path.join(MODEL);
        let bad = |problem: &dyn std::fmt::Display| -> Failure {
            let file = file.display();
            format!("cannot read {file}: {problem}; is this the folder of `organza clicks`?").into()
        };
        let bytes = std::fs::read(&file).map_err(|error| bad(&error))?;
        let tensors = SafeTensors::deserialize(&bytes).map_err(|error| bad(&error))?;
        let table = tensors.tensor("table").map_err(|error| bad(&error))?;
        let dense = tensors.tensor("dense").map_err(|error| bad(&error))?;
        let width = table.shape().get(1).copied().unwrap_or(0);
        let layout = Layout::new(columns, width.saturating_sub(1))?;
        let fits = table.shape() == [layout.rows() as usize, layout.width()]
            && dense.shape() == [layout.dense()];
        match (numbers(&table), numbers(&dense)) {
            (Some(table), Some(dense)) if fits => {
                Ok(Self { layout, parameters: [table, dense].concat() })
            }
            _ => Err(bad(&"its tables do not fit the columns in reader.json")),
        }
    }
}

/// As training has it: the rows of the table, then the dense one.
impl ReadRows for ClickModel {
    #[inline]
    fn row(&self, row: u32) -> &[f32] {
        let width = self.layout.width();
        let (table, dense) = self.parameters.split_at(self.layout.rows() as usize * width);
        match row == self.layout.rows() {
            true => dense,
            false => table.get(row as usize * width..).map_or(&[], |rest| &rest[..width]),
        }
    }
}

/// The log odds of a click; `sums`, as long as vectors are, becomes the sum of the vectors of the row.
///
/// The sum over pairs is half of (the square of the sum of the vectors - the sum of their squares).
pub(crate) fn log_odds(
    layout: &Layout,
    row: &Row<'_>,
    weights: &(impl ReadRows + ?Sized),
    sums: &mut [f32],
) -> f32 {
    let dense = weights.row(layout.rows());
    let mut total = dense.first().copied().unwrap_or_default();
    for (place, value) in layout.numbers(row) {
        total += dense.get(1 + place).copied().unwrap_or_default() * value;
    }
    sums.fill(0.0);
    let mut squares = 0.0;
    for category in layout.categories(row) {
        let Some((weight, vector)) = weights.row(category).split_first() else { continue };
        total += weight;
        for (sum, entry) in sums.iter_mut().zip(vector) {
            *sum += entry;
            squares += entry * entry;
        }
    }
    total + 0.5 * (sums.iter().map(|sum| sum * sum).sum::<f32>() - squares)
}
