//! A run of any application: its threads, its bar, and what came of it.

use crate::handed::HandedData;
use crate::output::Output;
use crate::progress::Progress;
use crate::stages::Stages;
use crate::summary::{ModelSummary, show};
use clap::Args;
use organza_report::page::Page;
use organza_report::run::{Additions, RunFiles, RunFilesError};
use organza_train::outside::NetworkSettings;
use organza_train::settings::RunSettings;
use organza_train::{Application, Ended, Failure, Finished, RunFolder, Session, SessionError};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a run has trained.
pub(crate) enum Kind {
    /// Word vectors.
    Words,
    /// A linear model.
    Linear,
    /// A recommender.
    Recommender,
    /// A typeahead.
    Typeahead,
    /// A click model.
    Clicks,
    /// A network of a program of its own.
    Network,
}

impl Kind {
    /// That of the run in a folder, by its settings; word vectors where nothing says otherwise.
    pub(crate) fn of(path: &Path) -> Self {
        let settings = std::fs::read(path.join("settings.json")).unwrap_or_default();
        if serde_json::from_slice::<organza_erm::Settings>(&settings).is_ok() {
            Self::Linear
        } else if serde_json::from_slice::<organza_recommend::Settings>(&settings).is_ok() {
            Self::Recommender
        } else if serde_json::from_slice::<organza_typeahead::Settings>(&settings).is_ok() {
            Self::Typeahead
        } else if serde_json::from_slice::<organza_clicks::Settings>(&settings).is_ok() {
            Self::Clicks
        } else if serde_json::from_slice::<NetworkSettings>(&settings).is_ok() {
            Self::Network
        } else {
            Self::Words
        }
    }
}

/// The page of the finished run in a folder, whatever it has trained.
///
/// # Errors
/// If there is no run, it is not finished, or a file is missing or damaged.
pub fn page(run: &Path) -> Result<Page, RunFilesError> {
    match Kind::of(run) {
        Kind::Words => organza_words::page(run),
        Kind::Linear => organza_erm::page(run),
        Kind::Typeahead => organza_typeahead::page(run),
        Kind::Recommender => organza_recommend::page(run),
        Kind::Clicks => organza_clicks::page(run),
        Kind::Network => {
            let mut additions = Additions::new("Network", "weights");
            additions.files.push(("model.safetensors", "the tables and the dense part"));
            Ok(RunFiles::<NetworkSettings>::read(run)?.page(additions))
        }
    }
}

/// An application that commands run.
pub(crate) trait Runnable: Application<Settings: Send, Model: Send> {
    /// The data that a program hands over, or what the settings name.
    fn data(settings: &Self::Settings, handed: HandedData) -> Result<Self::Data, Failure>;

    /// What is to be said about the model of a run.
    fn summary(trained: &Trained<Self>, output: &Output) -> ModelSummary;
}

/// What changes nothing about the result.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Run")]
pub(crate) struct RunOptions {
    /// How many threads; the result is the same with any number [default: one a core]
    #[arg(long, value_name = "NUMBER")]
    threads: Option<std::num::NonZeroUsize>,
    /// Keep run/private at the end: the key of the noise, which undoes all privacy, and the last
    /// checkpoint
    #[arg(long)]
    keep_private: bool,
}

/// Above this a delta is more than one over the number of units of most data.
const LARGE_DELTA: f64 = 1e-3;

/// Says what nobody may overlook before a run: what its delta means, and that with a seed it is not private.
pub(crate) fn note_doubts(settings: &impl RunSettings, output: &Output) {
    let engine = settings.engine();
    if engine.private {
        warn_of_delta(engine.privacy.delta, output);
    }
    if engine.seed.is_some() {
        output.note("with --seed the noise can be repeated: this run is NOT private");
    }
}

/// Says what a large delta means.
fn warn_of_delta(delta: f64, output: &Output) {
    if delta > LARGE_DELTA {
        output.note(format_args!(
            "delta {delta} is about the probability that the promise fails altogether: choose it well below one over the \
             number of units"
        ));
    }
}

/// A run that was trained to its end; its private part is still there.
pub(crate) struct Trained<A: Application> {
    pub(crate) settings: A::Settings,
    pub(crate) finished: Finished<A::Model>,
    /// The steps that this process made.
    pub(crate) made: u64,
    pub(crate) elapsed: Duration,
}

impl RunOptions {
    /// Makes a run on data that a program hands over, or that its settings name.
    pub(crate) fn run<A: Runnable>(
        &self,
        settings: A::Settings,
        path: &Path,
        handed: HandedData,
        output: &Output,
    ) -> anyhow::Result<()> {
        let begin = || Self::begin::<A>(settings, path, handed, output);
        self.train(path, output, begin, show)
    }

    /// Begins a run. That of a program goes on, where it was begun before, or leaves nothing with which it could.
    pub(crate) fn begin<A: Runnable>(
        settings: A::Settings,
        path: &Path,
        handed: HandedData,
        output: &Output,
    ) -> Result<Session<A>, SessionError> {
        let read = |settings: &A::Settings| A::data(settings, handed);
        match output.caller() {
            Some(caller) if !caller.goes_on => Session::once(settings, path, read),
            Some(_) if Session::<A>::is_unfinished(&settings, path) => {
                Session::resume_with(path, None, read)
            }
            _ => Session::begin_with(settings, path, read),
        }
    }

    /// Makes a session and trains it to its end; `show` writes and shows what came of it.
    pub(crate) fn train<A: Runnable>(
        &self,
        path: &Path,
        output: &Output,
        session: impl FnOnce() -> Result<Session<A>, SessionError> + Send,
        show: fn(&RunFolder, &Trained<A>, &Output) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let begun = Instant::now();
        let mut pool = rayon::ThreadPoolBuilder::new();
        if let Some(threads) = self.threads {
            pool = pool.num_threads(threads.get());
        }
        let also = output.caller().and_then(|caller| caller.watcher.clone());
        let stages = Arc::new(Stages::alone(output.telling()).also_for(also));
        let mut progress = Progress::new(stages.clone(), &output.stop()?);
        let pool = pool.start_handler(move |_| organza_progress::watch(stages.clone())).build()?;
        let outcome = pool.install(|| -> Result<_, SessionError> {
            let session = session()?;
            let settings = session.settings().clone();
            session.torn().for_each(|torn| output.note(torn));
            // Kept until the report is there, so that a run killed just now can go on.
            let ended = session.train(true, &mut progress)?;
            Ok((settings, ended))
        });
        progress.clear();
        progress.notes().iter().for_each(|note| output.note(note));
        let (settings, ended) = outcome?;
        let finished = match ended {
            Ended::Interrupted { steps } => anyhow::bail!(
                "stopped after {steps} steps, all saved: go on with `organza resume {}`",
                path.display()
            ),
            Ended::Finished(finished) => *finished,
        };
        let folder = RunFolder::open(path)?;
        let (made, elapsed) = (progress.made(), begun.elapsed());
        pool.install(|| show(&folder, &Trained { settings, finished, made, elapsed }, output))?;
        if !self.keep_private {
            folder.forget_private()?;
        }
        Ok(())
    }
}
