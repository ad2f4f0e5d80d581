//! An event means one thing, wherever it stands.
#![allow(clippy::unwrap_used)]

use crate::gaussian;
use organza_accountant::{normal, pld, rdp};
use organza_ledger::{Event, Neighbouring};

/// The selection of the paper's run.
fn selection(draws: u64) -> Event {
    Event::Exponential {
        epsilon: 0.28379,
        draws,
        candidates: Some(100_000),
        cap: Some(0.1),
        l2: Some(0.75),
    }
}

fn selected(draws: u64, sensitivity: Option<f64>, noise_multiplier: f64) -> Event {
    Event::Selected {
        by: Box::new(selection(draws)),
        sensitivity,
        noise: Box::new(gaussian(noise_multiplier)),
    }
}

/// Epsilon of the paper's run with this step, by both accountants.
fn run(step: Event) -> (f64, f64) {
    price(&step.poisson(1e-4).repeat(200_000), 1e-5)
}

fn price(event: &Event, delta: f64) -> (f64, f64) {
    let tight = pld::Accountant::new(Neighbouring::AddRemove).compose(event).unwrap();
    let renyi = rdp::Accountant::new(Neighbouring::AddRemove).compose(event).unwrap();
    (tight.epsilon(delta).unwrap().epsilon, renyi.epsilon(delta).unwrap())
}

#[test]
fn a_composition_costs_the_same_in_any_order_and_nesting() {
    let (one, other) = (selection(100), gaussian(0.5));
    let apart = run(Event::Compose(vec![one.clone(), other.clone()]));
    assert!((2.418..2.433).contains(&apart.0) && (3.519..3.53).contains(&apart.1), "{apart:?}");
    for step in [
        vec![other.clone(), one.clone()],
        vec![one.clone(), Event::Compose(vec![other.clone()])],
        vec![Event::Compose(vec![one.clone()]), other.clone()],
        vec![one.clone().repeat(1), other.clone()],
        vec![Event::Compose(vec![one, Event::Compose(vec![]), other])],
    ] {
        let again = run(Event::Compose(step));
        assert!((again.0 / apart.0 - 1.0).abs() < 1e-9, "{again:?} {apart:?}");
        assert!((again.1 / apart.1 - 1.0).abs() < 1e-9, "{again:?} {apart:?}");
    }
    // Noise that is known to lie on the selection alone costs far less.
    let joint = run(selected(100, None, 0.5));
    assert!((0.3195..0.3202).contains(&joint.0) && (2.50..2.505).contains(&joint.1), "{joint:?}");
    // A Gaussian beside it is one more, and not the one on the selection.
    let beside = run(Event::Compose(vec![selected(100, None, 0.5), gaussian(0.5)]));
    assert!(beside.0 > apart.0 && beside.1 > apart.1, "{beside:?}");
}

#[test]
fn a_second_clip_is_priced_by_the_better_of_both_ways() {
    // What no sound account of C = 0.75, S2 = 0.1 and deviation 0.1 can lie below: a unit moves 14
    // coordinates from -0.1 to 0.1, 0.748 in L2, and all others are zero. Scores are at the cap before
    // and after, so with probability 1 - (1 - 14 e^0.14 / (99,986 + 14 e^0.14))^100 > 1 / 63, the same on
    // both sides, one of them is selected, and then the noise sees a change of two deviations.
    let floor = run(Event::Cluster { groups: 63, event: Box::new(gaussian(0.5)) }).0 * 0.999;
    assert!((0.8..0.85).contains(&floor), "{floor}");
    // The deviation is half of what the clipped vector moves by.
    let clipped = run(selected(100, Some(0.2), 0.5));
    let apart = run(Event::Compose(vec![selection(100), gaussian(0.5)]));
    let joint = run(selected(100, None, 0.1 / 0.75));
    assert!(clipped.0 >= floor && clipped.0 <= apart.0.min(joint.0), "{clipped:?} {apart:?}");
    assert!(clipped.1 >= floor && clipped.1 <= apart.1.min(joint.1), "{clipped:?} {apart:?}");
    assert!(joint.0 > 56.0, "{joint:?}");
    // The broken twin: the multiplier of the clipped vector, taken for that of the whole.
    assert!(run(selected(100, None, 0.5)).0 < floor);
    // A clip that never bites changes nothing.
    assert_eq!(run(selected(100, Some(0.75), 0.5)), run(selected(100, None, 0.5)));
}

#[test]
fn without_draws_nothing_is_released() {
    let uncapped =
        Event::Exponential { epsilon: 0.3, draws: 0, candidates: None, cap: None, l2: None };
    for event in [selection(0), uncapped, selected(0, None, 0.5), selected(0, Some(0.1), 0.5)] {
        assert_eq!(run(event.clone()), (0.0, 0.0), "{event:?}");
        assert_eq!(price(&event.clone().repeat(3), 1e-6), (0.0, 0.0));
        // Beside noise it changes nothing.
        assert_eq!(run(Event::Compose(vec![event, gaussian(0.5)])), run(gaussian(0.5)));
    }
}

/// Behind one mask a second Gaussian can put all its change where the mask is: the truth is at least
/// what that one costs.
#[test]
fn behind_a_mask_there_is_one_noise() {
    let masked = |event: Event| Event::UniformMask { share: 0.001, event: Box::new(event) };
    let two = masked(Event::Compose(vec![gaussian(1.0), gaussian(1.0)]));
    assert!(pld::Accountant::new(Neighbouring::AddRemove).compose(&two).is_err());
    assert!(rdp::Accountant::new(Neighbouring::AddRemove).compose(&two).is_err());
    // The broken twin: both as one hidden Gaussian, far below what the second alone costs.
    let (hidden, _) = price(&masked(gaussian(0.5_f64.sqrt())), 1e-3);
    assert!(hidden < 0.23 && normal::hockey_stick(hidden.exp(), 1.0) > 0.3);
    // Each behind a mask of its own is fine.
    let (own, _) = price(&masked(gaussian(1.0)).repeat(2), 1e-3);
    let (whole, _) = price(&gaussian(1.0).repeat(2), 1e-3);
    assert!(own > price(&masked(gaussian(1.0)), 1e-3).0 && own < 0.3 * whole, "{own} {whole}");
}
