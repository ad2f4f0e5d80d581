//! A fit in memory: from rows and settings to a model and its certificate.

use crate::application::{Fitted, Linear};
use crate::data::LinearData;
use crate::groups::GroupSparsity;
use crate::model::LinearModel;
use crate::settings::Settings;
use organza_data::sparse::{Columns, SparseRows, UnreleasedRows};
use organza_ledger::TornLine;
use organza_train::{Certificate, Ended, Failure, RunError, Session, SessionError};

/// A fitted model with what is promised about it.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The model.
    pub model: LinearModel,
    /// What is promised.
    pub certificate: Certificate,
    /// The columns with their categories, by which new rows are read, where categories were released.
    pub columns: Option<Columns>,
    /// How many coordinates the gradients of groups touch, where there are groups. *Not private.*
    pub sparsity: Option<GroupSparsity>,
    /// A line of the data set's ledger that was cut short and did not count; it was cut off.
    pub torn: Option<TornLine>,
}

/// Fits a model to rows with `features` features, and writes nothing: its charges stand on the certificate.
///
/// # Privacy
/// Apart from the data, everything depends on declared or released numbers only. The number of units is
/// released with a hundredth of the budget, unless it was declared public or the relation leaves it
/// as it is.
///
/// # Errors
/// If a setting makes no sense, or no noise meets the budget.
pub fn fit(settings: &Settings, rows: &SparseRows, features: u64) -> Result<Fit, SessionError> {
    let data = LinearData::new(settings, rows, features).map_err(Failure::from)?;
    fitted(settings, data)
}

/// Fits a model to a table after the categories of its private columns are released.
///
/// # Privacy
/// As [`fit`]. The first charge is for the categories: a tenth of epsilon.
///
/// # Errors
/// As [`fit`], and if the unit is a group that no column names.
pub fn fit_table(settings: &Settings, table: UnreleasedRows) -> Result<Fit, SessionError> {
    let data = LinearData::table(settings, table).map_err(Failure::from)?;
    fitted(settings, data)
}

fn fitted(settings: &Settings, data: LinearData<'_>) -> Result<Fit, SessionError> {
    let session = Session::<Linear<'_>>::in_memory(settings.clone(), data)?;
    let torn = session.torn().next().cloned();
    let Ended::Finished(finished) = session.train(false, &mut ())? else {
        return Err(RunError::NoPurse.into());
    };
    let Fitted { model, columns, sparsity, .. } = finished.model;
    Ok(Fit { model, certificate: finished.certificate, columns, sparsity, torn })
}
