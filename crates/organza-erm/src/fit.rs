//! A fit from rows and settings to a model and its certificate.

use crate::categories;
use crate::certificate::certificate;
use crate::descend::{Descent, Visits};
use crate::design::Design;
use crate::groups::{GroupSparsity, Groups, visited};
use crate::minimise::Objective;
use crate::model::LinearModel;
use crate::perturbation::Perturbation;
use crate::purse::{header, purse};
use crate::schedule::{ScheduleError, ScheduleInputs};
use crate::settings::{Method, Settings};
use organza_accountant::calibrate::{CalibrateError, Target};
use organza_data::sparse::{Columns, MOST_FEATURES, SparseRows, UnreleasedRows};
use organza_ledger::{AccountError, BudgetError, DataSetError, Event, SharedTotal, TornLine};
use organza_mechanism::random::RandomError;
use organza_mechanism::{NoisyCount, NotPaid, PlanError, RandomSource};
use organza_train::{Certificate, Purse, SettingError};
use std::path::Path;
use thiserror::Error;

/// The share of the budget for releasing the number of units.
const COUNT_SHARE: f64 = 0.01;
/// The weight of the squared norm unless asked otherwise.
const L2: f64 = 1e-4;
/// The gradient norm at which a search without privacy ends.
const EXACT: f64 = 1e-10;
/// The share of the budget that the curvature of objective perturbation may take.
const CURVATURE_SHARE: f64 = 0.1;
/// Lambda over the tilt that a row sees: where no data speaks, the tilt moves a margin by the inverse.
const TILT_SHRINKAGE: f64 = 2.0;
/// The least weight of the squared norm beside the mean loss, for objective perturbation.
const OBJECTIVE_L2: f64 = 1e-4;
/// The purpose of the release of the number of units.
const UNITS: &str = "units";
/// The purpose of objective perturbation.
const OBJECTIVE: &str = "objective";

/// A fitted model with what is promised about it.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The model.
    pub model: LinearModel,
    /// What is promised.
    pub certificate: Certificate,
    /// How many coordinates the gradients of groups touch, where there are groups. *Not private.*
    pub sparsity: Option<GroupSparsity>,
    /// A line of the data set's ledger that was cut short and did not count; it was cut off.
    pub torn: Option<TornLine>,
}

/// Why there is no fit.
#[derive(Debug, Error)]
pub enum FitError {
    /// A setting.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// There are no rows, and the relation or the method makes that no secret.
    #[error("there are no rows to fit")]
    NoRows,
    /// A label that is no finite number, without privacy.
    #[error("the label of row {row} is {label}: mend it, or leave the row out")]
    Label {
        /// The row, counted from 1.
        row: usize,
        /// Its label.
        label: f64,
    },
    /// More groups than rows.
    #[error("{groups} groups are more than there are rows: give a smaller --groups")]
    EmptyGroups {
        /// How many groups were asked for.
        groups: u64,
    },
    /// Randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// A setting of a mechanism.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No noise meets the budget.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// No noise meets the budget.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    /// The charge.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The account.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The ledger of the data set.
    #[error(transparent)]
    DataSet(#[from] DataSetError),
    /// Private categories without a ledger.
    #[error(
        "private categories need a ledger, so that their charge is written before they are released"
    )]
    NoLedger,
    /// The unit is a group, and nothing names it.
    #[error(
        "--method poisson-groups promises something for each group: name the group of every row by --group"
    )]
    NoGroups,
    /// A charge for something else.
    #[error(transparent)]
    NotPaid(#[from] NotPaid),
}

/// Fits a model to rows with `features` features. With `ledger`, charges are written to that new file
/// before anything is released.
///
/// # Privacy
/// Apart from the data, everything depends on declared or released numbers only. The number of units is
/// released with a hundredth of the budget, unless it was declared public or the relation leaves it
/// as it is.
///
/// # Errors
/// If a setting makes no sense, no noise meets the budget, or the ledger cannot be written.
pub fn fit(
    settings: &Settings,
    rows: &SparseRows,
    features: u64,
    ledger: Option<&Path>,
) -> Result<Fit, FitError> {
    if features > MOST_FEATURES {
        // The number of the intercept's column would not fit, and would be that of a feature.
        let (setting, value) = ("--features", features.to_string());
        return Err(SettingError { setting, value, expected: "at most 4294967294" }.into());
    }
    let groups = visited(settings, rows.len(), rows.groups())?;
    let width = match rows.declared_features() {
        Some(_) => features.to_string(),
        None => format!("{features}, the largest index of the data"),
    };
    let mut budget = FitBudget::new(settings, groups, Some(width), ledger)?;
    budget.fit(rows, features)
}

/// A fit to a table some of whose categories were secret, with all that these became.
#[derive(Clone, Debug)]
pub struct TableFit {
    /// The fit.
    pub fit: Fit,
    /// The columns with their categories, by which new rows are read.
    pub columns: Columns,
    /// The rows that it was fitted to. *Not private.*
    pub rows: SparseRows,
}

/// Fits a model to a table after the categories of its private columns are released; needs a ledger, unless
/// there is no privacy.
///
/// # Privacy
/// As [`fit`]. The first charge is for the categories: a tenth of epsilon.
///
/// # Errors
/// As [`fit`], and if there is no ledger, or the unit is a group that no column names.
pub fn fit_table(
    settings: &Settings,
    table: UnreleasedRows,
    ledger: Option<&Path>,
) -> Result<TableFit, FitError> {
    if settings.method != Method::None && ledger.is_none() {
        return Err(FitError::NoLedger);
    }
    let groups = visited(settings, table.len(), table.groups())?;
    let mut budget = FitBudget::new(settings, groups, None, ledger)?;
    let columns = budget.categories(&table)?;
    let rows = table.with_columns(&columns);
    let fit = budget.fit(&rows, columns.width())?;
    Ok(TableFit { fit, columns, rows })
}

/// A fit whose budget is open: what is known before its features are.
struct FitBudget<'a> {
    settings: &'a Settings,
    source: RandomSource,
    groups: Option<Groups>,
    /// None without privacy.
    purse: Option<Purse>,
    /// The place on the ledger of the data set, if the fit is on one.
    total: Option<SharedTotal>,
    torn: Option<TornLine>,
    /// What the guarantee takes for granted beside what the settings say.
    statements: Vec<String>,
}

impl<'a> FitBudget<'a> {
    /// Opens the budget; `width` is what is declared about the number of features.
    fn new(
        settings: &'a Settings,
        groups: Option<Groups>,
        width: Option<String>,
        ledger: Option<&Path>,
    ) -> Result<Self, FitError> {
        let source = match settings.seed {
            Some(seed) => RandomSource::from_seed(seed),
            None => RandomSource::from_operating_system()?,
        };
        let (total, torn) = match &settings.ledger {
            None => (None, None),
            Some(shared) => {
                settings.check()?;
                let reserved = shared.reserve(&settings.share(), source.fingerprint())?;
                (Some(reserved.total), reserved.torn)
            }
        };
        let purse = match settings.method {
            Method::None => None,
            _ => Some(purse(settings, header(settings, groups.as_ref(), width), ledger)?),
        };
        Ok(Self { settings, source, groups, purse, total, torn, statements: Vec::new() })
    }

    /// The columns with the categories that are released, or with all of them without privacy.
    fn categories(&mut self, table: &UnreleasedRows) -> Result<Columns, FitError> {
        let Self { settings, source, groups, purse, .. } = self;
        let Some(purse) = purse else {
            return Ok(table.columns().with_categories(table.raw_categories()));
        };
        let released = categories::release(settings, table, groups.as_ref(), source, purse)?;
        self.statements.push(released.statement);
        Ok(released.columns)
    }

    fn fit(&mut self, rows: &SparseRows, features: u64) -> Result<Fit, FitError> {
        let Self { settings, source, groups, purse, total, torn, statements } = self;
        let design = match settings.method {
            Method::None => raw(rows, features, settings)?,
            _ => Design::bounded(rows, features, settings.model, &settings.input()),
        };
        let data = FitData { settings, design: &design, source, groups: groups.as_ref() };
        let mut fit = data.run(purse.as_mut())?;
        fit.certificate.conditions.append(statements);
        fit.certificate.dataset = total.take();
        fit.torn = torn.take();
        Ok(fit)
    }
}

/// Rows with labels as they are, without privacy: one that is no finite number is named.
fn raw<'a>(
    rows: &'a SparseRows,
    features: u64,
    settings: &Settings,
) -> Result<Design<'a>, FitError> {
    let labels = (1..).zip(rows.iter().map(|row| row.label));
    match { labels }.find(|(_, label)| !label.is_finite()) {
        Some((row, label)) => Err(FitError::Label { row, label }),
        None => Ok(Design::new(rows, features, settings.row_bound(), settings.intercept)),
    }
}

/// All that a fit works with.
struct FitData<'a> {
    settings: &'a Settings,
    design: &'a Design<'a>,
    source: &'a RandomSource,
    groups: Option<&'a Groups>,
}

impl FitData<'_> {
    fn run(&self, purse: Option<&mut Purse>) -> Result<Fit, FitError> {
        let Some(purse) = purse else {
            let model = self.model(self.exact());
            return self.fit(model, None, 0);
        };
        let units = self.units(purse)?;
        let (coordinates, steps) = match self.settings.method {
            Method::Objective => (self.perturbed(units, purse)?, 0),
            _ => self.descended(units, purse)?,
        };
        let model = self.model(coordinates);
        self.fit(model, Some(&*purse), steps)
    }

    /// The minimum without privacy.
    fn exact(&self) -> Vec<f64> {
        let objective = Objective {
            design: self.design,
            loss: self.settings.model,
            divisor: self.design.len() as f64,
            l2: self.settings.l2.unwrap_or(L2),
            intercept_in_norm: false,
            linear: None,
        };
        objective.minimise(EXACT).coordinates
    }

    /// The number of units: declared, unchanged by the relation, or released with a charge.
    fn units(&self, purse: &mut Purse) -> Result<f64, FitError> {
        let Settings { method, epsilon, units, .. } = *self.settings;
        let count = match (method, self.groups) {
            (Method::PoissonGroups, Some(groups)) => groups.len(),
            _ => self.design.len(),
        };
        let neighbouring = method.neighbouring();
        if let Some(units) = units {
            return Ok(units as f64);
        }
        if NoisyCount::is_public(neighbouring) {
            return Ok(count as f64);
        }
        let noisy = NoisyCount::new(COUNT_SHARE * epsilon, neighbouring)?;
        let release = noisy.release(UNITS, self.source);
        let paid = purse.charge(release.charge())?;
        Ok(noisy.noise(count as u64, &release, paid)? as f64)
    }

    fn perturbed(&self, units: f64, purse: &mut Purse) -> Result<Vec<f64>, FitError> {
        let Settings { epsilon, delta, l2, .. } = *self.settings;
        let norm = self.settings.input().whole_norm();
        let size = self.design.coordinates();
        let target = Target::new(epsilon, delta);
        let before: Vec<Event> = purse.ledger().events();
        let lambda = match l2 {
            Some(l2) => l2 * units,
            None => {
                let least = Perturbation::least_lambda(norm, CURVATURE_SHARE * epsilon);
                let (_, deviation) = Perturbation::tilt(norm, least, &target, &before)?;
                least.max(norm * deviation * TILT_SHRINKAGE).max(OBJECTIVE_L2 * units)
            }
        };
        let perturbation = Perturbation::calibrate(norm, lambda, units, size, &target, &before)?;
        let release = perturbation.release(OBJECTIVE, self.source);
        let paid = purse.charge(release.charge())?;
        Ok(perturbation.minimum(self.design, units, &release, paid)?)
    }

    fn descended(&self, units: f64, purse: &mut Purse) -> Result<(Vec<f64>, u64), FitError> {
        let method = self.settings.method;
        let known = ScheduleInputs {
            settings: self.settings,
            coordinates: self.design.coordinates(),
            units,
            groups: self.groups.map_or(1, |groups| groups.len() as u64),
            before: purse.ledger().events(),
        };
        let schedule = known.schedule()?;
        let visits = match (method, self.groups) {
            (Method::PoissonGroups, Some(groups)) => Visits::Groups(groups),
            (_, Some(groups)) => Visits::OneGroup(groups),
            (_, None) => Visits::Records,
        };
        let descent = Descent {
            design: self.design,
            loss: self.settings.model,
            schedule: &schedule,
            visits,
            l2: self.settings.l2.unwrap_or(L2),
            region: self.settings.region(),
        };
        let batches = descent.batches(self.source)?;
        let paid = purse.charge(batches.charge(0..schedule.steps))?;
        let (mut weights, intercept) = descent.run(&batches, &paid)?;
        if self.settings.intercept {
            weights.push(intercept);
        }
        Ok((weights, schedule.steps))
    }

    fn model(&self, mut coordinates: Vec<f64>) -> LinearModel {
        let has_intercept = self.settings.intercept;
        let intercept = if has_intercept { coordinates.pop().unwrap_or(0.0) } else { 0.0 };
        LinearModel {
            loss: self.settings.model,
            weights: coordinates,
            intercept,
            has_intercept,
            bound: self.settings.row_bound(),
        }
    }

    fn fit(&self, model: LinearModel, purse: Option<&Purse>, steps: u64) -> Result<Fit, FitError> {
        let certificate = certificate(self.settings, purse, steps)?;
        let sparsity = self.groups.map(|groups| groups.sparsity(self.design));
        Ok(Fit { model, certificate, sparsity, torn: None })
    }
}
