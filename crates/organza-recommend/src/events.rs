//! Events from a table to histories.

use crate::histories::{FULL_WEIGHT, Histories};
use crate::settings::{EventSettings, NewestEvents};
use organza_data::table::{Table, number};
use organza_data::{DataError, Shard};
use std::collections::HashMap;
use std::path::Path;
use thiserror::Error;

/// Why there are no histories.
#[derive(Debug, Error)]
pub enum EventsError {
    /// The table.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A file of items or titles.
    #[error("cannot read `{path}`: {source}")]
    Read {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A declared catalogue of nothing.
    #[error("`{0}` names no item: write one item a line")]
    NoItems(String),
    /// More than there are numbers for.
    #[error("more than {} distinct items or users", u32::MAX)]
    TooMany,
}

/// Histories, and the names of their items. *This is the data*, unless the names were declared public.
#[derive(Clone, Debug, PartialEq)]
pub struct Events {
    /// Who did what.
    pub histories: Histories,
    /// The names of the items, in the order of their numbers.
    pub names: Vec<String>,
    /// How many rows could not be used. *Not private.*
    pub left_out: u64,
}

/// An event that can be used.
struct Event {
    item: u32,
    weight: u16,
    /// In its column's own order.
    time: f64,
}

impl Events {
    /// Those of nobody; a declared catalogue is there all the same.
    pub fn of_nobody(catalogue: Option<Vec<String>>) -> Result<Self, EventsError> {
        let names = Numbers::of(catalogue.unwrap_or_default())?.names;
        Ok(Self { histories: Histories::new(names.len()), names, left_out: 0 })
    }

    /// Reads the events of a table; with a declared catalogue only those of its items.
    ///
    /// # Privacy
    /// Rows without a user or an item, of an item whose name is not one line without tabs or that is not in the catalogue, with a weight that is not a positive number or
    /// a time that is none are left out: whether a row can be used depends on that row alone. Items that were not declared are
    /// numbered in the order of their names, so that ties between them tell nothing about where they stand in the data.
    ///
    /// # Errors
    /// If the table cannot be read or lacks a column.
    pub fn read(
        table: &Table,
        settings: &EventSettings,
        catalogue: Option<Vec<String>>,
    ) -> Result<Self, EventsError> {
        Self::of_shard(table, settings, catalogue, None)
    }

    /// The same for the persons of a shard alone, if one is named.
    ///
    /// # Errors
    /// As [`Events::read`], and if a row is of another shard, where that is refused.
    pub fn of_shard(
        table: &Table,
        settings: &EventSettings,
        catalogue: Option<Vec<String>>,
        shard: Option<Shard>,
    ) -> Result<Self, EventsError> {
        let declared = catalogue.is_some();
        let mut items = Numbers::of(catalogue.unwrap_or_default())?;
        let mut users = Numbers::default();
        let mut rows: Vec<Vec<Event>> = Vec::new();
        let mut left_out = 0;
        let mut overflow = false;
        let EventSettings { user, item, weight, newest, .. } = settings;
        let mut columns = vec![user.as_str(), item.as_str()];
        columns.extend(weight.iter().map(|weight| weight.column.as_str()));
        columns.extend(newest.iter().map(|newest| newest.column.as_str()));
        table.each_row(&columns, &mut |row| {
            let fields = row.fields.unwrap_or_default();
            let field = |at: usize| fields.get(at).copied().flatten().map(str::trim);
            let user = field(0).filter(|user| !user.is_empty());
            if let Some(shard) = &shard
                && !shard.takes(user, row.place)?
            {
                return Ok(());
            }
            let mut event = || {
                let user = user?;
                let is_name = |item: &&str| !item.is_empty() && !item.contains(['\t', '\n', '\r']);
                let name = field(1).filter(is_name)?;
                let weight = match weight {
                    None => FULL_WEIGHT,
                    Some(column) => {
                        let part = number(field(2)?).filter(|it| *it > 0.0)? / column.full;
                        (part.min(1.0) * f64::from(FULL_WEIGHT)).ceil() as u16
                    }
                };
                let time = match newest {
                    None => 0.0,
                    Some(_) => number(field(2 + usize::from(settings.weight.is_some()))?)?,
                };
                let item = if declared { items.find(name)? } else { items.number(name)? };
                Some((users.number(user)? as usize, Event { item, weight, time }))
            };
            match event() {
                Some((user, event)) => {
                    rows.resize_with(rows.len().max(user + 1), Vec::new);
                    rows[user].push(event);
                }
                None => left_out += 1,
            }
            overflow |= items.names.len().max(users.names.len()) >= u32::MAX as usize;
            Ok(())
        })?;
        if overflow {
            return Err(EventsError::TooMany);
        }
        let (names, order) = if declared { (items.names, None) } else { items.sorted() };
        let mut histories = Histories::new(names.len());
        let mut row = Vec::new();
        for mut events in rows {
            if let Some(order) = &order {
                events.iter_mut().for_each(|event| event.item = order[event.item as usize]);
            }
            keep_newest(&mut events, newest.as_ref());
            row.extend(events.iter().map(|event| (event.item, event.weight)));
            histories.push(&mut row);
        }
        Ok(Self { histories, names, left_out })
    }
}

/// Keeps the newest distinct items of a person; of equal times, the larger number of the item.
///
/// # Privacy
/// Items have to be numbered by their names or a declared list: by numbers in the order of the data, another person's events
/// would decide about ties.
fn keep_newest(events: &mut Vec<Event>, newest: Option<&NewestEvents>) {
    let Some(NewestEvents { last, .. }) = newest else { return };
    events.sort_by(|one, other| other.time.total_cmp(&one.time).then(other.item.cmp(&one.item)));
    let mut seen = std::collections::HashSet::new();
    events.retain(|event| {
        let known = seen.contains(&event.item);
        if !known && seen.len() < *last {
            seen.insert(event.item);
            return true;
        }
        known
    });
}

/// Names with numbers, in the order in which they came.
#[derive(Default)]
struct Numbers {
    names: Vec<String>,
    places: HashMap<String, u32>,
}

impl Numbers {
    fn of(names: Vec<String>) -> Result<Self, EventsError> {
        let mut numbers = Self::default();
        for name in names {
            numbers.number(&name).ok_or(EventsError::TooMany)?;
        }
        Ok(numbers)
    }

    fn find(&self, name: &str) -> Option<u32> {
        self.places.get(name).copied()
    }

    fn number(&mut self, name: &str) -> Option<u32> {
        if let Some(place) = self.find(name) {
            return Some(place);
        }
        let place = u32::try_from(self.names.len()).ok()?;
        self.names.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        Some(place)
    }

    /// The names in their own order, and what becomes of each number.
    fn sorted(self) -> (Vec<String>, Option<Vec<u32>>) {
        let mut order: Vec<u32> = (0..self.names.len() as u32).collect();
        order.sort_by(|one, other| self.names[*one as usize].cmp(&self.names[*other as usize]));
        let mut place = vec![0; order.len()];
        for (new, old) in (0..).zip(&order) {
            place[*old as usize] = new;
        }
        let names = order.iter().map(|old| self.names[*old as usize].clone()).collect();
        (names, Some(place))
    }
}

/// Reads a declared catalogue: an item a line; what follows a tab, such as a title, is passed over.
///
/// # Errors
/// If it cannot be read or names nothing.
pub fn read_items(path: &Path) -> Result<Vec<String>, EventsError> {
    let text = read(path)?;
    let items: Vec<String> = text
        .lines()
        .filter_map(|line| Some(line.split('\t').next()?.trim().to_owned()))
        .filter(|item| !item.is_empty())
        .collect();
    match items.is_empty() {
        true => Err(EventsError::NoItems(path.display().to_string())),
        false => Ok(items),
    }
}

/// Reads public titles: `item <tab> title` a line.
///
/// # Errors
/// If the file cannot be read.
pub fn read_titles(path: &Path) -> Result<HashMap<String, String>, EventsError> {
    let text = read(path)?;
    let pair = |line: &str| {
        let (item, title) = line.split_once('\t')?;
        Some((item.trim().to_owned(), title.trim().to_owned()))
    };
    Ok(text.lines().filter_map(pair).collect())
}

fn read(path: &Path) -> Result<String, EventsError> {
    std::fs::read_to_string(path).map_err(|source| {
        let path = path.display().to_string();
        EventsError::Read { path, source }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::settings::WeightColumn;

    fn events(
        text: &str,
        change: impl FnOnce(&mut EventSettings),
        items: Option<&[&str]>,
    ) -> Events {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.csv");
        std::fs::write(&path, text).unwrap();
        let mut settings = EventSettings {
            path,
            format: None,
            user: "who".to_owned(),
            item: "what".to_owned(),
            weight: None,
            newest: None,
        };
        change(&mut settings);
        let items = items.map(|items| items.iter().map(|item| item.to_string()).collect());
        Events::read(&Table::open(&settings.path, None).unwrap(), &settings, items).unwrap()
    }

    fn items(events: &Events, person: usize) -> Vec<&str> {
        events
            .histories
            .person(person)
            .iter()
            .map(|(it, _)| events.names[*it as usize].as_str())
            .collect()
    }

    #[test]
    fn events_become_histories_and_bad_rows_are_left_out() {
        let text = "who,what\nann,tea\nbob,cup\nann,jam\n,tea\nann,\nann,tea\n";
        let read = events(text, |_| (), None);
        assert_eq!((read.names.join(" "), read.left_out), ("cup jam tea".to_owned(), 2));
        assert_eq!((items(&read, 0), items(&read, 1)), (vec!["jam", "tea"], vec!["cup"]));
        let declared = events(text, |_| (), Some(&["tea", "pot"]));
        assert_eq!((declared.names.len(), declared.left_out), (2, 4));
        assert_eq!((items(&declared, 0), declared.histories.persons()), (vec!["tea"], 1));
        let empty = events("who,what\n", |_| (), None);
        assert_eq!((empty.histories.persons(), empty.names.len()), (0, 0));
    }

    #[test]
    fn weights_are_bounded_and_the_newest_items_count() {
        let text = "who,what,stars,when\na,x,5,2001-02-03\na,y,9,2001-02-04 10:00\na,z,1,2000-01-01\na,w,-1,2001-01-01\na,v,?,1\n\
                    a,x,4,1999-01-01\na,u,2,never\n";
        let weight = WeightColumn { column: "stars".to_owned(), full: 5.0 };
        let read = events(text, |it| it.weight = Some(weight.clone()), None);
        let weights: Vec<u16> =
            read.histories.person(0).iter().map(|(_, weight)| *weight).collect();
        assert_eq!((items(&read, 0).join(""), read.left_out), ("uxyz".to_owned(), 2));
        assert_eq!(weights, [26_214, FULL_WEIGHT, FULL_WEIGHT, 13_107]);
        let read = events(
            text,
            |it| {
                it.weight = Some(weight);
                it.newest = Some(NewestEvents { column: "when".to_owned(), last: 2 });
            },
            None,
        );
        assert_eq!((items(&read, 0).join(""), read.left_out), ("xy".to_owned(), 3));
    }

    /// Of equal times the same item counts, whoever else is in the data. The twin, numbers in the order of the data, would
    /// keep `p` with the other person and `q` without.
    #[test]
    fn ties_of_a_person_do_not_follow_others() {
        let newest = |it: &mut EventSettings| {
            it.newest = Some(NewestEvents { column: "when".to_owned(), last: 1 });
        };
        let own = "a,p,1\na,q,1\n";
        let alone = events(&format!("who,what,when\n{own}"), newest, None);
        let beside = events(&format!("who,what,when\nb,q,1\nb,p,1\n{own}"), newest, None);
        assert_eq!(items(&alone, 0), items(&beside, 1));
        assert_eq!(items(&alone, 0), ["q"]);
    }
}
