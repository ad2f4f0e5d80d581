//! `organza predict`: what a fitted linear model says about new rows.

use crate::output::Output;
use anyhow::Context;
use clap::Args;
use organza_data::sparse::LabelKind;
use organza_erm::{LinearModel, MODEL, READER, Reader};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// Predict new rows by a model of `organza erm`
///
/// One number a line: the probability of class 1, a mean, or an expected count.
#[derive(Args, Debug)]
pub(crate) struct Predict {
    /// The folder that `organza erm` wrote
    folder: PathBuf,
    /// The rows, in the form of those that the model was fitted to; their labels are not looked at
    #[arg(long, value_name = "PATH")]
    data: PathBuf,
}

/// One prediction a row.
#[derive(Serialize)]
struct Predictions {
    predictions: Vec<f64>,
}

impl Predict {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let path = self.folder.join(READER);
        let text = std::fs::read(&path).with_context(|| {
            format!("cannot read {}: is this a folder of `organza erm`?", path.display())
        })?;
        let reader: Reader = serde_json::from_slice(&text)
            .with_context(|| format!("{} has another version", path.display()))?;
        let model = LinearModel::read(&self.folder.join(MODEL))?;
        let rows = reader.read_all(&self.data, LabelKind::Ignored)?;
        let predictions = rows.iter().map(|row| model.predict(&row)).collect();
        output.result(&Predictions { predictions })
    }
}

impl fmt::Display for Predictions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.predictions.iter().try_for_each(|prediction| writeln!(formatter, "{prediction}"))
    }
}
