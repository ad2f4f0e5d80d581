//! What an audit found, for programs: `audit.json`.

use crate::bound::lower_bound;
use crate::chi_squared::{BINS, Uniformity};
use crate::guess::Guessed;
use crate::rank::Among;
use organza_ledger::{Neighbouring, Unit};
use organza_report::describe::number;
use organza_report::digits::{below, cost, near};
use serde::{Deserialize, Serialize};

/// The version of `audit.json` that this library writes.
pub(crate) const REPORT_VERSION: u64 = 1;

/// What an audit of a run found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditReport {
    /// The version of the format.
    pub version: u64,
    /// What was audited.
    #[serde(default)]
    pub model: Audited,
    /// What the run promises, from its certificate.
    pub promise: Promise,
    /// The test of ranks, if canaries were inserted for it.
    pub ranks: Option<RankEvidence>,
    /// The lower bound on epsilon, if canaries were inserted for it.
    pub lower_bound: Option<LowerBoundEvidence>,
    /// The gap between training and test loss; none where nothing was held out, and of a typeahead. *Not private.*
    pub gap: Option<Gap>,
    /// The fields that come from the data without a charge. Ranks and the lower bound are made of
    /// synthetic phrases and of the model, so they are private if the model is.
    pub not_private: Vec<String>,
}

/// The kinds of models that can be audited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Audited {
    /// Word vectors.
    #[default]
    WordVectors,
    /// A typeahead.
    Typeahead,
}

impl Audited {
    /// The command that makes one.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::WordVectors => "organza train",
            Self::Typeahead => "organza typeahead",
        }
    }

    /// What one insertion of a phrase is.
    pub(crate) fn insertion(self, unit: Unit) -> String {
        match (self, unit) {
            (Self::WordVectors, _) => "a line of its own".to_owned(),
            (Self::Typeahead, Unit::User) => "all that one more writer wrote".to_owned(),
            (Self::Typeahead, unit) => format!("a {unit} of its own"),
        }
    }

    /// The name of a unit, where people read it.
    pub(crate) fn unit(self, unit: Unit) -> String {
        match (self, unit) {
            (Self::Typeahead, Unit::User) => "writer".to_owned(),
            (_, unit) => unit.to_string(),
        }
    }
}

impl AuditReport {
    /// The name of a unit of the run.
    pub(crate) fn unit(&self) -> String {
        self.model.unit(self.promise.unit)
    }
}

/// What a run promises: the part of its certificate that an audit speaks about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Promise {
    /// The method.
    pub method: String,
    /// Whether there is a guarantee at all.
    pub private: bool,
    /// The accountant's upper bound; none without privacy.
    pub epsilon: Option<f64>,
    /// The probability of exceeding it.
    pub delta: Option<f64>,
    /// The relation that it speaks about.
    pub neighbouring: Neighbouring,
    /// What is protected as one.
    pub unit: Unit,
    /// The number of steps.
    pub steps: u64,
}

/// The test of ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankEvidence {
    /// How often each phrase was inserted (n_c).
    pub repeats: u64,
    /// How many units of privacy that is: with pairs as units, a phrase is several of them each time.
    pub units_of_a_phrase: u64,
    /// What phrases were ranked among.
    pub among: Among,
    /// Phrases that were inserted.
    pub inserted: RankSummary,
    /// Phrases of the same law that were never inserted.
    pub control: RankSummary,
    /// 1 / n_c, *the paper's heuristic*: "empirical epsilon" above it where the test rejects, below it
    /// where it does not. It bounds epsilon neither from above nor from below.
    pub heuristic_epsilon: f64,
}

/// The ranks of many phrases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankSummary {
    /// How many phrases.
    pub phrases: u64,
    /// How many stand in each tenth, from least to most favoured by the model.
    pub histogram: [u64; BINS],
    /// How far that is from uniform.
    #[serde(flatten)]
    pub uniformity: Uniformity,
    /// Whether the p-value is below 0.01, where the paper draws the line.
    pub rejects: bool,
    /// The mean exposure in bits; 1.44 for phrases that the model knows nothing of.
    pub mean_exposure: f64,
    /// The largest exposure in bits.
    pub largest_exposure: f64,
}

/// The lower bound on epsilon from one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LowerBoundEvidence {
    /// How guesses came out.
    #[serde(flatten)]
    pub guessed: Guessed,
    /// The delta that the bound is for: the promised one.
    pub delta: f64,
    /// The probability, at least, with which the bound holds.
    pub confidence: f64,
    /// Training is not (epsilon, delta)-differentially private for any epsilon below this.
    pub epsilon: f64,
    /// The accountant's upper bound for the same unit; none without privacy.
    pub promised: Option<f64>,
    /// Whether the bound is above what was promised.
    pub refutes_promise: bool,
}

impl LowerBoundEvidence {
    /// What the guesses show, and what they could have shown at the most.
    pub fn in_words(&self) -> String {
        let Guessed { canaries, guesses, correct } = self.guessed;
        let low = |epsilon| number(below(epsilon, 4));
        let confidence = near(100.0 * self.confidence);
        if self.epsilon > 0.0 {
            return format!(
                "{correct} of {guesses} guesses were right, more than a coin gets: epsilon is at least {} at delta {}, \
                 with {confidence} % confidence",
                low(self.epsilon),
                cost(self.delta)
            );
        }
        let most = lower_bound(canaries, guesses, guesses, self.delta, 1.0 - self.confidence);
        format!(
            "{correct} of {guesses} guesses were right, which a coin gets as well: no leak was found, at {confidence} % \
             confidence. This test cannot see every leak: all {guesses} right would have shown an epsilon of {}",
            low(most)
        )
    }
}

/// The gap between training and test loss. *Not private.*
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// The mean loss of training samples, canaries included.
    pub train: f64,
    /// The mean loss of test samples.
    pub test: f64,
    /// Test loss less training loss.
    pub gap: f64,
}
