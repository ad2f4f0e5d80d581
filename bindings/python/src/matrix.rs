//! Matrices of scipy and numpy, as the libraries see them.

use crate::data::Data;
use crate::exceptions::DataError;
use crate::lent::Lent;
use organza_cli::HandedData;
use organza_data::sparse::SparseRows;
use organza_recommend::{FULL_WEIGHT, Histories, LentRows};
use pyo3::prelude::*;
use std::sync::Arc;

/// Whole numbers of either size.
enum Whole {
    Short(Lent<i32>),
    Long(Lent<i64>),
}

impl Whole {
    fn of(array: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let long = || Lent::of(array).map(Self::Long);
        Lent::of(array).map(Self::Short).or_else(long).ok_or_else(|| {
            DataError::new_err(format!("`{name}` has to be a contiguous array of int32 or int64"))
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::Short(values) => values.values().len(),
            Self::Long(values) => values.values().len(),
        }
    }

    /// A value, which is checked when the matrix is made; -1 beyond the end.
    fn at(&self, place: usize) -> i64 {
        match self {
            Self::Short(values) => values.values().get(place).map_or(-1, |it| i64::from(*it)),
            Self::Long(values) => values.values().get(place).copied().unwrap_or(-1),
        }
    }
}

/// Values of a matrix.
enum Values {
    Single(Lent<f32>),
    Double(Lent<f64>),
    Short(Lent<i32>),
    Long(Lent<i64>),
    Byte(Lent<i8>),
    Unsigned(Lent<u8>),
}

impl Values {
    fn of(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        Lent::of(array)
            .map(Self::Single)
            .or_else(|| Lent::of(array).map(Self::Double))
            .or_else(|| Lent::of(array).map(Self::Short))
            .or_else(|| Lent::of(array).map(Self::Long))
            .or_else(|| Lent::of(array).map(Self::Byte))
            .or_else(|| Lent::of(array).map(Self::Unsigned))
            .ok_or_else(|| {
                let kind = array.getattr("dtype").map_or_else(|_| String::new(), |it| it.to_string());
                DataError::new_err(format!(
                    "values of dtype {kind} cannot be read where they are: give a contiguous array of numbers"
                ))
            })
    }

    fn len(&self) -> usize {
        match self {
            Self::Single(it) => it.values().len(),
            Self::Double(it) => it.values().len(),
            Self::Short(it) => it.values().len(),
            Self::Long(it) => it.values().len(),
            Self::Byte(it) => it.values().len(),
            Self::Unsigned(it) => it.values().len(),
        }
    }

    fn at(&self, place: usize) -> f64 {
        match self {
            Self::Single(it) => f64::from(it.values()[place]),
            Self::Double(it) => it.values()[place],
            Self::Short(it) => f64::from(it.values()[place]),
            Self::Long(it) => it.values()[place] as f64,
            Self::Byte(it) => f64::from(it.values()[place]),
            Self::Unsigned(it) => f64::from(it.values()[place]),
        }
    }
}

/// A matrix by rows (CSR) that scipy keeps.
struct Sparse {
    starts: Whole,
    columns: Whole,
    values: Values,
}

impl Sparse {
    /// The parts of a matrix with so many columns, if they fit together and all values are finite.
    fn checked(
        starts: &Bound<'_, PyAny>,
        columns: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
        width: usize,
    ) -> PyResult<Self> {
        let starts = Whole::of(starts, "indptr")?;
        let matrix =
            Self { starts, columns: Whole::of(columns, "indices")?, values: Values::of(values)? };
        match columns.py().detach(|| matrix.problem(width)) {
            None => Ok(matrix),
            Some(Problem::Broken) => {
                Err(DataError::new_err("the parts of this sparse matrix do not fit"))
            }
            Some(Problem::NotFinite) => Err(DataError::new_err(
                "Input X contains NaN or infinity: correct or leave out such rows",
            )),
        }
    }

    fn problem(&self, width: usize) -> Option<Problem> {
        let entries = self.columns.len();
        let rows = self.starts.len();
        let fits = rows > 0
            && entries == self.values.len()
            && self.starts.at(0) == 0
            && self.starts.at(rows - 1) as usize <= entries
            && (1..rows).all(|row| self.starts.at(row - 1) <= self.starts.at(row))
            && (0..entries).all(|at| (0..width as i64).contains(&self.columns.at(at)));
        if !fits {
            return Some(Problem::Broken);
        }
        let finite = (0..entries).all(|at| self.values.at(at).is_finite());
        (!finite).then_some(Problem::NotFinite)
    }

    fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    fn row(&self, row: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let (start, end) = (self.starts.at(row) as usize, self.starts.at(row + 1) as usize);
        (start..end).map(|at| (self.columns.at(at) as u32, self.values.at(at)))
    }
}

enum Problem {
    Broken,
    NotFinite,
}

/// What persons did, in a matrix that scipy keeps.
struct PersonMatrix {
    matrix: Sparse,
    full: Option<f64>,
}

impl LentRows for PersonMatrix {
    fn persons(&self) -> usize {
        self.matrix.rows()
    }

    fn row(&self, person: usize, row: &mut Vec<(u32, u16)>) {
        row.extend(self.matrix.row(person).map(|(item, value)| {
            let part = match self.full {
                None => f64::from(u8::from(value > 0.0)),
                Some(full) => (value / full).min(1.0),
            };
            (item, (part * f64::from(FULL_WEIGHT)).ceil() as u16)
        }));
    }
}

/// What persons did with items: a CSR matrix, a row a person, which is read where it is.
#[pyfunction]
#[pyo3(signature = (indptr, indices, values, items, full_weight = None))]
pub(crate) fn histories(
    indptr: &Bound<'_, PyAny>,
    indices: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
    items: Vec<String>,
    full_weight: Option<f64>,
) -> PyResult<Data> {
    let matrix = Sparse::checked(indptr, indices, values, items.len())?;
    let negative = || (0..matrix.values.len()).any(|at| matrix.values.at(at) < 0.0);
    if indptr.py().detach(negative) {
        return Err(DataError::new_err(
            "there are negative values: a count or a weight is not negative",
        ));
    }
    let rows = Arc::new(PersonMatrix { matrix, full: full_weight });
    Ok(Data::new(HandedData::Histories(Histories::lent(items.len(), rows), items)))
}

/// Labels, where there are any, and the units of rows.
struct Labels {
    labels: Option<Lent<f64>>,
    groups: Option<Vec<String>>,
}

impl Labels {
    /// Those of so many rows.
    fn checked(
        labels: Option<&Bound<'_, PyAny>>,
        groups: Option<Vec<String>>,
        rows: usize,
    ) -> PyResult<Self> {
        let wrong = || DataError::new_err("labels have to be a contiguous array of float64");
        let labels = labels.map(|labels| Lent::of(labels).ok_or_else(wrong)).transpose()?;
        let fits = |length: Option<usize>| length.is_none_or(|length| length == rows);
        let lengths = (labels.as_ref().map(|it| it.values().len()), groups.as_ref().map(Vec::len));
        if !fits(lengths.0) || !fits(lengths.1) {
            let problem = "there has to be one label, and one unit if any, for each row";
            return Err(DataError::new_err(problem));
        }
        Ok(Self { labels, groups })
    }

    /// Rows with these labels.
    fn rows(
        &self,
        features: u64,
        number: usize,
        fill: impl Fn(usize, &mut Vec<(u32, f32)>),
    ) -> Result<SparseRows, String> {
        let mut rows = SparseRows::new(Some(features));
        let mut entries = Vec::new();
        for row in 0..number {
            entries.clear();
            fill(row, &mut entries);
            let label = self.labels.as_ref().map_or(0.0, |labels| labels.values()[row]);
            let group = self.groups.as_ref().map(|groups| groups[row].as_str());
            rows.push(label, &mut entries, group).map_err(|error| format!("row {row}: {error}"))?;
        }
        Ok(rows)
    }
}

fn data(features: u64, rows: Result<SparseRows, String>) -> PyResult<Data> {
    let rows = rows.map_err(DataError::new_err)?;
    Ok(Data::new(HandedData::Rows(rows, features)))
}

/// Rows with labels, of a CSR matrix.
#[pyfunction]
#[pyo3(signature = (indptr, indices, values, features, labels = None, groups = None))]
pub(crate) fn sparse_rows(
    indptr: &Bound<'_, PyAny>,
    indices: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
    features: u64,
    labels: Option<&Bound<'_, PyAny>>,
    groups: Option<Vec<String>>,
) -> PyResult<Data> {
    let matrix = Sparse::checked(indptr, indices, values, features as usize)?;
    let labels = Labels::checked(labels, groups, matrix.rows())?;
    let rows = indptr.py().detach(|| {
        labels.rows(features, matrix.rows(), |row, entries| {
            entries.extend(matrix.row(row).map(|(column, value)| (column, value as f32)));
        })
    });
    data(features, rows)
}

/// Rows with labels, of a dense matrix.
#[pyfunction]
#[pyo3(signature = (matrix, labels = None, groups = None))]
pub(crate) fn dense_rows(
    matrix: &Bound<'_, PyAny>,
    labels: Option<&Bound<'_, PyAny>>,
    groups: Option<Vec<String>>,
) -> PyResult<Data> {
    let values: Lent<f64> = Lent::of(matrix).ok_or_else(|| {
        DataError::new_err("a dense matrix has to be a contiguous array of float64")
    })?;
    let [number, features] = values.shape()[..] else {
        return Err(DataError::new_err("a matrix has two axes"));
    };
    let labels = Labels::checked(labels, groups, number)?;
    let rows = matrix.py().detach(|| {
        labels.rows(features as u64, number, |row, entries| {
            let row = &values.values()[row * features..(row + 1) * features];
            let numbered = (0..).zip(row).filter(|(_, value)| **value != 0.0);
            entries.extend(numbered.map(|(column, value)| (column, *value as f32)));
        })
    });
    data(features as u64, rows)
}
