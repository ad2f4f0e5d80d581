//! Selective SGD: what a step releases, computed without sampling, held against what it is charged for.
//!
//! Sensitivities are 1: a unit moves the averaged gradient by at most 1 in L2.
#![allow(clippy::unwrap_used)]

use organza_accountant::pld;
use organza_ledger::{Event, Neighbouring};
use organza_mechanism::{NoiseSettings, Plan, PlanSettings, SelectionSettings, Shape};
use organza_paper::compared::SelectiveSgd;

/// Steps and reach of integrals: Laplace tails beyond are below 1e-15.
const STEP: f64 = 0.01;
const REACH: f64 = 40.0;

/// The scales of a step's noise, with a sensitivity of 1.
#[derive(Clone, Copy)]
struct Scales {
    threshold: f64,
    query: f64,
    value: f64,
}

/// As a plan draws them: what the settings are relative to.
fn scales(selective: SelectiveSgd, epsilon: f64) -> Scales {
    let (selection, noise) = selective.settings(epsilon);
    let SelectionSettings::SparseVector { threshold_epsilon, query_epsilon, .. } = selection else {
        panic!("it selects by the sparse vector technique")
    };
    let NoiseSettings::Laplace { epsilon } = noise else { panic!("it has Laplace noise") };
    Scales { threshold: 1.0 / threshold_epsilon, query: 2.0 / query_epsilon, value: 1.0 / epsilon }
}

fn selective(hits: u64) -> SelectiveSgd {
    SelectiveSgd { hits, threshold: 0.0, bound: 1e6 }
}

/// The probability of Laplace noise of this scale above `level`.
fn above(level: f64, scale: f64) -> f64 {
    let tail = 0.5 * (-level.abs() / scale).exp();
    if level > 0.0 { tail } else { 1.0 - tail }
}

/// The mean of `of` over a Laplace variable of this scale.
fn over_noise(scale: f64, of: impl Fn(f64) -> f64) -> f64 {
    let steps = (REACH / STEP) as i64;
    let terms = (-steps..=steps).map(|step| (step as f64 * STEP, (step as f64 * STEP).abs()));
    let (mut sum, mut mass) = (0.0, 0.0);
    for (place, size) in terms {
        let weight = (-size).exp();
        sum += weight * of(place * scale);
        mass += weight;
    }
    sum / mass
}

/// The chance that a query with this distance to the threshold hits: over the threshold's noise, and the query's.
fn hits(score: f64, scales: Scales) -> f64 {
    over_noise(scales.threshold, |noise| above(noise - score, scales.query))
}

/// The chance that none of `count` queries with this score hits, all under one threshold.
fn none_hits(score: f64, count: i32, scales: Scales) -> f64 {
    over_noise(scales.threshold, |noise| (1.0 - above(noise - score, scales.query)).powi(count))
}

/// What all hits and all values above a level can give away of a unit that moves each of `count` coordinates alike: the
/// threshold is fresh for each, so that chances multiply.
fn loss_of_all_hits(count: u64, scales: Scales) -> f64 {
    let change = 1.0 / (count as f64).sqrt();
    let log = |score: f64| {
        // Far below the threshold, and values far above.
        let value = above(100.0 * scales.value - score, scales.value).ln();
        count as f64 * (hits(score - 100.0 * scales.query, scales).ln() + value)
    };
    log(change) - log(0.0)
}

/// What "nothing has hit" can give away of a unit that moves `count` coordinates alike, far above the threshold.
fn loss_of_no_hit(count: i32, scales: Scales) -> f64 {
    let change = 1.0 / f64::from(count).sqrt();
    let log = |score: f64| none_hits(score, count, scales).ln();
    let score = 3.0 * scales.query;
    log(score) - log(score + change)
}

#[test]
fn the_plan_draws_and_charges_what_the_settings_say() {
    for (hits, epsilon) in [(1, 1.0), (7, 3.0), (100, 20.0)] {
        let (selection, noise) = selective(hits).settings(epsilon);
        let plan = Plan::new(PlanSettings {
            shape: Shape::table(50, 4).unwrap(),
            neighbouring: Neighbouring::AddRemove,
            rate: 0.1,
            expected_batch: 5.0,
            clip: 2.0,
            selection,
            noise,
        });
        let plan = plan.unwrap();
        let event = selective(hits).event(epsilon);
        assert_eq!(*plan.step_event(), event.clone().poisson(0.1));
        // A value has Laplace noise of scale D / (epsilon / 9 c), D = clip / batch: 2 c D / (2 epsilon / 9).
        let scale = 2.0 * hits as f64 * 0.4 / (2.0 / 9.0 * epsilon);
        assert!((plan.noise_deviation() / scale - 1.0).abs() < 1e-9);
        let whole = SelectiveSgd::epsilon_of(&event).unwrap();
        assert!((whole / epsilon - 1.0).abs() < 1e-12, "{whole}");
        assert!((selective(hits).per_parameter(epsilon) - epsilon / hits as f64).abs() < 1e-12);
    }
}

/// Pure differential privacy bounds the log ratio of every event, however unlikely.
#[test]
fn what_c_values_give_away_is_within_the_epsilon_of_the_step_and_not_within_that_of_a_parameter() {
    let epsilon = 2.0;
    for count in [4, 16, 64] {
        let right = scales(selective(count), epsilon);
        let (all, none) = (loss_of_all_hits(count, right), loss_of_no_hit(count as i32, right));
        assert!(all <= epsilon && none <= epsilon, "{count}: {all} {none}");
        // As printed, per parameter, and taken for all of it.
        let printed = selective(count).per_parameter(epsilon);
        assert!(count < 16 || all > printed, "{count}: {all} is within {printed}");
        // Noise for one value, on c of them.
        let one = scales(selective(1), epsilon);
        assert!(count < 16 || loss_of_all_hits(count, one) > epsilon, "{count}");
        // No noise on the threshold.
        let bare = Scales { threshold: 1e-9, ..scales(selective(1), epsilon) };
        assert!(count < 64 || loss_of_no_hit(count as i32, bare) > epsilon, "{count}");
    }
    assert!(loss_of_no_hit(64, scales(selective(1), epsilon)) <= epsilon);
}

/// All that one coordinate and one hit can show, exactly: nothing, or a value.
fn delta_of_one(scales: Scales, (before, after): (f64, f64), epsilon: f64) -> f64 {
    let factor = epsilon.exp();
    let (one, other) = (hits(before, scales), hits(after, scales));
    let nothing = ((1.0 - one) - factor * (1.0 - other)).max(0.0);
    let density =
        |value: f64, mean: f64| (-(value - mean).abs() / scales.value).exp() / (2.0 * scales.value);
    let step = scales.value * STEP;
    let steps = (REACH / STEP) as i64;
    let values = (-steps..=steps).map(|number| {
        let value = number as f64 * step;
        (one * density(value, before) - factor * other * density(value, after)).max(0.0) * step
    });
    nothing + values.sum::<f64>()
}

#[test]
fn the_account_covers_the_law_of_one_hit() {
    for epsilon in [0.5, 2.0, 6.0] {
        let scales = scales(selective(1), epsilon);
        let event = selective(1).event(epsilon);
        let account = pld::Accountant::new(Neighbouring::AddRemove).compose(&event).unwrap();
        for part in [0.0, 0.1, 0.3, 0.6, 0.9, 1.0] {
            let claimed = account.delta(part * epsilon).unwrap().delta;
            for score in [-3.0, -0.5, 0.0, 1.0] {
                for pair in [(score, score + 1.0), (score + 1.0, score)] {
                    let exact = delta_of_one(scales, pair, part * epsilon);
                    assert!(
                        exact <= claimed + 1e-5,
                        "{epsilon} {part} {pair:?}: {exact} {claimed}"
                    );
                }
            }
        }
        // An eighth of the charge for the hit, and none for the value, is below the law.
        let Event::SparseVector { threshold_epsilon, query_epsilon, hits, refreshed, .. } = event
        else {
            panic!("it is the sparse vector technique")
        };
        let free = Event::SparseVector {
            threshold_epsilon: threshold_epsilon / 8.0,
            query_epsilon: query_epsilon / 8.0,
            hits,
            refreshed,
            value_epsilon: None,
        };
        let account = pld::Accountant::new(Neighbouring::AddRemove).compose(&free).unwrap();
        assert!(delta_of_one(scales, (1.0, 0.0), 0.0) > account.delta(0.0).unwrap().delta);
    }
}
