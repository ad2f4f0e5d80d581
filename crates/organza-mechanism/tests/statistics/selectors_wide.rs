//! Every selector among 2,000 candidates, against a version that looks at each of them.

use crate::naive::{Threshold, draw_above_threshold, draw_noisy_max, draw_weighted};
use crate::sampler_checks::worst;
use crate::selectors::{CHANGE, Data};
use crate::support::{FALSE_ALARM, random, two_samples};
use organza_ledger::MaxNoise;
use organza_mechanism::sample::below;
use organza_mechanism::{By, SelectionSettings};

const CANDIDATES: usize = 2_000;

/// 40 of 400 rows of five are touched, by sums from small to large.
fn data() -> Data {
    let values =
        |unit: usize| (0..5).map(|place| 0.02 * ((unit * 7 + place * 3) % 23) as f32).collect();
    let units = (0..40).map(|unit| vec![((unit * unit * 13 % 400) as u32, values(unit))]).collect();
    Data { tables: vec![(400, 5)], units }
}

/// What is compared of two selectors: how often each candidate is selected, where the first, the last
/// and one at random fall, and how many there are.
///
/// Only the first counts several candidates of a run: of a selection of fixed size, whose members
/// exclude each other, so that its counts vary less than independent ones.
struct Counts {
    each: Vec<u64>,
    first: Vec<u64>,
    last: Vec<u64>,
    any: Vec<u64>,
    sizes: Vec<u64>,
    fixed_size: bool,
}

impl Counts {
    fn new(fixed_size: bool) -> Self {
        let zeros = || vec![0; CANDIDATES];
        let (each, first, last, any) = (zeros(), zeros(), zeros(), zeros());
        Self { each, first, last, any, sizes: zeros(), fixed_size }
    }

    fn add(&mut self, indices: &[u64], choice: u64) {
        self.sizes[indices.len()] += 1;
        indices.iter().for_each(|index| self.each[*index as usize] += 1);
        if let (Some(first), Some(last)) = (indices.first(), indices.last()) {
            self.first[*first as usize] += 1;
            self.last[*last as usize] += 1;
            self.any[indices[(choice % indices.len() as u64) as usize] as usize] += 1;
        }
    }

    fn check(&self, other: &Self) -> f64 {
        let places = [
            two_samples(&self.first, &other.first),
            two_samples(&self.last, &other.last),
            two_samples(&self.any, &other.any),
        ];
        let whole = if self.fixed_size {
            if self.sizes != other.sizes {
                return 0.0;
            }
            two_samples(&self.each, &other.each)
        } else {
            two_samples(&self.sizes, &other.sizes)
        };
        worst(&[places[0], places[1], places[2], whole])
    }
}

/// The p-value that the plan's selector and the naive one have the same law.
fn compare(
    selection: SelectionSettings,
    fixed_size: bool,
    (seed, runs): (u64, u64),
    mut naive: impl FnMut(&mut organza_mechanism::random::PrivateRandom) -> Vec<u64>,
) -> f64 {
    let mut random = random(seed);
    let mut fast = Counts::new(fixed_size);
    let mut slow = Counts::new(fixed_size);
    data().select(selection, runs, seed, |indices| fast.add(indices, below(1 << 40, &mut random)));
    for _ in 0..runs {
        slow.add(&naive(&mut random), below(1 << 40, &mut random));
    }
    fast.check(&slow)
}

#[test]
fn exponential_selection_among_many() {
    let (by, draws) = (By::Coordinate, 10);
    for (test, (epsilon, cap)) in [(0.3, 0.1_f64), (5.0, 0.3)].into_iter().enumerate() {
        let range = (2.0 * cap).min(std::f64::consts::SQRT_2 * CHANGE);
        let scores = data().scores(by, Some(cap));
        let weights = |epsilon: f64| -> Vec<f64> {
            scores.iter().map(|score| (epsilon / range * score).exp()).collect()
        };
        let selection = SelectionSettings::Exponential { by, draws, epsilon, cap };
        let seed = (7_000 + test as u64, 10_000);
        let right = weights(epsilon);
        let p_value = compare(selection.clone(), true, seed, |it| draw_weighted(&right, 10, it));
        assert!(p_value > FALSE_ALARM, "{epsilon}: {p_value}");
        // At epsilon 0.3 weights differ by 15 % at most, which only more runs would tell apart.
        if epsilon > 1.0 {
            let wrong = weights(1.2 * epsilon);
            assert!(
                compare(selection, true, seed, |it| draw_weighted(&wrong, 10, it)) < FALSE_ALARM
            );
        }
    }
}

#[test]
fn noisy_max_among_many() {
    let (by, draws, epsilon, cap) = (By::Coordinate, 3, 8.0, Some(0.4));
    let scores = data().scores(by, cap);
    for (test, noise) in [MaxNoise::Laplace, MaxNoise::Exponential].into_iter().enumerate() {
        let selection = SelectionSettings::NoisyMax { by, draws, epsilon, noise, cap };
        let scale = 2.0 * 0.4 / epsilon;
        let p_value = compare(selection, true, (7_010 + test as u64, 4_000), |it| {
            draw_noisy_max(&scores, 3, noise, scale, it)
        });
        assert!(p_value > FALSE_ALARM, "{noise:?}: {p_value}");
    }
}

#[test]
fn gumbel_noisy_max_among_many() {
    let (by, draws, epsilon, noise, cap) = (By::Coordinate, 1, 6.0, MaxNoise::Gumbel, None);
    let scores = data().scores(by, cap);
    let scale = std::f64::consts::SQRT_2 * CHANGE / epsilon;
    let selection = SelectionSettings::NoisyMax { by, draws, epsilon, noise, cap };
    let p_value =
        compare(selection, true, (7_020, 8_000), |it| draw_noisy_max(&scores, 1, noise, scale, it));
    assert!(p_value > FALSE_ALARM, "{p_value}");
}

#[test]
fn sparse_vector_among_many() {
    let by = By::Coordinate;
    // One run of candidates, and touched and untouched ones in turn.
    for (test, (threshold, query_epsilon)) in [(1.5, 2.0), (0.25, 40.0)].into_iter().enumerate() {
        let (hits, threshold_epsilon, cap) = (5, 4.0, Some(0.3));
        let selection = SelectionSettings::SparseVector {
            by,
            hits,
            order: Default::default(),
            threshold,
            threshold_epsilon,
            query_epsilon,
            cap,
        };
        let scores = data().scores(by, cap);
        let rule = Threshold {
            hits: 5,
            threshold,
            threshold_scale: 0.3 / threshold_epsilon,
            query_scale: 2.0 * 0.3 / query_epsilon,
        };
        let seed = (7_030 + test as u64, 8_000);
        let p_value =
            compare(selection.clone(), false, seed, |it| draw_above_threshold(&scores, rule, it));
        assert!(p_value > FALSE_ALARM, "{query_epsilon}: {p_value}");
        let wrong = Threshold { threshold_scale: 1e-9, ..rule };
        let p_value =
            compare(selection, false, seed, |it| draw_above_threshold(&scores, wrong, it));
        assert!(p_value < FALSE_ALARM, "{query_epsilon}: {p_value}");
    }
}

#[test]
fn uniform_selection_among_many() {
    let selection = SelectionSettings::Uniform { by: By::Coordinate, draws: 10 };
    let weights = vec![1.0; CANDIDATES];
    let p_value = compare(selection, true, (7_040, 10_000), |it| draw_weighted(&weights, 10, it));
    assert!(p_value > FALSE_ALARM, "{p_value}");
}
