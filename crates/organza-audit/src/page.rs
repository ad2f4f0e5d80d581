//! `audit.html`: what an audit found, to look at.

use crate::{Among, AuditError, AuditReport, Gap, LowerBoundEvidence, RankEvidence, RankSummary};
use organza_report::chart::{Bar, Bars, NamedBars};
use organza_report::describe::count;
use organza_report::digits::{below, cost, near};
use organza_report::page::{Cell, Fact, Figure, Page, Section, Table};
use organza_train::RunFolder;

/// Why losses are marked.
const FROM_DATA: &str = "from the data without noise";
/// Why what comes from a model without privacy is marked.
const FROM_MODEL: &str = "from a model without privacy";

impl AuditReport {
    /// Writes `audit.json` and `audit.html`, with its figures and tables, into the folder of the run.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn write(&self, folder: &RunFolder) -> Result<(), AuditError> {
        let file = serde_json::to_string_pretty(self)
            .map_err(|error| AuditError::Format(error.to_string()))?;
        folder.write(&folder.file("audit.json"), (file + "\n").as_bytes())?;
        Ok(self.page().write(folder.path(), "audit.html")?)
    }

    /// All of it to look at.
    pub fn page(&self) -> Page {
        let promise = &self.promise;
        let why = (!promise.private).then_some(FROM_MODEL);
        let mut page = Page::new("What the model gives away").lead(
            "Evidence from outside: phrases that were put into the training data, and what the finished \
             model says of them. It can find a broken promise, and never replaces one: finding nothing \
             proves nothing.",
        );
        if !promise.private {
            page = page
                .warning("This run is without privacy: there is no promise to hold this against.");
        }
        if let (Some(epsilon), Some(delta)) = (promise.epsilon, promise.delta) {
            let note = format!("at delta {}, for each {}", cost(delta), self.unit());
            page = page.fact(Fact::new("accounted epsilon", cost(epsilon)).note(note));
        }
        if let Some(ranks) = &self.ranks {
            let value = ranks.inserted.uniformity.p_value;
            let note = if ranks.inserted.rejects {
                "below 0.01: the model has kept something of the canaries"
            } else {
                "not below 0.01: nothing was seen, which proves nothing"
            };
            let fact = Fact::new("p-value of canary ranks", shown_p(value)).note(note);
            page = page.fact(fact.not_private(why));
        }
        if let Some(bound) = &self.lower_bound {
            let note = format!("{} % confidence", near(100.0 * bound.confidence));
            let fact = match bound.epsilon > 0.0 {
                true => Fact::new("epsilon is at least", low(bound.epsilon)).note(note),
                false => Fact::new("leak found by guessing", "none").note(note),
            };
            page = page.fact(fact.not_private(why));
        }
        if let Some(gap) = self.gap {
            let note = "test loss less training loss";
            page = page.fact(Fact::new("gap", near(gap.gap)).note(note).not_private(FROM_DATA));
        }
        let sections = [
            self.ranks
                .as_ref()
                .map(|ranks| rank_section(ranks, &self.model.insertion(promise.unit), why)),
            self.lower_bound.as_ref().map(|bound| bound_section(bound, why)),
            self.gap.map(gap_section),
        ];
        let page = sections.into_iter().flatten().fold(page, Page::section);
        page.section(
            Section::new("Files").links([
                ("audit.json", "all of it for programs"),
                ("certificate.json", "the promise"),
            ]),
        )
    }
}

impl RankSummary {
    /// A histogram of ranks, with the height that uniform ranks have.
    pub fn histogram(&self, title: impl Into<String>) -> Bars {
        let bar = |(place, count): (usize, &u64)| Bar {
            label: format!("{}", place + 1),
            value: *count as f64,
        };
        let expected = self.phrases as f64 / self.histogram.len() as f64;
        Bars {
            title: title.into(),
            horizontal: "tenth of ranks; 10 is most favoured".to_owned(),
            vertical: "phrases".to_owned(),
            bars: self.histogram.iter().enumerate().map(bar).collect(),
            reference: Some((expected, "uniform".to_owned())),
        }
    }
}

fn rank_section(ranks: &RankEvidence, insertion: &str, why: Option<&str>) -> Section {
    let among = match ranks.among {
        Among::Sampled(number) => format!("{} random phrases", count(number)),
        Among::All => "all phrases".to_owned(),
    };
    let figure = Figure::new("audit-ranks", ranks.inserted.histogram("inserted"))
        .panel(ranks.control.histogram("never inserted"))
        .caption("Level with the line: the model favours none. High on the right: it remembers.")
        .not_private(why);
    let mut table = Table::new(
        "audit-chi-squared",
        ["phrases", "number", "chi-squared distance", "p-value", "mean exposure in bits"],
    );
    for (name, summary) in [("inserted", &ranks.inserted), ("never inserted", &ranks.control)] {
        let cell = |value: f64| Cell::from(value).not_private(why);
        let p_value = summary.uniformity.p_value;
        table = table.row([
            name.into(),
            summary.phrases.into(),
            cell(summary.uniformity.distance),
            Cell::number(p_value, shown_p(p_value)).not_private(why),
            cell(summary.mean_exposure),
        ]);
    }
    Section::new("Ranks of canaries")
        .text(format!(
            "{} phrases of three random words, each inserted {} times, as {insertion} each time, ranked by the model among {among} \
             that begin with the same word; beside them phrases of the same kind that were never \
             inserted, whose ranks are uniform.",
            count(ranks.inserted.phrases),
            ranks.repeats
        ))
        .figure(figure)
        .table(table)
        .note(format!(
            "No bound on epsilon follows, from above or from below. The paper's heuristic reads 1/{} = {} \
             off the number of repeats.",
            ranks.repeats,
            near(ranks.heuristic_epsilon)
        ))
}

fn bound_section(bound: &LowerBoundEvidence, why: Option<&str>) -> Section {
    let guessed = &bound.guessed;
    let cell = |value: u64| Cell::from(value).not_private(why);
    let mut values = vec![("guessed, at least".to_owned(), bound.epsilon)];
    values.extend(bound.promised.map(|promised| ("accounted, at most".to_owned(), promised)));
    let title = "The lower bound beside the account".to_owned();
    let bars = NamedBars { title, measure: "epsilon".to_owned(), values };
    let figure = Figure::new("audit-bound", bars).not_private(why);
    let table = Table::new("audit-guesses", ["canaries", "guesses", "right"]).row([
        guessed.canaries.into(),
        guessed.guesses.into(),
        cell(guessed.correct),
    ]);
    let verdict = match (bound.refutes_promise, bound.promised) {
        (true, _) => {
            "The bound is above what was promised: unless this is one of the few audits that are wrong, \
             the promise is broken."
        }
        (false, Some(_)) => {
            "The two do not contradict each other. A small bound does not make epsilon small."
        }
        (false, None) => "There is no upper bound to hold it against.",
    };
    Section::new("A lower bound on epsilon")
        .text(format!(
            "Each canary was inserted once or not at all, by its own fair coin, and the coins were guessed from the model \
             (Steinke, Nasr and Jagielski 2023): {}.",
            bound.in_words()
        ))
        .figure(figure)
        .table(table)
        .note(verdict)
}

fn gap_section(gap: Gap) -> Section {
    let cell = |value: f64| Cell::from(value).not_private(FROM_DATA);
    Section::new("Training and test loss")
        .text(
            "A model that does much better on what it was trained on has learned it by heart. A small gap \
             proves nothing.",
        )
        .table(Table::new("audit-gap", ["training loss", "test loss", "gap"]).row([
            cell(gap.train),
            cell(gap.test),
            cell(gap.gap),
        ]))
}

/// A bound from below is rounded down.
fn low(epsilon: f64) -> String {
    organza_report::describe::number(below(epsilon, 4))
}

/// A p-value that is too small for any number is said to be so.
fn shown_p(value: f64) -> String {
    if value < 1e-300 { "below 1e-300".to_owned() } else { near(value) }
}
