//! Guarantees for a person with several records.
#![allow(clippy::unwrap_used)]

use organza_accountant::rdp::{Accountant, group_divergence, sampled};
use organza_accountant::{group, normal};
use organza_ledger::{Event, Neighbouring};

#[test]
fn the_general_rule_is_its_sum() {
    let (epsilon, delta) = group::guarantee(0.5, 1e-6, 4);
    assert_eq!(epsilon, 2.0);
    let sum: f64 = (0..4).map(|index| 1e-6 * (0.5 * f64::from(index)).exp()).sum();
    assert!((delta / sum - 1.0).abs() < 1e-12);
    assert_eq!(group::guarantee(0.5, 1e-6, 1), (0.5, 1e-6));
    assert_eq!(group::guarantee(0.5, 1e-6, 0), (0.0, 0.0));
    assert_eq!(group::guarantee(0.0, 1e-6, 3).1, 3e-6_f64.ln().exp());
    let (epsilon, delta) = group::guarantee(500.0, 1e-6, 1000);
    assert!(epsilon == 5e5 && delta == 1.0);
    assert_eq!(group::guarantee(500.0, 0.0, 1000).1, 0.0);
}

#[test]
fn the_general_rule_holds_for_a_gaussian() {
    // g records move a Gaussian by g: exactly known, and never above the rule.
    let one = |delta: f64| {
        let event = Event::Gaussian { noise_multiplier: 3.0 };
        Accountant::new(Neighbouring::AddRemove).compose(&event)?.epsilon(delta)
    };
    for records in [1, 2, 5] {
        let epsilon = group::epsilon(one, records, 1e-5).unwrap();
        assert!(normal::hockey_stick(epsilon.exp(), records as f64 / 3.0) <= 1e-5);
    }
    assert_eq!(group::epsilon(one, 0, 1e-5).unwrap(), 0.0);
}

/// E over z of (sum of Binomial(g, q) ratios)^power, by the plain trapezoid rule.
fn slow_moment(rate: f64, multiplier: f64, records: i32, power: f64) -> f64 {
    let choices = |joined: i32| {
        (1..=joined).map(|i| f64::from(records - i + 1) / f64::from(i)).product::<f64>()
    };
    let reach = 12.0 + power.abs() * f64::from(records) / multiplier;
    let points = 200_000;
    let width = 2.0 * reach / f64::from(points);
    let sum: f64 = (0..=points)
        .map(|index| {
            let z = -reach + f64::from(index) * width;
            let ratio: f64 = (0..=records)
                .map(|joined| {
                    let moved = f64::from(joined) / multiplier;
                    choices(joined)
                        * rate.powi(joined)
                        * (1.0 - rate).powi(records - joined)
                        * (moved * z - 0.5 * moved * moved).exp()
                })
                .sum();
            ratio.powf(power) * (-0.5 * z * z).exp()
        })
        .sum();
    sum * width / (2.0 * std::f64::consts::PI).sqrt()
}

#[test]
fn a_group_on_a_batch_matches_slow_quadrature() {
    for (rate, multiplier, records) in [(0.1, 2.0, 3), (0.02, 1.0, 2), (0.3, 4.0, 6)] {
        for order in [2_u32, 3, 6] {
            let ours = group_divergence(order, rate, multiplier, records as u64).unwrap();
            let above_one = f64::from(order) - 1.0;
            let remove = slow_moment(rate, multiplier, records, f64::from(order)).ln() / above_one;
            let add = slow_moment(rate, multiplier, records, -above_one).ln() / above_one;
            assert!(ours >= remove.max(add) * (1.0 - 1e-9), "{ours} {remove} {add}");
            assert!(ours <= 1.3 * remove.max(add), "{ours} {remove} {add}");
        }
    }
}

#[test]
fn groups_have_their_limits() {
    for (rate, multiplier) in [(1e-4, 0.5), (0.1, 2.0)] {
        for order in [2_u32, 4, 9] {
            let one = sampled::gaussian(f64::from(order), rate, multiplier).unwrap();
            let ours = group_divergence(order, rate, multiplier, 1).unwrap();
            assert!(ours >= one * (1.0 - 1e-9) && ours <= 1.1 * one, "{ours} {one}");
            let two = group_divergence(order, rate, multiplier, 2).unwrap();
            // Correlated steps cost more than twice, and no more than one shift by 2.
            assert!(two > 2.0 * one && two <= 0.5 * f64::from(order) * 4.0 / multiplier.powi(2));
        }
    }
    // Everyone joins: one Gaussian that moved by g.
    assert!(
        (group_divergence(3, 1.0, 2.0, 5).unwrap() / (0.5 * 3.0 * 25.0 / 4.0) - 1.0).abs() < 1e-12
    );
    assert_eq!(group_divergence(3, 0.0, 2.0, 5).unwrap(), 0.0);
    assert!(group_divergence(1, 0.1, 2.0, 5).is_err());
    assert!(group_divergence(2, 0.1, 2.0, 2000).is_err());
    assert!(group_divergence(2, 0.1, -2.0, 2).is_err());
    assert!(group_divergence(40, 0.999, 0.05, 1000).unwrap().is_finite());
}

#[test]
fn the_batch_hides_a_person_better_than_the_general_rule_knows() {
    let run = Event::Gaussian { noise_multiplier: 1.0 }.poisson(1e-3).repeat(2000);
    let account = Accountant::new(Neighbouring::AddRemove).compose(&run).unwrap();
    let mut last = 0.0;
    for records in [1, 2, 4] {
        let ours = group::sampled_gaussian(1e-3, 1.0, 2000, records, 1e-5).unwrap();
        let general = group::epsilon(|delta| account.epsilon(delta), records, 1e-5).unwrap();
        assert!(ours > last, "{ours} {last}");
        assert!(ours <= general * 1.02, "{records}: {ours} {general}");
        last = ours;
    }
    let one = account.epsilon(1e-5).unwrap();
    let ours = group::sampled_gaussian(1e-3, 1.0, 2000, 1, 1e-5).unwrap();
    assert!(ours >= one * (1.0 - 1e-6) && ours < 1.05 * one);
    assert!(group::sampled_gaussian(1e-3, 1.0, 2000, 1, 0.0).is_err());
}
