//! What an outsider sees of a run.

use organza_model::numbers;
use safetensors::SafeTensors;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// The file that names the rows of tables, one a line.
const NAMES: &str = "vocabulary.txt";
/// The folder that no outsider reads.
const PRIVATE: &str = "private";

/// What an outsider sees of a run: how it ended, and all of its files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// What it said at its end.
    pub message: String,
    /// Whether it ended well.
    pub succeeded: bool,
    /// The length of each file.
    pub files: BTreeMap<String, u64>,
    /// Texts that it wrote, by file.
    pub texts: BTreeMap<String, String>,
    /// Tables of numbers that it released, by file and name.
    pub tables: BTreeMap<String, Table>,
    /// The names of the rows of tables; rows are named by their numbers where there are none.
    pub rows: Vec<String>,
}

/// A released table, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// How many values a row has.
    pub columns: usize,
    /// The values; a double holds a single exactly.
    pub values: Vec<f64>,
    /// How many bits the values had after the leading one: 23 for singles, 52 for doubles.
    pub precision: u32,
}

impl Table {
    /// A table of single-precision values.
    pub fn of_singles(columns: usize, values: &[f32]) -> Self {
        let values = values.iter().map(|value| f64::from(*value)).collect();
        Self { columns, values, precision: 23 }
    }

    /// A table of double-precision values.
    pub(crate) fn of_doubles(columns: usize, values: Vec<f64>) -> Self {
        Self { columns, values, precision: 52 }
    }
}

impl Observation {
    /// What there is in `folder` after a run that ended with `ended`, but for its private part and the files that are
    /// named in `hidden`, which say themselves that they are not private.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn of(folder: &Path, ended: Result<String, String>, hidden: &[&str]) -> io::Result<Self> {
        let mut seen = Self { succeeded: ended.is_ok(), ..Self::default() };
        seen.message = ended.unwrap_or_else(|message| message);
        if folder.is_dir() {
            seen.read(folder, "", hidden)?;
        }
        if let Some(names) = seen.texts.get(NAMES) {
            seen.rows = names.lines().map(str::to_owned).collect();
        }
        Ok(seen)
    }

    fn read(&mut self, folder: &Path, prefix: &str, hidden: &[&str]) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if name == PRIVATE || hidden.contains(&name.as_str()) {
                continue;
            }
            let path = entry.path();
            if path.is_dir() {
                self.read(&path, &format!("{name}/"), hidden)?;
                continue;
            }
            self.add_file(name, fs::read(path)?);
        }
        Ok(())
    }

    fn add_file(&mut self, name: String, bytes: Vec<u8>) {
        self.files.insert(name.clone(), bytes.len() as u64);
        if name.ends_with(".safetensors") {
            self.add_tensors(&name, &bytes);
        } else if let Ok(text) = String::from_utf8(bytes) {
            self.texts.insert(name, text);
        }
    }

    fn add_tensors(&mut self, file: &str, bytes: &[u8]) {
        let Ok(tensors) = SafeTensors::deserialize(bytes) else { return };
        for (name, tensor) in tensors.iter() {
            let columns = tensor.shape().get(1).copied().unwrap_or(1);
            let singles =
                numbers(&tensor).map(|values: Vec<f32>| Table::of_singles(columns, &values));
            let doubles = || Some(Table::of_doubles(columns, numbers(&tensor)?));
            let table = singles.or_else(doubles);
            self.tables.extend(table.map(|table| (format!("{file}: {name}"), table)));
        }
    }

    /// The same with another table.
    pub fn with_table(mut self, name: &str, table: Table) -> Self {
        self.tables.insert(name.to_owned(), table);
        self
    }

    /// The same without the path of the place where it was made, which is that of one run and says nothing.
    pub(crate) fn without(mut self, place: &Path) -> Self {
        let place = place.to_string_lossy();
        self.message = self.message.replace(&*place, "");
        for (name, text) in &mut self.texts {
            let found = text.matches(&*place).count();
            if found > 0 {
                *text = text.replace(&*place, "");
                if let Some(length) = self.files.get_mut(name) {
                    *length -= (found * place.len()) as u64;
                }
            }
        }
        self
    }

    /// Calls `visit` with the name and value of every field of its JSON files: numbers as they are, the lengths of
    /// lists and texts, and for each text a number that is its own.
    pub(crate) fn fields(&self, visit: &mut dyn FnMut(String, f64)) {
        for (name, text) in &self.texts {
            if name.ends_with(".json") {
                if let Ok(value) = serde_json::from_str::<Value>(text) {
                    each_field(name, &value, visit);
                }
            } else if name.ends_with(".jsonl") {
                for (number, line) in text.lines().enumerate() {
                    if let Ok(value) = serde_json::from_str::<Value>(line) {
                        each_field(&format!("{name}:{number}"), &value, visit);
                    }
                }
            }
        }
    }
}

fn each_field(path: &str, value: &Value, visit: &mut dyn FnMut(String, f64)) {
    match value {
        Value::Null => visit(format!("{path} is null"), 1.0),
        Value::Bool(it) => visit(path.to_owned(), f64::from(u8::from(*it))),
        Value::Number(it) => visit(path.to_owned(), it.as_f64().unwrap_or(f64::NAN)),
        Value::String(it) => visit(path.to_owned(), number_of(it)),
        Value::Array(all) => {
            visit(format!("length of {path}"), all.len() as f64);
            let each = all.iter().enumerate();
            each.for_each(|(number, it)| each_field(&format!("{path}[{number}]"), it, visit));
        }
        Value::Object(all) => {
            visit(format!("length of {path}"), all.len() as f64);
            all.iter().for_each(|(name, it)| each_field(&format!("{path}.{name}"), it, visit));
        }
    }
}

/// The number that a text says, or one that is different for different texts.
pub(crate) fn number_of(text: &str) -> f64 {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.unwrap_or_else(|| {
        // FNV-1a, cut to what a double holds.
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        (hash >> 11) as f64
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_outsider_sees_all_files_but_private_ones() {
        let place = tempfile::tempdir().unwrap();
        let run = place.path().join("run");
        fs::create_dir_all(run.join("private")).unwrap();
        fs::create_dir_all(run.join("figures")).unwrap();
        fs::write(run.join("private/key"), "secret").unwrap();
        fs::write(run.join("figures/one.svg"), "<svg/>").unwrap();
        fs::write(run.join("losses.jsonl"), "{}").unwrap();
        fs::write(run.join("vocabulary.txt"), "bread\nsoup\n").unwrap();
        let path = run.display().to_string();
        fs::write(run.join("a.json"), format!("{{\"at\": \"{path}\", \"b\": [1, null]}}")).unwrap();
        let ended = Err(format!("{path}/x is missing"));
        let seen = Observation::of(&run, ended, &["losses.jsonl"]).unwrap().without(place.path());
        let names: Vec<&str> = seen.files.keys().map(String::as_str).collect();
        assert_eq!(names, ["a.json", "figures/one.svg", "vocabulary.txt"]);
        assert_eq!((seen.message.as_str(), seen.succeeded), ("/run/x is missing", false));
        assert_eq!(seen.texts["a.json"], "{\"at\": \"/run\", \"b\": [1, null]}");
        assert_eq!(seen.files["a.json"], seen.texts["a.json"].len() as u64);
        assert_eq!(seen.rows, ["bread", "soup"]);
        let mut fields = Vec::new();
        seen.fields(&mut |name, value| fields.push((name, value)));
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "length of a.json",
            "a.json.at",
            "length of a.json.b",
            "a.json.b[0]",
            "a.json.b[1] is null",
        ];
        assert_eq!(names, expected);
        assert_eq!(fields[3].1, 1.0);
        assert!(number_of("one") != number_of("other") && number_of("1.5") == 1.5);
    }
}
