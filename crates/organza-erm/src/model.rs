//! A fitted model and its files.

use crate::design::factor;
use crate::loss::Loss;
use organza_data::sparse::Row;
use organza_ledger::atomic::{Readers, write};
use organza_model::{Tensors, numbers};
use safetensors::SafeTensors;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The key in a file's metadata that holds the version of its format.
const FORMAT: &str = "organza_erm_format";

/// A linear model: released, and free to use.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearModel {
    /// The loss that it was fitted to.
    pub loss: Loss,
    /// A weight for each feature; with more than two classes one for each class, feature after feature.
    pub weights: Vec<f64>,
    /// The intercept, of each class if there are more than two; 0 without one.
    pub intercepts: Vec<f64>,
    /// Whether there is an intercept.
    pub has_intercept: bool,
    /// The norm that longer rows are scaled down to.
    pub bound: Option<f64>,
    /// What classes are called, if they have names.
    pub classes: Vec<String>,
}

/// A model's file cannot be read or written.
#[derive(Debug, Error)]
pub enum ModelError {
    /// The file system.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: String,
        /// Why it failed.
        source: io::Error,
    },
    /// It is not a model.
    #[error("{0} is not a linear model of this version: {1}")]
    Format(String, String),
}

impl LinearModel {
    /// The number of features.
    pub fn features(&self) -> u64 {
        (self.weights.len() / self.models().max(1)) as u64
    }

    /// How many models there are beside each other: one for each class if there are more than two.
    pub fn models(&self) -> usize {
        self.intercepts.len()
    }

    /// The weights of one of them with its intercept, if there is one, after them.
    pub fn coordinates(&self, model: usize) -> Vec<f64> {
        let weights = self.weights.iter().skip(model).step_by(self.models());
        let intercept = self.intercepts.get(model).filter(|_| self.has_intercept);
        weights.chain(intercept).copied().collect()
    }

    /// What it predicts for a row: a mean, the probability of class 1, or that of each of more than two classes. Features
    /// that the model does not have count as zero.
    pub fn predict(&self, row: &Row<'_>) -> Vec<f64> {
        let factor = factor(row, self.bound);
        let mut predictions = self.intercepts.clone();
        for (column, value) in row.entries() {
            let weights = self.weights.chunks_exact(self.models()).nth(column as usize);
            let weights = weights.unwrap_or_default();
            for (sum, weight) in predictions.iter_mut().zip(weights) {
                *sum += weight * f64::from(value) * factor;
            }
        }
        predictions.iter_mut().for_each(|sum| *sum = self.loss.prediction(*sum));
        if self.models() > 1 {
            let whole: f64 = predictions.iter().sum();
            predictions
                .iter_mut()
                .for_each(|prediction| *prediction /= whole.max(f64::MIN_POSITIVE));
        }
        predictions
    }

    /// The likeliest class, where there are classes.
    pub fn class(&self, predictions: &[f64]) -> Option<usize> {
        match (self.loss, predictions) {
            (Loss::Linear | Loss::Poisson, _) | (_, []) => None,
            (_, [one]) => Some(usize::from(*one > 0.5)),
            (_, many) => (0..many.len()).max_by(|one, other| many[*one].total_cmp(&many[*other])),
        }
    }

    /// The name of a class.
    pub fn class_name(&self, class: usize) -> String {
        self.classes.get(class).cloned().unwrap_or_else(|| class.to_string())
    }

    /// Writes the model as safetensors (`weights`, `intercept`, both F64, a row a feature with a column for each of more
    /// than two classes) with what is promised in its metadata.
    ///
    /// # Errors
    /// If the disk has an error.
    pub fn write(
        &self,
        path: &Path,
        promises: &BTreeMap<String, String>,
    ) -> Result<(), ModelError> {
        let mut metadata = promises.clone();
        metadata.insert(FORMAT.to_owned(), "1".to_owned());
        metadata.insert("model".to_owned(), self.loss.to_string());
        metadata.insert("intercept".to_owned(), self.has_intercept.to_string());
        let bound = self.bound.map_or("none".to_owned(), |bound| bound.to_string());
        metadata.insert("bound".to_owned(), bound);
        if !self.classes.is_empty() {
            metadata.insert("classes".to_owned(), json!(self.classes).to_string());
        }
        let shape = match self.models() {
            1 => vec![self.weights.len()],
            models => vec![self.weights.len() / models, models],
        };
        let mut tensors = Tensors::default();
        tensors.add("weights", shape, &self.weights);
        tensors.list("intercept", &self.intercepts);
        write(path, Readers::Usual, |writer| tensors.write(&metadata, writer))
            .map_err(file("write", path))
    }

    /// Reads what [`LinearModel::write`] wrote.
    ///
    /// # Errors
    /// If it cannot be read, or is something else.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let bytes = fs::read(path).map_err(file("read", path))?;
        let wrong = |problem: String| ModelError::Format(path.display().to_string(), problem);
        let tensors = SafeTensors::deserialize(&bytes).map_err(|error| wrong(error.to_string()))?;
        let (_, header) =
            SafeTensors::read_metadata(&bytes).map_err(|error| wrong(error.to_string()))?;
        let metadata = header.metadata().clone().unwrap_or_default();
        let told = |key: &str| {
            metadata.get(key).cloned().ok_or_else(|| wrong(format!("it does not give its {key}")))
        };
        if told(FORMAT)? != "1" {
            return Err(wrong("it has another format".into()));
        }
        let values = |name: &str| {
            let tensor = tensors.tensor(name).map_err(|error| wrong(error.to_string()))?;
            numbers::<f64>(&tensor).ok_or_else(|| wrong(format!("{name} is not F64")))
        };
        let loss = serde_json::from_value(json!(told("model")?))
            .map_err(|_| wrong("its model is unknown".into()))?;
        let bound = match told("bound")?.as_str() {
            "none" => None,
            number => Some(number.parse().map_err(|_| wrong("its bound is not a number".into()))?),
        };
        let classes = match metadata.get("classes") {
            Some(names) => serde_json::from_str(names)
                .map_err(|_| wrong("its classes are not a list of names".into()))?,
            None => Vec::new(),
        };
        let (weights, intercepts) = (values("weights")?, values("intercept")?);
        if intercepts.is_empty() || weights.len() % intercepts.len() != 0 {
            return Err(wrong("its weights do not fit its number of intercepts".into()));
        }
        let has_intercept = told("intercept")? == "true";
        Ok(Self { loss, weights, intercepts, has_intercept, bound, classes })
    }

    /// Writes the coefficients that are not zero as CSV: `feature,name,coefficient`, features counted from
    /// 1, the intercept first as feature 0; with more than two classes `feature,name,class,coefficient`. Features that are
    /// not `shown` are left out.
    ///
    /// # Errors
    /// If the disk has an error.
    pub fn write_csv(
        &self,
        path: &Path,
        name: impl Fn(u64) -> Option<String>,
        shown: impl Fn(u64) -> bool,
    ) -> Result<(), ModelError> {
        write(path, Readers::Usual, |writer| {
            let models = self.models();
            writeln!(writer, "feature,name,{}coefficient", if models > 1 { "class," } else { "" })?;
            let mut line = |feature: usize, name: &str, model: usize, value: f64| {
                let class = match models {
                    1 => String::new(),
                    _ => quoted(&self.class_name(model)) + ",",
                };
                writeln!(writer, "{feature},{},{class}{value}", quoted(name))
            };
            for (model, intercept) in self.intercepts.iter().enumerate() {
                line(0, "(intercept)", model, *intercept)?;
            }
            for (index, weight) in self.weights.iter().enumerate().filter(|(_, it)| **it != 0.0) {
                let feature = index / models;
                if !shown(feature as u64) {
                    continue;
                }
                let name = name(feature as u64).unwrap_or_default();
                line(feature + 1, &name, index % models, *weight)?;
            }
            Ok(())
        })
        .map_err(file("write", path))
    }
}

/// A field of a CSV file.
fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ModelError {
    let path: PathBuf = path.to_owned();
    move |source| ModelError::File { action, path: path.display().to_string(), source }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_model_comes_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let model = LinearModel {
            loss: Loss::Poisson,
            weights: vec![0.1, 0.0, -1e-300, f64::MAX],
            intercepts: vec![0.3],
            has_intercept: true,
            bound: Some(0.1 + 0.2),
            classes: Vec::new(),
        };
        model.write(&path, &BTreeMap::from([("epsilon".into(), "1".into())])).unwrap();
        assert_eq!(LinearModel::read(&path).unwrap(), model);
        let table = folder.path().join("coefficients.csv");
        model.write_csv(&table, |at| (at == 0).then(|| "a,b".to_owned()), |_| true).unwrap();
        let text = fs::read_to_string(&table).unwrap();
        assert!(
            text.starts_with("feature,name,coefficient\n0,(intercept),0.3\n1,\"a,b\",0.1\n3,,-")
        );
        let names = ["a", "b,c", "d"].map(str::to_owned).to_vec();
        let many = LinearModel {
            loss: Loss::Logistic,
            weights: vec![1.0, 0.0, -1.0, 0.0, 2.0, 0.0],
            intercepts: vec![0.0; 3],
            classes: names,
            ..model
        };
        many.write(&path, &BTreeMap::new()).unwrap();
        let back = LinearModel::read(&path).unwrap();
        assert_eq!((&back, back.features(), back.coordinates(1)), (&many, 2, vec![0.0, 2.0, 0.0]));
        let row = Row { columns: &[1], values: &[0.2], label: 0.0 };
        let said = back.predict(&row);
        assert!((said.iter().sum::<f64>() - 1.0).abs() < 1e-12 && back.class(&said) == Some(1));
        many.write_csv(&table, |_| None, |feature| feature > 0).unwrap();
        let text = fs::read_to_string(&table).unwrap();
        assert!(
            text.contains("0,(intercept),\"b,c\",0\n") && text.ends_with("2,,\"b,c\",2\n"),
            "{text}"
        );
        for bad in [&b"no"[..], b"\x08\0\0\0\0\0\0\0{}      "] {
            fs::write(&path, bad).unwrap();
            assert!(LinearModel::read(&path).is_err());
        }
    }
}
