//! The Renyi moment of capped selection with noise on what it selected, against exact enumeration
//! over all ordered selections of small cases.
#![allow(clippy::unwrap_used)]

use organza_accountant::rdp::Accountant;
use organza_ledger::{Event, Neighbouring};
use proptest::prelude::*;

/// One small case: vectors without and with the unit, and the mechanism on them.
#[derive(Clone, Debug)]
struct Case {
    without: Vec<f64>,
    change: Vec<f64>,
    draws: usize,
    weight: f64,
    cap: f64,
    multiplier: f64,
    /// What a second clip leaves of the change; the multiplier is relative to that.
    kept: f64,
}

impl Case {
    fn l2(&self) -> f64 {
        self.change.iter().map(|value| value * value).sum::<f64>().sqrt()
    }

    /// E_Q r^order, exactly: the Gaussian part has a closed form given the selection.
    fn moment(&self, order: f64) -> f64 {
        let score = |value: f64| (self.weight * value.abs().min(self.cap)).exp();
        let without: Vec<f64> = self.without.iter().map(|value| score(*value)).collect();
        let with: Vec<f64> =
            self.without.iter().zip(&self.change).map(|(old, new)| score(old + new)).collect();
        let l2 = self.l2();
        let hidden: Vec<f64> = self.change.iter().map(|value| (value / l2).powi(2)).collect();
        let mut total = 0.0;
        let mut pending = vec![(Vec::new(), 1.0, 1.0, 0.0)];
        while let Some((chosen, p, q, seen)) = pending.pop() {
            if chosen.len() == self.draws {
                let seen = (seen / self.kept.powi(2)).min(1.0);
                let noise = 0.5 * order * (order - 1.0) * seen / self.multiplier.powi(2);
                total += f64::powf(p / q, order) * q * noise.exp();
                continue;
            }
            let left: Vec<usize> =
                (0..with.len()).filter(|index| !chosen.contains(index)).collect();
            let all_with: f64 = left.iter().map(|index| with[*index]).sum();
            let all_without: f64 = left.iter().map(|index| without[*index]).sum();
            for index in left {
                let mut next = chosen.clone();
                next.push(index);
                pending.push((
                    next,
                    p * with[index] / all_with,
                    q * without[index] / all_without,
                    seen + hidden[index],
                ));
            }
        }
        total
    }

    fn event(&self, joint: bool) -> Event {
        let l2 = self.l2();
        let selection = Event::Exponential {
            epsilon: self.weight * (2.0 * self.cap).min(2.0_f64.sqrt() * l2),
            draws: self.draws as u64,
            candidates: Some(self.without.len() as u64),
            cap: Some(self.cap),
            l2: Some(l2),
        };
        let noise = Event::Gaussian { noise_multiplier: self.multiplier };
        if !joint {
            return Event::Compose(vec![selection, noise]);
        }
        let sensitivity = Some(self.kept * l2);
        Event::Selected { by: Box::new(selection), sensitivity, noise: Box::new(noise) }
    }

    fn bound(&self, order: f64, joint: bool) -> f64 {
        let account = Accountant::new(Neighbouring::AddRemove).compose(&self.event(joint)).unwrap();
        (order - 1.0) * account.divergence(order).unwrap()
    }
}

fn case() -> impl Strategy<Value = Case> {
    let kept = prop_oneof![Just(1.0), 0.1_f64..1.0];
    (2_usize..7, 1_usize..4, 0.01_f64..4.0, 0.05_f64..3.0, 0.3_f64..10.0, kept).prop_flat_map(
        |(candidates, draws, weight, cap, multiplier, kept)| {
            let draws = draws.min(candidates);
            let vector = || proptest::collection::vec(-2.0_f64..2.0, candidates);
            (vector(), vector()).prop_map(move |(without, change)| Case {
                without,
                change,
                draws,
                weight,
                cap,
                multiplier,
                kept,
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn never_below_enumeration(case in case(), order in 1.05_f64..12.0) {
        prop_assume!(case.l2() > 1e-3);
        let exact = case.moment(order).ln();
        let joint = case.bound(order, true);
        prop_assert!(joint >= exact * (1.0 - 1e-9) - 1e-12, "{exact} {joint}");
        // Noise on everything costs at least as much as noise on what was selected.
        prop_assert!(case.bound(order, false) >= joint * (1.0 - 1e-12));
    }
}

#[test]
fn the_worst_small_case_is_near_the_bound_and_a_weaker_claim_breaks() {
    // All weight of the change on one of many candidates: the hit is rare, and then all is seen.
    let candidates = 40;
    let mut change = vec![0.0; candidates];
    change[0] = 1.0;
    let case = Case {
        without: vec![0.0; candidates],
        change,
        draws: 2,
        weight: 0.05,
        cap: 1.0,
        multiplier: 0.7,
        kept: 1.0,
    };
    let exact = case.moment(2.0).ln();
    let bound = case.bound(2.0, true);
    assert!(exact <= bound && bound < 1.3 * exact, "{exact} {bound}");
    assert!(bound < 0.3 * case.bound(2.0, false));
    // The broken twins: a mask counted as uniform among the candidates, and a selection for free.
    let noise = (1.0_f64 / 0.7_f64.powi(2)).exp() - 1.0;
    let uniform = (2.0 / 40.0 * noise).ln_1p();
    assert!(uniform < exact);
    assert!(case.bound(2.0, true) > uniform);
}

#[test]
fn limits_hold() {
    let selection = |draws, candidates, epsilon| Event::Exponential {
        epsilon,
        draws,
        candidates: Some(candidates),
        cap: Some(0.1),
        l2: Some(0.75),
    };
    let divergence = |event: &Event| {
        let account = Accountant::new(Neighbouring::AddRemove).compose(event).unwrap();
        account.divergence(3.0).unwrap()
    };
    let noise = |noise_multiplier| Event::Gaussian { noise_multiplier };
    let joint = |draws, candidates, epsilon, multiplier| {
        divergence(&Event::Selected {
            by: Box::new(selection(draws, candidates, epsilon)),
            sensitivity: None,
            noise: Box::new(noise(multiplier)),
        })
    };
    // No weight: a uniform mask, with k / (p - k + 1) for k / p.
    let share = 100.0 / 99_901.0;
    let uniform = (share * (3.0_f64 / 0.25).exp_m1()).ln_1p() / 2.0;
    assert!((joint(100, 100_000, 0.0, 0.5) / uniform - 1.0).abs() < 1e-9);
    // Much noise: the selection alone.
    let alone = divergence(&selection(100, 100_000, 0.28));
    assert!((joint(100, 100_000, 0.28, 1e7) / alone - 1.0).abs() < 1e-6);
    // Everything selected: all of the noise is seen.
    assert!(joint(4, 4, 1e-9, 0.5) >= 6.0 * (1.0 - 1e-9));
    assert_eq!(joint(0, 4, 0.5, 0.5), 0.0);
    // More draws, a larger range or fewer candidates cost more.
    let here = joint(10, 1000, 0.2, 0.8);
    assert!(joint(11, 1000, 0.2, 0.8) > here);
    assert!(joint(10, 1000, 0.21, 0.8) > here);
    assert!(joint(10, 900, 0.2, 0.8) > here);
    assert!(joint(10, 1000, 0.2, 0.79) > here);
}
