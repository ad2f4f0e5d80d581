//! What is seen of a run while it goes on, and how it is stopped.

use crate::output::Output;
use crate::stages::{Stages, Telling};
use anyhow::Context;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use organza_progress::{Size, Stage, Watch as WatchStages};
use organza_train::Observer;
use organza_train::metrics::Point;
use organza_words::suite::{Suite, Watch};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Exit code of a program that was interrupted (128 + SIGINT).
const INTERRUPTED: i32 = 130;

/// A run that has not asked for this long whether it should stop is at something that cannot be saved on the way.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is said where nothing was saved on the way.
const STOPPED: &str = "stopped at once: what was charged is kept, and a run that has begun goes on with `organza resume`";

/// The wish to stop.
#[derive(Clone, Debug)]
pub(crate) struct Stop(Arc<Wish>);

#[derive(Debug)]
struct Wish {
    is_there: AtomicBool,
    begun: Instant,
    /// When somebody last asked for it, in milliseconds since then.
    asked: AtomicU64,
}

impl Default for Stop {
    fn default() -> Self {
        let (is_there, asked) = (AtomicBool::new(false), AtomicU64::new(u64::MAX));
        Self(Arc::new(Wish { is_there, begun: Instant::now(), asked }))
    }
}

impl Stop {
    /// From now on the first Ctrl-C saves and stops, where something can be saved on the way, and the second one ends the
    /// program at once. Elsewhere the first one does: every charge is on the disk before what it pays for is drawn, so that
    /// a run goes on as after any other end.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let stop = Self::default();
        let wish = stop.clone();
        ctrlc::set_handler(move || {
            if wish.0.is_there.swap(true, Ordering::Relaxed) || !wish.is_heard() {
                // Where standard error itself is closed, there is nobody left to tell.
                let _ = writeln!(std::io::stderr(), "{STOPPED}");
                std::process::exit(INTERRUPTED);
            }
        })
        .context("cannot listen for Ctrl-C")?;
        Ok(stop)
    }

    /// From now on somebody does.
    pub(crate) fn ask(&self) {
        self.0.is_there.store(true, Ordering::Relaxed);
    }

    /// Whether somebody does, for those who only look on.
    pub(crate) fn is_there(&self) -> bool {
        self.0.is_there.load(Ordering::Relaxed)
    }

    /// Whether somebody wants it to stop.
    pub(crate) fn is_asked(&self) -> bool {
        let now = self.0.begun.elapsed().as_millis() as u64;
        self.0.asked.store(now, Ordering::Relaxed);
        self.0.is_there.load(Ordering::Relaxed)
    }

    /// Whether somebody has asked lately.
    fn is_heard(&self) -> bool {
        let asked = Duration::from_millis(self.0.asked.load(Ordering::Relaxed));
        asked.checked_add(PATIENCE).is_some_and(|end| self.0.begun.elapsed() < end)
            && asked <= self.0.begun.elapsed()
    }
}

/// A run as stages.
pub(crate) struct Progress {
    stages: Arc<Stages>,
    training: Option<Stage>,
    stop: Stop,
    made: u64,
    spent: String,
    loss: String,
    /// What the user should know beside the result.
    notes: Vec<String>,
}

impl Progress {
    /// A run whose steps are one more of `stages`.
    pub(crate) fn new(stages: Arc<Stages>, stop: &Stop) -> Self {
        let (spent, loss) = (String::new(), String::new());
        let stop = stop.clone();
        Self { stages, training: None, stop, made: 0, spent, loss, notes: Vec::new() }
    }

    /// The steps that this process made.
    pub(crate) fn made(&self) -> u64 {
        self.made
    }

    /// What the run had to remark.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn clear(&mut self) {
        self.training = None;
        self.stages.clear();
    }

    fn say(&self) {
        if self.training.is_some() {
            self.stages.say(format!("{}{}", self.spent, self.loss));
        }
    }
}

impl Observer for Progress {
    fn step(&mut self, done: u64, steps: u64) {
        let is_first = self.training.is_none();
        let training = self.training.get_or_insert_with(|| {
            let watcher = Some(self.stages.clone() as Arc<dyn WatchStages>);
            let training = Stage::watched_by(watcher, "training", Size::Public(steps, "steps"));
            training.add(done - 1);
            self.stages.begins_here();
            training
        });
        training.add(1);
        self.made += 1;
        if is_first {
            self.say();
        }
    }

    fn point(&mut self, point: &Point) {
        self.loss = format!("validation loss {:.3}", point.losses.validation);
        self.say();
    }

    fn charged(&mut self, epsilon: f64) {
        self.spent = format!("epsilon {epsilon:.2}  ");
        self.say();
    }

    fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    fn interrupted(&self) -> bool {
        self.stop.is_asked()
    }
}

/// The bar of a run among others goes when the run ends.
impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Runs side by side, each as a bar, above one for all of them.
struct Bars {
    bars: MultiProgress,
    whole: ProgressBar,
    stop: Stop,
}

/// Runs in `folder` on this many threads, one a core unless asked otherwise; the first Ctrl-C stops them.
pub(crate) fn suite(
    folder: &Path,
    threads: Option<NonZeroUsize>,
    output: &Output,
) -> anyhow::Result<Suite> {
    let target = match output.telling() {
        Telling::Bar => ProgressDrawTarget::stderr(),
        Telling::Nothing | Telling::Lines => ProgressDrawTarget::hidden(),
    };
    let bars = MultiProgress::with_draw_target(target);
    let whole = ProgressBar::hidden();
    let style = ProgressStyle::default_bar();
    whole.set_style(style.template("{bar:24} {pos}/{len} runs  {elapsed} so far")?);
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = threads.map_or(cores, NonZeroUsize::get);
    Ok(Suite::new(folder, threads, Box::new(Bars { bars, whole, stop: output.stop()? }))?)
}

impl Watch for Bars {
    fn begin(&self, runs: usize) {
        self.bars.add(self.whole.clone());
        self.whole.reset();
        self.whole.set_length(runs as u64);
    }

    fn observer(&self, name: &str) -> Box<dyn Observer + '_> {
        let bar = self.bars.insert_from_back(1, ProgressBar::no_length());
        let stages = Stages::on(bar, &format!("{name:24} "), Telling::Nothing);
        Box::new(Progress::new(Arc::new(stages), &self.stop))
    }

    fn ended(&self) {
        self.whole.inc(1);
    }

    fn end(&self) {
        self.whole.finish_and_clear();
    }

    fn interrupted(&self) -> bool {
        self.stop.is_asked()
    }
}
