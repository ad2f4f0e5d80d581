//! Steps of linear models.

use crate::drawn::descend;
use crate::{Compared, l2, worst};
use organza_data::sparse::SparseRows;
use organza_erm::{
    Constraint, Descent, Design, Groups, Loss, Method, Schedule, ScheduleInputs, Settings, Visits,
    Weights,
};

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
    settings.learning_rate = Some(0.5);
    settings.epsilon = 5.0;
    settings
}

fn schedule(settings: &Settings, groups: u64) -> Schedule {
    let units = f64::from(RECORDS + 1);
    let coordinates = FEATURES + 1;
    ScheduleInputs { settings, coordinates, units, groups, before: Vec::new() }.schedule().unwrap()
}

/// All weights after a step from `weights`.
fn stepped(descent: &Descent<'_>, step: u64, weights: &Weights) -> (Weights, Vec<f64>) {
    let mut after = weights.clone();
    descend(descent, step, &mut after);
    let values = (0..=FEATURES as usize).map(|coordinate| after.value(coordinate)).collect();
    (after, values)
}

/// How far the releases of all steps are apart whose clip is `clip`, where [`CLIP`] is stated.
fn compared(loss: Loss, clip: f64) -> Vec<Compared> {
    let (settings, stated) =
        (settings(Method::Dpsgd, loss, clip), settings(Method::Dpsgd, loss, CLIP));
    let schedule = schedule(&settings, 1);
    let rows = [rows(None), rows(Some(1.0))];
    let input = stated.input();
    let designs = [0, 1].map(|side: usize| Design::bounded(&rows[side], FEATURES, loss, &input));
    let (visits, region) = (Visits::Records, Constraint::Free);
    let descents = designs.each_ref().map(|design| Descent {
        design,
        loss,
        schedule: &schedule,
        visits,
        l2: 0.0,
        region,
    });
    let bound = CLIP / 12.0;
    let mut weights = Weights::new(FEATURES, Constraint::Free);
    (0..STEPS)
        .map(|step| {
            let [(next, one), (_, other)] = descents.map(|it| stepped(&it, step, &weights));
            weights = next;
            let moved = l2(&one, &other) / schedule.learning_rate;
            Compared::new(format!("{loss} step {step}"), moved, bound)
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
    let schedule = schedule(&settings, 5);
    let groups = Groups::blocks(RECORDS as usize + 1, 5);
    let rows = [rows(Some(0.0)), rows(Some(1.0))];
    let input = settings.input();
    let designs = [0, 1].map(|side: usize| Design::bounded(&rows[side], FEATURES, loss, &input));
    let (visits, region) = (Visits::OneGroup(&groups), Constraint::Ball(10.0));
    let descents = designs.each_ref().map(|design| Descent {
        design,
        loss,
        schedule: &schedule,
        visits,
        l2: 0.0,
        region,
    });
    let mut weights = Weights::new(FEATURES, region);
    let mut same = 0;
    for step in 0..40 {
        let [(next, one), (_, other)] = descents.map(|it| stepped(&it, step, &weights));
        weights = next;
        same += u32::from(one == other);
    }
    // The record is in one group of five: 32 of 40 steps in expectation, and some more where nothing is released.
    assert!((24..40).contains(&same), "{same} of 40 steps are the same");
}
