//! A run that is stopped and goes on ends with the bits of one that was not, however its tables are kept, and
//! whatever the number of threads.
#![allow(missing_docs, clippy::unwrap_used)]

use organza_ledger::{Account, AccountError, Budget, Event, Header, Ledger, Neighbouring, Unit};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::{
    AdaptiveClip, By, DeferredGrid, NoiseSettings, NotPaid, Plan, PlanSettings, RandomSource,
    SelectionSettings, Shape,
};
use organza_train::metrics::Point;
use organza_train::{
    Constraint, Losses, Observer, OptimizerName, OptimizerSettings, Outcome, Projection, Purse,
    ReadRows, RunError, RunFolder, RunPlan, StepMethod, Task, WriteRows, run,
};
use std::path::Path;

const ROWS: u32 = 5_000;
const DIMENSIONS: usize = 8;
const STEPS: u64 = 40;

/// Units pull two rows each towards each other, one of their own and one drawn.
struct Pairs;

impl Task for Pairs {
    fn tables(&self) -> Vec<(u64, u64)> {
        vec![(u64::from(ROWS), DIMENSIONS as u64)]
    }

    fn units(&self) -> u64 {
        400
    }

    fn draw(&self, unit: u64, random: &mut PrivateRandom, draw: &mut Vec<u32>) {
        draw.push(unit as u32 * 7 % ROWS);
        draw.push((random.word() % u64::from(ROWS / 100)) as u32);
    }

    fn reads(&self, _: u64, draw: &[u32], visit: &mut dyn FnMut(u32)) {
        draw.iter().for_each(|row| visit(*row));
    }

    fn gradient(&self, _: u64, draw: &[u32], weights: &dyn ReadRows, gradient: &mut dyn WriteRows) {
        for (one, other) in [(draw[0], draw[1]), (draw[1], draw[0])] {
            let (here, there) = (weights.row(one), weights.row(other));
            for (slope, (here, there)) in gradient.row(one).iter_mut().zip(here.iter().zip(there)) {
                *slope += here - there;
            }
        }
    }

    fn evaluate(&self, weights: &dyn ReadRows) -> Losses {
        let values = (0..ROWS).flat_map(|row| weights.row(row));
        let sum = values.map(|value| f64::from(*value).powi(2)).sum();
        Losses { train: sum, validation: -sum, test: sum }
    }
}

struct Until(u64, u64);

impl Observer for Until {
    fn step(&mut self, done: u64, _: u64) {
        self.1 = done;
    }

    fn point(&mut self, _: &Point) {}

    fn interrupted(&self) -> bool {
        self.1 >= self.0
    }
}

struct Free;

impl Account for Free {
    fn neighbouring(&self) -> Neighbouring {
        Neighbouring::AddRemove
    }

    fn epsilon(&self, _: &[Event], _: f64) -> Result<f64, AccountError> {
        Ok(0.0)
    }
}

fn private(selection: SelectionSettings) -> StepMethod {
    let plan = Plan::new(PlanSettings {
        shape: Shape::tables(&Pairs.tables()).unwrap(),
        neighbouring: Neighbouring::AddRemove,
        rate: 0.01,
        expected_batch: 4.0,
        clip: 1.0,
        selection,
        noise: NoiseSettings::Gaussian { multiplier: 0.5, second_clip: None },
    });
    StepMethod::Private(plan.unwrap())
}

/// The parameters after a run that is stopped after each of `stops`.
fn trained(
    method: &StepMethod,
    optimizer: OptimizerSettings,
    average: bool,
    stops: &[u64],
) -> Vec<u32> {
    let place = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(&place.path().join("run")).unwrap();
    let header = Header::new(Neighbouring::AddRemove, Unit::Pair, 1e-6);
    let ledger = Ledger::create(&folder.file("ledger.jsonl"), header).unwrap();
    let budget = Budget::new(1.0, 1e-6, Neighbouring::AddRemove).unwrap();
    let mut purse = Purse::new(ledger, budget, Free);
    let coordinates = u64::from(ROWS) * DIMENSIONS as u64;
    let grid = DeferredGrid::new(coordinates, STEPS, 1.0, 1e-6).unwrap();
    let plan = RunPlan {
        method: method.clone(),
        steps: STEPS,
        optimizer,
        deferred: (!average).then_some(grid),
        average,
        evaluate_every: 6,
        checkpoint_every: 10,
    };
    let initial: Vec<f32> =
        (0..ROWS as usize * DIMENSIONS).map(|place| (place as f32 * 0.37).sin()).collect();
    for stop in stops.iter().copied().chain([u64::MAX]) {
        // Whoever goes on begins with the key, and knows nothing of what was drawn.
        let source = RandomSource::from_seed(8);
        let mut observer = Until(stop, 0);
        match run(&Pairs, &plan, &folder, &source, initial.clone(), Some(&mut purse), &mut observer)
            .unwrap()
        {
            Outcome::Done { parameters, .. } => {
                let is_dense = owes(method);
                let waits =
                    is_dense && !average && matches!(optimizer, OptimizerSettings::Sgd { .. });
                let charged =
                    purse.ledger().charges().iter().any(|it| it.purpose.contains("deferred"));
                assert_eq!(charged, waits);
                return parameters.iter().map(|value| value.to_bits()).collect();
            }
            Outcome::Interrupted { steps } => {
                assert!(steps >= stop);
                assert!(holds(folder.path(), &plan), "what the tables owe is saved as it is");
            }
        }
    }
    unreachable!("the last part goes to the end")
}

/// Whether the checkpoint is of tables that are kept as this plan should keep them.
fn holds(folder: &Path, plan: &RunPlan) -> bool {
    let bytes = std::fs::read(folder.join("private/checkpoint.safetensors")).unwrap();
    let text = String::from_utf8_lossy(&bytes[..1_000]);
    let everything = matches!(&plan.method, StepMethod::Private(plan)
        if plan.settings().selection == SelectionSettings::Everything);
    let adapts =
        matches!(&plan.method, StepMethod::Private(plan) if plan.adaptive_clip().is_some());
    let name = match plan.optimizer.name().map(Into::into) {
        None => "changes",
        Some("sgd") if owes(&plan.method) && !plan.average => "settled",
        Some("adam") if everything => "first_moment",
        Some("adam") => "resting",
        Some("adagrad") => "squares",
        Some(_) => "parameters",
    };
    text.contains(name) && text.contains("\\\"clip\\\"") == adapts
}

/// Whether rows can owe noise of this method: it lies on everything, on one grid.
fn owes(method: &StepMethod) -> bool {
    matches!(method, StepMethod::Private(plan)
        if plan.settings().selection == SelectionSettings::Everything
            && plan.adaptive_clip().is_none())
}

fn methods() -> Vec<StepMethod> {
    let by = By::Coordinate;
    let selection = SelectionSettings::Exponential { by, draws: 60, epsilon: 1.0, cap: 0.1 };
    let StepMethod::Private(plan) = private(SelectionSettings::Everything) else {
        unreachable!("it is private")
    };
    let adapting = plan.adapting(AdaptiveClip::new(0.5, 1.0)).unwrap();
    vec![
        StepMethod::NotPrivate { rate: 0.01, expected_batch: 4.0 },
        private(SelectionSettings::Everything),
        private(selection),
        StepMethod::Private(adapting),
    ]
}

/// All of them.
fn optimizers() -> Vec<OptimizerSettings> {
    let projected = OptimizerSettings::Projected(Projection {
        learning_rate: 0.5,
        l2: 1e-3,
        shrinking: u64::from(ROWS),
        constraint: Constraint::Ball(100.0),
        average_from: STEPS / 2,
    });
    let named = |name: &str| OptimizerName::try_from(name.to_owned()).unwrap().at(0.1);
    OptimizerName::all().map(named).chain([projected]).collect()
}

#[test]
fn stopped_runs_end_with_the_same_bits() {
    for method in methods() {
        for optimizer in optimizers() {
            for average in [false, true] {
                let whole = trained(&method, optimizer, average, &[]);
                let parts = trained(&method, optimizer, average, &[1, 7, 19, 30, 36]);
                assert!(whole == parts, "{method:?} {optimizer:?} {average}");
            }
        }
    }
}

/// One source makes a step once: a second run with it would put the same noise on what may be other gradients.
/// Its key, in a source of its own, is what a run goes on with.
#[test]
fn a_source_makes_a_run_once() {
    let place = tempfile::tempdir().unwrap();
    let header = Header::new(Neighbouring::AddRemove, Unit::Pair, 1e-6);
    let ledger = Ledger::in_memory(header).unwrap();
    let budget = Budget::new(1.0, 1e-6, Neighbouring::AddRemove).unwrap();
    let mut purse = Purse::new(ledger, budget, Free);
    let plan = RunPlan {
        method: private(SelectionSettings::Everything),
        steps: 3,
        optimizer: OptimizerSettings::Sgd { learning_rate: 0.5 },
        deferred: None,
        average: false,
        evaluate_every: 3,
        checkpoint_every: 3,
    };
    let mut trained = |name: &str, source: &RandomSource| {
        let folder = RunFolder::create(&place.path().join(name)).unwrap();
        let initial = vec![0.5; ROWS as usize * DIMENSIONS];
        run(&Pairs, &plan, &folder, source, initial, Some(&mut purse), &mut Until(u64::MAX, 0))
    };
    let parameters = |outcome| match outcome {
        Outcome::Done { parameters, .. } => parameters,
        Outcome::Interrupted { .. } => panic!("nobody stopped it"),
    };
    let source = RandomSource::from_seed(8);
    let first = parameters(trained("first", &source).unwrap());
    let refused = trained("again", &source);
    assert!(matches!(refused, Err(RunError::NotPaid(NotPaid::DrawnBefore { step: 0, .. }))));
    let resumed = RandomSource::resume(source.key().clone(), source.origin());
    assert_eq!(first, parameters(trained("resumed", &resumed).unwrap()));
}

/// The steps on the curve of a run whose curve is `left` in the file when it goes on after `stop` steps.
fn curve_after(stop: u64, left: Option<&str>) -> Vec<u64> {
    let place = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(&place.path().join("run")).unwrap();
    let plan = RunPlan {
        method: StepMethod::NotPrivate { rate: 0.01, expected_batch: 4.0 },
        steps: STEPS,
        optimizer: OptimizerSettings::Sgd { learning_rate: 0.5 },
        deferred: None,
        average: false,
        evaluate_every: 20,
        checkpoint_every: 10,
    };
    let source = RandomSource::from_seed(8);
    let goes = |until: u64| {
        let initial = vec![0.5; ROWS as usize * DIMENSIONS];
        run(&Pairs, &plan, &folder, &source, initial, None, &mut Until(until, 0)).unwrap();
    };
    if stop > 0 {
        goes(stop);
    }
    let file = folder.file("metrics.jsonl");
    match left {
        Some(text) => std::fs::write(file, text).unwrap(),
        None => std::fs::remove_file(file).unwrap(),
    }
    goes(u64::MAX);
    organza_train::metrics::read(&folder).unwrap().iter().map(|point| point.step).collect()
}

/// A line that was torn when the run was killed takes no later one with it, also if it is the first; and no
/// later parameters are shown as the first ones.
#[test]
fn a_torn_curve_goes_on() {
    assert_eq!(curve_after(0, Some("{\"step\":0,\"tr")), [0, 20, 40]);
    let first = r#"{"step":0,"train":1.0,"validation":1.0,"test":1.0,"not_private":[]}"#;
    let torn = format!("{first}\n{{\"step\":20,");
    assert_eq!(curve_after(25, Some(&torn)), [0, 40]);
    assert_eq!(curve_after(7, None), [20, 40]);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let with_threads = |threads: usize, method: &StepMethod, optimizer| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| trained(method, optimizer, false, &[]))
    };
    for method in methods() {
        for optimizer in optimizers() {
            let one = with_threads(1, &method, optimizer);
            assert!(one == with_threads(3, &method, optimizer), "{method:?} {optimizer:?}");
        }
    }
}
