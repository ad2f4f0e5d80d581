//! From a released table to a model: which items it is about, how it scores, how far it is shrunk.
//!
//! # Privacy
//! All of this is a post-processing: it sees noisy counts, the noisy table, public numbers and fresh randomness.

use crate::model::Recommender;
use crate::pairs::{Pair, Pairs};
use crate::spectrum::{Spectrum, eigen, product, product_of_columns};
use faer::{Mat, MatRef};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::fill_normal;
use serde::{Deserialize, Serialize};
use std::f64::consts::SQRT_2;

/// Ridges that are tried, in deviations of the table's noise times the root of its columns.
const RIDGES: [f64; 7] = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];
/// The part of fresh noise in the copy of the table that is fitted, to choose.
const FOLD: f64 = 0.5;
/// Blocks of the most frequent items that are tried: each so much smaller than the one before, down to the last.
const BLOCK_RATIO: f64 = 0.6;
const LEAST_BLOCK: usize = 100;
/// Persons whose mean cosine with what everybody likes is this, or more, are recommended it in full; others in proportion. Found on
/// public data, MovieLens-1M and Gowalla, and on made-up short histories.
const POPULAR_COSINE: f64 = 0.2;
/// Eigenvalues below this part of the ridge are taken for it: they say nothing, and would drown the others in rounding.
const LEAST_VALUE: f64 = 1e-6;
/// Items of histories of this length, or shorter ones, ask for what everybody likes as much again as items do on average. Found on made-up
/// short histories.
const SHORT_LENGTH: f64 = 5.0;
/// A mean cosine above this is taken for it: it is noise.
const LARGEST_COSINE: f64 = 0.9;

/// Cells that are so many deviations above the leading directions are taken for pairs of their own: of 2 million cells of noise
/// about 60 are.
const PAIR_BAR: f64 = 4.0;
/// How much such a pair counts, and what is added to the variance of items, in units of half the edge of the noise. Found on public data:
/// MovieLens-1M and Gowalla.
const PAIR_PART: f64 = 0.3;
const PAIR_RIDGE: f64 = 0.3;

/// How items are scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Score {
    /// By the leading eigenvectors of the table.
    LowRank,
    /// By regression on all other items (EASE), of the leading eigenvectors and a diagonal.
    Regression,
}

/// What was chosen, and what there was to choose from: a function of the release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// How items are scored.
    pub score: Score,
    /// The ridge, in units of half the edge of the noise.
    pub ridge: f64,
    /// The number of items with neighbours; those after them are scored by their popularity alone.
    pub block: usize,
    /// The eigenvalues above the edge of the noise.
    pub eigenvalues: Vec<f64>,
    /// The edge of the noise.
    pub edge: f64,
    /// How much what everybody likes counts beside what is a person's own.
    pub popularity: f64,
    /// The estimated part that is left unexplained.
    pub risk: f64,
}

/// What was released, in the order of the noisy counts.
pub(crate) struct Released {
    /// The symmetric table of rests.
    pub(crate) table: Mat<f64>,
    /// The deviation of the noise of a cell.
    pub(crate) deviation: f64,
    /// By which items were weighted before a person was scaled.
    pub(crate) weights: Vec<f64>,
    /// The direction of what everybody likes, of norm 1.
    pub(crate) direction: Vec<f64>,
    /// The sum over persons of their cosines with it: an inner product with the noisy counts.
    pub(crate) cosines: f64,
    /// The mean entry of the direction, over what persons have.
    pub(crate) usual: f64,
}

impl Released {
    /// How much what everybody likes counts beside what is a person's own: a function of the mean cosine. The number of persons
    /// is not released, but every person has a trace of about sqrt2 in the table.
    fn popularity(&self) -> f64 {
        (self.cosine() / POPULAR_COSINE).clamp(0.0, 1.0)
    }

    fn persons(&self) -> f64 {
        let trace: f64 = (0..self.table.nrows()).map(|item| self.table[(item, item)]).sum();
        (trace / SQRT_2).max(1.0)
    }

    /// How much an item asks for what everybody likes: as far as it is that itself, and the more the shorter histories are, which
    /// say little else. The sum of counts is that of the roots of the lengths of histories.
    fn asked(&self, popular: f64) -> f64 {
        let total = self.cosines / self.usual.max(f64::MIN_POSITIVE);
        let length = (total / self.persons()).powi(2);
        popular + self.usual * (SHORT_LENGTH / length.max(1.0)).min(1.0)
    }

    fn cosine(&self) -> f64 {
        (self.cosines / self.persons()).clamp(0.0, LARGEST_COSINE)
    }

    /// What everybody likes, in the first items, with its eigenvalue before it was taken out: of a person with cosine c
    /// the rests have squares 1 - c^2, which became sqrt2 in the table, so that the part beside them, c^2, became
    /// sqrt2 c^2 / (1 - c^2).
    fn popular(&self, block: usize) -> Popular<'_> {
        let square = self.cosine().powi(2);
        let value = SQRT_2 * self.persons() * square / (1.0 - square);
        Popular { direction: &self.direction[..block], value }
    }
}

/// What everybody likes, as one more direction of the table.
#[derive(Clone, Copy)]
struct Popular<'a> {
    direction: &'a [f64],
    value: f64,
}

/// B = left right' without its diagonal: how much an item says of another.
struct Factors {
    left: Mat<f64>,
    right: Mat<f64>,
}

/// Chooses and fits.
///
/// # Gaussian thinning
/// With noise Z that is drawn anew, of the deviation s of the release G, the noises of G + t Z and G - Z / t are
/// independent: their covariance is s^2 - s^2 = 0, and they are normal. So what is fitted to one may be judged by the
/// other, at no charge. A small t ([`FOLD`]) leaves the first nearly as good as G, so that what suits it suits G; the noise of the
/// second evens out over its many cells. The risk of B on G' is tr((I - B)' G' (I - B)), the squares that are left if every entry is
/// predicted from the other entries of its person; items outside a block are unexplained. What has least risk is fitted to G.
pub(crate) fn fit(released: &Released, random: &mut PrivateRandom) -> (Recommender, Choice) {
    let items = released.table.nrows();
    let noise = symmetric_noise(items, released.deviation, random);
    let first = &released.table + &noise * faer::Scale(FOLD);
    let second = &released.table - &noise * faer::Scale(1.0 / FOLD);
    let total: f64 = (0..items).map(|item| second[(item, item)]).sum();
    let deviation = released.deviation * (1.0 + FOLD * FOLD).sqrt();
    let mut best: Option<(f64, usize, Score, f64)> = None;
    for block in blocks(items) {
        let [train, test] =
            [&first, &second].map(|table| table.as_ref().submatrix(0, 0, block, block));
        let spectrum = Spectrum::new(train, deviation);
        let inside: f64 = (0..block).map(|item| test[(item, item)]).sum();
        for (score, ridge) in settings() {
            let popular = released.popular(block);
            let factors = Factors::new(&spectrum, train, popular, score, ridge);
            let risk = factors.risk(test) + total - inside;
            if best.is_none_or(|(least, ..)| risk < least) {
                best = Some((risk, block, score, ridge));
            }
        }
    }
    let (risk, block, score, ridge) = best.unwrap_or((total, items, Score::LowRank, 1.0));
    let table = released.table.as_ref().submatrix(0, 0, block, block);
    let spectrum = Spectrum::new(table, released.deviation);
    let factors = Factors::new(&spectrum, table, released.popular(block), score, ridge);
    let edge = 2.0 * spectrum.half_edge;
    let risk = if total > 0.0 { risk / total } else { 1.0 };
    let popularity = released.popularity();
    let model = factors.model(released, popularity, &spectrum);
    let model = model.with_pairs(pairs(released, &spectrum));
    let choice =
        Choice { score, ridge, block, eigenvalues: spectrum.values, edge, popularity, risk };
    (model, choice)
}

/// Cells of the table that stand out of its noise beside the leading directions: what they leave of cell (i, j), over the root of what
/// they leave of the variances of i and j.
fn pairs(released: &Released, spectrum: &Spectrum) -> Pairs {
    let Spectrum { shrunk, vectors, half_edge, .. } = spectrum;
    let (block, rank) = (vectors.nrows(), vectors.ncols());
    let table = &released.table;
    let scaled = Mat::from_fn(block, rank, |row, column| vectors[(row, column)] * shrunk[column]);
    let kept = product(scaled.as_ref(), vectors.as_ref().transpose());
    let ridge = PAIR_RIDGE * half_edge;
    let variance: Vec<f64> = (0..block)
        .map(|item| (table[(item, item)] - kept[(item, item)]).max(0.0) + ridge)
        .collect();
    let bar = PAIR_BAR * released.deviation;
    let mut pairs = Vec::new();
    for found in 0..block {
        for asking in (0..block).filter(|asking| *asking != found) {
            let rest = table[(asking, found)] - kept[(asking, found)];
            if rest > bar {
                let part = PAIR_PART * rest / (variance[asking] * variance[found]).sqrt();
                let score = (released.weights[asking] * part) as f32;
                pairs.push(Pair { asking: asking as u32, found: found as u32, score });
            }
        }
    }
    Pairs::new(pairs)
}

fn settings() -> impl Iterator<Item = (Score, f64)> {
    let scores = [Score::Regression, Score::LowRank];
    scores.into_iter().flat_map(|score| RIDGES.map(|ridge| (score, ridge)))
}

fn blocks(items: usize) -> Vec<usize> {
    let mut blocks = vec![items];
    while let Some(last) = blocks.last()
        && let next = (*last as f64 * BLOCK_RATIO) as usize
        && next >= LEAST_BLOCK
    {
        blocks.push(next);
    }
    blocks
}

fn symmetric_noise(size: usize, deviation: f64, random: &mut PrivateRandom) -> Mat<f64> {
    let mut noise = Mat::zeros(size, size);
    let mut column_of = vec![0.0; size];
    for column in 0..size {
        fill_normal(&mut column_of[..=column], random);
        for (row, value) in column_of[..=column].iter().enumerate() {
            noise[(row, column)] = deviation * value;
            noise[(column, row)] = deviation * value;
        }
    }
    noise
}

impl Factors {
    /// One column more than the spectrum has: the last is about what everybody likes.
    ///
    /// # Why popularity comes back
    /// Rests are orthogonal to the popular direction, so that every entry follows from the others without any taste. A regression on rests
    /// alone finds that out, and takes popularity away from items that are not in a history, most where histories are
    /// short. With the popular direction in the table there is nothing of the kind to find.
    fn new(
        spectrum: &Spectrum,
        table: MatRef<'_, f64>,
        popular: Popular<'_>,
        score: Score,
        ridge: f64,
    ) -> Self {
        let Spectrum { shrunk, vectors, half_edge, .. } = spectrum;
        let ridge = (ridge * half_edge).max(f64::MIN_POSITIVE);
        let (items, found) = (vectors.nrows(), vectors.ncols());
        let rank = found + 1;
        let vectors = Mat::from_fn(items, rank, |row, column| match column < found {
            true => vectors[(row, column)],
            false => popular.direction[row],
        });
        match score {
            Score::LowRank => {
                let mut factor: Vec<f64> =
                    shrunk.iter().map(|value| value / (value + ridge)).collect();
                factor.push(0.0);
                let right = Mat::from_fn(items, rank, |row, column| {
                    vectors[(row, column)] * factor[column]
                });
                Self { left: vectors, right }
            }
            // The inverse P of V e V' + rest by Woodbury's formula; B is -P over its diagonal, column by column.
            Score::Regression => {
                let rest: Vec<f64> = (0..items)
                    .map(|row| {
                        let kept: f64 = (0..found)
                            .map(|column| shrunk[column] * vectors[(row, column)].powi(2))
                            .sum();
                        (table[(row, row)] - kept).max(0.0) + ridge
                    })
                    .collect();
                let left =
                    Mat::from_fn(items, rank, |row, column| vectors[(row, column)] / rest[row]);
                let mut inner = product_of_columns(&vectors, &left);
                for (place, value) in shrunk.iter().chain([&popular.value]).enumerate() {
                    inner[(place, place)] += 1.0 / value.max(LEAST_VALUE * ridge);
                }
                let (values, turns) = eigen(inner.as_ref());
                let scaled = Mat::from_fn(rank, rank, |row, column| {
                    turns[(row, column)] / values[column].max(f64::MIN_POSITIVE)
                });
                let inverse = product(scaled.as_ref(), turns.as_ref().transpose());
                let mut right = product(left.as_ref(), inverse.as_ref());
                for row in 0..items {
                    let own: f64 =
                        (0..rank).map(|column| left[(row, column)] * right[(row, column)]).sum();
                    let diagonal = (1.0 / rest[row] - own).max(f64::MIN_POSITIVE);
                    (0..rank).for_each(|column| right[(row, column)] /= diagonal);
                }
                Self { left, right }
            }
        }
    }

    /// The diagonal of left right'.
    fn diagonal(&self) -> Vec<f64> {
        let Self { left, right } = self;
        let own = |row: usize| {
            (0..left.ncols()).map(|column| left[(row, column)] * right[(row, column)]).sum()
        };
        (0..left.nrows()).map(own).collect()
    }

    /// tr((I - B)' G (I - B)), where I - B = E - left right' with a diagonal E.
    fn risk(&self, table: MatRef<'_, f64>) -> f64 {
        let Self { left, right } = self;
        let image = product(table, left.as_ref());
        let inner = product_of_columns(left, &image);
        let outer = product_of_columns(right, right);
        let both = |one: &Mat<f64>, other: &Mat<f64>, row: usize| -> f64 {
            (0..one.ncols()).map(|column| one[(row, column)] * other[(row, column)]).sum()
        };
        let explained: f64 = (0..left.ncols()).map(|row| both(&inner, &outer, row)).sum();
        let rows = self.diagonal().into_iter().enumerate().map(|(row, own)| {
            let whole = 1.0 + own;
            whole * whole * table[(row, row)] - 2.0 * whole * both(&image, right, row)
        });
        rows.sum::<f64>() + explained
    }

    /// The score of item j is the popular part a p_j of the history, as far as that counts (c), and the rest r = u - a p
    /// through B, which is left right' without its diagonal D:
    ///
    /// sum of r_i B_ij + c a p_j = sum over the history of u_i (left_i - p_i left'p) right_j + a p_j (c + D_j),
    ///
    /// where a = sum of u_i p_i, because r_j = -a p_j for an item that is not in the history; in c a p_j short histories count
    /// more ([`Released::asked`]). So each
    /// item has a vector by which it asks and one by which it is found, and a score is a sum of inner products.
    fn model(&self, released: &Released, popularity: f64, spectrum: &Spectrum) -> Recommender {
        let Self { left, right } = self;
        let Released { weights, direction, .. } = released;
        let (block, rank) = (left.nrows(), left.ncols());
        let along: Vec<f64> = (0..rank)
            .map(|column| (0..block).map(|row| left[(row, column)] * direction[row]).sum())
            .collect();
        let diagonal = self.diagonal();
        let dimensions = rank + 2;
        let mut asking = Vec::with_capacity(direction.len() * dimensions);
        let mut found = Vec::with_capacity(direction.len() * dimensions);
        let mut vectors = Vec::with_capacity(direction.len() * rank);
        for (item, (popular, weight)) in direction.iter().zip(weights).enumerate() {
            let inside = item < block;
            for (column, along) in along.iter().enumerate() {
                let own = if inside { left[(item, column)] } else { 0.0 };
                asking.push((weight * (own - popular * along)) as f32);
                found.push(if inside { right[(item, column)] as f32 } else { 0.0 });
                // Items are alike without what everybody likes.
                let part = match spectrum.shrunk.get(column) {
                    Some(value) if inside => spectrum.vectors[(item, column)] * value.sqrt(),
                    _ => 0.0,
                };
                vectors.push(part as f32);
            }
            let own = if inside { diagonal[item] } else { 0.0 };
            asking.push((weight * popular) as f32);
            found.push((popular * own) as f32);
            asking.push((weight * popularity * released.asked(*popular)) as f32);
            found.push(*popular as f32);
            vectors.push(0.0);
        }
        Recommender::new(dimensions, asking, found, vectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use organza_mechanism::sample::unit;
    use organza_mechanism::{Purpose, RandomSource};

    fn table() -> Mat<f64> {
        Mat::from_fn(40, 40, |row, column| {
            let same = row % 4 == column % 4;
            if row == column {
                9.0
            } else if same {
                3.0
            } else {
                0.2
            }
        })
    }

    /// Against the dense inverse and the definition.
    #[test]
    fn scores_and_risk_are_what_they_are_said_to_be() {
        let table = table();
        let spectrum = Spectrum::new(table.as_ref(), 0.01);
        for (score, ridge) in settings() {
            let popular = Popular { direction: &[0.0; 40], value: 0.0 };
            let factors = Factors::new(&spectrum, table.as_ref(), popular, score, ridge);
            let mut made = product(factors.left.as_ref(), factors.right.as_ref().transpose());
            (0..40).for_each(|item| made[(item, item)] = 0.0);
            let rest = Mat::from_fn(40, 40, |row, column| {
                f64::from(u8::from(row == column)) - made[(row, column)]
            });
            let image = product(table.as_ref(), rest.as_ref());
            let risk: f64 = (0..40).map(|row| product_of_columns(&rest, &image)[(row, row)]).sum();
            // Of a trace of 360, after the inverse of a nearly singular table.
            let off = factors.risk(table.as_ref()) - risk;
            assert!(off.abs() < 1e-5 * risk.max(360.0), "{score:?} {ridge}: {off} of {risk}");
            if score == Score::Regression {
                // P (G + rest) = I, column by column: B solves the regression of each item on all others.
                let ridge = ridge * spectrum.half_edge;
                for column in 0..40 {
                    for row in (0..40).filter(|row| *row != column) {
                        let inner: f64 =
                            (0..40).map(|other| table[(row, other)] * rest[(other, column)]).sum();
                        let penalty = ridge * rest[(row, column)];
                        assert!((inner + penalty).abs() < 0.2, "{inner} {penalty}");
                    }
                }
            }
        }
    }

    #[test]
    fn groups_are_found_again() {
        let noise = symmetric_noise(
            40,
            0.1,
            &mut RandomSource::from_seed(1).substream(Purpose::Data, 0, 0),
        );
        let released = Released {
            table: &table() + &noise,
            deviation: 0.1,
            weights: vec![1.0; 40],
            direction: vec![1.0 / 40_f64.sqrt(); 40],
            cosines: 50.0,
            usual: 0.1,
        };
        let mut random = RandomSource::from_seed(2).substream(Purpose::Initialisation, 0, 0);
        let (model, choice) = fit(&released, &mut random);
        assert!(choice.risk < 0.9 && choice.block == 40, "{choice:?}");
        let next: Vec<u32> = model.recommend(&[0, 4], 8).into_iter().map(|it| it.item).collect();
        assert!(next.iter().all(|item| item % 4 == 0 && *item > 4), "{next:?}");
    }

    /// Rests of persons who have nothing but popular items, in different numbers: popularity is what should be recommended. The
    /// twin, a regression on rests alone, recommends the opposite.
    #[test]
    fn short_histories_are_recommended_what_everybody_likes() {
        let items = 30;
        let likes: Vec<f64> = (0..items).map(|item| 1.0 / (1.0 + item as f64)).collect();
        let norm = likes.iter().map(|it| it * it).sum::<f64>().sqrt();
        let direction: Vec<f64> = likes.iter().map(|it| it / norm).collect();
        let mut random = RandomSource::from_seed(5).substream(Purpose::Data, 0, 0);
        let (mut table, mut cosines) = (Mat::zeros(items, items), 0.0);
        for _ in 0..20_000 {
            let row: Vec<f64> = likes
                .iter()
                .map(|like| f64::from(u8::from(unit(&mut random) < 0.7 * like)))
                .collect();
            let own: f64 = row.iter().sum();
            let along: f64 = row.iter().zip(&direction).map(|(it, to)| it * to).sum();
            let rest: Vec<f64> =
                row.iter().zip(&direction).map(|(it, to)| it - along * to).collect();
            let squares = rest.iter().map(|it| it * it).sum::<f64>();
            if own > 0.0 {
                cosines += along / own.sqrt();
                let scale = SQRT_2 / squares;
                table += Mat::from_fn(items, items, |one, other| scale * rest[one] * rest[other]);
            }
        }
        let weights = vec![1.0; items];
        let released = Released { table, deviation: 1.0, weights, direction, cosines, usual: 0.1 };
        let spectrum = Spectrum::new(released.table.as_ref(), 1.0);
        let first = |popular: Popular<'_>| {
            let table = released.table.as_ref();
            let factors = Factors::new(&spectrum, table, popular, Score::Regression, 0.1);
            let model = factors.model(&released, released.popularity(), &spectrum);
            let list = model.recommend(&[20], 5);
            list.iter().filter(|scored| scored.item < 8).count()
        };
        assert!(first(released.popular(items)) >= 4);
        let twin = Popular { value: 0.0, ..released.popular(items) };
        assert!(first(twin) < 4, "the twin recommends {} popular items", first(twin));
    }
}
