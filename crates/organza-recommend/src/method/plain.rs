//! What can be had *without privacy*, to compare with: EASE (Steck, WWW 2019), and the leading eigenvectors of the table of pairs
//! (PureSVD; Cremonesi et al., RecSys 2010).

use super::{model, rows};
use crate::histories::Histories;
use crate::model::Recommender;
use crate::release::NoisyItems;
use crate::settings::Method;
use crate::spectrum::leading;
use faer::linalg::solvers::DenseSolveCore;
use faer::{Mat, Side};

/// The ridge of EASE, in persons.
const RIDGE: f64 = 200.0;
/// The number of eigenvectors: this, or, if that is fewer, an eighth of the items.
const RANK: usize = 50;
const RANK_OF_ITEMS: usize = 8;

/// The most frequent items, and the model. *Not private.*
pub(crate) fn fit(histories: &Histories, method: Method, most: usize) -> (NoisyItems, Recommender) {
    let mut counts = vec![0.0; histories.items()];
    for row in histories.rows() {
        row.iter().for_each(|(item, _)| counts[*item as usize] += 1.0);
    }
    let items = NoisyItems::sorted((0..).zip(counts).collect(), 0.0).kept(most, f64::INFINITY);
    let table = table(histories, &items);
    let size = table.nrows();
    let (_, vectors) = leading(table.as_ref(), 0.0, RANK.min(size.div_ceil(RANK_OF_ITEMS)));
    // The first one is about what everybody likes.
    let likeness = Mat::from_fn(size, vectors.ncols().saturating_sub(1), |row, column| {
        vectors[(row, column + 1)]
    });
    let model = match method {
        Method::Ease => {
            let ridged = Mat::from_fn(size, size, |row, column| {
                table[(row, column)] + if row == column { RIDGE } else { 0.0 }
            });
            // With a ridge it is positive definite.
            let inverse = ridged.llt(Side::Lower).map(|factor| factor.inverse());
            let inverse = inverse.unwrap_or_else(|_| Mat::identity(size, size));
            let found = Mat::from_fn(size, size, |item, from| match item == from {
                true => 0.0,
                false => -inverse[(from, item)] / inverse[(item, item)],
            });
            model(&items, &Mat::identity(size, size), &found, &likeness)
        }
        _ => model(&items, &vectors, &vectors, &likeness),
    };
    (items, model)
}

/// How many persons have both of two items, by their weights. *Not private.*
fn table(histories: &Histories, items: &NoisyItems) -> Mat<f64> {
    let size = items.items.len();
    let mut table = Mat::zeros(size, size);
    for row in rows(histories, items) {
        for (one, weight) in &row {
            for (other, more) in &row {
                table[(*other as usize, *one as usize)] += f64::from(weight * more);
            }
        }
    }
    table
}
