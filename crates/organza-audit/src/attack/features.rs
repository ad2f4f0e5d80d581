//! From what was seen of a run to numbers.

use super::observation::{Observation, Table, number_of};
use super::values::describe;
use std::collections::{BTreeMap, BTreeSet};

/// More rows than these have no pairs looked at.
const PAIRED: usize = 16;

/// What an outsider knows without the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Knowledge {
    /// The rows of tables that the unit in question holds, by name.
    pub held: BTreeSet<String>,
    /// Public factors of which released numbers may be products, such as learning rates.
    pub rates: Vec<f32>,
    /// Public distances of which released numbers may be multiples.
    pub grids: Vec<f64>,
}

impl Knowledge {
    /// What is known where the unit in question holds these rows.
    pub fn of_rows<T: ToString>(held: impl IntoIterator<Item = T>) -> Self {
        let held = held.into_iter().map(|name| name.to_string()).collect();
        Self { held, ..Self::default() }
    }

    /// The same with public factors.
    pub fn with_rates(mut self, rates: &[f32]) -> Self {
        self.rates.extend_from_slice(rates);
        self
    }

    /// The same with public distances.
    pub fn with_grids(mut self, grids: &[f64]) -> Self {
        self.grids.extend_from_slice(grids);
        self
    }
}

/// Numbers that tell something about one run, by name. A number that is not there, or is none, counts as below all
/// others.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Features(BTreeMap<String, f64>);

impl Features {
    /// All that is looked at in a run: how it ended, its files and their fields, and of each table the values of the
    /// rows that the unit in question holds, those of all others, and how the two differ.
    pub(crate) fn of(observation: &Observation, knowledge: &Knowledge) -> Self {
        let mut all = Self::default();
        all.add("run: succeeded", f64::from(u8::from(observation.succeeded)));
        all.add("run: message", number_of(&observation.message));
        all.add("run: length of the message", observation.message.len() as f64);
        all.add("run: number of files", observation.files.len() as f64);
        let names: Vec<&str> = observation.files.keys().map(String::as_str).collect();
        all.add("run: names of files", number_of(&names.join("/")));
        for (name, length) in &observation.files {
            all.add(&format!("{name}: length"), *length as f64);
        }
        for (name, text) in &observation.texts {
            all.add(&format!("{name}: lines"), text.lines().count() as f64);
        }
        for (name, text) in observation.texts.iter().filter(|(name, _)| name.ends_with(".txt")) {
            let held = text.lines().filter(|line| knowledge.held.contains(*line)).count();
            all.add(&format!("{name}: lines that are held"), held as f64);
        }
        observation.fields(&mut |name, value| all.add(&name, value));
        for (name, table) in &observation.tables {
            all.add_table(name, table, &observation.rows, knowledge);
        }
        all
    }

    /// A number by its name, which is minus infinity if there is none.
    pub(crate) fn value(&self, name: &str) -> f64 {
        let value = self.0.get(name).copied().unwrap_or(f64::NEG_INFINITY);
        if value.is_nan() { f64::NEG_INFINITY } else { value }
    }

    /// The names of all numbers.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Adds a number.
    pub(crate) fn add(&mut self, name: &str, value: f64) {
        self.0.insert(name.to_owned(), value);
    }

    fn add_table(
        &mut self,
        name: &str,
        table: &Table,
        row_names: &[String],
        knowledge: &Knowledge,
    ) {
        let rows: Vec<&[f64]> = table.values.chunks(table.columns.max(1)).collect();
        self.add(&format!("{name}: rows"), rows.len() as f64);
        let is_held = |row: usize| match row_names.get(row) {
            Some(name) => knowledge.held.contains(name),
            None => knowledge.held.contains(&row.to_string()),
        };
        let (held, others): (Vec<usize>, Vec<usize>) = (0..rows.len()).partition(|it| is_held(*it));
        let mut groups = [BTreeMap::new(), BTreeMap::new()];
        for (group, numbers) in groups.iter_mut().zip([&held, &others]) {
            let rows: Vec<&[f64]> = numbers.iter().map(|row| rows[*row]).collect();
            describe(&rows, table.precision, knowledge, &mut |what, value| {
                group.insert(what, value);
            });
        }
        let [of_held, of_others] = &groups;
        for (what, value) in of_held {
            self.add(&format!("{name}: held: {what}"), *value);
            if let Some(other) = of_others.get(what) {
                self.add(&format!("{name}: held less others: {what}"), value - other);
            }
        }
        for (what, value) in of_others {
            self.add(&format!("{name}: others: {what}"), *value);
        }
        self.add_order(name, &rows, &held);
    }

    /// Where the held rows stand among all, and how they stand to each other.
    fn add_order(&mut self, name: &str, rows: &[&[f64]], held: &[usize]) {
        if held.is_empty() {
            return;
        }
        let norms: Vec<f64> =
            rows.iter().map(|row| row.iter().map(|it| it * it).sum::<f64>()).collect();
        let rank = |row: &usize| {
            let below = norms.iter().filter(|norm| **norm < norms[*row]).count();
            below as f64 / rows.len() as f64
        };
        let ranks: Vec<f64> = held.iter().map(rank).collect();
        let mean = ranks.iter().sum::<f64>() / ranks.len() as f64;
        self.add(&format!("{name}: mean rank of held rows"), mean);
        let (low, high) =
            (ranks.iter().copied().fold(1.0, f64::min), ranks.iter().copied().fold(0.0, f64::max));
        self.add(&format!("{name}: lowest rank of a held row"), low);
        self.add(&format!("{name}: highest rank of a held row"), high);
        let (mut sum, mut count) = (0.0, 0.0);
        let paired = &held[..held.len().min(PAIRED)];
        for (place, one) in paired.iter().enumerate() {
            for other in &paired[place + 1..] {
                let dot: f64 = rows[*one].iter().zip(rows[*other]).map(|(a, b)| a * b).sum();
                let scale = (norms[*one] * norms[*other]).sqrt();
                sum += if scale > 0.0 { dot / scale } else { 0.0 };
                count += 1.0;
            }
        }
        self.add(&format!("{name}: mean cosine of held rows"), sum / f64::max(count, 1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_parted_by_who_holds_them() {
        let table = Table::of_singles(2, &[0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 3.0, 4.0]);
        let mut seen = Observation::default().with_table("t", table);
        let features = Features::of(&seen, &Knowledge::of_rows([1, 3]));
        assert_eq!(features.value("t: held: zeros"), 0.0);
        assert_eq!(features.value("t: others: zeros"), 1.0);
        assert_eq!(features.value("t: held less others: zeros"), -1.0);
        assert_eq!(features.value("t: mean rank of held rows"), 0.5);
        assert!((features.value("t: mean cosine of held rows") - 1.0).abs() < 1e-12);
        assert_eq!(features.value("no such number"), f64::NEG_INFINITY);
        seen.rows = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let features = Features::of(&seen, &Knowledge::of_rows(["a", "c"]));
        assert_eq!(features.value("t: held: zeros"), 1.0);
    }
}
