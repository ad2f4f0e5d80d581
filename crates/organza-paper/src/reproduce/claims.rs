//! What the paper says of its experiments, held against what came out.

use super::compared::Others;
use super::plan::COMPARED_BUDGETS;
use super::reproduction::{Canary, Panel};
use organza_report::digits::near;
use serde::Serialize;

/// A gap is small if it is below this share of that without privacy.
const SMALL: f64 = 0.2;

/// A claim of the paper.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// In the words of the paper, or close to them.
    pub says: &'static str,
    /// Whether it holds here.
    pub holds: bool,
    /// The figures it was decided by. *Not private.*
    pub because: String,
}

/// The claims about Figure 1.
pub(super) fn of_figure_1(panels: &[Panel]) -> Vec<Claim> {
    let [not_private, dp_sgd, dp_sgd_half, exponential, vector, uniform] = panels else {
        return Vec::new();
    };
    let (sparse, steps) = (&exponential.ended, &dp_sgd.ended);
    let others = [dp_sgd, dp_sgd_half, exponential, vector, uniform];
    let best = |loss: fn(&Panel) -> f64| others.iter().all(|it| loss(not_private) < loss(it));
    let widest = others.iter().map(|it| it.ended.gap().abs()).fold(0.0, f64::max);
    vec![
        Claim {
            says: "the sparse algorithms perform much better than DP-SGD, in training and in test",
            holds: sparse.test_loss < steps.test_loss && sparse.train_loss < steps.train_loss,
            because: format!(
                "sparse-exponential {} in training and {} in test, DP-SGD (.32) {} and {}",
                near(sparse.train_loss),
                near(sparse.test_loss),
                near(steps.train_loss),
                near(steps.test_loss)
            ),
        },
        Claim {
            says: "the exponential mechanism slightly outperforms the sparse vector technique",
            holds: sparse.test_loss < vector.ended.test_loss,
            because: format!(
                "test losses {} and {}",
                near(sparse.test_loss),
                near(vector.ended.test_loss)
            ),
        },
        Claim {
            says: "training without privacy has the best training and test error",
            holds: best(|it| it.ended.train_loss) && best(|it| it.ended.test_loss),
            because: format!(
                "{} in training and {} in test",
                near(not_private.ended.train_loss),
                near(not_private.ended.test_loss)
            ),
        },
        Claim {
            says: "its gap between training and test is huge, the gaps of private runs are small",
            holds: widest < SMALL * not_private.ended.gap(),
            because: format!(
                "{} without privacy, at most {} in private runs",
                near(not_private.ended.gap()),
                near(widest)
            ),
        },
    ]
}

/// The claims about the two systems that the paper compares itself with.
pub(super) fn of_others(others: &Others) -> Vec<Claim> {
    let losses = |method: &'static str| {
        COMPARED_BUDGETS.map(|budget| others.of(method, budget).map(|run| run.ended.test_loss))
    };
    let better = |one: &'static str, other: &'static str| {
        losses(one).into_iter().zip(losses(other)).all(|(one, other)| one < other)
    };
    let figures = |method: &'static str| {
        let all = losses(method).map(|loss| near(loss.unwrap_or(f64::NAN)));
        format!("{method} {}", all.join(" and "))
    };
    let at = COMPARED_BUDGETS.map(near).join(" and ");
    let because = |one: &'static str, other: &'static str| {
        let start = others.runs.first().map_or(f64::NAN, |run| run.ended.start_test_loss);
        format!(
            "test losses at epsilon {at}: {}, {}; before the first step {}, so that who is above that has learned nothing",
            figures(one),
            figures(other),
            near(start)
        )
    };
    vec![
        Claim {
            says: "of Shokri and Shmatikov's: other selection rules may outperform the sparse vector technique",
            holds: better("sparse-exponential", "selective-sgd"),
            because: because("sparse-exponential", "selective-sgd"),
        },
        Claim {
            says: "of Zhou et al.'s, in their own words: projecting on a subspace from public samples improves DP-SGD",
            holds: better("projected-dpsgd", "dp-sgd"),
            because: because("projected-dpsgd", "dp-sgd"),
        },
    ]
}

/// The claims about Figure 2.
pub(super) fn of_figure_2(canaries: &[Canary]) -> Vec<Claim> {
    let column = |name: &'static str| canaries.iter().filter(move |it| it.column == name);
    let values = |name: &'static str| {
        let all: Vec<String> = column(name)
            .map(|it| format!("{} (n_c = {})", near(it.inserted.uniformity.p_value), it.repeats))
            .collect();
        format!("p-values {}", all.join(", "))
    };
    let rejects = |it: &Canary| it.inserted.rejects;
    if canaries.is_empty() {
        return Vec::new();
    }
    vec![
        Claim {
            says: "without privacy the canaries are memorised, at n_c = 3, 9 and 15",
            holds: column("non-private").all(rejects),
            because: values("non-private"),
        },
        Claim {
            says: "with DP-SGD the histograms are close to uniform, at n_c = 3, 9 and 15",
            holds: !column("dp-sgd").any(rejects),
            because: values("dp-sgd"),
        },
        Claim {
            says: "with the sparse method they are close to uniform at n_c = 3 and 9, and no longer at 15",
            holds: column("sparse").all(|it| it.inserted.rejects == (it.repeats == 15)),
            because: values("sparse"),
        },
        Claim {
            says: "phrases outside of the training data have uniform ranks",
            holds: !canaries.iter().any(|it| it.control.rejects),
            because: format!(
                "the least p-value of {} histograms is {}",
                canaries.len(),
                near(
                    canaries
                        .iter()
                        .map(|it| it.control.uniformity.p_value)
                        .fold(f64::INFINITY, f64::min)
                )
            ),
        },
    ]
}
