//! Limits, monotonicity, exact enumeration, and broken twins that must be caught.
#![allow(clippy::unwrap_used)]

use crate::gaussian;
use organza_accountant::normal;
use organza_accountant::pld::Accountant;
use organza_ledger::{Event, Neighbouring};
use proptest::prelude::*;

fn draws(epsilon: f64, draws: u64) -> Event {
    Event::Exponential { epsilon, draws, candidates: None, cap: None, l2: None }
}

fn pure(epsilon: f64) -> Event {
    Event::Pure { epsilon }
}

fn account(event: &Event) -> Accountant {
    Accountant::new(Neighbouring::AddRemove).compose(event).unwrap()
}

fn epsilon(event: &Event, delta: f64) -> f64 {
    account(event).epsilon(delta).unwrap().epsilon
}

fn delta(event: &Event, epsilon: f64) -> f64 {
    account(event).delta(epsilon).unwrap().delta
}

fn assert_close(one: f64, other: f64, relative: f64) {
    assert!((one / other - 1.0).abs() < relative, "{one} {other}");
}

#[test]
fn limits() {
    let run = |step: Event| step.poisson(0.01).repeat(300);
    let plain = epsilon(&run(gaussian(0.9)), 1e-6);
    // No draws leave the sampled Gaussian.
    let undrawn = Event::Compose(vec![draws(0.3, 0), gaussian(0.9)]);
    assert_close(epsilon(&run(undrawn), 1e-6), plain, 2e-4);
    let harmless = Event::Compose(vec![draws(1e-9, 5), gaussian(0.9)]);
    assert_close(epsilon(&run(harmless), 1e-6), plain, 2e-4);
    // Endless noise leaves the sampled selection.
    let selected = epsilon(&run(draws(0.5, 8)), 1e-6);
    let drowned = Event::Compose(vec![draws(0.5, 8), gaussian(1e7)]);
    assert_close(epsilon(&run(drowned), 1e-6), selected, 2e-3);
    // A rate of one is plain composition, and so is a rate next to one.
    let whole = epsilon(&gaussian(9.0).poisson(1.0).repeat(100), 1e-6);
    let mut low = 0.0;
    let mut high = 20.0;
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if normal::hockey_stick(f64::exp(middle), 10.0 / 9.0) > 1e-6 {
            low = middle;
        } else {
            high = middle;
        }
    }
    assert_close(whole, high, 1e-9);
    assert_close(epsilon(&gaussian(9.0).poisson(1.0 - 1e-9).repeat(100), 1e-6), high, 2e-4);
}

#[test]
fn transforms_agree_with_the_closed_form_from_above() {
    // A cluster of one group is the Gaussian itself, but is not recognised as such.
    for (sigma, times) in [(3.0, 5), (10.0, 400), (200.0, 100_000), (0.5, 2)] {
        let event = Event::Cluster { groups: 1, event: Box::new(gaussian(sigma)) }.repeat(times);
        let shift = (times as f64).sqrt() / sigma;
        for at in [0.0, 0.5, 2.0, 6.0, 12.0] {
            let truth = normal::hockey_stick(f64::exp(at), shift);
            let claim = delta(&event, at);
            assert!(claim >= truth * (1.0 - 1e-9), "{sigma} {times} {at}: {claim:e} {truth:e}");
            assert!(claim <= truth * 1.01 + 1e-19, "{sigma} {times} {at}: {claim:e} {truth:e}");
        }
    }
}

#[test]
fn nestings_that_mean_the_same_cost_the_same() {
    let twice = gaussian(0.8).poisson(0.1).poisson(0.02).repeat(500);
    let once = gaussian(0.8).poisson(0.002).repeat(500);
    assert_close(epsilon(&twice, 1e-6), epsilon(&once, 1e-6), 1e-9);
    let phases = Event::Compose(vec![
        once.clone(),
        Event::Compose(vec![gaussian(0.8).poisson(0.002)]).repeat(500),
    ]);
    assert_eq!(epsilon(&phases, 1e-6), epsilon(&once.repeat(2), 1e-6));
    // Two Gaussians on one batch are one; on two batches they are cheaper.
    let joined = Event::Compose(vec![gaussian(2.0), gaussian(2.0)]).poisson(0.01).repeat(200);
    let one = gaussian(2_f64.sqrt()).poisson(0.01).repeat(200);
    assert_close(epsilon(&joined, 1e-6), epsilon(&one, 1e-6), 1e-9);
    assert!(epsilon(&joined, 1e-6) > epsilon(&gaussian(2.0).poisson(0.01).repeat(400), 1e-6));
}

#[test]
fn phases_and_single_releases_compose() {
    let early = gaussian(1.2).poisson(0.01).repeat(500);
    let late = gaussian(0.7).poisson(0.001).repeat(3000);
    let release =
        Event::Compose(vec![gaussian(20.0), Event::Approximate { epsilon: 0.0, delta: 1e-9 }]);
    let each = [&early, &late, &release].map(|event| epsilon(event, 1e-6));
    let all = epsilon(&Event::Compose(vec![early, late, release]), 1e-6);
    assert!(all >= each.iter().copied().fold(0.0, f64::max));
    assert!(all <= each.iter().sum::<f64>(), "{all} {each:?}");
}

/// Delta of the product of two-point losses, one after the other, by enumeration.
fn enumerate(losses: &[Vec<(f64, f64)>], at: f64) -> f64 {
    fn walk(rest: &[Vec<(f64, f64)>], loss: f64, mass: f64, at: f64) -> f64 {
        match rest.split_first() {
            None => mass * (1.0 - (at - loss).exp()).max(0.0),
            Some((first, rest)) => {
                first.iter().map(|(more, part)| walk(rest, loss + more, mass * part, at)).sum()
            }
        }
    }
    walk(losses, 0.0, 1.0, at)
}

fn response(epsilon: f64) -> Vec<(f64, f64)> {
    let high = 1.0 / (1.0 + (-epsilon).exp());
    vec![(epsilon, high), (-epsilon, 1.0 - high)]
}

fn sampled(base: &[(f64, f64)], rate: f64, removal: bool) -> Vec<(f64, f64)> {
    base.iter()
        .map(|(loss, mass)| {
            let without = mass * (-loss).exp();
            let ratio = 1.0 - rate + rate * loss.exp();
            if removal { (ratio.ln(), without * ratio) } else { (-ratio.ln(), without) }
        })
        .collect()
}

#[test]
fn small_runs_are_enumerated() {
    let phases = Event::Compose(vec![
        pure(0.3).poisson(0.4).repeat(5),
        pure(0.7).poisson(0.1).repeat(4),
        pure(0.25).repeat(3),
    ]);
    let exact = |removal: bool, at: f64| {
        let mut losses = vec![sampled(&response(0.3), 0.4, removal); 5];
        losses.extend(vec![sampled(&response(0.7), 0.1, removal); 4]);
        losses.extend(vec![response(0.25); 3]);
        enumerate(&losses, at)
    };
    for at in [0.0, 0.2, 0.5, 0.9, 1.3] {
        let truth = exact(true, at).max(exact(false, at));
        let claim = delta(&phases, at);
        assert!(claim >= truth * (1.0 - 1e-9), "{at}: {claim} {truth}");
        assert!(claim <= truth * 1.005 + 1e-9, "{at}: {claim} {truth}");
    }
}

#[test]
fn parts_of_a_step_are_composed_before_sampling() {
    // One step, exactly: randomised response and a Gaussian on the same batch.
    let (choice, sigma, rate) = (0.8, 1.0, 0.05);
    let truth = |at: f64| {
        let inner = (at.exp_m1() + rate) / rate;
        let joint: f64 = response(choice)
            .iter()
            .map(|(loss, mass)| mass * normal::hockey_stick(inner * (-loss).exp(), 1.0 / sigma))
            .sum();
        rate * joint
    };
    let step = Event::Compose(vec![pure(choice), gaussian(sigma)]).poisson(rate);
    let broken = Event::Compose(vec![pure(choice).poisson(rate), gaussian(sigma).poisson(rate)]);
    let mut caught = false;
    for at in [0.01, 0.05, 0.1, 0.2, 0.4] {
        assert!(delta(&step, at) >= truth(at) * (1.0 - 1e-9), "{at}");
        assert!(delta(&step, at) <= truth(at) * 1.002, "{at} {} {}", delta(&step, at), truth(at));
        caught |= delta(&broken, at) < truth(at) * (1.0 - 1e-3);
    }
    assert!(caught, "the broken twin passed");
}

#[test]
fn mass_at_infinity_is_never_dropped() {
    let (failure, rate, times) = (1e-4, 0.3, 200);
    let event = Event::Approximate { epsilon: 0.01, delta: failure }.poisson(rate).repeat(times);
    let truth = 1.0 - (1.0 - rate * failure).powi(times as i32);
    let claim = delta(&event, 50.0);
    assert!(claim >= truth * (1.0 - 1e-9) && claim < truth * 1.001, "{claim} {truth}");
    let broken = pure(0.01).poisson(rate).repeat(times);
    assert!(delta(&broken, 50.0) < truth);
}

#[test]
fn rare_large_losses_are_not_lost_in_a_long_window() {
    // A visit to one of 10^8 groups, 20,000 times: delta is nearly visits x total variation.
    let visits = Event::Cluster { groups: 100_000_000, event: Box::new(pure(0.33)) }.repeat(20_000);
    let truth = 2e-4 * f64::tanh(0.165);
    assert!(delta(&visits, 0.0) >= truth * (1.0 - 1e-3));
    assert!(epsilon(&visits, 0.5 * truth) > 0.1, "{}", epsilon(&visits, 0.5 * truth));
    assert_eq!(epsilon(&visits, 1.01 * truth), 0.0);
}

#[test]
fn fixed_groups_do_not_amplify_epsilon() {
    // The correct cost of visiting one of 100 fixed groups, and what sampling would have claimed.
    let visits = Event::Cluster { groups: 100, event: Box::new(pure(0.25)) }.repeat(10_000);
    let claimed = pure(0.25).poisson(0.01).repeat(10_000);
    assert!(epsilon(&visits, 1e-5) > 4.0 * epsilon(&claimed, 1e-5));
}

#[test]
fn replacing_a_unit_is_not_amplified_without_a_promise() {
    let ask = |event: &Event, relation| {
        Accountant::new(relation).compose(event).unwrap().epsilon(1e-6).unwrap().epsilon
    };
    let whole = gaussian(1.0);
    assert_eq!(ask(&whole, Neighbouring::ReplaceOne), ask(&whole, Neighbouring::AddRemove));
    let run = gaussian(1.0).poisson(0.01).repeat(100);
    let cluster = Event::Cluster { groups: 100, event: Box::new(gaussian(1.0)) }.repeat(100);
    assert_close(ask(&run, Neighbouring::ReplaceOne), ask(&cluster, Neighbouring::AddRemove), 1e-6);
    assert!(ask(&run, Neighbouring::ReplaceOne) > ask(&run, Neighbouring::AddRemove));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn cost_falls_in_noise_and_rises_in_steps_rate_and_draws(
        sigma in 0.4..3.0_f64,
        rate in -4.0..-1.0_f64,
        steps in 1..2000_u64,
        count in 1..20_u64,
        range in 0.01..0.8_f64,
        exponent in -9.0..-3.0_f64,
    ) {
        let rate = 10_f64.powf(rate);
        let cost = |sigma: f64, rate: f64, steps: u64, count: u64| {
            let step = Event::Compose(vec![draws(range, count), gaussian(sigma)]);
            epsilon(&step.poisson(rate).repeat(steps), 10_f64.powf(exponent))
        };
        let here = cost(sigma, rate, steps, count);
        let slack = 1e-3 * here + 1e-6;
        prop_assert!(cost(1.2 * sigma, rate, steps, count) <= here + slack);
        prop_assert!(cost(sigma, 1.3 * rate, steps, count) >= here - slack);
        prop_assert!(cost(sigma, rate, steps + steps / 3 + 1, count) >= here - slack);
        prop_assert!(cost(sigma, rate, steps, count + 2) >= here - slack);
    }
}
