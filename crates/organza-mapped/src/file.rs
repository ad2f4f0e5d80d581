//! A file of numbers: made, mapped, and kept under a name or removed.

use crate::ahead::{Ahead, PAGE};
use crate::map::Map;
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use std::fs::{self, File, TryLockError};
use std::io::{Error, ErrorKind, Result, Write};
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;
use tempfile::{Builder, NamedTempFile};

/// How the names of files begin that are not kept yet, or were left behind by a process that was killed.
pub const UNFINISHED: &str = ".organza-tables-";

/// Numbers in a file, after room for a header, as a slice.
///
/// Memory holds what was touched lately, as far as there is room; the system gives it back when others need it.
#[derive(Debug)]
pub struct Mapped<T> {
    map: Map,
    /// It holds a lock, by which others see that somebody has the file; it is removed when it is dropped.
    file: NamedTempFile,
    /// Bytes before the first number.
    head: usize,
    numbers: PhantomData<T>,
}

impl<T: Pod> Mapped<T> {
    /// Makes a file in `folder` with room for a header of `head` bytes, whole pages, and `length` numbers after it.
    /// They are what `fill` puts into one list after another, each of `piece` numbers but the last. Files of
    /// processes that were killed are removed from the folder first.
    ///
    /// # Errors
    /// If the disk has no room, or `fill` says so; nothing is left behind.
    pub fn new(
        folder: &Path,
        head: usize,
        length: usize,
        piece: usize,
        mut fill: impl FnMut(&mut [T]) -> Result<()>,
    ) -> Result<Self> {
        let wrong = |what: &str| Error::new(ErrorKind::InvalidInput, what);
        if cfg!(target_endian = "big") {
            return Err(Error::new(ErrorKind::Unsupported, "numbers would be the wrong way round"));
        }
        if !head.is_multiple_of(PAGE) || length == 0 || piece == 0 {
            return Err(wrong("a file of numbers has whole pages of header, and a number"));
        }
        remove_abandoned(folder)?;
        let file = locked(folder)?;
        let mut writer = file.as_file();
        write_pages(&mut writer, &vec![0; head])?;
        let mut numbers = vec![T::zeroed(); piece.min(length)];
        let mut left = length;
        while left > 0 {
            let numbers = &mut numbers[..piece.min(left)];
            fill(numbers)?;
            write_pages(&mut writer, cast_slice(numbers))?;
            left -= numbers.len();
        }
        let map = Map::new(file.as_file())?;
        map.in_order(false);
        Ok(Self { map, file, head, numbers: PhantomData })
    }

    /// The numbers.
    pub fn numbers(&self) -> &[T] {
        cast_slice(&self.map.bytes()[self.head..])
    }

    /// The numbers, to be changed.
    pub fn numbers_mut(&mut self) -> &mut [T] {
        cast_slice_mut(&mut self.map.bytes_mut()[self.head..])
    }

    /// Asks for the numbers at `places`, those that `ahead` has not asked for lately, and does not wait for them. It
    /// is advice: numbers that were not asked for are fetched when they are touched.
    pub fn fetch(&self, ahead: &mut Ahead, places: impl Iterator<Item = Range<usize>>) {
        let (size, length) = (size_of::<T>(), self.map.bytes().len());
        let bytes =
            places.map(|place| self.head + size * place.start..self.head + size * place.end);
        ahead.ask(bytes, |bytes| {
            let end = bytes.end.min(length);
            self.map.will_need(bytes.start.min(end)..end);
        });
    }

    /// Says whether numbers will be touched in order from now on, rather than here and there.
    pub fn in_order(&self, ordered: bool) {
        self.map.in_order(ordered);
    }

    /// Writes `header` before the numbers and gives the file the name `path`, in the folder in which it is. All of it
    /// is on the disk then.
    ///
    /// # Errors
    /// If there is a file of that name, the header does not fill its room exactly, or the disk refuses; nothing is
    /// left behind then.
    pub fn keep(self, header: &[u8], path: &Path) -> Result<()> {
        let Self { mut map, file, head, .. } = self;
        if header.len() != head {
            return Err(Error::new(ErrorKind::InvalidInput, "the header does not fit its room"));
        }
        map.bytes_mut()[..head].copy_from_slice(header);
        map.sync()?;
        drop(map);
        file.as_file().sync_all()?;
        let file = file.persist_noclobber(path).map_err(|error| error.error)?;
        file.unlock()?;
        sync_folder(path)
    }
}

/// Writes page by page: what is written at once, a system may keep in memory as one, and then write all of it back when a byte of it was
/// changed. Linux does so from version 6.16 on, up to a megabyte, and a step changes a number here and there.
fn write_pages(to: &mut impl Write, bytes: &[u8]) -> Result<()> {
    bytes.chunks(PAGE).try_for_each(|page| to.write_all(page))
}

/// A new file that others see to be in use.
fn locked(folder: &Path) -> Result<NamedTempFile> {
    loop {
        // In mode 600, under a random name.
        let file = Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
        match file.as_file().try_lock() {
            // Unless somebody took it for an abandoned one before it was locked.
            Ok(()) if file.path().exists() => return Ok(file),
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Removes the files of processes that are gone: nobody has a lock on them.
fn remove_abandoned(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(UNFINISHED));
        if is_ours
            && let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Makes a new name in a folder survive a crash.
#[cfg(unix)]
fn sync_folder(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Elsewhere a folder cannot be opened as a file.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn counted(folder: &Path, length: usize, piece: usize) -> Mapped<u32> {
        let mut next = 0;
        let fill = |numbers: &mut [u32]| {
            numbers.iter_mut().for_each(|number| (*number, next) = (next, next + 1));
            Ok(())
        };
        Mapped::new(folder, PAGE, length, piece, fill).unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn numbers_are_changed_in_place_and_kept_under_a_name() {
        for (length, piece) in [(1, 7), (5_000, 1_000), (5_001, 1_000)] {
            let folder = tempfile::tempdir().unwrap();
            let mut mapped = counted(folder.path(), length, piece);
            assert!(mapped.numbers().iter().copied().eq(0..length as u32));
            mapped.fetch(&mut Ahead::default(), [0..1, length - 1..length, 3..3].into_iter());
            mapped.numbers_mut().iter_mut().for_each(|number| *number += 1);
            let path = folder.path().join("kept");
            mapped.keep(&[7; PAGE], &path).unwrap();
            assert_eq!(names(folder.path()), ["kept"]);
            let bytes = fs::read(&path).unwrap();
            assert_eq!(bytes[..PAGE], [7; PAGE]);
            let numbers =
                bytes[PAGE..].chunks(4).map(|it| u32::from_le_bytes(it.try_into().unwrap()));
            assert!(numbers.eq(1..=length as u32));
        }
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_read_it_and_nothing_is_left_behind() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mapped = counted(folder.path(), 10, 10);
        let [name] = names(folder.path()).try_into().unwrap();
        assert!(name.starts_with(UNFINISHED));
        let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(mapped);
        assert_eq!(names(folder.path()).len(), 0);

        let full = |_: &mut [u32]| Err(Error::from(ErrorKind::StorageFull));
        assert!(Mapped::new(folder.path(), 0, 10, 3, full).is_err());
        assert!(counted(folder.path(), 10, 10).keep(&[0; 8], &folder.path().join("kept")).is_err());
        assert_eq!(names(folder.path()).len(), 0);
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_another_has_is_not() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(format!("{UNFINISHED}abandoned")), "numbers").unwrap();
        fs::write(folder.path().join("other"), "text").unwrap();
        let one = counted(folder.path(), 10, 10);
        let mut other = counted(folder.path(), 20, 10);
        assert_eq!(names(folder.path()).len(), 3, "two that are in use, and the other");
        other.numbers_mut().fill(9);
        assert!(one.numbers().iter().copied().eq(0..10));
        assert!(one.keep(&[0; PAGE], &folder.path().join("other")).is_err());
        drop(other);
        assert_eq!(names(folder.path()), ["other"]);
        assert_eq!(fs::read(folder.path().join("other")).unwrap(), b"text");
    }
}
