//! The noisy covariance of items (McSherry and Mironov, KDD 2009), to compare with.
//!
//! They released the sum over persons of the products of what each thought of two films, every film of a person weighted so that
//! all of them together count as one, added noise once, took the leading part of it, and recommended by the similarity of films. Here
//! the person is the unit: the cells of a person have L2 norm 1, the diagonal among them ([`GramPlan`]), and there are
//! no stars, so that there is nothing to centre.
//!
//! [`GramPlan`]: organza_mechanism::GramPlan

use super::model;
use crate::fit::Released;
use crate::model::Recommender;
use crate::release::NoisyItems;
use crate::spectrum::leading;
use faer::Mat;

/// The rank of the part that is taken, a public number.
const RANK: usize = 20;

/// The score of an item for a history is the sum of its cosines with the items of the history, times the root of its deviation, so that
/// what is rare and mostly noise does not come first.
///
/// # Privacy
/// A post-processing of the counts and the table.
pub(crate) fn fit(items: &NoisyItems, released: &Released) -> Recommender {
    let size = released.table.nrows();
    let edge = 2.0 * released.deviation * (size as f64).sqrt();
    let (values, vectors) = leading(released.table.as_ref(), edge, RANK);
    let rank = vectors.ncols();
    let factors = Mat::from_fn(size, rank, |row, column| {
        vectors[(row, column)] * values[column].max(0.0).sqrt()
    });
    // An item of a zero vector has no cosine, and is alike to none.
    let norm = |row: usize| factors.row(row).norm_l2().max(f64::MIN_POSITIVE.sqrt());
    let over = |power: f64| {
        let entry = |row, column| factors[(row, column)] / norm(row).powf(power);
        Mat::from_fn(size, rank, entry)
    };
    model(items, &over(1.0), &over(0.5), &factors)
}
