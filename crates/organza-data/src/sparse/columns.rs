//! From the columns of a table to features, by what a person declared about them.

use super::{LabelKind, MOST_FEATURES, RowProblem, SparseRows, UnreleasedRows};
use crate::DataError;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;

/// What a table's columns are. Everything here is declared, and nothing is learned from the data but by a
/// release with a charge.
///
/// Features are laid out in the order of `features`: a numeric column is one feature, hashed
/// categories are as many as there are buckets, listed ones as many as are listed and one more for
/// all that are not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Columns {
    /// The column of the label; none where rows are only predicted.
    pub label: Option<String>,
    /// The column that names the group of a row.
    pub group: Option<String>,
    /// The columns that become features, in order.
    pub features: Vec<Column>,
}

/// One column that becomes features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Column {
    /// Numbers. A missing one (empty, `NA` or `NaN`) is zero, the middle of what is known of it.
    Numeric {
        /// Its name.
        name: String,
        /// The declared range, mapped to -1 to 1; numbers outside are taken for its ends.
        range: Option<(f64, f64)>,
    },
    /// Categories. A missing one is a category of its own.
    Categorical {
        /// Its name.
        name: String,
        /// Which categories there are.
        categories: Categories,
    },
}

/// Which categories a column has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Categories {
    /// Any: each falls into one of so many buckets by a hash of the column's name and its own.
    Hashed(u64),
    /// These, in this order, and one feature for all others.
    Listed(Vec<String>),
    /// Those that are released, and one feature for all others. Such columns come last, and have no features
    /// but that one before [`Columns::with_categories`].
    Private,
}

impl Column {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Numeric { name, .. } | Self::Categorical { name, .. } => name,
        }
    }

    /// How many features it becomes.
    pub(crate) fn width(&self) -> u64 {
        match self {
            Self::Numeric { .. } => 1,
            Self::Categorical { categories: Categories::Hashed(buckets), .. } => *buckets,
            Self::Categorical { categories: Categories::Listed(names), .. } => {
                names.len() as u64 + 1
            }
            Self::Categorical { categories: Categories::Private, .. } => 1,
        }
    }

    /// Whether its categories are still to be released.
    pub fn is_private(&self) -> bool {
        matches!(self, Self::Categorical { categories: Categories::Private, .. })
    }
}

/// What stands in a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field<'a> {
    Missing,
    /// Only Parquet has numbers as such.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code))]
    Number(f64),
    Text(&'a str),
}

impl<'a> Field<'a> {
    /// A field of a text file.
    pub(super) fn of(text: &'a str) -> Self {
        match text.trim() {
            "" | "NA" | "NaN" | "nan" | "null" => Self::Missing,
            text => Self::Text(text),
        }
    }

    fn number(self) -> Option<Option<f64>> {
        match self {
            Self::Missing => Some(None),
            Self::Number(number) if number.is_nan() => Some(None),
            Self::Number(number) => number.is_finite().then_some(Some(number)),
            Self::Text(text) => text.parse().ok().filter(|it: &f64| it.is_finite()).map(Some),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Missing => String::new(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.to_owned(),
        }
    }
}

/// Columns found in a header.
pub(super) struct Resolved<'a> {
    columns: &'a Columns,
    labels: LabelKind,
    label: Option<usize>,
    group: Option<usize>,
    /// Place in the row and first feature of each column.
    places: Vec<(usize, u64)>,
    /// The place of each listed category.
    listed: Vec<HashMap<&'a str, u64>>,
    entries: Vec<(u32, f32)>,
    /// The first number that stands for a category that is not released.
    known: u64,
    /// The number of each of them after that, by column and name.
    unreleased: HashMap<(u32, String), u32>,
}

impl Columns {
    /// How many features there are in all.
    pub fn width(&self) -> u64 {
        self.features.iter().map(Column::width).fold(0, u64::saturating_add)
    }

    /// How many features there are before the private columns.
    pub(super) fn known_width(&self) -> u64 {
        let known = self.features.iter().filter(|column| !column.is_private());
        known.map(Column::width).fold(0, u64::saturating_add)
    }

    /// The first column whose categories are still to be released.
    pub fn first_private(&self) -> Option<&str> {
        self.features.iter().find(|column| column.is_private()).map(Column::name)
    }

    /// Refuses to read rows whose categories are still to be released.
    pub(super) fn need_no_release(&self, path: &Path) -> Result<(), DataError> {
        let Some(name) = self.first_private() else { return Ok(()) };
        let problem = format!("the categories of `{name}` are not released yet");
        Err(DataError::Table { path: path.to_owned(), problem })
    }

    /// The same, with these categories listed in the private columns, in this order: pairs of a column's
    /// place among the features and a name.
    pub fn with_categories<'c>(
        &self,
        categories: impl IntoIterator<Item = super::Category<'c>>,
    ) -> Self {
        let mut listed: HashMap<u32, Vec<String>> = HashMap::new();
        for (column, name) in categories {
            listed.entry(column).or_default().push(name.to_owned());
        }
        let mut columns = self.clone();
        for (place, column) in (0..).zip(&mut columns.features) {
            if let Column::Categorical { categories, .. } = column
                && *categories == Categories::Private
            {
                *categories = Categories::Listed(listed.remove(&place).unwrap_or_default());
            }
        }
        columns
    }

    /// The name of each feature that has one: numeric columns and listed categories.
    pub fn feature_name(&self, feature: u64) -> Option<String> {
        let mut first = 0;
        for column in &self.features {
            let inside = feature.checked_sub(first)?;
            if inside < column.width() {
                return Some(match column {
                    Column::Numeric { name, .. } => name.clone(),
                    Column::Categorical { name, categories: Categories::Hashed(_) } => {
                        format!("{name}#{inside}")
                    }
                    Column::Categorical { name, categories: Categories::Listed(names) } => {
                        let other = "(other)".to_owned();
                        format!("{name}={}", names.get(inside as usize).unwrap_or(&other))
                    }
                    Column::Categorical { name, categories: Categories::Private } => {
                        format!("{name}=(other)")
                    }
                });
            }
            first += column.width();
        }
        None
    }

    /// Finds the columns in a header.
    pub(super) fn resolve<'a>(
        &'a self,
        header: &[String],
        labels: LabelKind,
    ) -> Result<Resolved<'a>, String> {
        let find = |name: &str| {
            let mut found = header.iter().enumerate().filter(|(_, column)| *column == name);
            match (found.next(), found.next()) {
                (Some((place, _)), None) => Ok(place),
                (None, _) => Err(format!(
                    "there is no column `{name}`: the header has {}",
                    header.join(", ")
                )),
                (Some(_), Some(_)) => Err(format!("two columns are called `{name}`")),
            }
        };
        if self.features.is_empty() {
            return Err("no column becomes a feature: name some as numeric or categorical".into());
        }
        if self.width() == 0 || self.width() > MOST_FEATURES {
            return Err(format!("{} features are too many or none", self.width()));
        }
        let label = match (&self.label, labels) {
            (Some(name), LabelKind::Ignored) => find(name).ok(),
            (Some(name), _) => Some(find(name)?),
            (None, LabelKind::Ignored) => None,
            (None, _) => return Err("which column is the label? Give --label".into()),
        };
        if !self.features.is_sorted_by_key(Column::is_private) {
            return Err("columns of private categories must come after all others".into());
        }
        let mut first = 0;
        let mut places = Vec::new();
        let mut listed = Vec::new();
        for column in &self.features {
            if let Column::Numeric { name, range: Some((low, high)) } = column
                && !(low < high && low.is_finite() && high.is_finite())
            {
                return Err(format!("the range of `{name}` is {low} to {high}: give low:high"));
            }
            if column.width() == 0 {
                return Err(format!("`{}` has no buckets: give at least 1", column.name()));
            }
            places.push((find(column.name())?, first));
            listed.push(match column {
                Column::Categorical { categories: Categories::Listed(names), .. } => {
                    names.iter().map(String::as_str).zip(0..).collect()
                }
                _ => HashMap::new(),
            });
            first += column.width();
        }
        let group = self.group.as_deref().map(find).transpose()?;
        Ok(Resolved {
            columns: self,
            labels,
            label,
            group,
            places,
            listed,
            entries: Vec::new(),
            known: self.known_width(),
            unreleased: HashMap::new(),
        })
    }
}

impl Resolved<'_> {
    /// Adds a row of fields.
    pub(super) fn add<'f>(
        &mut self,
        field: impl Fn(usize) -> Field<'f>,
        rows: &mut SparseRows,
    ) -> Result<(), RowProblem> {
        let label = match self.label.map(&field) {
            Some(field) => match (field.number(), self.labels) {
                (Some(Some(number)), _) => number,
                (_, LabelKind::Ignored) => f64::NAN,
                (Some(None), _) => return Err(RowProblem::NoLabel),
                (None, _) => return Err(RowProblem::LabelNumber(field.text())),
            },
            None => f64::NAN,
        };
        let label = self.labels.accept(label)?;
        self.entries.clear();
        let columns = self.columns.features.iter().zip(&self.places).zip(&self.listed);
        for (number, ((column, (place, first)), listed)) in (0..).zip(columns) {
            let field = field(*place);
            let (feature, value) = match column {
                Column::Numeric { name, range } => match field.number() {
                    Some(None) => continue,
                    Some(Some(number)) => (*first, scaled(number, *range) as f32),
                    None => {
                        let (column, value) = (name.clone(), field.text());
                        return Err(RowProblem::Field { column, value });
                    }
                },
                Column::Categorical { name, categories: Categories::Hashed(buckets) } => {
                    (first + hash(name, &field.text()) % buckets, 1.0)
                }
                Column::Categorical { categories: Categories::Listed(names), .. } => {
                    let text = field.text();
                    let place = listed.get(text.as_str()).copied();
                    (first + place.unwrap_or(names.len() as u64), 1.0)
                }
                Column::Categorical { categories: Categories::Private, .. } => {
                    let next = self.unreleased.len() as u32;
                    let place = self.unreleased.entry((number, field.text())).or_insert(next);
                    (self.known + u64::from(*place), 1.0)
                }
            };
            self.entries.push((feature as u32, value));
        }
        let group = self.group.map(|place| field(place).text());
        rows.push(label, &mut self.entries, group.as_deref())
    }

    /// No rows yet, of as many features as are known beforehand.
    pub(super) fn no_rows(&self) -> SparseRows {
        SparseRows::new(self.columns.first_private().is_none().then(|| self.columns.width()))
    }

    /// The rows with the names of the categories that are still to be released.
    pub(super) fn finish(self, rows: SparseRows) -> UnreleasedRows {
        let mut names: Vec<_> = self.unreleased.into_iter().collect();
        names.sort_unstable_by_key(|(_, number)| *number);
        let names = names.into_iter().map(|(name, _)| name).collect();
        UnreleasedRows::new(self.columns.clone(), rows, names)
    }
}

/// A number of a declared range, mapped to -1 to 1.
fn scaled(number: f64, range: Option<(f64, f64)>) -> f64 {
    range.map_or(number, |(low, high)| (2.0 * (number.clamp(low, high) - low) / (high - low)) - 1.0)
}

/// FNV-1a with a final mix, over `column=value`: the same on every machine and in every version,
/// because saved models depend on it.
fn hash(column: &str, value: &str) -> u64 {
    let bytes = column.bytes().chain([b'=']).chain(value.bytes());
    let sum = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let sum = (sum ^ (sum >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    sum ^ (sum >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_stable_and_spreads() {
        assert_eq!(hash("color", "red"), hash("color", "red"));
        assert_ne!(hash("color", "red"), hash("colour", "red"));
        let mut counts = [0_u32; 64];
        (0..64_000).for_each(|it| counts[(hash("user", &it.to_string()) % 64) as usize] += 1);
        // Binomial(64000, 1/64): mean 1000, deviation 31.4; five deviations.
        assert!(counts.iter().all(|count| count.abs_diff(1_000) < 160), "{counts:?}");
        assert_eq!(hash("a", "b"), 16_132_378_226_955_258_000);
    }

    #[test]
    fn features_have_names() {
        let columns = Columns {
            label: None,
            group: None,
            features: vec![
                Column::Numeric { name: "age".into(), range: None },
                Column::Categorical {
                    name: "sex".into(),
                    categories: Categories::Listed(vec!["f".into(), "m".into()]),
                },
                Column::Categorical { name: "city".into(), categories: Categories::Hashed(8) },
            ],
        };
        assert_eq!(columns.width(), 12);
        let name = |feature| columns.feature_name(feature).unwrap_or_default();
        assert_eq!(
            [name(0), name(2), name(3), name(11), name(12)],
            ["age", "sex=m", "sex=(other)", "city#7", ""]
        );
    }
}
