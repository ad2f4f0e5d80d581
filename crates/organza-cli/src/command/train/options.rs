//! The flags of `organza train`, and the settings that they make.

mod change;

use crate::canaries::CanaryOptions;
use crate::command::ledger::LedgerOptions;
use crate::files;
use crate::names::{method_parser, named, optimizer_parser, rule_parser};
use crate::text::{TextOptions, WordOptions, set, set_some};
use clap::{Args, ValueEnum};
use organza_data::Objective;
use organza_ledger::{Neighbouring, Unit};
use organza_mechanism::{By, SelectionRule};
use organza_model::Layout;
use organza_train::OptimizerName;
use organza_words::settings::{Method, Settings};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    start: Start,
    #[command(flatten)]
    privacy: Privacy,
    #[command(flatten)]
    method: MethodOptions,
    #[command(flatten)]
    counts: Counts,
    #[command(flatten)]
    words: WordOptions,
    #[command(flatten)]
    model: Model,
    #[command(flatten)]
    training: Training,
    #[command(flatten)]
    canaries: CanaryOptions,
}

/// What a single run is asked to do; a comparison tries several.
#[derive(Args, Debug, Default)]
pub(crate) struct BudgetAndMethod {
    /// The budget: noise is calibrated to spend it [default: 3]
    #[arg(long, conflicts_with = "noise_multiplier", help_heading = "Privacy")]
    epsilon: Option<f64>,
    /// Deviation of the noise over sensitivity, instead of a budget; where steps are taken it needs --units
    #[arg(long, value_name = "SIGMA", help_heading = "Privacy")]
    noise_multiplier: Option<f64>,
    /// Release counts once and train on them, take private steps with noise on everything or on what was
    /// privately selected, or no privacy [default: counts, where the model allows it]
    #[arg(long, value_parser = method_parser(), help_heading = "Method")]
    method: Option<Method>,
}

/// Where settings start from.
#[derive(Args, Debug)]
#[command(next_help_heading = "Start from")]
struct Start {
    #[command(flatten)]
    text: TextOptions,
    /// How many distinct words the built-in corpus can have, to see what width costs [default: 300]
    #[arg(long, value_name = "NUMBER", conflicts_with = "data")]
    synthetic_words: Option<usize>,
    /// How many lines the built-in corpus has [default: 20000]
    #[arg(long, value_name = "NUMBER", conflicts_with = "data")]
    synthetic_lines: Option<u64>,
    /// Settings by name: the paper's section 5, or Brown with whole texts held out
    #[arg(long, value_enum, requires = "data", conflicts_with = "settings")]
    preset: Option<Preset>,
    /// The settings of another run (settings.json); flags change them
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Preset {
    Paper,
    #[value(name = "brown-1k")]
    Brown1k,
}

/// What is promised.
#[derive(Args, Debug)]
#[command(next_help_heading = "Privacy")]
struct Privacy {
    /// The delta of the guarantee, never computed from the data [default: 1e-6]
    #[arg(long)]
    delta: Option<f64>,
    /// What is protected as one: a row or line, a file, or everything of a user [default: user with --user-column,
    /// else line]
    #[arg(long, value_parser = named::<Unit>(["pair", "line", "document", "user"]))]
    unit: Option<Unit>,
    /// At most this many samples of a unit in a step [default: 16]
    #[arg(long, value_name = "SAMPLES")]
    per_unit: Option<u64>,
    /// Declare that the number of training units is public; otherwise it is released with a charge
    #[arg(long, value_name = "NUMBER")]
    units: Option<u64>,
    /// What neighbouring data sets are [default: add-remove]
    #[arg(
        long,
        value_name = "RELATION",
        value_parser = named::<Neighbouring>(["add-remove", "replace-one"])
    )]
    neighbouring: Option<Neighbouring>,
    #[command(flatten)]
    ledger: LedgerOptions,
    /// Make the run repeatable, for tests and research: with a seed it is NOT private
    #[arg(long)]
    seed: Option<u64>,
}

/// How a step is made.
#[derive(Args, Debug)]
#[command(next_help_heading = "Method")]
struct MethodOptions {
    /// How `sparse` selects [default: exponential]
    #[arg(long, value_name = "RULE", value_parser = rule_parser())]
    select: Option<SelectionRule>,
    /// What is selected [default: coordinate]
    #[arg(long, value_parser = named::<By>(["coordinate", "row"]))]
    by: Option<By>,
    /// How many are selected in a step
    #[arg(long, conflicts_with = "gamma")]
    draws: Option<u64>,
    /// The share that is selected in a step [default: 0.001]
    #[arg(long)]
    gamma: Option<f64>,
    /// The guarantee of one draw, instead of a share of the budget
    #[arg(long, value_name = "EPSILON", conflicts_with = "share")]
    selection_epsilon: Option<f64>,
    /// The share of the budget that selection gets [default: 0.1]
    #[arg(long)]
    share: Option<f64>,
    /// The cap on scores (S0) [default: 0.1]
    #[arg(long, value_name = "S0")]
    score_cap: Option<f64>,
    /// The threshold of sparse-vector [default: 0.5]
    #[arg(long)]
    threshold: Option<f64>,
}

/// What is released before any step, and what part of the budget it gets.
#[derive(Args, Debug)]
#[command(next_help_heading = "Counts")]
struct Counts {
    /// The share of the budget that a private vocabulary gets [default: 0.1]
    #[arg(long, value_name = "SHARE")]
    vocabulary_share: Option<f64>,
    /// The share that word counts get, which set the output bias [default: 0.1 for counts, 0.15
    /// with unit pair, else 0]
    #[arg(long, value_name = "SHARE")]
    word_share: Option<f64>,
    /// The share that private steps get after `counts` [default: 0: no steps]
    #[arg(long, value_name = "SHARE")]
    fine_tuning_share: Option<f64>,
    /// The L2 bound of a unit's table of pair counts (units line and user) [default: their
    /// median size, released with a charge]
    #[arg(long, value_name = "NORM")]
    pair_clip: Option<f64>,
    /// The L2 bound of a unit's word counts (units line and user) [default: their
    /// median size, released with a charge]
    #[arg(long, value_name = "NORM")]
    word_clip: Option<f64>,
    /// Release only cells of this many deviations of the noise or more [default: by the number of words]
    #[arg(long, value_name = "DEVIATIONS")]
    bar: Option<f64>,
}

/// What is trained.
#[derive(Args, Debug)]
#[command(next_help_heading = "Model")]
struct Model {
    /// One table for both roles, or two tables with a bias [default: two-tables]
    #[arg(long, value_parser = named::<Layout>(["tied", "two-tables"]))]
    layout: Option<Layout>,
    /// Predict the context from the word, or the word from its context [default: skip-gram]
    #[arg(long, value_parser = named::<Objective>(["skip-gram", "cbow"]))]
    architecture: Option<Objective>,
    /// The length of a vector [default: 100 for counts, else 16]
    #[arg(long)]
    dimensions: Option<usize>,
    /// How many words to each side are context [default: 4]
    #[arg(long)]
    window: Option<u32>,
    /// Negatives a sample, uniform over the vocabulary [default: 8]
    #[arg(long)]
    negatives: Option<u32>,
    /// Start from normal vectors of this deviation, instead of word2vec's uniform ones
    #[arg(long, value_name = "DEVIATION")]
    initial_deviation: Option<f32>,
}

/// How training goes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Training")]
struct Training {
    /// The expected number of units in a batch
    #[arg(long, value_name = "UNITS")]
    batch: Option<f64>,
    /// How often each unit is seen, in expectation
    #[arg(long, conflicts_with = "steps")]
    epochs: Option<f64>,
    /// The number of steps, instead of epochs
    #[arg(long)]
    steps: Option<u64>,
    /// The clip of a unit's gradient (S1)
    #[arg(long, value_name = "S1")]
    clip: Option<f64>,
    /// Let the clip follow the norm that this part of the units is within (`dpsgd`)
    #[arg(long, value_name = "QUANTILE")]
    adaptive_clip: Option<f64>,
    /// The clip of a unit's gradient at each coordinate or row that may be selected (`sparse`)
    #[arg(long, value_name = "CLIP")]
    candidate_clip: Option<f64>,
    /// The clip of what was selected (S2)
    #[arg(long, value_name = "S2")]
    second_clip: Option<f64>,
    /// How parameters move [default: adam]
    #[arg(long, value_parser = optimizer_parser())]
    optimizer: Option<OptimizerName>,
    /// The step size
    #[arg(long, value_name = "RATE")]
    learning_rate: Option<f32>,
    /// Whether the result is the average over the second half of the run [default: false]
    #[arg(long, value_name = "BOOL")]
    average: Option<bool>,
}

impl Options {
    /// The preset or settings file, changed by the flags.
    pub(crate) fn settings(&self, asked: &BudgetAndMethod) -> anyhow::Result<Settings> {
        let mut settings = self.start.settings()?;
        self.privacy.change(&mut settings);
        self.model.change(&mut settings);
        let method = asked.method.unwrap_or(settings.default_method());
        // What suits one method need not suit another; a file of settings for this one stays as it is.
        if self.start.settings.is_none() || method != settings.method {
            settings = settings.suited_to(method);
            self.model.change(&mut settings);
        }
        settings.method = method;
        self.change(asked, &mut settings);
        Ok(settings)
    }

    /// Changes what was given, and nothing else.
    pub(crate) fn change(&self, asked: &BudgetAndMethod, settings: &mut Settings) {
        set(&mut settings.method, &asked.method);
        self.privacy.change(settings);
        self.model.change(settings);
        asked.change(settings);
        self.method.change(settings);
        if asked.epsilon.is_some() && self.method.selection_epsilon.is_none() {
            // A budget calibrates everything, selection too.
            settings.selection.epsilon = None;
        }
        self.counts.change(settings);
        self.words.change(&mut settings.data);
        self.training.change(settings);
        self.canaries.change(&mut settings.canaries);
    }

    /// Why the method is what it is, if nobody chose it.
    pub(super) fn why(&self, asked: &BudgetAndMethod, settings: &Settings) -> Option<&'static str> {
        let chosen = asked.method.is_some() || self.start.settings.is_some();
        match settings.method {
            _ if chosen => None,
            Method::Counts => Some(
                "method counts: counts are released once and training on them is free, which learns \
                 most at a small epsilon; choose another with --method",
            ),
            _ => Some("method dpsgd: counts cannot teach this model; choose another with --method"),
        }
    }

    /// A flag that the method makes meaningless, and what to do about it.
    pub(super) fn contradiction(
        &self,
        asked: &BudgetAndMethod,
        settings: &Settings,
    ) -> Option<String> {
        let pick = |flags: &[(&'static str, bool)]| {
            flags.iter().find(|(_, given)| *given).map(|(flag, _)| *flag)
        };
        let MethodOptions { select, by, draws, gamma, selection_epsilon, .. } = &self.method;
        let MethodOptions { share, score_cap, threshold, .. } = &self.method;
        let candidate_clip = self.training.candidate_clip;
        let selects = pick(&[
            ("--select", select.is_some()),
            ("--by", by.is_some()),
            ("--draws", draws.is_some()),
            ("--gamma", gamma.is_some()),
            ("--selection-epsilon", selection_epsilon.is_some()),
            ("--share", share.is_some()),
            ("--score-cap", score_cap.is_some()),
            ("--threshold", threshold.is_some()),
            ("--candidate-clip", candidate_clip.is_some()),
        ]);
        let protects = pick(&[
            ("--epsilon", asked.epsilon.is_some()),
            ("--noise-multiplier", asked.noise_multiplier.is_some()),
        ]);
        let method = settings.method;
        match (method, selects, protects) {
            (Method::None, _, Some(flag)) => Some(format!(
                "{flag} has no meaning with --method none, which is not private: leave one of them out"
            )),
            (Method::None | Method::Counts | Method::Dpsgd, Some(flag), _) => Some(format!(
                "{flag} is for --method sparse, but the method is {method}: add --method sparse, or \
                 leave {flag} out"
            )),
            _ => self.words.contradiction(&settings.data),
        }
    }
}

impl Start {
    fn settings(&self) -> anyhow::Result<Settings> {
        let mut settings = match (&self.settings, self.preset) {
            (Some(path), _) => files::read_json(path, "is not a settings file of this version")?,
            (None, Some(Preset::Paper)) => Settings::paper(),
            (None, Some(Preset::Brown1k)) => Settings::brown_1k(),
            (None, None) => Settings::standard(),
        };
        if self.text.change(&mut settings.data) {
            settings.privacy.unit = Unit::User;
        }
        if self.synthetic_words.is_some() || self.synthetic_lines.is_some() {
            settings.data.path = None;
            set_some(&mut settings.data.synthetic_words, &self.synthetic_words);
            set_some(&mut settings.data.synthetic_lines, &self.synthetic_lines);
        }
        Ok(settings)
    }
}
