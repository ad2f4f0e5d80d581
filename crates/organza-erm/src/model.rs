//! A fitted model and its files.

use crate::design::factor;
use crate::loss::Loss;
use organza_data::sparse::Row;
use organza_ledger::atomic::{Readers, write};
use organza_model::tensor_header;
use safetensors::SafeTensors;
use safetensors::tensor::Dtype;
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
    /// A weight for each feature.
    pub weights: Vec<f64>,
    /// The intercept; 0 without one.
    pub intercept: f64,
    /// Whether there is an intercept.
    pub has_intercept: bool,
    /// The norm that longer rows are scaled down to.
    pub bound: Option<f64>,
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
    /// It is no model.
    #[error("{0} is no linear model of this version: {1}")]
    Format(String, String),
}

impl LinearModel {
    /// The number of features.
    pub fn features(&self) -> u64 {
        self.weights.len() as u64
    }

    /// The weights with the intercept, if there is one, after them.
    pub fn coordinates(&self) -> Vec<f64> {
        let mut all = self.weights.clone();
        if self.has_intercept {
            all.push(self.intercept);
        }
        all
    }

    /// What it predicts for a row: a mean, or the probability of class 1. Features that the model does
    /// not have count as zero.
    pub fn predict(&self, row: &Row<'_>) -> f64 {
        let factor = factor(row, self.bound);
        let sum: f64 = row
            .entries()
            .filter_map(|(column, value)| {
                Some(self.weights.get(column as usize)? * f64::from(value) * factor)
            })
            .sum();
        self.loss.prediction(sum + self.intercept)
    }

    /// Writes the model as safetensors (`weights`, `intercept`, both F64) with what is promised in its
    /// metadata.
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
        let tensors = [("weights", self.weights.len()), ("intercept", 1)];
        let tensors = tensors.map(|(name, length)| (name, Dtype::F64, vec![length]));
        let header = tensor_header(&metadata, tensors);
        write(path, Readers::Usual, |writer| {
            writer.write_all(&header)?;
            for value in self.weights.iter().chain([&self.intercept]) {
                writer.write_all(&value.to_le_bytes())?;
            }
            Ok(())
        })
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
            metadata.get(key).cloned().ok_or_else(|| wrong(format!("it does not tell its {key}")))
        };
        if told(FORMAT)? != "1" {
            return Err(wrong("it has another format".into()));
        }
        let values = |name: &str| {
            let tensor = tensors.tensor(name).map_err(|error| wrong(error.to_string()))?;
            if tensor.dtype() != Dtype::F64 {
                return Err(wrong(format!("{name} is not F64")));
            }
            let values = tensor.data().as_chunks::<8>().0.iter();
            Ok(values.map(|value| f64::from_le_bytes(*value)).collect::<Vec<f64>>())
        };
        let loss = serde_json::from_value(json!(told("model")?))
            .map_err(|_| wrong("its model is unknown".into()))?;
        let bound = match told("bound")?.as_str() {
            "none" => None,
            number => Some(number.parse().map_err(|_| wrong("its bound is no number".into()))?),
        };
        Ok(Self {
            loss,
            weights: values("weights")?,
            intercept: values("intercept")?.first().copied().unwrap_or(0.0),
            has_intercept: told("intercept")? == "true",
            bound,
        })
    }

    /// Writes the coefficients that are not zero as CSV: `feature,name,coefficient`, features counted from
    /// 1, the intercept first as feature 0.
    ///
    /// # Errors
    /// If the disk has an error.
    pub fn write_csv(
        &self,
        path: &Path,
        name: impl Fn(u64) -> Option<String>,
    ) -> Result<(), ModelError> {
        write(path, Readers::Usual, |writer| {
            writeln!(writer, "feature,name,coefficient")?;
            writeln!(writer, "0,(intercept),{}", self.intercept)?;
            for (index, weight) in self.weights.iter().enumerate().filter(|(_, it)| **it != 0.0) {
                let name = name(index as u64).unwrap_or_default().replace('"', "\"\"");
                let quoted = name.contains([',', '"', '\n']);
                let name = if quoted { format!("\"{name}\"") } else { name };
                writeln!(writer, "{},{name},{weight}", index + 1)?;
            }
            Ok(())
        })
        .map_err(file("write", path))
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
            intercept: 0.3,
            has_intercept: true,
            bound: Some(0.1 + 0.2),
        };
        model.write(&path, &BTreeMap::from([("epsilon".into(), "1".into())])).unwrap();
        assert_eq!(LinearModel::read(&path).unwrap(), model);
        let table = folder.path().join("coefficients.csv");
        model.write_csv(&table, |at| (at == 0).then(|| "a,b".to_owned())).unwrap();
        let text = fs::read_to_string(&table).unwrap();
        assert!(
            text.starts_with("feature,name,coefficient\n0,(intercept),0.3\n1,\"a,b\",0.1\n3,,-")
        );
        for bad in [&b"no"[..], b"\x08\0\0\0\0\0\0\0{}      "] {
            fs::write(&path, bad).unwrap();
            assert!(LinearModel::read(&path).is_err());
        }
    }
}
