//! `organza linear`: private linear models on sparse rows.

mod bounds;
mod options;

use crate::handed::{HandedData, OTHER};
use crate::output::Output;
use crate::running::{RunOptions, Runnable, Trained, note_doubts};
use crate::summary::{Figure, ModelSummary};
use crate::usage::UsageError;
use bounds::Bounds;
use clap::{Args, Subcommand};
use options::Options;
use organza_erm::{Fitted, LARGEST_INDEX, Linear, LinearData, Loss, Method, Scores, Settings};
use organza_train::Failure;
use std::path::PathBuf;

const PROMISE: &str = "\
Fit a linear model to sparse rows with differential privacy

Without --method it takes the best private one for the model. Everything that shapes the noise is \
declared (--bound, --features, --units) or released with a charge; rows longer than --bound are scaled \
down to it, one by one.

Private by default: the coefficients and everything else in the folder, except what is named below. \
Not private: losses, accuracy, AUC, timings and what is said about rows that were left out come from the data \
without noise and are marked wherever they are shown. A fit with --seed, --method none or --method printed has no guarantee.";

const EXAMPLES: &str = "\
Examples:
  organza linear --data a9a --test a9a.t --features 123 --epsilon 1 --delta 1e-5 --out run
  organza predict run --data new.libsvm
  organza linear --data clicks.csv --label-column clicked --categorical ad --categorical site \\
    --user-column user --epsilon 3
  organza linear bounds --records 32561 --groups 100 --coordinates 124 --sparsity 100 --epsilon 1

Rows: CSV, TSV, JSON lines, libsvm (all plain, gzip or zstd), Parquet or Arrow, by the name of the file or --format.";

/// Fit a linear model to sparse rows with differential privacy
#[derive(Args, Debug)]
#[command(long_about = PROMISE, after_help = EXAMPLES, args_conflicts_with_subcommands = true, allow_negative_numbers = true)]
pub(crate) struct Erm {
    #[command(subcommand)]
    ask: Option<Ask>,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    running: RunOptions,
    /// The folder of the fit
    #[arg(long, value_name = "FOLDER", default_value = "organza-erm", help_heading = "Run")]
    out: PathBuf,
}

#[derive(Debug, Subcommand)]
enum Ask {
    Bounds(Bounds),
}

impl Erm {
    pub(crate) fn run_on(self, handed: HandedData, output: &Output) -> anyhow::Result<()> {
        match &self.ask {
            Some(Ask::Bounds(bounds)) => bounds.run(output),
            None => self.fit(handed, output),
        }
    }

    fn fit(&self, handed: HandedData, output: &Output) -> anyhow::Result<()> {
        let settings = self.options.settings()?;
        settings.check().map_err(|error| UsageError::setting(&error))?;
        self.options.check_groups(settings.method)?;
        self.notes(&settings, output);
        note_doubts(&settings, output);
        self.running.run::<Linear<'_>>(settings, &self.out, handed, output)
    }

    /// What a person should know before the result.
    fn notes(&self, settings: &Settings, output: &Output) {
        if !self.options.chose_method() {
            output.note(format_args!(
                "method {}: the best private one for {} models in our experiments",
                settings.method, settings.model
            ));
        }
        if settings.method == Method::Printed {
            output.note(
                "as printed, not sound: visiting one of m fixed groups does not amplify; see \
                 `organza linear bounds`",
            );
        }
        if settings.bound.is_none() && settings.method != Method::None {
            output.note("rows longer than 1 are scaled down to it: give --bound if yours are");
        }
        let sized = matches!(settings.model, Loss::Linear | Loss::Poisson);
        if sized && !self.options.declared_labels() && settings.method != Method::None {
            output.note(
                "labels larger than 1 are brought within it: give --label-bound if yours are",
            );
        }
    }
}

const NOTHING_LEARNED: &str = "nothing was learned: the loss is no better than that of a constant. A larger epsilon, more \
    rows, fewer features, or a --bound and --label-bound that fit the data would help";

impl Runnable for Linear<'_> {
    fn data(settings: &Settings, handed: HandedData) -> Result<LinearData<'static>, Failure> {
        Ok(match handed {
            HandedData::Nothing => LinearData::read(settings)?,
            HandedData::Table(table) => LinearData::of_table(settings, &table)?,
            HandedData::Rows(rows, features) => LinearData::owned(settings, rows, features)?,
            HandedData::Histories(..) => return Err(OTHER.into()),
        })
    }

    fn summary(trained: &Trained<Self>, output: &Output) -> ModelSummary {
        let Trained { settings, finished, .. } = trained;
        let Fitted { model, train, test, sparsity, .. } = &finished.model;
        if finished.certificate.public.iter().any(|fact| fact.value.ends_with(LARGEST_INDEX)) {
            output.note(format_args!(
                "{} features, {LARGEST_INDEX}: it is declared public on the certificate; give --features to declare it \
                 yourself",
                model.features()
            ));
        }
        let mut figures = vec![
            Figure::private("model", settings.model).named("model"),
            Figure::private("claimed_epsilon", finished.certificate.claimed_epsilon),
            Figure::measured("train_loss", "training loss", train.loss, ""),
            Figure::measured("test_loss", "test loss", test.as_ref().map(|test| test.loss), "")
                .if_any(),
        ];
        let fields = ["test_accuracy", "test_auc", "test_r_squared", "test_deviance"];
        let named = test.iter().flat_map(Scores::named).zip(fields);
        figures.extend(named.map(|((name, value), field)| {
            Figure::measured(field, &format!("test {name}"), value, "").if_any()
        }));
        if settings.model == Loss::Sigmoid {
            let gradient = train.squared_gradient;
            let figure = Figure::not_private("train_squared_gradient", gradient);
            figures.push(figure.shown("squared gradient", format!("{gradient:.3e}")));
        }
        if let Some(sparsity) = sparsity {
            let figure = Figure::not_private("group_sparsity", sparsity);
            figures.push(figure.shown("group sparsity", sparsity.most.to_string()));
        }
        figures.extend([Figure::not_private("train", train), Figure::not_private("test", test)]);
        let scores = test.as_ref().unwrap_or(train);
        ModelSummary {
            figures,
            nothing_learned: (scores.loss >= scores.constant_loss).then_some(NOTHING_LEARNED),
            file: ("coefficients.csv", "the coefficients"),
            next: "organza predict RUN --data new-rows",
        }
    }
}
