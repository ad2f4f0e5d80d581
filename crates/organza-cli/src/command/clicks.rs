//! `organza clicks`: from rows of clicks and a budget to a click model, a certificate and a report.

use crate::command::ledger::LedgerOptions;
use crate::command::shard::Begin;
use crate::handed::{HandedData, OTHER};
use crate::names::{form_parser, named, optimizer_parser, rule_parser};
use crate::output::Output;
use crate::running::{RunOptions, Runnable, Trained, note_doubts};
use crate::summary::{Figure, ModelSummary};
use crate::usage::{UsageError, needed};
use clap::Args;
use organza_clicks::{
    ClickData, ClickReader, ClickRun, DataSettings, LARGEST_NUMBER, Method, Model, Quality,
    Settings, features,
};
use organza_data::sparse::{Categories, Column, Columns};
use organza_data::table::{TableForm, number};
use organza_mechanism::{By, SelectionRule};
use organza_train::{Failure, OptimizerName};
use std::path::PathBuf;

/// The budget unless told otherwise.
const EPSILON: f64 = 3.0;
/// Buckets of a column unless asked otherwise.
const BUCKETS: u64 = 1_000;

const PROMISE: &str = "\
Make a click model from rows with differential privacy

Without a flag it learns from made-up rows of 20,000 users at epsilon 3. With --data it reads a table: which column says whether it was \
clicked, which are numbers, which are categories, and whose row it is. With --user-column all rows of a user are protected as \
one; without it each row alone.

Private by default: the model and everything else in the run folder, except what is named below. Categories are hashed into \
buckets by a public hash, and numbers become log(1 + x), divided by that of a declared maximum, so that nothing has to be learned from the data \
first.

Not private: AUC, losses, calibration, timings and remarks about the data come from the data without noise and are marked \
wherever they are shown. A run with --seed or --method none has no guarantee at all.";

const EXAMPLES: &str = "\
Examples:
  organza clicks --out clicks
  organza clicks --data shown.csv --label-column clicked --user-column user --category ad --category site \\
    --number seen --number paid=500 --epsilon 1 --out run
  organza clicks --data train.tsv --test test.tsv --criteo --epsilon 1 --out run
  organza predict run --data new.tsv
  organza clicks --method one-shot-dpsgd --model factorisation-machine --out run

Methods:
  one-shot        noisy counts and moments, released once: a logistic regression
  one-shot-dpsgd  the same with a part of the budget, then DP-SGD from there
  dpsgd           DP-SGD
  sparse          private selection of rows or coordinates, noise on these alone
  none            NOT private

Tables: CSV, TSV, JSON lines (all plain, gzip or zstd), Parquet or Arrow, or a folder of such, by the names of the files or --format.";

/// Make a click model from rows with differential privacy
#[derive(Args, Debug)]
#[command(long_about = PROMISE, after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct Clicks {
    #[command(flatten)]
    rows: Rows,
    #[command(flatten)]
    training: Training,
    /// The budget [default: 3]
    #[arg(
        long,
        value_name = "EPSILON",
        conflicts_with = "noise_multiplier",
        help_heading = "Privacy"
    )]
    epsilon: Option<f64>,
    /// The probability that the promise fails; well below one over the number of units
    #[arg(long, value_name = "DELTA", default_value_t = 1e-6, help_heading = "Privacy")]
    delta: f64,
    /// The deviation of all noise over the sensitivity, instead of a budget (one-shot)
    #[arg(long, value_name = "SIGMA", help_heading = "Privacy")]
    noise_multiplier: Option<f64>,
    /// Declare that the number of units is public; otherwise methods with steps release it with a charge
    #[arg(long, value_name = "NUMBER", help_heading = "Privacy")]
    units: Option<u64>,
    #[command(flatten)]
    ledger: LedgerOptions,
    /// A seed makes the run reproducible and NOT private
    #[arg(long, value_name = "NUMBER", help_heading = "Run")]
    seed: Option<u64>,
    #[command(flatten)]
    running: RunOptions,
    /// The folder of the run
    #[arg(long, value_name = "FOLDER", default_value = "organza-clicks", help_heading = "Run")]
    out: PathBuf,
}

/// The rows.
#[derive(Args, Debug)]
#[command(next_help_heading = "Rows")]
struct Rows {
    /// The rows to learn from, a table [default: made-up rows]
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Rows to measure the model with, in the same form
    #[arg(long, value_name = "FILE", requires = "data")]
    test: Option<PathBuf>,
    /// The form of the table [default: by the name of the file]
    #[arg(long, requires = "data", value_parser = form_parser())]
    format: Option<TableForm>,
    /// Criteo's format: a label, 13 numbers and 26 categories, with tabs between and no header
    #[arg(
        long,
        requires = "data",
        conflicts_with_all = ["format", "label_column", "user_column", "number", "category", "private_category"]
    )]
    criteo: bool,
    /// The column that says whether it was clicked: 1 or 0, true or false, yes or no
    #[arg(long, value_name = "COLUMN", requires = "data")]
    label_column: Option<String>,
    /// The column that says whose row it is: all rows of a user are then protected as one
    #[arg(long, value_name = "COLUMN", requires = "data")]
    user_column: Option<String>,
    /// A column of counts or amounts; what counts as 1 is declared, 10000 unless you say it
    #[arg(long, value_name = "COLUMN[=MOST]", requires = "data")]
    number: Vec<String>,
    /// A column of categories, hashed into buckets
    #[arg(long, value_name = "COLUMN", requires = "data")]
    category: Vec<String>,
    /// A column of categories of which those that many units have are released, with a charge; all others share a feature
    #[arg(long, value_name = "COLUMN", requires = "data")]
    private_category: Vec<String>,
    /// Buckets of each column of categories [default: 1000]
    #[arg(long, value_name = "NUMBER", requires = "data")]
    buckets: Option<u64>,
    /// End with an error at a row that cannot be used, instead of leaving it out: the error shows that it is there, which
    /// the promise does not cover
    #[arg(long, requires = "data")]
    strict: bool,
}

/// What is trained, and how.
#[derive(Args, Debug)]
#[command(next_help_heading = "Model")]
struct Training {
    /// How it is trained [default: one-shot; of a factorisation machine one-shot-dpsgd]
    #[arg(long, value_parser = named::<Method>(Method::NAMES))]
    method: Option<Method>,
    /// What is trained
    #[arg(long, value_parser = named::<Model>(Model::NAMES), default_value = Model::NAMES[0])]
    model: Model,
    /// The dimensions of the vectors of a factorisation machine [default: 8]
    #[arg(long, value_name = "NUMBER")]
    dimensions: Option<u64>,
    /// The share of epsilon that one-shot-dpsgd spends on counts
    #[arg(long, value_name = "SHARE")]
    start_share: Option<f64>,
    /// Of what counts get, the part for clicks and views of buckets; moments get the rest
    #[arg(long, value_name = "SHARE")]
    bucket_share: Option<f64>,
    /// At most this many rows of a user count in a step [default: 16]
    #[arg(long, value_name = "ROWS")]
    per_unit: Option<u64>,
    /// The expected number of units in a batch
    #[arg(long, value_name = "UNITS")]
    batch: Option<f64>,
    /// How often each unit is seen, in expectation
    #[arg(long, value_name = "TIMES", conflicts_with = "steps")]
    epochs: Option<f64>,
    /// The number of steps, instead of epochs
    #[arg(long, value_name = "NUMBER")]
    steps: Option<u64>,
    /// The clip of a unit's gradient (S1)
    #[arg(long, value_name = "S1")]
    clip: Option<f64>,
    /// How parameters move
    #[arg(long, value_parser = optimizer_parser())]
    optimizer: Option<OptimizerName>,
    /// The step size
    #[arg(long, value_name = "RATE")]
    learning_rate: Option<f32>,
    /// How `sparse` selects [default: exponential]
    #[arg(long, value_name = "RULE", value_parser = rule_parser())]
    select: Option<SelectionRule>,
    /// What `sparse` selects: whole rows or single coordinates [default: row]
    #[arg(long, value_name = "WHAT", value_parser = named::<By>(["coordinate", "row"]))]
    by: Option<By>,
    /// The share of the rows or coordinates that `sparse` selects in a step
    #[arg(long, value_name = "SHARE", conflicts_with = "draws")]
    gamma: Option<f64>,
    /// How many rows or coordinates `sparse` selects in a step
    #[arg(long, value_name = "NUMBER")]
    draws: Option<u64>,
    /// The share of the budget that selection gets [default: 0.1]
    #[arg(long, value_name = "SHARE")]
    share: Option<f64>,
}

impl Clicks {
    pub(crate) fn run_on(self, handed: HandedData, output: &Output) -> anyhow::Result<()> {
        let settings = self.checked(output)?;
        self.running.run::<ClickRun>(settings, &self.out, handed, output)
    }

    /// Begins a run that is made of shards.
    pub(crate) fn begin_shards(self, begin: &Begin, output: &Output) -> anyhow::Result<()> {
        let settings = self.checked(output)?;
        begin.run::<ClickRun>(settings, &self.out, &self.running, output)
    }

    pub(crate) fn checked(&self, output: &Output) -> anyhow::Result<Settings> {
        let settings = self.settings()?;
        let protects = self.epsilon.is_some() || self.noise_multiplier.is_some();
        if protects && !settings.method.is_private() {
            return Err(UsageError::not_private("a budget", settings.method).into());
        }
        settings.check().map_err(|error| UsageError::setting(&error))?;
        if !settings.method.is_private() {
            output.note("method none: this run is NOT private");
        } else if settings.data.is_some() && settings.by_row() {
            output.note(
                "each row is protected alone: a person with several is protected less; say whose they are with --user-column",
            );
        }
        note_doubts(&settings, output);
        Ok(settings)
    }

    fn settings(&self) -> Result<Settings, UsageError> {
        let Training { method, model, .. } = self.training;
        let method = method.unwrap_or(match model {
            Model::Logistic => Method::default(),
            Model::FactorisationMachine => Method::OneShotDpsgd,
        });
        let (data, epsilon) = (self.rows.settings()?, self.epsilon.unwrap_or(EPSILON));
        let mut settings = Settings::new(data, method, epsilon, self.delta);
        settings.model = model;
        if self.noise_multiplier.is_some() {
            settings.privacy.epsilon = None;
            settings.privacy.noise_multiplier = self.noise_multiplier;
        }
        settings.privacy.units = self.units;
        (settings.ledger, settings.seed) = (self.ledger.settings(), self.seed);
        self.training.change(&mut settings);
        Ok(settings)
    }
}

impl Training {
    /// Takes over what was given.
    fn change(&self, settings: &mut Settings) {
        fn set<T: Copy>(place: &mut T, given: Option<T>) {
            *place = given.unwrap_or(*place);
        }
        set(&mut settings.dimensions, self.dimensions);
        set(&mut settings.rules.start_share, self.start_share);
        set(&mut settings.rules.bucket_share, self.bucket_share);
        set(&mut settings.privacy.per_unit, self.per_unit);
        let training = &mut settings.training;
        set(&mut training.batch, self.batch);
        set(&mut training.epochs, self.epochs);
        set(&mut training.clip, self.clip);
        training.steps = self.steps;
        let rate = self.learning_rate.unwrap_or(training.optimizer.learning_rate());
        if let Some(optimizer) = self.optimizer {
            training.optimizer = optimizer.at(rate);
        }
        training.optimizer = training.optimizer.with_learning_rate(rate);
        let selection = &mut settings.selection;
        set(&mut selection.rule, self.select);
        set(&mut selection.by, self.by);
        set(&mut selection.gamma, self.gamma);
        set(&mut selection.share, self.share);
        selection.draws = self.draws;
    }
}

impl Rows {
    fn settings(&self) -> Result<Option<DataSettings>, UsageError> {
        let Some(path) = &self.data else { return Ok(None) };
        let buckets = self.buckets.unwrap_or(BUCKETS);
        let reader = match self.criteo {
            true => ClickReader::criteo(buckets),
            false => self.reader(buckets)?,
        };
        let (path, test) = (path.clone(), self.test.clone());
        Ok(Some(DataSettings { path, test, reader, strict: self.strict }))
    }

    fn reader(&self, buckets: u64) -> Result<ClickReader, UsageError> {
        let what = "the column that says whether it was clicked, or --criteo";
        let label = needed(self.label_column.clone(), "--label-column", what)?;
        if self.category.is_empty() && self.private_category.is_empty() {
            let problem = "no column of categories is named, and a click model needs one";
            return Err(UsageError::new(problem, "name each with --category"));
        }
        let numbers = self.number.iter().map(|word| match word.split_once('=') {
            None => Ok((word.clone(), LARGEST_NUMBER)),
            Some((name, most)) => match number(most).filter(|most| *most > 0.0) {
                Some(most) => Ok((name.to_owned(), most)),
                None => Err(UsageError::value("--number", word, "COLUMN=MOST, above 0")),
            },
        });
        let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
        let columns = Columns {
            label: Some(label),
            group: self.user_column.clone(),
            features: features(numbers, self.category.clone(), buckets)
                .into_iter()
                .chain(self.private_category.iter().cloned().map(secret))
                .collect(),
            ..Columns::default()
        };
        Ok(ClickReader { format: self.format, header: None, columns })
    }
}

/// A column whose categories are released.
fn secret(name: String) -> Column {
    Column::Categorical { name, categories: Categories::Private }
}

const NOTHING_LEARNED: &str = "nothing was learned: the loss is no better than that of a constant. More users, a larger epsilon or \
    fewer buckets would help";

impl Runnable for ClickRun {
    fn data(settings: &Settings, handed: HandedData) -> Result<ClickData, Failure> {
        match handed {
            HandedData::Nothing => ClickData::read(settings),
            HandedData::Table(table) => ClickData::of_table(settings, &table),
            HandedData::Histories(..) | HandedData::Rows(..) => Err(OTHER.into()),
        }
    }

    fn summary(trained: &Trained<Self>, _: &Output) -> ModelSummary {
        let Trained { settings, finished, .. } = trained;
        let (train, test) = (&finished.model.train, &finished.model.test);
        let Quality { auc, log_loss, constant_loss, expected_over_observed, .. } =
            test.as_ref().unwrap_or(train);
        let part = if test.is_some() { "test" } else { "training" };
        let named = |what: &str| format!("{part} {what}");
        let is_none = log_loss.zip(*constant_loss).is_some_and(|(loss, constant)| loss >= constant);
        ModelSummary {
            figures: vec![
                Figure::private("model", settings.model).named("model"),
                Figure::private("parameters", finished.model.model.parameters()),
                Figure::measured("auc", &named("AUC"), *auc, ""),
                Figure::measured("log_loss", &named("log loss"), *log_loss, ""),
                Figure::measured("constant_loss", "of a constant", *constant_loss, ""),
                Figure::measured(
                    "expected_over_observed",
                    "expected over observed clicks",
                    *expected_over_observed,
                    "",
                ),
                Figure::not_private("train", train),
                Figure::not_private("test", test),
            ],
            nothing_learned: is_none.then_some(NOTHING_LEARNED),
            file: (organza_clicks::MODEL, "the weights"),
            next: "organza predict RUN --data new-rows",
        }
    }
}
