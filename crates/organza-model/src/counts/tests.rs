//! Training on counts drawn from a known law: what it finds, what noise and a bar do to it.

use super::*;
use crate::{ExpectedLoss, HeldOutSample};

const WORDS: usize = 120;
const TOPICS: usize = 5;
const NEGATIVES: u32 = 8;
const WEIGHTS: [f64; WORDS] = [1.0; WORDS];

/// SplitMix64: fixed seeds, no secrets.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }

    pub(super) fn poisson(&mut self, mean: f64) -> f64 {
        let (mut count, mut product) = (-1.0, 1.0);
        while product > (-mean).exp() {
            product *= self.unit();
            count += 1.0;
        }
        count
    }

    pub(super) fn discrete_laplace(&mut self, rate: f64) -> f64 {
        let mut geometric = || (self.unit().ln() / -rate).floor();
        geometric() - geometric()
    }
}

/// The mean number of co-occurrences of two words: Zipf's law, and words of a topic seek each other.
fn mean(first: usize, second: usize, signal: f64) -> f64 {
    let frequency = |word: usize| 1.0 / (word as f64 + 4.0);
    let together =
        if first % TOPICS == second % TOPICS { 1.0 } else { -1.0 / (TOPICS as f64 - 1.0) };
    let ordered = 30_000.0 * frequency(first) * frequency(second) / 8.0 * (1.0 + signal * together);
    if first == second { ordered / 2.0 } else { ordered }
}

struct Drawn {
    pairs: Vec<CountedPair>,
    words: Vec<f64>,
}

fn drawn(seed: u64, signal: f64, rate: f64, bar: Option<f64>) -> Drawn {
    let mut random = Random(seed);
    let (mut pairs, mut words) = (Vec::new(), vec![0.0; WORDS]);
    for first in 0..WORDS {
        for second in 0..=first {
            // Both orders of a co-occurrence count, hence the 2.
            let count = 2.0 * random.poisson(mean(first, second, signal));
            words[first] += count / 2.0;
            words[second] += count / 2.0;
            let count = count + random.discrete_laplace(rate);
            if bar.is_none_or(|bar| count >= bar) {
                pairs.push(CountedPair { first: first as u32, second: second as u32, count });
            }
        }
    }
    words.iter_mut().for_each(|count| *count += random.discrete_laplace(1.0));
    Drawn { pairs, words }
}

fn model() -> WordVectors {
    WordVectors::new(Layout::TwoTables, WORDS as u64, 16).expect("a good size")
}

fn settings() -> CountsSettings<'static> {
    CountsSettings { negatives: NEGATIVES, negative_weights: &WEIGHTS, most_passes: 80 }
}

fn noisy(drawn: &Drawn, rate: f64, bar: Option<f64>) -> NoisyCounts<'_> {
    NoisyCounts {
        pairs: &drawn.pairs,
        noise: NoiseLaw::DiscreteLaplace { rate },
        bar,
        pairs_per_count: 1.0,
        word_counts: &drawn.words,
        word_deviation: 1.36,
        clipped: false,
    }
}

/// The loss under the law that the counts were drawn from.
fn true_loss(parameters: &[f32], signal: f64) -> f64 {
    let inputs: Vec<[u32; 1]> = (0..WORDS as u32).map(|word| [word]).collect();
    let mut held = Vec::new();
    for (first, inputs) in inputs.iter().enumerate() {
        for second in 0..WORDS {
            let weight = mean(first, second, signal) * if first == second { 2.0 } else { 1.0 };
            held.push(HeldOutSample { inputs, positive: second as u32, weight });
        }
    }
    let model = model();
    let loss = ExpectedLoss::new(&model, &WEIGHTS, NEGATIVES).expect("good weights");
    let rows = model.rows(parameters).expect("good parameters");
    loss.mean(&rows, &held).expect("good samples")
}

/// The loss of word frequencies, and that of the true logits.
fn limits(signal: f64) -> (f64, f64) {
    let mut counts = vec![0.0; WORDS];
    for first in 0..WORDS {
        for (second, count) in counts.iter_mut().enumerate() {
            let twice = if first == second { 2.0 } else { 1.0 };
            *count += mean(first, second, signal) * twice * 1e6;
        }
    }
    let bias = frequency_bias(&counts, &WEIGHTS, NEGATIVES).expect("good counts");
    let model = model();
    let mut parameters = vec![0.0; model.parameters()];
    model.set_bias(&mut parameters, &bias).expect("one for each word");
    let frequency = true_loss(&parameters, signal);
    let total: f64 = counts.iter().sum();
    let (mut best, mut weight) = (0.0, 0.0);
    for (first, input) in counts.iter().enumerate() {
        for second in 0..WORDS {
            let twice = if first == second { 2.0 } else { 1.0 };
            let count = mean(first, second, signal) * twice * 1e6;
            let negatives = input * f64::from(NEGATIVES) / WORDS as f64;
            let ratio: f64 = count / negatives;
            best += count * (1.0 / ratio).ln_1p() + negatives * ratio.ln_1p();
            weight += count;
        }
    }
    assert!((weight / total - 1.0).abs() < 1e-9);
    (frequency, best / weight)
}

fn share(parameters: &[f32], signal: f64) -> f64 {
    let (frequency, best) = limits(signal);
    (frequency - true_loss(parameters, signal)) / (frequency - best)
}

#[test]
fn most_of_the_signal_is_found_and_less_with_more_noise() {
    let mut shares = Vec::new();
    for rate in [6.0, 0.3, 0.05] {
        let drawn = drawn(1, 0.9, rate, None);
        let fit = learn_counts(&model(), &noisy(&drawn, rate, None), &settings()).expect("counts");
        assert!(fit.settled, "{fit:?}");
        shares.push(share(&fit.parameters, 0.9));
    }
    assert!(shares[0] > 0.65 && shares[1] > 0.55 && shares[2] > 0.0, "{shares:?}");
    assert!(shares[0] > shares[1] && shares[1] > shares[2], "{shares:?}");
}

/// Without signal nothing much may be found. The broken twin has a third of the penalty, and fits the
/// noise.
#[test]
fn noise_alone_teaches_nothing() {
    let drawn = drawn(2, 0.0, 1.0, None);
    let counts = noisy(&drawn, 1.0, None);
    let model = model();
    let solve = |share: f64| {
        let table = table::Table::new(&model, &counts, &settings()).expect("counts");
        let penalty = share * table.norm_of_noise();
        let cells = table.into_cells(&counts, true).expect("counts");
        let solution = fit::solve(&cells, penalty, model.dimensions(), 80);
        true_loss(&parameters(&model, &cells, &solution).expect("counts"), 0.0)
    };
    let (frequency, _) = limits(0.0);
    assert!(solve(PENALTY_SHARE) < frequency + 0.004, "{} {frequency}", solve(PENALTY_SHARE));
    assert!(solve(PENALTY_SHARE / 3.0) > frequency + 0.02, "{}", solve(PENALTY_SHARE / 3.0));
}

/// Most of what the whole noisy table teaches is left above a bar that more than half of the cells miss. A table
/// whose bar is not told is refused: it would be taken for one that holds every cell.
#[test]
fn a_bar_leaves_most_of_the_signal() {
    let (rate, bar) = (1.0, Some(3.0));
    let (whole, released) = (drawn(3, 0.9, rate, None), drawn(3, 0.9, rate, bar));
    assert!(released.pairs.len() < whole.pairs.len() / 2);
    let learned = |counts: &NoisyCounts<'_>| {
        let fit = learn_counts(&model(), counts, &settings()).expect("counts");
        share(&fit.parameters, 0.9)
    };
    let (all, above) = (learned(&noisy(&whole, rate, None)), learned(&noisy(&released, rate, bar)));
    assert!(above > 0.7 * all, "{above} {all}");
    let untold = learn_counts(&model(), &noisy(&released, rate, None), &settings());
    assert!(matches!(untold, Err(CountsError::Missing { .. })));
}

/// The way of wide vocabularies, with cells that were not released as a background, on a table that is
/// small enough for both.
#[test]
fn the_background_does_what_its_cells_would() {
    let (rate, bar) = (1.0, Some(3.0));
    let released = drawn(4, 0.9, rate, bar);
    let (counts, model) = (noisy(&released, rate, bar), model());
    let shares = [true, false].map(|dense| {
        let table = table::Table::new(&model, &counts, &settings()).expect("counts");
        let penalty = PENALTY_SHARE * table.norm_of_noise();
        let cells = table.into_cells(&counts, dense).expect("counts");
        assert_eq!(cells.missing.is_none(), dense);
        let solution = fit::solve(&cells, penalty, model.dimensions(), 80);
        assert!(solution.settled);
        share(&parameters(&model, &cells, &solution).expect("counts"), 0.9)
    });
    assert!(shares[0] > 0.5 && shares[1] > 0.8 * shares[0], "{shares:?}");
}

#[test]
fn threads_do_not_change_a_bit() {
    let drawn = drawn(5, 0.9, 1.0, None);
    let bits = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let counts = noisy(&drawn, 1.0, None);
        let fit = pool.install(|| learn_counts(&model(), &counts, &settings())).expect("counts");
        fit.parameters.iter().map(|value| value.to_bits()).collect::<Vec<_>>()
    };
    assert_eq!(bits(1), bits(3));
}

/// The penalty is made for noise whose operator norm it knows: drawn tables without signal agree.
#[test]
fn the_norm_of_the_noise_is_right() {
    let drawn = drawn(6, 0.0, 1.0, None);
    let counts = noisy(&drawn, 1.0, None);
    let table = table::Table::new(&model(), &counts, &settings()).expect("counts");
    let expected = table.norm_of_noise();
    let cells = table.into_cells(&counts, true).expect("counts");
    let mut descent = vec![0.0; cells.entries.len()];
    cells.descent(&vec![0.0; cells.entries.len()], &mut descent);
    let mut gradient = vec![0.0; WORDS * WORDS];
    for row in 0..WORDS {
        let places = cells.starts[row]..cells.starts[row + 1];
        for (entry, value) in cells.entries[places.clone()].iter().zip(&descent[places]) {
            let (column, value) = (entry.column as usize, f64::from(*value));
            (gradient[row * WORDS + column], gradient[column * WORDS + row]) = (value, value);
        }
    }
    let (values, _) = eigen::symmetric_eigen(WORDS, gradient);
    let found = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    assert!((found / expected - 1.0).abs() < 0.15, "{found} {expected}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let whole = drawn(7, 0.9, 1.0, None);
    let good = noisy(&whole, 1.0, None);
    let refused = |counts: NoisyCounts<'_>| {
        learn_counts(&model(), &counts, &settings()).expect_err("nonsense")
    };
    let mut pairs = whole.pairs.clone();
    pairs[1] = pairs[0];
    assert!(matches!(refused(NoisyCounts { pairs: &pairs, ..good }), CountsError::Twice { .. }));
    let fewer = NoisyCounts { pairs: &pairs[1..], ..good };
    assert!(matches!(refused(fewer), CountsError::Missing { .. }));
    pairs[1].first = WORDS as u32;
    assert!(matches!(refused(NoisyCounts { pairs: &pairs, ..good }), CountsError::Model(_)));
    pairs[1].count = f64::NAN;
    assert!(matches!(refused(NoisyCounts { pairs: &pairs, ..good }), CountsError::Number { .. }));
    let noise = NoiseLaw::Gaussian { deviation: -1.0 };
    assert_eq!(refused(NoisyCounts { noise, ..good }), CountsError::Noise);
    let few = NoisyCounts { word_counts: &whole.words[1..], ..good };
    assert!(matches!(refused(few), CountsError::Model(ModelError::Length { .. })));
    let tied = WordVectors::new(Layout::Tied, WORDS as u64, 16).expect("a good size");
    assert!(learn_counts(&tied, &good, &settings()).is_err());
}
