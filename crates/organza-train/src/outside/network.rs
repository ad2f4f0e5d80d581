//! A network as the engine sees it: tables, a dense part, units; its gradients come from outside.

use super::examples::Examples;
use super::gradients::Places;
use crate::application::{Application, Failure, Start};
use crate::books::Releases;
use crate::certificate::Certificate;
use crate::check::{SettingError, require};
use crate::folder::RunFolder;
use crate::settings::{EngineSettings, RunSettings};
use crate::task::{Losses, Task};
use organza_ledger::{LedgerSettings, PublicFact};
use organza_mechanism::sample::fill_normal_f32;
use organza_mechanism::{Purpose, ReadRows, WriteRows};
use organza_model::tensor_header;
use safetensors::Dtype;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io::Write;

/// What holds where each gradient was computed from one example alone.
const CHECKED: &str = "each gradient was computed from one example at a time: a loss could neither mix examples nor see the size of a \
                       batch, unless the program handed it data by another way";
/// What was left to whoever wrote the program.
const NOT_CHECKED: &str = "NOT CHECKED: that the loss is a sum over examples, each of which reads no other and is not divided by \
                           anything that depends on the batch; the promise holds if this does";

/// What a network begins with.
const FIRST_VALUES: &str = "the first values of tables and of the dense part, trained or not, count as public: they hold nothing of the \
                            data that is protected";
/// What is not drawn by the run itself.
const LAYERS: &str = "what layers draw, such as dropout, comes from PyTorch's generator, in a state that only the run knows, and \
                      counts as independent to everybody else";
/// What floats do that no clip sees.
const ROUNDINGS: &str = "gradients of several examples are computed together: how those of one are rounded is taken not to depend on \
                         the others, which PyTorch does not guarantee to the last bit";

/// A table of embeddings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its name, in the files of the model.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// The numbers of a row.
    pub dimensions: u64,
    /// The deviation of its first values.
    pub deviation: f32,
}

/// A tensor of the dense part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dense {
    /// Its name, in the files of the model.
    pub name: String,
    /// Its shape.
    pub shape: Vec<u64>,
}

/// The settings of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSettings {
    /// What is promised, and how steps go.
    pub engine: EngineSettings,
    /// The tables.
    pub tables: Vec<Table>,
    /// The dense part.
    pub dense: Vec<Dense>,
    /// At most so many examples of a unit are in a step.
    pub per_unit: Option<u64>,
    /// Whether whoever computes gradients sees to it that those of an example are computed where no other can be reached. It is
    /// a setting, and not what was seen in steps, since what is on the certificate must not depend on who joined a batch.
    pub one_at_a_time: bool,
}

impl NetworkSettings {
    /// How many dense parameters there are; none if there are more than can be.
    fn dense_size(&self) -> Option<u64> {
        let sizes = self.dense.iter().map(|tensor| {
            tensor.shape.iter().try_fold(1_u64, |size, length| size.checked_mul(*length))
        });
        sizes.into_iter().try_fold(0_u64, |sum, size| sum.checked_add(size?))
    }
}

impl RunSettings for NetworkSettings {
    fn engine(&self) -> EngineSettings {
        self.engine.clone()
    }

    fn ledger(&mut self) -> Option<&mut LedgerSettings> {
        self.engine.ledger.as_mut()
    }

    fn check(&self) -> Result<(), SettingError> {
        require("tables", self.tables.len() as f64, !self.tables.is_empty(), "at least one")?;
        for table in &self.tables {
            let good = table.deviation.is_finite() && table.deviation >= 0.0;
            require(
                "deviation",
                f64::from(table.deviation),
                good,
                "a number that is not below zero",
            )?;
        }
        let size = self.dense_size().filter(|size| *size < 1 << 40);
        require("dense", f64::INFINITY, size.is_some(), "fewer parameters")?;
        self.engine.check()
    }
}

/// What a network is trained on, as far as the engine knows it.
#[derive(Clone, Debug)]
pub struct NetworkData {
    /// Which examples are whose.
    pub examples: Examples,
    /// A hash of all the data, and of what of the dense part is not trained: a run goes on with the same. *Not private.*
    pub fingerprint: [u8; 32],
    /// The first values of tables, where they are not drawn. Public: they are not to come from the data.
    pub tables: Vec<Option<Vec<f32>>>,
    /// The first values of the dense part, tensor after tensor. Public as well.
    pub dense: Vec<f32>,
}

/// A network.
pub(super) struct Network {
    settings: NetworkSettings,
    data: NetworkData,
    task: NetworkTask,
    /// How many numbers of rows were beyond the last of their table, in the steps of this process. *Not private.*
    pub(super) beyond: u64,
}

impl Network {
    pub(super) fn examples(&self) -> &Examples {
        &self.data.examples
    }

    pub(super) fn places(&self) -> &Places {
        &self.task.places
    }
}

pub(super) struct NetworkTask {
    tables: Vec<(u64, u64)>,
    places: Places,
    units: u64,
}

impl NetworkTask {
    fn new(settings: &NetworkSettings, units: u64) -> Self {
        let mut tables: Vec<(u64, u64)> =
            settings.tables.iter().map(|table| (table.rows, table.dimensions)).collect();
        let mut first = 0_u64;
        let mut places = Vec::new();
        for (rows, dimensions) in &tables {
            places.push((first as u32, *dimensions as usize));
            first = first.saturating_add(*rows);
        }
        let rows = tables.iter().map(|(rows, _)| *rows).collect();
        let tensors =
            settings.dense.iter().map(|tensor| tensor.shape.iter().product::<u64>() as usize);
        let size = settings.dense_size().unwrap_or(0);
        // All of the dense part is one row, which every unit touches.
        let dense = (size > 0).then_some(first as u32);
        tables.extend(dense.map(|_| (1, size)));
        Self {
            tables,
            places: Places { tables: places, rows, dense, tensors: tensors.collect() },
            units,
        }
    }
}

impl Task for NetworkTask {
    fn tables(&self) -> Vec<(u64, u64)> {
        self.tables.clone()
    }

    fn dense_tables(&self) -> usize {
        usize::from(self.places.dense.is_some())
    }

    fn units(&self) -> u64 {
        self.units
    }

    /// Gradients are handed over to [`NetworkSteps::add`](super::NetworkSteps::add): there are none to compute.
    fn gradient(&self, _: u64, _: &[u32], _: &dyn ReadRows, _: &mut dyn WriteRows) {}

    /// Losses are computed outside.
    fn evaluate(&self, _: &dyn ReadRows) -> Losses {
        Losses { train: f64::NAN, validation: f64::NAN, test: f64::NAN }
    }
}

impl Application for Network {
    type Settings = NetworkSettings;
    type Data = NetworkData;
    type Task = NetworkTask;
    type Model = Vec<f32>;

    fn read(_: &NetworkSettings) -> Result<NetworkData, Failure> {
        Err("the data of a network is handed over by the program that trains it: run that again, with the same folder".into())
    }

    fn fingerprint(data: &NetworkData) -> Result<[u8; 32], Failure> {
        Ok(data.fingerprint)
    }

    fn public_facts(
        settings: &NetworkSettings,
        _: &NetworkData,
    ) -> Result<Vec<PublicFact>, Failure> {
        let tables = settings.tables.iter().map(|table| {
            let value = format!("{} rows of {}", table.rows, table.dimensions);
            PublicFact::new(format!("table {}", table.name), value)
        });
        Ok(tables.collect())
    }

    fn prepare(
        settings: &NetworkSettings,
        data: NetworkData,
        _: &mut Releases<'_>,
    ) -> Result<Self, Failure> {
        let task = NetworkTask::new(settings, data.examples.units());
        Ok(Self { settings: settings.clone(), data, task, beyond: 0 })
    }

    fn task(&self) -> &NetworkTask {
        &self.task
    }

    /// Tables by chance, unless their first values were given; the dense part as it was given.
    fn start(&self, _: &NetworkSettings, releases: &mut Releases<'_>) -> Result<Start, Failure> {
        let mut parameters = Vec::new();
        let mut random = releases.source().substream(Purpose::Initialisation, 0, 0);
        for (number, table) in self.settings.tables.iter().enumerate() {
            let (start, size) = (parameters.len(), usize::try_from(table.rows * table.dimensions)?);
            match self.data.tables.get(number).and_then(Option::as_ref) {
                Some(given) if given.len() == size => parameters.extend_from_slice(given),
                Some(_) => {
                    return Err(format!("the weights of table {} do not fit it", table.name).into());
                }
                None => {
                    parameters.resize(start + size, 0.0);
                    let values = &mut parameters[start..];
                    fill_normal_f32(values, &mut random);
                    values.iter_mut().for_each(|value| *value *= table.deviation);
                }
            }
        }
        parameters.extend_from_slice(&self.data.dense);
        Ok(Start { parameters, ..Start::default() })
    }

    fn not_private() -> impl Iterator<Item = &'static str> {
        [
            "metrics.jsonl: train, validation, test",
            "report.html: what is marked there",
            "summary.json: remarks",
            "timings",
        ]
        .into_iter()
    }

    fn remarks(&self) -> Vec<String> {
        let beyond = format!(
            "{} numbers of rows in steps were beyond the last row of their table, and counted as none",
            self.beyond
        );
        (self.beyond > 0).then_some(beyond).into_iter().collect()
    }

    fn certify(&self, _: &NetworkSettings, certificate: &mut Certificate) {
        let condition = if self.settings.one_at_a_time { CHECKED } else { NOT_CHECKED };
        let conditions = [condition, FIRST_VALUES, LAYERS, ROUNDINGS].map(str::to_owned);
        certificate.conditions.extend(conditions);
    }

    fn finish(
        self,
        parameters: Vec<f32>,
        certificate: &Certificate,
        folder: Option<&RunFolder>,
    ) -> Result<Vec<f32>, Failure> {
        let Some(folder) = folder else { return Ok(parameters) };
        let summary = json!({ "remarks": self.remarks(), "not_private": ["remarks"] });
        folder.write(&folder.file("summary.json"), format!("{summary:#}\n").as_bytes())?;
        let tables = self.settings.tables.iter().map(|table| {
            (table.name.as_str(), vec![table.rows as usize, table.dimensions as usize])
        });
        let dense = self.settings.dense.iter().map(|tensor| {
            let shape = tensor.shape.iter().map(|length| *length as usize);
            (tensor.name.as_str(), shape.collect())
        });
        let tensors = tables.chain(dense).map(|(name, shape)| (name, Dtype::F32, shape));
        let header = tensor_header(&certificate.metadata(), tensors);
        folder.write_with(&folder.file("model.safetensors"), |file| {
            file.write_all(&header)?;
            parameters.iter().try_for_each(|value| file.write_all(&value.to_le_bytes()))
        })?;
        Ok(parameters)
    }
}
