//! What a finished run of any application came to, for people and for programs.

use crate::memory::peak_megabytes;
use crate::output::{DOUBT, GOOD, Output};
use crate::running::{Runnable, Trained, page};
use chrono::{DateTime, Utc};
use organza_ledger::SharedTotal;
use organza_report::run::{doubts, headline};
use organza_train::RunFolder;
use organza_train::settings::RunSettings;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};
use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

/// The page of a run, in its folder.
pub(crate) const REPORT: &str = "report.html";
/// The version of `summary.json`.
const FILE_VERSION: u64 = 1;

/// One figure of a summary: by its name in the file, and as people see it, if they do.
pub(crate) struct Figure {
    field: Option<&'static str>,
    value: Value,
    shown: Option<(String, String)>,
    is_private: bool,
}

impl Figure {
    /// A figure that tells no more than was declared or released.
    pub(crate) fn private(field: &'static str, value: impl Serialize) -> Self {
        Self { field: Some(field), value: json!(value), shown: None, is_private: true }
    }

    /// A figure that comes from the data without noise.
    pub(crate) fn not_private(field: &'static str, value: impl Serialize) -> Self {
        Self { is_private: false, ..Self::private(field, value) }
    }

    /// Only in a run that is private it tells no more than was released.
    pub(crate) fn in_run(self, is_private: bool) -> Self {
        Self { is_private: self.is_private && is_private, ..self }
    }

    /// Shown to people by this name, as it is.
    pub(crate) fn named(self, name: &str) -> Self {
        let text = match &self.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        self.shown(name, text)
    }

    /// Shown to people by this name, as they read it.
    pub(crate) fn shown(self, name: &str, text: String) -> Self {
        Self { shown: Some((name.to_owned(), text)), ..self }
    }

    /// A number from the data without noise, by four digits, with its unit; what could not be measured is a dash.
    pub(crate) fn measured(
        field: &'static str,
        name: &str,
        value: impl Into<Option<f64>>,
        unit: &str,
    ) -> Self {
        let value = value.into().filter(|value| value.is_finite());
        let text = value.map_or("-".to_owned(), |value| match unit {
            "" => format!("{value:.4}"),
            unit => format!("{value:.2} {unit}"),
        });
        Self::not_private(field, value).shown(name, text)
    }

    /// The same, not shown to people where there is no value.
    pub(crate) fn if_any(self) -> Self {
        let shown = self.shown.filter(|_| !self.value.is_null());
        Self { shown, ..self }
    }
}

/// What an application says about its model.
pub(crate) struct ModelSummary {
    /// Its figures, beside those that every run has.
    pub(crate) figures: Vec<Figure>,
    /// What is to be said of a model that learned nothing. *Not private.*
    pub(crate) nothing_learned: Option<&'static str>,
    /// The file of the model that people want first, and what it is.
    pub(crate) file: (&'static str, &'static str),
    /// What to do next; `RUN` is the folder.
    pub(crate) next: &'static str,
}

/// The outcome of a run.
struct Summary {
    figures: Vec<Figure>,
    promise: String,
    doubts: Vec<String>,
    is_private: bool,
    dataset: Option<SharedTotal>,
    remarks: Vec<String>,
    folder: PathBuf,
    file: (&'static str, &'static str),
    /// Where there is something to go on with.
    next: Option<&'static str>,
}

/// Writes the summary and the page of a run, and shows what came of it.
pub(crate) fn show<A: Runnable>(
    folder: &RunFolder,
    trained: &Trained<A>,
    output: &Output,
) -> anyhow::Result<()> {
    let summary = Summary::new(folder, trained, A::summary(trained, output));
    let text = serde_json::to_string_pretty(&summary)? + "\n";
    folder.write(&folder.file("summary.json"), text.as_bytes())?;
    page(folder.path())?.write(folder.path(), REPORT)?;
    output.result(&summary)
}

impl Summary {
    /// What a run came to.
    fn new<A: Runnable>(folder: &RunFolder, trained: &Trained<A>, told: ModelSummary) -> Self {
        let Trained { settings, finished, made, elapsed } = trained;
        let (engine, certificate) = (settings.engine(), &finished.certificate);
        let remarks: Vec<String> = finished
            .remarks
            .iter()
            .cloned()
            .chain(told.nothing_learned.map(str::to_owned))
            .collect();
        let steps = Figure::private("steps", finished.steps).named("steps");
        let ms_step = (*made > 0).then(|| 1_000.0 * finished.seconds / *made as f64);
        let begun = DateTime::<Utc>::from(SystemTime::now() - *elapsed);
        let figures = [
            Figure::private("version", FILE_VERSION),
            // The day on which it began, which no data moves.
            Figure::private("date", begun.date_naive().to_string()),
            Figure::private("organza", env!("CARGO_PKG_VERSION")),
            Figure::private("method", &certificate.method).named("method"),
            Figure::private("epsilon", certificate.epsilon),
            Figure::private("delta", certificate.delta),
            // Without privacy it is computed from the number of units.
            steps.in_run(engine.private),
        ];
        let released = certificate.released.iter().map(|fact| Figure {
            field: None,
            value: Value::Null,
            shown: Some((fact.name.clone(), fact.value.clone())),
            is_private: engine.private,
        });
        let filed = Figure::private("released", &certificate.released).in_run(engine.private);
        let measured = [
            filed,
            Figure::not_private("remarks", &remarks),
            Figure::measured("seconds", "time", elapsed.as_secs_f64(), "s"),
            Figure::measured("ms_step", "a step", ms_step, "ms").if_any(),
            Figure::measured("peak_rss_mb", "memory", peak_megabytes(), "MB"),
        ];
        Self {
            figures: figures
                .into_iter()
                .chain(released)
                .chain(told.figures)
                .chain(measured)
                .collect(),
            promise: headline(certificate),
            doubts: doubts(certificate, engine.seed.is_some()),
            is_private: certificate.private,
            dataset: certificate.dataset.clone(),
            remarks,
            folder: folder.path().to_owned(),
            file: told.file,
            next: told.nothing_learned.is_none().then_some(told.next),
        }
    }
}

impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let filed = || self.figures.iter().filter_map(|figure| Some((figure.field?, figure)));
        for (field, figure) in filed() {
            map.serialize_entry(field, &figure.value)?;
        }
        let open = filed().filter(|(_, figure)| !figure.is_private);
        map.serialize_entry("not_private", &open.map(|(field, _)| field).collect::<Vec<_>>())?;
        if let Some(total) = &self.dataset {
            map.serialize_entry("dataset", total)?;
        }
        map.end()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = if self.is_private { GOOD } else { DOUBT };
        writeln!(formatter, "{style}{}{style:#}", self.promise)?;
        if let Some(total) = &self.dataset {
            writeln!(formatter, "{total}")?;
        }
        for doubt in &self.doubts {
            writeln!(formatter, "{DOUBT}{doubt}{DOUBT:#}")?;
        }
        writeln!(formatter)?;
        let shown =
            || self.figures.iter().filter_map(|it| Some((it.shown.as_ref()?, it.is_private)));
        let name_width = shown().map(|((name, _), _)| name.chars().count()).max().unwrap_or(0);
        let width = shown().map(|((_, text), _)| text.chars().count()).max().unwrap_or(0);
        for ((name, text), is_private) in shown() {
            let mark = if is_private { "" } else { "  *" };
            writeln!(formatter, "{name:<name_width$}  {text:>width$}{mark}")?;
        }
        for remark in &self.remarks {
            writeln!(formatter, "\n{DOUBT}* {remark}{DOUBT:#}")?;
        }
        writeln!(formatter, "\n* not private: from the data without noise, for your eyes only\n")?;
        let folder = self.folder.display();
        for (file, what) in [
            self.file,
            ("certificate.json", "what is promised, and what it was spent on"),
            (REPORT, "all of it on one page; not private"),
        ] {
            writeln!(formatter, "{folder}/{file:<20} {what}")?;
        }
        match self.next {
            Some(next) => {
                writeln!(formatter, "\nNext: {}", next.replace("RUN", &folder.to_string()))
            }
            None => Ok(()),
        }
    }
}
