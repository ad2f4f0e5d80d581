//! Where the columns of a table stand among the parameters of a model.

use organza_data::sparse::{Categories, Column, Columns, Row};
use organza_train::Failure;
use std::ops::Range;

/// More dimensions than these help nobody, and make every row of the table as wide.
pub(crate) const MOST_DIMENSIONS: u64 = 1_024;

/// Numbers first, then the categories of one column after another.
///
/// ```text
/// table: a row for each category    weight, vector of so many dimensions
/// dense: one row                    intercept, a weight for each number
/// ```
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    /// How many columns are numbers.
    pub(crate) numbers: usize,
    /// The rows of the table that each column of categories has.
    pub(crate) columns: Vec<Range<u32>>,
    /// The dimensions of vectors; none for a logistic regression.
    pub(crate) dimensions: usize,
}

impl Layout {
    /// That of declared columns.
    pub(crate) fn new(columns: &Columns, dimensions: usize) -> Result<Self, Failure> {
        let is_number = |column: &Column| matches!(column, Column::Logarithmic { .. });
        let numbers = columns.features.iter().take_while(|column| is_number(column)).count();
        let mut first = 0_u64;
        let mut ranges = Vec::new();
        for column in &columns.features[numbers..] {
            let width = match column {
                Column::Categorical { categories: Categories::Hashed(buckets), .. } => *buckets,
                Column::Categorical { categories: Categories::Listed(names), .. } => {
                    names.len() as u64 + 1
                }
                _ => return Err(ORDER.into()),
            };
            let end = first.saturating_add(width);
            if end >= u64::from(u32::MAX) - numbers as u64 {
                return Err("the columns have more than 2^32 buckets: take fewer".into());
            }
            ranges.push(first as u32..end as u32);
            first = end;
        }
        match ranges.is_empty() {
            true => {
                Err("a click model needs a column of categories: name one with --category".into())
            }
            false => Ok(Self { numbers, columns: ranges, dimensions }),
        }
    }

    /// The rows of the table.
    pub(crate) fn rows(&self) -> u32 {
        self.columns.last().map_or(0, |last| last.end)
    }

    /// The numbers in a row of the table.
    pub(crate) fn width(&self) -> usize {
        1 + self.dimensions
    }

    /// The numbers in the dense row.
    pub(crate) fn dense(&self) -> usize {
        1 + self.numbers
    }

    /// The tables of a model, the dense one last.
    pub(crate) fn tables(&self) -> Vec<(u64, u64)> {
        vec![(u64::from(self.rows()), self.width() as u64), (1, self.dense() as u64)]
    }

    /// How many parameters there are.
    pub(crate) fn len(&self) -> usize {
        self.rows() as usize * self.width() + self.dense()
    }

    /// The numbers of a row: their places and values.
    pub(crate) fn numbers<'a>(
        &self,
        row: &Row<'a>,
    ) -> impl Iterator<Item = (usize, f32)> + use<'a> {
        let numbers = self.numbers as u32;
        row.entries()
            .take_while(move |(feature, _)| *feature < numbers)
            .map(|(feature, value)| (feature as usize, value))
    }

    /// The categories of a row, as rows of the table.
    pub(crate) fn categories<'a>(&self, row: &Row<'a>) -> impl Iterator<Item = u32> + use<'a> {
        let numbers = self.numbers as u32;
        let first = row.columns.partition_point(|feature| *feature < numbers);
        row.columns[first..].iter().map(move |feature| feature - numbers)
    }

    /// The column of a row of the table.
    pub(crate) fn column_of(&self, category: u32) -> usize {
        self.columns.partition_point(|range| range.end <= category)
    }
}

const ORDER: &str = "the columns of a click model are numbers (logarithmic) first, then categories, hashed or listed";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn columns_have_their_places() {
        let category = |name: &str, buckets| Column::Categorical {
            name: name.to_owned(),
            categories: Categories::Hashed(buckets),
        };
        let number = Column::Logarithmic { name: "seen".to_owned(), most: 10.0 };
        let features = vec![number.clone(), category("ad", 5), category("site", 3)];
        let columns = Columns { features, ..Columns::default() };
        let layout = Layout::new(&columns, 2).unwrap();
        assert_eq!((layout.rows(), layout.len(), layout.tables()), (8, 26, vec![(8, 3), (1, 2)]));
        assert_eq!([0, 4, 5, 7].map(|it| layout.column_of(it)), [0, 0, 1, 1]);
        let row = Row { columns: &[0, 2, 6], values: &[0.5, 1.0, 1.0], label: 0.0 };
        assert_eq!(layout.numbers(&row).collect::<Vec<_>>(), [(0, 0.5)]);
        assert_eq!(layout.categories(&row).collect::<Vec<_>>(), [1, 5]);
        for wrong in [vec![], vec![number.clone()], vec![category("ad", 5), number]] {
            assert!(Layout::new(&Columns { features: wrong, ..Columns::default() }, 0).is_err());
        }
    }
}
