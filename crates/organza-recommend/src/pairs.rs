//! Pairs of items that say more of each other than the leading directions do: few, so they are listed.

/// How much an item says of another beside their vectors, in the order of the items that ask.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs(Vec<Pair>);

/// What one item says of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The item of the history.
    pub asking: u32,
    /// The item that is found by it.
    pub found: u32,
    /// What is added to its score.
    pub score: f32,
}

impl Pairs {
    /// Sorted by the items that ask, then by those that are found.
    pub(crate) fn new(mut pairs: Vec<Pair>) -> Self {
        pairs.sort_by_key(|pair| (pair.asking, pair.found));
        Self(pairs)
    }

    /// All of them.
    pub fn all(&self) -> &[Pair] {
        &self.0
    }

    /// What an item asks for.
    fn of(&self, asking: u32) -> &[Pair] {
        let from = self.0.partition_point(|pair| pair.asking < asking);
        let length = self.0[from..].partition_point(|pair| pair.asking == asking);
        &self.0[from..from + length]
    }

    /// Adds what the items of a history, each once, say of all others.
    pub(crate) fn add(&self, history: &[u32], scores: &mut [f32]) {
        for pair in history.iter().flat_map(|item| self.of(*item)) {
            if let Some(score) = scores.get_mut(pair.found as usize) {
                *score += pair.score;
            }
        }
    }

    /// What one item says of another more than of all `others` on average.
    pub(crate) fn beyond_usual(&self, asking: u32, found: u32, others: f32) -> f32 {
        let of = self.of(asking);
        let own = of.iter().find(|pair| pair.found == found).map_or(0.0, |pair| pair.score);
        own - of.iter().map(|pair| pair.score).sum::<f32>() / others
    }

    /// As (item, item) and score, for a file.
    pub(crate) fn columns(&self) -> (Vec<u32>, Vec<f32>) {
        let items = self.0.iter().flat_map(|pair| [pair.asking, pair.found]).collect();
        (items, self.0.iter().map(|pair| pair.score).collect())
    }

    /// From a file of a model with so many items; none if they do not fit it.
    pub(crate) fn of_columns(items: &[u32], scores: &[f32], most: usize) -> Option<Self> {
        let pair = |(items, score): (&[u32], &f32)| {
            let [asking, found] = *items else { return None };
            let fits = (asking.max(found) as usize) < most && score.is_finite();
            fits.then_some(Pair { asking, found, score: *score })
        };
        let same = items.len() == 2 * scores.len();
        let all: Option<Vec<Pair>> = items.chunks(2).zip(scores).map(pair).collect();
        all.filter(|_| same).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_by_what_asks() {
        let pair = |asking, found, score| Pair { asking, found, score };
        let pairs = Pairs::new(vec![pair(2, 0, 1.0), pair(0, 2, 3.0), pair(2, 1, 5.0)]);
        let mut scores = [0.0; 3];
        pairs.add(&[2], &mut scores);
        assert_eq!(scores, [1.0, 5.0, 0.0]);
        assert_eq!((pairs.of(1).len(), pairs.of(2).len()), (0, 2));
        assert_eq!(pairs.beyond_usual(2, 1, 2.0), 2.0);
        let (items, scores) = pairs.columns();
        assert_eq!(Pairs::of_columns(&items, &scores, 3), Some(pairs));
        assert_eq!(Pairs::of_columns(&items, &scores, 2), None);
        assert_eq!(Pairs::of_columns(&items[1..], &scores, 3), None);
        assert_eq!(Pairs::of_columns(&[0, 1], &[f32::NAN], 3), None);
    }
}
