//! Which runs of a folder were chosen together, before any of them had a result.

use super::NamedSettings;
use organza_train::FolderError;
use organza_train::settings::RunSettings;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

/// A line for each command that began runs, written before the first of them began.
const GRIDS: &str = "grids.jsonl";

/// The runs that one command began, by name.
///
/// # Privacy
/// Events that were fixed together are priced by tight composition; what was chosen after results of others is added
/// to them. So it is written down what was fixed when: the settings of every run that had not begun yet. A line that
/// cannot be read joins nothing, and its runs are added one by one, which is always sound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "S: RunSettings")]
pub(super) struct Grid<S> {
    runs: BTreeMap<String, S>,
}

impl<S: RunSettings> Grid<S> {
    /// Whether this run is one of them, as it was fixed.
    pub(super) fn has(&self, name: &str, settings: &S) -> bool {
        self.runs.get(name) == Some(settings)
    }

    /// The grids of a folder, the first first.
    pub(super) fn read(folder: &Path) -> Vec<Self> {
        let text = fs::read_to_string(folder.join(GRIDS)).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Writes down those of `runs` that no earlier command has fixed or begun.
    pub(super) fn write(folder: &Path, runs: &[NamedSettings<S>]) -> Result<(), FolderError> {
        let earlier = Self::read(folder);
        let is_new = |run: &&NamedSettings<S>| {
            let begun = folder.join(&run.name).join("settings.json").exists();
            !begun && !earlier.iter().any(|grid| grid.has(&run.name, &run.settings))
        };
        let runs: BTreeMap<String, S> =
            runs.iter().filter(is_new).map(|it| (it.name.clone(), it.settings.clone())).collect();
        if runs.is_empty() {
            return Ok(());
        }
        let path = folder.join(GRIDS);
        let append = || {
            let line = serde_json::to_string(&Self { runs })?;
            let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
            // A line end first, should the last line have been cut short.
            file.write_all(format!("\n{line}\n").as_bytes())?;
            file.sync_data()
        };
        append().map_err(FolderError::file("write", &path))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::settings::Settings;

    fn run(name: &str, epsilon: f64) -> NamedSettings {
        let mut settings = Settings::standard();
        settings.privacy.epsilon = Some(epsilon);
        NamedSettings { name: name.to_owned(), settings }
    }

    #[test]
    fn what_comes_later_is_another_grid() {
        let folder = tempfile::tempdir().unwrap();
        let write = |runs: &[NamedSettings]| Grid::write(folder.path(), runs).unwrap();
        write(&[run("a", 1.0), run("b", 1.0)]);
        write(&[run("a", 1.0), run("b", 1.0)]);
        assert_eq!(
            Grid::<Settings>::read(folder.path()).len(),
            1,
            "the same command again goes on"
        );
        // One more is chosen, and one is begun with other settings than those that were fixed.
        write(&[run("a", 1.0), run("b", 2.0), run("c", 1.0)]);
        let grids = Grid::read(folder.path());
        let place =
            |run: NamedSettings| grids.iter().position(|it| it.has(&run.name, &run.settings));
        assert_eq!(place(run("a", 1.0)), Some(0));
        assert_eq!(place(run("b", 1.0)), Some(0));
        assert_eq!(place(run("b", 2.0)), Some(1));
        assert_eq!(place(run("c", 1.0)), Some(1));
        assert_eq!(place(run("d", 1.0)), None);
    }

    #[test]
    fn what_had_begun_is_not_fixed_afterwards_and_a_torn_line_joins_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/settings.json"), "{}").unwrap();
        Grid::write(folder.path(), &[run("a", 1.0)]).unwrap();
        assert_eq!(Grid::<Settings>::read(folder.path()), []);
        fs::write(folder.path().join(GRIDS), "{\"runs\":{\"b\":").unwrap();
        Grid::write(folder.path(), &[run("b", 1.0)]).unwrap();
        assert_eq!(Grid::<Settings>::read(folder.path()).len(), 1);
    }
}
