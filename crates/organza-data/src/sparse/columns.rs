//! From the columns of a table to features, by what a person declared about them.

use super::{LabelKind, MOST_FEATURES};
use crate::table::Missing;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The place of the label among the columns that have categories.
pub const CLASSES: u32 = u32::MAX;

/// What a table's columns are. Everything here is declared, and nothing is learned from the data but by a
/// release with a charge.
///
/// Features are laid out in the order of `features`: a numeric column is one feature, hashed
/// categories are as many as there are buckets, listed ones as many as are listed and one more for
/// all that are not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Columns {
    /// The column of the label; none where rows are only predicted.
    pub label: Option<String>,
    /// The column that names the group of a row.
    pub group: Option<String>,
    /// The columns that become features, in order.
    pub features: Vec<Column>,
    /// What labels are called, where they are classes.
    #[serde(default, skip_serializing_if = "Classes::are_usual")]
    pub classes: Classes,
    /// What stands for nothing beside the usual.
    #[serde(default, skip_serializing_if = "Missing::is_usual")]
    pub missing: Missing,
}

/// What labels are called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Classes {
    /// As usual: numbers, `true` and `false`, `yes` and `no`.
    #[default]
    Usual,
    /// These, the first being class 0.
    Listed(Vec<String>),
    /// Those that are released, the most frequent being class 0, which stands for all others as well.
    Private,
}

impl Classes {
    fn are_usual(&self) -> bool {
        *self == Self::Usual
    }

    /// Their names, if they are known.
    pub fn names(&self) -> &[String] {
        match self {
            Self::Listed(names) => names,
            Self::Usual | Self::Private => &[],
        }
    }
}

/// One column that becomes features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Column {
    /// Numbers, truth values or dates (as days since 1970). A missing one is zero, the middle of what is known of it.
    Numeric {
        /// Its name.
        name: String,
        /// The declared range, mapped to -1 to 1; numbers outside are taken for its ends.
        range: Option<(f64, f64)>,
    },
    /// Counts and amounts: log(1 + x) over log(1 + most), between 0 and 1. What is negative is 0, and so is a missing one.
    Logarithmic {
        /// Its name.
        name: String,
        /// The declared amount that becomes 1; larger ones are taken for it.
        most: f64,
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
            Self::Numeric { name, .. }
            | Self::Logarithmic { name, .. }
            | Self::Categorical { name, .. } => name,
        }
    }

    /// How many features it becomes.
    pub(crate) fn width(&self) -> u64 {
        match self {
            Self::Numeric { .. } | Self::Logarithmic { .. } => 1,
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

    /// The first column whose categories, or classes, are still to be released.
    pub fn first_private(&self) -> Option<&str> {
        let label = self.label.as_deref().filter(|_| self.classes == Classes::Private);
        label.or(self.features.iter().find(|column| column.is_private()).map(Column::name))
    }

    /// Of how many columns categories or classes are still to be released.
    pub fn private_columns(&self) -> u64 {
        let features = self.features.iter().filter(|column| column.is_private()).count();
        features as u64 + u64::from(self.classes == Classes::Private)
    }

    /// What is wrong with them, if something is.
    pub(super) fn problem(&self, labels: LabelKind) -> Option<String> {
        if self.features.is_empty() {
            return Some("no column becomes a feature: name some as numeric or categorical".into());
        }
        if self.width() == 0 || self.width() > MOST_FEATURES {
            return Some(format!("{} features are too many or none", self.width()));
        }
        if self.label.is_none() && labels != LabelKind::Ignored {
            return Some("which column is the label? Give --label-column".into());
        }
        if !self.features.is_sorted_by_key(Column::is_private) {
            return Some("columns of private categories must come after all others".into());
        }
        self.features.iter().find_map(|column| match column {
            Column::Numeric { name, range: Some((low, high)) }
                if !(low < high && low.is_finite() && high.is_finite()) =>
            {
                Some(format!("the range of `{name}` is {low} to {high}: give low:high"))
            }
            Column::Logarithmic { name, most } if !(*most > 0.0 && most.is_finite()) => {
                Some(format!("`{name}` is to become 1 at {most}: give a number above 0"))
            }
            column => (column.width() == 0)
                .then(|| format!("`{}` has no buckets: give at least 1", column.name())),
        })
    }

    /// The same, with these categories listed in the private columns, in this order: pairs of a column's
    /// place among the features ([`CLASSES`] for what labels are called) and a name.
    pub fn with_categories<'c>(
        &self,
        categories: impl IntoIterator<Item = super::Category<'c>>,
    ) -> Self {
        let mut listed: HashMap<u32, Vec<String>> = HashMap::new();
        for (column, name) in categories {
            listed.entry(column).or_default().push(name.to_owned());
        }
        let mut columns = self.clone();
        if columns.classes == Classes::Private {
            columns.classes = Classes::Listed(listed.remove(&CLASSES).unwrap_or_default());
        }
        for (place, column) in (0..).zip(&mut columns.features) {
            if let Column::Categorical { categories, .. } = column
                && *categories == Categories::Private
            {
                *categories = Categories::Listed(listed.remove(&place).unwrap_or_default());
            }
        }
        columns
    }

    /// The column that a feature is of, and its place there.
    fn column_of(&self, feature: u64) -> Option<(&Column, u64)> {
        let mut first = 0;
        self.features.iter().find_map(|column| {
            let inside = feature.checked_sub(first)?;
            first += column.width();
            (inside < column.width()).then_some((column, inside))
        })
    }

    /// Whether a feature is a bucket, which any category may fall into.
    pub fn is_bucket(&self, feature: u64) -> bool {
        let hashed = |(column, _): &(&Column, u64)| {
            matches!(column, Column::Categorical { categories: Categories::Hashed(_), .. })
        };
        self.column_of(feature).as_ref().is_some_and(hashed)
    }

    /// The name of a feature.
    pub fn feature_name(&self, feature: u64) -> Option<String> {
        let (column, inside) = self.column_of(feature)?;
        Some(match column {
            Column::Numeric { name, .. } | Column::Logarithmic { name, .. } => name.clone(),
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
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_have_names() {
        let columns = Columns {
            features: vec![
                Column::Numeric { name: "age".into(), range: None },
                Column::Categorical {
                    name: "sex".into(),
                    categories: Categories::Listed(vec!["f".into(), "m".into()]),
                },
                Column::Categorical { name: "city".into(), categories: Categories::Hashed(8) },
            ],
            ..Columns::default()
        };
        assert_eq!(columns.width(), 12);
        let name = |feature| columns.feature_name(feature).unwrap_or_default();
        assert_eq!(
            [name(0), name(2), name(3), name(11), name(12)],
            ["age", "sex=m", "sex=(other)", "city#7", ""]
        );
        assert_eq!([3, 4, 11, 12].map(|it| columns.is_bucket(it)), [false, true, true, false]);
    }
}
