//! Loss distributions for a person with several records.
#![allow(clippy::unwrap_used)]

use organza_accountant::pld::{Accountant, Direction};
use organza_accountant::{group, normal};
use organza_ledger::{AccountError, Event, Neighbouring};
use proptest::prelude::*;

fn gaussian(noise_multiplier: f64) -> Event {
    Event::Gaussian { noise_multiplier }
}

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

/// Both directions of the mixture, which have no closed form.
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
#[test]
fn explore() {
    for (q, s, t, m) in [(1.0-1e-9,30.0,4,10),(1.0-1e-9,30.0,1,10),(1.0-1e-12,30.0,4,10),(0.5,10.0,4,4)] {
      for p in [1e-3,5e-5,1e-6] {
        let run = gaussian(s).poisson(q).repeat(t);
        let start = std::time::Instant::now();
        let a = account(&run, m).precision(p).epsilon(1e-6).unwrap();
        println!("{q} {s} {t} {m} {p}: {} {:?} {:.3}", a.epsilon, a.direction, start.elapsed().as_secs_f64());
      }
    }
}
