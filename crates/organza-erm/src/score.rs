//! How good a model is. *Not private*: everything here comes from data without noise.

use crate::design::Design;
use crate::loss::Loss;
use crate::model::LinearModel;
use organza_data::sparse::SparseRows;
use serde::Serialize;
use std::borrow::Cow;

/// Figures of a model on some rows. *Not private.*
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scores {
    /// The mean loss.
    pub loss: f64,
    /// The share of rows whose class is the likelier one; none where there are no classes.
    pub accuracy: Option<f64>,
    /// The probability that a row of class 1 is ranked above one of class 0, ties counted half.
    pub auc: Option<f64>,
    /// The mean deviance: twice the loss above that of a model that knows every label.
    pub deviance: f64,
    /// The squared norm of the gradient of the mean loss.
    pub squared_gradient: f64,
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
    let (mut loss, mut best, mut correct) = (0.0, 0.0, 0.0);
    let mut margins = Vec::with_capacity(rows.len());
    let mut gradient = vec![0.0; coordinates.len()];
    for index in 0..rows.len() {
        let (margin, label) = (design.margin(index, &coordinates), design.label(index));
        loss += model.loss.value(margin, label);
        best += least_loss(model.loss, label);
        correct += f64::from(u8::from((margin > 0.0) == (label > 0.5)));
        let slope = model.loss.slope(margin, label) / count;
        for (column, value) in design.entries(index) {
            gradient[column as usize] += slope * value;
        }
        margins.push((margin, label > 0.5));
    }
    let classes = matches!(model.loss, Loss::Logistic | Loss::Sigmoid);
    Scores {
        loss: loss / count,
        accuracy: classes.then_some(correct / count),
        auc: if classes { area(margins) } else { None },
        deviance: 2.0 * (loss - best) / count,
        squared_gradient: gradient.iter().map(|slope| slope * slope).sum(),
    }
}

/// The loss of a model that knows the label.
fn least_loss(loss: Loss, label: f64) -> f64 {
    match loss {
        Loss::Poisson if label > 0.0 => label - label * libm::log(label),
        _ => 0.0,
    }
}

/// The area under the curve, from the ranks of class 1; none if a class is empty.
fn area(mut margins: Vec<(f64, bool)>) -> Option<f64> {
    margins.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let ones = margins.iter().filter(|(_, one)| *one).count() as f64;
    let zeros = margins.len() as f64 - ones;
    let mut ranks = 0.0;
    let mut passed = 0;
    for tied in margins.chunk_by(|one, other| one.0 == other.0) {
        let middle = passed as f64 + (tied.len() as f64 + 1.0) / 2.0;
        ranks += middle * tied.iter().filter(|(_, one)| *one).count() as f64;
        passed += tied.len();
    }
    (ones > 0.0 && zeros > 0.0).then(|| (ranks - ones * (ones + 1.0) / 2.0) / (ones * zeros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_counts_pairs() {
        let rows = vec![(0.1, false), (0.4, true), (0.4, false), (0.9, true), (-1.0, false)];
        // Pairs: 0.4 beats 0.1 and -1, ties with 0.4; 0.9 beats all three: 5.5 of 6.
        assert_eq!(area(rows), Some(5.5 / 6.0));
        assert_eq!(area(vec![(1.0, true)]), None);
    }
}
