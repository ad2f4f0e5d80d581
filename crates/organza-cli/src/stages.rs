//! Stages of long work, as people and programs see them: a bar, or lines of JSON.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use organza_progress::{Size, Stage, Watch};
use serde::Serialize;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a bar shows that something goes on.
const TICK: Duration = Duration::from_millis(200);
/// A line of JSON comes no more often than this while a stage goes on.
const BETWEEN_LINES: Duration = Duration::from_secs(1);
/// A stage that was shorter leaves no line behind.
const WORTH_A_LINE: Duration = Duration::from_millis(300);
/// The length of a bar whose size is hidden.
const PARTS: f64 = 1000.0;

/// How it is told what is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Telling {
    /// Not at all.
    Nothing,
    /// As a bar on standard error.
    Bar,
    /// As lines of JSON on standard error.
    Lines,
}

/// Shows stages, one at a time.
pub(crate) struct Stages {
    telling: Telling,
    bar: ProgressBar,
    /// A program that looks on.
    also: Option<Arc<dyn Watch>>,
    message: Mutex<String>,
    begun: Instant,
    /// When the last line was told, in milliseconds since then.
    told: AtomicU64,
}

/// What a program reads. *Not private.*
#[derive(Serialize)]
struct Line<'a> {
    stage: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<(u64, &'static str)>,
    seconds: f64,
    ended: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    not_private: bool,
}

impl Stages {
    /// On a bar of their own.
    pub(crate) fn alone(telling: Telling) -> Self {
        let target = match telling {
            Telling::Bar => ProgressDrawTarget::stderr(),
            Telling::Nothing | Telling::Lines => ProgressDrawTarget::hidden(),
        };
        Self::on(ProgressBar::with_draw_target(None, target), "", telling)
    }

    /// The same, for a program that looks on as well.
    pub(crate) fn also_for(mut self, also: Option<Arc<dyn Watch>>) -> Self {
        self.also = also;
        self
    }

    /// On `bar`, behind `name`, which may be empty.
    pub(crate) fn on(bar: ProgressBar, name: &str, telling: Telling) -> Self {
        bar.set_style(style("{spinner} {prefix}{msg}"));
        bar.set_prefix(name.to_owned());
        bar.set_message("beginning");
        bar.enable_steady_tick(TICK);
        let (message, told) = (Mutex::new(String::new()), AtomicU64::new(0));
        Self { telling, bar, also: None, message, begun: Instant::now(), told }
    }

    /// What stands behind the stage.
    pub(crate) fn say(&self, message: String) {
        self.bar.set_message(message.clone());
        *self.message.lock().unwrap_or_else(PoisonError::into_inner) = message;
    }

    /// What was made before says nothing about the speed from here.
    pub(crate) fn begins_here(&self) {
        self.bar.reset_eta();
    }

    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, stage: &Stage, ended: bool) {
        if self.telling != Telling::Lines {
            return;
        }
        self.told.store(self.begun.elapsed().as_millis() as u64, Ordering::Relaxed);
        let of = match stage.size() {
            Size::Unknown | Size::Hidden(_) => None,
            Size::Bytes(bytes) => Some((bytes, "bytes")),
            Size::Public(number, name) => Some((number, name)),
        };
        let message = self.message.lock().unwrap_or_else(PoisonError::into_inner);
        let line = Line {
            stage: stage.name(),
            part: stage.part(),
            done: stage.done(),
            of,
            seconds: stage.elapsed().as_secs_f64(),
            ended,
            message: &message,
            not_private: true,
        };
        if let Ok(text) = serde_json::to_string(&line) {
            // Where standard error itself is closed, there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }
}

impl Watch for Stages {
    fn begun(&self, stage: &Stage) {
        if let Some(also) = &self.also {
            also.begun(stage);
        }
        let (template, length) = match stage.size() {
            Size::Unknown => ("{spinner} {prefix}{msg}".to_owned(), None),
            Size::Hidden(_) => (
                "{prefix}{bar:24} {percent:>3} %  {eta} left  {msg}".to_owned(),
                Some(PARTS as u64),
            ),
            Size::Bytes(bytes) => {
                let template =
                    "{prefix}{bar:24} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left  {msg}";
                (template.to_owned(), Some(bytes))
            }
            Size::Public(number, name) => (
                format!(
                    "{{prefix}}{{bar:24}} {{human_pos}}/{{human_len}} {name}  {{per_sec}}  {{eta}} left  {{msg}}"
                ),
                Some(number),
            ),
        };
        self.bar.set_style(style(&template));
        match length {
            Some(length) => self.bar.set_length(length),
            None => self.bar.unset_length(),
        }
        self.bar.set_position(0);
        self.bar.reset_eta();
        self.bar.set_message(stage.name().to_owned());
        self.line(stage, false);
    }

    fn moved(&self, stage: &Stage) {
        if let Some(also) = &self.also {
            also.moved(stage);
        }
        match (stage.size(), stage.part(), stage.done()) {
            (Size::Hidden(_), Some(part), _) => self.bar.set_position((part * PARTS) as u64),
            (_, _, Some(done)) => self.bar.set_position(done),
            _ => {}
        }
        let told = Duration::from_millis(self.told.load(Ordering::Relaxed));
        if self.begun.elapsed().saturating_sub(told) >= BETWEEN_LINES {
            self.line(stage, false);
        }
    }

    fn ended(&self, stage: &Stage) {
        if let Some(also) = &self.also {
            also.ended(stage);
        }
        self.line(stage, true);
        if self.telling == Telling::Bar && stage.elapsed() >= WORTH_A_LINE {
            self.bar.println(format!("{:>6.1} s  {}", stage.elapsed().as_secs_f64(), stage.name()));
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is well-formed")
}
