//! The flags of `organza linear`, and the settings that they make.

use crate::command::ledger::LedgerOptions;
use crate::names::{named, rule_parser};
use crate::usage::{UsageError, needed};
use anyhow::Context;
use clap::Args;
use organza_data::sparse::{Categories, Classes, Column, Columns};
use organza_data::table::{HANDED_OVER, Missing, TableForm, header, number};
use organza_erm::{Constraint, DataSettings, GROUPS_IGNORED, Loss, Method, Reader, Settings};
use organza_ledger::Unit;
use organza_mechanism::SelectionRule;
use std::path::{Path, PathBuf};

/// Buckets of a hashed column unless asked otherwise.
const BUCKETS: u64 = 1 << 16;
/// The form that is not a table.
const LIBSVM: &str = "libsvm";
/// Names by which a label is guessed.
const LABELS: [&str; 7] = ["label", "target", "class", "outcome", "clicked", "income", "y"];

#[derive(Args, Debug)]
pub(super) struct Options {
    #[command(flatten)]
    rows: Rows,
    #[command(flatten)]
    privacy: Privacy,
    #[command(flatten)]
    model: Model,
    #[command(flatten)]
    method: MethodOptions,
}

/// The rows.
#[derive(Args, Debug)]
#[command(next_help_heading = "Rows")]
struct Rows {
    /// The rows to fit: CSV, TSV, JSON lines, Parquet, Arrow or libsvm, or a folder of such; - for standard input
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Rows to measure the model with, in the same form
    #[arg(long, value_name = "PATH")]
    test: Option<PathBuf>,
    /// The form of the files [default: by the name of the data, libsvm if it says nothing]
    #[arg(long, value_parser = ["csv", "tsv", "json", "parquet", "arrow", LIBSVM])]
    format: Option<String>,
    /// The number of features of a libsvm file, declared public
    #[arg(long, value_name = "NUMBER")]
    features: Option<u64>,
    /// The column of the label: a number, or true, false, yes or no
    #[arg(long, alias = "label", value_name = "COLUMN")]
    label_column: Option<String>,
    /// What labels are called, if they are classes: the first is class 0, and the names are declared public
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    classes: Vec<String>,
    /// Which classes there are may be secret: those that many units have are released first, with a charge
    #[arg(long, conflicts_with = "classes")]
    private_classes: bool,
    /// Another word for a missing value, beside the usual ones (empty, NA, N/A, NaN, NULL, None)
    #[arg(long, value_name = "WORD")]
    missing: Vec<String>,
    /// End with an error at a row that cannot be used, instead of leaving it out: the error shows that it is there, which
    /// the promise does not cover
    #[arg(long)]
    strict: bool,
    /// A column of numbers or dates; with a declared range they are clamped to it and mapped to -1 to 1
    #[arg(long, value_name = "COLUMN[=LOW:HIGH]")]
    numeric: Vec<String>,
    /// A column of categories, hashed into --buckets features
    #[arg(long, value_name = "COLUMN")]
    categorical: Vec<String>,
    /// A column whose categories are public: a file lists them, one a line; others share one feature
    #[arg(long, value_name = "COLUMN=FILE")]
    categories: Vec<String>,
    /// A column whose categories may be secret: those that many units have are released first, with a
    /// charge of a tenth of the budget; others share one feature
    #[arg(long, value_name = "COLUMN")]
    private_categories: Vec<String>,
    /// Features of each hashed column [default: 65536]
    #[arg(long, value_name = "NUMBER")]
    buckets: Option<u64>,
    /// The column that names the group of a row, such as its user (libsvm: qid, for qid:NAME): dpsgd, sparse and
    /// poisson-groups then promise something for each group, all of whose rows count as one; corrected and printed
    /// visit groups
    #[arg(long, aliases = ["group", "group-column"], value_name = "COLUMN")]
    user_column: Option<String>,
}

/// What is promised.
#[derive(Args, Debug)]
#[command(next_help_heading = "Privacy")]
struct Privacy {
    /// The budget: noise is calibrated to spend it [default: 1]
    #[arg(long)]
    epsilon: Option<f64>,
    /// The delta of the guarantee, never computed from the data [default: 1e-6]
    #[arg(long)]
    delta: Option<f64>,
    /// The L2 norm of a row: longer ones are scaled down to it [default: 1; none with --method none]
    #[arg(long, value_name = "NORM")]
    bound: Option<f64>,
    /// The size of labels of linear and Poisson regression: private methods bring larger ones within
    /// [default: 1]
    #[arg(long, value_name = "SIZE")]
    label_bound: Option<f64>,
    /// Declare that the number of units is public; otherwise it is released with a charge
    #[arg(long, value_name = "NUMBER")]
    units: Option<u64>,
    #[command(flatten)]
    ledger: LedgerOptions,
    /// Make the fit repeatable, for tests and research: with a seed it is NOT private
    #[arg(long)]
    seed: Option<u64>,
}

/// What is fitted.
#[derive(Args, Debug)]
#[command(next_help_heading = "Model")]
struct Model {
    /// The model; sigmoid is the squared error of a sigmoid, not convex [default: logistic]
    #[arg(long, value_parser = named::<Loss>(["logistic", "linear", "poisson", "sigmoid"]))]
    model: Option<Loss>,
    /// Leave the intercept out
    #[arg(long)]
    no_intercept: bool,
    /// The weight of |w|^2 / 2 beside the mean loss [default: 1e-4, or what the method needs]
    #[arg(long, value_name = "WEIGHT")]
    l2: Option<f64>,
    /// Keep the weights in a ball of this radius [default: 10 for methods that visit groups]
    #[arg(long, conflicts_with = "box")]
    radius: Option<f64>,
    /// Keep every weight between minus this and this
    #[arg(long = "box", value_name = "SIZE")]
    r#box: Option<f64>,
}

/// How it is fitted.
#[derive(Args, Debug)]
#[command(next_help_heading = "Method")]
struct MethodOptions {
    /// How to fit [default: the best private one for the model]
    #[arg(
        long,
        value_parser = named::<Method>(["objective", "dpsgd", "sparse", "corrected", "poisson-groups", "printed", "none"]
        )
    )]
    method: Option<Method>,
    /// How `sparse` selects [default: exponential]
    #[arg(
        long,
        value_name = "RULE",
        value_parser = rule_parser()
    )]
    select: Option<SelectionRule>,
    /// How many coordinates `sparse` selects in a step
    #[arg(long)]
    draws: Option<u64>,
    /// The share of the budget that selection gets [default: 0.25]
    #[arg(long)]
    share: Option<f64>,
    /// Contiguous groups of `corrected` and `printed`, if rows name none [default: 10; printed: 100]
    #[arg(long, value_name = "NUMBER", conflicts_with = "user_column")]
    groups: Option<u64>,
    /// How many coordinates a visit to a group may release (c1) [default: 32]
    #[arg(long, value_name = "NUMBER")]
    hits: Option<u64>,
    /// The threshold on coordinates (alpha)
    #[arg(long)]
    threshold: Option<f64>,
    /// The number of steps (T)
    #[arg(long)]
    steps: Option<u64>,
    /// The expected number of units in a batch
    #[arg(long, value_name = "UNITS")]
    batch: Option<f64>,
    /// The clip of a unit's gradient (S1)
    #[arg(long, value_name = "S1")]
    clip: Option<f64>,
    /// The step size (eta)
    #[arg(long, value_name = "RATE")]
    learning_rate: Option<f64>,
}

impl Options {
    /// The rows to fit.
    fn data(&self) -> Result<&Path, UsageError> {
        needed(self.rows.data.as_deref(), "--data", "the rows to fit")
    }

    /// Whether a method was named.
    pub(super) fn chose_method(&self) -> bool {
        self.method.method.is_some()
    }

    /// Whether the size of labels was declared.
    pub(super) fn declared_labels(&self) -> bool {
        self.privacy.label_bound.is_some()
    }

    /// The settings.
    pub(super) fn settings(&self) -> anyhow::Result<Settings> {
        let data = DataSettings {
            path: self.data()?.to_owned(),
            test: self.rows.test.clone(),
            reader: self.reader()?,
            strict: self.rows.strict,
        };
        let model = self.model.model.unwrap_or(Loss::Logistic);
        if self.declared_labels() && !matches!(model, Loss::Linear | Loss::Poisson) {
            let wrong = "--label-bound is for labels that are numbers, but the model has classes";
            return Err(UsageError::new(wrong, "add --model linear or --model poisson").into());
        }
        let usual = Settings::new(model);
        let Self { privacy, method, .. } = self;
        let grouped = self.rows.user_column.is_some();
        // One fit a class would have to share the budget.
        let one_fit = self.rows.classes.len() <= 2 && !self.rows.private_classes;
        let best = if grouped || !one_fit { Method::Dpsgd } else { usual.method };
        let chosen = method.method.unwrap_or(best);
        let by_group = grouped && chosen.protects_groups();
        let ball = self.model.radius.map(Constraint::Ball);
        Ok(Settings {
            data: Some(data),
            method: chosen,
            unit: if by_group { Unit::Group } else { Unit::Record },
            epsilon: privacy.epsilon.unwrap_or(usual.epsilon),
            delta: privacy.delta.unwrap_or(usual.delta),
            seed: privacy.seed,
            ledger: privacy.ledger.settings(),
            units: privacy.units,
            bound: privacy.bound,
            label_bound: privacy.label_bound.unwrap_or(usual.label_bound),
            clip: method.clip,
            intercept: !self.model.no_intercept,
            l2: self.model.l2,
            constraint: ball.or(self.model.r#box.map(Constraint::Box)),
            groups: method.groups,
            hits: method.hits,
            threshold: method.threshold,
            selection: method.select.unwrap_or(usual.selection),
            draws: method.draws,
            share: method.share.unwrap_or(usual.share),
            steps: method.steps,
            batch: method.batch,
            learning_rate: method.learning_rate,
            ..usual
        })
    }

    /// How rows are read.
    fn reader(&self) -> anyhow::Result<Reader> {
        let data = self.data()?;
        let rows = &self.rows;
        let (features, grouped) = (rows.features, rows.user_column.is_some());
        let libsvm = Reader { format: None, features, columns: None, grouped };
        let format = match rows.format.as_deref() {
            Some(LIBSVM) => return Ok(libsvm),
            Some(name) => Some(serde_json::from_value(name.into())?),
            None if data == Path::new("-") => return Ok(libsvm),
            None if data == Path::new(HANDED_OVER) => {
                let columns = (!rows.classes.is_empty()).then(|| rows.of_matrix());
                return Ok(Reader { columns, ..libsvm });
            }
            None => None,
        };
        let Some(form) = format.or_else(|| TableForm::of(data)) else {
            return if rows.names_columns() && data.is_dir() {
                Ok(Reader { columns: Some(rows.columns()?), ..libsvm })
            } else {
                Ok(libsvm)
            };
        };
        if !rows.names_columns() {
            return Err(columns_needed(data, form)?.into());
        }
        Ok(Reader { format, columns: Some(rows.columns()?), ..libsvm })
    }

    /// Refuses groups that would change nothing, and a method that needs them without.
    pub(super) fn check_groups(&self, method: Method) -> Result<(), UsageError> {
        let takes = "take --method dpsgd, or leave `--user-column` out";
        match &self.rows.user_column {
            Some(_) if !method.has_groups() => Err(UsageError::new(
                format!(
                    "--user-column is given, but with --method {method} must be {GROUPS_IGNORED}"
                ),
                takes,
            )),
            None if method == Method::PoissonGroups => {
                let purpose = "the column that names the group of a row, for each of which poisson-groups promises \
                               something (libsvm: `--user-column qid`)";
                needed(None, "--user-column", purpose)
            }
            _ => Ok(()),
        }
    }
}

/// Says which columns there are.
fn columns_needed(data: &Path, form: TableForm) -> anyhow::Result<UsageError> {
    let columns = header(data, form)?;
    let guess = columns.iter().find(|it| LABELS.contains(&it.to_lowercase().as_str()));
    let guess = guess.or(columns.last()).map_or(String::new(), |it| format!(" (perhaps `{it}`)"));
    let found = if form == TableForm::JsonLines { " in its first line (not private)" } else { "" };
    Ok(UsageError::new(
        format!("`{}` is a table with the columns {}{found}", data.display(), columns.join(", ")),
        format!(
            "say which is the label with --label-column{guess}, which are features with --numeric and --categorical, and whose \
             row it is with --user-column"
        ),
    ))
}

impl Rows {
    /// Whether a column was named.
    fn names_columns(&self) -> bool {
        let features =
            [&self.numeric, &self.categorical, &self.categories, &self.private_categories];
        self.label_column.is_some() || features.iter().any(|names| !names.is_empty())
    }

    /// What the names of classes say about a matrix that a program hands over.
    fn of_matrix(&self) -> Columns {
        Columns {
            label: None,
            group: self.user_column.clone(),
            features: Vec::new(),
            classes: Classes::Listed(self.classes.clone()),
            missing: Missing(Vec::new()),
        }
    }

    fn columns(&self) -> anyhow::Result<Columns> {
        let mut features = Vec::new();
        for word in &self.numeric {
            let (name, range) = match word.split_once('=') {
                None => (word.as_str(), None),
                Some((name, range)) => (name, Some(parsed_range(range)?)),
            };
            features.push(Column::Numeric { name: name.to_owned(), range });
        }
        for name in &self.categorical {
            let categories = Categories::Hashed(self.buckets.unwrap_or(BUCKETS));
            features.push(Column::Categorical { name: name.clone(), categories });
        }
        for word in &self.categories {
            let Some((name, path)) = word.split_once('=') else {
                let problem = format!("`--categories {word}` is not COLUMN=FILE");
                return Err(UsageError::new(problem, "name the column and its file").into());
            };
            let text =
                std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
            let listed = text.lines().map(|line| line.trim().to_owned());
            let listed = listed.filter(|line| !line.is_empty()).collect();
            let categories = Categories::Listed(listed);
            features.push(Column::Categorical { name: name.to_owned(), categories });
        }
        // Last, so that no other feature moves when they are released.
        for name in &self.private_categories {
            let categories = Categories::Private;
            features.push(Column::Categorical { name: name.clone(), categories });
        }
        if features.is_empty() {
            return Err(UsageError::new(
                "no column of the table becomes a feature",
                "name some with --numeric, --categorical, --categories or --private-categories",
            )
            .into());
        }
        let classes = match (self.private_classes, &self.classes[..]) {
            (true, _) => Classes::Private,
            (false, []) => Classes::Usual,
            (false, names) => Classes::Listed(names.to_vec()),
        };
        Ok(Columns {
            label: self.label_column.clone(),
            group: self.user_column.clone(),
            features,
            classes,
            missing: Missing(self.missing.clone()),
        })
    }
}

fn parsed_range(word: &str) -> Result<(f64, f64), UsageError> {
    let ends = word.split_once(':').and_then(|(low, high)| {
        Some((number(low)?, number(high)?)).filter(|(low, high)| low < high)
    });
    ends.ok_or_else(|| {
        UsageError::new(format!("`{word}` is not a range"), "write a range as LOW:HIGH, low first")
    })
}
