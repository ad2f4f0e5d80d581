//! A recommender: what was released, ready for use. It knows items by their numbers.

use crate::pairs::Pairs;
use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

/// An item with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// Its number.
    pub item: u32,
    /// The larger, the better.
    pub score: f32,
}

/// Every item has a vector by which it asks for others, and one by which it is found. The score of an item for a history is the
/// sum over the history of the inner products of those that ask with the one that is found, and of what single pairs of items say; or,
/// with a prior P (a symmetric matrix), of (P + the sum over the history of the squares a a' of those that ask)^-1 a: what a person with
/// this history is like by least squares.
///
/// # Privacy
/// It is a function of what was released. The histories that it is asked with are not protected by it: they should not leave the
/// machine of whose they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommender {
    dimensions: usize,
    asking: Vec<f32>,
    found: Vec<f32>,
    vectors: Vec<f32>,
    pairs: Pairs,
    prior: Vec<f32>,
}

impl Recommender {
    /// With vectors of any length to tell what items are like.
    pub(crate) fn new(
        dimensions: usize,
        asking: Vec<f32>,
        found: Vec<f32>,
        vectors: Vec<f32>,
    ) -> Self {
        let pairs = Pairs::default();
        Self { dimensions, asking, found, vectors, pairs, prior: Vec::new() }
    }

    /// With what single pairs of items say beside the vectors.
    pub(crate) fn with_pairs(self, pairs: Pairs) -> Self {
        Self { pairs, ..self }
    }

    /// What single pairs of items say beside the vectors.
    pub fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    /// With a prior, row by row; an empty one is none.
    pub(crate) fn with_prior(self, prior: Vec<f32>) -> Self {
        Self { prior, ..self }
    }

    /// The number of items.
    pub fn items(&self) -> usize {
        self.found.len() / self.dimensions.max(1)
    }

    /// The length of a vector. The last entry of each is about what everybody likes.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// By which items ask, one after another.
    pub fn asking(&self) -> &[f32] {
        &self.asking
    }

    /// By which items are found, one after another.
    pub fn found(&self) -> &[f32] {
        &self.found
    }

    /// What items are like, for those that are alike and for the map.
    pub fn vectors(&self) -> &[f32] {
        &self.vectors
    }

    /// The length of what tells what an item is like.
    pub fn likeness(&self) -> usize {
        self.vectors.len() / self.items().max(1)
    }

    /// The prior, row by row; empty if there is none.
    pub fn prior(&self) -> &[f32] {
        &self.prior
    }

    /// What an item is like.
    ///
    /// # Panics
    /// If there is no such item.
    pub fn vector(&self, item: u32) -> &[f32] {
        let size = self.likeness();
        &self.vectors[item as usize * size..][..size]
    }

    fn row<'a>(&self, of: &'a [f32], item: u32) -> &'a [f32] {
        &of[item as usize * self.dimensions..][..self.dimensions]
    }

    fn known<'a>(&self, history: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        let items = self.items();
        history.iter().copied().filter(move |item| (*item as usize) < items)
    }

    /// The items of a history, each once.
    fn distinct(&self, history: &[u32]) -> Vec<u32> {
        let mut distinct: Vec<u32> = self.known(history).collect();
        distinct.sort_unstable();
        distinct.dedup();
        distinct
    }

    /// What makes of a vector that asks the one whose inner products are scores, for a history.
    fn solver(&self, history: &[u32]) -> impl Fn(&[f32]) -> Vec<f32> + use<> {
        let size = self.dimensions;
        let factor = (!self.prior.is_empty()).then(|| {
            let mut squares =
                Mat::from_fn(size, size, |row, column| f64::from(self.prior[row * size + column]));
            for item in history {
                let asking = self.row(&self.asking, *item);
                for (column, other) in asking.iter().enumerate() {
                    for (row, one) in asking.iter().enumerate() {
                        squares[(row, column)] += f64::from(one * other);
                    }
                }
            }
            squares.ldlt(Side::Lower)
        });
        move |asking| match &factor {
            None => asking.to_vec(),
            // What has no solution, because it is no number, says nothing.
            Some(Err(_)) => vec![0.0; size],
            Some(Ok(factor)) => {
                let solved = factor.solve(Mat::from_fn(size, 1, |row, _| f64::from(asking[row])));
                (0..size).map(|row| solved[(row, 0)] as f32).collect()
            }
        }
    }

    /// The scores of all items, whether they are in the history or not. Items that do not exist say nothing, and an item
    /// that comes several times is meant once; a history that says nothing at all asks for what everybody likes.
    pub fn scores(&self, history: &[u32]) -> Vec<f32> {
        let distinct = self.distinct(history);
        let mut question = vec![0.0_f32; self.dimensions];
        for item in &distinct {
            let asking = self.row(&self.asking, *item);
            question.iter_mut().zip(asking).for_each(|(to, from)| *to += from);
        }
        let mut question = self.solver(&distinct)(&question);
        if question.iter().all(|entry| *entry == 0.0)
            && let Some(popular) = question.last_mut()
        {
            *popular = 1.0;
        }
        let found = self.found.chunks(self.dimensions.max(1));
        let mut scores: Vec<f32> = found.map(|found| inner(&question, found)).collect();
        self.pairs.add(&distinct, &mut scores);
        scores
    }

    /// The best items for a history, without those in it, the best first.
    pub fn recommend(&self, history: &[u32], number: usize) -> Vec<Scored> {
        let mut scores = self.scores(history);
        self.known(history).for_each(|item| scores[item as usize] = f32::NEG_INFINITY);
        best(&scores, number)
    }

    /// How much more each item of a history has to do with the score of another than with those of other items on average, the
    /// most first: what it says for all items alike is no reason for one.
    pub fn because(&self, history: &[u32], item: u32) -> Vec<Scored> {
        if item as usize >= self.items() {
            return Vec::new();
        }
        let mut total = vec![0.0; self.dimensions];
        for row in self.found.chunks(self.dimensions) {
            total.iter_mut().zip(row).for_each(|(sum, entry)| *sum += entry);
        }
        let others = (self.items() as f32 - 1.0).max(1.0);
        let history = self.distinct(history);
        let solve = self.solver(&history);
        let term = |one: &u32| {
            let one = *one;
            let asking = solve(self.row(&self.asking, one));
            let to = |found: &[f32]| inner(&asking, found);
            let usual = (to(&total) - to(self.row(&self.found, one))) / others;
            let pair = self.pairs.beyond_usual(one, item, others);
            Scored { item: one, score: to(self.row(&self.found, item)) - usual + pair }
        };
        let mut terms: Vec<Scored> = history.iter().map(term).collect();
        terms.sort_by(|one, other| order(*one, *other));
        terms
    }

    /// The items that are most alike: by the cosine of their vectors, without what everybody likes.
    pub fn similar_items(&self, item: u32, number: usize) -> Vec<Scored> {
        if item as usize >= self.items() {
            return Vec::new();
        }
        let own = |item: u32| self.vector(item);
        let norm = |row: &[f32]| inner(row, row).sqrt().max(f32::MIN_POSITIVE);
        let (to, size) = (own(item), norm(own(item)));
        let mut scores: Vec<f32> = (0..self.items() as u32)
            .map(|other| inner(to, own(other)) / (size * norm(own(other))))
            .collect();
        scores[item as usize] = f32::NEG_INFINITY;
        best(&scores, number)
    }
}

fn inner(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The larger score first, then the smaller number.
fn order(one: Scored, other: Scored) -> std::cmp::Ordering {
    other.score.total_cmp(&one.score).then(one.item.cmp(&other.item))
}

/// The largest finite scores.
fn best(scores: &[f32], number: usize) -> Vec<Scored> {
    let mut all: Vec<Scored> = (0_u32..)
        .zip(scores)
        .map(|(item, score)| Scored { item, score: *score })
        .filter(|scored| scored.score.is_finite())
        .collect();
    if number < all.len() {
        all.select_nth_unstable_by(number, |one, other| order(*one, *other));
        all.truncate(number);
    }
    all.sort_unstable_by(|one, other| order(*one, *other));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items 0 and 1 ask for 1 and 0, and 2 is liked by everybody.
    fn model() -> Recommender {
        let asking = vec![0.0, 1.0, 0.1, 1.0, 0.0, 0.1, 0.0, 0.0, 0.5];
        let found = vec![1.0, 0.0, 0.1, 0.0, 1.0, 0.1, 0.0, 0.0, 0.5];
        Recommender::new(3, asking, found, vec![1.0, 0.0, 0.9, 0.1, 0.0, 1.0])
    }

    fn items(scored: &[Scored]) -> Vec<u32> {
        scored.iter().map(|it| it.item).collect()
    }

    #[test]
    fn a_history_asks_for_what_goes_with_it() {
        let model = model();
        assert_eq!(items(&model.recommend(&[0], 5)), [1, 2]);
        assert_eq!(items(&model.recommend(&[0, 0, 9], 1)), [1]);
        assert_eq!(items(&model.because(&[2, 0, 0, 7], 1)), [0, 2]);
        assert!(model.because(&[0], 7).is_empty() && model.similar_items(7, 3).is_empty());
        assert_eq!(items(&model.similar_items(0, 5)), [1, 2]);
    }

    /// By hand: with prior 1 and items (1, 0) and (1, 1), the squares are (3, 1; 1, 2) and their sum is (2, 1).
    #[test]
    fn a_prior_makes_a_history_a_person_by_least_squares() {
        let rows = vec![1.0, 0.0, 1.0, 1.0, 0.0, 1.0];
        let model = Recommender::new(2, rows.clone(), rows, vec![]);
        let model = model.with_prior(vec![1.0, 0.0, 0.0, 1.0]);
        let scores = model.scores(&[0, 1, 1]);
        // (3, 1; 1, 2)^-1 (2, 1) = (3, 1) / 5.
        for (score, expected) in scores.iter().zip([0.6, 0.8, 0.2]) {
            assert!((score - expected).abs() < 1e-6, "{scores:?}");
        }
        let why = model.because(&[0, 1], 2);
        assert_eq!(items(&why), [1, 0]);
    }

    #[test]
    fn a_history_that_says_nothing_asks_for_what_everybody_likes() {
        for history in [&[][..], &[9, 10]] {
            assert_eq!(items(&model().recommend(history, 2)), [2, 0]);
        }
        assert!(Recommender::new(1, vec![], vec![], vec![]).recommend(&[3], 2).is_empty());
    }
}
