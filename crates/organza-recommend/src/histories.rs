//! Who did what: a row a person, every item once.

use serde::ser::{Serialize, SerializeSeq, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The weight of an event that counts in full.
pub const FULL_WEIGHT: u16 = u16::MAX;

/// The items of every person, in rows (a sparse matrix by rows, CSR). *This is the data*: nothing of it is private yet.
#[derive(Clone, Debug)]
pub struct Histories {
    items: usize,
    rows: Rows,
}

#[derive(Clone)]
enum Rows {
    Own {
        starts: Vec<usize>,
        entries: Vec<(u32, u16)>,
    },
    /// Somebody else keeps them.
    Lent(Arc<dyn LentRows>),
}

/// Rows that somebody else keeps, so that they need not be copied.
pub trait LentRows: Send + Sync {
    /// The number of persons.
    fn persons(&self) -> usize;

    /// Adds the (item, weight) of a person to `row`, in any order and as often as they come.
    fn row(&self, person: usize, row: &mut Vec<(u32, u16)>);
}

impl fmt::Debug for Rows {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Rows")
    }
}

impl Histories {
    /// Nobody yet; items are numbered from 0 to below `items`.
    pub fn new(items: usize) -> Self {
        Self { items, rows: Rows::Own { starts: vec![0], entries: Vec::new() } }
    }

    /// Rows that somebody else keeps. An item counts once, as in [`Histories::push`].
    pub fn lent(items: usize, rows: Arc<dyn LentRows>) -> Self {
        Self { items, rows: Rows::Lent(rows) }
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
        tidy(row, self.items);
        if let Rows::Lent(_) = &self.rows {
            let all = (0..self.persons()).map(|person| self.person(person).into_owned());
            let mut own = Self::new(self.items);
            all.for_each(|mut row| own.push(&mut row));
            *self = own;
        }
        if let Rows::Own { starts, entries } = &mut self.rows {
            entries.append(row);
            starts.push(entries.len());
        }
    }

    /// The number of persons. *Not private.*
    pub fn persons(&self) -> usize {
        match &self.rows {
            Rows::Own { starts, .. } => starts.len() - 1,
            Rows::Lent(rows) => rows.persons(),
        }
    }

    /// The number of items, whether anybody has them or not.
    pub fn items(&self) -> usize {
        self.items
    }

    /// There are so many items, of which nobody here has the last ones.
    pub(crate) fn widen(&mut self, items: usize) {
        self.items = self.items.max(items);
    }

    /// The items of a person with their weights, in the order of items. *Not private.*
    pub fn person(&self, person: usize) -> Cow<'_, [(u32, u16)]> {
        match &self.rows {
            Rows::Own { starts, entries } => {
                Cow::Borrowed(&entries[starts[person]..starts[person + 1]])
            }
            Rows::Lent(rows) => {
                let mut row = Vec::new();
                rows.row(person, &mut row);
                tidy(&mut row, self.items);
                Cow::Owned(row)
            }
        }
    }

    /// All persons.
    pub fn rows(&self) -> impl Iterator<Item = Cow<'_, [(u32, u16)]>> {
        (0..self.persons()).map(|person| self.person(person))
    }
}

/// Every item once, with its largest weight, in the order of items.
fn tidy(row: &mut Vec<(u32, u16)>, items: usize) {
    row.retain(|(item, weight)| (*item as usize) < items && *weight > 0);
    let in_order = |pair: &[(u32, u16)]| pair[0].0 < pair[1].0;
    if !row.windows(2).all(in_order) {
        row.sort_unstable_by(|one, other| one.0.cmp(&other.0).then(other.1.cmp(&one.1)));
        row.dedup_by_key(|(item, _)| *item);
    }
}

impl PartialEq for Histories {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items && self.rows().eq(other.rows())
    }
}

/// Whoever keeps the rows, the same rows are the same data.
impl Serialize for Histories {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(None)?;
        all.serialize_element(&self.items)?;
        self.rows().try_for_each(|row| all.serialize_element(&row))?;
        all.end()
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
        assert_eq!(*histories.person(0), [(1, 2), (3, 9)]);
        assert_eq!((histories.persons(), histories.person(1).len()), (2, 0));
    }

    /// Those of the test above, kept elsewhere.
    struct Elsewhere;

    impl LentRows for Elsewhere {
        fn persons(&self) -> usize {
            2
        }

        fn row(&self, person: usize, row: &mut Vec<(u32, u16)>) {
            if person == 0 {
                row.extend([(3, 7), (1, 2), (3, 9), (5, 9), (2, 0), (3, 1)]);
            }
        }
    }

    #[test]
    fn rows_are_the_same_whoever_keeps_them() {
        let mut lent = Histories::lent(5, Arc::new(Elsewhere));
        let mut own = Histories::new(5);
        own.push(&mut vec![(1, 2), (3, 9)]);
        assert_ne!(lent, own);
        own.push(&mut Vec::new());
        assert_eq!(lent, own);
        let text = |it: &Histories| serde_json::to_string(it).expect("plain values");
        assert_eq!(text(&lent), text(&own));
        lent.push(&mut vec![(4, 1)]);
        own.push(&mut vec![(4, 1)]);
        assert_eq!(lent, own);
    }
}
