//! `organza recommender`: from events and a budget to a recommender, a certificate and a report.

use crate::command::ledger::LedgerOptions;
use crate::command::shard::Begin;
use crate::handed::{HandedData, OTHER};
use crate::names::{form_parser, named};
use crate::output::Output;
use crate::running::{RunOptions, Runnable, Trained, note_doubts};
use crate::summary::{Figure, ModelSummary};
use crate::usage::UsageError;
use clap::Args;
use organza_data::table::TableForm;
use organza_recommend::quality::Quality;
use organza_recommend::settings::{EventSettings, NewestEvents, WeightColumn};
use organza_recommend::{Method, RecommenderData, RecommenderRun, Rules, Settings};
use organza_train::{Application, Failure};
use std::path::PathBuf;

/// The budget unless told otherwise.
const EPSILON: f64 = 3.0;

const PROMISE: &str = "\
Make a recommender from events with differential privacy

Without a flag it learns from a built-in synthetic shop at epsilon 3. With --data it reads a table of events: who \
(--user-column) and what (--item-column). The unit is the person: all of their events together.

Private by default: the model, the items and everything else in the run folder, except what is named below. Which items \
occur is private too, unless --items declares them. The number of persons is not released.

Not private: the quality, timings and remarks about the data come from the data without noise and are marked \
wherever they are shown. A run with --seed, --method ease or --method low-rank has no guarantee at all. The history that is sent to `organza recommend` is not \
protected by anything: ask for recommendations where it is kept.";

const EXAMPLES: &str = "\
Examples:
  organza recommender --out shop
  organza recommend shop tent 'hiking boots'
  organza recommender --data purchases.csv --user-column customer --item-column article --epsilon 1 --out run
  organza recommender --data ratings.csv --user-column user --item-column film --items films.txt --titles films.txt \\
    --weight-column stars --full-weight 5 --time-column when --last 200 --out run
  organza recommender --method als --out als

Methods (all but the first are there for comparison):
  spectrum    what stands out of the noise of a table of item pairs
  popularity  what everybody likes, and nothing else
  covariance  a noisy covariance of items (McSherry and Mironov 2009)
  als         private alternating least squares (Chien et al. 2021)
  dpsgd       matrix factorisation by DP-SGD
  ease        regression of each item on all others (Steck 2019), NOT private
  low-rank    the leading eigenvectors of the table of pairs, NOT private

Tables: CSV, TSV, JSON lines (all plain, gzip or zstd), Parquet or Arrow, or a folder of such, by the names of the files or --format.";

/// Make a recommender from events with differential privacy
#[derive(Args, Debug)]
#[command(long_about = PROMISE, after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct Recommender {
    /// A table of events [default: a built-in synthetic shop]
    #[arg(long, value_name = "FILE", requires = "user_column", requires = "item_column")]
    data: Option<PathBuf>,
    /// The form of the table [default: by the name of the file]
    #[arg(long, requires = "data", value_parser = form_parser())]
    format: Option<TableForm>,
    /// The column that says who
    #[arg(long, value_name = "NAME", requires = "data")]
    user_column: Option<String>,
    /// The column that says what
    #[arg(long, value_name = "NAME", requires = "data")]
    item_column: Option<String>,
    /// The column that says how much, if all events are not alike: positive numbers
    #[arg(long, value_name = "NAME", requires = "data", requires = "full_weight")]
    weight_column: Option<String>,
    /// The weight that counts in full, which is declared public; larger ones are taken for it
    #[arg(long, value_name = "WEIGHT", requires = "weight_column")]
    full_weight: Option<f64>,
    /// The column that says when, for --last: numbers, or dates like 2026-01-31
    #[arg(long, value_name = "NAME", requires = "data", requires = "last")]
    time_column: Option<String>,
    /// Count only this many of a person's newest items
    #[arg(long, value_name = "NUMBER", requires = "time_column")]
    last: Option<usize>,
    /// A file that names all items, one a line, which declares them public [default: which items occur is private]
    #[arg(long, value_name = "FILE", requires = "data")]
    items: Option<PathBuf>,
    /// A public file of titles: item, tab, title
    #[arg(long, value_name = "FILE")]
    titles: Option<PathBuf>,
    /// How it is made
    #[arg(long, value_parser = named::<Method>(Method::NAMES), default_value = Method::NAMES[0])]
    method: Method,
    /// The budget [default: 3]
    #[arg(
        long,
        value_name = "EPSILON",
        conflicts_with = "noise_multiplier",
        help_heading = "Privacy"
    )]
    epsilon: Option<f64>,
    /// The probability that the promise fails; well below one over the number of persons
    #[arg(long, value_name = "DELTA", default_value_t = 1e-6, help_heading = "Privacy")]
    delta: f64,
    /// The deviation of all noise over the sensitivity, instead of a budget
    #[arg(long, value_name = "SIGMA", help_heading = "Privacy")]
    noise_multiplier: Option<f64>,
    /// The part of the budget for the counts of items
    #[arg(long, value_name = "PART", help_heading = "Privacy")]
    item_share: Option<f64>,
    /// The most items of the model
    #[arg(long, value_name = "NUMBER", help_heading = "Privacy")]
    most_items: Option<usize>,
    #[command(flatten)]
    ledger: LedgerOptions,
    /// A seed makes the run reproducible and NOT private
    #[arg(long, value_name = "NUMBER", help_heading = "Run")]
    seed: Option<u64>,
    #[command(flatten)]
    running: RunOptions,
    /// The folder of the run
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = "organza-recommender",
        help_heading = "Run"
    )]
    out: PathBuf,
}

impl Recommender {
    pub(crate) fn run_on(self, handed: HandedData, output: &Output) -> anyhow::Result<()> {
        let settings = self.checked(output)?;
        self.running.run::<RecommenderRun>(settings, &self.out, handed, output)
    }

    /// Begins a run that is made of shards.
    pub(crate) fn begin_shards(self, begin: &Begin, output: &Output) -> anyhow::Result<()> {
        let settings = self.checked(output)?;
        begin.run::<RecommenderRun>(settings, &self.out, &self.running, output)
    }

    fn checked(&self, output: &Output) -> anyhow::Result<Settings> {
        if let Some(flag) = self.meaningless() {
            return Err(UsageError::not_private(flag, self.method).into());
        }
        let settings = self.settings();
        settings.check().map_err(|error| UsageError::setting(&error))?;
        if !self.method.is_private() {
            output.note(format!("method {}: this run is NOT private", self.method));
        }
        note_doubts(&settings, output);
        Ok(settings)
    }

    /// A flag that promises what the method does not keep.
    fn meaningless(&self) -> Option<&'static str> {
        let flags = [
            ("--epsilon", self.epsilon.is_some()),
            ("--noise-multiplier", self.noise_multiplier.is_some()),
            ("--item-share", self.item_share.is_some()),
        ];
        let given = flags.iter().find(|(_, given)| *given && !self.method.is_private());
        given.map(|(flag, _)| *flag)
    }

    fn settings(&self) -> Settings {
        let data = match (&self.data, &self.user_column, &self.item_column) {
            (Some(path), Some(user), Some(item)) => Some(EventSettings {
                path: path.clone(),
                format: self.format,
                user: user.clone(),
                item: item.clone(),
                weight: self
                    .weight_column
                    .clone()
                    .zip(self.full_weight)
                    .map(|(column, full)| WeightColumn { column, full }),
                newest: self
                    .time_column
                    .clone()
                    .zip(self.last)
                    .map(|(column, last)| NewestEvents { column, last }),
            }),
            _ => None,
        };
        let usual = Settings::new(data, self.epsilon.unwrap_or(EPSILON), self.delta);
        let mut privacy = usual.privacy;
        if self.noise_multiplier.is_some() {
            privacy.epsilon = None;
            privacy.noise_multiplier = self.noise_multiplier;
        }
        let rules = Rules {
            item_share: self.item_share.unwrap_or(usual.rules.item_share),
            most_items: self.most_items.unwrap_or(usual.rules.most_items),
        };
        Settings {
            method: self.method,
            items: self.items.clone(),
            titles: self.titles.clone(),
            rules,
            privacy,
            ledger: self.ledger.settings(),
            seed: self.seed,
            ..usual
        }
    }
}

const NOTHING_LEARNED: &str = "nothing was learned of tastes: recommendations find no more than what everybody likes does. More \
    persons or a larger epsilon would help";

impl Runnable for RecommenderRun {
    fn data(settings: &Settings, handed: HandedData) -> Result<RecommenderData, Failure> {
        match (handed, &settings.data) {
            (HandedData::Table(table), Some(data)) => {
                RecommenderData::of_table(settings, data, &table)
            }
            (HandedData::Histories(histories, names), _) => {
                RecommenderData::declared(histories, names).with_titles(settings)
            }
            (HandedData::Nothing, _) => Self::read(settings),
            _ => Err(OTHER.into()),
        }
    }

    fn summary(trained: &Trained<Self>, _: &Output) -> ModelSummary {
        let Trained { settings, finished, .. } = trained;
        let (saved, quality) = (&finished.model.saved, finished.model.quality);
        let (private, rank) =
            (finished.certificate.private, saved.choice.as_ref().map(|it| it.eigenvalues.len()));
        let Quality { persons, recall, popular_recall, .. } = quality;
        let found = format!("{recall:.3}, by popularity {popular_recall:.3}");
        let is_none =
            settings.method != Method::Popularity && persons > 0 && recall <= popular_recall;
        ModelSummary {
            figures: vec![
                Figure::private("items", saved.model.items()).in_run(private).named("items"),
                Figure::private("rank", rank).named("directions of taste").if_any(),
                Figure::not_private("quality", quality).shown("Recall@20", found),
            ],
            nothing_learned: is_none.then_some(NOTHING_LEARNED),
            file: ("items.txt", "the items; model.safetensors, what they say of each other"),
            next: "organza recommend RUN ITEM ...",
        }
    }
}
