//! Which two data sets count as neighbours, and what one unit of data is.

use serde::{Deserialize, Serialize};

/// The neighbouring relation that a guarantee speaks about.
///
/// A mechanism is private when its output hardly tells two neighbouring data sets apart, so every
/// sensitivity, event and epsilon is meaningful only together with its relation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Neighbouring {
    /// One unit is added or removed (the default, and what Poisson sampling is analysed for).
    #[default]
    AddRemove,
    /// One unit is replaced by another; the number of units stays.
    ReplaceOne,
}

impl std::fmt::Display for Neighbouring {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(formatter)
    }
}

/// What is protected as one: the thing whose presence the guarantee hides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// One training sample, such as a (target, context) pair. The weakest promise.
    Pair,
    /// One line of text, such as a review or a message.
    Line,
    /// Everything that came from one person.
    User,
    /// One document, such as a file.
    Document,
    /// One record of a table.
    Record,
    /// One group of records, such as a cluster of similar rows.
    Group,
}

impl std::fmt::Display for Unit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(formatter)
    }
}
