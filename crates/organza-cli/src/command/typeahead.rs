//! `organza typeahead`: from text and a budget to a model that completes what people write, a certificate and a report.

use crate::canaries::CanaryOptions;
use crate::command::ledger::LedgerOptions;
use crate::command::shard::Begin;
use crate::handed::HandedData;
use crate::names::named;
use crate::output::Output;
use crate::running::{RunOptions, Runnable, Trained, note_doubts};
use crate::summary::{Figure, ModelSummary};
use crate::text::{TextOptions, WordOptions};
use crate::usage::UsageError;
use clap::Args;
use organza_data::settings::{DataSettings, SplitSettings};
use organza_ledger::{Neighbouring, Unit};
use organza_train::Failure;
use organza_typeahead::{Method, Settings, Text, TypeaheadRun};
use std::path::PathBuf;

/// The budget unless told otherwise.
const EPSILON: f64 = 3.0;

const PROMISE: &str = "\
Make a model that completes what people write, with differential privacy

Without a flag it learns from the built-in corpus, which is synthetic, at epsilon 3. With --data it reads text: lines of a user, a \
tab and what they wrote, or a table with --text-column and --user-column. The unit is the writer: all of their text together.

Private by default: the model, its words and everything else in the run folder, except what is named below. Which words occur is \
private too, unless --vocabulary-file or --vocabulary declared-public declares them. The number of writers is not released, except with --method dpsgd.

Not private: the quality, which is measured on writers that are held out (--test-share), timings and remarks about the text come from \
the data without noise and are marked wherever they are shown. A run with --seed or --method none has no guarantee \
at all. What is typed to `organza complete` is not protected by anything: complete where it is typed.";

const EXAMPLES: &str = "\
Examples:
  organza typeahead --out keyboard
  organza complete keyboard 'the '
  organza typeahead --data messages.csv --text-column message --user-column writer --epsilon 1 --out run
  organza typeahead --data queries.tsv --text-column query --user-column user --vocabulary-file words.txt --out run
  organza typeahead --data notes.txt --unit line --out run

Methods (all but the first are there for comparison):
  ngrams    words, bigrams and longer n-grams that were released once, order by order
  unigrams  how frequent words are, and nothing else
  dpsgd     a small network trained by DP-SGD
  none      n-grams, NOT private

Tables: CSV, TSV, JSON lines (all plain, gzip or zstd), Parquet or Arrow, or a folder of such, by the names of the files or --format.";

/// Make a model that completes what people write, with differential privacy
#[derive(Args, Debug)]
#[command(long_about = PROMISE, after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct Typeahead {
    #[command(flatten)]
    text: TextOptions,
    #[command(flatten)]
    words: WordOptions,
    /// How it is made
    #[arg(long, value_parser = named::<Method>(Method::NAMES), default_value = Method::NAMES[0], help_heading = "Model")]
    method: Method,
    /// The longest n-grams: 2 for bigrams, 3 for trigrams [default: 3]
    #[arg(long, value_name = "WORDS", help_heading = "Model")]
    order: Option<usize>,
    /// The budget [default: 3]
    #[arg(
        long,
        value_name = "EPSILON",
        conflicts_with = "noise_multiplier",
        help_heading = "Privacy"
    )]
    epsilon: Option<f64>,
    /// The probability that the promise fails; well below one over the number of writers
    #[arg(long, value_name = "DELTA", default_value_t = 1e-6, help_heading = "Privacy")]
    delta: f64,
    /// The deviation of all noise over the sensitivity, instead of a budget
    #[arg(long, value_name = "SIGMA", help_heading = "Privacy")]
    noise_multiplier: Option<f64>,
    /// What is protected as one: everything of a user, a file, or a row or line [default: user; of the built-in corpus line]
    #[arg(long, value_parser = named::<Unit>(["user", "document", "line"]), help_heading = "Privacy")]
    unit: Option<Unit>,
    /// What neighbouring data sets are [default: add-remove]
    #[arg(
        long,
        value_name = "RELATION",
        value_parser = named::<Neighbouring>(["add-remove", "replace-one"]),
        help_heading = "Privacy"
    )]
    neighbouring: Option<Neighbouring>,
    /// The share of the budget that a private vocabulary gets [default: 0.1]
    #[arg(long, value_name = "SHARE", help_heading = "Privacy")]
    vocabulary_share: Option<f64>,
    /// The share of the units that are held out, to measure the quality [default: 0.05]
    #[arg(long, value_name = "SHARE", help_heading = "Privacy")]
    test_share: Option<f64>,
    #[command(flatten)]
    ledger: LedgerOptions,
    #[command(flatten)]
    canaries: CanaryOptions,
    /// A seed makes the run reproducible and NOT private
    #[arg(long, value_name = "NUMBER", help_heading = "Run")]
    seed: Option<u64>,
    #[command(flatten)]
    running: RunOptions,
    /// The folder of the run
    #[arg(long, value_name = "FOLDER", default_value = "organza-typeahead", help_heading = "Run")]
    out: PathBuf,
}

impl Typeahead {
    pub(crate) fn run_on(self, handed: HandedData, output: &Output) -> anyhow::Result<()> {
        let settings = self.checked(output)?;
        self.running.run::<TypeaheadRun>(settings, &self.out, handed, output)
    }

    /// Begins a run that is made of shards.
    pub(crate) fn begin_shards(self, begin: &Begin, output: &Output) -> anyhow::Result<()> {
        let settings = self.checked(output)?;
        begin.run::<TypeaheadRun>(settings, &self.out, &self.running, output)
    }

    fn checked(&self, output: &Output) -> anyhow::Result<Settings> {
        let settings = self.settings();
        let protects = self.epsilon.is_some() || self.noise_multiplier.is_some();
        if protects && !self.method.is_private() {
            return Err(UsageError::not_private("a budget", self.method).into());
        }
        if let Some(problem) = self.words.contradiction(&settings.data) {
            return Err(UsageError::new(problem, "see `organza typeahead --help`").into());
        }
        settings.check().map_err(|error| UsageError::setting(&error))?;
        if !self.method.is_private() {
            output.note(format!("method {}: this run is NOT private", self.method));
        }
        note_doubts(&settings, output);
        Ok(settings)
    }

    fn settings(&self) -> Settings {
        let epsilon = self.epsilon.unwrap_or(EPSILON);
        let mut settings = Settings::new(DataSettings::default(), epsilon, self.delta);
        self.text.change(&mut settings.data);
        self.words.change(&mut settings.data);
        let privacy = &mut settings.privacy;
        // The built-in corpus is nobody's.
        let usual = if settings.data.path.is_some() { Unit::User } else { Unit::Line };
        privacy.unit = self.unit.unwrap_or(usual);
        privacy.neighbouring = self.neighbouring.unwrap_or(privacy.neighbouring);
        if self.noise_multiplier.is_some() {
            privacy.epsilon = None;
            privacy.noise_multiplier = self.noise_multiplier;
        }
        if let Some(test) = self.test_share {
            settings.data.split = SplitSettings::Units { validation: 0.0, test };
        }
        let rules = &mut settings.rules;
        rules.order = self.order.unwrap_or(rules.order);
        rules.vocabulary_share = self.vocabulary_share.unwrap_or(rules.vocabulary_share);
        self.canaries.change(&mut settings.canaries);
        let (method, ledger, seed) = (self.method, self.ledger.settings(), self.seed);
        Settings { method, ledger, seed, ..settings }
    }
}

const NOTHING_LEARNED: &str = "nothing was learned of what follows what: the words that are offered are found no more often than the \
    most frequent ones are. More writers, a larger epsilon or a public vocabulary would help";

impl Runnable for TypeaheadRun {
    fn data(settings: &Settings, handed: HandedData) -> Result<Text, Failure> {
        let source = handed.text(&settings.data, settings.privacy.unit)?;
        Text::read(settings, source.as_ref())
    }

    fn summary(trained: &Trained<Self>, _: &Output) -> ModelSummary {
        let Trained { settings, finished, .. } = trained;
        let (typeahead, quality) = (&finished.model.typeahead, finished.model.quality);
        let private = finished.certificate.private;
        let found = quality.map(|it| {
            format!(
                "first {:.3}, by frequency {:.3}; among three {:.3}",
                it.first, it.first_alone, it.three
            )
        });
        let is_none = settings.method != Method::Unigrams
            && quality.is_some_and(|it| it.words > 0 && it.first <= it.first_alone);
        ModelSummary {
            figures: vec![
                Figure::private("words", typeahead.words().len()).in_run(private).named("words"),
                Figure::not_private("quality", quality)
                    .shown("next word", found.unwrap_or_default()),
            ],
            nothing_learned: is_none.then_some(NOTHING_LEARNED),
            file: ("model.arpa", "the model for KenLM and others; model.safetensors, all of it"),
            next: "organza complete RUN TEXT",
        }
    }
}
