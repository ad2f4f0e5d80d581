//! Rows of clicks, and the units that they are of.

use crate::reader::ClickReader;
use crate::settings::{DataSettings, Settings};
use crate::synthetic::MadeUp;
use organza_data::sparse::{
    CategoryRelease, Columns, LabelKind, SparseRows, UnreleasedRows, rows_of,
};
use organza_data::table::Table;
use organza_data::{LeftOut, Shard};
use organza_ledger::{Neighbouring, Unit};
use organza_mechanism::Groups;
use organza_train::{Failure, Releases, fingerprint};
use serde::Serialize;
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
    /// The rows in place of these, where some of their categories are still to be released.
    secret: Option<Box<SecretRows>>,
}

/// Rows some of whose categories are still to be released.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SecretRows {
    rows: UnreleasedRows,
    test: Option<UnreleasedRows>,
}

/// Rows with the categories that were released, and what is to be said about that.
pub(crate) struct ReleasedRows {
    pub(crate) data: ClickData,
    pub(crate) statement: Option<String>,
}

impl ClickData {
    /// Rows in columns all of whose categories are declared.
    pub fn new(rows: SparseRows, test: Option<SparseRows>, columns: Columns) -> Self {
        Self { rows, test, columns, secret: None }
    }

    /// Reads what the settings name; without that, made-up rows.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(settings: &Settings) -> Result<Self, Failure> {
        match &settings.data {
            None => Ok(MadeUp::default().data()?.0),
            Some(data) => Self::of_table(settings, &data.reader.open(&data.path)?),
        }
    }

    /// The rows of a table that a program hands over, in the columns that the settings name.
    ///
    /// # Errors
    /// If it lacks a column, or the settings name none.
    pub fn of_table(settings: &Settings, table: &Table) -> Result<Self, Failure> {
        let data = named(settings)?;
        let reader = &data.reader;
        if reader.columns.first_private().is_none() {
            return Self::with_test(settings, data, reader.rows(table, LabelKind::Binary, None)?);
        }
        let rows = rows_of(table, &reader.columns, LabelKind::Binary, None)?;
        refuse_where_it_may(settings, rows.left_out())?;
        let test = data.test.as_deref().map(|path| -> Result<_, Failure> {
            let test = rows_of(&reader.open(path)?, &reader.columns, LabelKind::Binary, None)?;
            test.left_out().refuse()?;
            Ok(test)
        });
        let secret = SecretRows { rows, test: test.transpose()? };
        let none = SparseRows::default();
        Ok(Self { secret: Some(secret.into()), ..Self::new(none, None, reader.columns.clone()) })
    }

    /// Whether categories are still to be released.
    pub(crate) fn has_secrets(&self) -> bool {
        self.secret.is_some()
    }

    /// A hash of all of it. *Not private.*
    pub(crate) fn fingerprint(&self) -> Result<[u8; 32], Failure> {
        Ok(fingerprint(&(&self.rows, &self.secret))?)
    }

    /// The rows, after the categories that many units have are released; without privacy, `releases` has no noise for that, and all
    /// categories are as they are.
    pub(crate) fn released(
        self,
        settings: &Settings,
        releases: &mut Releases<'_>,
    ) -> Result<ReleasedRows, Failure> {
        let Some(secret) = self.secret else {
            return Ok(ReleasedRows { data: self, statement: None });
        };
        let SecretRows { rows, test } = *secret;
        let (columns, statement) = match releases.noise(CategoryRelease::PURPOSE) {
            None => (rows.columns().with_categories(rows.raw_categories()), None),
            Some(noise) => {
                let source = releases.source().clone();
                let charge = |charge| releases.charge(charge).map_err(Failure::from);
                let users = rows.groups().map(Groups::by_name);
                let of = settings.private_categories();
                let (columns, statement) =
                    of.release(&rows, users.as_ref(), noise, &source, charge)?;
                (columns, Some(statement))
            }
        };
        let test = test.map(|test| test.with_columns(&columns));
        let data = Self::new(rows.with_columns(&columns), test, columns);
        Ok(ReleasedRows { data, statement })
    }

    /// The rows of the users of a shard, among those of a table.
    ///
    /// # Errors
    /// As [`ClickData::of_table`], and if a row is of another shard, where that is refused.
    pub fn of_shard(settings: &Settings, table: &Table, shard: Shard) -> Result<Self, Failure> {
        let reader = &named(settings)?.reader;
        let rows = reader.rows(table, LabelKind::Binary, Some(shard))?;
        refuse_where_it_may(settings, rows.left_out())?;
        Ok(Self::new(rows, None, reader.columns.clone()))
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
        if let Some(name) = data.reader.columns.first_private() {
            return Err(format!(
                "the private categories of `{name}` are released from all rows, in one place: take --category, which hashes them"
            )
            .into());
        }
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
        Ok(Self::new(rows, test, columns.clone()))
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Session;
    use crate::reader::features;
    use crate::settings::Method;
    use organza_data::sparse::{Categories, Column};
    use organza_train::Certificate;
    use std::fmt::Write;

    /// Sites that half of the users see, and one of a single user, who sees it often.
    fn settings(path: &Path, method: Method) -> Settings {
        let mut text = "who,ad,site,clicked\n".to_owned();
        for row in 0..4_000_usize {
            let site = ["news", "weather"][row % 2];
            writeln!(text, "u{},ad{},{site},{}", row / 2, row % 3, u8::from(row % 5 < 2)).unwrap();
        }
        (0..50).for_each(|_| text.push_str("u8,ad1,atlantis,1\n"));
        std::fs::write(path, text).unwrap();
        let categories = Categories::Private;
        let site = Column::Categorical { name: "site".to_owned(), categories };
        let columns = Columns {
            label: Some("clicked".to_owned()),
            group: Some("who".to_owned()),
            features: features([], ["ad".to_owned()], 5).into_iter().chain([site]).collect(),
            ..Columns::default()
        };
        let reader = ClickReader { format: None, header: None, columns };
        let data = DataSettings { path: path.to_owned(), test: None, reader, strict: false };
        let mut settings = Settings::new(Some(data), method, 2.0, 1e-6);
        settings.seed = Some(4);
        (settings.training.batch, settings.training.epochs) = (100.0, 1.0);
        settings
    }

    /// How many categories of the site there are, with that of all others, and what was promised.
    fn fitted(method: Method) -> (usize, Certificate) {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(&folder.path().join("shown.csv"), method);
        let data = ClickData::read(&settings).unwrap();
        let finished = Session::fit(settings, data).unwrap();
        (finished.model.model.layout.columns[1].len(), finished.certificate)
    }

    #[test]
    fn private_categories_of_many_users_show_and_that_of_one_does_not() {
        for method in [Method::OneShot, Method::OneShotDpsgd, Method::Dpsgd] {
            let (categories, certificate) = fitted(method);
            assert_eq!(categories, 3, "{method}");
            let said = &certificate.conditions;
            assert!(said.iter().any(|it| it.starts_with("2 private categories")), "{said:?}");
            assert!(certificate.epsilon.unwrap() <= 2.0);
        }
        // The twin counts without noise.
        assert_eq!(fitted(Method::None).0, 4);
    }
}
