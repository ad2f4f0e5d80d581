//! Many runs in one folder, each trained once: what was finished before is read again.

use crate::grids::Grid;
use crate::output::Output;
use crate::progress::{Progress, Stop, target};
use crate::total::counted;
use anyhow::{Context, bail};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use organza_ledger::{DataSetLedger, Share, SharedTotal};
use organza_train::metrics::Point;
use organza_train::settings::Settings;
use organza_train::{Ended, Finished, Losses, RunFolder, Session};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The file that says that a run is finished, and what it came to. *Not private.*
pub(crate) const OUTCOME: &str = "outcome.json";
/// What stands in that file before anything else.
const NOT_PRIVATE: &str = "not private: curve, frequency_loss and seconds come from the data without noise and without \
                           a charge; keep this file with the data, do not publish it with the model";

/// A run to make: a folder of that name.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) name: String,
    pub(crate) settings: Settings,
}

/// What a run came to. Losses and seconds are *not private*.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    #[serde(default)]
    note: String,
    pub(crate) settings: Settings,
    pub(crate) private: bool,
    pub(crate) epsilon: Option<f64>,
    pub(crate) delta: Option<f64>,
    pub(crate) steps: u64,
    pub(crate) seconds: f64,
    #[serde(deserialize_with = "organza_train::number_or_null")]
    pub(crate) frequency_loss: f64,
    pub(crate) curve: Vec<Point>,
    /// The fields that come from the data without a charge.
    not_private: Vec<String>,
}

impl Outcome {
    fn new(settings: Settings, finished: Finished) -> Self {
        let Finished { certificate, curve, frequency_loss, steps, seconds, .. } = finished;
        let (private, epsilon, delta) =
            (certificate.private, certificate.epsilon, certificate.delta);
        let not_private = ["seconds", "frequency_loss", "curve"].map(str::to_owned).to_vec();
        Self {
            note: NOT_PRIVATE.to_owned(),
            settings,
            private,
            epsilon,
            delta,
            steps,
            seconds,
            frequency_loss,
            curve,
            not_private,
        }
    }

    /// The losses of the result. *Not private.*
    pub(crate) fn losses(&self) -> Losses {
        let nothing = Losses { train: f64::NAN, validation: f64::NAN, test: f64::NAN };
        self.curve.last().map_or(nothing, |point| point.losses)
    }
}

/// What is taken of the budget of the data set, if runs are on its ledger.
pub(crate) fn shared_total(settings: &Settings) -> anyhow::Result<Option<SharedTotal>> {
    let Some(ledger) = &settings.ledger else { return Ok(None) };
    let last = DataSetLedger::named(ledger)?.shares()?.pop();
    Ok(last.map(|(_, total)| total))
}

/// A folder of runs.
pub(crate) struct Suite {
    folder: PathBuf,
    stop: Stop,
    bars: MultiProgress,
    /// Whether the private part of each run stays, as an audit needs it.
    keep_private: bool,
}

impl Suite {
    /// Runs in `folder`, which may hold some of them already.
    pub(crate) fn new(folder: &Path, keep_private: bool, output: &Output) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
        let bars = MultiProgress::with_draw_target(target(output.shows_progress()));
        Ok(Self { folder: folder.to_owned(), stop: Stop::listen()?, bars, keep_private })
    }

    /// The folder of a run.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes the runs that are not finished yet, as many at a time as there are threads, and gives
    /// what all came to, in their order.
    ///
    /// Where they are on the ledger of a data set, all that have not begun yet must fit together: otherwise none
    /// begins.
    pub(crate) fn run(&self, runs: &[Planned], threads: usize) -> anyhow::Result<Vec<Outcome>> {
        let is_new = |run: &&Planned| !self.path(&run.name).join("settings.json").exists();
        let shares: Vec<Share> =
            runs.iter().filter(is_new).filter_map(|run| run.settings.share()).collect();
        if let Some(ledger) = runs.first().and_then(|run| run.settings.ledger.as_ref()) {
            ledger.check(&shares).with_context(|| counted(shares.len(), "new run"))?;
        }
        Grid::write(&self.folder, runs)?;
        let whole = self.bars.add(ProgressBar::new(runs.len() as u64));
        let style = ProgressStyle::default_bar();
        whole.set_style(style.template("{bar:24} {pos}/{len} runs  {elapsed} so far")?);
        whole.tick();
        let workers = threads.clamp(1, runs.len().max(1));
        let next = Mutex::new(0..runs.len());
        let outcomes: Vec<Mutex<Option<anyhow::Result<Outcome>>>> =
            runs.iter().map(|_| Mutex::new(None)).collect();
        let take = || next.lock().ok().and_then(|mut numbers| numbers.next());
        std::thread::scope(|scope| -> anyhow::Result<()> {
            for _ in 0..workers {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads((threads / workers).max(1))
                    .build()?;
                let (whole, outcomes) = (&whole, &outcomes);
                scope.spawn(move || {
                    while let Some(number) = take().filter(|_| !self.stop.is_asked()) {
                        let outcome = pool.install(|| self.one(&runs[number]));
                        whole.inc(1);
                        if let Ok(mut place) = outcomes[number].lock() {
                            *place = Some(outcome);
                        }
                    }
                });
            }
            Ok(())
        })?;
        whole.finish_and_clear();
        let outcomes = outcomes.into_iter().zip(runs).map(|(place, run)| {
            let outcome = place.into_inner().ok().flatten();
            outcome.unwrap_or_else(|| bail!(self.stopped())).with_context(|| run.name.clone())
        });
        outcomes.collect()
    }

    fn stopped(&self) -> String {
        format!(
            "stopped, all that was done is saved: the same command goes on in {}",
            self.folder.display()
        )
    }

    /// Reads, goes on with, or begins a run.
    fn one(&self, run: &Planned) -> anyhow::Result<Outcome> {
        let path = self.path(&run.name);
        if let Ok(bytes) = std::fs::read(path.join(OUTCOME)) {
            let outcome: Outcome = serde_json::from_slice(&bytes)
                .with_context(|| format!("{} cannot be read", path.join(OUTCOME).display()))?;
            if outcome.settings != run.settings {
                bail!(
                    "{} holds a run with other settings: name another --out folder",
                    path.display()
                );
            }
            return Ok(outcome);
        }
        let begun = path.join("settings.json").exists();
        let session = match begun {
            true => Session::resume(&path)?,
            false => Session::begin(run.settings.clone(), &path)?,
        };
        if *session.settings() != run.settings {
            bail!("{} holds a run with other settings: name another --out folder", path.display());
        }
        let bar = self.bars.insert_from_back(1, ProgressBar::no_length());
        let mut progress = Progress::new(bar, &format!("{:24} ", run.name), &self.stop);
        // Kept until the outcome is there, so that a run killed just now can go on.
        let ended = session.train(true, &mut progress)?;
        progress.clear();
        let Ended::Finished(finished) = ended else { bail!(self.stopped()) };
        let outcome = Outcome::new(run.settings.clone(), *finished);
        let folder = RunFolder::open(&path)?;
        folder.write(&path.join(OUTCOME), &serde_json::to_vec(&outcome)?)?;
        if !self.keep_private {
            folder.forget_private()?;
        }
        Ok(outcome)
    }
}
