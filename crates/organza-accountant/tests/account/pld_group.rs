//! Loss distributions for a person with several records.
#![allow(clippy::unwrap_used)]

use crate::gaussian;
use organza_accountant::pld::{Accountant, Direction};
use organza_accountant::{group, normal};
use organza_ledger::{AccountError, Event, Neighbouring};
use proptest::prelude::*;

fn account(event: &Event, records: u64) -> Accountant {
    Accountant::new(Neighbouring::AddRemove).group(records).compose(event).unwrap()
}

fn epsilon(event: &Event, records: u64, delta: f64) -> f64 {
    account(event, records).epsilon(delta).unwrap().epsilon
}

fn delta(event: &Event, records: u64, epsilon: f64) -> f64 {
    account(event, records).delta(epsilon).unwrap().delta
}

fn binomial(records: i32, rate: f64) -> Vec<f64> {
    let choices = |joined: i32| {
        (1..=joined).map(|i| f64::from(records - i + 1) / f64::from(i)).product::<f64>()
    };
    (0..=records)
        .map(|joined| choices(joined) * rate.powi(joined) * (1.0 - rate).powi(records - joined))
        .collect()
}

/// The integral of (p - e^`epsilon` q)+ for p the mixture of `density` moved by 0, 1, 2, ..., q
/// the density itself, and of that with p and q exchanged, by the plain midpoint rule.
fn quadrature(weights: &[f64], epsilon: f64, reach: f64, density: impl Fn(f64) -> f64) -> [f64; 2] {
    let points = 400_000;
    let (start, end) = (-reach, reach + weights.len() as f64 - 1.0);
    let width = (end - start) / f64::from(points);
    let mut sums = [0.0, 0.0];
    for index in 0..points {
        let at = start + (f64::from(index) + 0.5) * width;
        let without = density(at);
        let with: f64 = weights
            .iter()
            .enumerate()
            .map(|(joined, weight)| weight * density(at - joined as f64))
            .sum();
        sums[0] += (with - epsilon.exp() * without).max(0.0) * width;
        sums[1] += (without - epsilon.exp() * with).max(0.0) * width;
    }
    sums
}

#[test]
fn one_step_is_its_quadrature_and_a_mixture_of_too_few_is_caught() {
    for (multiplier, rate, records) in
        [(1.0, 0.01, 5), (0.5, 1e-3, 3), (2.0, 0.2, 12), (4.0, 0.5, 8), (0.8, 0.9, 3)]
    {
        let step = gaussian(multiplier).poisson(rate);
        let weights = binomial(records, rate);
        let mut caught = false;
        for at in [0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0] {
            let scaled = |x: f64| normal::density(x / multiplier) / multiplier;
            let truth = quadrature(&weights, at, 12.0 * multiplier, scaled);
            let truth = truth[0].max(truth[1]);
            let claim = delta(&step, records as u64, at);
            assert!(claim >= truth * (1.0 - 1e-7), "{multiplier} {rate} {at}: {claim} {truth}");
            assert!(claim <= truth * 1.001 + 1e-12, "{multiplier} {rate} {at}: {claim} {truth}");
            // The broken twin: someone joins as often, but never two at once.
            let alone = gaussian(multiplier).poisson(1.0 - weights[0]);
            caught |= delta(&alone, 1, at) < truth * (1.0 - 1e-3);
        }
        assert!(caught, "{multiplier} {rate} {records}");
    }
}

#[test]
fn no_vectors_pass_the_claim_and_half_the_norm_is_caught() {
    // Two records whose moves are any vectors of the plane: one alone by up to 1, both by up to 2.
    let (rate, multiplier) = (0.4_f64, 1.1_f64);
    let step = gaussian(multiplier).poisson(rate);
    let half = gaussian(2.0 * multiplier).poisson(rate);
    let weights = [(1.0 - rate).powi(2), rate * (1.0 - rate), rate * (1.0 - rate), rate * rate];
    let (mut caught, mut closest) = (false, 0.0_f64);
    for at in [0.0, 0.3, 1.0, 2.0] {
        let (claim, twin) = (delta(&step, 2, at), delta(&half, 2, at));
        for turn in 0..12 {
            let angle = f64::from(turn) * 0.55;
            let (short, long) = (1.0 - 0.2 * f64::from(turn % 3), 2.0 - 0.5 * f64::from(turn % 2));
            let moves = [
                (0.0, 0.0),
                (1.0, 0.0),
                (short * angle.cos(), short * angle.sin()),
                (long * (0.5 * angle).cos(), long * (0.5 * angle).sin()),
            ];
            let width = 0.05;
            let mut sums = [0.0, 0.0];
            for cell in 0..400 * 400 {
                let place = |index: i32| (f64::from(index) - 199.5) * width;
                let (x, y) = (place(cell % 400), place(cell / 400));
                let law = |(a, b): (f64, f64)| {
                    let square = ((x - a).powi(2) + (y - b).powi(2)) / multiplier.powi(2);
                    (-0.5 * square).exp() / (multiplier.powi(2) * std::f64::consts::TAU)
                };
                let without = law(moves[0]);
                let with: f64 =
                    weights.iter().zip(moves).map(|(weight, moved)| weight * law(moved)).sum();
                sums[0] += (with - at.exp() * without).max(0.0) * width * width;
                sums[1] += (without - at.exp() * with).max(0.0) * width * width;
            }
            let truth = sums[0].max(sums[1]);
            assert!(claim >= truth * (1.0 - 1e-3), "{at} {moves:?}: {claim} {truth}");
            closest = closest.max(truth / claim);
            caught |= twin < truth * (1.0 - 1e-3);
        }
    }
    assert!(caught && closest > 0.99, "{caught} {closest}");
}

#[test]
fn everyone_in_the_batch_is_a_gaussian_moved_as_far() {
    for records in [2, 10, 1000] {
        let moved = gaussian(30.0 / records as f64).repeat(4);
        let all = epsilon(&gaussian(30.0).poisson(1.0).repeat(4), records, 1e-6);
        assert!((all / epsilon(&moved, 1, 1e-6) - 1.0).abs() < 1e-9, "{records}");
    }
    // And a mixture in which nearly all join is nearly that.
    let nearly = epsilon(&gaussian(30.0).poisson(1.0 - 1e-9).repeat(4), 10, 1e-6);
    let whole = epsilon(&gaussian(3.0).repeat(4), 1, 1e-6);
    assert!((nearly / whole - 1.0).abs() < 1e-4, "{nearly} {whole}");
    let nothing = gaussian(1.0).poisson(0.1).repeat(10);
    assert_eq!(epsilon(&nothing, 0, 1e-6), 0.0);
    assert_eq!(epsilon(&gaussian(1.0).poisson(0.0).repeat(10), 7, 1e-6), 0.0);
}

/// Epsilons by the pessimistic mixture-of-Gaussians loss of dp_accounting 0.6.0
/// (`privacy_loss_distribution.from_mixture_gaussian_mechanism`, connect-the-dots, composed by
/// `self_compose`), whose own grid is the last number but one.
#[test]
fn another_accountant_agrees() {
    for (rate, multiplier, steps, records, delta, grid, theirs) in [
        (0.05, 4.0, 1, 8, 1e-6, 1e-4, 0.675_185_681),
        (0.3, 5.0, 10, 3, 1e-6, 1e-4, 2.897_454_192),
        (0.01, 2.0, 1000, 10, 1e-6, 1e-3, 9.370_696_068),
        (0.1, 20.0, 100, 50, 1e-6, 2e-4, 14.643_610_025),
        (1e-3, 1.0, 2000, 4, 1e-5, 1e-3, 0.957_440_475),
    ] {
        let ours = epsilon(&gaussian(multiplier).poisson(rate).repeat(steps), records, delta);
        let off = ours / theirs - 1.0;
        // Ours may be below theirs by what their grid adds, and above by our own precision.
        assert!(off < 1e-4 && off > -3.0 * grid, "{rate} {multiplier} {records}: {ours} {theirs}");
    }
}

#[test]
fn the_worse_direction_is_named() {
    let run = gaussian(1.0).poisson(1e-3).repeat(2000);
    assert_eq!(account(&run, 4).epsilon(1e-5).unwrap().direction, Direction::Remove);
}

#[test]
fn what_groups_are_not_priced_for_is_refused() {
    let run = gaussian(1.0).poisson(1e-3).repeat(10);
    let replaced = Accountant::new(Neighbouring::ReplaceOne).group(2).compose(&run).unwrap();
    assert!(matches!(replaced.epsilon(1e-5), Err(AccountError::OutOfRange(_))));
    assert!(account(&run, 1_000_000).epsilon(1e-5).is_err());
    let fixed = Event::Cluster { groups: 5, event: Box::new(gaussian(1.0)) };
    assert!(matches!(account(&fixed, 2).epsilon(1e-5), Err(AccountError::Unsupported { .. })));
    assert!(account(&fixed, 1).epsilon(1e-5).is_ok());
}

#[test]
fn below_the_divergences_at_ordinary_settings() {
    for (rate, multiplier, steps, records) in
        [(1e-3, 1.0, 2000, 2), (1e-3, 1.0, 2000, 5), (0.01, 2.0, 1000, 10), (0.3, 5.0, 10, 3)]
    {
        let ours = epsilon(&gaussian(multiplier).poisson(rate).repeat(steps), records, 1e-6);
        let theirs = group::sampled_gaussian(rate, multiplier, steps, records, 1e-6).unwrap();
        assert!(ours < theirs, "{rate} {multiplier} {records}: {ours} {theirs}");
    }
}

#[test]
fn large_groups_are_answered_or_refused() {
    for multiplier in [0.3, 3.0, 100.0] {
        for rate in [1e-6, 1e-3, 0.5, 0.999] {
            for steps in [1, 1_000_000] {
                for records in [2, 1000] {
                    let run = gaussian(multiplier).poisson(rate).repeat(steps);
                    match account(&run, records).epsilon(1e-6) {
                        Ok(found) => {
                            let one = epsilon(&run, 1, 1e-6);
                            assert!(found.epsilon >= one * (1.0 - 1e-4), "{found:?} {one} {run:?}");
                        }
                        Err(refusal) => {
                            assert!(refusal.to_string().contains("no epsilon"), "{refusal}");
                            assert!(multiplier == 0.3 || records == 1000, "{run:?} {records}");
                        }
                    }
                }
            }
        }
    }
}

/// What `docs/concepts/accounting.md` prints, rounded up.
#[test]
fn the_published_run() {
    for (multiplier, figures) in [
        (0.5, [(1, 2.418), (2, 4.109), (5, 9.325), (10, 19.46), (100, 414.7)]),
        (1.0, [(1, 0.1920), (2, 0.4086), (5, 1.114), (10, 2.404), (100, 41.71)]),
    ] {
        for (records, printed) in figures {
            let run = gaussian(multiplier).poisson(1e-4).repeat(200_000);
            let found = epsilon(&run, records, 1e-5);
            assert!(found <= printed && found > printed * (1.0 - 1e-3), "{records}: {found}");
        }
    }
}

#[test]
fn noise_next_to_nothing_tells_who_joined() {
    for multiplier in [0.05, 1e-3, 1e-6, 1e-300] {
        for (rate, records) in [(1e-6, 3), (1e-3, 1000), (0.999, 2)] {
            let someone = -f64::exp_m1(records as f64 * f64::ln_1p(-rate));
            let step = gaussian(multiplier).poisson(rate);
            let claim = delta(&step, records, 1.0);
            assert!((claim / someone - 1.0).abs() < 1e-6, "{multiplier} {rate}: {claim} {someone}");
            if someone < 0.1 {
                assert_eq!(epsilon(&step, records, 0.2), 0.0);
            }
        }
    }
}

fn laplace(noise_multiplier: f64) -> Event {
    Event::Laplace { noise_multiplier }
}

#[test]
fn one_step_of_laplace_noise_is_its_quadrature_and_one_at_a_time_is_caught() {
    for (multiplier, rate, records) in [(1.0, 0.01, 3), (2.0, 0.3, 5), (5.0, 0.1, 9)] {
        let step = laplace(multiplier).poisson(rate);
        let weights = binomial(records, rate);
        let mut caught = false;
        for at in [0.0, 0.03, 0.1, 0.3, 1.0] {
            let density = |x: f64| (-x.abs() / multiplier).exp() / (2.0 * multiplier);
            let truth = quadrature(&weights, at, 40.0 * multiplier, density);
            let truth = truth[0].max(truth[1]);
            let claim = delta(&step, records as u64, at);
            assert!(claim >= truth * (1.0 - 1e-4), "{multiplier} {rate} {at}: {claim} {truth}");
            // Ratios that rise together are what a Laplace law has, but for its sign near zero.
            assert!(claim <= truth * 1.05 + 1e-9, "{multiplier} {rate} {at}: {claim} {truth}");
            let alone = laplace(multiplier).poisson(1.0 - weights[0]);
            caught |= delta(&alone, 1, at) < truth * (1.0 - 1e-3);
        }
        assert!(caught, "{multiplier} {rate} {records}");
    }
}

#[test]
fn randomised_responses_of_a_group_are_their_enumeration() {
    // With j of two joined the ratio is e^j or e^-j; all rise and fall together.
    let (rate, one) = (0.2_f64, 0.7_f64);
    let step = Event::Pure { epsilon: one }.poisson(rate);
    let weights = binomial(2, rate);
    // Under Q the ratio e^(j one) has probability 1 / (1 + e^(j one)): less for two than for one.
    let chance = |size: f64| 1.0 / (1.0 + size.exp());
    let ratio =
        |first: f64, second: f64| weights[0] + weights[1] * first.exp() + weights[2] * second.exp();
    let outcomes = [
        (chance(2.0 * one), ratio(one, 2.0 * one)),
        (chance(one) - chance(2.0 * one), ratio(one, -2.0 * one)),
        (1.0 - chance(one), ratio(-one, -2.0 * one)),
    ];
    for at in [0.0_f64, 0.05, 0.1, 0.2, 0.4] {
        let remove: f64 = outcomes.iter().map(|(q, r)| q * (r - at.exp()).max(0.0)).sum();
        let add: f64 = outcomes.iter().map(|(q, r)| q * (1.0 - at.exp() * r).max(0.0)).sum();
        let claim = delta(&step, 2, at);
        assert!((claim - remove.max(add)).abs() < 1e-9, "{at}: {claim} {remove} {add}");
    }
}

#[test]
fn steps_that_do_more_than_add_noise() {
    // What costs nothing beside the noise leaves the mixture, by the other way.
    let noise = gaussian(0.9);
    let beside = Event::Compose(vec![Event::Pure { epsilon: 1e-9 }, noise.clone()]);
    for records in [2, 5] {
        let run = |step: Event| step.poisson(0.01).repeat(300);
        let plain = epsilon(&run(noise.clone()), records, 1e-6);
        let other = epsilon(&run(beside.clone()), records, 1e-6);
        assert!((other / plain - 1.0).abs() < 2e-3, "{records}: {other} {plain}");
    }
    // A mask, a draw and noise: more for two, and no more than the rule for everything allows.
    let mask = Event::UniformMask { share: 0.01, event: Box::new(gaussian(0.5)) };
    let draws =
        Event::Exponential { epsilon: 0.1, draws: 5, candidates: None, cap: None, l2: None };
    let both = Event::Compose(vec![draws, gaussian(0.8)]);
    for step in [mask, both, laplace(3.0), Event::Approximate { epsilon: 0.2, delta: 1e-9 }] {
        let run = step.poisson(1e-3).repeat(1000);
        let two = epsilon(&run, 2, 1e-5);
        assert!(two > 1.2 * epsilon(&run, 1, 1e-5), "{run:?}: {two}");
        let (rule, chance) = group::guarantee(epsilon(&run, 1, 1e-6), 1e-6, 2);
        assert!(chance < 1e-5 && two < rule, "{run:?}: {two} {rule} {chance}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn more_records_cost_more(
        log_rate in -6.0..-0.1_f64,
        multiplier in 0.5..20.0_f64,
        steps in 1_u64..5000,
        records in 1_u64..40,
        more in 1_u64..10,
    ) {
        let run = gaussian(multiplier).poisson(10_f64.powf(log_rate)).repeat(steps);
        let few = account(&run, records).delta(1.0).unwrap().delta;
        let many = account(&run, records + more).delta(1.0).unwrap().delta;
        prop_assert!(many >= few * (1.0 - 1e-3) - 1e-18, "{} {}", many, few);
    }
}
