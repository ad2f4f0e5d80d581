//! Files that a command reads or writes whole, with errors that name them.

use anyhow::Context;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::{fs, path::Path};

/// Writes a file.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a value as JSON that people can read.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    write(path, serde_json::to_string_pretty(value)? + "\n")
}

/// Reads a value from JSON; `otherwise` says what a file is that holds another.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, otherwise: &str) -> anyhow::Result<T> {
    let name = path.display();
    let text = fs::read(path).with_context(|| format!("cannot read {name}"))?;
    serde_json::from_slice(&text).with_context(|| format!("{name} {otherwise}"))
}
