//! Matrix factorisation by DP-SGD, to compare with: the engine samples persons, clips the gradient of each, and adds noise.

use super::popular;
use crate::histories::Histories;
use crate::model::Recommender;
use crate::release::NoisyItems;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{fill_normal_f32, unit};
use organza_mechanism::{ReadRows, WriteRows};
use organza_train::settings::TrainingSettings;
use organza_train::{Losses, OptimizerSettings, Task};

/// The length of the vector of an item.
const DIMENSIONS: usize = 16;
/// The deviation of its first entries.
const DEVIATION: f32 = 0.1;
/// Of a person so many items are predicted in a step, each against so many others.
const TARGETS: usize = 8;
const OTHERS: usize = 16;

/// How steps go: public numbers that do well on MovieLens-1M.
pub(crate) fn training() -> TrainingSettings {
    TrainingSettings {
        batch: 500.0,
        epochs: 30.0,
        clip: 0.3,
        optimizer: OptimizerSettings::adam(0.05),
        evaluations: 1,
        ..TrainingSettings::default()
    }
}

/// Vectors of items. A person is the mean h of the vectors v of their items; item j is predicted by h v_j + b_j, where b_j is the
/// logarithm of its noisy count, so that a model that has learned nothing recommends what everybody likes.
///
/// # Privacy
/// In a step some items of a person are predicted by the mean of the others, each against items that are drawn uniformly,
/// by softmax. With probabilities p of the candidates c, the gradient is (p_c - 1 or 0) h for v_c, and the sum over c of (p_c - 1 or
/// 0) v_c, over the number of items in the mean, for each of these. That depends on this person, the counts that were released before and the
/// weights: the engine clips it as one.
#[derive(Debug, Default)]
pub struct Factorisation {
    /// The places of each person's items.
    persons: Vec<Vec<u32>>,
    /// The logarithms of noisy counts; none where there are no steps.
    offsets: Vec<f32>,
}

impl Factorisation {
    pub(crate) fn new(histories: &Histories, items: &NoisyItems) -> Self {
        let rows = super::rows(histories, items).into_iter();
        let persons = rows.map(|row| row.into_iter().map(|(item, _)| item).collect()).collect();
        let offsets = popular(items).into_iter().map(|count| count.max(1e-6).ln()).collect();
        Self { persons, offsets }
    }

    fn items(&self) -> usize {
        self.offsets.len()
    }

    /// The first vectors.
    pub(crate) fn start(&self, random: &mut PrivateRandom) -> Vec<f32> {
        let mut vectors = vec![0.0; self.items().max(1) * DIMENSIONS];
        fill_normal_f32(&mut vectors, random);
        vectors.iter_mut().for_each(|entry| *entry *= DEVIATION);
        vectors
    }

    /// What the vectors recommend: the sum over a history of v_i v_j + b_j is its mean's score times its length.
    pub(crate) fn model(&self, vectors: &[f32]) -> Recommender {
        let with = |last: &dyn Fn(usize) -> f32| -> Vec<f32> {
            let rows = vectors.chunks(DIMENSIONS).take(self.items()).enumerate();
            rows.flat_map(|(item, row)| row.iter().copied().chain([last(item)])).collect()
        };
        let asking = with(&|_| 1.0);
        let found = with(&|item| self.offsets[item]);
        let vectors = vectors[..self.items() * DIMENSIONS].to_vec();
        Recommender::new(DIMENSIONS + 1, asking, found, vectors)
    }
}

fn inner(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

impl Task for Factorisation {
    fn tables(&self) -> Vec<(u64, u64)> {
        vec![(self.items().max(1) as u64, DIMENSIONS as u64)]
    }

    fn units(&self) -> u64 {
        self.persons.len() as u64
    }

    /// The places in the person's row that are predicted, then the candidates against each.
    fn draw(&self, unit_number: u64, random: &mut PrivateRandom, draw: &mut Vec<u32>) {
        let number = self.persons[unit_number as usize].len();
        let mut below = |most: usize| (unit(random) * most as f64) as u32;
        for _ in 0..TARGETS.min(number / 2) {
            draw.push(below(number));
            draw.extend((0..OTHERS).map(|_| below(self.items())));
        }
    }

    fn gradient(
        &self,
        unit: u64,
        draw: &[u32],
        weights: &dyn ReadRows,
        gradient: &mut dyn WriteRows,
    ) {
        let row = &self.persons[unit as usize];
        let predicted = || draw.chunks_exact(1 + OTHERS).map(|chunk| chunk[0]);
        let known: Vec<u32> = (0_u32..)
            .zip(row)
            .filter(|(place, _)| !predicted().any(|it| it == *place))
            .map(|(_, item)| *item)
            .collect();
        let part = 1.0 / known.len().max(1) as f32;
        let mut mean = [0.0; DIMENSIONS];
        for item in &known {
            let vector = weights.row(*item);
            mean.iter_mut().zip(vector).for_each(|(sum, entry)| *sum += part * entry);
        }
        let mut back = [0.0; DIMENSIONS];
        for chunk in draw.chunks_exact(1 + OTHERS) {
            let candidates =
                || [row[chunk[0] as usize]].into_iter().chain(chunk[1..].iter().copied());
            let scores: Vec<f32> = candidates()
                .map(|item| inner(&mean, weights.row(item)) + self.offsets[item as usize])
                .collect();
            let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let total: f32 = scores.iter().map(|score| (score - most).exp()).sum();
            for (place, (item, score)) in candidates().zip(&scores).enumerate() {
                let miss = (score - most).exp() / total - f32::from(u8::from(place == 0));
                let vector = weights.row(item);
                back.iter_mut().zip(vector).for_each(|(sum, entry)| *sum += miss * entry);
                gradient.row(item).iter_mut().zip(mean).for_each(|(sum, it)| *sum += miss * it);
            }
        }
        for item in &known {
            gradient.row(*item).iter_mut().zip(back).for_each(|(sum, it)| *sum += part * it);
        }
    }

    fn evaluate(&self, _: &dyn ReadRows) -> Losses {
        Losses { train: f64::NAN, validation: f64::NAN, test: f64::NAN }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use organza_mechanism::{FlatRows, PlainSum, Purpose, RandomSource, Shape};

    /// As the doc comment has it.
    fn loss(task: &Factorisation, draw: &[u32], vectors: &[f64]) -> f64 {
        let vector = |item: u32| &vectors[item as usize * DIMENSIONS..][..DIMENSIONS];
        let row = &task.persons[0];
        let targets: Vec<u32> = draw.chunks(1 + OTHERS).map(|chunk| chunk[0]).collect();
        let known: Vec<u32> = (0..row.len() as u32).filter(|it| !targets.contains(it)).collect();
        let mean: Vec<f64> = (0..DIMENSIONS)
            .map(|at| known.iter().map(|it| vector(row[*it as usize])[at]).sum::<f64>())
            .map(|sum| sum / known.len() as f64)
            .collect();
        let score = |item: u32| {
            let inner: f64 = mean.iter().zip(vector(item)).map(|(one, other)| one * other).sum();
            inner + f64::from(task.offsets[item as usize])
        };
        let of_target = |chunk: &[u32]| {
            let target = score(row[chunk[0] as usize]);
            let others: f64 = chunk[1..].iter().map(|item| score(*item).exp()).sum();
            (target.exp() + others).ln() - target
        };
        draw.chunks(1 + OTHERS).map(of_target).sum()
    }

    #[test]
    fn the_gradient_is_that_of_the_loss() {
        let items = NoisyItems {
            items: (0..12).collect(),
            counts: (0..12).map(|item| f64::from(30 - item)).collect(),
            deviation: 1.0,
            total: 300.0,
        };
        let histories = Histories::of_rows(12, [vec![0, 3, 4, 7, 9, 11]]);
        let task = Factorisation::new(&histories, &items);
        let source = RandomSource::from_seed(1);
        let mut random = source.substream(Purpose::Data, 0, 0);
        let mut draw = Vec::new();
        task.draw(0, &mut random, &mut draw);
        assert_eq!(draw.len(), 3 * (1 + OTHERS));
        let vectors: Vec<f32> = task.start(&mut random).iter().map(|it| 5.0 * it).collect();
        let shape = Shape::tables(&task.tables()).unwrap();
        let mut sum = PlainSum::new(shape.clone());
        task.gradient(0, &draw, &FlatRows::new(shape, &vectors), &mut sum);
        let mut gradient = vec![0.0; vectors.len()];
        sum.drain(1.0, true, |first, row| {
            gradient[first as usize..][..row.len()].copy_from_slice(row)
        });
        let exact: Vec<f64> = vectors.iter().map(|value| f64::from(*value)).collect();
        for (place, slope) in gradient.iter().enumerate() {
            let at = |by: f64| {
                let mut moved = exact.clone();
                moved[place] += by;
                loss(&task, &draw, &moved)
            };
            let expected = (at(1e-4) - at(-1e-4)) / 2e-4;
            assert!((expected - f64::from(*slope)).abs() < 1e-4, "{place}: {expected} {slope}");
        }
    }
}
