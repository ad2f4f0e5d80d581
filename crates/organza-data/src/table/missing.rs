//! What stands for nothing.

use serde::{Deserialize, Serialize};

/// What people and programs write where nothing is known.
const USUAL: [&str; 12] =
    ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None"];

/// Texts that stand for nothing, beside the usual ones: empty, `NA`, `N/A`, `NaN`, `NULL`, `None` and the like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Missing(pub Vec<String>);

impl Missing {
    /// Whether only the usual texts do.
    pub fn is_usual(&self) -> bool {
        self.0.is_empty()
    }

    /// What stands in a field, without white space around it, if it is something.
    pub fn known<'a>(&self, field: Option<&'a str>) -> Option<&'a str> {
        let field = field?.trim();
        let is_missing = USUAL.contains(&field) || self.0.iter().any(|it| it == field);
        (!is_missing).then_some(field)
    }
}
