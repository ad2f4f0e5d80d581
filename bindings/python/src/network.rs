//! Steps of a network whose gradients Python computes: `organza.torch`.

use crate::exceptions::{DataError, RunError, SettingsError, as_arguments, settings_error};
use crate::run::raise;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use organza_ledger::{LedgerSettings, Neighbouring, Unit};
use organza_mechanism::{By, Selection, SelectionRule};
use organza_train::outside::{
    Dense, Examples, Gradients, Lookups, NetworkData, NetworkError, NetworkSettings, NetworkSteps,
    Part, Pool, Table,
};
use organza_train::settings::{EngineSettings, Steps, TrainingSettings};
use organza_train::{Losses, OptimizerName};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::Deserialize;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a plan is asked for, as JSON has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    epsilon: Option<f64>,
    delta: f64,
    noise_multiplier: Option<f64>,
    unit: Unit,
    neighbouring: Neighbouring,
    number_of_units: Option<u64>,
    per_unit: Option<u64>,
    batch: f64,
    epochs: f64,
    steps: Option<u64>,
    clip: f64,
    second_clip: Option<f64>,
    adaptive_clip: Option<f64>,
    optimizer: OptimizerName,
    learning_rate: f32,
    average: bool,
    select: Option<SelectionRule>,
    by: By,
    draws: Option<u64>,
    gamma: f64,
    share: f64,
    score_cap: f64,
    threshold: f64,
    checkpoints: u64,
    seed: Option<u64>,
    ledger: Option<PathBuf>,
    dataset: Option<String>,
    one_at_a_time: bool,
    tables: Vec<Table>,
    dense: Vec<Dense>,
}

impl Wanted {
    fn settings(self) -> NetworkSettings {
        let mut engine = EngineSettings::new("network", self.unit, 1.0, self.delta);
        if let Some(rule) = self.select {
            engine.name[1] = Cow::Borrowed("selection");
            engine.steps = Some(Steps::Selected);
            engine.selection = Selection {
                rule,
                by: self.by,
                draws: self.draws,
                gamma: self.gamma,
                share: self.share,
                cap: self.score_cap,
                threshold: self.threshold,
                epsilon: None,
            };
        }
        let privacy = &mut engine.privacy;
        privacy.epsilon = self.epsilon;
        privacy.noise_multiplier = self.noise_multiplier;
        privacy.neighbouring = self.neighbouring;
        privacy.units = self.number_of_units;
        // Where units are replaced, their number is the same in all neighbouring data sets.
        engine.units_are_public = self.neighbouring == Neighbouring::ReplaceOne;
        engine.training = TrainingSettings {
            batch: self.batch,
            epochs: self.epochs,
            steps: self.steps,
            clip: self.clip,
            adaptive_clip: self.adaptive_clip,
            second_clip: self.second_clip,
            optimizer: self.optimizer.at(self.learning_rate),
            average: self.average,
            checkpoints: self.checkpoints,
            ..TrainingSettings::default()
        };
        engine.seed = self.seed;
        engine.ledger = self.ledger.map(|path| LedgerSettings { path, dataset: self.dataset });
        let Self { tables, dense, per_unit, one_at_a_time, .. } = self;
        NetworkSettings { engine, tables, dense, per_unit, one_at_a_time }
    }
}

/// What a table was read for, with its gradient: the table, rows an example, rows, values, how rows were put together.
type Lookup<'py> =
    (usize, usize, PyReadonlyArray1<'py, i64>, PyReadonlyArray2<'py, f32>, Option<(usize, bool)>);

/// A run of a network.
#[pyclass(module = "organza._organza")]
pub(crate) struct Network {
    steps: Mutex<Option<NetworkSteps>>,
    pool: ThreadPool,
}

#[pymethods]
impl Network {
    #[new]
    #[pyo3(signature = (settings, examples, ends, fingerprint, tables, dense, folder, goes_on, threads = None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        settings: &str,
        examples: PyReadonlyArray1<'_, i64>,
        ends: PyReadonlyArray1<'_, i64>,
        fingerprint: [u8; 32],
        tables: Vec<Option<PyReadonlyArray2<'_, f32>>>,
        dense: PyReadonlyArray1<'_, f32>,
        folder: PathBuf,
        goes_on: bool,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let wanted: Wanted = serde_json::from_str(settings).map_err(settings_error)?;
        let settings = wanted.settings();
        let numbers = |array: &PyReadonlyArray1<'_, i64>| -> PyResult<Vec<u64>> {
            let numbers = array.as_slice()?.iter().map(|number| u64::try_from(*number).ok());
            numbers
                .collect::<Option<_>>()
                .ok_or_else(|| DataError::new_err("a number is below zero"))
        };
        let examples = Examples::new(numbers(&examples)?, numbers(&ends)?, settings.per_unit);
        let examples = examples.ok_or_else(|| {
            SettingsError::new_err(
                "`per_unit` is 0, or an example is of two units: give each example one",
            )
        })?;
        let values = |array: PyReadonlyArray2<'_, f32>| Ok(array.as_slice()?.to_vec());
        let tables = tables.into_iter().map(|table| table.map(values).transpose());
        let tables: Vec<Option<Vec<f32>>> = tables.collect::<PyResult<_>>()?;
        let data = NetworkData { examples, fingerprint, tables, dense: dense.as_slice()?.to_vec() };
        let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
        let pool = pool.map_err(settings_error)?;
        let steps = py.detach(|| {
            pool.install(|| {
                let going_on = match goes_on {
                    true => NetworkSteps::resume(&settings, data.clone(), &folder)?,
                    false => None,
                };
                match going_on {
                    Some(steps) => Ok(steps),
                    None => NetworkSteps::begin(settings, data, &folder, goes_on),
                }
            })
        });
        Ok(Self { steps: Mutex::new(Some(steps.map_err(network_error)?)), pool })
    }

    /// The steps that were made, and those that there are.
    fn steps(&self) -> PyResult<(u64, u64)> {
        self.looked(NetworkSteps::steps)
    }

    /// The deviation of the noise over the sensitivity, and the probability with which a unit joins.
    fn noise(&self) -> PyResult<(f64, f64)> {
        self.looked(NetworkSteps::noise)
    }

    /// The examples of the part that waits, unit by unit, where those of each end, and the seed of what layers draw; none if all
    /// steps are made.
    #[allow(clippy::type_complexity)]
    fn draw<'py>(
        &self,
        py: Python<'py>,
        units: usize,
    ) -> PyResult<Option<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, u64)>> {
        let part = self.worked(py, |steps| Ok(steps.draw(units)?.cloned()))?;
        Ok(part.map(|Part { examples, ends, seed }| {
            let examples: Vec<i64> = examples.into_iter().map(|example| example as i64).collect();
            let ends: Vec<i64> = ends.into_iter().map(|end| end as i64).collect();
            (examples.into_pyarray(py), ends.into_pyarray(py), seed)
        }))
    }

    /// Rows of a table, or sums or means of so many each.
    #[pyo3(signature = (table, rows, dimensions, pool = None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        table: usize,
        rows: PyReadonlyArray1<'_, i64>,
        dimensions: usize,
        pool: Option<(usize, bool)>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let rows = rows.as_slice()?;
        let pool = pool.map(pooled);
        let values = self.worked(py, |steps| {
            let mut values = Vec::new();
            steps.read(table, rows, pool, &mut values)?;
            Ok(values)
        })?;
        let count = values.len() / dimensions.max(1);
        values.into_pyarray(py).reshape([count, dimensions])
    }

    /// The dense part.
    fn dense<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        Ok(self.worked(py, |steps| Ok(steps.dense()))?.into_pyarray(py))
    }

    /// Takes the gradients of the part that waits: of what was read of tables, and of each tensor of the dense part; returns the
    /// dense part if the step was made.
    fn add<'py>(
        &self,
        py: Python<'py>,
        lookups: Vec<Lookup<'_>>,
        dense: Vec<PyReadonlyArray1<'_, f32>>,
    ) -> PyResult<Option<Bound<'py, PyArray1<f32>>>> {
        let lookups = lookups.iter().map(|(table, per_example, rows, values, pool)| {
            let (rows, values, pool) = (rows.as_slice()?, values.as_slice()?, pool.map(pooled));
            Ok(Lookups { table: *table, per_example: *per_example, rows, values, pool })
        });
        let lookups: Vec<Lookups<'_>> = lookups.collect::<PyResult<_>>()?;
        let dense = dense.iter().map(|values| values.as_slice());
        let dense: Vec<&[f32]> = dense.collect::<Result<_, _>>()?;
        let gradients = Gradients { lookups: &lookups, dense: &dense };
        let moved = self.worked(py, |steps| {
            let made = steps.add(&gradients)?;
            Ok(made.then(|| steps.dense()))
        })?;
        Ok(moved.map(|dense| dense.into_pyarray(py)))
    }

    /// Puts losses on the learning curve. *Not private.*
    fn record(&self, py: Python<'_>, train: f64, validation: f64, test: f64) -> PyResult<()> {
        self.worked(py, |steps| steps.record(Losses { train, validation, test }))
    }

    /// Ends the run: all parameters, and what is to be said about the data, which is *not private*.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyArray1<f32>>, Vec<String>)> {
        let (done, all) = self.steps()?;
        if done < all {
            return Err(network_error(NetworkError::NotDone { left: all - done, steps: all }));
        }
        let steps = self.lock().take().ok_or_else(finished)?;
        let run = py.detach(|| self.pool.install(|| steps.finish())).map_err(network_error)?;
        Ok((run.model.into_pyarray(py), run.remarks))
    }
}

impl Network {
    fn lock(&self) -> MutexGuard<'_, Option<NetworkSteps>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn looked<T>(&self, look: impl FnOnce(&NetworkSteps) -> T) -> PyResult<T> {
        self.lock().as_ref().map(look).ok_or_else(finished)
    }

    /// Does work on the threads of the run, without the lock of the interpreter.
    fn worked<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut NetworkSteps) -> Result<T, NetworkError> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let mut steps = self.lock();
            let steps = steps.as_mut().ok_or_else(finished)?;
            self.pool.install(|| work(steps)).map_err(network_error)
        })
    }
}

fn pooled((rows, mean): (usize, bool)) -> Pool {
    Pool { rows, mean }
}

fn finished() -> PyErr {
    RunError::new_err("the run is finished: there are no steps left")
}

fn network_error(error: NetworkError) -> PyErr {
    match error {
        NetworkError::Session(error) => raise(&anyhow::Error::new(error)),
        NetworkError::NoTable(_) | NetworkError::Misfit(_) => {
            DataError::new_err(as_arguments(&error.to_string()))
        }
        error => RunError::new_err(error.to_string()),
    }
}
