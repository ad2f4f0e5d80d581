//! The first line of a ledger: what all of its charges are relative to.

use crate::dataset::DataSet;
use crate::{Neighbouring, Unit};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The version of the ledger file that this library reads and writes.
pub(crate) const LEDGER_VERSION: u32 = 2;

/// What a ledger's charges are relative to. It is written once and never changes.
///
/// # Privacy
/// An epsilon means nothing without the relation, the unit and the delta, so they are fixed before
/// the first charge. What a person declared public is listed, since no charge covers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the file's format.
    pub version: u32,
    /// The relation that every event of the ledger speaks about.
    pub neighbouring: Neighbouring,
    /// What is protected as one.
    pub unit: Unit,
    /// The delta at which the budget is stated.
    pub delta: f64,
    /// What was declared public, and hence is used without a charge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub public: Vec<PublicFact>,
    /// The data set whose runs share this ledger; none on the ledger of a single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<DataSet>,
}

/// Something about the data that a person declared public.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicFact {
    /// What it is, such as `units`.
    pub name: String,
    /// Its value, as a person reads it.
    pub value: String,
}

impl PublicFact {
    /// A fact by its name.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// A header that makes no sense.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum HeaderError {
    /// Delta is no probability below 1.
    #[error("`delta` is {0}, but must be at least 0 and below 1")]
    Delta(f64),
    /// A fact has no name.
    #[error("a public fact has no name")]
    UnnamedFact,
    /// A fact is declared twice.
    #[error("the public fact `{0}` is declared twice")]
    DoubledFact(String),
    /// The name of a data set is no short line of text.
    #[error("the name of a data set must be 1 to 64 bytes without control characters")]
    DataSetName,
    /// The budget of a data set is no budget.
    #[error("the `epsilon` of a data set is {0}, but must be above 0 and finite")]
    DataSetEpsilon(f64),
}

impl Header {
    /// A header of the current version, with nothing declared public.
    pub fn new(neighbouring: Neighbouring, unit: Unit, delta: f64) -> Self {
        let (public, dataset) = (Vec::new(), None);
        Self { version: LEDGER_VERSION, neighbouring, unit, delta, public, dataset }
    }

    /// This header, with one more fact declared public.
    pub fn declare_public(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.public.push(PublicFact::new(name, value));
        self
    }

    /// Checks everything but the version.
    ///
    /// # Errors
    /// Names what is out of range.
    pub(crate) fn check(&self) -> Result<(), HeaderError> {
        if !(0.0..1.0).contains(&self.delta) {
            return Err(HeaderError::Delta(self.delta));
        }
        if let Some(dataset) = &self.dataset {
            dataset.check()?;
        }
        for (index, fact) in self.public.iter().enumerate() {
            if fact.name.is_empty() {
                return Err(HeaderError::UnnamedFact);
            }
            if self.public[..index].iter().any(|earlier| earlier.name == fact.name) {
                return Err(HeaderError::DoubledFact(fact.name.clone()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Header, HeaderError};
    use crate::{Neighbouring, Unit};

    fn header(delta: f64) -> Header {
        Header::new(Neighbouring::AddRemove, Unit::Line, delta)
    }

    #[test]
    fn delta_is_a_probability_below_one() {
        for delta in [0.0, 1e-6, 0.999] {
            assert_eq!(header(delta).check(), Ok(()));
        }
        for delta in [-1e-9, 1.0, f64::INFINITY, f64::NAN] {
            assert!(matches!(header(delta).check(), Err(HeaderError::Delta(_))), "{delta}");
        }
    }

    #[test]
    fn a_fact_is_declared_once_and_by_name() {
        let once = header(1e-6).declare_public("units", "200000");
        assert_eq!(once.check(), Ok(()));
        let doubled = once.declare_public("units", "300000");
        assert_eq!(doubled.check(), Err(HeaderError::DoubledFact("units".into())));
        let unnamed = header(1e-6).declare_public("", "200000");
        assert_eq!(unnamed.check(), Err(HeaderError::UnnamedFact));
    }
}
