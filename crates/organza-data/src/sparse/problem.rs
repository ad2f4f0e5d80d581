//! What is wrong with a row of a sparse table.

use thiserror::Error;

/// What is wrong with a row, and what would do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RowProblem {
    /// The first word of a libsvm line is no number.
    #[error("the label `{0}` is not a number: a line is `label index:value index:value ...`")]
    LabelNumber(String),
    /// The label of a table is no number.
    #[error(
        "the label `{0}` is not a number: if it is the name of a class, declare them all with --classes"
    )]
    LabelText(String),
    /// The label is none of the declared classes.
    #[error("the label `{0}` is none of the declared classes")]
    Class(String),
    /// The label is none that the model knows.
    #[error("the label {value} is out of range: {expected}")]
    Label {
        /// The label.
        value: String,
        /// What it must be.
        expected: &'static str,
    },
    /// A word of a libsvm line has no colon.
    #[error("`{0}` is not `index:value`")]
    Pair(String),
    /// The index is no number.
    #[error("the index of `{0}` is not a whole number")]
    Index(String),
    /// The index is zero.
    #[error("index 0: features are counted from 1 in this format")]
    IndexZero,
    /// The index is beyond the declared width.
    #[error("index {index} is beyond the {features} features that were declared: raise --features")]
    Beyond {
        /// The index.
        index: u64,
        /// How many features there are.
        features: u64,
    },
    /// A feature stands twice.
    #[error("index {0} stands twice: give each feature once a line")]
    Doubled(u64),
    /// A value is no finite number.
    #[error("the value of `{0}` is not a finite number")]
    Value(String),
    /// The group has no name.
    #[error("the group is empty: name the group of every row, or leave the group column out")]
    EmptyGroup,
    /// A row has no group although earlier ones have.
    #[error("the row has no `qid:`, although others have: give all rows a group, or none")]
    NoGroup,
    /// Too many groups.
    #[error("more than {0} groups")]
    TooManyGroups(u64),
    /// A row of a table has another number of fields than the header.
    #[error("{found} fields, but the header has {expected}")]
    Ragged {
        /// How many fields there are.
        found: usize,
        /// How many the header has.
        expected: usize,
    },
    /// A field of a numeric column.
    #[error("`{value}` in column `{column}` is not a finite number: declare it categorical?")]
    Field {
        /// The column.
        column: String,
        /// What stands there.
        value: String,
    },
    /// The label is missing.
    #[error("the label is missing: a row without a label cannot be used")]
    NoLabel,
}
