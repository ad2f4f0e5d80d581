//! From the fields of a row to its label, its features and its group.

use super::columns::CLASSES;
use super::{
    Categories, Classes, Column, Columns, LabelKind, RowProblem, SparseRows, UnreleasedRows,
};
use crate::table::number;
use std::collections::HashMap;

/// What a field without a value is called as a category.
const NOTHING: &str = "";

/// Makes rows of fields, by what was declared about their columns.
pub(super) struct Encoder<'a> {
    columns: &'a Columns,
    labels: LabelKind,
    /// The first feature of each column, and the place of each category that it lists.
    features: Vec<(u64, HashMap<&'a str, u64>)>,
    entries: Vec<(u32, f32)>,
    /// The first number that stands for a category that is not released.
    known: u64,
    /// The number of each of them after that, by column and name.
    unreleased: HashMap<(u32, String), u32>,
    /// The number of each class that is not released.
    classes: HashMap<String, u32>,
}

impl<'a> Encoder<'a> {
    /// What is declared, or what is wrong with it.
    pub(super) fn new(columns: &'a Columns, labels: LabelKind) -> Result<Self, String> {
        if let Some(problem) = columns.problem(labels) {
            return Err(problem);
        }
        let mut first = 0;
        let features = columns.features.iter().map(|column| {
            let listed = match column {
                Column::Categorical { categories: Categories::Listed(names), .. } => &names[..],
                _ => &[],
            };
            let listed = listed.iter().map(String::as_str).zip(0..).collect();
            first += column.width();
            (first - column.width(), listed)
        });
        Ok(Self {
            features: features.collect(),
            columns,
            labels,
            entries: Vec::new(),
            known: columns.known_width(),
            unreleased: HashMap::new(),
            classes: HashMap::new(),
        })
    }

    /// The names of the columns that it needs, in the order in which [`Encoder::add`] takes their fields.
    pub(super) fn names(&self) -> Vec<&'a str> {
        let features = self.columns.features.iter().map(Column::name);
        self.label_column()
            .into_iter()
            .chain(self.columns.group.as_deref())
            .chain(features)
            .collect()
    }

    fn label_column(&self) -> Option<&'a str> {
        self.columns.label.as_deref().filter(|_| self.labels != LabelKind::Ignored)
    }

    /// The group that a row of fields names, if it names one.
    pub(super) fn group<'b>(&self, fields: &[Option<&'b str>]) -> Option<&'b str> {
        self.columns.group.as_ref()?;
        let place = usize::from(self.label_column().is_some());
        let name = self.columns.missing.known(fields.get(place).copied().flatten())?;
        Some(name).filter(|name| !name.is_empty())
    }

    /// Adds a row of fields.
    pub(super) fn add(
        &mut self,
        fields: &[Option<&str>],
        rows: &mut SparseRows,
    ) -> Result<(), RowProblem> {
        let mut fields = fields.iter().copied();
        let label = match self.label_column() {
            Some(_) => self.label(fields.next().flatten().unwrap_or_default().trim())?,
            None => 0.0,
        };
        let mut fields = fields.map(|field| self.columns.missing.known(field));
        let group =
            self.columns.group.as_ref().map(|_| fields.next().flatten().unwrap_or_default());
        self.entries.clear();
        let columns = self.columns.features.iter().zip(&self.features).zip(fields);
        for (place, ((column, (first, listed)), field)) in (0..).zip(columns) {
            let text = field.unwrap_or(NOTHING);
            let (feature, value) = match column {
                Column::Numeric { name, .. } | Column::Logarithmic { name, .. } => {
                    match (field.map(number), column) {
                        (None, _) => continue,
                        (Some(Some(number)), Column::Numeric { range, .. }) => {
                            (*first, scaled(number, *range) as f32)
                        }
                        (Some(Some(number)), Column::Logarithmic { most, .. }) => {
                            (*first, logarithmic(number, *most) as f32)
                        }
                        _ => {
                            let (column, value) = (name.clone(), text.to_owned());
                            return Err(RowProblem::Field { column, value });
                        }
                    }
                }
                Column::Categorical { name, categories: Categories::Hashed(buckets) } => {
                    (first + hash(name, text) % buckets, 1.0)
                }
                Column::Categorical { categories: Categories::Listed(names), .. } => {
                    (first + listed.get(text).copied().unwrap_or(names.len() as u64), 1.0)
                }
                Column::Categorical { categories: Categories::Private, .. } => {
                    let next = self.unreleased.len() as u32;
                    let number = self.unreleased.entry((place, text.to_owned())).or_insert(next);
                    (self.known + u64::from(*number), 1.0)
                }
            };
            self.entries.push((feature as u32, value));
        }
        rows.push(label, &mut self.entries, group)
    }

    /// The label that a text is; a declared class may be called as what is missing elsewhere.
    fn label(&mut self, text: &str) -> Result<f64, RowProblem> {
        if let Some(place) = self.columns.classes.names().iter().position(|name| name == text) {
            return Ok(place as f64);
        }
        let text = self.columns.missing.known(Some(text)).ok_or(RowProblem::NoLabel)?;
        match &self.columns.classes {
            Classes::Listed(_) => Err(RowProblem::Class(text.to_owned())),
            Classes::Private => {
                let next = self.classes.len() as u32;
                Ok(f64::from(*self.classes.entry(text.to_owned()).or_insert(next)))
            }
            Classes::Usual => {
                let said = || match text.to_lowercase().as_str() {
                    "yes" | "y" => Some(1.0),
                    "no" | "n" => Some(0.0),
                    _ => None,
                };
                let said =
                    number(text).or_else(|| said().filter(|_| self.labels == LabelKind::Binary));
                self.labels.accept(said.ok_or_else(|| RowProblem::LabelText(text.to_owned()))?)
            }
        }
    }

    /// No rows yet, of as many features as are known beforehand.
    pub(super) fn empty_rows(&self) -> SparseRows {
        SparseRows::new(self.columns.first_private().is_none().then(|| self.columns.width()))
    }

    /// The rows with the names of the categories that are still to be released.
    pub(super) fn finish(self, rows: SparseRows) -> UnreleasedRows {
        let sorted = |mut names: Vec<((u32, String), u32)>| -> Vec<(u32, String)> {
            names.sort_unstable_by_key(|(_, number)| *number);
            names.into_iter().map(|(name, _)| name).collect()
        };
        let names = sorted(self.unreleased.into_iter().collect());
        let classes = self.classes.into_iter().map(|(name, number)| ((CLASSES, name), number));
        UnreleasedRows::new(self.columns.clone(), rows, names, sorted(classes.collect()))
    }
}

/// A number of a declared range, mapped to -1 to 1.
fn scaled(number: f64, range: Option<(f64, f64)>) -> f64 {
    range.map_or(number, |(low, high)| (2.0 * (number.clamp(low, high) - low) / (high - low)) - 1.0)
}

/// An amount, mapped to 0 to 1.
fn logarithmic(number: f64, most: f64) -> f64 {
    libm::log1p(number.clamp(0.0, most)) / libm::log1p(most)
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
}
