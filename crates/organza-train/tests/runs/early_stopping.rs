//! Without privacy the parameters that did best on validation data are kept; with privacy never.
#![allow(missing_docs, clippy::unwrap_used)]

use organza_ledger::{Account, AccountError, Budget, Event, Header, Ledger, Neighbouring, Unit};
use organza_mechanism::{
    NoiseSettings, Plan, PlanSettings, RandomSource, SelectionSettings, Shape,
};
use organza_train::metrics::{self, Point};
use organza_train::{
    Losses, Observer, OptimizerSettings, Outcome, Purse, ReadRows, RunFolder, RunPlan, StepMethod,
    Task, WriteRows, run,
};

/// One parameter that every step moves by about -1, with validation data that wants -4.
struct Slope;

impl Task for Slope {
    fn tables(&self) -> Vec<(u64, u64)> {
        vec![(1, 1)]
    }

    fn units(&self) -> u64 {
        1
    }

    fn gradient(&self, _: u64, _: &[u32], _: &dyn ReadRows, gradient: &mut dyn WriteRows) {
        gradient.row(0)[0] += 1.0;
    }

    fn evaluate(&self, weights: &dyn ReadRows) -> Losses {
        let validation = f64::from((weights.row(0)[0] + 4.0).abs());
        Losses { train: 0.0, validation, test: 0.0 }
    }
}

/// Interrupts after a number of steps.
struct Interrupter {
    left: u64,
}

impl Observer for Interrupter {
    fn step(&mut self, _: u64, _: u64) {
        self.left = self.left.saturating_sub(1);
    }

    fn point(&mut self, _: &Point) {}

    fn interrupted(&self) -> bool {
        self.left == 0
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

/// What ten steps come to, interrupted and gone on with every few steps.
fn trained(method: StepMethod, average: bool, interrupted_after: u64) -> (f32, Vec<Point>) {
    let place = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(&place.path().join("run")).unwrap();
    let header = Header::new(Neighbouring::AddRemove, Unit::Line, 1e-6);
    let ledger = Ledger::create(&folder.file("ledger.jsonl"), header).unwrap();
    let budget = Budget::new(1.0, 1e-6, Neighbouring::AddRemove).unwrap();
    let mut purse = Purse::new(ledger, budget, Free);
    let optimizer = OptimizerSettings::Sgd { learning_rate: 1.0 };
    let (evaluate_every, checkpoint_every) = (1, 5);
    let plan = RunPlan {
        method,
        steps: 10,
        optimizer,
        deferred: None,
        average,
        evaluate_every,
        checkpoint_every,
    };
    loop {
        // Whoever goes on begins with the key, and knows nothing of what was drawn.
        let source = RandomSource::from_seed(1);
        let mut observer = Interrupter { left: interrupted_after };
        let start = vec![0.0];
        let outcome =
            run(&Slope, &plan, &folder, &source, start, Some(&mut purse), &mut observer).unwrap();
        if let Outcome::Done { parameters, .. } = outcome {
            return (parameters[0], metrics::read(&folder).unwrap());
        }
    }
}

#[test]
fn the_best_on_validation_data_is_kept_without_privacy() {
    for average in [false, true] {
        for interrupted_after in [1, 3, 100] {
            let method = StepMethod::NotPrivate { rate: 1.0, expected_batch: 1.0 };
            let (parameter, curve) = trained(method, average, interrupted_after);
            assert_eq!(parameter, -4.0);
            let last = curve.last().unwrap();
            assert_eq!((curve.len(), last.step, last.losses.validation), (11, 10, 0.0));
        }
    }
}

/// The choice would come from the data without a charge.
#[test]
fn the_last_is_kept_with_privacy() {
    let plan = Plan::new(PlanSettings {
        shape: Shape::table(1, 1).unwrap(),
        neighbouring: Neighbouring::AddRemove,
        rate: 1.0,
        expected_batch: 1.0,
        clip: 1.0,
        selection: SelectionSettings::Everything,
        noise: NoiseSettings::Gaussian { multiplier: 1e-6, second_clip: None },
    })
    .unwrap();
    for (average, expected) in [(false, -10.0), (true, -8.0)] {
        let (parameter, _) = trained(StepMethod::Private(plan.clone()), average, 3);
        assert!((parameter - expected).abs() < 1e-3, "{parameter}");
    }
}
