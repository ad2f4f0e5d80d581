//! The accounts of methods that visit groups, against what a distinguisher sees of whole fits.
#![allow(clippy::unwrap_used, missing_docs)]

use organza_data::sparse::SparseRows;
use organza_erm::{LinearSchedule, LinearTask, Loss, Method, Settings};
use organza_ledger::Neighbouring;
use organza_ledger::testing::paid;
use organza_mechanism::{FlatRows, Groups, Plan, RandomSource, Shape, Units};
use organza_train::testing::Poisoned;
use organza_train::{Schedule, Task};
use std::borrow::Cow;
use std::sync::Arc;

const RUNS: u64 = 20_000;
const STEPS: u64 = 2;

/// Rows of one feature with these labels, two to a group.
fn rows(labels: &[f64]) -> SparseRows {
    let mut rows = SparseRows::new(Some(1));
    for (place, label) in labels.iter().enumerate() {
        rows.push(*label, &mut [(0, 1.0)], Some(&(place / 2).to_string())).unwrap();
    }
    rows
}

fn settings(method: Method) -> Settings {
    let mut settings = Settings::new(Loss::Linear);
    settings.method = method;
    (settings.epsilon, settings.delta) = (1.0, 1e-2);
    settings.intercept = false;
    settings.steps = Some(STEPS);
    settings.hits = Some(1);
    // Below zero: what is released is the value, with its noise.
    settings.threshold = Some(-1e3);
    settings.batch = Some(1.0);
    settings
}

fn task<'a>(settings: &Settings, rows: &'a SparseRows) -> LinearTask<'a> {
    let named = Some(Arc::new(Groups::by_name(rows.groups().unwrap())));
    LinearTask::new(settings, Cow::Borrowed(rows), 1, named, Vec::new()).unwrap()
}

/// The plan at the noise that a fit with these settings finds.
fn plan(settings: &Settings) -> Plan {
    let corrected = settings.method == Method::Corrected;
    let (units, groups) = if corrected { (4.0, Some(2)) } else { (2.0, None) };
    let schedule =
        LinearSchedule { settings: settings.clone(), features: 1, units, groups, models: 1 };
    let target = organza_accountant::calibrate::Target {
        neighbouring: settings.method.neighbouring(),
        ..organza_accountant::calibrate::Target::new(settings.epsilon, settings.delta)
    };
    let event = |scale| Some(schedule.at_scale(scale).ok()?.step_event().clone().repeat(STEPS));
    let (scale, _) = organza_accountant::calibrate::scale(&target, event).unwrap();
    schedule.at_scale(scale).unwrap()
}

/// How often the weight is positive after all steps.
fn share(settings: &Settings, plan: &Plan, rows: &SparseRows, purpose: &str) -> f64 {
    let task = task(settings, rows);
    let shape = Shape::table(1, 1).unwrap();
    let positive = (0..RUNS).filter(|run| {
        let source = RandomSource::from_seed(*run).named(purpose);
        let units = task.groups().map_or(Units::Count(task.units()), Units::Grouped);
        let sampler = plan.sampler("training", units, &source);
        let paid = paid(sampler.charge(0..STEPS));
        let mut weight = [0.0_f32];
        for step in 0..STEPS {
            let weights = FlatRows::new(shape.clone(), &weight);
            let batch = sampler.batch(step, &paid).unwrap();
            let sum = batch.sum(|unit, gradient| task.gradient(unit, &[], &weights, gradient));
            sum.select().noise().visit(|_, run| weight[0] -= 0.5 * run[0]);
        }
        weight[0] > 0.0
    });
    positive.count() as f64 / RUNS as f64
}

/// Whether the probability of a positive weight grows by more than e^epsilon and delta between
/// neighbours. Each share errs by more than 5.2 deviations with probability below 2e-7.
fn violates(settings: &Settings, plan: &Plan) -> bool {
    let (one, other) = match settings.method.neighbouring() {
        // One record replaced.
        Neighbouring::ReplaceOne => (rows(&[1.0, 0.0, 0.0, 0.0]), rows(&[-1.0, 0.0, 0.0, 0.0])),
        // One group of two records added.
        Neighbouring::AddRemove => (rows(&[1.0, 1.0, -0.2, -0.2]), rows(&[-0.2, -0.2])),
    };
    let more = share(settings, plan, &one, "one");
    let less = share(settings, plan, &other, "other");
    let error = |share: f64| 5.2 * (share * (1.0 - share) / RUNS as f64).sqrt();
    more - error(more) > 1_f64.exp() * (less + error(less)) + 1e-2
}

#[test]
fn both_corrected_accounts_survive_an_audit_and_less_noise_does_not() {
    for method in [Method::Corrected, Method::PoissonGroups] {
        let sound = settings(method);
        assert!(!violates(&sound, &plan(&sound)), "{method}");
        // The noise of a budget forty times as large.
        let broken = plan(&Settings { epsilon: 40.0, ..sound.clone() });
        assert!(violates(&sound, &broken), "{method}: the audit has to see it");
    }
}

#[test]
fn a_unit_reads_what_it_says() {
    let mut rows = SparseRows::new(Some(9));
    for place in 0..12_u32 {
        let entries = &mut [(place % 5, 0.5), (5 + place % 4, -0.7)];
        rows.push(f64::from(place % 2), entries, Some(&(place / 3).to_string())).unwrap();
    }
    for method in [Method::Dpsgd, Method::PoissonGroups] {
        let mut settings = Settings::new(Loss::Logistic);
        settings.method = method;
        let named = Some(Arc::new(Groups::by_name(rows.groups().unwrap())));
        let task = LinearTask::new(&settings, Cow::Borrowed(&rows), 9, named, Vec::new()).unwrap();
        assert_eq!(task.units(), if method == Method::Dpsgd { 12 } else { 4 });
        Poisoned::new(&task).check(0..task.units());
    }
}
