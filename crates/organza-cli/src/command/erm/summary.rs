//! What a fit came to, for people and for programs.

use crate::describe::number;
use crate::output::{DOUBT, GOOD};
use organza_erm::{Fitted, GroupSparsity, Loss, Method, Scores, Settings};
use organza_ledger::SharedTotal;
use organza_report::run::headline;
use organza_train::Finished;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The outcome of a fit; what there is none of is `null`.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    model: Loss,
    method: Method,
    epsilon: Option<f64>,
    delta: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed_epsilon: Option<f64>,
    steps: u64,
    train_loss: f64,
    train_squared_gradient: f64,
    test_loss: Option<f64>,
    test_accuracy: Option<f64>,
    test_auc: Option<f64>,
    test_deviance: Option<f64>,
    test_r_squared: Option<f64>,
    /// Class by what it is taken for.
    test_confusion: Option<Vec<Vec<u64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_sparsity: Option<GroupSparsity>,
    remarks: Vec<String>,
    seconds: f64,
    not_private: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dataset: Option<SharedTotal>,
    #[serde(skip)]
    promise: String,
    #[serde(skip)]
    good: bool,
    #[serde(skip)]
    folder: PathBuf,
}

/// What is said of a model that a constant is as good as.
fn no_better(scores: &Scores) -> Option<String> {
    let advice = "nothing was learned: the loss is no better than that of a constant. A larger epsilon, more rows, fewer \
                  features, or a --bound and --label-bound that fit the data would help";
    (scores.loss >= scores.constant_loss).then(|| advice.to_owned())
}

impl Summary {
    pub(super) fn new(
        folder: &Path,
        settings: &Settings,
        finished: &Finished<Fitted>,
        elapsed: Duration,
    ) -> Self {
        let Finished { certificate, remarks, model: fit, .. } = finished;
        let Fitted { train, test, sparsity, .. } = fit;
        let test = test.as_ref();
        let mut not_private = vec![
            "train_loss",
            "train_squared_gradient",
            "test_loss",
            "test_accuracy",
            "test_auc",
            "test_deviance",
            "test_r_squared",
            "test_confusion",
            "remarks",
            "seconds",
        ];
        if sparsity.is_some() {
            not_private.push("group_sparsity");
        }
        Self {
            model: settings.model,
            method: settings.method,
            epsilon: certificate.epsilon,
            delta: certificate.delta,
            claimed_epsilon: certificate.claimed_epsilon,
            steps: certificate.steps,
            train_loss: train.loss,
            train_squared_gradient: train.squared_gradient,
            test_loss: test.map(|test| test.loss),
            test_accuracy: test.and_then(|test| test.accuracy),
            test_auc: test.and_then(|test| test.auc),
            test_deviance: test.map(|test| test.deviance),
            test_r_squared: test.and_then(|test| test.r_squared),
            test_confusion: test.and_then(|test| test.confusion.clone()),
            group_sparsity: *sparsity,
            remarks: remarks.iter().cloned().chain(no_better(test.unwrap_or(train))).collect(),
            seconds: elapsed.as_secs_f64(),
            not_private,
            dataset: certificate.dataset.clone(),
            promise: headline(certificate),
            good: certificate.private,
            folder: folder.to_owned(),
        }
    }

    /// The lines that say why there is no guarantee, if there is none.
    pub(super) fn doubts(&self) -> Option<String> {
        match (self.method, self.good) {
            (_, true) | (Method::None, _) => None,
            (Method::Printed, _) => Some(format!(
                "as printed, not sound: Theorem 1 claims epsilon {}",
                number(self.claimed_epsilon.unwrap_or(f64::NAN))
            )),
            _ => Some("not private: the noise came from a seed".to_owned()),
        }
    }

    /// Name, value and whether it is private, in the order in which they are shown.
    pub(super) fn rows(&self) -> Vec<(&'static str, String, bool)> {
        let mut rows = vec![
            ("model", self.model.to_string(), true),
            ("method", self.method.to_string(), true),
            ("steps", self.steps.to_string(), true),
            ("training loss", format!("{:.4}", self.train_loss), false),
        ];
        let optional = [
            ("test loss", self.test_loss),
            ("test accuracy", self.test_accuracy),
            ("test AUC", self.test_auc),
            ("test R squared", self.test_r_squared),
            ("test deviance", self.test_deviance.filter(|_| self.model != Loss::Logistic)),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                rows.push((name, format!("{value:.4}"), false));
            }
        }
        if self.model == Loss::Sigmoid {
            let value = format!("{:.3e}", self.train_squared_gradient);
            rows.push(("squared gradient", value, false));
        }
        if let Some(sparsity) = self.group_sparsity {
            rows.push(("group sparsity", sparsity.most.to_string(), false));
        }
        rows.push(("time", format!("{:.1} s", self.seconds), false));
        rows
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = if self.good { GOOD } else { DOUBT };
        writeln!(formatter, "{style}{}{style:#}", self.promise)?;
        if let Some(total) = &self.dataset {
            writeln!(formatter, "{total}")?;
        }
        if let Some(doubts) = self.doubts() {
            writeln!(formatter, "{DOUBT}{doubts}{DOUBT:#}")?;
        }
        writeln!(formatter)?;
        for (name, value, is_private) in self.rows() {
            let mark = if is_private { "" } else { "  *" };
            writeln!(formatter, "{name:<18}{value:>14}{mark}")?;
        }
        for remark in &self.remarks {
            writeln!(formatter, "\n{DOUBT}* {remark}{DOUBT:#}")?;
        }
        writeln!(formatter, "\n* not private: from the data without noise, for your eyes only\n")?;
        let folder = self.folder.display();
        writeln!(formatter, "{folder}/coefficients.csv     the weights")?;
        writeln!(
            formatter,
            "{folder}/certificate.json     what is promised, and on what it was spent"
        )?;
        writeln!(formatter, "{folder}/report.html          all of this, to look at")?;
        writeln!(formatter, "\nNext: organza predict {folder} --data new-rows")
    }
}
