//! What a run needs to go on: parameters, moments and the average, after a number of steps.

use crate::average::Average;
use crate::optimizer::{Optimizer, OptimizerSettings};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use thiserror::Error;

/// The state of training after `steps` steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The steps that were made.
    pub steps: u64,
    /// The parameters, all tables one after another.
    pub parameters: Vec<f32>,
    /// The optimizer with its moments.
    pub optimizer: Optimizer,
    /// The running average of the parameters.
    pub average: Average,
    /// The parameters that did best on validation data; kept without privacy only.
    pub best: Option<Best>,
}

/// The parameters with the smallest validation loss so far.
///
/// *Not private*: the choice comes from the data. A private run never makes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The validation loss.
    pub loss: f64,
    /// The parameters.
    pub parameters: Vec<f32>,
}

/// A checkpoint that cannot be used.
#[derive(Debug, Error)]
#[error("the checkpoint cannot be used: {0}")]
pub struct CheckpointError(String);

const VERSION: u64 = 1;
const FACTS: &str = "organza";

#[derive(Serialize, Deserialize)]
struct Facts {
    version: u64,
    steps: u64,
    snapshots: u64,
    best_loss: Option<f64>,
}

impl Checkpoint {
    /// The file's bytes: a safetensors file without a time stamp.
    ///
    /// # Errors
    /// If the state cannot be written down.
    pub fn encode(&self) -> Result<Vec<u8>, CheckpointError> {
        let floats = |values: &[f32]| values.iter().flat_map(|it| it.to_le_bytes()).collect();
        let (first, second) = self.optimizer.moments();
        let (sums, snapshots) = self.average.state();
        let sums: Vec<u8> = sums.iter().flat_map(|it| it.to_le_bytes()).collect();
        let best = self.best.as_ref();
        let parts: [(&str, Dtype, Vec<u8>); 5] = [
            ("parameters", Dtype::F32, floats(&self.parameters)),
            ("first_moment", Dtype::F32, floats(first)),
            ("second_moment", Dtype::F32, floats(second)),
            ("average", Dtype::F64, sums),
            ("best", Dtype::F32, floats(best.map_or(&[], |best| &best.parameters))),
        ];
        let views: Result<Vec<_>, _> = parts
            .iter()
            .map(|(name, kind, bytes)| {
                let length = bytes.len() * 8 / kind.bitsize();
                TensorView::new(*kind, vec![length], bytes).map(|view| (*name, view))
            })
            .collect();
        let best_loss = best.map(|best| best.loss);
        let facts = Facts { version: VERSION, steps: self.steps, snapshots, best_loss };
        let facts = serde_json::to_string(&facts).map_err(wrong)?;
        // One entry: several would come in an order of their own each time.
        let metadata = HashMap::from([(FACTS.to_owned(), facts)]);
        serialize(views.map_err(wrong)?, Some(metadata)).map_err(wrong)
    }

    /// Reads a checkpoint of a run with these settings and this many coordinates.
    ///
    /// # Errors
    /// If it is damaged, of another version, or of another run.
    pub fn decode(
        bytes: &[u8],
        settings: OptimizerSettings,
        coordinates: usize,
    ) -> Result<Self, CheckpointError> {
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(wrong)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(wrong)?;
        let facts = header.metadata().as_ref().and_then(|metadata| metadata.get(FACTS));
        let facts = facts.ok_or_else(|| wrong("it is no checkpoint"))?;
        let facts: Facts = serde_json::from_str(facts).map_err(wrong)?;
        if facts.version != VERSION {
            return Err(wrong(format!("it is of version {}, not {VERSION}", facts.version)));
        }
        let floats = |name: &str| -> Result<Vec<f32>, CheckpointError> {
            let tensor = tensors.tensor(name).map_err(wrong)?;
            Ok(tensor.data().as_chunks().0.iter().map(|it| f32::from_le_bytes(*it)).collect())
        };
        let parameters = floats("parameters")?;
        let sums = tensors.tensor("average").map_err(wrong)?;
        let sums: Vec<f64> =
            sums.data().as_chunks().0.iter().map(|it| f64::from_le_bytes(*it)).collect();
        let best = facts.best_loss.map(|loss| floats("best").map(|parameters| (loss, parameters)));
        let best = best.transpose()?.map(|(loss, parameters)| Best { loss, parameters });
        if parameters.len() != coordinates
            || !(sums.is_empty() || sums.len() == coordinates)
            || best.as_ref().is_some_and(|best| best.parameters.len() != coordinates)
        {
            return Err(CheckpointError("it is of a model of another shape".to_owned()));
        }
        let steps = facts.steps;
        let (first, second) = (floats("first_moment")?, floats("second_moment")?);
        let optimizer = Optimizer::resume(settings, coordinates, steps, first, second)
            .ok_or_else(|| CheckpointError("it is of another optimizer".to_owned()))?;
        let average = Average::resume(sums, facts.snapshots);
        Ok(Self { steps, parameters, optimizer, average, best })
    }
}

fn wrong(error: impl std::fmt::Display) -> CheckpointError {
    CheckpointError(error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn checkpoint() -> Checkpoint {
        let mut optimizer = Optimizer::new(OptimizerSettings::adam(0.1), 3);
        let mut parameters = vec![0.5, -1.0, f32::MIN_POSITIVE];
        optimizer.step(&mut parameters, |visit| visit(0, &[1.0, 2.0, -3.0]));
        let mut average = Average::new(3);
        average.add(&parameters);
        let best = Some(Best { loss: 1.5, parameters: vec![0.25, 0.5, -0.0] });
        Checkpoint { steps: 1, parameters, optimizer, average, best }
    }

    #[test]
    fn it_comes_back_bit_for_bit() {
        let bytes = checkpoint().encode().unwrap();
        assert_eq!(bytes, checkpoint().encode().unwrap());
        let back = Checkpoint::decode(&bytes, OptimizerSettings::adam(0.1), 3).unwrap();
        assert_eq!(back, checkpoint());
    }

    #[test]
    fn a_damaged_or_foreign_one_is_refused() {
        let bytes = checkpoint().encode().unwrap();
        let decode = |bytes: &[u8]| Checkpoint::decode(bytes, OptimizerSettings::adam(0.1), 3);
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end]).is_err(), "{end}");
        }
        assert!(Checkpoint::decode(&bytes, OptimizerSettings::adam(0.1), 4).is_err());
        let sgd = OptimizerSettings::Sgd { learning_rate: 0.1 };
        assert!(Checkpoint::decode(&bytes, sgd, 3).is_err());
    }
}
