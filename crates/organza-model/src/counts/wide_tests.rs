//! Wide tables, whose missing cells are a background: as good as one entry for each cell, and settled
//! soon.

use super::tests::Random;
use super::*;
use crate::{ExpectedLoss, HeldOutSample};

const TOPICS: usize = 12;
const NEGATIVES: u32 = 8;
const RATE: f64 = 1.5;
const BAR: f64 = 3.0;
const DIMENSIONS: usize = 24;

/// The mean number of co-occurrences of two of so many words: Zipf's law, and words of a topic seek
/// each other.
fn mean(words: usize, first: usize, second: usize) -> f64 {
    let frequency = |word: usize| 1.0 / (word as f64 + 8.0);
    let together = if first % TOPICS == second % TOPICS { 5.0 } else { 0.6 };
    let all = (words as f64 / 8.0).ln();
    let ordered = 400_000.0 * frequency(first) * frequency(second) / (all * all) * together;
    if first == second { ordered / 2.0 } else { ordered }
}

/// Released pairs above the bar, and word counts.
fn drawn(words: usize, seed: u64) -> (Vec<CountedPair>, Vec<f64>) {
    let mut random = Random(seed);
    let (mut pairs, mut counts) = (Vec::new(), vec![0.0; words]);
    for first in 0..words {
        for second in 0..=first {
            let count = 2.0 * random.poisson(mean(words, first, second));
            counts[first] += count / 2.0;
            counts[second] += count / 2.0;
            let count = count + random.discrete_laplace(RATE);
            if count >= BAR {
                pairs.push(CountedPair { first: first as u32, second: second as u32, count });
            }
        }
    }
    (pairs, counts)
}

fn noisy<'a>(pairs: &'a [CountedPair], word_counts: &'a [f64]) -> NoisyCounts<'a> {
    NoisyCounts {
        pairs,
        noise: NoiseLaw::DiscreteLaplace { rate: RATE },
        bar: Some(BAR),
        pairs_per_count: 1.0,
        word_counts,
        word_deviation: 1.0,
        clipped: false,
    }
}

fn model(words: usize) -> WordVectors {
    WordVectors::new(Layout::TwoTables, words as u64, DIMENSIONS).expect("a good size")
}

/// The loss under the law that the counts were drawn from.
fn true_loss(words: usize, parameters: &[f32]) -> f64 {
    let inputs: Vec<[u32; 1]> = (0..words as u32).map(|word| [word]).collect();
    let mut held = Vec::new();
    for (first, inputs) in inputs.iter().enumerate() {
        for second in 0..words {
            let weight = mean(words, first, second) * if first == second { 2.0 } else { 1.0 };
            held.push(HeldOutSample { inputs, positive: second as u32, weight });
        }
    }
    let (model, weights) = (model(words), vec![1.0; words]);
    let loss = ExpectedLoss::new(&model, &weights, NEGATIVES).expect("good weights");
    let rows = model.rows(parameters).expect("good parameters");
    loss.mean(&rows, &held).expect("good samples")
}

/// With a thousand words both ways can be gone.
#[test]
fn the_wide_way_finds_what_the_dense_way_finds() {
    let words = 1000;
    let (pairs, counts) = drawn(words, 1);
    let (counts, model) = (noisy(&pairs, &counts), model(words));
    let weights = vec![1.0; words];
    let settings =
        CountsSettings { negatives: NEGATIVES, negative_weights: &weights, most_passes: 60 };
    let losses = [true, false].map(|dense| {
        let table = table::Table::new(&model, &counts, &settings).expect("counts");
        let penalty = PENALTY_SHARE * table.norm_of_noise();
        let cells = table.into_cells(&counts, dense).expect("counts");
        let solution = fit::solve(&cells, penalty, DIMENSIONS, settings.most_passes);
        assert!(solution.settled);
        true_loss(words, &parameters(&model, &cells, &solution).expect("counts"))
    });
    let mut frequencies = vec![0.0; model.parameters()];
    let bias = frequency_bias(counts.word_counts, &weights, NEGATIVES).expect("counts");
    model.set_bias(&mut frequencies, &bias).expect("one for each word");
    let frequency = true_loss(words, &frequencies);
    let gains = losses.map(|loss| frequency - loss);
    assert!(gains[0] > 0.1 && gains[1] > 0.9 * gains[0], "{gains:?}");
}

/// A table that is too wide for an entry in each cell settles, with the same bits on any number of
/// threads, and the nearest of each frequent word are of its topic.
#[test]
fn a_wide_table_teaches_known_neighbours() {
    let words = 2 * DENSE_WORDS as usize;
    let (pairs, counts) = drawn(words, 2);
    assert!(pairs.len() < words * words / 20);
    let (counts, model) = (noisy(&pairs, &counts), model(words));
    let weights = vec![1.0; words];
    let settings =
        CountsSettings { negatives: NEGATIVES, negative_weights: &weights, most_passes: 60 };
    let fits = [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| learn_counts(&model, &counts, &settings)).expect("counts")
    });
    assert!(fits[0].settled, "{}", fits[0].passes);
    assert!(fits[0].parameters == fits[1].parameters);
    let rows: Vec<&[f32]> = fits[0].parameters.chunks(DIMENSIONS).take(words).collect();
    let frequent = 20 * TOPICS;
    let cosine = |one: usize, other: usize| {
        let length = |row: &[f32]| row.iter().map(|value| value * value).sum::<f32>().sqrt();
        let sum: f32 = rows[one].iter().zip(rows[other]).map(|(one, other)| one * other).sum();
        sum / (length(rows[one]) * length(rows[other])).max(f32::MIN_POSITIVE)
    };
    let mut right = 0;
    for word in 0..frequent {
        let others = (0..frequent).filter(|other| *other != word);
        let nearest =
            others.max_by(|one, other| cosine(word, *one).total_cmp(&cosine(word, *other)));
        right += usize::from(nearest.expect("there are others") % TOPICS == word % TOPICS);
    }
    assert!(right * 10 > frequent * 9, "{right} of {frequent}");
}
