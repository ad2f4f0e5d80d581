//! Extreme questions are answered or refused with a reason, quickly, and never with nonsense.
#![allow(clippy::unwrap_used)]

use organza_accountant::pld::Accountant;
use organza_ledger::{Account, AccountError, Event, MaxNoise, Neighbouring};
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// Far longer than any question takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn account(event: &Event) -> Result<Accountant, AccountError> {
    Accountant::new(Neighbouring::AddRemove).compose(event)
}

fn ask(event: &Event, delta: f64) -> Result<f64, AccountError> {
    account(event)?.epsilon(delta).map(|answer| answer.epsilon)
}

#[test]
fn sampled_gaussians_of_every_size() {
    for sigma in [0.05, 1.0, 1e4] {
        for rate in [1e-9, 1e-3, 0.9] {
            for steps in [3, 5000, 1_000_000_000] {
                let mut before = f64::INFINITY;
                for delta in [1e-15, 1e-6, 0.5] {
                    let step = Event::Gaussian { noise_multiplier: sigma }.poisson(rate);
                    let start = Instant::now();
                    let one = ask(&step, delta).unwrap();
                    let all = ask(&step.repeat(steps), delta).unwrap();
                    let case = format!("{sigma} {rate} {steps} {delta}: {all}, one step {one}");
                    assert!(start.elapsed() < PATIENCE, "{case}");
                    assert!(all >= 0.0 && all.is_finite(), "{case}");
                    assert!(all >= one * (1.0 - 1e-9), "{case}");
                    assert!(all <= before * (1.0 + 1e-3), "{case} before {before}");
                    before = all;
                }
            }
        }
    }
}

#[test]
fn epsilon_beyond_five_hundred_and_next_to_nothing() {
    let loud = Event::Gaussian { noise_multiplier: 0.05 }.poisson(0.5).repeat(20);
    let epsilon = ask(&loud, 1e-6).unwrap();
    // Half of twenty uses at least, each of mean loss 200.
    assert!(epsilon > 500.0 && epsilon < 20.0 * 400.0, "{epsilon}");
    let faint = Event::Gaussian { noise_multiplier: 1e4 }.poisson(1e-9).repeat(1000);
    assert_eq!(ask(&faint, 1e-6).unwrap(), 0.0);
    assert!(account(&faint).unwrap().delta(0.0).unwrap().delta < 1e-11);
    let nothing = Event::Compose(vec![]);
    assert_eq!(ask(&nothing, 1e-6).unwrap(), 0.0);
    assert_eq!(ask(&loud.clone().repeat(0), 1e-6).unwrap(), 0.0);
    assert_eq!(ask(&loud.poisson(0.0), 1e-6).unwrap(), 0.0);
}

#[test]
fn what_cannot_be_priced_is_refused_by_name() {
    let refused = ask(&Event::DiscreteGaussian { noise_multiplier: 3.0 }.repeat(4), 1e-6);
    let Err(AccountError::Unsupported { kind, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(kind, "discrete_gaussian");
    assert!(!Accountant::supports(&Event::DiscreteGaussian { noise_multiplier: 3.0 }));
    assert!(Accountant::supports(&Event::Pure { epsilon: 1.0 }));

    let pure = Event::Pure { epsilon: 0.1 };
    for delta in [0.0, 1.0, -1.0, f64::NAN, 1e-40] {
        assert!(matches!(ask(&pure, delta), Err(AccountError::OutOfRange(_))), "{delta}");
    }
    for epsilon in [-0.1, f64::NAN, f64::INFINITY] {
        assert!(account(&pure).unwrap().delta(epsilon).is_err());
    }
    assert!(ask(&Event::Gaussian { noise_multiplier: 0.0 }, 1e-6).is_err());
    assert!(ask(&pure.clone().poisson(1.5), 1e-6).is_err());
    assert!(ask(&pure.clone().repeat(u64::MAX), 1e-6).is_err());
    // A failure with probability 1e-3 leaves no epsilon at 1e-6.
    let failing = Event::Approximate { epsilon: 0.1, delta: 1e-3 };
    let Err(refusal) = ask(&failing, 1e-6) else { panic!("must be refused") };
    assert!(refusal.to_string().contains("exceptional"), "{refusal}");
}

#[test]
fn prices_events_for_a_ledger() {
    let events = [
        Event::Pure { epsilon: 0.3 },
        Event::Gaussian { noise_multiplier: 0.8 }.poisson(1e-3).repeat(1000),
    ];
    let accountant = Accountant::new(Neighbouring::AddRemove);
    assert_eq!(accountant.neighbouring(), Neighbouring::AddRemove);
    let both = Account::epsilon(&accountant, &events, 1e-6).unwrap();
    let second = Account::epsilon(&accountant, &events[1..], 1e-6).unwrap();
    assert!(both > second && both <= second + 0.3 + 1e-3, "{both} {second}");
}

fn leaf() -> impl Strategy<Value = Event> {
    let size = -3.0..2.0_f64;
    prop_oneof![
        size.clone().prop_map(|log| Event::Gaussian { noise_multiplier: 10_f64.powf(-0.4 * log) }),
        size.clone().prop_map(|log| Event::Laplace { noise_multiplier: 10_f64.powf(-log) }),
        size.clone().prop_map(|log| Event::DiscreteLaplace { noise_multiplier: 10_f64.powf(-log) }),
        size.clone().prop_map(|log| Event::Pure { epsilon: 10_f64.powf(log) }),
        Just(Event::Pure { epsilon: 0.0 }),
        (size.clone(), -14.0..-9.0_f64).prop_map(|(log, delta)| Event::Approximate {
            epsilon: 10_f64.powf(log),
            delta: 10_f64.powf(delta)
        }),
        (size.clone(), 0..300_u64).prop_map(|(log, draws)| Event::Exponential {
            epsilon: 10_f64.powf(log),
            draws,
            candidates: None,
            cap: None,
            l2: None
        }),
        (size.clone(), 0..9_u64, any::<bool>(), any::<bool>()).prop_map(
            |(log, hits, refreshed, values)| Event::SparseVector {
                threshold_epsilon: 10_f64.powf(log),
                query_epsilon: 2.0 * 10_f64.powf(log),
                hits,
                refreshed,
                value_epsilon: values.then_some(10_f64.powf(log)),
            }
        ),
        (size.clone(), 0..9_u64, 0..3).prop_map(|(log, draws, noise)| Event::NoisyMax {
            epsilon: 10_f64.powf(log),
            draws,
            noise: [MaxNoise::Gumbel, MaxNoise::Laplace, MaxNoise::Exponential][noise as usize]
        }),
        (size.clone(), 0.0..1.0_f64).prop_map(|(log, share)| Event::UniformMask {
            share,
            event: Box::new(Event::Gaussian { noise_multiplier: 10_f64.powf(-0.4 * log) }),
        }),
        (size.clone(), 0..30_u64, 0.05..1.0_f64).prop_map(|(log, draws, kept)| Event::Selected {
            by: Box::new(Event::Exponential {
                epsilon: 10_f64.powf(0.5 * log),
                draws,
                candidates: Some(1000),
                cap: Some(0.2),
                l2: Some(1.0),
            }),
            sensitivity: Some(kept),
            noise: Box::new(Event::Gaussian { noise_multiplier: 10_f64.powf(-0.4 * log) }),
        }),
        (size, 0..20_u64).prop_map(|(log, draws)| Event::LimitedDomain {
            epsilon: 10_f64.powf(log),
            delta: 1e-12,
            draws
        }),
    ]
}

fn nested() -> impl Strategy<Value = Event> {
    leaf().prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Event::Compose),
            (0.0..5.0_f64, inner.clone())
                .prop_map(|(log, event)| event.repeat(10_f64.powf(log) as u64)),
            (-9.0..0.0_f64, inner.clone()).prop_map(|(log, event)| event.poisson(10_f64.powf(log))),
            (1..1000_u64, inner)
                .prop_map(|(groups, event)| Event::Cluster { groups, event: Box::new(event) }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_nesting_is_answered_or_refused(event in nested(), exponent in -12.0..-0.3_f64) {
        let delta = 10_f64.powf(exponent);
        for relation in [Neighbouring::AddRemove, Neighbouring::ReplaceOne] {
            let start = Instant::now();
            let accountant = Accountant::new(relation).compose(&event).unwrap();
            match accountant.epsilon(delta) {
                Ok(answer) => {
                    prop_assert!(answer.epsilon >= 0.0 && answer.epsilon.is_finite());
                    // A single step with such losses is answered from above, but not closely.
                    if answer.epsilon > 500.0 {
                        continue;
                    }
                    // The two questions use different grids, so they meet only nearly.
                    let above = accountant.delta(answer.epsilon * 1.01 + 1e-6).unwrap().delta;
                    prop_assert!(above <= delta * 1.01 + 1e-18, "{answer:?} {above:e}");
                    if answer.epsilon > 1e-2 {
                        let below = accountant.delta(answer.epsilon * 0.9).unwrap().delta;
                        prop_assert!(below >= delta * 0.99, "{answer:?} {below:e}");
                    }
                }
                Err(AccountError::OutOfRange(_)) => {}
                Err(other) => prop_assert!(false, "{other}"),
            }
            prop_assert!(start.elapsed() < PATIENCE, "{:?} {event:?}", start.elapsed());
        }
    }
}

/// Losses beyond the logarithm of the largest float (709.8) are priced, not cut off there.
#[test]
fn a_single_release_may_cost_more_than_the_floats_can_exponentiate() {
    let price = |event: Event| {
        let account = Accountant::new(Neighbouring::AddRemove).compose(&event).expect("supported");
        account.epsilon(1e-9).expect("finite").epsilon
    };
    for epsilon in [500.0, 700.0, 720.0, 1_000.0, 1e6] {
        let pure = price(Event::Pure { epsilon });
        assert!(pure <= epsilon && pure > epsilon - 1e-6, "{epsilon}: {pure}");
        let laplace = price(Event::Laplace { noise_multiplier: 1.0 / epsilon });
        assert!(laplace <= epsilon && laplace > epsilon - 1e-6, "{epsilon}: {laplace}");
        // Half of the units of a batch see a loss of epsilon + ln(1/2).
        let sampled = price(Event::Pure { epsilon }.poisson(0.5));
        assert!((sampled - (epsilon - 2.0_f64.ln())).abs() < 1e-6, "{epsilon}: {sampled}");
    }
    for (multiplier, times) in [(0.05, 1), (0.05, 1_000_000_000), (0.01, 1), (0.5, 100_000)] {
        let shift = f64::from(times).sqrt() / multiplier;
        let gaussian = price(Event::Gaussian { noise_multiplier: multiplier }.repeat(times as u64));
        // The tail of 1e-9 lies six standard deviations above the mean loss, shift^2 / 2.
        let (low, high) = (5.9 * shift, 6.0 * shift);
        let over = gaussian - 0.5 * shift * shift;
        assert!(low < over && over < high, "{multiplier} {times}: {gaussian}");
    }
}

/// Losses of 98 certain draws lie within a hair of their sum: the grid stays within the integers.
#[test]
fn a_loss_that_hardly_varies_is_priced() {
    for (range, draws) in [(13.049_368_837_668_42, 98), (40.0, 10), (5.0, 100)] {
        let event = Event::Compose(vec![
            Event::Approximate { epsilon: 1.0, delta: 1e-9 },
            Event::Exponential { epsilon: range, draws, candidates: None, cap: None, l2: None },
        ]);
        for delta in [0.5, 0.1, 1e-6] {
            let most = range * draws as f64 + 1.0;
            match ask(&event, delta) {
                Ok(epsilon) => assert!(
                    (0.3 * most..=most * (1.0 + 1e-6)).contains(&epsilon),
                    "{range} {draws} {delta}: {epsilon} of {most}"
                ),
                Err(error) => assert!(matches!(error, AccountError::OutOfRange(_)), "{error}"),
            }
        }
    }
}
