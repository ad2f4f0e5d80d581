//! The form of a table.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

const PARQUET: &[u8] = b"PAR1";
const ARROW: &[u8] = b"ARROW1";

/// The form of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableForm {
    /// Fields parted by commas, semicolons, tabs or bars, with a header
    #[serde(rename = "csv")]
    Commas,
    /// Fields parted by tabs, with a header
    #[serde(rename = "tsv")]
    Tabs,
    /// An object of JSON a line
    #[serde(rename = "json")]
    JsonLines,
    /// Parquet
    #[serde(rename = "parquet")]
    Parquet,
    /// A file of Arrow, also called Feather
    #[serde(rename = "arrow")]
    Arrow,
}

impl TableForm {
    /// What the name of a file says, or that it begins and ends as Parquet or Arrow does.
    ///
    /// # Privacy
    /// What stands in rows is not looked at: whether a run is refused must not follow any of them.
    pub fn of(file: &Path) -> Option<Self> {
        let name = file.file_name()?.to_string_lossy().to_lowercase();
        let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
        match name.rsplit_once('.').map(|(_, end)| end) {
            Some("jsonl" | "ndjson" | "json") => Some(Self::JsonLines),
            Some("csv") => Some(Self::Commas),
            Some("tsv") => Some(Self::Tabs),
            Some("parquet") => Some(Self::Parquet),
            Some("arrow" | "feather" | "ipc") => Some(Self::Arrow),
            _ if is_between(file, PARQUET) => Some(Self::Parquet),
            _ => is_between(file, ARROW).then_some(Self::Arrow),
        }
    }

    /// Whether its end has to be read first.
    pub(crate) fn needs_a_file(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow)
    }
}

/// Whether a file begins and ends with these bytes.
fn is_between(file: &Path, mark: &[u8]) -> bool {
    let ends = || {
        let mut file = File::open(file).ok()?;
        let (mut head, mut tail) = (vec![0; mark.len()], vec![0; mark.len()]);
        file.read_exact(&mut head).ok()?;
        file.seek(SeekFrom::End(-(mark.len() as i64))).ok()?;
        file.read_exact(&mut tail).ok()?;
        Some(head == mark && tail == mark)
    };
    ends().unwrap_or(false)
}
