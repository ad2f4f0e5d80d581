//! Weights and rounds.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::random::{RandomSource, Secret};
use proptest::prelude::*;

/// What a unit adds in one round, squared, in steps: 2^40 is a norm of 1.
fn norm(weights: impl Iterator<Item = u64>) -> u128 {
    weights.map(|weight| u128::from(weight).pow(2)).sum()
}

const ONE: u128 = (STEPS_OF_WEIGHT as u128).pow(2);

proptest! {
    /// However the rounds went, a unit adds no more than 1 in L2, nearly all of that, and to no item more than its cap.
    /// The twins, weights rounded up and weights that are not divided by the norm, add more.
    #[test]
    fn a_unit_adds_at_most_one(values in proptest::collection::vec(LEAST as u32..=FULL as u32, 1..600)) {
        let weights: Vec<u64> = unit_weights(values.iter().copied()).collect();
        let items = values.len() as u64;
        prop_assert!(norm(weights.iter().copied()) <= ONE);
        prop_assert!(weights.iter().all(|weight| *weight <= cap(items)));
        let capped = weights.contains(&cap(items));
        prop_assert!(capped || norm(weights.iter().copied()) as f64 > 0.999 * ONE as f64);
        if !capped {
            prop_assert!(norm(weights.iter().map(|weight| weight + 1 + weight / 1_000)) > ONE);
        }
        if items > 1 {
            let even: Vec<u32> = vec![FULL as u32; values.len()];
            let one = unit_weights(even[..1].iter().copied()).next().unwrap();
            prop_assert!(norm(even.iter().map(|_| one)) > ONE);
        }
    }
}

#[test]
fn even_items_have_even_weights() {
    for items in [1_usize, 2, 9, 100, 1_024] {
        let weights: Vec<u64> = unit_weights(std::iter::repeat_n(FULL as u32, items)).collect();
        let even = STEPS_OF_WEIGHT as f64 / (items as f64).sqrt();
        assert!(weights.iter().all(|weight| (*weight as f64 - even).abs() < 2.0), "{items}");
        assert_eq!(cap(items as u64), STEPS_OF_WEIGHT.min((4.0 * even) as u64), "{items}");
    }
    assert_eq!(unit_weights(std::iter::empty()).count(), 0);
}

/// Items 0 to 9 have all 4,000 units, 10 to 409 a few dozen each, and each unit has three of its own.
fn units() -> Numbered {
    let (mut numbers, mut ends) = (Vec::new(), Vec::new());
    for unit in 0..4_000_u32 {
        numbers.extend(0..10);
        numbers.extend((0..10).map(|place| 10 + (unit * 7 + place * 41) % 400));
        numbers.extend((0..3).map(|place| 410 + 3 * unit + place));
        ends.push(numbers.len());
    }
    Numbered { items: 410 + 12_000, numbers, ends }
}

fn sums(rounds: &Rounds, units: &Numbered, seed: u64) -> Vec<i64> {
    rounds.sums(units, &RandomSource::from_seed(seed).secret(Secret::Release, 0))
}

#[test]
fn the_sums_do_not_depend_on_threads() {
    let (units, rounds) = (units(), Rounds::new(4.0 * 2.0 * (1 << 20) as f64, 64, 1e-6).unwrap());
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| sums(&rounds, &units, 4))
    };
    let one = with(1);
    assert!([2, 3, 11].into_iter().all(|threads| with(threads) == one));
    assert_ne!(sums(&rounds, &units, 5), one);
}

/// Weight goes where it helps: with the same noise, even weights release fewer of the items that may go either way. Items
/// of one unit alone stay hidden.
#[test]
fn weights_follow_what_may_go_either_way() {
    let units = units();
    let multiplier = 5.0;
    let rounds = Rounds::new(4.0 * multiplier * STEPS_OF_WEIGHT as f64, 64, 1e-6).unwrap();
    let sums = sums(&rounds, &units, 6);
    let released = |items: std::ops::Range<usize>| {
        items.filter(|item| sums[*item] >= rounds.threshold).count()
    };
    assert_eq!((released(0..10), released(410..units.items)), (10, 0));
    // A unit of 23 items gives each 0.21, so an item of 100 units has 20.9 in each round.
    let even = 100.0 / 23_f64.sqrt();
    let threshold = rounds.threshold as f64 / (ROUNDS * STEPS_OF_WEIGHT) as f64;
    let chance = IntegerNoise::rounded_gaussian(multiplier * 1e6).unwrap();
    let evenly = 400.0 * chance.chance_at_least(((threshold - even) * 1e6) as i64);
    assert!(released(10..410) as f64 > 2.0 * evenly.max(20.0), "{} {evenly}", released(10..410));
}

#[test]
fn values_are_largest_on_the_line() {
    let rounds = Rounds::new(1e7, 64, 1e-6).unwrap();
    for after in 1..ROUNDS {
        let value = Value::after(after, &rounds);
        assert_eq!(value.of(value.line), FULL as u32);
        for sum in
            [i64::MIN, value.line - value.reach as i64, value.line + value.reach as i64, i64::MAX]
        {
            assert_eq!(value.of(sum), LEAST as u32);
        }
        let half = value.of(value.line + value.reach as i64 / 2);
        assert!(half.abs_diff(FULL as u32 / 2) <= 1, "{half}");
    }
    assert_eq!(Value::after(ROUNDS, &rounds).line, rounds.threshold);
}
