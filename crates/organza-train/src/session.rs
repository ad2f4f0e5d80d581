//! A run from its first file to its last: begun, or gone on with after it was stopped.

use crate::calibration::{CalibrationError, Known};
use crate::certificate::Certificate;
use crate::folder::{FolderError, RunFolder};
use crate::metrics::{self, Point};
use crate::prepare::{PrepareError, Prepared, initial, prepare};
use crate::run::{Observer, Outcome, Purse, RunError, RunPlan, StepMethod, run};
use crate::settings::{Method, Settings};
use crate::task::Task;
use organza_accountant::Accountant;
use organza_data::FrequencyError;
use organza_ledger::{
    AccountError, Budget, BudgetError, Charge, Event, Header, Ledger, LedgerError, TornLine,
};
use organza_mechanism::random::{Origin, RandomError, StreamKey};
use organza_mechanism::{NoisyCount, PlanError, RandomSource};
use organza_model::vectors::VectorsError;
use serde::{Deserialize, Serialize};
use std::path::Path;
use thiserror::Error;

const LEDGER: &str = "ledger.jsonl";
const SETTINGS: &str = "settings.json";
const STATE: &str = "state.json";
/// The share of the budget for releasing the number of units.
const COUNT_SHARE: f64 = 0.01;
/// What releasing the number of units costs where there is no budget.
const COUNT_EPSILON: f64 = 0.01;

/// A run that is under way.
pub struct Session {
    settings: Settings,
    folder: RunFolder,
    source: RandomSource,
    prepared: Prepared,
    ledger: Option<Ledger>,
    torn: Option<TornLine>,
}

/// What a finished run has to show.
#[derive(Debug)]
pub struct Finished {
    /// What is promised, and what was spent on what.
    pub certificate: Certificate,
    /// The learning curve. *Not private.*
    pub curve: Vec<Point>,
    /// The loss of word frequencies alone on the test samples. *Not private.*
    pub frequency_loss: f64,
    /// The steps of the run.
    pub steps: u64,
    /// Seconds spent in steps, by this process.
    pub seconds: f64,
}

/// How a session ended.
#[derive(Debug)]
pub enum Ended {
    /// All is done and written.
    Finished(Box<Finished>),
    /// It was interrupted and can go on.
    Interrupted {
        /// The steps that were made.
        steps: u64,
    },
}

/// Why a session cannot begin or go on.
#[derive(Debug, Error)]
pub enum SessionError {
    /// The text or the settings.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The folder or a file.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The plan.
    #[error(transparent)]
    Calibration(#[from] CalibrationError),
    /// A setting of the plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The budget.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The account.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// Training.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The model's files.
    #[error(transparent)]
    Vectors(#[from] VectorsError),
    /// The evaluation.
    #[error(transparent)]
    Frequency(#[from] FrequencyError),
    /// What is in the folder is not what it was.
    #[error("{0}")]
    Changed(String),
}

/// What has to stay the same from one process of a run to the next. Private.
#[derive(Serialize, Deserialize)]
struct State {
    version: u64,
    key: [u8; 32],
    data: [u8; 32],
}

impl Session {
    /// Begins a run in an empty folder.
    ///
    /// # Errors
    /// If text, settings or folder cannot be used; nothing is written then but the folder.
    pub fn begin(settings: Settings, path: &Path) -> Result<Self, SessionError> {
        let prepared = prepare(&settings)?;
        check_batch(&settings, &prepared)?;
        let folder = RunFolder::create(path)?;
        let source = match settings.seed {
            Some(seed) => RandomSource::from_seed(seed),
            None => RandomSource::from_operating_system()?,
        };
        let data = prepared.task.fingerprint();
        let state = State { version: 1, key: *source.key().expose(), data };
        folder.write(&folder.private(STATE), json(&state)?.as_bytes())?;
        let ledger = match settings.method {
            Method::None => None,
            _ => Some(Ledger::create(&folder.file(LEDGER), header(&settings, &prepared))?),
        };
        // Last: a folder with settings is one that can go on.
        folder.write(&folder.file(SETTINGS), json(&settings)?.as_bytes())?;
        Ok(Self { settings, folder, source, prepared, ledger, torn: None })
    }

    /// Goes on with the run in a folder.
    ///
    /// # Errors
    /// If there is no run, it is finished, or data or settings have changed.
    pub fn resume(path: &Path) -> Result<Self, SessionError> {
        let folder = RunFolder::open(path)?;
        let changed = |what: &str| SessionError::Changed(format!("{}: {what}", path.display()));
        let bytes = folder.read(&folder.file(SETTINGS))?.unwrap_or_default();
        let settings: Settings = serde_json::from_slice(&bytes)
            .map_err(|error| changed(&format!("settings.json cannot be read ({error})")))?;
        let state = folder.read(&folder.private(STATE))?.ok_or_else(|| {
            changed("the run is finished, or its private part is gone: nothing can go on from here")
        })?;
        let state: State = serde_json::from_slice(&state)
            .map_err(|error| changed(&format!("private/state.json cannot be read ({error})")))?;
        let prepared = prepare(&settings)?;
        if prepared.task.fingerprint() != state.data {
            return Err(changed(
                "the data is not what it was when the run began: its noise would not hide the \
                 difference. Bring the old data back, or begin a new run",
            ));
        }
        let origin = settings.seed.map_or(Origin::OperatingSystem, Origin::Seed);
        let source = RandomSource::resume(StreamKey::from_bytes(state.key), origin);
        let (ledger, torn) = match settings.method {
            Method::None => (None, None),
            _ => {
                let (ledger, torn) = Ledger::open(&folder.file(LEDGER))?;
                if *ledger.header() != header(&settings, &prepared) {
                    return Err(changed(
                        "the settings are not those that the ledger was begun with",
                    ));
                }
                (Some(ledger), torn)
            }
        };
        Ok(Self { settings, folder, source, prepared, ledger, torn })
    }

    /// The settings of the run.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A line of the ledger that was torn when the run was killed, and was cut off.
    pub fn torn(&self) -> Option<&TornLine> {
        self.torn.as_ref()
    }

    /// Trains to the end, or until `observer` says stop, and writes the results.
    ///
    /// # Errors
    /// If a charge is refused or a file cannot be written; the run can go on later.
    pub fn train(
        mut self,
        keep_private: bool,
        observer: &mut dyn Observer,
    ) -> Result<Ended, SessionError> {
        let account = Accountant::new(self.settings.privacy.neighbouring);
        let (count, before) = self.count()?;
        let task = &self.prepared.task;
        let units = match (&count, self.settings.privacy.units, self.settings.method) {
            (_, Some(declared), _) => declared,
            (_, None, Method::None) => task.units(),
            (None, None, _) => task.units(),
            (Some(count), None, _) => count.release(task.units(), &self.source),
        };
        let known = Known { settings: &self.settings, tables: task.tables(), units, before };
        let steps = known.steps();
        let mut budget = None;
        let method = if self.settings.method == Method::None {
            let expected_batch = self.settings.training.batch;
            StepMethod::NotPrivate { rate: known.rate(), expected_batch }
        } else {
            let plan = known.plan()?;
            budget = Some(self.budget()?);
            StepMethod::Private(plan)
        };
        if let (Some(ledger), Some(budget), Some(count)) = (&mut self.ledger, &budget, &count) {
            let charge = Charge::once("units", count.event()).with_key(self.source.fingerprint());
            let _paid = budget.charge(ledger, &account, charge)?;
        }
        let every = |times: u64| steps.div_ceil(times.max(1)).max(1);
        let plan = RunPlan {
            method,
            steps,
            optimizer: self.settings.training.optimizer,
            average: self.settings.training.average,
            evaluate_every: every(self.settings.training.evaluations),
            checkpoint_every: every(self.settings.training.checkpoints),
        };
        let parameters = initial(&self.settings, task.model(), &self.source);
        let purse = match (&mut self.ledger, &budget) {
            (Some(ledger), Some(budget)) => Some(Purse { ledger, budget, account: &account }),
            _ => None,
        };
        let outcome = run(task, &plan, &self.folder, &self.source, parameters, purse, observer)?;
        match outcome {
            Outcome::Interrupted { steps } => Ok(Ended::Interrupted { steps }),
            Outcome::Done { parameters, seconds } => {
                self.finish(&account, &plan, parameters, seconds, keep_private)
            }
        }
    }

    /// How the number of units is released, and what that costs; nothing if it is public.
    fn count(&self) -> Result<(Option<NoisyCount>, Vec<Event>), PlanError> {
        let privacy = &self.settings.privacy;
        let public = privacy.units.is_some()
            || self.settings.method == Method::None
            || NoisyCount::is_public(privacy.neighbouring);
        if public {
            return Ok((None, Vec::new()));
        }
        let epsilon = privacy.epsilon.map_or(COUNT_EPSILON, |epsilon| COUNT_SHARE * epsilon);
        let count = NoisyCount::new(epsilon)?;
        Ok((Some(count), vec![count.event()]))
    }

    /// The budget that was given. Where only noise was given there is none to keep to: the run may
    /// spend what that noise costs, and the certificate says what it came to.
    fn budget(&self) -> Result<Budget, BudgetError> {
        let privacy = &self.settings.privacy;
        Budget::new(privacy.epsilon.unwrap_or(f64::MAX), privacy.delta, privacy.neighbouring)
    }

    fn finish(
        self,
        account: &Accountant,
        plan: &RunPlan,
        parameters: Vec<f32>,
        seconds: f64,
        keep_private: bool,
    ) -> Result<Ended, SessionError> {
        let spent = match &self.ledger {
            None => None,
            Some(ledger) => Some(organza_ledger::Account::epsilon(
                account,
                &ledger.events(),
                self.settings.privacy.delta,
            )?),
        };
        let certificate = Certificate::new(&self.settings, self.ledger.as_ref(), spent, plan.steps);
        crate::export::write(&self.folder, &self.prepared, &parameters, &certificate)?;
        self.folder.write(&self.folder.file("certificate.json"), json(&certificate)?.as_bytes())?;
        let curve = metrics::read(&self.folder)?;
        let frequency_loss = self.prepared.task.frequency_loss()?;
        if !keep_private {
            self.folder.forget_private()?;
        }
        let steps = plan.steps;
        let finished = Finished { certificate, curve, frequency_loss, steps, seconds };
        Ok(Ended::Finished(Box::new(finished)))
    }
}

fn check_batch(settings: &Settings, prepared: &Prepared) -> Result<(), PrepareError> {
    let batch = settings.training.batch;
    let units = settings.privacy.units.unwrap_or(prepared.task.units()) as f64;
    if batch > 0.0 && batch <= units {
        return Ok(());
    }
    Err(PrepareError::Settings(format!(
        "--batch {batch} does not fit: it must be positive and no larger than the number of training \
         units"
    )))
}

fn header(settings: &Settings, prepared: &Prepared) -> Header {
    let privacy = &settings.privacy;
    let header = Header::new(privacy.neighbouring, privacy.unit, privacy.delta);
    let facts = prepared.facts.iter();
    let header = facts.fold(header, |header, fact| header.declare_public(&fact.name, &fact.value));
    match privacy.units {
        Some(units) => header.declare_public("units", units.to_string()),
        None => header,
    }
}

fn json(value: &impl Serialize) -> Result<String, SessionError> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| SessionError::Changed(format!("cannot be written as JSON: {error}")))
}
