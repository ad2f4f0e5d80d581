//! Steps one by one, for a loop of one's own.

use crate::average::Average;
use crate::checkpoint::Checkpoint;
use crate::export::header;
use crate::folder::FolderError;
use crate::plain::PlainBatch;
use crate::purse::Purse;
use crate::refinement::Refiner;
use crate::run::{RunError, RunPlan, make_step, tables, upkeep};
use crate::tables::{FirstWeights, OnDiskError, Tables, Upkeep};
use crate::task::Task;
use organza_ledger::{Charge, Charged};
use organza_mechanism::{RandomSource, Sampler, SelectionSettings};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The steps of a plan, all paid for before the first.
///
/// It writes no file, so that it cannot be resumed; [`run`](crate::run()) does both.
pub struct Stepper<T> {
    task: T,
    plan: RunPlan,
    source: RandomSource,
    /// Without privacy there is none.
    paid: Option<(Sampler, Charged)>,
    state: Checkpoint,
    plain: PlainBatch,
}

impl<T: Task> Stepper<T> {
    /// Pays for all steps of `plan`, which are charged under the purpose `name`.
    ///
    /// # Errors
    /// If a charge is refused, or `initial` is of another model.
    pub fn new(
        name: &str,
        task: T,
        plan: RunPlan,
        source: RandomSource,
        initial: Vec<f32>,
        purse: Option<&mut Purse>,
    ) -> Result<Self, RunError> {
        Self::paid(name, task, plan, source, purse, |task, plan, sampler, pay| {
            tables(task, plan, sampler, initial, pay)
        })
    }

    /// Makes tables, pays for the steps and makes room for the rest.
    fn paid(
        name: &str,
        task: T,
        plan: RunPlan,
        source: RandomSource,
        mut purse: Option<&mut Purse>,
        tables: impl FnOnce(&T, &RunPlan, Option<&Sampler>, &mut Pay<'_>) -> Result<Tables, RunError>,
    ) -> Result<Self, RunError> {
        let mut pay = |charge| Ok(purse.as_mut().ok_or(RunError::NoPurse)?.charge(charge)?);
        let sampler = plan.method.sampler(name, &task, &source);
        let mut tables = tables(&task, &plan, sampler.as_ref(), &mut pay)?;
        tables.refine(Refiner::of(&task, &plan, &source));
        let paid = match sampler {
            Some(sampler) => {
                let charged = pay(sampler.charge(0..plan.steps))?;
                Some((sampler, charged))
            }
            None => None,
        };
        let plain = PlainBatch::new(&task.tables())?;
        let average = Average::new(if plan.average { tables.coordinates() } else { 0 });
        let state = Checkpoint { average, tables, best: None, clip: None };
        Ok(Self { task, plan, source, paid, state, plain })
    }

    /// Makes the next step.
    ///
    /// # Errors
    /// If all steps that were paid for are made.
    pub fn make(&mut self) -> Result<(), RunError> {
        let Self { task, plan, source, paid, state, plain } = self;
        let paid = paid.as_ref().map(|(sampler, charged)| (sampler, charged));
        make_step(task, plan, source, state.tables.steps(), state, paid, plain)
    }

    /// Whether rows wait until they are read.
    pub fn waits(&self) -> bool {
        self.state.tables.wait()
    }

    /// The parameters, averaged if the plan says so.
    pub fn into_parameters(self) -> Vec<f32> {
        self.state.into_parameters(self.plan.average)
    }
}

/// What a charge is paid with.
type Pay<'a> = dyn FnMut(Charge) -> Result<Charged, RunError> + 'a;

/// The steps of a plan on tables that are kept on a disk, because they are larger than memory, until they are the
/// file of the model.
///
/// Memory holds the rows that were touched lately, and some bytes for each row. The bits are those of a [`Stepper`].
/// It cannot be resumed: a run that is stopped is lost, and so is what it has paid.
///
/// # Privacy
/// Until [`StepperOnDisk::export`] the file tells which rows were touched lately, as memory does otherwise. It has a
/// random name in the folder of the model, only its owner may read it, and it is removed when this is dropped. A
/// process that is killed leaves it behind; delete it (`.organza-tables-...`), or let the next run in that folder do
/// so. A disk that is not encrypted remembers what was deleted.
pub struct StepperOnDisk<T> {
    steps: Stepper<T>,
    path: PathBuf,
}

impl<T: Task> StepperOnDisk<T> {
    /// Pays for all steps of `plan`, which are charged under the purpose `name`, for a model that will be the file `path`.
    ///
    /// # Errors
    /// If there is a file of that name, the disk has no room, the settings move every row at every step or ask for an
    /// average, or a charge is refused.
    pub fn new(
        name: &str,
        task: T,
        plan: RunPlan,
        source: RandomSource,
        first: FirstWeights<'_>,
        path: &Path,
        purse: Option<&mut Purse>,
    ) -> Result<Self, RunError> {
        let refused = |error| OnDiskError::from(FolderError::file("make", path)(error));
        if path.exists() {
            return Err(refused(io::Error::from(io::ErrorKind::AlreadyExists)).into());
        }
        if task.refinement().is_some() {
            return Err(OnDiskError::EveryRow.into());
        }
        if plan.average {
            return Err(OnDiskError::Average.into());
        }
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        let steps = Stepper::paid(name, task, plan, source, purse, |task, plan, sampler, pay| {
            let shape = task.shape()?;
            let upkeep = upkeep(task, plan, sampler, first.largest(), pay)?;
            let everything = plan
                .method
                .plan()
                .is_some_and(|plan| plan.settings().selection == SelectionSettings::Everything);
            if everything && !matches!(upkeep, Upkeep::Owed(_)) {
                return Err(OnDiskError::EveryRow.into());
            }
            Ok(Tables::on_disk(shape, plan.optimizer, upkeep, first, folder)?)
        })?;
        Ok(Self { steps, path: path.to_owned() })
    }

    /// Makes the next step.
    ///
    /// # Errors
    /// If all steps that were paid for are made.
    pub fn make(&mut self) -> Result<(), RunError> {
        self.steps.make()
    }

    /// Brings all rows up to date where they stand, and gives the file its name: a safetensors file with a tensor for
    /// each table, `table0` and so on, and `metadata`, such as that of a [certificate](crate::Certificate::metadata).
    ///
    /// # Errors
    /// If the disk refuses, or there is a file of that name by now; the model is lost then.
    pub fn export(self, metadata: &BTreeMap<String, String>) -> Result<PathBuf, RunError> {
        let header = header(&self.steps.task.tables(), metadata);
        self.steps.state.tables.export(&header, &self.path)?;
        Ok(self.path)
    }
}
