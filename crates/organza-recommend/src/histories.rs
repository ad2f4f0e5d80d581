//! Who did what: a row a person, every item once.

use serde::Serialize;

/// The weight of an event that counts in full.
pub const FULL_WEIGHT: u16 = u16::MAX;

/// The items of every person, in rows (a sparse matrix by rows, CSR). *This is the data*: nothing of it is private yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Histories {
    items: usize,
    starts: Vec<usize>,
    entries: Vec<(u32, u16)>,
}

impl Histories {
    /// Nobody yet; items are numbered from 0 to below `items`.
    pub fn new(items: usize) -> Self {
        Self { items, starts: vec![0], entries: Vec::new() }
    }

    /// A row of items a person, all of the same weight.
    pub fn of_rows<R: IntoIterator<Item = u32>>(
        items: usize,
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        let mut histories = Self::new(items);
        for row in rows {
            let mut row: Vec<(u32, u16)> =
                row.into_iter().map(|item| (item, FULL_WEIGHT)).collect();
            histories.push(&mut row);
        }
        histories
    }

    /// Adds a person: (item, weight) in any order. An item that comes several times counts once, with its largest weight;
    /// items that do not exist and weights of zero are left out. The row is used up.
    pub fn push(&mut self, row: &mut Vec<(u32, u16)>) {
        let items = self.items;
        row.retain(|(item, weight)| (*item as usize) < items && *weight > 0);
        row.sort_unstable_by(|one, other| one.0.cmp(&other.0).then(other.1.cmp(&one.1)));
        row.dedup_by_key(|(item, _)| *item);
        self.entries.append(row);
        self.starts.push(self.entries.len());
    }

    /// The number of persons. *Not private.*
    pub fn persons(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of items, whether anybody has them or not.
    pub fn items(&self) -> usize {
        self.items
    }

    /// The items of a person with their weights, in the order of items. *Not private.*
    pub fn person(&self, person: usize) -> &[(u32, u16)] {
        &self.entries[self.starts[person]..self.starts[person + 1]]
    }

    /// All persons.
    pub fn rows(&self) -> impl Iterator<Item = &[(u32, u16)]> {
        self.starts.windows(2).map(|ends| &self.entries[ends[0]..ends[1]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_counts_once_with_its_largest_weight() {
        let mut histories = Histories::new(5);
        histories.push(&mut vec![(3, 7), (1, 2), (3, 9), (5, 9), (2, 0), (3, 1)]);
        histories.push(&mut Vec::new());
        assert_eq!(histories.person(0), [(1, 2), (3, 9)]);
        assert_eq!((histories.persons(), histories.person(1).len()), (2, 0));
    }
}
