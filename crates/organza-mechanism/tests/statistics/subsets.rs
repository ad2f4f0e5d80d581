//! Random subsets: Poisson and uniform ones, and their broken twins.

use crate::sampler_checks::{binomial_law, worst};
use crate::support::{FALSE_ALARM, chi_squared, random};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{below, binomial, poisson_subset, uniform_subset};

/// Counts each subset of a small universe; `None` if a draw is out of order or out of range.
fn count_subsets(
    universe: u64,
    draws: usize,
    mut draw: impl FnMut(&mut PrivateRandom) -> Vec<u64>,
    random: &mut PrivateRandom,
) -> Option<Vec<u64>> {
    let mut counts = vec![0; 1 << universe];
    for _ in 0..draws {
        let members = draw(random);
        let good = members.is_sorted_by(|one, other| one < other)
            && members.iter().all(|member| *member < universe);
        if !good {
            return None;
        }
        counts[members.iter().map(|member| 1 << member).sum::<usize>()] += 1;
    }
    Some(counts)
}

/// A Poisson subset of six: each of the 64 subsets has its probability.
fn small_poisson_check(
    rate: f64,
    draw: impl FnMut(&mut PrivateRandom) -> Vec<u64>,
    random: &mut PrivateRandom,
) -> f64 {
    let Some(counts) = count_subsets(6, 500_000, draw, random) else { return 0.0 };
    let law: Vec<f64> = (0..64_u32)
        .map(|subset| {
            let members = subset.count_ones() as i32;
            rate.powi(members) * (1.0 - rate).powi(6 - members)
        })
        .collect();
    chi_squared(&counts, &law)
}

/// A Poisson subset of 5,000 at rate 1/100: the chance of each member, of the pairs
/// (0, 1), (2, 3), ..., and the size.
fn wide_poisson_check(
    mut draw: impl FnMut(&mut PrivateRandom) -> Vec<u64>,
    random: &mut PrivateRandom,
) -> f64 {
    const DRAWS: u64 = 100_000;
    let mut members = vec![0; 5_000];
    let mut sizes = vec![0; 5_001];
    let mut neighbours = 0;
    for _ in 0..DRAWS {
        let subset = draw(random);
        sizes[subset.len()] += 1;
        for member in &subset {
            members[*member as usize] += 1;
        }
        let adjoin = |pair: &&[u64]| pair[0].is_multiple_of(2) && pair[1] == pair[0] + 1;
        neighbours += subset.windows(2).filter(adjoin).count() as u64;
    }
    let pairs = DRAWS * 2_500;
    worst(&[
        chi_squared(&members, &[1.0 / 5_000.0; 5_000]),
        chi_squared(&sizes, &binomial_law(5_000, 0.01)),
        chi_squared(&[neighbours, pairs - neighbours], &[1e-4, 1.0 - 1e-4]),
    ])
}

/// A uniform subset: all subsets of the size are equally likely, and no others occur.
fn uniform_check(
    universe: u64,
    size: u64,
    mut draw: impl FnMut(u64, u64, &mut PrivateRandom) -> Vec<u64>,
    random: &mut PrivateRandom,
) -> f64 {
    let draw = |random: &mut PrivateRandom| draw(universe, size, random);
    let Some(counts) = count_subsets(universe, 500_000, draw, random) else { return 0.0 };
    let of_size = |subset: usize| u64::from(subset.count_ones()) == size;
    let ways = (0..counts.len()).filter(|subset| of_size(*subset)).count() as f64;
    let law: Vec<f64> =
        (0..counts.len()).map(|subset| if of_size(subset) { 1.0 / ways } else { 0.0 }).collect();
    chi_squared(&counts, &law)
}

#[test]
fn poisson_subsets() {
    for (test, rate) in [0.05, 0.3, 0.8].into_iter().enumerate() {
        let draw = |it: &mut _| poisson_subset(6, rate, it).collect();
        let p_value = small_poisson_check(rate, draw, &mut random(300 + test as u64));
        assert!(p_value > FALSE_ALARM, "{p_value}");
    }
    let p_value =
        wide_poisson_check(|it| poisson_subset(5_000, 0.01, it).collect(), &mut random(303));
    assert!(p_value > FALSE_ALARM, "{p_value}");
}

#[test]
fn poisson_subsets_at_the_ends() {
    let mut random = random(304);
    assert!(poisson_subset(1_000, 1.0, &mut random).eq(0..1_000));
    assert_eq!(poisson_subset(u64::MAX, 0.0, &mut random).count(), 0);
    assert_eq!(poisson_subset(0, 0.5, &mut random).count(), 0);
    let mut rare = poisson_subset(u64::MAX, 1e-18, &mut random);
    assert!(rare.all(|member| member < u64::MAX));
}

#[test]
fn a_binomial_number_of_uniform_members_is_a_poisson_subset() {
    let draw = |it: &mut _| {
        let size = binomial(6, 0.3, it);
        uniform_subset(6, size, it)
    };
    let p_value = small_poisson_check(0.3, draw, &mut random(305));
    assert!(p_value > FALSE_ALARM, "{p_value}");
}

#[test]
fn poisson_subsets_of_a_fixed_size_are_caught() {
    let p_value = small_poisson_check(0.5, |it| uniform_subset(6, 3, it), &mut random(310));
    assert!(p_value < FALSE_ALARM, "{p_value}");
    let p_value = wide_poisson_check(|it| uniform_subset(5_000, 50, it), &mut random(311));
    assert!(p_value < FALSE_ALARM, "{p_value}");
}

#[test]
fn poisson_subsets_that_never_hold_neighbours_are_caught() {
    let apart = |it: &mut _| {
        let mut members: Vec<u64> = poisson_subset(5_000, 0.01, it).collect();
        members.dedup_by(|next, last| *next == *last + 1);
        members
    };
    let p_value = wide_poisson_check(apart, &mut random(312));
    assert!(p_value < FALSE_ALARM, "{p_value}");
}

#[test]
fn uniform_subsets() {
    for (test, (universe, size)) in [(6, 3), (7, 2), (5, 4), (8, 1)].into_iter().enumerate() {
        let p_value = uniform_check(universe, size, uniform_subset, &mut random(320 + test as u64));
        assert!(p_value > FALSE_ALARM, "{p_value}");
    }
    let mut random = random(330);
    assert_eq!(uniform_subset(8, 8, &mut random), (0..8).collect::<Vec<_>>());
    assert_eq!(uniform_subset(4, 9, &mut random), [0, 1, 2, 3]);
    assert!(uniform_subset(4, 0, &mut random).is_empty());
    assert!(uniform_subset(0, 4, &mut random).is_empty());
}

#[test]
fn uniform_subsets_of_a_wide_universe() {
    let mut random = random(331);
    let mut places = vec![0; 1_000];
    for _ in 0..50_000 {
        let members = uniform_subset(1 << 60, 20, &mut random);
        assert!(members.len() == 20 && members.is_sorted_by(|one, other| one < other));
        for member in members {
            places[((u128::from(member) * 1_000) >> 60) as usize] += 1;
        }
    }
    let p_value = chi_squared(&places, &[1e-3; 1_000]);
    assert!(p_value > FALSE_ALARM, "{p_value}");
}

#[test]
fn uneven_subsets_are_caught() {
    // Floyd's method with a bound that is one too low, and draws made distinct by moving on.
    let low = |universe: u64, size: u64, it: &mut PrivateRandom| {
        let mut members = std::collections::BTreeSet::new();
        for last in universe - size..universe {
            if !members.insert(below(last, it)) {
                members.insert(last);
            }
        }
        members.into_iter().collect()
    };
    let p_value = uniform_check(6, 3, low, &mut random(340));
    assert!(p_value < FALSE_ALARM, "{p_value}");
    let probing = |universe: u64, size: u64, it: &mut PrivateRandom| {
        let mut members = std::collections::BTreeSet::new();
        for _ in 0..size {
            let mut member = below(universe, it);
            while !members.insert(member) {
                member = (member + 1) % universe;
            }
        }
        members.into_iter().collect()
    };
    let p_value = uniform_check(6, 3, probing, &mut random(341));
    assert!(p_value < FALSE_ALARM, "{p_value}");
}
