//! What single kinds of events cost, against their parts and against direct sums and integrals.
#![allow(clippy::unwrap_used)]

use crate::gaussian;
use organza_accountant::rdp::Accountant;
use organza_ledger::{Event, MaxNoise, Neighbouring};
use proptest::prelude::*;

fn account(event: &Event) -> Accountant {
    Accountant::new(Neighbouring::AddRemove).compose(event).unwrap()
}

#[test]
fn events_are_what_they_are_made_of() {
    let same = |left: &Event, right: &Event| {
        for order in [1.3, 2.0, 11.5] {
            let (ours, theirs) = (
                account(left).divergence(order).unwrap(),
                account(right).divergence(order).unwrap(),
            );
            assert!((ours - theirs).abs() <= 1e-9 * theirs, "{left:?}: {ours} {theirs}");
        }
        assert!((account(left).lost() - account(right).lost()).abs() <= 1e-12);
    };
    let sparse = |refreshed, value_epsilon| Event::SparseVector {
        threshold_epsilon: 0.1,
        query_epsilon: 0.2,
        hits: 5,
        refreshed,
        value_epsilon,
    };
    let test = Event::Pure { epsilon: 0.1 + 0.2 };
    let value = Event::Laplace { noise_multiplier: 4.0 };
    same(&sparse(true, None), &test.clone().repeat(5));
    // One threshold: each hit spends a query's epsilon.
    let unrefreshed = Event::Pure { epsilon: 0.1 + 5.0 * 0.2 };
    same(&sparse(false, None), &unrefreshed);
    same(&sparse(true, Some(0.25)), &Event::Compose(vec![test.clone(), value.clone()]).repeat(5));
    same(&sparse(false, Some(0.25)), &Event::Compose(vec![unrefreshed, value.repeat(5)]));
    let best = |noise| Event::NoisyMax { epsilon: 0.3, draws: 7, noise };
    let draws = |draws| Event::Exponential {
        epsilon: 0.3,
        draws,
        candidates: None,
        cap: Some(1.0),
        l2: Some(1.0),
    };
    same(&best(MaxNoise::Gumbel), &draws(7));
    same(&best(MaxNoise::Gumbel), &draws(1).repeat(7));
    same(&best(MaxNoise::Laplace), &test.clone().repeat(7));
    same(&best(MaxNoise::Exponential), &test.repeat(7));
    let approximate = |delta| Event::Approximate { epsilon: 0.0, delta };
    let limited = Event::LimitedDomain { epsilon: 0.3, delta: 1e-4, draws: 7 };
    same(&limited, &Event::Compose(vec![draws(7), approximate(1e-4)]));
    same(&gaussian(2.0).repeat(4), &gaussian(1.0));
    // The mass of exceptions is what the batch or the group lets through.
    let lost = |event: Event| account(&event).lost();
    assert!((lost(approximate(1e-3)) / 1e-3 - 1.0).abs() < 1e-12);
    assert!((lost(approximate(1e-3).poisson(0.2)) / 2e-4 - 1.0).abs() < 1e-12);
    let cluster = Event::Cluster { groups: 10, event: Box::new(approximate(1e-3)) };
    assert!((lost(cluster.clone()) / 1e-4 - 1.0).abs() < 1e-12);
    let composed = 1.0 - (1.0 - 1e-4_f64).powi(50);
    assert!((lost(cluster.repeat(50)) / composed - 1.0).abs() < 1e-9);
    // Cluster: 1 - 1/m + e^((a-1) D) / m.
    let cluster = Event::Cluster { groups: 10, event: Box::new(gaussian(1.0)) };
    let ours = account(&cluster).divergence(3.0).unwrap();
    let moment: f64 = 0.9 + 0.1 * (0.5 * 3.0 * 2.0_f64).exp();
    assert!((ours / (0.5 * moment.ln()) - 1.0).abs() < 1e-9);
}

#[test]
fn discrete_laplace_is_not_laplace() {
    // At a sensitivity of one grid step, by summing over the integers: more than Laplace noise of
    // the same scale, so that pricing it as that would be wrong.
    let order = 3.0;
    let epsilon = 0.5_f64;
    let probability = |value: i32| {
        (1.0 - (-epsilon).exp()) / (1.0 + (-epsilon).exp())
            * (-epsilon * f64::from(value.abs())).exp()
    };
    let moment: f64 = (-200..=200)
        .map(|value| probability(value - 1).powf(order) * probability(value).powf(1.0 - order))
        .sum();
    let exact = moment.ln() / (order - 1.0);
    let divergence = |event: &Event| account(event).divergence(order).unwrap();
    let ours = divergence(&Event::DiscreteLaplace { noise_multiplier: 2.0 });
    assert!((ours / exact - 1.0).abs() < 1e-8, "{ours} {exact}");
    assert!(divergence(&Event::Laplace { noise_multiplier: 2.0 }) < 0.9 * exact);
}

#[test]
fn exceptions_on_a_batch_reach_the_exact_rule_too() {
    let step = |event| account(&Event::poisson(event, 0.6)).divergence(6.0).unwrap();
    let approximate = step(Event::Approximate { epsilon: 0.01, delta: 0.01 });
    assert!(approximate > 1.5 * step(Event::Pure { epsilon: 0.01 }));
}

/// The probability that Laplace noise of scale one lies below `value`.
fn laplace_below(value: f64) -> f64 {
    if value < 0.0 { 0.5 * value.exp() } else { 1.0 - 0.5 * (-value).exp() }
}

/// The probability of `low` answers below the threshold and then `hits` above it, with one noisy
/// threshold at zero for all.
fn one_threshold(threshold: f64, query: f64, low: (f64, i32), high: (f64, i32)) -> f64 {
    let points = 400_000;
    let reach = 60.0 / threshold;
    let width = 2.0 * reach / f64::from(points);
    (0..points)
        .map(|index| -reach + (f64::from(index) + 0.5) * width)
        .map(|bar| {
            let below = laplace_below((bar - low.0) * query / 2.0).powi(low.1);
            let above = (1.0 - laplace_below((bar - high.0) * query / 2.0)).powi(high.1);
            0.5 * threshold * (-threshold * bar.abs()).exp() * below * above * width
        })
        .sum()
}

#[test]
fn one_threshold_spends_a_query_for_each_hit() {
    let (threshold, query, hits) = (0.1, 0.2, 5);
    let without = one_threshold(threshold, query, (0.0, 10_000), (-50.0, hits));
    let with = one_threshold(threshold, query, (1.0, 10_000), (-51.0, hits));
    let loss = (without / with).ln();
    let event = Event::SparseVector {
        threshold_epsilon: threshold,
        query_epsilon: query,
        hits: hits as u64,
        refreshed: false,
        value_epsilon: None,
    };
    // The divergence of a high order is just below the largest loss, which this case attains.
    let ours = account(&event).divergence(1e7).unwrap();
    assert!(loss <= ours * (1.0 + 1e-6), "{loss} {ours}");
    // The broken twin, one query for all hits, would not cover it.
    assert!(loss > 3.0 * (threshold + query), "{loss}");
}

/// Numbers from the ends of the floats as well as from the middle.
fn any_positive() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-3.0_f64..3.0).prop_map(|power| 10f64.powf(power)),
        (-308.0_f64..308.0).prop_map(|power| 10f64.powf(power)),
        Just(f64::MIN_POSITIVE),
        Just(f64::MAX),
    ]
}

fn any_count() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..5, 0_u64..1_000_000, Just(u64::MAX)]
}

fn any_rate() -> impl Strategy<Value = f64> {
    prop_oneof![
        0.0_f64..=1.0,
        (-320.0_f64..0.0).prop_map(|power| 10f64.powf(power)),
        Just(1.0 - f64::EPSILON),
        Just(1.0),
    ]
}

fn any_event() -> impl Strategy<Value = Event> {
    let leaf = (0_u8..13, any_positive(), any_positive(), any_count(), any_rate()).prop_map(
        |(kind, first, second, count, share)| {
            let delta = share * 0.99;
            let (noise_multiplier, epsilon) = (first, first);
            let capped = count.is_multiple_of(2);
            let draws = if capped { count.min(1000) } else { count };
            match kind {
                0 => Event::Gaussian { noise_multiplier },
                1 => Event::RoundedGaussian { noise_multiplier },
                2 => Event::DiscreteGaussian { noise_multiplier },
                3 => Event::Laplace { noise_multiplier },
                4 => Event::DiscreteLaplace { noise_multiplier },
                5 => Event::Pure { epsilon },
                6 => Event::Approximate { epsilon, delta },
                7 => Event::Exponential {
                    epsilon,
                    draws,
                    candidates: capped.then_some(1000),
                    cap: Some(second),
                    l2: Some(second),
                },
                12 => Event::Selected {
                    by: Box::new(Event::Exponential {
                        epsilon,
                        draws: count.min(1000),
                        candidates: Some(1000),
                        cap: Some(second),
                        l2: Some(second),
                    }),
                    sensitivity: Some(second * share).filter(|small| *small > 0.0),
                    noise: Box::new(gaussian(noise_multiplier)),
                },
                8 => Event::UniformMask { share, event: Box::new(gaussian(noise_multiplier)) },
                9 => Event::SparseVector {
                    threshold_epsilon: first,
                    query_epsilon: second,
                    hits: count,
                    refreshed: capped,
                    value_epsilon: Some(second),
                },
                10 => Event::NoisyMax { epsilon, draws: count, noise: MaxNoise::Laplace },
                _ => Event::LimitedDomain { epsilon, delta, draws: count },
            }
        },
    );
    (proptest::collection::vec(leaf, 1..4), any_rate(), any_count(), any_count()).prop_map(
        |(parts, rate, groups, times)| {
            let step = Event::Compose(parts).poisson(rate);
            if groups.is_multiple_of(3) {
                let groups = groups.max(1);
                return Event::Cluster { groups, event: Box::new(step) }.repeat(times);
            }
            if groups % 3 == 1 {
                return Event::Compose(vec![Event::Added { epsilon: rate }, step.repeat(times)]);
            }
            step.repeat(times)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn hostile_events_answer_or_refuse(event in any_event(), log_delta in -300.0_f64..-0.01) {
        let delta = 10f64.powf(log_delta);
        for relation in [Neighbouring::AddRemove, Neighbouring::ReplaceOne] {
            let account = Accountant::new(relation).compose(&event).unwrap();
            if let Ok(epsilon) = account.epsilon(delta) {
                prop_assert!(epsilon.is_finite() && epsilon >= 0.0, "{}", epsilon);
            }
            let delta = account.delta(1.0).unwrap();
            prop_assert!((0.0..=1.0).contains(&delta), "{}", delta);
        }
    }
}
