//! The page of a training run, from the files of the run alone.

mod budget;
mod files;
mod plain_words;
mod settings_table;

pub use files::{Measured, RunFiles, RunFilesError};
pub use plain_words::headline;

use crate::chart::{Axis, Chart, Line};
use crate::describe::{Tree, count, number};
use crate::digits::{cost, near};
use crate::page::{Cell, Fact, Figure, Page, Section, Table};
use organza_ledger::PublicFact;
use organza_train::Certificate;
use organza_train::metrics::Point;
use organza_train::settings::{EngineSettings, RunSettings, Steps};

/// Why losses are marked.
const LOSSES: &str = "losses are computed from the data, without noise and without a charge";
/// Why times and memory are marked.
const TIMES: &str = "how long a run takes, and how much memory, depends on the data";

/// The least points that make a curve.
const CURVE: usize = 3;

/// The files of every run, by what they are and whether anyone may see them.
const FILES: [(&str, &str); 7] = [
    ("certificate.json", "what is promised, and what it was spent on"),
    ("ledger.jsonl", "every charge, written before what it pays for"),
    ("settings.json", "what was asked for"),
    ("metrics.jsonl", "losses on the way (not private)"),
    ("summary.json", "the outcome for programs (not private)"),
    ("figures", "each figure of this page as SVG"),
    ("tables", "each table of this page as CSV"),
];

/// What an application adds to the page of its runs.
///
/// # Privacy
/// Sections come from what was released, or mark what does not.
#[derive(Clone, Debug, Default)]
pub struct Additions {
    /// What was trained, for the title: `Word vectors`.
    pub title: String,
    /// What is released, within a sentence: `vectors`.
    pub released: String,
    /// The command that repeats a run, if there is one.
    pub again: Option<String>,
    /// What the model has to beat. *Not private.*
    pub baseline: Option<Baseline>,
    /// What else was measured at the end, by name. *Not private.*
    pub measured: Vec<(String, f64)>,
    /// What a reader can try, before anything else.
    pub first: Option<Section>,
    /// What was learned, as it can be seen.
    pub sections: Vec<Section>,
    /// The files of the model.
    pub files: Vec<(&'static str, &'static str)>,
    /// Settings that this run did not look at: `training`, `counts.bar`.
    pub unused: Vec<&'static str>,
}

impl Additions {
    /// No more than names: what was trained, for the title, and what is released, within a sentence.
    pub fn new(title: &str, released: &str) -> Self {
        Self { title: title.to_owned(), released: released.to_owned(), ..Self::default() }
    }
}

/// The loss of something simple. *Not private.*
#[derive(Clone, Debug)]
pub struct Baseline {
    /// What it is.
    pub name: &'static str,
    /// Its loss on the test data.
    pub loss: f64,
}

/// Why nothing is promised although there is an epsilon, if that is so.
pub fn doubts(certificate: &Certificate, seeded: bool) -> Vec<String> {
    let claimed = certificate.claimed_epsilon.map(|epsilon| {
        format!(
            "not private: as printed, not sound; the theorem claims epsilon {}",
            number(epsilon)
        )
    });
    let seeded = seeded.then(|| "not private: the noise came from a seed".to_owned());
    claimed.into_iter().chain(seeded).collect()
}

/// The top of a page: what was trained, what it costs whom, and warnings where nothing is promised.
fn certified(certificate: &Certificate, title: String, released: &str, seeded: bool) -> Page {
    let mut page = Page::new(title).lead(plain_words::lead(certificate, released));
    if certificate.epsilon.is_none() {
        page = page.warning("Not private: this run was made without privacy.");
    }
    page = doubts(certificate, seeded)
        .iter()
        .fold(page, |page, doubt| page.warning(format!("{}.", capitalised(doubt))));
    page = match (certificate.epsilon, certificate.delta) {
        (Some(epsilon), Some(delta)) if certificate.private => page
            .fact(Fact::new("epsilon", cost(epsilon)).note(format!("at delta {}", cost(delta))))
            .fact(
                Fact::new("protects", format!("each {}", certificate.unit))
                    .note(certificate.neighbouring.to_string()),
            ),
        _ => page.fact(Fact::new("epsilon", "none").note("no guarantee")),
    };
    let Some(total) = &certificate.dataset else { return page };
    let taken = format!("{} of {}", cost(total.epsilon), cost(total.epsilon_budget));
    let note = format!("epsilon of all runs on `{}` up to this one", total.dataset);
    page.fact(Fact::new("data set", taken).note(note))
}

/// All that left the data.
fn released(certificate: &Certificate, is_private: bool) -> Section {
    let why = (!is_private).then_some("this run was made without privacy");
    let mut figures = Table::new("released", ["what", "value"]);
    for fact in &certificate.released {
        let value = Cell::from(fact.value.clone()).not_private(why);
        figures = figures.row([capitalised(&fact.name).into(), value]);
    }
    let events: Vec<String> =
        certificate.events.iter().map(|event| Tree(event).to_string()).collect();
    let events = match events.join("\n") {
        empty if empty.is_empty() => "everything: there was no privacy".to_owned(),
        trees => trees,
    };
    let section = Section::new("What was released")
        .text("All that left the data: in figures, and as the accountant priced it.");
    let section = if certificate.released.is_empty() { section } else { section.table(figures) };
    section.code(events)
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.collect::<String>() + letters.as_str()
}

impl<S: RunSettings> RunFiles<S> {
    /// The page of the run.
    ///
    /// # Privacy
    /// Model, ledger, settings and certificate are released already, and all that is
    /// computed from them is post-processing. Losses, times and memory are not private and are marked;
    /// a folder without `metrics.jsonl` and `summary.json` makes a page without them.
    pub fn page(&self, additions: Additions) -> Page {
        let Self { certificate, settings, .. } = self;
        let engine = settings.engine();
        let Additions { title, released: what, again, baseline, measured, first, .. } = additions;
        let Additions { sections, files, unused, .. } = additions;
        let title = capitalised(&title);
        let title = match certificate.steps {
            0 if certificate.epsilon.is_none() => format!("{title} without privacy"),
            0 => format!("{title} by {}", certificate.method),
            steps => format!("{title}, {} steps of {}", count(steps), certificate.method),
        };
        let seeded = engine.seed.is_some();
        let mut page = certified(certificate, title, &what, seeded);
        let spending = self.spending();
        if let Some(problem) =
            spending.as_ref().and_then(|spending| spending.contradiction(certificate))
        {
            page = page.warning(problem);
        }
        let remarks = self.summary.get("remarks").and_then(|remarks| remarks.as_array());
        for remark in remarks.into_iter().flatten().filter_map(|remark| remark.as_str()) {
            page = page.remark(remark);
        }
        page = first
            .into_iter()
            .fold(self.facts(page, &engine, baseline.as_ref()), Page::section)
            .section(Section::new("What is promised").promise(plain_words::promise(
                certificate,
                &what,
                seeded,
            )))
            .section(self.learning(baseline.as_ref(), measured));
        page = sections.into_iter().fold(page, Page::section);
        if let Some(spending) = &spending {
            page = page.section(spending.section(certificate, engine.privacy.epsilon));
        }
        page.section(released(certificate, engine.private))
            .section(settings_table::section(settings, self.made(), again, &unused))
            .section(Section::new("Files").links(files.into_iter().chain(FILES)))
    }

    /// When it was made, and by what, if `summary.json` says so.
    fn made(&self) -> Option<String> {
        let told = |field: &str| self.summary.get(field)?.as_str();
        Some(format!("Made on {} by organza {}.", told("date")?, told("organza")?))
    }

    fn facts(&self, page: Page, engine: &EngineSettings, baseline: Option<&Baseline>) -> Page {
        let Self { certificate, .. } = self;
        let page = match certificate.steps {
            0 => page,
            steps => page.fact(
                Fact::new("steps", count(steps))
                    .note(match engine.steps {
                        _ if !engine.private => "without noise",
                        Some(Steps::Selected) => "noise on what was selected",
                        _ => "noise on every coordinate",
                    })
                    .not_private((!engine.private).then_some("computed from the number of units")),
            ),
        };
        let page = match certificate.released.first() {
            Some(PublicFact { name, value }) => {
                let why = "counted from the data";
                page.fact(Fact::new(name, value).not_private((!engine.private).then_some(why)))
            }
            None => page,
        };
        let Some(last) = self.points.last().filter(|last| last.losses.test.is_finite()) else {
            return page;
        };
        let note = baseline.map_or(String::new(), |it| format!("{}: {}", it.name, near(it.loss)));
        page.fact(Fact::new("test loss", near(last.losses.test)).note(note).not_private(LOSSES))
    }

    fn learning(&self, baseline: Option<&Baseline>, more: Vec<(String, f64)>) -> Section {
        let section = Section::new("What was learned");
        let Some(last) = self.points.last() else {
            return section.text("There is no `metrics.jsonl`, hence no figures.");
        };
        let section = match self.points.len() {
            0..CURVE => section,
            _ => section.figure(
                Figure::new("learning-curve", self.curve(last, baseline))
                    .caption(match baseline {
                        Some(Baseline { name, .. }) => format!(
                            "The mean loss of a sample. The model has to beat {name} to have learned \
                             anything worth its price."
                        ),
                        None => "The mean loss of a sample.".to_owned(),
                    })
                    .not_private(LOSSES),
            ),
        };
        let losses = [
            ("training loss", last.losses.train),
            ("validation loss", last.losses.validation),
            ("test loss", last.losses.test),
        ];
        let losses = losses.into_iter().filter(|(_, loss)| loss.is_finite());
        let simple = baseline.map(|Baseline { name, loss }| (format!("loss of {name}"), *loss));
        let measured = losses.map(|(name, loss)| (name.to_owned(), loss)).chain(simple).chain(more);
        let mut table = Table::new("outcome", ["at the end", "value"]);
        for (name, value) in measured {
            table = table.row([name.into(), Cell::from(value).not_private(LOSSES)]);
        }
        let Measured { seconds, ms_step, peak_rss_mb } = self.measured;
        for (name, value, unit) in
            [("time", seconds, "s"), ("a step", ms_step, "ms"), ("memory", peak_rss_mb, "MB")]
        {
            if let Some(value) = value {
                let cell = Cell::number(value, format!("{value:.2}")).not_private(TIMES);
                table = table.row([format!("{name} ({unit})").into(), cell]);
            }
        }
        section.table(table)
    }

    fn curve(&self, last: &Point, baseline: Option<&Baseline>) -> Chart {
        let line = |name: &str, loss: fn(&Point) -> f64| {
            Line::new(name, self.points.iter().map(|point| (point.step as f64, loss(point))))
        };
        let mut lines = vec![
            line("training", |point| point.losses.train),
            line("validation", |point| point.losses.validation),
            line("test", |point| point.losses.test),
        ];
        if let Some(Baseline { name, loss }) = baseline {
            lines.push(Line::new(*name, [(0.0, *loss), (last.step as f64, *loss)]));
        }
        Chart {
            title: "Loss over steps".to_owned(),
            horizontal: Axis::linear("steps"),
            vertical: Axis::fitted("loss"),
            lines,
            mark: None,
        }
    }
}
