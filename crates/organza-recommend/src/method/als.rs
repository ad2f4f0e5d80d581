//! Private alternating least squares (Chien et al., ICML 2021), to compare with.
//!
//! Persons have vectors u and items v. In turns each person's vector is fitted to the vectors of items, on the person's own side,
//! and the vectors of items are fitted to noisy sums over persons:
//!
//! u = (sum over own items of v v' + a sum over all items of v v' + r)^-1 (sum over own items of y v),
//! v = (sum over who has it of w u u' + a sum over all persons of w u u' + r)^-1 (sum over who has it of w y u),
//!
//! where y is the weight of an event, w that of a person, and a that of what a person does not have. What was published takes
//! exact counts to choose items; here they are released, and charged.

use super::{model, rows};
use crate::histories::Histories;
use crate::model::Recommender;
use crate::release::NoisyItems;
use crate::spectrum::eigen;
use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use organza_ledger::{Charge, Charged, Event, Neighbouring};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::fill_normal;
use organza_mechanism::{
    Batch, NoiseSettings, PartSum, Plan, PlanSettings, RandomSource, SelectionSettings, Shape,
    WriteRows,
};
use organza_progress::{Size, Stage};
use organza_train::Failure;
use rayon::prelude::*;

/// The length of a vector, and how often those of items are fitted.
const RANK: usize = 16;
pub(crate) const ITERATIONS: u64 = 4;
/// The weight of what a person does not have (a). It and the other constants are public numbers that do well on MovieLens-1M.
const UNOBSERVED: f64 = 1.0;
/// The deviation of the first vectors of items, beside their popularity.
const DEVIATION: f64 = 0.1;
/// The ridge of a person, in mean squares of an entry of the vectors of all items.
const PERSON_RIDGE: f64 = 0.01;
/// The ridge of an item, in half edges of the noise of its squares.
const ITEM_RIDGE: f64 = 30.0;
/// How squares are weighted beside the vectors themselves, in what a person gives.
const SQUARES: f64 = 0.2;
/// The numbers of a row: a vector, and the unordered cells of its square.
const WIDTH: usize = RANK + RANK * (RANK + 1) / 2;

/// The sums of every iteration: a row for each item, and one for all of them.
///
/// # Privacy
/// A person gives s y u and s c U to the row of each of their items and s c U to the row of all, where u has norm 1, U are the
/// unordered cells of u u' and s is such that all of this together has L2 norm 1 ([`given`]). It depends on this person and on vectors that were
/// released before. The plan clips it to norm 1 as one, whatever rounding makes of it, so one person moves the sums by at most 1 (2, if
/// they are replaced by another), and every number gets Gaussian noise, drawn exactly. Everybody joins every iteration, so nothing is amplified:
/// an iteration is one Gaussian mechanism of this multiplier.
fn plan(items: usize, neighbouring: Neighbouring, noise: f64) -> Result<Plan, Failure> {
    Ok(Plan::new(PlanSettings {
        shape: Shape::table(items as u64 + 1, WIDTH as u64)?,
        neighbouring,
        rate: 1.0,
        expected_batch: 1.0,
        clip: 1.0,
        selection: SelectionSettings::Everything,
        noise: NoiseSettings::Gaussian {
            multiplier: noise * (ITERATIONS as f64).sqrt(),
            second_clip: None,
        },
    })?)
}

/// What all iterations cost, whatever the items turn out to be.
pub(crate) fn event(neighbouring: Neighbouring, noise: f64) -> Result<Event, Failure> {
    Ok(plan(1, neighbouring, noise)?.step_event().clone().repeat(ITERATIONS))
}

/// Charges for each iteration, and makes it.
pub(crate) fn fit(
    histories: &Histories,
    items: &NoisyItems,
    (neighbouring, noise): (Neighbouring, f64),
    source: &RandomSource,
    random: &mut PrivateRandom,
    mut charge: impl FnMut(Charge) -> Result<Charged, Failure>,
) -> Result<Recommender, Failure> {
    let persons = rows(histories, items);
    let number = items.items.len();
    let plan = plan(number, neighbouring, noise)?;
    let sampler = plan.sampler("factors", persons.len() as u64, source);
    let mut vectors = first(items, random);
    let stage = Stage::begin("fitting factors", Size::Public(ITERATIONS, "iterations"));
    for iteration in 0..ITERATIONS {
        stage.add(1);
        let paid = charge(sampler.charge(iteration..iteration + 1))?;
        let sums = sums(&persons, &vectors, sampler.batch(iteration, &paid)?);
        vectors = fitted(&sums, plan.noise_deviation());
    }
    let rank = vectors.ncols();
    let prior = prior(&vectors);
    let padded = (0..=rank).flat_map(|row| (0..=rank).map(move |column| (row, column)));
    let padded = padded.map(|(row, column)| match row < rank && column < rank {
        true => prior[(row, column)] as f32,
        false => f32::from(u8::from(row == column)),
    });
    Ok(model(items, &vectors, &vectors, &vectors).with_prior(padded.collect()))
}

/// What all persons give, with noise: the rows of items, then that of all.
fn sums(persons: &[Vec<(u32, f32)>], vectors: &Mat<f64>, batch: Batch) -> Vec<f32> {
    let prior = prior(vectors);
    let parts = batch.split(rayon::current_num_threads()).into_par_iter();
    let parts = parts
        .map(|part| part.sum(|person, to| give(&persons[person as usize], vectors, &prior, to)));
    let sum = PartSum::join(parts.collect::<Vec<_>>());
    let sum = sum.expect("all parts of one batch are there once");
    let mut sums = vec![0.0; (vectors.nrows() + 1) * WIDTH];
    sum.select().noise().visit(|first, values| {
        sums[first as usize..][..values.len()].copy_from_slice(values);
    });
    sums
}

/// Writes what a person gives.
fn give(row: &[(u32, f32)], vectors: &Mat<f64>, prior: &Mat<f64>, to: &mut dyn WriteRows) {
    let weights: Vec<f64> = row.iter().map(|(_, weight)| f64::from(*weight)).collect();
    let Some(given) = given(&taste(row, vectors, prior), &weights) else { return };
    let mut add = |row: u32, weight: f64| {
        let scales = std::iter::repeat_n(weight, RANK).chain(std::iter::repeat(1.0));
        let parts = given.iter().zip(scales).map(|(part, scale)| (scale * part) as f32);
        to.row(row).iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    };
    row.iter().for_each(|(item, weight)| add(*item, f64::from(*weight)));
    add(vectors.nrows() as u32, 0.0);
}

/// First vectors of items: their popularity along the first axis, chance along the others.
fn first(items: &NoisyItems, random: &mut PrivateRandom) -> Mat<f64> {
    let popular = super::popular(items);
    let mut chance = vec![0.0; popular.len() * RANK];
    fill_normal(&mut chance, random);
    Mat::from_fn(popular.len(), RANK, |row, column| match column {
        0 => f64::from(popular[row]),
        _ => DEVIATION * chance[row * RANK + column],
    })
}

/// What is known of a person without items: a sum of squares over all items, and a ridge.
fn prior(vectors: &Mat<f64>) -> Mat<f64> {
    let squares = vectors.transpose() * vectors;
    let trace: f64 = (0..RANK).map(|place| squares[(place, place)]).sum();
    let ridge = PERSON_RIDGE * trace / RANK as f64 + f64::MIN_POSITIVE;
    Mat::from_fn(RANK, RANK, |row, column| {
        UNOBSERVED * squares[(row, column)] + if row == column { ridge } else { 0.0 }
    })
}

/// The vector of a person.
fn taste(row: &[(u32, f32)], vectors: &Mat<f64>, prior: &Mat<f64>) -> Vec<f64> {
    let (mut squares, mut sum) = (prior.clone(), Mat::zeros(RANK, 1));
    for (item, weight) in row {
        let vector = vectors.row(*item as usize);
        for column in 0..RANK {
            sum[(column, 0)] += f64::from(*weight) * vector[column];
            for other in 0..RANK {
                squares[(other, column)] += vector[other] * vector[column];
            }
        }
    }
    solved(&squares, &sum)
}

/// The solution of a symmetric system; nothing, if there is none.
fn solved(matrix: &Mat<f64>, right: &Mat<f64>) -> Vec<f64> {
    match matrix.llt(Side::Lower) {
        Ok(factor) => factor.solve(right).col(0).iter().copied().collect(),
        Err(_) => vec![0.0; RANK],
    }
}

/// What a person who has items of these weights gives to a row of weight 1: s u, then s c U. Nothing without items or a vector.
///
/// # Proof
/// With u of norm 1 and q = sum of squares of U, the squares of all that is given sum to s^2 (sum of y^2 + (n + 1) c^2 q) for n items: u
/// and U go to n rows, U to that of all. So s is the inverse root.
fn given(taste: &[f64], weights: &[f64]) -> Option<Vec<f64>> {
    let norm = taste.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
    if weights.is_empty() || !norm.is_normal() {
        return None;
    }
    let unit: Vec<f64> = taste.iter().map(|entry| entry / norm).collect();
    let cells = (0..RANK).flat_map(|row| (row..RANK).map(move |column| (row, column)));
    let cells: Vec<f64> = cells.map(|(row, column)| SQUARES * unit[row] * unit[column]).collect();
    let squares = |of: &[f64]| of.iter().map(|entry| entry * entry).sum::<f64>();
    let all = squares(weights) + (weights.len() + 1) as f64 * squares(&cells);
    let scale = 1.0 / all.sqrt();
    Some(unit.iter().chain(&cells).map(|entry| scale * entry).collect())
}

/// The vectors of items, from noisy sums of this deviation: a post-processing.
fn fitted(sums: &[f32], deviation: f64) -> Mat<f64> {
    let (items, all) = sums.split_at(sums.len() - WIDTH);
    let ridge = ITEM_RIDGE * deviation / SQUARES * (RANK as f64).sqrt();
    let all = positive(&all[RANK..]);
    let solve = |row: &[f32]| {
        let own = positive(&row[RANK..]);
        let squares = Mat::from_fn(RANK, RANK, |row, column| {
            own[(row, column)]
                + UNOBSERVED * all[(row, column)]
                + if row == column { ridge } else { 0.0 }
        });
        solved(&squares, &Mat::from_fn(RANK, 1, |place, _| f64::from(row[place])))
    };
    let rows: Vec<Vec<f64>> = items.par_chunks(WIDTH).map(solve).collect();
    Mat::from_fn(rows.len(), RANK, |row, column| rows[row][column])
}

/// The positive part of the matrix with these unordered cells, without their weight.
fn positive(cells: &[f32]) -> Mat<f64> {
    let mut matrix = Mat::zeros(RANK, RANK);
    let mut cells = cells.iter().map(|cell| f64::from(*cell) / SQUARES);
    for row in 0..RANK {
        for column in row..RANK {
            let cell = cells.next().unwrap_or(0.0);
            (matrix[(row, column)], matrix[(column, row)]) = (cell, cell);
        }
    }
    let (values, vectors) = eigen(matrix.as_ref());
    let scaled =
        Mat::from_fn(RANK, RANK, |row, column| vectors[(row, column)] * values[column].max(0.0));
    scaled * vectors.transpose()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use organza_ledger::testing::paid;
    use organza_mechanism::Purpose;
    use std::collections::HashMap;

    const ITEMS: usize = 30;

    #[derive(Default)]
    struct Rows(HashMap<u32, Vec<f32>>);

    impl WriteRows for Rows {
        fn row(&mut self, row: u32) -> &mut [f32] {
            self.0.entry(row).or_insert_with(|| vec![0.0; WIDTH])
        }
    }

    fn vectors() -> Mat<f64> {
        let mut chance = vec![0.0; ITEMS * RANK];
        let mut random = RandomSource::from_seed(3).substream(Purpose::Data, 0, 0);
        fill_normal(&mut chance, &mut random);
        Mat::from_fn(ITEMS, RANK, |row, column| chance[row * RANK + column])
    }

    fn person(number: usize) -> Vec<(u32, f32)> {
        (0..number as u32).map(|item| (item, if item % 3 == 0 { 0.25 } else { 1.0 })).collect()
    }

    fn norm(values: impl Iterator<Item = f32>) -> f64 {
        values.map(|value| f64::from(value).powi(2)).sum::<f64>().sqrt()
    }

    /// All that a person gives has norm 1; the twin is scaled for one of the items, and not for all of them together.
    #[test]
    fn a_person_gives_no_more_than_the_bound_whatever_they_have() {
        let vectors = vectors();
        let prior = prior(&vectors);
        for number in [1, 2, 7, ITEMS] {
            let row = person(number);
            let mut rows = Rows::default();
            give(&row, &vectors, &prior, &mut rows);
            assert_eq!(rows.0.len(), number + 1);
            let all = norm(rows.0.values().flatten().copied());
            assert!((all - 1.0).abs() < 1e-6, "{number}: {all}");
            let for_one = given(&taste(&row, &vectors, &prior), &[1.0]).unwrap();
            let twin = norm(row.iter().flat_map(|_| for_one.iter().map(|part| *part as f32)));
            assert!(number == 1 || twin > 1.1, "{number}: {twin}");
        }
        let mut none = Rows::default();
        give(&[], &vectors, &prior, &mut none);
        assert!(none.0.is_empty());
    }

    /// Neighbours with the same noise: what is released differs by at most 1, within a step of the grid for each number.
    /// The twin counts the person twice.
    #[test]
    fn one_person_moves_what_is_released_by_the_bound() {
        let vectors = vectors();
        let plan = plan(ITEMS, Neighbouring::AddRemove, 1.0).unwrap();
        let sums = |persons: &[Vec<(u32, f32)>]| {
            let source = RandomSource::from_seed(5);
            let sampler = plan.sampler("factors", persons.len() as u64, &source);
            let batch = sampler.batch(0, &paid(sampler.charge(0..1))).unwrap();
            sums(persons, &vectors, batch)
        };
        let others: Vec<_> = (1..9).map(person).collect();
        let moved = |more: &[Vec<(u32, f32)>]| {
            let with = sums(&[&others[..], more].concat());
            norm(with.into_iter().zip(sums(&others)).map(|(one, other)| one - other))
        };
        let busy = person(ITEMS);
        assert!(moved(std::slice::from_ref(&busy)) < 1.001);
        assert!(moved(&[busy.clone(), busy]) > 1.9);
    }
}
