//! The files of a page: itself, each figure, each table.

use super::{Page, Part};
use organza_ledger::atomic::{Readers, write_bytes};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};
use thiserror::Error;

/// Why a page cannot be written.
#[derive(Debug, Error)]
pub enum PageError {
    /// Two figures or tables would be the same file.
    #[error("two parts of the page are called {0}: give each a name of its own")]
    SameName(String),
    /// The disk refused.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Page {
    /// Writes the page as `name` into `folder`, its figures into `figures/` and its tables into
    /// `tables/` there. Each file is written whole or not at all, the page last.
    ///
    /// # Errors
    /// If two figures or two tables have the same name, or the disk refuses.
    pub fn write(&self, folder: &Path, name: &str) -> Result<(), PageError> {
        let files = self.files()?;
        for part in ["figures", "tables"] {
            if files.keys().any(|file| file.starts_with(part)) {
                let path = folder.join(part);
                fs::create_dir_all(&path).map_err(|source| PageError::File { path, source })?;
            }
        }
        let files = files.iter().map(|(file, text)| (folder.join(file), text));
        for (path, text) in files.chain([(folder.join(name), &self.html())]) {
            write_bytes(&path, Readers::Usual, text.as_bytes())
                .map_err(|source| PageError::File { path, source })?;
        }
        Ok(())
    }

    /// The figures and tables, each by the file that it belongs in.
    fn files(&self) -> Result<BTreeMap<String, String>, PageError> {
        let mut files = BTreeMap::new();
        for part in self.sections.iter().flat_map(|section| &section.parts) {
            let (file, text) = match part {
                Part::Figure(figure) => (format!("figures/{}", figure.file()), figure.svg()),
                Part::Table(table) => (format!("tables/{}", table.file()), table.csv()),
                _ => continue,
            };
            if files.insert(file.clone(), text).is_some() {
                return Err(PageError::SameName(file));
            }
        }
        Ok(files)
    }
}

/// A name without anything that a file system could take amiss.
pub(super) fn safe(name: &str) -> String {
    let letter = |letter: char| {
        if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' }
    };
    let name: String = name.chars().map(letter).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{Section, Table};
    use super::*;
    use crate::chart::Stack;
    use crate::page::Figure;

    fn stack() -> Stack {
        Stack { title: "t".to_owned(), measure: "m".to_owned(), pieces: Vec::new() }
    }

    #[test]
    fn figures_and_tables_are_files_beside_the_page() {
        let folder = tempfile::tempdir().unwrap();
        let section = Section::new("s")
            .figure(Figure::new("../Budget", stack()))
            .table(Table::new("budget", ["a"]).row(["b".into()]));
        Page::new("p").section(section.clone()).write(folder.path(), "report.html").unwrap();
        let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(read("figures/---budget.svg").starts_with("<svg"));
        assert_eq!(read("tables/budget.csv"), "a\nb\n");
        assert!(read("report.html").starts_with("<!DOCTYPE html>"));
        let twice = Page::new("p").section(section.clone()).section(section);
        let error = twice.write(folder.path(), "report.html").unwrap_err();
        assert!(matches!(error, PageError::SameName(_)), "{error}");
    }
}
