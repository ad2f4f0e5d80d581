//! Small files: what is kept in the repository can be read, and cloned quickly.

use crate::{step::Step, workspace};
use anyhow::{Context, Result, bail};
use std::{
    fs,
    path::{Path, PathBuf},
};

const LARGEST_FILE: u64 = 1024 * 1024;
const LONGEST_SOURCE: usize = 500;
const SOURCES: [&str; 6] = ["rs", "py", "js", "ts", "css", "sh"];

/// Looks at every file of the repository.
pub(crate) fn check() -> Result<()> {
    let root = workspace::root();
    let files = tracked(&root)?;
    let mut problems = Vec::new();
    for file in &files {
        let path = root.join(file);
        // A file that was deleted and is not committed yet is still listed.
        if let Some(problem) = path.is_file().then(|| problem(&path)).transpose()?.flatten() {
            problems.push(format!("{}: {problem}", file.display()));
        }
    }
    if !problems.is_empty() {
        bail!("{}", problems.join("\n"));
    }
    println!("{} files", files.len());
    Ok(())
}

/// What is wrong with a file, if anything is.
fn problem(path: &Path) -> Result<Option<String>> {
    let context = || format!("cannot read {}", path.display());
    let size = fs::metadata(path).with_context(context)?.len();
    if size > LARGEST_FILE {
        return Ok(Some(format!("{size} bytes, more than {LARGEST_FILE}")));
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    if !extension.is_some_and(|extension| SOURCES.contains(&extension)) {
        return Ok(None);
    }
    let lines = fs::read_to_string(path).with_context(context)?.lines().count();
    Ok((lines > LONGEST_SOURCE).then(|| format!("{lines} lines, more than {LONGEST_SOURCE}")))
}

/// The files under version control, or all but build results where there is no version control,
/// as in an unpacked archive.
fn tracked(root: &Path) -> Result<Vec<PathBuf>> {
    match Step::program("git").arguments(&["ls-files", "-z"]).stdout() {
        Some(names) if !names.is_empty() => {
            Ok(names.split_terminator('\0').map(PathBuf::from).collect())
        }
        _ => {
            let mut files = Vec::new();
            walk(root, &mut files)?;
            Ok(files)
        }
    }
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if !entry.file_type()?.is_dir() {
            files.push(entry.path());
        } else if name != "target" && name != ".git" {
            walk(&entry.path(), files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn long_sources_and_large_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: String| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            problem(&path).unwrap()
        };
        assert_eq!(put("fine.rs", "line\n".repeat(LONGEST_SOURCE)), None);
        assert!(put("long.rs", "line\n".repeat(LONGEST_SOURCE + 1)).is_some());
        assert_eq!(put("long.json", "line\n".repeat(LONGEST_SOURCE + 1)), None);
        assert!(put("large.json", "x".repeat(1024 * 1024 + 1)).is_some());
    }

    #[test]
    fn an_archive_without_version_control_is_walked() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("target/deep")).unwrap();
        fs::create_dir_all(folder.path().join("source/deep")).unwrap();
        fs::write(folder.path().join("target/deep/built"), "").unwrap();
        fs::write(folder.path().join("source/deep/written"), "").unwrap();
        let mut files = Vec::new();
        walk(folder.path(), &mut files).unwrap();
        assert_eq!(files, [folder.path().join("source/deep/written")]);
    }
}
