//! `organza train`: from text and a budget to word vectors, a certificate and a report.

mod options;

use crate::command::shard::Begin;
use crate::running::{RunOptions, Runnable, Trained, note_doubts};
use crate::summary::{Figure, ModelSummary, show};
use crate::usage::UsageError;
use crate::{arguments::Arguments, handed::HandedData, output::Output};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory};
pub(crate) use options::{BudgetAndMethod, Options};
use organza_train::Failure;
use organza_words::settings::{Method, Settings};
use organza_words::{Text, Words};
use std::path::PathBuf;

const PROMISE: &str = "\
Train word vectors with differential privacy

Without a flag it trains on the built-in corpus, which is synthetic, at epsilon 3. With --data it \
trains on your text, one unit a line.

Private by default: the vectors and everything else in the run folder, except what is named below. \
Training has noise calibrated to --epsilon and --delta (or as --noise-multiplier says); even the \
number of units is released with a charge. What you declare public (--units, --vocabulary \
declared-public, --vocabulary-file) is used as it is and stands on the certificate.

Not private: the losses (metrics.jsonl, summary.json, report.html with figures/ and tables/), timings, memory and remarks about \
the text come from the data without noise and are marked wherever they are shown. A run with --seed or --method none \
has no guarantee at all. The folder private/ holds the key of the noise and is deleted at the end, except \
for canaries, which are synthetic.";

const EXAMPLES: &str = "\
Examples:
  organza train
  organza train --data reviews.txt --vocabulary-file words.txt --epsilon 3 --out run
  organza train --data reviews.txt --vocabulary private --vocabulary-file words.txt
  organza train --data brown.tgz --preset paper --method sparse --select exponential --seed 1
  organza train --settings run/settings.json --epsilon 8 --out run-8
  organza train --data reviews.txt --epsilon 3 --ledger reviews.ledger

A run that was stopped, by Ctrl-C or worse, goes on with `organza resume`.";

/// Train word vectors with differential privacy
#[derive(Args, Debug)]
#[command(long_about = PROMISE, after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct Train {
    #[command(flatten)]
    asked: BudgetAndMethod,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    running: RunOptions,
    /// The folder of the run
    #[arg(long, value_name = "FOLDER", default_value = "organza-run", help_heading = "Run")]
    out: PathBuf,
}

impl Train {
    pub(crate) fn run_on(self, handed: HandedData, output: &Output) -> anyhow::Result<()> {
        let settings = self.checked(output)?;
        let why = self.options.why(&self.asked, &settings);
        note_doubts(&settings, output);
        let begin = || {
            let session = RunOptions::begin::<Words>(settings, &self.out, handed, output)?;
            if let Some(why) = why {
                output.note(why);
            }
            Ok(session)
        };
        self.running.train(&self.out, output, begin, show)
    }
}

impl Train {
    /// Begins a run that is made of shards.
    pub(crate) fn begin_shards(self, begin: &Begin, output: &Output) -> anyhow::Result<()> {
        let settings = self.checked(output)?;
        note_doubts(&settings, output);
        begin.run::<Words>(settings, &self.out, &self.running, output)
    }

    fn checked(&self, output: &Output) -> anyhow::Result<Settings> {
        let settings = self.options.settings(&self.asked)?;
        if let Some(problem) = self.options.contradiction(&self.asked, &settings) {
            wrong_usage(ErrorKind::ArgumentConflict, &problem, output)?;
        }
        if let Err(problem) = settings.check() {
            wrong_usage(ErrorKind::ValueValidation, &problem.to_string(), output)?;
        }
        Ok(settings)
    }
}

/// Ends the program as the parser itself does, unless it is another program that runs this.
fn wrong_usage(kind: ErrorKind, problem: &str, output: &Output) -> anyhow::Result<()> {
    if output.caller().is_some() {
        return Err(UsageError::new(problem, "see `organza train --help`").into());
    }
    let mut command = Arguments::command();
    command.build();
    match command.find_subcommand_mut("train") {
        Some(train) => train.error(kind, problem).exit(),
        None => command.error(kind, problem).exit(),
    }
}

const NOTHING_LEARNED: &str = "nothing was learned: the test loss is no better than that of word frequencies. Fewer words \
    (--vocabulary-size), a larger epsilon or more text would help, and so would a smaller unit, if its promise is enough";

impl Runnable for Words {
    fn data(settings: &Settings, handed: HandedData) -> Result<Text, Failure> {
        let source = handed.text(&settings.data, settings.privacy.unit)?;
        Text::read(settings, source.as_ref())
    }

    fn summary(trained: &Trained<Self>, _: &Output) -> ModelSummary {
        let Trained { settings, finished, .. } = trained;
        let losses = finished.curve.last().map(|point| point.losses);
        let simple = finished.model.frequency_loss;
        let select = (settings.method == Method::Sparse).then_some(settings.selection.rule);
        ModelSummary {
            figures: vec![
                Figure::private("select", select).named("selection").if_any(),
                Figure::measured("train_loss", "training loss", losses.map(|it| it.train), ""),
                Figure::measured(
                    "validation_loss",
                    "validation loss",
                    losses.map(|it| it.validation),
                    "",
                ),
                Figure::measured("test_loss", "test loss", losses.map(|it| it.test), ""),
                Figure::measured("frequency_loss", "word frequencies", simple, ""),
            ],
            nothing_learned: losses.is_some_and(|it| it.test >= simple).then_some(NOTHING_LEARNED),
            file: (
                "vectors.txt",
                "word vectors for word2vec readers; vectors.bin, the same, binary",
            ),
            next: "organza nearest RUN WORD",
        }
    }
}
