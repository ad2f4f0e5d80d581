//! `organza erm`: private linear models on sparse rows.

mod bounds;
mod options;
mod page;
mod reader;
mod summary;

use crate::output::Output;
use crate::usage::UsageError;
use bounds::Bounds;
use clap::{Args, Subcommand};
use options::Options;
use organza_data::sparse::{SparseRows, UnreleasedRows};
use organza_data::{DataError, LeftOut};
use organza_erm::{Fit, Loss, Method, Settings, TableFit, fit, fit_table, score};
use organza_ledger::Neighbouring;
use organza_train::{RunFolder, SettingError};
pub(super) use reader::Reader;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Instant;
use summary::Summary;

/// The model's file.
pub(super) const MODEL: &str = "model.safetensors";
/// The settings' file.
pub(super) const SETTINGS: &str = "settings.json";

const PROMISE: &str = "\
Fit a linear model to sparse rows with differential privacy

Without --method it takes the best private one for the model. Everything that shapes the noise is \
declared (--bound, --features, --units) or released with a charge; rows longer than --bound are scaled \
down to it, one by one.

Private by default: the coefficients and everything else in the folder, but what is named below. \
Not private: losses, accuracy, AUC, timings and what is said about rows that were left out come from the data \
without noise and are marked wherever they are shown. A fit with --seed, --method none or --method printed has no guarantee.";

const EXAMPLES: &str = "\
Examples:
  organza erm --data a9a --test a9a.t --features 123 --epsilon 1 --delta 1e-5 --out run
  organza predict run --data new.libsvm
  organza erm --data clicks.csv --label clicked --categorical ad --categorical site --group user \\
    --method poisson-groups --epsilon 3
  organza erm bounds --records 32561 --groups 100 --coordinates 124 --sparsity 100 --epsilon 1

Rows: libsvm, CSV, TSV (all plain or gzip) or Parquet, by the name of the file or --format.";

/// Fit a linear model to sparse rows with differential privacy
#[derive(Args, Debug)]
#[command(long_about = PROMISE, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Erm {
    #[command(subcommand)]
    ask: Option<Ask>,
    #[command(flatten)]
    options: Options,
    /// The folder of the fit
    #[arg(long, value_name = "FOLDER", default_value = "organza-erm", help_heading = "Run")]
    out: PathBuf,
}

#[derive(Debug, Subcommand)]
enum Ask {
    Bounds(Bounds),
}

/// What a folder keeps, so that new rows are read as the old ones were.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    pub(super) settings: Settings,
    pub(super) reader: Reader,
}

/// A fit, with what it is measured by and where it is written.
struct Fitted {
    folder: RunFolder,
    fitted: Fit,
    rows: SparseRows,
    test: Option<SparseRows>,
    reader: Reader,
}

/// The ledger's file; none without privacy.
fn ledger(settings: &Settings, folder: &RunFolder) -> Option<PathBuf> {
    (settings.method != Method::None).then(|| folder.file("ledger.jsonl"))
}

impl Erm {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        match &self.ask {
            Some(Ask::Bounds(bounds)) => bounds.run(output),
            None => self.fit(output),
        }
    }

    fn fit(&self, output: &Output) -> anyhow::Result<()> {
        let settings = self.options.settings();
        settings.check().map_err(usage)?;
        self.options.check_groups(settings.method)?;
        let reader = self.options.reader()?;
        let data = self.options.data()?;
        RunFolder::check_free(&self.out)?;
        if let Some(ledger) = &settings.ledger {
            ledger.check(&[settings.share()])?;
        }
        let begun = Instant::now();
        let labels = settings.model.labels();
        let Fitted { folder, fitted, rows, test, reader } =
            match reader.read_unreleased(data, labels)? {
                Some(table) => self.fit_table(&settings, reader, table, output)?,
                None => self.fit_rows(&settings, reader, data, output)?,
            };
        if let Some(torn) = &fitted.torn {
            output.note(torn);
        }
        let seconds = begun.elapsed().as_secs_f64();
        let train = score(&fitted.model, &rows);
        let test = test.map(|rows| score(&fitted.model, &rows));
        let mut summary = Summary::new(&self.out, &settings, &fitted, train, test, seconds);
        summary.remark(&rows);
        self.write(&folder, settings, reader, &fitted, &summary)?;
        output.result(&summary)?;
        Ok(())
    }

    /// A fit to rows whose features are known.
    fn fit_rows(
        &self,
        settings: &Settings,
        reader: Reader,
        data: &Path,
        output: &Output,
    ) -> anyhow::Result<Fitted> {
        let labels = settings.model.labels();
        let rows = reader.read(data, labels)?;
        refuse_where_it_may(settings.method, rows.left_out())?;
        let features = match (rows.declared_features(), settings.method) {
            (Some(features), _) => features,
            (None, method) => {
                let found = rows.largest_column().max(1);
                if method != Method::None {
                    output.note(format_args!(
                        "{found} features, the largest index of the data: it is declared public on \
                         the certificate; say --features to declare it yourself"
                    ));
                }
                found
            }
        };
        let reader = reader.with_features(features);
        let test = self.options.test().map(|path| reader.read_all(path, labels)).transpose()?;
        self.notes(settings, output);
        let folder = RunFolder::create(&self.out)?;
        let fitted = fit(settings, &rows, features, ledger(settings, &folder).as_deref())?;
        Ok(Fitted { folder, fitted, rows, test, reader })
    }

    /// A fit to a table whose categories are released first.
    fn fit_table(
        &self,
        settings: &Settings,
        reader: Reader,
        table: UnreleasedRows,
        output: &Output,
    ) -> anyhow::Result<Fitted> {
        let labels = settings.model.labels();
        let test = match self.options.test() {
            Some(path) => reader.read_unreleased(path, labels)?,
            None => None,
        };
        test.iter().try_for_each(|test| test.left_out().refuse())?;
        refuse_where_it_may(settings.method, table.left_out())?;
        self.notes(settings, output);
        let folder = RunFolder::create(&self.out)?;
        let ledger = ledger(settings, &folder);
        let TableFit { fit, columns, rows } = fit_table(settings, table, ledger.as_deref())?;
        let test = test.map(|test| test.with_columns(&columns));
        let reader = reader.with_features(columns.width()).with_columns(columns);
        Ok(Fitted { folder, fitted: fit, rows, test, reader })
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
                 `organza erm bounds`",
            );
        }
        if settings.bound.is_none() && settings.method != Method::None {
            output.note("rows longer than 1 are scaled down to it: say --bound if yours are");
        }
        let sized = matches!(settings.model, Loss::Linear | Loss::Poisson);
        if sized && !self.options.declared_labels() && settings.method != Method::None {
            output
                .note("labels larger than 1 are brought within it: say --label-bound if yours are");
        }
        if settings.seed.is_some() {
            output.note("with --seed the noise can be repeated: this fit is NOT private");
        }
    }

    fn write(
        &self,
        folder: &RunFolder,
        settings: Settings,
        reader: Reader,
        fitted: &Fit,
        summary: &Summary,
    ) -> anyhow::Result<()> {
        let certificate = &fitted.certificate;
        fitted.model.write(&folder.file(MODEL), &certificate.metadata())?;
        let names = |feature| reader.feature_name(feature);
        fitted.model.write_csv(&folder.file("coefficients.csv"), names)?;
        let page = page::page(fitted, summary, settings.seed.is_some(), &names);
        page.write(folder.path(), "report.html")?;
        let text = serde_json::to_string_pretty(certificate)? + "\n";
        folder.write(&folder.file("certificate.json"), text.as_bytes())?;
        let text = serde_json::to_string_pretty(&Saved { settings, reader })? + "\n";
        folder.write(&folder.file(SETTINGS), text.as_bytes())?;
        folder.forget_private()?;
        Ok(())
    }
}

/// Refuses data with rows that make no sense.
///
/// # Privacy
/// Only where that tells nothing that is promised to be hidden: without privacy, and where a record is replaced, because
/// there the guarantee is for data in which every record is one. Elsewhere such rows are left out, which is told
/// when all is done.
fn refuse_where_it_may(method: Method, left_out: &LeftOut) -> Result<(), DataError> {
    let may = method == Method::None || method.neighbouring() == Neighbouring::ReplaceOne;
    if may { left_out.refuse() } else { Ok(()) }
}

fn usage(error: SettingError) -> UsageError {
    let help = format!("give another value for `{}`", error.setting);
    UsageError::new(error.to_string(), help)
}
