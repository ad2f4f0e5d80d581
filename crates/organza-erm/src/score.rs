//! How good a model is. *Not private*: everything here comes from data without noise.

use crate::design::Design;
use crate::loss::Loss;
use crate::model::LinearModel;
use organza_data::sparse::SparseRows;
use organza_model::ranking::{area_under_curve, calibration};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Figures of a model on some rows. *Not private.*
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// The mean loss; with more than two classes the sum of those of telling each from all others.
    pub loss: f64,
    /// The mean loss of the best constant, which a model that learned something is below.
    pub constant_loss: f64,
    /// The share of rows whose class is the likelier one; none where there are no classes.
    pub accuracy: Option<f64>,
    /// The probability that a row of class 1 is ranked above one of class 0, ties counted half; with more than two classes
    /// the mean of those of each against all others.
    pub auc: Option<f64>,
    /// How many rows of each class (first) are taken for each (second); none where there are no classes.
    pub confusion: Option<Vec<Vec<u64>>>,
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
    let loss = |index: usize| {
        let coordinates = model.coordinates(index);
        let loss =
            |row| model.loss.value(design.margin(row, &coordinates), design.label(row, index));
        (0..rows.len()).map(loss).sum::<f64>() / rows.len().max(1) as f64
    };
    (0..model.models()).map(loss).sum()
}

fn design<'a>(model: &LinearModel, rows: &'a SparseRows) -> Design<'a> {
    let (rows, features) = (Cow::Borrowed(rows), model.features());
    Design::new(rows, features, model.bound, model.has_intercept).with_classes(model.classes.len())
}

/// Measures a model.
pub fn score(model: &LinearModel, rows: &SparseRows) -> Scores {
    let design = design(model, rows);
    let parts: Vec<Part> = (0..model.models()).map(|it| part(model, &design, it)).collect();
    let classes = matches!(model.loss, Loss::Logistic | Loss::Sigmoid);
    let confusion = classes.then(|| confusion(model, rows));
    let sum = |value: &dyn Fn(&Part) -> f64| parts.iter().map(value).sum::<f64>();
    let (loss, constant_loss) = (sum(&|it| it.loss), sum(&|it| it.constant_loss));
    let areas: Vec<f64> = parts.iter().filter_map(|it| area_under_curve(&it.pairs)).collect();
    let correct = |table: &Vec<Vec<u64>>| (0..table.len()).map(|it| table[it][it]).sum::<u64>();
    let mut pairs = parts.iter().flat_map(|it| it.pairs.iter().copied()).collect::<Vec<_>>();
    pairs.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    Scores {
        loss,
        constant_loss,
        accuracy: confusion.as_ref().map(|it| correct(it) as f64 / rows.len().max(1) as f64),
        auc: (classes && areas.len() == parts.len())
            .then(|| areas.iter().sum::<f64>() / areas.len() as f64),
        confusion,
        r_squared: (model.loss == Loss::Linear && constant_loss > 0.0)
            .then_some(1.0 - loss / constant_loss),
        deviance: 2.0 * sum(&|it| it.loss - it.best),
        squared_gradient: sum(&|it| it.squared_gradient),
        calibration: calibration(&pairs, |margin| model.loss.prediction(margin)),
    }
}

/// What one of the models does, in means over rows.
struct Part {
    loss: f64,
    /// The loss of a model that knows every label.
    best: f64,
    constant_loss: f64,
    squared_gradient: f64,
    /// Margins and labels, the least margin first.
    pairs: Vec<(f64, f64)>,
}

fn part(model: &LinearModel, design: &Design<'_>, index: usize) -> Part {
    let coordinates = model.coordinates(index);
    let count = design.len().max(1) as f64;
    let mut gradient = vec![0.0; coordinates.len()];
    let mut pairs: Vec<(f64, f64)> = (0..design.len())
        .map(|row| (design.margin(row, &coordinates), design.label(row, index)))
        .collect();
    for (row, (margin, label)) in pairs.iter().enumerate() {
        let slope = model.loss.slope(*margin, *label) / count;
        for (column, value) in design.entries(row) {
            gradient[column as usize] += slope * value;
        }
    }
    pairs.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let mean = |value: &dyn Fn(f64, f64) -> f64| {
        pairs.iter().map(|(margin, label)| value(*margin, *label)).sum::<f64>() / count
    };
    let constant = model.loss.constant(mean(&|_, label| label));
    Part {
        loss: mean(&|margin, label| model.loss.value(margin, label)),
        best: mean(&|_, label| least_loss(model.loss, label)),
        constant_loss: mean(&|_, label| model.loss.value(constant, label)),
        squared_gradient: gradient.iter().map(|slope| slope * slope).sum(),
        pairs,
    }
}

/// How many rows of each class are taken for each.
fn confusion(model: &LinearModel, rows: &SparseRows) -> Vec<Vec<u64>> {
    let size = model.models().max(2);
    let mut table = vec![vec![0; size]; size];
    for row in rows.iter() {
        // A sigmoid takes shares for labels.
        let label =
            if model.models() > 1 { row.label as usize } else { usize::from(row.label > 0.5) };
        let class = model.class(&model.predict(&row)).unwrap_or(0);
        if let Some(place) = table.get_mut(label).and_then(|it| it.get_mut(class)) {
            *place += 1;
        }
    }
    table
}

/// The loss of a model that knows the label.
fn least_loss(loss: Loss, label: f64) -> f64 {
    match loss {
        Loss::Poisson if label > 0.0 => label - label * libm::log(label),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            intercepts: vec![0.0],
            has_intercept: true,
            bound: None,
            classes: Vec::new(),
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
        assert_eq!(logistic.confusion, Some(vec![vec![2, 0], vec![1, 1]]));
        assert_eq!((logistic.accuracy, logistic.auc), (Some(0.75), Some(1.0)));
        assert!((logistic.constant_loss - 2_f64.ln()).abs() < 1e-12);
    }
}
