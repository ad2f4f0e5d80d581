//! Rows of clicks, and the units that they are of.

use crate::reader::ClickReader;
use crate::settings::{DataSettings, Settings};
use crate::synthetic::MadeUp;
use organza_data::sparse::{Columns, LabelKind, SparseRows};
use organza_data::table::Table;
use organza_data::{LeftOut, Shard};
use organza_ledger::{Neighbouring, Unit};
use organza_mechanism::Groups;
use organza_train::Failure;
use std::path::Path;

/// Rows to learn from, and to measure with.
#[derive(Clone, Debug)]
pub struct ClickData {
    /// The rows to learn from; users are their groups.
    pub rows: SparseRows,
    /// Other rows, to measure with.
    pub test: Option<SparseRows>,
    /// What their columns are.
    pub columns: Columns,
}

impl ClickData {
    /// Reads what the settings name; without that, made-up rows.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(settings: &Settings) -> Result<Self, Failure> {
        match &settings.data {
            None => Ok(MadeUp::default().data()?.0),
            Some(data) => {
                let rows = data.reader.read(&data.path, LabelKind::Binary)?;
                Self::with_test(settings, data, rows)
            }
        }
    }

    /// The rows of a table that a program hands over, in the columns that the settings name.
    ///
    /// # Errors
    /// If it lacks a column, or the settings name none.
    pub fn of_table(settings: &Settings, table: &Table) -> Result<Self, Failure> {
        let data = named(settings)?;
        Self::with_test(settings, data, data.reader.rows(table, LabelKind::Binary, None)?)
    }

    /// The rows of the users of a shard, among those of a table.
    ///
    /// # Errors
    /// As [`ClickData::of_table`], and if a row is of another shard, where that is refused.
    pub fn of_shard(settings: &Settings, table: &Table, shard: Shard) -> Result<Self, Failure> {
        let reader = &named(settings)?.reader;
        let rows = reader.rows(table, LabelKind::Binary, Some(shard))?;
        refuse_where_it_may(settings, rows.left_out())?;
        Ok(Self { rows, test: None, columns: reader.columns.clone() })
    }

    /// The same of the table at a path.
    ///
    /// # Errors
    /// As [`ClickData::of_shard`], and if it cannot be read.
    pub fn of_shard_at(settings: &Settings, path: &Path, shard: Shard) -> Result<Self, Failure> {
        Self::of_shard(settings, &named(settings)?.reader.open(path)?, shard)
    }

    /// The rows of nobody, with those to measure with, in the columns that the settings name.
    ///
    /// # Errors
    /// If they name none, or no users: without a name a row could be in two shards.
    pub fn of_nobody(settings: &Settings) -> Result<Self, Failure> {
        let data = named(settings)?;
        if settings.by_row() {
            return Err(
                "shards are parted by the names of units: say whose a row is with --user-column"
                    .into(),
            );
        }
        Self::with_test(settings, data, SparseRows::new(Some(data.reader.columns.width())))
    }

    fn with_test(
        settings: &Settings,
        data: &DataSettings,
        rows: SparseRows,
    ) -> Result<Self, Failure> {
        refuse_where_it_may(settings, rows.left_out())?;
        let ClickReader { columns, .. } = &data.reader;
        let test = data.test.as_deref().map(|path| data.reader.read(path, LabelKind::Binary));
        let test = test.transpose()?;
        test.iter().try_for_each(|test| test.left_out().refuse())?;
        Ok(Self { rows, test, columns: columns.clone() })
    }

    /// The rows of each unit: of a user, or each alone.
    ///
    /// # Errors
    /// If the unit is the user, and there are rows that name none.
    pub(crate) fn units(&self, unit: Unit) -> Result<Groups, Failure> {
        match (unit, self.rows.groups()) {
            (Unit::User, Some(users)) => Ok(Groups::by_name(users)),
            (Unit::User, None) if !self.rows.is_empty() => {
                Err("the promise is for each user, but rows name none: take the row for the unit"
                    .into())
            }
            _ => Ok(Groups::by_name(&(0..self.rows.len() as u32).collect::<Vec<_>>())),
        }
    }
}

/// What the settings say of data that they do not name.
fn named(settings: &Settings) -> Result<&DataSettings, Failure> {
    settings.data.as_ref().ok_or_else(|| "the settings name no columns".into())
}

/// Refuses data with rows that make no sense.
///
/// # Privacy
/// Only where that tells nothing that is promised to be hidden: without privacy, and where a unit is replaced, because the
/// guarantee is then for data in which every row is one. Elsewhere such rows are left out, which is told when all is done; or a
/// strict run was asked for, whose certificate says what that tells.
fn refuse_where_it_may(settings: &Settings, left_out: &LeftOut) -> Result<(), Failure> {
    let replaces = settings.privacy.neighbouring == Neighbouring::ReplaceOne;
    let strict = settings.data.as_ref().is_some_and(|data| data.strict);
    if !settings.method.is_private() || replaces || strict {
        left_out.refuse()?;
    }
    Ok(())
}
