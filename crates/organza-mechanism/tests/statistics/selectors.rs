//! Every selector, through a plan, against the exact probability of each outcome.

use crate::naive::{Threshold, noisy_max_law, sparse_vector_law, weighted_law};
use crate::support::{FALSE_ALARM, chi_squared};
use organza_ledger::testing::paid;
use organza_ledger::{MaxNoise, Neighbouring};
use organza_mechanism::{
    By, Choice, NoiseSettings, PassOrder, Plan, PlanSettings, RandomSource, SelectionSettings,
    Shape,
};

pub const CLIP: f64 = 1.0;
pub const EXPECTED_BATCH: f64 = 2.0;
/// What one unit can do to the averaged gradient.
pub const CHANGE: f64 = CLIP / EXPECTED_BATCH;
const RUNS: u64 = 20_000;

/// The gradients of the units, as (row, values), each well inside the clip; and the shape they are of.
pub struct Data {
    pub tables: Vec<(u64, u64)>,
    pub units: Vec<Vec<(u32, Vec<f32>)>>,
}

impl Data {
    fn new(tables: &[(u64, u64)], units: &[&[(u32, &[f32])]]) -> Self {
        let unit = |rows: &&[(u32, &[f32])]| {
            rows.iter().map(|(row, values)| (*row, values.to_vec())).collect()
        };
        Self { tables: tables.to_vec(), units: units.iter().map(unit).collect() }
    }

    pub fn shape(&self) -> Shape {
        Shape::tables(&self.tables).unwrap()
    }

    /// The scores of all candidates of the averaged gradient.
    pub fn scores(&self, by: By, cap: Option<f64>) -> Vec<f64> {
        let shape = self.shape();
        let mut sums = vec![0.0; shape.coordinates() as usize];
        for (row, values) in self.units.iter().flatten() {
            let (first, _) = shape.row(*row).unwrap();
            for (sum, value) in sums[first as usize..].iter_mut().zip(values) {
                *sum += f64::from(*value) / EXPECTED_BATCH;
            }
        }
        let scores: Vec<f64> = match by {
            By::Coordinate => sums.iter().map(|sum: &f64| sum.abs()).collect(),
            By::Row => (0..shape.rows())
                .map(|row| {
                    let (first, dimensions) = shape.row(row as u32).unwrap();
                    let row = &sums[first as usize..first as usize + dimensions];
                    row.iter().map(|sum| sum * sum).sum::<f64>().sqrt()
                })
                .collect(),
        };
        scores.into_iter().map(|score| score.min(cap.unwrap_or(f64::INFINITY))).collect()
    }

    /// Calls `visit` with the selections of `runs` steps.
    pub fn select(
        &self,
        selection: SelectionSettings,
        runs: u64,
        seed: u64,
        mut visit: impl FnMut(&[u64]),
    ) {
        let settings = PlanSettings {
            shape: self.shape(),
            neighbouring: Neighbouring::AddRemove,
            rate: 1.0,
            expected_batch: EXPECTED_BATCH,
            clip: CLIP,
            selection,
            noise: NoiseSettings::Gaussian { multiplier: 1.0, second_clip: None },
        };
        let (plan, source) = (Plan::new(settings).unwrap(), RandomSource::from_seed(seed));
        let sampler = plan.sampler("training", self.units.len() as u64, &source);
        let paid = paid(sampler.charge(0..runs));
        for step in 0..runs {
            let sum = sampler.batch(step, &paid).unwrap().sum(|unit, gradient| {
                for (row, values) in &self.units[unit as usize] {
                    gradient.row(*row).unwrap().copy_from_slice(values);
                }
            });
            match sum.select().selection() {
                Choice::Some { indices, .. } => visit(indices),
                Choice::All => panic!("a selection was asked for"),
            }
        }
    }

    /// The p-value of the law of the selected sets.
    fn check(&self, selection: SelectionSettings, law: &[f64], seed: u64) -> f64 {
        let certain = law.iter().any(|chance| *chance > 1.0 - 1e-9);
        let runs = if certain { 1_000 } else { RUNS };
        let mut counts = vec![0; law.len()];
        self.select(selection, runs, seed, |indices| {
            assert!(indices.is_sorted_by(|one, other| one < other));
            counts[indices.iter().map(|index| 1 << index).sum::<usize>()] += 1;
        });
        if certain {
            let right = |(chance, count): (&f64, &u64)| (*chance > 0.5) == (*count > 0);
            return f64::from(u8::from(law.iter().zip(&counts).all(right)));
        }
        chi_squared(&counts, law)
    }
}

/// The patterns of scores that all selectors are tried on.
fn patterns() -> Vec<(&'static str, Data)> {
    vec![
        ("nothing touched", Data::new(&[(6, 1)], &[])),
        ("one candidate", Data::new(&[(1, 1)], &[&[(0, &[0.4])]])),
        (
            "untouched rows and ties",
            Data::new(&[(7, 1)], &[&[(1, &[0.5]), (4, &[-0.5])], &[(5, &[0.9])], &[(2, &[0.0])]]),
        ),
        (
            "all touched",
            Data::new(&[(2, 2)], &[&[(0, &[0.1, -0.4])], &[(0, &[0.2, 0.0]), (1, &[0.6, 0.3])]]),
        ),
        (
            "several tables",
            Data::new(
                &[(2, 2), (2, 1), (1, 2)],
                &[&[(3, &[0.7]), (0, &[-0.2, 0.5])], &[(4, &[0.8, -0.1])], &[(3, &[0.6])]],
            ),
        ),
    ]
}

/// Runs a check on all patterns, by coordinate and by row, with one draw, some and all.
fn on_all_patterns(seed: u64, mut check: impl FnMut(&Data, By, usize, u64) -> f64) {
    let mut seed = seed;
    for (name, data) in patterns() {
        for by in [By::Coordinate, By::Row] {
            let candidates = data.scores(by, None).len();
            let mut draws = vec![1, candidates.div_ceil(2), candidates];
            draws.dedup();
            for draws in draws {
                seed += 1;
                let p_value = check(&data, by, draws, seed);
                assert!(p_value > FALSE_ALARM, "{name}, by {by}, {draws} draws: {p_value}");
            }
        }
    }
}

fn exponential_law(scores: &[f64], draws: usize, epsilon: f64, cap: f64) -> Vec<f64> {
    let range = (2.0 * cap).min(std::f64::consts::SQRT_2 * CHANGE);
    let weights: Vec<f64> = scores.iter().map(|score| (epsilon / range * score).exp()).collect();
    weighted_law(&weights, draws, 0.0)
}

#[test]
fn exponential_selection() {
    // A low cap and epsilon take the method of rejection, a high one that of clocks.
    for (number, (epsilon, cap)) in [(0.3, 0.3), (2.0, 0.25), (4.0, 10.0)].into_iter().enumerate() {
        on_all_patterns(1_000 + 100 * number as u64, |data, by, draws, seed| {
            let selection =
                SelectionSettings::Exponential { by, draws: draws as u64, epsilon, cap };
            let law = exponential_law(&data.scores(by, Some(cap)), draws, epsilon, cap);
            data.check(selection, &law, seed)
        });
    }
}

#[test]
fn noisy_max_selection() {
    let noises = [MaxNoise::Laplace, MaxNoise::Exponential, MaxNoise::Gumbel];
    for (number, noise) in noises.into_iter().enumerate() {
        for (more, (epsilon, cap)) in [(3.0, None), (1.0, Some(0.3))].into_iter().enumerate() {
            let seed = 2_000 + 100 * (2 * number + more) as u64;
            on_all_patterns(seed, |data, by, draws, seed| {
                let scores = data.scores(by, cap);
                let cap_or_all = cap.unwrap_or(f64::INFINITY);
                let range = match noise {
                    MaxNoise::Gumbel => (2.0 * cap_or_all).min(std::f64::consts::SQRT_2 * CHANGE),
                    _ => 2.0 * cap_or_all.min(CHANGE),
                };
                let scale = range / epsilon;
                let law = match noise {
                    MaxNoise::Gumbel => {
                        let weights: Vec<f64> =
                            scores.iter().map(|it| (it / scale).exp()).collect();
                        weighted_law(&weights, draws, 0.0)
                    }
                    _ => noisy_max_law(&scores, draws, noise, scale),
                };
                let draws = draws as u64;
                let selection = SelectionSettings::NoisyMax { by, draws, epsilon, noise, cap };
                data.check(selection, &law, seed)
            });
        }
    }
}

#[test]
fn sparse_vector_selection() {
    // Weak queries take all candidates as one run, strong ones touched and untouched in turn.
    let cases = [
        (0.1, 0.8, 0.5, Some(0.3)),
        (0.3, 2.0, 1.0, None),
        (0.4, 3.0, 12.0, None),
        (0.3, 1.0, 8.0, Some(0.4)),
        (-0.2, 1.0, 1.0, None),
    ];
    for (number, (threshold, threshold_epsilon, query_epsilon, cap)) in
        cases.into_iter().enumerate()
    {
        on_all_patterns(3_000 + 100 * number as u64, |data, by, hits, seed| {
            let sensitivity = cap.unwrap_or(f64::INFINITY).min(CHANGE);
            let rule = Threshold {
                hits,
                threshold,
                threshold_scale: sensitivity / threshold_epsilon,
                query_scale: 2.0 * sensitivity / query_epsilon,
            };
            let law = sparse_vector_law(&data.scores(by, cap), rule);
            let hits = hits as u64;
            let selection = SelectionSettings::SparseVector {
                by,
                hits,
                order: Default::default(),
                threshold,
                threshold_epsilon,
                query_epsilon,
                cap,
            };
            data.check(selection, &law, seed)
        });
    }
}

/// The law of passes that begin anywhere: the mean over all beginnings.
fn law_from_anywhere(scores: &[f64], rule: Threshold) -> Vec<f64> {
    let count = scores.len();
    let mut law = vec![0.0; 1 << count];
    for first in 0..count {
        let turned: Vec<f64> = (0..count).map(|place| scores[(first + place) % count]).collect();
        for (places, chance) in sparse_vector_law(&turned, rule).iter().enumerate() {
            let candidates = (0..count).filter(|place| places >> place & 1 == 1);
            let set: usize = candidates.map(|place| 1 << ((first + place) % count)).sum();
            law[set] += chance / count as f64;
        }
    }
    law
}

#[test]
fn sparse_vector_selection_from_anywhere() {
    let order = PassOrder::FromRandom;
    let (threshold, threshold_epsilon) = (0.4, 3.0);
    for (number, query_epsilon) in [0.5, 12.0].into_iter().enumerate() {
        on_all_patterns(3_600 + 100 * number as u64, |data, by, hits, seed| {
            let rule = Threshold {
                hits,
                threshold,
                threshold_scale: CHANGE / threshold_epsilon,
                query_scale: 2.0 * CHANGE / query_epsilon,
            };
            let law = law_from_anywhere(&data.scores(by, None), rule);
            let (hits, cap) = (hits as u64, None);
            let selection = SelectionSettings::SparseVector {
                by,
                hits,
                order,
                threshold,
                threshold_epsilon,
                query_epsilon,
                cap,
            };
            data.check(selection, &law, seed)
        });
    }
}

#[test]
fn uniform_selection() {
    on_all_patterns(4_000, |data, by, draws, seed| {
        let candidates = data.scores(by, None).len();
        let law = weighted_law(&vec![1.0; candidates], draws, 0.0);
        data.check(SelectionSettings::Uniform { by, draws: draws as u64 }, &law, seed)
    });
}

/// Counts of (5, 3, 3, 1, 0, 2, 0) units, each at its two largest rows of up to three.
fn counted() -> (Data, [u32; 7]) {
    let units: [&[(u32, &[f32])]; 7] = [
        &[(0, &[0.5]), (1, &[0.4]), (6, &[0.1])],
        &[(4, &[0.01]), (0, &[0.5]), (1, &[-0.3])],
        &[(0, &[0.2]), (2, &[0.2])],
        &[(0, &[0.2]), (1, &[0.2])],
        &[(2, &[0.3]), (5, &[-0.3]), (6, &[0.3])],
        &[(0, &[0.9]), (2, &[0.1])],
        &[(3, &[0.4]), (5, &[0.1])],
    ];
    (Data::new(&[(7, 1)], &units), [5, 3, 3, 1, 0, 2, 0])
}

#[test]
fn limited_domain_selection() {
    let (data, counts) = counted();
    // Ties at the end of the domain go to the lower row: (domain, the rows in it, the count beyond it).
    let domains: [(u64, &[usize], u32); 4] =
        [(2, &[0, 1], 3), (3, &[0, 1, 2], 2), (4, &[0, 1, 2, 5], 1), (7, &[0, 1, 2, 3, 5], 0)];
    let mut seed = 5_000;
    for (domain, rows, beyond) in domains {
        for (draws, epsilon, delta) in [(1, 1.0, 0.2), (2, 0.4, 0.5), (domain, 1.5, 0.05)] {
            let bar = f64::from(beyond)
                + 1.0
                + (2.0_f64.min(domain as f64) * draws as f64 / delta).ln() / epsilon;
            let mut weights = [0.0; 7];
            for row in rows {
                weights[*row] = (epsilon * f64::from(counts[*row])).exp();
            }
            let law = weighted_law(&weights, draws as usize, (epsilon * bar).exp());
            let selection = SelectionSettings::LimitedDomain {
                draws,
                domain,
                rows_per_unit: 2,
                epsilon,
                delta,
            };
            seed += 1;
            let p_value = data.check(selection, &law, seed);
            assert!(p_value > FALSE_ALARM, "{draws} of {domain}: {p_value}");
        }
    }
    let empty = Data::new(&[(6, 1)], &[]);
    let selection = SelectionSettings::LimitedDomain {
        draws: 2,
        domain: 3,
        rows_per_unit: 1,
        epsilon: 1.0,
        delta: 0.1,
    };
    empty.select(selection, 1_000, 5_100, |indices| assert!(indices.is_empty()));
}

/// What the checks must catch: laws of slightly wrong selectors.
#[test]
fn wrong_laws_are_caught() {
    let (_, data) = patterns().swap_remove(2);
    let by = By::Coordinate;
    let scores = data.scores(by, Some(0.3));
    let (epsilon, cap, draws) = (2.0, 0.3, 3);
    let selection = SelectionSettings::Exponential { by, draws, epsilon, cap };
    let draws = draws as usize;
    // The factor 2 of the weights dropped; the cap forgotten; one draw more.
    for law in [
        exponential_law(&scores, draws, 2.0 * epsilon, cap),
        exponential_law(&data.scores(by, None), draws, epsilon, cap),
        exponential_law(&scores, draws + 1, epsilon, cap),
    ] {
        assert!(data.check(selection.clone(), &law, 6_000) < FALSE_ALARM);
    }
    let rule = Threshold { hits: 2, threshold: 0.2, threshold_scale: 0.25, query_scale: 0.5 };
    let selection = SelectionSettings::SparseVector {
        by,
        hits: 2,
        order: Default::default(),
        threshold: rule.threshold,
        threshold_epsilon: CHANGE / rule.threshold_scale,
        query_epsilon: 2.0 * CHANGE / rule.query_scale,
        cap: None,
    };
    let scores = data.scores(by, None);
    assert!(data.check(selection.clone(), &sparse_vector_law(&scores, rule), 6_001) > FALSE_ALARM);
    // Where a pass begins is seen.
    assert!(data.check(selection.clone(), &law_from_anywhere(&scores, rule), 6_001) < FALSE_ALARM);
    for wrong in [
        Threshold { hits: 3, ..rule },
        Threshold { threshold_scale: 0.05, ..rule },
        Threshold { query_scale: 0.25, ..rule },
    ] {
        assert!(
            data.check(selection.clone(), &sparse_vector_law(&scores, wrong), 6_001) < FALSE_ALARM
        );
    }
}
