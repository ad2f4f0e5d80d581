//! Steps of linear models.

use crate::drawn::batch;
use crate::{Compared, l2, worst};
use organza_data::sparse::SparseRows;
use organza_erm::{LinearSchedule, LinearTask, Loss, Method, Settings};
use organza_mechanism::{FlatRows, Plan, Shape};
use organza_train::{Schedule, Task};
use std::borrow::Cow;

const FEATURES: u64 = 20;
const RECORDS: u32 = 24;
const STEPS: u64 = 12;
/// Below the gradient of the record in question.
const CLIP: f64 = 0.2;

/// Rows of neighbours: the last record is there or not, or is another one.
fn rows(label: Option<f64>) -> SparseRows {
    let mut rows = SparseRows::new(Some(FEATURES));
    for number in 0..RECORDS {
        let mut entries = [(number % 15, 0.5), (15 + number % 4, -0.5)];
        rows.push(f64::from(number % 2), &mut entries, None).unwrap();
    }
    if let Some(label) = label {
        rows.push(label, &mut [(3, 0.6), (19, 0.7)], None).unwrap();
    }
    rows
}

fn settings(method: Method, loss: Loss, clip: f64) -> Settings {
    let mut settings = Settings::new(loss);
    settings.method = method;
    settings.units = Some(u64::from(RECORDS) + 1);
    settings.clip = Some(clip);
    settings.batch = Some(12.0);
    settings.steps = Some(STEPS);
    settings.epsilon = 5.0;
    settings
}

/// The plan of a fit, at some noise: what is compared is the same noise on other sums.
fn plan(settings: &Settings, groups: Option<u64>) -> Plan {
    let (settings, units) = (settings.clone(), f64::from(RECORDS + 1));
    LinearSchedule { settings, features: FEATURES, units, groups, models: 1 }.at_scale(1.0).unwrap()
}

/// What a step releases of these rows at `weights`.
fn released(
    settings: &Settings,
    plan: &Plan,
    rows: &SparseRows,
    step: u64,
    weights: &[f32],
) -> Vec<f64> {
    let task = LinearTask::new(settings, Cow::Borrowed(rows), FEATURES, None, Vec::new()).unwrap();
    let weights = FlatRows::new(Shape::table(FEATURES + 1, 1).unwrap(), weights);
    let sum = batch(plan, task.units(), step)
        .sum(|unit, gradient| task.gradient(unit, &[], &weights, gradient));
    let mut released = vec![0.0; FEATURES as usize + 1];
    sum.select().noise().visit(|first, run| {
        let place = released[first as usize..].iter_mut();
        place.zip(run).for_each(|(to, value)| *to = f64::from(*value));
    });
    released
}

fn descend(weights: &mut [f32], released: &[f64]) {
    weights.iter_mut().zip(released).for_each(|(weight, slope)| *weight -= 0.5 * *slope as f32);
}

/// How far the releases of all steps are apart whose clip is `clip`, where [`CLIP`] is stated.
fn compared(loss: Loss, clip: f64) -> Vec<Compared> {
    let settings = settings(Method::Dpsgd, loss, clip);
    let plan = plan(&settings, None);
    let rows = [rows(None), rows(Some(1.0))];
    let bound = CLIP / 12.0;
    let mut weights = vec![0.0; FEATURES as usize + 1];
    (0..STEPS)
        .map(|step| {
            let [one, other] =
                rows.each_ref().map(|rows| released(&settings, &plan, rows, step, &weights));
            descend(&mut weights, &one);
            Compared::new(format!("{loss} step {step}"), l2(&one, &other), bound)
        })
        .collect()
}

#[test]
fn a_step_of_a_linear_model_moves_by_no_more_than_its_clip() {
    for loss in [Loss::Logistic, Loss::Linear, Loss::Poisson, Loss::Sigmoid] {
        let all = compared(loss, CLIP);
        assert!(all.iter().any(|it| it.found == 0.0), "it does not join every batch");
        assert!(all.iter().any(|it| it.found > 0.5 * it.stated), "and counts where it joins");
        let worst = worst(all);
        assert!(!worst.violates(), "{worst}");
    }
}

#[test]
fn a_clip_that_is_larger_than_stated_is_caught() {
    eprint!("twin: ");
    assert!(worst(compared(Loss::Linear, 2.0 * CLIP)).violates());
}

/// Where a step visits one group, the others may hold what they like.
#[test]
fn a_step_sees_nothing_of_the_groups_that_it_does_not_visit() {
    let loss = Loss::Logistic;
    let settings = settings(Method::Corrected, loss, CLIP);
    let plan = plan(&settings, Some(5));
    let rows = [rows(Some(0.0)), rows(Some(1.0))];
    let mut weights = vec![0.0; FEATURES as usize + 1];
    let mut same = 0;
    for step in 0..40 {
        let [one, other] =
            rows.each_ref().map(|rows| released(&settings, &plan, rows, step, &weights));
        descend(&mut weights, &one);
        same += u32::from(one == other);
    }
    // The record is in one group of five: 32 of 40 steps in expectation, and some more where nothing is released.
    assert!((24..40).contains(&same), "{same} of 40 steps are the same");
}
