//! Nothing is drawn unpaid, and nothing twice.
#![allow(missing_docs, clippy::unwrap_used)]

use organza_ledger::testing::paid;
use organza_ledger::{Charge, Event, KeyFingerprint, Neighbouring};
use organza_mechanism::{
    Bound, CountNoise, HistogramPlan, HistogramSettings, ItemRule, ItemSettings, ItemsPlan,
    NoiseSettings, NoisyCount, NotPaid, Plan, PlanSettings, RandomSource, Sampler,
    SelectionSettings, Shape, UnitCounts,
};

const UNITS: u64 = 3;

fn plan(multiplier: f64) -> Plan {
    Plan::new(PlanSettings {
        shape: Shape::table(4, 2).unwrap(),
        neighbouring: Neighbouring::AddRemove,
        rate: 1.0,
        expected_batch: 1.0,
        clip: 1.0,
        selection: SelectionSettings::Everything,
        noise: NoiseSettings::Gaussian { multiplier, second_clip: None },
    })
    .unwrap()
}

fn sampler(source: &RandomSource) -> Sampler {
    plan(1.0).sampler("training", UNITS, source)
}

/// What is released of `step`, where each unit adds `value` to the first coordinate.
fn released(sampler: &Sampler, step: u64, value: f32) -> Result<f32, NotPaid> {
    let batch = sampler.batch(step, &paid(sampler.charge(0..10)))?;
    let sum = batch.sum(|_, gradient| gradient.row(0).unwrap()[0] = value);
    let mut first = None;
    sum.select().noise().visit(|_, values| first = first.or(values.first().copied()));
    Ok(first.unwrap())
}

fn not_covered<T>(result: &Result<T, NotPaid>) -> bool {
    matches!(result, Err(NotPaid::NotCovered { .. }))
}

fn drawn_before<T>(result: &Result<T, NotPaid>) -> bool {
    matches!(result, Err(NotPaid::DrawnBefore { .. }))
}

/// Charges that differ from `charge` in one thing each.
fn foreign(charge: &Charge) -> Vec<Charge> {
    let next = charge.range().end;
    let relation = match charge.neighbouring {
        Some(Neighbouring::ReplaceOne) => Neighbouring::AddRemove,
        _ => Neighbouring::ReplaceOne,
    };
    vec![
        Charge { purpose: "curve".into(), ..charge.clone() },
        Charge { event: Event::Pure { epsilon: 1.0 }, ..charge.clone() },
        Charge { key: Some(KeyFingerprint::new([7; 16])), ..charge.clone() },
        Charge { key: None, ..charge.clone() },
        Charge { neighbouring: Some(relation), ..charge.clone() },
        Charge { neighbouring: None, ..charge.clone() },
        Charge { from_step: next, ..charge.clone() },
    ]
}

#[test]
fn a_charge_for_something_else_pays_for_no_step() {
    let sampler = sampler(&RandomSource::from_seed(1));
    let charge = sampler.charge(2..5);
    for other in foreign(&charge) {
        assert!(not_covered(&sampler.batch(2, &paid(other.clone()))), "{other:?}");
    }
    let block = paid(charge);
    for step in [0, 1, 5, u64::MAX] {
        assert!(not_covered(&sampler.batch(step, &block)), "{step}");
    }
    // What was refused has not used up the step.
    assert!((2..5).all(|step| sampler.batch(step, &block).is_ok()));
    let louder = plan(0.5).sampler("training", UNITS, &RandomSource::from_seed(1));
    assert!(not_covered(&louder.batch(2, &block)), "the proof of another plan");
    let refused = louder.batch(2, &block).unwrap_err().to_string();
    assert!(
        refused.starts_with("step 2 of `training` cannot be drawn: the charge is"),
        "{refused}"
    );
}

#[test]
fn a_step_is_drawn_once_whoever_asks() {
    let source = RandomSource::from_seed(2);
    let one = sampler(&source);
    released(&one, 4, 0.1).unwrap();
    let more_units = plan(1.0).sampler("training", UNITS + 1, &source.clone());
    for (number, again) in [one.clone(), sampler(&source), more_units].iter().enumerate() {
        for step in [4, 3, 0] {
            assert!(drawn_before(&released(again, step, 0.2)), "{number} {step}");
        }
        released(again, 5 + number as u64, 0.2).unwrap();
    }
    // Another name has noise and turns of its own.
    let other = plan(1.0).sampler("curve", UNITS, &source);
    released(&other, 0, 0.1).unwrap();
    assert!(drawn_before(&released(&other, 0, 0.1)));
    let named = plan(1.0).sampler("training", UNITS, &source.named("other"));
    released(&named, 0, 0.1).unwrap();
    let again = plan(1.0).sampler("training", UNITS, &source.named("other"));
    assert!(drawn_before(&released(&again, 0, 0.1)));
}

/// Why: one noise on two values leaves their difference bare. The twin is a loop without turns: a second source of
/// the same key, which knows nothing of the first.
#[test]
fn the_same_noise_twice_would_bare_the_data() {
    let difference = |second: &dyn Fn(&Sampler) -> Result<f32, NotPaid>| {
        let sampler = sampler(&RandomSource::from_seed(3));
        let first = released(&sampler, 0, 0.2).unwrap();
        second(&sampler).map(|second| first - second)
    };
    let twin = difference(&|_| released(&sampler(&RandomSource::from_seed(3)), 0, 0.1)).unwrap();
    assert!((twin - 0.1 * UNITS as f32).abs() < 1e-6, "the noise is gone: {twin}");
    assert!(drawn_before(&difference(&|sampler| released(sampler, 0, 0.1))));
    let fresh = difference(&|sampler| released(sampler, 1, 0.1)).unwrap();
    assert!((fresh - 0.1 * UNITS as f32).abs() > 1e-3, "{fresh}");
}

#[test]
fn a_run_that_goes_on_repeats_its_steps_bit_by_bit() {
    let source = RandomSource::from_seed(4);
    let first = sampler(&source);
    let before: Vec<f32> = (0..3).map(|step| released(&first, step, 0.1).unwrap()).collect();
    let resumed = sampler(&RandomSource::resume(source.key().clone(), source.origin()));
    let after: Vec<f32> = (0..3).map(|step| released(&resumed, step, 0.1).unwrap()).collect();
    assert_eq!(before, after);
    assert!(drawn_before(&released(&resumed, 2, 0.1)));
}

/// A plan for units that are replaced.
fn replacing(rate: f64) -> Plan {
    let neighbouring = Neighbouring::ReplaceOne;
    Plan::new(PlanSettings { rate, neighbouring, ..plan(1.0).settings().clone() }).unwrap()
}

fn groups(source: &RandomSource) -> Sampler {
    replacing(1.0).in_groups(5).unwrap().sampler("training", 53, source)
}

#[test]
fn groups_are_paid_for_as_what_they_are() {
    let source = RandomSource::from_seed(5);
    let sampler = groups(&source);
    let charge = sampler.charge(0..100);
    assert!(matches!(charge.event, Event::Cluster { groups: 5, .. }));
    // A Poisson batch of everyone is another event.
    let everyone = replacing(1.0).sampler("training", 10, &source);
    assert!(not_covered(&sampler.batch(0, &paid(everyone.charge(0..100)))));
    let block = paid(charge.clone());
    assert!(not_covered(&everyone.batch(0, &block)));
    let mut visited = [0; 5];
    for step in 0..100 {
        let batch = sampler.batch(step, &block).unwrap();
        let first = batch.units()[0];
        let group = (0..5).find(|group| group * 53 / 5 == first).unwrap();
        assert_eq!(batch.units(), (first..(group + 1) * 53 / 5).collect::<Vec<u64>>());
        visited[group as usize] += 1;
        assert!(drawn_before(&groups(&source).batch(step, &block)));
    }
    assert!(visited.iter().all(|times| (5..40).contains(times)), "{visited:?}");
    assert_eq!(replacing(0.5).in_groups(5).unwrap_err().setting, "rate");
    assert_eq!(replacing(1.0).in_groups(0).unwrap_err().setting, "groups");
    assert_eq!(plan(1.0).in_groups(5).unwrap_err().setting, "neighbouring");
    let fresh = groups(&RandomSource::from_seed(5));
    for other in foreign(&charge) {
        assert!(not_covered(&fresh.batch(0, &paid(other))));
    }
}

#[test]
fn a_count_is_paid_for_and_drawn_once() {
    let source = RandomSource::from_seed(6);
    let count = NoisyCount::new(0.5, Neighbouring::AddRemove).unwrap();
    let release = count.release("units", &source);
    for other in foreign(&release.charge()) {
        assert!(not_covered(&count.noise(100, &release, paid(other))));
    }
    let cheaper = NoisyCount::new(0.1, Neighbouring::AddRemove).unwrap();
    assert!(not_covered(&count.noise(
        100,
        &cheaper.release("units", &source),
        paid(cheaper.release("units", &source).charge())
    )));
    let one = count.noise(100, &release, paid(release.charge())).unwrap();
    assert!(drawn_before(&count.noise(101, &release, paid(release.charge()))));
    let again = count.release("units", &source);
    assert!(drawn_before(&count.noise(101, &again, paid(again.charge()))));
    // The twin draws the same noise again: the second count, less the first, is what was added.
    let twin = count.release("units", &RandomSource::from_seed(6));
    assert_eq!(count.noise(101, &twin, paid(twin.charge())).unwrap(), one + 1);
}

#[test]
fn counts_and_items_are_paid_for_and_released_once() {
    let source = RandomSource::from_seed(7);
    let neighbouring = Neighbouring::AddRemove;
    let cells = HistogramPlan::new(HistogramSettings {
        dense: 0,
        cells: 3,
        neighbouring,
        bound: Bound::Total(1),
        noise: CountNoise::DiscreteLaplace { epsilon: 0.5 },
        bar: None,
    })
    .unwrap();
    let counted = |source: &RandomSource, units: u64, foreign: Option<Charge>| {
        let mut histogram = cells.histogram();
        let mut unit = UnitCounts::new();
        for _ in 0..units {
            unit.add(1, 1.0);
            histogram.add(&mut unit);
        }
        let release = cells.release("counts", source);
        let noisy = histogram.noise(&release, paid(foreign.unwrap_or(release.charge())))?;
        Ok(noisy.cells().map(|(_, count)| count).collect::<Vec<f64>>())
    };
    for other in foreign(&cells.release("counts", &source).charge()) {
        assert!(not_covered(&counted(&source, 10, Some(other))));
    }
    let one = counted(&source, 10, None).unwrap();
    assert!(drawn_before(&counted(&source, 11, None)));
    let twin = counted(&RandomSource::from_seed(7), 11, None).unwrap();
    assert_eq!([twin[0] - one[0], twin[1] - one[1], twin[2] - one[2]], [0.0, 1.0, 0.0]);

    let rule = ItemRule::Laplace { epsilon: 0.5, delta: 0.1 };
    let items = ItemsPlan::new(ItemSettings { items_per_unit: 1, neighbouring, rule }).unwrap();
    let shown = |source: &RandomSource, units: u64, foreign: Option<Charge>| {
        let release = items.release("words", source);
        let charge = foreign.unwrap_or(release.charge());
        let mut counts = items.counts(release);
        (0..units).for_each(|_| counts.add(["common"]));
        counts.noise(paid(charge)).map(|noisy| noisy.items()[0].1)
    };
    for other in foreign(&items.release("words", &source).charge()) {
        assert!(not_covered(&shown(&source, 1_000, Some(other))));
    }
    let one = shown(&source, 1_000, None).unwrap();
    assert!(drawn_before(&shown(&source, 1_001, None)));
    assert_eq!(shown(&RandomSource::from_seed(7), 1_001, None).unwrap(), one + 1.0);
}
