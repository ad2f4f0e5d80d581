//! What it costs to look at many models and keep the best.

use organza_words::suite::{self, Total};
use serde::Serialize;

/// What tuning costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Price {
    /// All of the data was declared public.
    Free,
    /// All runs in the folder together, and hence whatever is chosen of them by looking at them.
    Composed {
        /// The bound on the privacy loss.
        epsilon: f64,
        /// The probability of exceeding it.
        delta: f64,
    },
    /// At least one run was not private, or they do not protect the same thing, so nothing is promised.
    NoGuarantee,
}

impl Price {
    /// The price of the best of all runs in a folder.
    ///
    /// # Privacy
    /// The choice of the best model and of its settings is a function of all models and of scores that
    /// are public or made from the models alone. By post-processing it costs no more than all of them
    /// ([`Total::of`]), and nothing is promised if one of them promises nothing.
    pub(super) fn of(total: &Total, is_public: bool) -> Self {
        match total.price {
            _ if is_public => Self::Free,
            Some(suite::Price { epsilon, delta }) if total.without_guarantee == 0 => {
                Self::Composed { epsilon, delta }
            }
            _ => Self::NoGuarantee,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_without_a_guarantee_leaves_none() {
        let price = Some(suite::Price { epsilon: 3.0, delta: 1e-6 });
        let total = Total { price, runs: 4, earlier: 0, without_guarantee: 0 };
        assert_eq!(Price::of(&total, false), Price::Composed { epsilon: 3.0, delta: 1e-6 });
        assert_eq!(Price::of(&total, true), Price::Free);
        let seeded = Total { without_guarantee: 1, ..total };
        assert_eq!(Price::of(&seeded, false), Price::NoGuarantee);
        let mixed = Total { price: None, ..total };
        assert_eq!(Price::of(&mixed, false), Price::NoGuarantee);
    }
}
