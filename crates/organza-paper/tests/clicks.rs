//! The compared systems on made-up clicks, with a row as the unit: budgets are kept, and what comes of a public subspace is a
//! function of released and public numbers alone.
#![allow(clippy::unwrap_used)]

#[path = "../examples/clicks/data.rs"]
mod data;

use data::Clicks;
use organza_ledger::{Event, Unit};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::{FlatRows, Purpose, RandomSource, ReadRows, WriteRows};
use organza_paper::compared::{
    Compared, ComparedMethod, ComparedSettings, PublicSubspace, SelectiveSgd, Subspace, WithPublic,
};
use organza_train::settings::EngineSettings;
use organza_train::{
    Ended, Failure, Finished, Losses, Observer, OptimizerSettings, Refinement, Session, Simple,
    Task, metrics,
};
use tempfile::tempdir;

const SUBSPACE: PublicSubspace = PublicSubspace { samples: 40, dimensions: 8, every: 4 };

type Run<T> = Session<Compared<Simple<T>>>;

fn settings(method: ComparedMethod) -> ComparedSettings<EngineSettings> {
    let mut of = EngineSettings::new("clicks", Unit::Line, 2.0, 1e-6);
    (of.seed, of.privacy.units) = (Some(5), Some(600));
    (of.training.batch, of.training.steps, of.training.clip) = (60.0, Some(30), 1.0);
    of.training.optimizer = OptimizerSettings::Sgd { learning_rate: 1.0 };
    (of.training.evaluations, of.training.checkpoints) = (1, 3);
    ComparedSettings { of, method }
}

fn clicks() -> Clicks {
    Clicks::made_up([600, 60, 200], 20, 7)
}

fn projected() -> ComparedSettings<EngineSettings> {
    settings(ComparedMethod::Projected(SUBSPACE))
}

/// The step inside what was charged, and how many there were.
fn steps(run: &Finished<Vec<f32>>) -> Vec<Event> {
    run.certificate.events.clone()
}

#[test]
fn both_keep_to_the_budget_and_say_what_is_public() {
    let selective = SelectiveSgd { hits: 20, threshold: 1e-3, bound: 0.01 };
    let run = Run::fit(settings(ComparedMethod::Selective(selective)), clicks()).unwrap();
    let epsilon = run.certificate.epsilon.unwrap();
    assert!((1.9..=2.0).contains(&epsilon), "{epsilon}");
    assert!(format!("{:?}", steps(&run)).contains("SparseVector"));
    assert!(run.certificate.public.iter().all(|fact| fact.name != "public samples"));
    let run = Run::fit(projected(), clicks()).unwrap();
    let epsilon = run.certificate.epsilon.unwrap();
    assert!((1.9..=2.0).contains(&epsilon), "{epsilon}");
    let said = "declared public: gradients were projected";
    assert!(run.certificate.conditions.iter().any(|it| it.contains(said)));
    let fact = run.certificate.public.iter().find(|fact| fact.name == "public samples").unwrap();
    assert_eq!(fact.value, "at most 40 rows of others");
    // DP-SGD spends the same on the same: a projection is charged for nothing.
    let mut plain = projected().of;
    plain.name[1] = "projected-dpsgd".into();
    // Noise of plain gradient descent is left for later, at a charge; a refinement wants all of it now. So: Adam.
    plain.training.optimizer = OptimizerSettings::adam(0.1);
    let mut refined = projected();
    refined.of.training.optimizer = OptimizerSettings::adam(0.1);
    let plain = Session::<Simple<Clicks>>::fit(plain, clicks()).unwrap();
    let refined = Run::fit(refined, clicks()).unwrap();
    assert_eq!(steps(&plain), steps(&refined));
    assert_eq!(plain.certificate.epsilon, refined.certificate.epsilon);
    assert_ne!(plain.model, refined.model);
}

/// With more budget than anybody would give, selective SGD learns: so that it learns nothing at a small one is its noise, and no
/// mistake of a sign. The twin goes the other way.
#[test]
fn selective_sgd_learns_where_there_is_next_to_no_noise() {
    let data = Clicks::made_up([2_000, 60, 4_000], 20, 7);
    let selective = SelectiveSgd { hits: 200, threshold: 0.0, bound: 1.0 };
    let mut asked = settings(ComparedMethod::Selective(selective));
    (asked.of.privacy.epsilon, asked.of.privacy.units) = (Some(1e7), Some(2_000));
    let training = &mut asked.of.training;
    (training.batch, training.steps) = (200.0, Some(200));
    training.optimizer = OptimizerSettings::Sgd { learning_rate: 2.0 };
    let model = Run::fit(asked, data.clone()).unwrap().model;
    let shape = data.shape().unwrap();
    let area = |weights: &[f32]| data.area(&FlatRows::new(shape.clone(), weights));
    let away: Vec<f32> = model.iter().map(|weight| -weight).collect();
    assert!(area(&model) > 0.6, "{}", area(&model));
    assert!(area(&away) < 0.4, "{}", area(&away));
}

/// What the parameters moved by over a run with plain gradient descent is a sum of projections, so it lies on the subspace
/// where that was found once, at the first weights.
#[test]
fn parameters_move_on_the_subspace_alone() {
    let mut asked = projected();
    let once = PublicSubspace { every: 1_000_000, ..SUBSPACE };
    asked.method = ComparedMethod::Projected(once);
    asked.of.training.checkpoints = 1;
    let moved = |data: Clicks, settings: &ComparedSettings<EngineSettings>| {
        let mut still = settings.clone();
        still.of.training.optimizer = OptimizerSettings::Sgd { learning_rate: 1e-30 };
        let first = Run::fit(still, data.clone()).unwrap().model;
        let last = Run::fit(settings.clone(), data).unwrap().model;
        let moved = last.iter().zip(&first).map(|(last, first)| last - first).collect();
        (first, moved)
    };
    let off = |public: Clicks, first: &[f32], moved: &Vec<f32>| {
        let mut subspace = Subspace::new(public, once).unwrap();
        let shape = clicks().shape().unwrap();
        subspace.look(&FlatRows::new(shape, first), &mut random());
        let mut kept = moved.clone();
        subspace.refine(&mut kept);
        let squares = |values: &mut dyn Iterator<Item = f32>| values.map(|it| it * it).sum::<f32>();
        let beside = squares(&mut kept.iter().zip(moved).map(|(kept, moved)| kept - moved));
        (beside / squares(&mut moved.iter().copied())).sqrt()
    };
    let (first, own) = moved(clicks(), &asked);
    let public = clicks().public(SUBSPACE.samples).unwrap();
    assert!(off(public.clone(), &first, &own) < 1e-3);
    // A subspace from rows that train is another one.
    let mut leaking = clicks();
    leaking.public.clone_from(&leaking.train);
    let (first, leaked) = moved(leaking, &asked);
    assert!(off(public, &first, &leaked) > 0.1);
}

fn random() -> PrivateRandom {
    RandomSource::from_seed(2).substream(Purpose::Public, 0, 0)
}

/// What a refinement of this task makes of the same release at the same weights.
fn refined<T: WithPublic>(task: &T) -> Vec<f32> {
    let mut subspace = Subspace::new(task.public(SUBSPACE.samples).unwrap(), SUBSPACE).unwrap();
    let shape = task.shape().unwrap();
    let weights = vec![0.1; shape.coordinates() as usize];
    subspace.look(&FlatRows::new(shape, &weights), &mut random());
    let mut gradient: Vec<f32> = (0..weights.len()).map(|it| (it as f32).sin()).collect();
    subspace.refine(&mut gradient);
    gradient
}

/// Clicks whose public rows are the first of those that train.
#[derive(Clone)]
struct Leaking(Clicks);

impl Task for Leaking {
    fn tables(&self) -> Vec<(u64, u64)> {
        self.0.tables()
    }

    fn units(&self) -> u64 {
        self.0.units()
    }

    fn gradient(
        &self,
        unit: u64,
        draw: &[u32],
        weights: &dyn ReadRows,
        gradient: &mut dyn WriteRows,
    ) {
        self.0.gradient(unit, draw, weights, gradient);
    }

    fn evaluate(&self, weights: &dyn ReadRows) -> Losses {
        self.0.evaluate(weights)
    }
}

impl WithPublic for Leaking {
    type Public = Clicks;

    fn public(&self, _: u64) -> Result<Clicks, Failure> {
        Ok(self.0.clone())
    }

    fn public_samples() -> &'static str {
        "rows that are not public at all"
    }
}

#[test]
fn what_comes_of_a_release_does_not_depend_on_a_unit() {
    let all = clicks();
    let mut without = all.clone();
    without.train.remove(3);
    let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(refined(&all)), bits(refined(&without)));
    let mut other = all.clone();
    other.train.reverse();
    assert_eq!(bits(refined(&all)), bits(refined(&other)));
    // The twin tells who is there.
    assert_ne!(bits(refined(&Leaking(all))), bits(refined(&Leaking(without))));
}

/// Stops when so many steps are made.
struct StopAt(u64, u64);

impl Observer for StopAt {
    fn step(&mut self, done: u64, _: u64) {
        self.1 = done;
    }

    fn point(&mut self, _: &metrics::Point) {}

    fn interrupted(&self) -> bool {
        self.1 >= self.0
    }
}

#[test]
fn a_run_that_was_stopped_goes_on_with_the_same_bits() {
    let whole = Run::fit(projected(), clicks()).unwrap().model;
    for stop in [1, 4, 9, 11, 27] {
        let place = tempdir().unwrap();
        let path = place.path().join("run");
        let run = Run::begin_with(projected(), &path, |_| Ok(clicks())).unwrap();
        let Ended::Interrupted { steps } = run.train(false, &mut StopAt(stop, 0)).unwrap() else {
            panic!("it was to stop at {stop}")
        };
        // It stops where the next look is: every four steps of a block of ten.
        assert!(steps >= stop && steps % 10 % 4 == 0, "{stop}: {steps}");
        let run = Run::resume_with(&path, None, |_| Ok(clicks())).unwrap();
        let Ended::Finished(run) = run.train(false, &mut ()).unwrap() else { panic!("to its end") };
        assert_eq!(run.model, whole, "{stop}");
    }
}
