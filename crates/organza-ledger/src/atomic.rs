//! Files that are either the old ones or the new ones, whatever happens in between.

use std::fs::{File, Permissions};
use std::io::{BufWriter, ErrorKind, Result, Write};
use std::path::Path;
use tempfile::Builder;

/// Who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Whoever the user lets read new files (the umask).
    Usual,
    /// The owner alone (mode 0600): for secrets.
    Owner,
}

/// How the names of files begin that a killed process did not finish.
pub const UNFINISHED: &str = ".organza-";
/// So many letters and digits follow, by chance.
const RANDOM: usize = 6;

/// Writes a file so that no reader, and no crash, ever sees half of it.
///
/// `fill` writes to a temporary file in the same folder, which is synced and then renamed over
/// `path`; the folder is synced as well, so the new name survives. When anything fails, the disk
/// being full for instance, the temporary file is removed and what was at `path` is as it was. Only
/// a process that is killed leaves the temporary file behind, with a name that begins with [`UNFINISHED`].
///
/// # Errors
/// Whatever the disk or `fill` say.
pub fn write(
    path: &Path,
    readers: Readers,
    fill: impl FnOnce(&mut BufWriter<&File>) -> Result<()>,
) -> Result<()> {
    write_from(path, readers, UNFINISHED, fill)
}

/// Writes `bytes` as [`write()`] does, to a file that no two processes write at one time: what one that was killed has left of it is
/// removed first, so that bytes which are private do not stay beside it.
///
/// # Errors
/// Whatever the disk says.
pub fn write_alone(path: &Path, readers: Readers, bytes: &[u8]) -> Result<()> {
    remove_unfinished(path)?;
    write_from(path, readers, &unfinished(path), |writer| writer.write_all(bytes))
}

/// Removes what a process that was killed has left of a file in [`write_alone`].
///
/// # Errors
/// Whatever the disk says.
pub fn remove_unfinished(path: &Path) -> Result<()> {
    let begin = unfinished(path);
    for entry in std::fs::read_dir(folder_of(path))? {
        let entry = entry?;
        let name = entry.file_name();
        let end = name.to_str().and_then(|name| name.strip_prefix(&begin));
        // No other file that is being written has this name, also if its own begins like that of this one.
        let is_own = end.is_some_and(|end| end.len() == RANDOM && !end.contains('-'));
        if is_own {
            match std::fs::remove_file(entry.path()) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// How the names of what is not finished of this file begin.
fn unfinished(path: &Path) -> String {
    format!("{UNFINISHED}{}-", path.file_name().unwrap_or_default().display())
}

fn write_from(
    path: &Path,
    readers: Readers,
    begin: &str,
    fill: impl FnOnce(&mut BufWriter<&File>) -> Result<()>,
) -> Result<()> {
    let mut builder = Builder::new();
    builder.prefix(begin).rand_bytes(RANDOM);
    let permissions = permissions(readers);
    if let Some(permissions) = permissions {
        builder.permissions(permissions);
    }
    let file = builder.tempfile_in(folder_of(path))?;
    let mut writer = BufWriter::with_capacity(1 << 16, file.as_file());
    fill(&mut writer)?;
    writer.into_inner().map_err(|error| error.into_error())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(path)
}

/// Writes `bytes` as [`write()`] does.
///
/// # Errors
/// Whatever the disk says.
pub fn write_bytes(path: &Path, readers: Readers, bytes: &[u8]) -> Result<()> {
    write(path, readers, |writer| writer.write_all(bytes))
}

#[cfg(unix)]
fn permissions(readers: Readers) -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(match readers {
        Readers::Usual => 0o666,
        Readers::Owner => 0o600,
    }))
}

/// Elsewhere a file has the permissions of its folder.
#[cfg(not(unix))]
fn permissions(_readers: Readers) -> Option<Permissions> {
    None
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Makes the name of a file that was just created survive a crash.
#[cfg(unix)]
pub(crate) fn sync_folder(path: &Path) -> Result<()> {
    File::open(folder_of(path))?.sync_all()
}

/// Elsewhere a folder cannot be opened as a file, and the file's own sync covers its name.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_path: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Error;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        entries.map(|entry| entry.expect("a file").file_name().display().to_string()).collect()
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        write_bytes(&path, Readers::Usual, b"old").expect("written");
        write_bytes(&path, Readers::Owner, b"new").expect("written");
        assert_eq!(fs::read(&path).expect("readable"), b"new");
        assert_eq!(names(folder.path()), ["file"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn what_was_left_of_a_file_is_removed_with_it_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name);
        let others = [".organza-abcdef", ".organza-file-1-abcdef", ".organza-file-abcde"];
        for name in others.into_iter().chain([".organza-file-abcdef", ".organza-file-Xy01Zz"]) {
            fs::write(place(name), b"half").expect("written");
        }
        write_alone(&place("file"), Readers::Owner, b"new").expect("written");
        assert_eq!(fs::read(place("file")).expect("readable"), b"new");
        let mut left = names(folder.path());
        left.sort();
        assert_eq!(left, [&others[..], &["file"]].concat());
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        write_bytes(&path, Readers::Usual, b"old").expect("written");
        let failed = write(&path, Readers::Usual, |writer| {
            writer.write_all(&[0; 1 << 20])?;
            Err(Error::other("the disk is full"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).expect("readable"), b"old");
        assert_eq!(names(folder.path()), ["file"]);
        assert!(write_bytes(&folder.path().join("no/file"), Readers::Usual, b"").is_err());
    }
}
