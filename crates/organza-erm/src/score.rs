//! How good a model is. *Not private*: everything here comes from data without noise.

use crate::design::Design;
use crate::loss::Loss;
use crate::model::LinearModel;
use organza_data::sparse::SparseRows;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How many parts of the predictions, from the least to the largest, are compared with what came true.
const PARTS: usize = 10;

/// Figures of a model on some rows. *Not private.*
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// The mean loss.
    pub loss: f64,
    /// The mean loss of the best constant, which a model that learned something is below.
    pub constant_loss: f64,
    /// The share of rows whose class is the likelier one; none where there are no classes.
    pub accuracy: Option<f64>,
    /// The probability that a row of class 1 is ranked above one of class 0, ties counted half.
    pub auc: Option<f64>,
    /// How many rows of each class (first) are taken for each (second); none where there are no classes.
    pub confusion: Option<[[u64; 2]; 2]>,
    /// The part of the variance that linear regression explains.
    pub r_squared: Option<f64>,
    /// The mean deviance: twice the loss above that of a model that knows every label.
    pub deviance: f64,
    /// The squared norm of the gradient of the mean loss.
    pub squared_gradient: f64,
    /// For each tenth of the rows, by what is predicted: the mean of predictions, and that of labels.
    pub calibration: Vec<(f64, f64)>,
}

impl Scores {
    /// What is shown of them beside losses, by name; none where it says nothing about the model.
    pub fn named(&self) -> [(&'static str, Option<f64>); 4] {
        [
            ("accuracy", self.accuracy),
            ("AUC", self.auc),
            ("R squared", self.r_squared),
            ("deviance", Some(self.deviance).filter(|_| self.accuracy.is_none())),
        ]
    }
}

/// The mean loss of a model. *Not private.*
pub(crate) fn mean_loss(model: &LinearModel, rows: &SparseRows) -> f64 {
    let design = design(model, rows);
    let coordinates = model.coordinates();
    let loss = |row| model.loss.value(design.margin(row, &coordinates), design.label(row));
    (0..rows.len()).map(loss).sum::<f64>() / rows.len().max(1) as f64
}

fn design<'a>(model: &LinearModel, rows: &'a SparseRows) -> Design<'a> {
    Design::new(Cow::Borrowed(rows), model.features(), model.bound, model.has_intercept)
}

/// Measures a model.
pub fn score(model: &LinearModel, rows: &SparseRows) -> Scores {
    let design = design(model, rows);
    let coordinates = model.coordinates();
    let count = rows.len().max(1) as f64;
    let (mut loss, mut best) = (0.0, 0.0);
    let mut confusion = [[0; 2]; 2];
    let mut pairs = Vec::with_capacity(rows.len());
    let mut gradient = vec![0.0; coordinates.len()];
    for index in 0..rows.len() {
        let (margin, label) = (design.margin(index, &coordinates), design.label(index));
        loss += model.loss.value(margin, label);
        best += least_loss(model.loss, label);
        confusion[usize::from(label > 0.5)][usize::from(margin > 0.0)] += 1;
        let slope = model.loss.slope(margin, label) / count;
        for (column, value) in design.entries(index) {
            gradient[column as usize] += slope * value;
        }
        pairs.push((margin, label));
    }
    let constant = model.loss.constant(pairs.iter().map(|(_, label)| label).sum::<f64>() / count);
    let constant_loss =
        pairs.iter().map(|(_, label)| model.loss.value(constant, *label)).sum::<f64>();
    let correct = (confusion[0][0] + confusion[1][1]) as f64;
    let classes = matches!(model.loss, Loss::Logistic | Loss::Sigmoid);
    pairs.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    Scores {
        loss: loss / count,
        constant_loss: constant_loss / count,
        accuracy: classes.then_some(correct / count),
        auc: if classes { area(&pairs) } else { None },
        confusion: classes.then_some(confusion),
        r_squared: (model.loss == Loss::Linear && constant_loss > 0.0)
            .then_some(1.0 - loss / constant_loss),
        deviance: 2.0 * (loss - best) / count,
        squared_gradient: gradient.iter().map(|slope| slope * slope).sum(),
        calibration: calibration(model.loss, &pairs),
    }
}

/// The means of predictions and labels in each part of rows that are sorted by their margins.
fn calibration(loss: Loss, pairs: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mean = |part: &[(f64, f64)]| {
        let count = part.len() as f64;
        let predicted = part.iter().map(|(margin, _)| loss.prediction(*margin)).sum::<f64>();
        (predicted / count, part.iter().map(|(_, label)| label).sum::<f64>() / count)
    };
    pairs.chunks(pairs.len().div_ceil(PARTS).max(1)).map(mean).collect()
}

/// The loss of a model that knows the label.
fn least_loss(loss: Loss, label: f64) -> f64 {
    match loss {
        Loss::Poisson if label > 0.0 => label - label * libm::log(label),
        _ => 0.0,
    }
}

/// The area under the curve, from the ranks of class 1 among rows that are sorted by their margins; none if a class is
/// empty.
fn area(pairs: &[(f64, f64)]) -> Option<f64> {
    let is_one = |pair: &&(f64, f64)| pair.1 > 0.5;
    let ones = pairs.iter().filter(is_one).count() as f64;
    let zeros = pairs.len() as f64 - ones;
    let mut ranks = 0.0;
    let mut passed = 0;
    for tied in pairs.chunk_by(|one, other| one.0 == other.0) {
        let middle = passed as f64 + (tied.len() as f64 + 1.0) / 2.0;
        ranks += middle * tied.iter().filter(is_one).count() as f64;
        passed += tied.len();
    }
    (ones > 0.0 && zeros > 0.0).then(|| (ranks - ones * (ones + 1.0) / 2.0) / (ones * zeros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_counts_pairs() {
        let rows = [(-1.0, 0.0), (0.1, 0.0), (0.4, 1.0), (0.4, 0.0), (0.9, 1.0)];
        // Pairs: 0.4 beats 0.1 and -1, ties with 0.4; 0.9 beats all three: 5.5 of 6.
        assert_eq!(area(&rows), Some(5.5 / 6.0));
        assert_eq!(area(&[(1.0, 1.0)]), None);
    }

    /// Two features, of which one decides: a model that knows it, one that knows nothing, and one that is wrong.
    #[test]
    fn figures_are_those_of_the_formulas() {
        let mut rows = SparseRows::new(Some(1));
        for row in 0..100_u32 {
            let label = f64::from(row % 4);
            rows.push(label, &mut [(0, label as f32)], None).expect("a good row");
        }
        let model = |weight| LinearModel {
            loss: Loss::Linear,
            weights: vec![weight],
            intercept: 0.0,
            has_intercept: true,
            bound: None,
        };
        let (right, wrong) = (score(&model(1.0), &rows), score(&model(-1.0), &rows));
        assert_eq!((right.loss, right.r_squared), (0.0, Some(1.0)));
        // Variance 5/4, half of it as a loss; the wrong model is off by 2 y: mean of 4 y^2 is 14.
        assert!((right.constant_loss - 0.625).abs() < 1e-12);
        assert!((wrong.r_squared.unwrap_or(0.0) - (1.0 - 14.0 / 1.25)).abs() < 1e-12);
        assert_eq!(right.calibration.len(), 10);
        assert_eq!(right.calibration[0], (0.0, 0.0));
        assert_eq!(right.calibration[9], (3.0, 3.0));

        let mut classes = SparseRows::new(Some(1));
        for (label, value) in [(1.0, 2.0), (1.0, -1.0), (0.0, -2.0), (0.0, -2.0)] {
            classes.push(label, &mut [(0, value)], None).expect("a good row");
        }
        let logistic = score(&LinearModel { loss: Loss::Logistic, ..model(1.0) }, &classes);
        assert_eq!(logistic.confusion, Some([[2, 0], [1, 1]]));
        assert_eq!((logistic.accuracy, logistic.auc), (Some(0.75), Some(1.0)));
        assert!((logistic.constant_loss - 2_f64.ln()).abs() < 1e-12);
    }
}
