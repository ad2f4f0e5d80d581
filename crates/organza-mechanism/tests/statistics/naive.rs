//! Selection without cleverness: exact probabilities of every outcome for few candidates, and mechanisms
//! that look at every candidate.
//!
//! Nothing here comes from the crate but its samplers of one variable. A law gives each subset of the
//! candidates (bit i for candidate i) its probability.

use organza_ledger::MaxNoise;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{exponential, gumbel, laplace, unit};

/// Settings of the sparse vector technique, in the units of the scores.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    pub hits: usize,
    pub threshold: f64,
    pub threshold_scale: f64,
    pub query_scale: f64,
}

/// The law of the set of `draws` draws without replacement, where `chances(taken)` gives the chance of
/// each candidate to be next once `taken` are; a chance short of one in all is that of stopping.
fn sequential_law(
    candidates: usize,
    draws: usize,
    chances: impl Fn(usize) -> Vec<f64>,
) -> Vec<f64> {
    let mut reached = vec![0.0; 1 << candidates];
    let mut law = vec![0.0; 1 << candidates];
    reached[0] = 1.0;
    for taken in 0..1_usize << candidates {
        if taken.count_ones() as usize == draws || taken + 1 == 1 << candidates {
            law[taken] += reached[taken];
            continue;
        }
        if reached[taken] == 0.0 {
            continue;
        }
        let mut stop = 1.0;
        for (candidate, chance) in chances(taken).into_iter().enumerate() {
            reached[taken | 1 << candidate] += reached[taken] * chance;
            stop -= chance;
        }
        law[taken] += reached[taken] * if stop > 1e-9 { stop } else { 0.0 };
    }
    law
}

fn is_left(taken: usize, candidate: usize) -> bool {
    taken >> candidate & 1 == 0
}

/// Draws without replacement with these weights; a weight for stopping, if there is one.
pub fn weighted_law(weights: &[f64], draws: usize, stop: f64) -> Vec<f64> {
    sequential_law(weights.len(), draws, |taken| {
        let left = |candidate| if is_left(taken, candidate) { weights[candidate] } else { 0.0 };
        let total: f64 = (0..weights.len()).map(left).sum::<f64>() + stop;
        (0..weights.len()).map(|candidate| left(candidate) / total).collect()
    })
}

/// The largest noisy score wins, `draws` times with fresh noise of this scale: the chance of a winner
/// is the integral of its density times the distribution functions of the others.
pub fn noisy_max_law(scores: &[f64], draws: usize, noise: MaxNoise, scale: f64) -> Vec<f64> {
    let scores: Vec<f64> = scores.iter().map(|score| score / scale).collect();
    if draws == scores.len() {
        return weighted_law(&vec![1.0; draws], draws, 0.0);
    }
    sequential_law(scores.len(), draws, |taken| {
        let others = |winner: usize| {
            (0..scores.len()).filter(move |it| *it != winner && is_left(taken, *it))
        };
        (0..scores.len())
            .map(|winner| {
                if !is_left(taken, winner) {
                    return 0.0;
                }
                integrate(&scores, |x| {
                    let below: f64 =
                        others(winner).map(|other| noise_below(noise, x - scores[other])).product();
                    below * noise_density(noise, x - scores[winner])
                })
            })
            .collect()
    })
}

/// Candidates in order; each clears a noisy threshold or not, and the threshold is drawn again after
/// each hit. Given the noisy threshold, candidates are independent; it is integrated out.
pub fn sparse_vector_law(scores: &[f64], rule: Threshold) -> Vec<f64> {
    let count = scores.len();
    let scale = rule.threshold_scale;
    let mut corners: Vec<f64> = scores.iter().map(|score| score / scale).collect();
    corners.push(rule.threshold / scale);
    let misses = |level: f64, score: f64| {
        noise_below(MaxNoise::Laplace, (level * scale - score) / rule.query_scale)
    };
    // The chance that the next hit from `start` on is `hit`; `count` for none.
    let next = |start: usize, hit: usize| {
        integrate(&corners, |level| {
            let before: f64 =
                scores[start..hit].iter().map(|score| misses(level, *score)).product();
            let here = if hit < count { 1.0 - misses(level, scores[hit]) } else { 1.0 };
            noise_density(MaxNoise::Laplace, level - rule.threshold / scale) * before * here
        })
    };
    let table: Vec<Vec<f64>> = (0..=count)
        .map(|start| {
            (0..=count).map(|hit| if hit < start { 0.0 } else { next(start, hit) }).collect()
        })
        .collect();
    (0..1_usize << count)
        .map(|subset| {
            let hits: Vec<usize> = (0..count).filter(|it| !is_left(subset, *it)).collect();
            if hits.len() > rule.hits {
                return 0.0;
            }
            let mut start = 0;
            let mut chance = 1.0;
            for hit in &hits {
                chance *= table[start][*hit];
                start = hit + 1;
            }
            if hits.len() < rule.hits { chance * table[start][count] } else { chance }
        })
        .collect()
}

fn noise_density(noise: MaxNoise, x: f64) -> f64 {
    match noise {
        MaxNoise::Laplace => 0.5 * (-x.abs()).exp(),
        MaxNoise::Exponential => {
            if x < 0.0 {
                0.0
            } else {
                (-x).exp()
            }
        }
        MaxNoise::Gumbel => (-x - (-x).exp()).exp(),
    }
}

fn noise_below(noise: MaxNoise, x: f64) -> f64 {
    match noise {
        MaxNoise::Laplace if x < 0.0 => 0.5 * x.exp(),
        MaxNoise::Laplace => 1.0 - 0.5 * (-x).exp(),
        MaxNoise::Exponential => -(-x.max(0.0)).exp_m1(),
        MaxNoise::Gumbel => (-(-x).exp()).exp(),
    }
}

/// The integral over the line of a function that is smooth but for corners, of scale 1: Gauss's rule of
/// three points on pieces of a quarter.
fn integrate(corners: &[f64], function: impl Fn(f64) -> f64) -> f64 {
    let mut corners = corners.to_vec();
    corners.sort_by(f64::total_cmp);
    let first = corners[0] - 30.0;
    let last = corners[corners.len() - 1] + 30.0;
    corners.insert(0, first);
    corners.push(last);
    let offset = 0.6_f64.sqrt();
    corners
        .windows(2)
        .map(|ends| {
            let pieces = ((ends[1] - ends[0]) / 0.25).ceil().max(1.0);
            let half = 0.5 * (ends[1] - ends[0]) / pieces;
            (0..pieces as usize)
                .map(|piece| {
                    let middle = ends[0] + half * (2.0 * piece as f64 + 1.0);
                    let sides = function(middle - offset * half) + function(middle + offset * half);
                    half * (5.0 * sides + 8.0 * function(middle)) / 9.0
                })
                .sum::<f64>()
        })
        .sum()
}

/// `draws` draws without replacement, each by one walk along the cumulated weights that are left.
pub fn draw_weighted(weights: &[f64], draws: usize, random: &mut PrivateRandom) -> Vec<u64> {
    let mut left = weights.to_vec();
    let mut drawn: Vec<u64> = (0..draws)
        .map(|_| {
            let mut rest = unit(random) * left.iter().sum::<f64>();
            let place = left.iter().position(|weight| {
                rest -= weight;
                rest < 0.0
            });
            let last = || left.iter().rposition(|weight| *weight > 0.0).unwrap();
            let place = place.unwrap_or_else(last);
            left[place] = 0.0;
            place as u64
        })
        .collect();
    drawn.sort_unstable();
    drawn
}

/// The largest of all scores with noise, `draws` times.
pub fn draw_noisy_max(
    scores: &[f64],
    draws: usize,
    noise: MaxNoise,
    scale: f64,
    random: &mut PrivateRandom,
) -> Vec<u64> {
    let mut drawn: Vec<u64> = Vec::new();
    for _ in 0..draws {
        let noisy = scores.iter().enumerate().map(|(candidate, score)| {
            let noise = match noise {
                MaxNoise::Laplace => laplace(random),
                MaxNoise::Exponential => exponential(random),
                MaxNoise::Gumbel => gumbel(random),
            };
            (score + scale * noise, candidate as u64)
        });
        let left = noisy.filter(|(_, candidate)| !drawn.contains(candidate));
        drawn.extend(left.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, winner)| winner));
    }
    drawn.sort_unstable();
    drawn
}

/// The sparse vector technique, candidate by candidate.
pub fn draw_above_threshold(
    scores: &[f64],
    rule: Threshold,
    random: &mut PrivateRandom,
) -> Vec<u64> {
    let mut hits = Vec::new();
    let mut level = rule.threshold + rule.threshold_scale * laplace(random);
    for (candidate, score) in scores.iter().enumerate() {
        if hits.len() == rule.hits {
            break;
        }
        if score + rule.query_scale * laplace(random) >= level {
            hits.push(candidate as u64);
            level = rule.threshold + rule.threshold_scale * laplace(random);
        }
    }
    hits
}

#[test]
fn laws_sum_to_one_and_agree_where_they_must() {
    let scores = [0.0, 0.3, 1.2, 0.7, 0.0];
    let rule = Threshold { hits: 2, threshold: 0.5, threshold_scale: 0.4, query_scale: 0.9 };
    for law in [
        weighted_law(&[1.0, 2.0, 3.0], 2, 0.0),
        weighted_law(&[1.0, 2.0, 3.0], 2, 1.5),
        noisy_max_law(&scores, 3, MaxNoise::Laplace, 0.6),
        noisy_max_law(&scores, 3, MaxNoise::Exponential, 0.6),
        sparse_vector_law(&scores, rule),
    ] {
        assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-7);
    }
    // Gumbel noise is a weighted draw.
    let weights = scores.map(|score: f64| (score / 0.6).exp());
    let one = noisy_max_law(&scores, 2, MaxNoise::Gumbel, 0.6);
    let other = weighted_law(&weights, 2, 0.0);
    assert!(one.iter().zip(&other).all(|(one, other)| (one - other).abs() < 1e-7));
}
