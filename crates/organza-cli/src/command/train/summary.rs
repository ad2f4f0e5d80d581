//! What a finished run came to, for people and for programs.

use crate::memory::peak_megabytes;
use crate::output::{DOUBT, GOOD};
use organza_ledger::SharedTotal;
use organza_mechanism::SelectionRule;
use organza_report::run::headline;
use organza_train::Losses;
use organza_words::Finished;
use organza_words::settings::{Method, Settings};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The version of `summary.json`.
const FILE_VERSION: u64 = 1;

/// The outcome of a run. Losses are no numbers where there was nothing to measure; JSON has `null`.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    method: Method,
    select: Option<SelectionRule>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    steps: u64,
    train_loss: f64,
    validation_loss: f64,
    test_loss: f64,
    frequency_loss: f64,
    remarks: Vec<String>,
    seconds: f64,
    ms_step: Option<f64>,
    peak_rss_mb: Option<f64>,
    not_private: Vec<&'static str>,
    #[serde(skip)]
    folder: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    dataset: Option<SharedTotal>,
    #[serde(skip)]
    promise: Promise,
}

/// `summary.json`.
#[derive(Serialize)]
struct File<'a> {
    version: u64,
    #[serde(flatten)]
    summary: &'a Summary,
}

/// What the first line of a summary says.
#[derive(Debug)]
struct Promise {
    seeded: bool,
    of: String,
}

/// What is said of vectors that word frequencies are as good as.
fn no_better(losses: Losses, frequency_loss: f64) -> Option<String> {
    let advice = "nothing was learned: the test loss is no better than that of word frequencies. Fewer words \
                  (--vocabulary-size), a larger epsilon or more text would help, and so would a smaller unit, if its promise is \
                  enough";
    (losses.test >= frequency_loss).then(|| advice.to_owned())
}

impl Summary {
    pub(super) fn new(
        folder: &Path,
        settings: &Settings,
        finished: &Finished,
        made: u64,
        elapsed: Duration,
    ) -> Self {
        let Finished { model, certificate, curve, remarks, steps, seconds } = finished;
        let nothing = Losses { train: f64::NAN, validation: f64::NAN, test: f64::NAN };
        let losses = curve.last().map_or(nothing, |point| point.losses);
        let mut not_private = vec![
            "train_loss",
            "validation_loss",
            "test_loss",
            "frequency_loss",
            "remarks",
            "seconds",
            "ms_step",
            "peak_rss_mb",
        ];
        if settings.method == Method::None {
            not_private.insert(0, "steps");
        }
        Self {
            method: settings.method,
            select: (settings.method == Method::Sparse).then_some(settings.selection.rule),
            epsilon: certificate.epsilon,
            delta: certificate.delta,
            steps: *steps,
            train_loss: losses.train,
            validation_loss: losses.validation,
            test_loss: losses.test,
            frequency_loss: model.frequency_loss,
            remarks: remarks
                .iter()
                .cloned()
                .chain(no_better(losses, model.frequency_loss))
                .collect(),
            seconds: elapsed.as_secs_f64(),
            ms_step: (made > 0).then(|| 1_000.0 * seconds / made as f64),
            peak_rss_mb: peak_megabytes(),
            not_private,
            folder: folder.to_owned(),
            dataset: certificate.dataset.clone(),
            promise: Promise { seeded: settings.seed.is_some(), of: headline(certificate) },
        }
    }

    /// The summary as the file of the run.
    pub(super) fn file(&self) -> serde_json::Result<String> {
        let file = File { version: FILE_VERSION, summary: self };
        serde_json::to_string_pretty(&file).map(|text| text + "\n")
    }

    /// Name, value and whether it is private, in the order in which they are shown.
    fn rows(&self) -> Vec<(&'static str, String, bool)> {
        let loss = |value: f64| if value.is_finite() { format!("{value:.4}") } else { "-".into() };
        let select = self.select.map_or(String::new(), |rule| format!(", {rule}"));
        let optional = |value: Option<f64>, unit: &str| {
            value.map_or("-".to_owned(), |value| format!("{value:.2} {unit}"))
        };
        let rows = [
            ("method", "method", format!("{}{select}", self.method)),
            ("steps", "steps", self.steps.to_string()),
            ("train_loss", "training loss", loss(self.train_loss)),
            ("validation_loss", "validation loss", loss(self.validation_loss)),
            ("test_loss", "test loss", loss(self.test_loss)),
            ("frequency_loss", "word frequencies", loss(self.frequency_loss)),
            ("seconds", "time", format!("{:.1} s", self.seconds)),
            ("ms_step", "a step", optional(self.ms_step, "ms")),
            ("peak_rss_mb", "memory", optional(self.peak_rss_mb, "MB")),
        ];
        rows.map(|(field, name, value)| (name, value, !self.not_private.contains(&field))).into()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Promise { seeded, of } = &self.promise;
        let style = if *seeded || self.epsilon.is_none() { DOUBT } else { GOOD };
        writeln!(formatter, "{style}{of}{style:#}")?;
        if let Some(total) = &self.dataset {
            writeln!(formatter, "{total}")?;
        }
        if *seeded {
            writeln!(formatter, "{DOUBT}not private: the noise came from a seed{DOUBT:#}")?;
        }
        writeln!(formatter)?;
        for (name, value, is_private) in self.rows() {
            let mark = if is_private { "" } else { "  *" };
            writeln!(formatter, "{name:<18}{value:>12}{mark}")?;
        }
        for remark in &self.remarks {
            writeln!(formatter, "\n{DOUBT}* {remark}{DOUBT:#}")?;
        }
        writeln!(formatter, "\n* not private: from the data without noise, for your eyes only\n")?;
        let folder = self.folder.display();
        writeln!(formatter, "{folder}/vectors.txt, .bin    word vectors for word2vec readers")?;
        writeln!(
            formatter,
            "{folder}/certificate.json     what is promised, and what it was spent on"
        )?;
        writeln!(formatter, "{folder}/report.html          all of it on one page; not private")?;
        writeln!(formatter, "\nNext: organza nearest {folder} WORD")
    }
}
