//! What is trained, as the engine sees it: an application gives its data, its phases, the gradient of a unit and its
//! files, and gets everything that makes a run.

use crate::books::Releases;
use crate::certificate::Certificate;
use crate::check::require;
use crate::engine_schedule::EngineSchedule;
use crate::folder::RunFolder;
use crate::phases::Phase;
use crate::schedule::Schedule;
use crate::settings::RunSettings;
use crate::task::Task;
use organza_ledger::PublicFact;

/// Why an application cannot go on.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A model on data.
///
/// ```text
/// read ─▶ public_facts, phases ─▶ prepare ─▶ schedule ─▶ start ─▶ steps of its task ─▶ finish
///          nothing is charged      └────── Releases: charged, then drawn ─────┘
/// ```
///
/// # Privacy
/// The engine charges for steps and for the number of units. All else that an application learns from its data has to go
/// through a phase: the charge by [`Releases::charge`], the draw against the proof of it. Whether a method fails is seen
/// by everybody: it may follow settings and what was released, and no unit of the data.
pub trait Application: Sized {
    /// Its settings.
    type Settings: RunSettings;
    /// What it reads.
    type Data;
    /// Units and their gradients.
    type Task: Task;
    /// What a finished run hands over.
    type Model;

    /// Reads the data that the settings name.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(settings: &Self::Settings) -> Result<Self::Data, Failure>;

    /// The data of nobody, with all that is declared public: on which the sums of [shards](crate::shard) are merged. What is made of it, and of
    /// what was released, has to be what is made of the data.
    ///
    /// # Errors
    /// If this application, or these settings, need the data in one place.
    fn nobody(_settings: &Self::Settings) -> Result<Self::Data, Failure> {
        Err("this application cannot be made of shards: it needs its data in one place".into())
    }

    /// A hash of all the data: a run goes on with the same data, or not at all. *Not private.* [`fingerprint`] is one.
    ///
    /// [`fingerprint`]: crate::fingerprint
    ///
    /// # Errors
    /// If the data cannot be hashed.
    fn fingerprint(data: &Self::Data) -> Result<[u8; 32], Failure>;

    /// What is taken for public, and is stated on the ledger and the certificate.
    ///
    /// # Errors
    /// If settings or what was declared public cannot be used.
    fn public_facts(
        _settings: &Self::Settings,
        _data: &Self::Data,
    ) -> Result<Vec<PublicFact>, Failure> {
        Ok(Vec::new())
    }

    /// What is released before the first step, in this order. Without any the budget is for the steps. Of the data it may
    /// follow what is declared, such as the columns of a table.
    ///
    /// # Errors
    /// If settings make no sense.
    fn phases<'a>(
        _settings: &'a Self::Settings,
        _data: &'a Self::Data,
    ) -> Result<Vec<Phase<'a>>, Failure> {
        Ok(Vec::new())
    }

    /// Makes a task of the data, after the release of whatever its shape follows.
    ///
    /// # Errors
    /// If settings, or what was released, cannot be used; a charge stays.
    fn prepare(
        settings: &Self::Settings,
        data: Self::Data,
        releases: &mut Releases<'_>,
    ) -> Result<Self, Failure>;

    /// What is trained.
    fn task(&self) -> &Self::Task;

    /// The true number of training units that are somebody's. *Not private.*
    fn own_units(&self) -> u64 {
        self.task().units()
    }

    /// The steps, for the public or released number of units: as the settings of the engine say, unless there are
    /// others.
    ///
    /// # Errors
    /// If settings make no sense. Where the number of units is no secret, that may be because of it.
    fn schedule(
        &self,
        settings: &Self::Settings,
        units: u64,
    ) -> Result<Box<dyn Schedule + '_>, Failure> {
        let settings = settings.engine();
        let batch = settings.training.batch;
        // Whether a run is refused must not tell what was not paid for. Where the number of units is released, a batch
        // that is too large is one that every unit joins (the rate is at most 1), and nothing is refused.
        let fits = settings.releases_units() || batch <= units as f64;
        require("--batch", batch, fits, "no larger than the number of training units")?;
        Ok(Box::new(EngineSchedule { settings, shape: self.task().shape()?, units }))
    }

    /// Writes files that belong to the run from its beginning; called again when it goes on.
    ///
    /// # Errors
    /// If a file cannot be written.
    fn first_files(&self, _folder: &RunFolder) -> Result<(), Failure> {
        Ok(())
    }

    /// The first parameters, by chance and by what is released for them.
    ///
    /// # Errors
    /// If a charge is refused.
    fn start(
        &self,
        settings: &Self::Settings,
        releases: &mut Releases<'_>,
    ) -> Result<Start, Failure>;

    /// What comes from the data without a charge, in the files of a run, as the certificate names it.
    fn not_private() -> impl Iterator<Item = &'static str> {
        [
            "metrics.jsonl: train, validation, test",
            "report.html, figures, tables: what is marked there",
            "timings",
        ]
        .into_iter()
    }

    /// What is to be said about the data when the run is done. *Not private.*
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Adds what the application knows to the certificate, such as conditions of what it released.
    fn certify(&self, _settings: &Self::Settings, _certificate: &mut Certificate) {}

    /// Hands the model over, after its files are written if there is a folder.
    ///
    /// # Errors
    /// If a file cannot be written.
    fn finish(
        self,
        parameters: Vec<f32>,
        certificate: &Certificate,
        folder: Option<&RunFolder>,
    ) -> Result<Self::Model, Failure>;
}

/// Parameters before the first step.
///
/// # Privacy
/// They are a function of chance and of what was released, hence a post-processing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Start {
    /// The parameters.
    pub parameters: Vec<f32>,
    /// Earlier ones to compare with on the learning curve, where there are no steps.
    pub before: Option<Vec<f32>>,
    /// How many passes over what was released it took.
    pub passes: u64,
    /// What was released in figures, for the certificate: sizes, clips, noise. Functions of settings and releases alone.
    pub released: Vec<PublicFact>,
}
