//! How good recommendations are, for whoever holds the data. *Not private.*

use crate::histories::Histories;
use crate::model::Recommender;
use organza_progress::{Size, Stage};
use serde::{Deserialize, Serialize};

/// At most so many persons are looked at.
const MOST_PERSONS: usize = 1_000;
/// The part of a history that is hidden, and has to be found.
const HIDDEN: f64 = 0.2;
/// The length of the lists.
const FOUND: usize = 20;
const RANKED: usize = 100;

/// Means over persons with something to find. *Not private.*
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// How many persons.
    pub persons: usize,
    /// Recall@20: what was found of the hidden items among the first 20, over the most that could be.
    pub recall: f64,
    /// NDCG@100: the same with a place counting the less the later it is.
    pub ndcg: f64,
    /// Recall@20 of the items that everybody likes.
    pub popular_recall: f64,
}

/// Hides a fifth of the items of persons, and looks whether they are found by the rest. `items` are the numbers in the
/// histories of the model's items. The model has seen these persons, if through noise.
pub(crate) fn quality(histories: &Histories, items: &[u32], model: &Recommender) -> Quality {
    let mut place = vec![None; histories.items()];
    for (number, item) in (0_u32..).zip(items) {
        place[*item as usize] = Some(number);
    }
    let step = histories.persons().div_ceil(MOST_PERSONS).max(1);
    let persons = || (0..histories.persons()).step_by(step);
    let stage = Stage::begin("measuring quality", Size::Hidden(2 * persons().len() as u64));
    let rows = || {
        persons().map(|person| {
            stage.add(1);
            let row: Vec<u32> = histories.person(person).iter().map(|(item, _)| *item).collect();
            split(&row, person as u64)
        })
    };
    let own = measure(rows(), |history, number| {
        let known: Vec<u32> = history.iter().filter_map(|item| place[*item as usize]).collect();
        let all = model.recommend(&known, number);
        all.into_iter().map(|scored| items[scored.item as usize]).collect()
    });
    let popular = measure(rows(), |history, number| {
        let unknown = items.iter().copied().filter(|item| !history.contains(item));
        unknown.take(number).collect()
    });
    Quality { popular_recall: popular.recall, ..own }
}

/// Parts a history into what is known and what has to be found: about a fifth, by chance that the items do not decide.
pub fn split(row: &[u32], seed: u64) -> (Vec<u32>, Vec<u32>) {
    let mut row = row.to_vec();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for place in (1..row.len()).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        row.swap(place, ((state >> 33) % (place as u64 + 1)) as usize);
    }
    let hidden = (HIDDEN * row.len() as f64) as usize;
    let history = row.split_off(hidden);
    (history, row)
}

/// Measures lists: `recommend` is given a history and how long a list to make.
pub fn measure(
    rows: impl Iterator<Item = (Vec<u32>, Vec<u32>)>,
    recommend: impl Fn(&[u32], usize) -> Vec<u32>,
) -> Quality {
    let gain = |place: usize| 1.0 / ((place + 2) as f64).log2();
    let mut quality = Quality::default();
    for (history, hidden) in rows.filter(|(_, hidden)| !hidden.is_empty()) {
        let list = recommend(&history, RANKED);
        let hits: Vec<bool> = list.iter().map(|item| hidden.contains(item)).collect();
        let found = hits.iter().take(FOUND).filter(|hit| **hit).count();
        quality.recall += found as f64 / hidden.len().min(FOUND) as f64;
        let reached: f64 =
            hits.iter().enumerate().filter(|(_, hit)| **hit).map(|(at, _)| gain(at)).sum();
        quality.ndcg += reached / (0..hidden.len().min(RANKED)).map(gain).sum::<f64>();
        quality.persons += 1;
    }
    let persons = quality.persons.max(1) as f64;
    Quality { recall: quality.recall / persons, ndcg: quality.ndcg / persons, ..quality }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_first_counts_in_full() {
        let rows = || [(vec![1], vec![2, 3]), (vec![1, 2], vec![])].into_iter();
        let all = measure(rows(), |_, _| vec![3, 2]);
        assert_eq!((all.persons, all.recall), (1, 1.0));
        assert!((all.ndcg - 1.0).abs() < 1e-12);
        let half = measure(rows(), |_, _| vec![9, 2]);
        assert!(half.recall == 0.5 && half.ndcg < 0.5);
        assert_eq!(measure(std::iter::empty(), |_, _| vec![]).recall, 0.0);
    }

    #[test]
    fn a_fifth_is_hidden() {
        let row: Vec<u32> = (0..50).collect();
        let (history, hidden) = split(&row, 3);
        assert_eq!((history.len(), hidden.len()), (40, 10));
        assert!(hidden.iter().all(|item| !history.contains(item)));
        assert!(split(&[7], 0).1.is_empty());
    }
}
