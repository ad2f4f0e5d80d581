//! `organza predict`: what a fitted linear model or a click model says about new rows.

use crate::output::Output;
use crate::running::Kind;
use crate::usage::UsageError;
use anyhow::Context;
use clap::Args;
use organza_clicks::{ClickModel, ClickReader};
use organza_data::sparse::LabelKind;
use organza_data::table::{TableForm, Values, write_table};
use organza_erm::{LinearModel, MODEL, READER, Reader};
use organza_ledger::atomic::{Readers, write};
use serde::Serialize;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Predict new rows by a model of `organza linear` or `organza clicks`
///
/// One line a row: the probability of a click, or a mean, an expected count, the probability of class 1, or the likeliest of more than two classes and
/// its probability. With --out a table: the likeliest class by its name, and the probability of each.
#[derive(Args, Debug)]
pub(crate) struct Predict {
    /// The folder that `organza linear` or `organza clicks` wrote
    folder: PathBuf,
    /// The rows, with the columns of those that the model was fitted to; labels are not looked at
    #[arg(long, value_name = "PATH")]
    data: PathBuf,
    /// The form of the rows [default: by the name of the file]
    #[arg(long, value_parser = crate::names::form_parser())]
    format: Option<TableForm>,
    /// Write a table: CSV, TSV, JSON lines, Parquet or Arrow, by the name of the file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What is predicted for each row.
#[derive(Serialize)]
struct Predictions {
    /// A number, or one for each of more than two classes.
    predictions: Vec<Prediction>,
    /// The likeliest class of each row; none without classes that have names.
    #[serde(skip_serializing_if = "Option::is_none")]
    classes: Option<Vec<String>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Prediction {
    One(f64),
    OfEach(Vec<f64>),
}

impl Predict {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let (predictions, columns) = match Kind::of(&self.folder) {
            Kind::Clicks => self.clicks()?,
            _ => self.linear()?,
        };
        let Some(out) = self.out else { return output.result(&predictions) };
        let form = TableForm::of(&out).ok_or_else(|| {
            let problem = format!("`{}` does not say what table to write", out.display());
            UsageError::new(problem, "call it .csv, .tsv, .jsonl, .parquet or .arrow")
        })?;
        write(&out, Readers::Usual, |mut writer| {
            write_table(&columns, form, &out, &mut writer).map_err(io::Error::other)
        })
        .with_context(|| format!("cannot write {}", out.display()))?;
        let rows = predictions.predictions.len();
        output.note(format_args!("{rows} rows in {}", out.display()));
        Ok(())
    }

    /// The form of the rows: the name of the new file says it, whatever the old one was.
    fn form(&self, old: Option<TableForm>) -> Option<TableForm> {
        self.format.or(TableForm::of(&self.data).is_none().then_some(old).flatten())
    }

    /// What a click model says, and the columns of a table of it.
    fn clicks(&self) -> anyhow::Result<(Predictions, Vec<(String, Values)>)> {
        let boxed = anyhow::Error::from_boxed;
        let mut reader = ClickReader::of_run(&self.folder).map_err(boxed)?;
        // What has no header has the form that was declared, whatever it is called.
        if reader.header.is_none() || self.format.is_some() {
            reader.format = self.form(reader.format);
        }
        let model = ClickModel::read(&self.folder, &reader.columns).map_err(boxed)?;
        let rows = reader.read(&self.data, LabelKind::Ignored).map_err(boxed)?;
        rows.left_out().refuse()?;
        let said: Vec<f64> = rows.iter().map(|row| model.predict(&row)).collect();
        let columns = vec![("prediction".to_owned(), Values::Numbers(said.clone()))];
        let predictions = said.into_iter().map(Prediction::One).collect();
        Ok((Predictions { predictions, classes: None }, columns))
    }

    /// What a linear model says, and the columns of a table of it.
    fn linear(&self) -> anyhow::Result<(Predictions, Vec<(String, Values)>)> {
        let path = self.folder.join(READER);
        let text = std::fs::read(&path).with_context(|| {
            format!("cannot read {}: is this a folder of `organza linear`?", path.display())
        })?;
        let mut reader: Reader = serde_json::from_slice(&text)
            .with_context(|| format!("{} has another version", path.display()))?;
        if reader.columns.is_some() {
            reader.format = self.form(reader.format);
        }
        let model = LinearModel::read(&self.folder.join(MODEL))?;
        let rows = reader.read_all(&self.data, LabelKind::Ignored)?;
        let predictions: Vec<Vec<f64>> = rows.iter().map(|row| model.predict(&row)).collect();
        let columns = columns(&model, &predictions);
        Ok((Predictions::new(&model, predictions), columns))
    }
}

/// The columns of a table of predictions.
fn columns(model: &LinearModel, predictions: &[Vec<f64>]) -> Vec<(String, Values)> {
    let numbers = |at: usize| Values::Numbers(predictions.iter().map(|it| it[at]).collect());
    if model.classes.is_empty() {
        return vec![("prediction".to_owned(), numbers(0))];
    }
    let mut columns = vec![("class".to_owned(), Values::Texts(named(model, predictions)))];
    // Of two classes the one number is that of the second.
    let first = usize::from(model.models() == 1);
    for at in 0..model.models() {
        columns.push((format!("probability of {}", model.class_name(first + at)), numbers(at)));
    }
    columns
}

/// The likeliest class of each row.
fn named(model: &LinearModel, predictions: &[Vec<f64>]) -> Vec<String> {
    predictions.iter().map(|it| model.class_name(model.class(it).unwrap_or(0))).collect()
}

impl Predictions {
    fn new(model: &LinearModel, predictions: Vec<Vec<f64>>) -> Self {
        let classes = (!model.classes.is_empty()).then(|| named(model, &predictions));
        let shown = |of_each: Vec<f64>| match of_each[..] {
            [one] => Prediction::One(one),
            _ => Prediction::OfEach(of_each),
        };
        Self { predictions: predictions.into_iter().map(shown).collect(), classes }
    }
}

impl fmt::Display for Predictions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut classes = self.classes.iter().flatten();
        for prediction in &self.predictions {
            let class = classes.next();
            match (prediction, class) {
                (Prediction::One(one), None) => writeln!(formatter, "{one}")?,
                (Prediction::One(one), Some(class)) => writeln!(formatter, "{class}\t{one}")?,
                (Prediction::OfEach(all), class) => {
                    let most = all.iter().copied().fold(0.0, f64::max);
                    writeln!(formatter, "{}\t{most}", class.map_or("", String::as_str))?;
                }
            }
        }
        Ok(())
    }
}
