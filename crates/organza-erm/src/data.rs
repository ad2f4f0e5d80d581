//! What a model is fitted to: rows, or a table some of whose categories are still to be released.

use crate::groups::{GROUPS_IGNORED, visited};
use crate::reader::Reader;
use crate::settings::{Method, Settings};
use organza_data::sparse::{MOST_FEATURES, SparseRows, UnreleasedRows, rows_of};
use organza_data::table::Table;
use organza_data::{DataError, LeftOut};
use organza_ledger::{Neighbouring, PublicFact};
use organza_mechanism::Groups;
use organza_train::SettingError;
use organza_train::check::require;
use serde::Serialize;
use std::borrow::Cow;
use std::sync::Arc;
use thiserror::Error;

/// Why rows cannot be fitted.
#[derive(Debug, Error)]
pub enum FitError {
    /// There are no rows, and the relation or the method makes that no secret.
    #[error("there are no rows to fit")]
    NoRows,
    /// A label that is no finite number, without privacy.
    #[error("the label of row {row} is {label}: correct it, or leave the row out")]
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
    /// The unit is a group, and nothing names it.
    #[error("the promise is for each group: name the group of every row with --user-column")]
    NoGroups,
    /// The settings name no data.
    #[error("the data is in memory: hand it over by `Session::begin_with` or `resume_with`")]
    NoData,
    /// A setting.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A file.
    #[error(transparent)]
    Data(#[from] DataError),
}

/// Rows whose features are known, or not yet.
#[derive(Clone, Debug, Serialize)]
pub(crate) enum Rows<'a> {
    /// With so many features.
    Known(Cow<'a, SparseRows>, u64),
    /// Categories come first.
    Unreleased(UnreleasedRows),
}

impl Rows<'_> {
    /// Reads rows; of those to measure with, all have to make sense.
    fn read(
        reader: &Reader,
        settings: &Settings,
        path: &std::path::Path,
    ) -> Result<Self, FitError> {
        let labels = settings.model.labels();
        if let Some(table) = reader.read_unreleased(path, labels)? {
            return Ok(Self::Unreleased(table));
        }
        let rows = reader.read(path, labels)?;
        let features = rows.declared_features().unwrap_or(rows.largest_column().max(1));
        Ok(Self::Known(Cow::Owned(rows), features))
    }

    /// The rows of a table that a program hands over.
    fn of_table(reader: &Reader, settings: &Settings, table: &Table) -> Result<Self, FitError> {
        let Some(columns) = &reader.columns else { return Err(FitError::NoData) };
        let rows = rows_of(table, columns, settings.model.labels(), None)?;
        Ok(match columns.first_private() {
            Some(_) => Self::Unreleased(rows),
            None => Self::Known(Cow::Owned(rows.with_columns(columns)), columns.width()),
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::Known(rows, _) => rows.len(),
            Self::Unreleased(table) => table.len(),
        }
    }

    fn names(&self) -> Option<&[u32]> {
        match self {
            Self::Known(rows, _) => rows.groups(),
            Self::Unreleased(table) => table.groups(),
        }
    }

    fn left_out(&self) -> &LeftOut {
        match self {
            Self::Known(rows, _) => rows.left_out(),
            Self::Unreleased(table) => table.left_out(),
        }
    }
}

/// Rows to fit, and to measure with.
#[derive(Clone, Debug)]
pub struct LinearData<'a> {
    pub(crate) rows: Rows<'a>,
    pub(crate) test: Option<Rows<'a>>,
    /// The groups that rows name, where the method visits groups.
    pub(crate) named: Option<Arc<Groups>>,
    /// How many groups there are, where a step visits one.
    pub(crate) groups: Option<u64>,
}

impl<'a> LinearData<'a> {
    /// Rows that are at hand, with `features` features.
    ///
    /// # Errors
    /// If they cannot be fitted by the method of these settings.
    pub fn new(settings: &Settings, rows: &'a SparseRows, features: u64) -> Result<Self, FitError> {
        Self::checked(settings, Rows::Known(Cow::Borrowed(rows), features), None)
    }

    /// The same for rows that are handed over with their ownership.
    ///
    /// # Errors
    /// As [`LinearData::new`].
    pub fn owned(
        settings: &Settings,
        rows: SparseRows,
        features: u64,
    ) -> Result<LinearData<'static>, FitError> {
        LinearData::checked(settings, Rows::Known(Cow::Owned(rows), features), None)
    }

    /// The rows of a table that a program hands over, in the columns that the settings name.
    ///
    /// # Errors
    /// As [`LinearData::new`], and if it lacks a column.
    pub fn of_table(settings: &Settings, table: &Table) -> Result<Self, FitError> {
        let Some(data) = &settings.data else { return Err(FitError::NoData) };
        let rows = Rows::of_table(&data.reader, settings, table)?;
        refuse_where_it_may(settings.method, data.strict, rows.left_out())?;
        Self::checked(settings, rows, None)
    }

    /// A table whose private categories are released first.
    ///
    /// # Errors
    /// As [`LinearData::new`].
    pub fn table(settings: &Settings, table: UnreleasedRows) -> Result<Self, FitError> {
        Self::checked(settings, Rows::Unreleased(table), None)
    }

    /// Reads what the settings name.
    ///
    /// # Errors
    /// As [`LinearData::new`], and if a file cannot be read.
    pub fn read(settings: &Settings) -> Result<Self, FitError> {
        let Some(data) = &settings.data else { return Err(FitError::NoData) };
        let rows = Rows::read(&data.reader, settings, &data.path)?;
        refuse_where_it_may(settings.method, data.strict, rows.left_out())?;
        let reader = match &rows {
            Rows::Known(_, features) => &data.reader.clone().with_features(*features),
            Rows::Unreleased(_) => &data.reader,
        };
        let test = data.test.as_deref().map(|path| Rows::read(reader, settings, path));
        let test = test.transpose()?;
        test.iter().try_for_each(|test| test.left_out().refuse())?;
        Self::checked(settings, rows, test)
    }

    fn checked(
        settings: &Settings,
        rows: Rows<'a>,
        test: Option<Rows<'a>>,
    ) -> Result<Self, FitError> {
        let Settings { method, .. } = *settings;
        settings.check()?;
        match &rows {
            // The number of the intercept's column would not fit, and would be that of a feature.
            Rows::Known(_, features) => {
                let fits = *features <= MOST_FEATURES;
                require("--features", features, fits, "at most 4294967294")?;
            }
            Rows::Unreleased(_) => {
                let expected = "another method where categories are private: its noise follows no budget that \
                                could pay for them";
                require("--method", method, method != Method::Printed, expected)?;
            }
        }
        let named = rows.names();
        let visits = matches!(method, Method::Corrected | Method::Printed);
        let used = named.is_none() || visits || settings.by_group();
        require("--user-column", "given", used, GROUPS_IGNORED)?;
        let named = named.filter(|_| settings.groups.is_none());
        let groups = visited(settings, rows.len(), named)?;
        let named = match (named, settings.by_group()) {
            (Some(names), _) => Some(Arc::new(Groups::by_name(names))),
            // No rows: no groups.
            (None, true) => Some(Arc::new(Groups::by_name(&[]))),
            (None, false) => None,
        };
        Ok(Self { rows, test, named, groups })
    }

    /// What is taken for public about the rows.
    pub(crate) fn public_facts(&self) -> Vec<PublicFact> {
        let features = match &self.rows {
            Rows::Known(rows, features) if rows.declared_features().is_some() => {
                Some(PublicFact::new("features", features.to_string()))
            }
            Rows::Known(_, features) => {
                Some(PublicFact::new("features", format!("{features}, {LARGEST_INDEX}")))
            }
            Rows::Unreleased(_) => None,
        };
        let groups = self.groups.map(|groups| PublicFact::new("groups", groups.to_string()));
        features.into_iter().chain(groups).collect()
    }
}

/// Where the number of features comes from if nobody has declared it.
pub const LARGEST_INDEX: &str = "the largest index of the data";

/// Refuses data with rows that make no sense.
///
/// # Privacy
/// Only where that tells nothing that is promised to be hidden: without privacy, and where a record is replaced, because
/// there the guarantee is for data in which every record is one. Elsewhere such rows are left out, which is told
/// when all is done; or a strict fit was asked for, whose certificate says what that tells.
fn refuse_where_it_may(method: Method, strict: bool, left_out: &LeftOut) -> Result<(), DataError> {
    let may = method == Method::None || method.neighbouring() == Neighbouring::ReplaceOne;
    if may || strict { left_out.refuse() } else { Ok(()) }
}
