//! A run from its first file to its last: begun, or gone on with after it was stopped.

use crate::calibration::CalibrationError;
use crate::certificate::Certificate;
use crate::check::SettingError;
use crate::first::First;
use crate::folder::{CANARIES, FolderError, RunFolder};
use crate::metrics::{self, Point};
use crate::planned::{Draft, Planned};
use crate::prepare::{PrepareError, Prepared, prepare, public_facts, read_text};
use crate::run::{Observer, Outcome, Purse, RunError, run};
use crate::settings::{Method, Settings};
use crate::shared;
use crate::vocabulary::{Words, release_words};
use organza_accountant::Accountant;
use organza_data::DataError;
use organza_ledger::{
    Account, AccountError, BudgetError, DataSetError, Header, Ledger, LedgerError, Reserved,
    TornLine,
};
use organza_mechanism::random::{Origin, RandomError, StreamKey};
use organza_mechanism::{PlanError, RandomSource};
use organza_model::ModelError;
use organza_model::counts::CountsError;
use organza_model::vectors::VectorsError;
use serde::{Deserialize, Serialize};
use std::path::Path;
use thiserror::Error;

const LEDGER: &str = "ledger.jsonl";
const SETTINGS: &str = "settings.json";
const STATE: &str = "state.json";
const CERTIFICATE: &str = "certificate.json";
/// Goes up whenever the same key, data and settings would train on other batches, with other noise or other rounding.
const STATE_VERSION: u64 = 3;

/// A run that is under way.
pub struct Session {
    settings: Settings,
    folder: RunFolder,
    source: RandomSource,
    prepared: Prepared,
    planned: Planned,
    ledger: Option<Ledger>,
    torn: Option<TornLine>,
    /// The place on the ledger of the data set, if the run is on one.
    reserved: Option<Reserved>,
}

/// What a finished run has to show.
#[derive(Debug)]
pub struct Finished {
    /// What is promised, and what was spent on what.
    pub certificate: Certificate,
    /// The learning curve. *Not private.*
    pub curve: Vec<Point>,
    /// The loss of word frequencies alone on the test samples; no number if there are none.
    /// *Not private.*
    pub frequency_loss: f64,
    /// What is to be said about the data, such as that there was nothing to train on. *Not private.*
    pub remarks: Vec<String>,
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
    /// A setting.
    #[error(transparent)]
    Setting(#[from] SettingError),
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
    /// The ledger of the data set.
    #[error(transparent)]
    DataSet(#[from] DataSetError),
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
    /// The data.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Learning from counts.
    #[error(transparent)]
    Counts(#[from] CountsError),
    /// A private vocabulary that shows next to no words.
    #[error(
        "the private vocabulary has {found} word(s), but at least 2 are needed: a word shows only if enough \
         units have it. Give more text, a larger --epsilon or --vocabulary-share, or, if the words are no \
         secret, --vocabulary-file or --vocabulary declared-public"
    )]
    HiddenWords {
        /// The number of words that were released.
        found: usize,
    },
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
    settings: Settings,
}

impl Session {
    /// Begins a run in an empty folder.
    ///
    /// # Errors
    /// If text or settings cannot be used, in which case nothing is written, or the folder cannot. A
    /// private vocabulary and a private number of units are paid for before they are seen: if they cannot be used,
    /// the charge stays.
    pub fn begin(settings: Settings, path: &Path) -> Result<Self, SessionError> {
        settings.check()?;
        RunFolder::check_free(path)?;
        shared::check(&settings)?;
        let text = read_text(&settings)?;
        let words = Words::new(&settings, &text)?;
        let header = header(&settings, &words)?;
        let source = match settings.seed {
            Some(seed) => RandomSource::from_seed(seed),
            None => RandomSource::from_operating_system()?,
        };
        let data = text.fingerprint();
        let state = State {
            version: STATE_VERSION,
            key: *source.key().expose(),
            data,
            settings: settings.clone(),
        };
        let create = || -> Result<_, SessionError> {
            let folder = RunFolder::create(path)?;
            folder.write(&folder.private(STATE), json(&state)?.as_bytes())?;
            let ledger = match settings.method {
                Method::None => None,
                _ => Some(Ledger::create(&folder.file(LEDGER), header)?),
            };
            // Last: a folder with settings is one that can go on.
            folder.write(&folder.file(SETTINGS), json(&settings)?.as_bytes())?;
            // A run that is killed in between takes its place when it goes on.
            let reserved = shared::reserve_first(&settings, &source, &folder)?;
            Ok((folder, ledger, reserved))
        };
        let ((folder, ledger, reserved), prepared, planned) = match words {
            Words::Public(release) => {
                let prepared = prepare(&settings, text, release.vocabulary, &source)?;
                let draft = Draft::new(&settings, &prepared, &[])?;
                if draft.releases_units() {
                    let (folder, mut ledger, reserved) = create()?;
                    let planned = draft.plan(&settings, &prepared, &source, ledger.as_mut())?;
                    ((folder, ledger, reserved), prepared, planned)
                } else {
                    let planned = draft.plan(&settings, &prepared, &source, None)?;
                    (create()?, prepared, planned)
                }
            }
            Words::Private(plan) => {
                let (folder, mut ledger, reserved) = create()?;
                let event = plan.event();
                let vocabulary = release_words(&settings, plan, &text, &source, ledger.as_mut())?;
                let prepared = prepare(&settings, text, vocabulary, &source)?;
                let draft = Draft::new(&settings, &prepared, &[event])?;
                let planned = draft.plan(&settings, &prepared, &source, ledger.as_mut())?;
                ((folder, ledger, reserved), prepared, planned)
            }
        };
        write_canaries(&folder, &prepared)?;
        Ok(Self { settings, folder, source, prepared, planned, ledger, torn: None, reserved })
    }

    /// Goes on with the run in a folder.
    ///
    /// # Privacy
    /// Releases and steps since the last checkpoint are drawn again with the key of the private part, so with the same
    /// noise. They are copies of what was paid for, because the data is compared with the fingerprint beside the
    /// key, the settings with those beside it, and the checkpoint lies there too; anything else is refused.
    ///
    /// # Errors
    /// If there is no run, it is finished, or data or settings have changed.
    pub fn resume(path: &Path) -> Result<Self, SessionError> {
        Self::resume_on(path, None)
    }

    /// As [`Session::resume`], where the ledger of the data set has moved to `moved`.
    ///
    /// # Errors
    /// As [`Session::resume`], and if the run began without the ledger of a data set.
    pub fn resume_on(path: &Path, moved: Option<&Path>) -> Result<Self, SessionError> {
        let folder = RunFolder::open(path)?;
        let changed = |what: &str| SessionError::Changed(format!("{}: {what}", path.display()));
        let bytes = folder.read(&folder.file(SETTINGS))?.unwrap_or_default();
        let mut settings: Settings = serde_json::from_slice(&bytes)
            .map_err(|error| changed(&format!("settings.json cannot be read ({error})")))?;
        match (&mut settings.ledger, moved) {
            (Some(ledger), Some(moved)) => moved.clone_into(&mut ledger.path),
            (None, Some(_)) => {
                return Err(changed(
                    "the run began without --ledger, and may have released something that no data set ledger \
                     knows: go on without --ledger",
                ));
            }
            (_, None) => {}
        }
        let Some(state) = folder.read(&folder.private(STATE))? else {
            if !folder.file(CERTIFICATE).exists() {
                return Err(changed("its private part is gone: nothing can go on from here"));
            }
            // It may have been killed while it cleaned up.
            if folder.private("").exists() {
                folder.forget_private()?;
            }
            return Err(changed("the run is finished: there is nothing left to do"));
        };
        let state: State = serde_json::from_slice(&state)
            .map_err(|error| changed(&format!("private/state.json cannot be read ({error})")))?;
        if state.version != STATE_VERSION {
            // Other versions split or draw in other ways: the same noise on other values hides neither.
            return Err(changed("it was begun by another version of organza: begin a new run"));
        }
        let mut begun_with = state.settings;
        // Data may move: whether it is the same is seen by its content.
        begun_with.data.path.clone_from(&settings.data.path);
        // So may the ledger of the data set: the run has its place there, or takes it now.
        if let (Some(begun), Some(ledger)) = (&mut begun_with.ledger, &settings.ledger) {
            begun.path.clone_from(&ledger.path);
        }
        if settings != begun_with {
            return Err(changed(
                "settings.json is not what it was when the run began. Bring the old settings back, \
                 or begin a new run by `organza train --settings`",
            ));
        }
        let text = read_text(&settings)?;
        if text.fingerprint() != state.data {
            return Err(changed(
                "the data is not what it was when the run began: its noise would not hide the \
                 difference. Bring the old data back, or begin a new run",
            ));
        }
        let words = Words::new(&settings, &text)?;
        let origin = settings.seed.map_or(Origin::OperatingSystem, Origin::Seed);
        let source = RandomSource::resume(StreamKey::from_bytes(state.key), origin);
        let (mut ledger, torn) = match settings.method {
            Method::None => (None, None),
            _ => {
                let (ledger, torn) = Ledger::open(&folder.file(LEDGER))?;
                if *ledger.header() != header(&settings, &words)? {
                    return Err(changed(
                        "the settings are not those that the ledger was begun with",
                    ));
                }
                (Some(ledger), torn)
            }
        };
        let reserved = shared::reserve(&settings, &source)?;
        let (vocabulary, before) = match words {
            Words::Public(release) => (release.vocabulary, Vec::new()),
            Words::Private(plan) => {
                let before = vec![plan.event()];
                (release_words(&settings, plan, &text, &source, ledger.as_mut())?, before)
            }
        };
        let prepared = prepare(&settings, text, vocabulary, &source)?;
        let draft = Draft::new(&settings, &prepared, &before)?;
        let planned = draft.plan(&settings, &prepared, &source, ledger.as_mut())?;
        // It may have been killed before they were written; the same key gives the same ones.
        write_canaries(&folder, &prepared)?;
        Ok(Self { settings, folder, source, prepared, planned, ledger, torn, reserved })
    }

    /// The settings of the run.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Lines that were torn when a run was killed, and were cut off: of the ledger of the run, and of that of the
    /// data set.
    pub fn torn(&self) -> impl Iterator<Item = &TornLine> {
        let shared = self.reserved.iter().flat_map(|reserved| &reserved.torn);
        self.torn.iter().chain(shared)
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
        let Planned { run: plan, budget, .. } = &self.planned;
        let mut purse = match (&mut self.ledger, budget) {
            (Some(ledger), Some(budget)) => Some(Purse { ledger, budget, account: &account }),
            _ => None,
        };
        let task = &self.prepared.task;
        let first =
            First::new(&self.settings, task, &self.planned.counts, &self.source, purse.as_mut())?;
        let outcome = match plan {
            Some(plan) => {
                run(task, plan, &self.folder, &self.source, first.parameters, purse, observer)?
            }
            None => first.into_result(task, &self.folder, observer)?,
        };
        match outcome {
            Outcome::Interrupted { steps } => Ok(Ended::Interrupted { steps }),
            Outcome::Done { parameters, seconds } => {
                self.finish(&account, parameters, seconds, keep_private)
            }
        }
    }

    fn finish(
        self,
        account: &Accountant,
        parameters: Vec<f32>,
        seconds: f64,
        keep_private: bool,
    ) -> Result<Ended, SessionError> {
        let spent = match &self.ledger {
            None => None,
            Some(ledger) => {
                Some(Account::epsilon(account, &ledger.events(), self.settings.privacy.delta)?)
            }
        };
        let steps = self.planned.run.as_ref().map_or(0, |plan| plan.steps);
        let mut certificate = Certificate::new(&self.settings, self.ledger.as_ref(), spent, steps);
        certificate.dataset = self.reserved.map(|reserved| reserved.total);
        crate::export::write(&self.folder, &self.prepared, parameters, &certificate)?;
        self.folder.write(&self.folder.file(CERTIFICATE), json(&certificate)?.as_bytes())?;
        let curve = metrics::read(&self.folder)?;
        let frequency_loss = self.prepared.task.frequency_loss().unwrap_or(f64::NAN);
        if !keep_private {
            self.folder.forget_private()?;
        }
        let remarks = self.prepared.remarks;
        let finished = Finished { certificate, curve, frequency_loss, remarks, steps, seconds };
        Ok(Ended::Finished(Box::new(finished)))
    }
}

fn write_canaries(folder: &RunFolder, prepared: &Prepared) -> Result<(), SessionError> {
    if let Some(planted) = &prepared.canaries {
        folder.write(&folder.private(CANARIES), json(&planted.canaries)?.as_bytes())?;
    }
    Ok(())
}

fn header(settings: &Settings, words: &Words) -> Result<Header, SessionError> {
    let privacy = &settings.privacy;
    let header = Header::new(privacy.neighbouring, privacy.unit, privacy.delta);
    let mut facts = public_facts(settings)?;
    if let Words::Public(release) = words {
        facts.insert(0, release.fact.clone());
    }
    let header =
        facts.iter().fold(header, |header, fact| header.declare_public(&fact.name, &fact.value));
    Ok(match privacy.units {
        Some(units) => header.declare_public("units", units.to_string()),
        None => header,
    })
}

fn json(value: &impl Serialize) -> Result<String, SessionError> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| SessionError::Changed(format!("cannot be written as JSON: {error}")))
}
