//! A whole run on tables that are kept on a disk: it keeps to its budget, and is refused before anything is charged
//! where it cannot be.
#![allow(missing_docs, clippy::unwrap_used)]

use organza_accountant::Accountant;
use organza_ledger::{Budget, Header, Ledger, Unit};
use organza_mechanism::RandomSource;
use organza_train::settings::EngineSettings;
use organza_train::{
    FirstWeights, Losses, OptimizerSettings, Purse, ReadRows, RunError, RunPlan, Stepper,
    StepperOnDisk, Task, WriteRows,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const PAGES: u64 = 50_000;
const NUMBERS: u64 = 16;
const EPSILON: f64 = 2.0;
const DELTA: f64 = 1e-6;

/// For each person a page, and whether the visit ended there.
struct Visits(Vec<(u32, bool)>);

impl Visits {
    fn some() -> Self {
        Self((0..4_000_u64).map(|it| ((it * it % PAGES) as u32, it % 3 == 0)).collect())
    }
}

impl Task for Visits {
    fn tables(&self) -> Vec<(u64, u64)> {
        vec![(PAGES, NUMBERS)]
    }

    fn units(&self) -> u64 {
        self.0.len() as u64
    }

    fn reads(&self, unit: u64, _: &[u32], visit: &mut dyn FnMut(u32)) {
        visit(self.0[unit as usize].0);
    }

    fn gradient(&self, unit: u64, _: &[u32], pages: &dyn ReadRows, gradient: &mut dyn WriteRows) {
        let (page, ended) = self.0[unit as usize];
        let score: f32 = pages.row(page).iter().sum();
        let miss = 1.0 / (1.0 + (-score).exp()) - f32::from(u8::from(ended));
        gradient.row(page).iter_mut().for_each(|slope| *slope += miss);
    }

    fn evaluate(&self, _: &dyn ReadRows) -> Losses {
        Losses { train: f64::NAN, validation: f64::NAN, test: f64::NAN }
    }
}

fn plan(optimizer: OptimizerSettings, average: bool) -> RunPlan {
    let mut settings = EngineSettings::new("visits", Unit::User, EPSILON, DELTA);
    settings.training.optimizer = optimizer;
    settings.training.average = average;
    settings.training.batch = 50.0;
    settings.training.steps = Some(60);
    RunPlan::new(&settings, Visits::some().tables(), Visits::some().units(), Vec::new()).unwrap()
}

fn purse() -> Purse {
    let relation = EngineSettings::new("visits", Unit::User, EPSILON, DELTA).privacy.neighbouring;
    let ledger = Ledger::in_memory(Header::new(relation, Unit::User, DELTA)).unwrap();
    Purse::new(ledger, Budget::new(EPSILON, DELTA, relation).unwrap(), Accountant::new(relation))
}

const SGD: OptimizerSettings = OptimizerSettings::Sgd { learning_rate: 0.05 };

fn on_disk(
    plan: RunPlan,
    first: f32,
    model: &Path,
    purse: &mut Purse,
) -> Result<StepperOnDisk<Visits>, RunError> {
    let source = RandomSource::from_seed(8);
    let first = FirstWeights::new(0.5, move |piece| piece.fill(first));
    StepperOnDisk::new("visits", Visits::some(), plan, source, first, model, Some(purse))
}

#[test]
fn a_run_on_a_disk_spends_and_learns_what_one_in_memory_does() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("visits.safetensors");
    let plan = plan(SGD, false);
    let [mut here, mut there] = [purse(), purse()];
    let mut run = on_disk(plan.clone(), 0.25, &model, &mut here).unwrap();
    (0..plan.steps).for_each(|_| run.make().unwrap());
    assert!(run.make().is_err(), "a step that nobody paid for");
    assert_eq!(run.export(&BTreeMap::new()).unwrap(), model);

    let first = vec![0.25; (PAGES * NUMBERS) as usize];
    let source = RandomSource::from_seed(8);
    let mut run =
        Stepper::new("visits", Visits::some(), plan.clone(), source, first, Some(&mut there))
            .unwrap();
    assert!(run.waits(), "noise is owed");
    (0..plan.steps).for_each(|_| run.make().unwrap());
    let bytes = fs::read(&model).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let tensor = tensors.tensor("table0").unwrap();
    assert_eq!(tensor.shape(), [PAGES as usize, NUMBERS as usize]);
    let values = tensor.data().chunks_exact(4).map(|it| f32::from_le_bytes(it.try_into().unwrap()));
    assert!(values.eq(run.into_parameters()));

    assert_eq!(here.ledger().events(), there.ledger().events());
    assert_eq!(here.ledger().events().len(), 2, "noise that is left for later, and the steps");
    assert!(here.spent().unwrap() <= EPSILON);
}

#[test]
fn what_cannot_be_made_is_refused_before_it_is_charged() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("taken.safetensors");
    let free = folder.path().join("free.safetensors");
    fs::write(&taken, "a model").unwrap();
    for (optimizer, average, first, model, reason) in [
        (SGD, false, 0.25, &taken, "taken.safetensors"),
        (SGD, true, 0.25, &free, "average"),
        (OptimizerSettings::adam(0.1), false, 0.25, &free, "every row at every step"),
    ] {
        let mut purse = purse();
        let refusal = on_disk(plan(optimizer, average), first, model, &mut purse).err().unwrap();
        assert!(refusal.to_string().contains(reason), "{refusal}");
        assert_eq!(purse.ledger().events().len(), 0);
    }
    // Found out while weights are written, when no step was charged.
    let mut purse = purse();
    let refusal = on_disk(plan(SGD, false), 0.75, &free, &mut purse).err().unwrap();
    assert!(refusal.to_string().contains("up to 0.5"), "{refusal}");
    assert_eq!(purse.ledger().events().len(), 1, "noise that is left for later");
    // A run that is given up leaves nothing.
    drop(on_disk(plan(SGD, false), 0.25, &free, &mut self::purse()).unwrap());
    assert_eq!(fs::read(&taken).unwrap(), b"a model");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
