//! The page of a training run, from the files of the run alone.

mod budget;
mod files;
mod plain_words;
mod settings_table;
mod words;

pub use files::{Measured, RunFiles, RunFilesError};
pub use plain_words::headline;

use crate::chart::{Axis, Chart, Line};
use crate::describe::{Tree, count};
use crate::digits::{cost, near};
use crate::page::{Cell, Fact, Figure, Page, Section, Table};
use organza_train::metrics::Point;
use organza_train::settings::Method;

/// Why losses are marked.
const LOSSES: &str = "losses are computed from the data, without noise and without a charge";
/// Why times and memory are marked.
const TIMES: &str = "how long a run takes, and how much memory, depends on the data";

/// The files of a run, by what they are and whether anyone may see them.
const FILES: [(&str, &str); 11] = [
    ("vectors.txt", "the word vectors, as text for readers of word2vec files"),
    ("vectors.bin", "the same, binary"),
    ("model.safetensors", "all tables of the model"),
    ("vocabulary.txt", "the words, in the order of the rows"),
    ("certificate.json", "what is promised, and what it was spent on"),
    ("ledger.jsonl", "every charge, written before what it pays for"),
    ("settings.json", "what was asked for: `organza train --settings` repeats it"),
    ("metrics.jsonl", "losses on the way (not private)"),
    ("summary.json", "the outcome for programs (not private)"),
    ("figures", "each figure of this page as SVG"),
    ("tables", "each table of this page as CSV"),
];

impl RunFiles {
    /// The page of the run.
    ///
    /// # Privacy
    /// Vectors, vocabulary, ledger, settings and certificate are released already, and all that is
    /// computed from them is post-processing. Losses, times and memory are not private and are marked;
    /// a folder without `metrics.jsonl` and `summary.json` makes a page without them.
    pub fn page(&self) -> Page {
        let Self { certificate, settings, .. } = self;
        let title = match certificate.steps {
            0 => format!("Word vectors by {}", settings.method),
            steps => format!("Word vectors, {} steps of {}", count(steps), settings.method),
        };
        let mut page = Page::new(title).lead(plain_words::lead(certificate));
        if settings.method == Method::None {
            page = page.warning("Not private: this run was made without privacy.");
        }
        if settings.seed.is_some() {
            page = page.warning("Not private: the noise of this run came from a seed.");
        }
        let spending = self.spending();
        if let Some(problem) =
            spending.as_ref().and_then(|spending| spending.contradiction(certificate))
        {
            page = page.warning(problem);
        }
        page = self.facts(page);
        page = page.section(
            Section::new("What is promised").promise(plain_words::promise(certificate, settings)),
        );
        page = page.section(self.learning());
        if let Some(spending) = &spending {
            page = page.section(spending.section(certificate, settings));
        }
        let released: Vec<String> =
            certificate.events.iter().map(|event| Tree(event).to_string()).collect();
        let released = match released.join("\n") {
            empty if empty.is_empty() => "everything: there was no privacy".to_owned(),
            trees => trees,
        };
        page.section(words::section(&self.vectors))
            .section(
                Section::new("What was released")
                    .text("All that left the data, as the accountant priced it.")
                    .code(released),
            )
            .section(settings_table::section(settings))
            .section(Section::new("Files").links(FILES))
    }

    fn facts(&self, page: Page) -> Page {
        let Self { certificate, .. } = self;
        let mut page = match (certificate.epsilon, certificate.delta) {
            (Some(epsilon), Some(delta)) => page
                .fact(Fact::new("epsilon", cost(epsilon)).note(format!("at delta {}", cost(delta))))
                .fact(
                    Fact::new("protects", format!("each {}", certificate.unit))
                        .note(certificate.neighbouring.to_string()),
                ),
            _ => page.fact(Fact::new("epsilon", "none").note("no guarantee")),
        };
        if let Some(total) = &certificate.dataset {
            let taken = format!("{} of {}", cost(total.epsilon), cost(total.epsilon_budget));
            let note = format!("epsilon of all runs on `{}` up to this one", total.dataset);
            page = page.fact(Fact::new("data set", taken).note(note));
        }
        let steps = Fact::new("steps", count(certificate.steps)).note(match self.settings.method {
            Method::None => "without noise".to_owned(),
            Method::Counts => "counts were released once".to_owned(),
            Method::Dpsgd => "noise on every coordinate".to_owned(),
            Method::Sparse => format!("{} selection", self.settings.selection.rule),
        });
        page = page.fact(match self.settings.method {
            Method::None => steps.not_private("computed from the number of units"),
            Method::Counts | Method::Dpsgd | Method::Sparse => steps,
        });
        if let Some(last) = self.points.last().filter(|last| last.losses.test.is_finite()) {
            let note = match self.measured.frequency_loss {
                Some(loss) => format!("word frequencies: {}", near(loss)),
                None => String::new(),
            };
            let fact = Fact::new("test loss", near(last.losses.test)).note(note);
            page = page.fact(fact.not_private(LOSSES));
        }
        page
    }

    fn learning(&self) -> Section {
        let section = Section::new("What was learned");
        let Some(last) = self.points.last() else {
            return section.text("There is no `metrics.jsonl`, hence no learning curve.");
        };
        let section = section.figure(
            Figure::new("learning-curve", self.curve(last))
                .caption(
                    "The mean loss of a sample. Word frequencies alone are what vectors have to beat \
                     to have learned anything about words together.",
                )
                .not_private(LOSSES),
        );
        let loss = |value: f64| Cell::from(value).not_private(LOSSES);
        let mut table = Table::new("outcome", ["at the end", "value"])
            .row(["training loss".into(), loss(last.losses.train)])
            .row(["validation loss".into(), loss(last.losses.validation)])
            .row(["test loss".into(), loss(last.losses.test)]);
        let Measured { frequency_loss, seconds, ms_step, peak_rss_mb } = self.measured;
        if let Some(frequencies) = frequency_loss {
            table = table.row(["test loss of word frequencies".into(), loss(frequencies)]);
        }
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

    fn curve(&self, last: &Point) -> Chart {
        let line = |name: &str, loss: fn(&Point) -> f64| {
            Line::new(name, self.points.iter().map(|point| (point.step as f64, loss(point))))
        };
        let mut lines = vec![
            line("training", |point| point.losses.train),
            line("validation", |point| point.losses.validation),
            line("test", |point| point.losses.test),
        ];
        if let Some(loss) = self.measured.frequency_loss {
            lines.push(Line::new("word frequencies", [(0.0, loss), (last.step as f64, loss)]));
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
