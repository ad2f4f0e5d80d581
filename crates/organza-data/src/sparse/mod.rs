//! Rows of a sparse table: labels, a few features each, and the group that a row belongs to.
//!
//! ```text
//! libsvm ───────────┬─▶ SparseRows
//! a table ─(Columns)┤        ▲
//!                   └─▶ UnreleasedRows ─▶ counts of categories ─(mechanism)─▶ Columns
//! ```
//!
//! Nothing here is private: the rows *are* the data. Widths, ranges and categories are declared by a
//! person, or released by a mechanism; a reader never learns them from the data, but for [`SparseRows::largest_column`], which
//! says itself that it is not private. A row that makes no sense is left out, by what it is itself
//! ([`LeftOut`](crate::LeftOut)).

mod columns;
mod encode;
mod label;
mod libsvm;
mod problem;
mod read;
mod release;
mod rows;
mod unreleased;

pub use columns::{CLASSES, Categories, Classes, Column, Columns};
pub use label::LabelKind;
pub use libsvm::{Grouped, read_libsvm};
pub use problem::RowProblem;
pub use read::{read_table, read_unreleased, rows_of};
pub use release::CategoryRelease;
pub use rows::{Row, SparseRows};
pub use unreleased::{Category, UnreleasedRows};

/// The widest table: column numbers take 32 bits, and one more coordinate is left for an intercept.
pub const MOST_FEATURES: u64 = (1 << 32) - 2;
