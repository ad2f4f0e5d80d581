//! How good a model is. *Not private*: everything here comes from rows without noise.

use crate::model::ClickModel;
use crate::task::log_loss;
use organza_data::sparse::SparseRows;
use organza_model::ranking::{area_under_curve, calibration};
use serde::{Deserialize, Serialize};

/// Figures of a model on some rows. *Not private.*
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// How many rows there are.
    pub rows: u64,
    /// The probability that a row with a click is ranked above one without, ties counted half; none without both.
    pub auc: Option<f64>,
    /// The mean log loss; none without rows.
    pub log_loss: Option<f64>,
    /// That of the best constant, which a model that learned something is below.
    pub constant_loss: Option<f64>,
    /// The clicks that were expected over those that came: 1 is as it should be. None without clicks.
    pub expected_over_observed: Option<f64>,
    /// For each tenth of the rows, by what is predicted: the mean of predictions, and the rate of clicks.
    pub calibration: Vec<(f64, f64)>,
}

impl Quality {
    /// Of a model on rows.
    pub fn of(model: &ClickModel, rows: &SparseRows) -> Self {
        Self::of_log_odds(rows.iter().map(|row| (model.log_odds(&row), row.label)).collect())
    }

    /// Of log odds with what came true.
    pub fn of_log_odds(mut pairs: Vec<(f64, f64)>) -> Self {
        pairs.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let count = pairs.len() as f64;
        let clicks: f64 = pairs.iter().map(|(_, label)| label).sum();
        let probability = |score: f64| 1.0 / (1.0 + libm::exp(-score));
        let expected: f64 = pairs.iter().map(|(score, _)| probability(*score)).sum();
        let loss: f64 = pairs.iter().map(|(score, label)| log_loss(*score, *label)).sum();
        let entropy = |part: f64| if part > 0.0 { -part * libm::log(part) } else { 0.0 };
        let rate = clicks / count;
        let any = |value: f64| (count > 0.0).then_some(value);
        Self {
            rows: pairs.len() as u64,
            auc: area_under_curve(&pairs),
            log_loss: any(loss / count),
            constant_loss: any(entropy(rate) + entropy(1.0 - rate)),
            expected_over_observed: (clicks > 0.0).then_some(expected / clicks),
            calibration: calibration(&pairs, probability),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn figures_are_those_of_the_formulas() {
        let even = Quality::of_log_odds(vec![(0.0, 1.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]);
        assert_eq!((even.auc, even.expected_over_observed), (Some(0.5), Some(2.0)));
        assert!((even.log_loss.unwrap() - 2_f64.ln()).abs() < 1e-12);
        let entropy = -0.25 * 0.25_f64.ln() - 0.75 * 0.75_f64.ln();
        assert!((even.constant_loss.unwrap() - entropy).abs() < 1e-12);
        let none = Quality::of_log_odds(Vec::new());
        assert_eq!((none.rows, none.auc, none.log_loss), (0, None, None));
    }
}
