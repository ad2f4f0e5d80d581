//! Text at a path: a file, a folder of files, or standard input.

use super::lines::{NamedFile, each_line};
use super::table::TextTable;
use super::{Brown, TextColumns, TextSource, Visit};
use crate::DataError;
use crate::table::Table;
use organza_progress::{Reader, Size, Stage};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The text of a column of the table at `path`, or of those in a folder there.
///
/// # Errors
/// When there is nothing at the path, or nobody says what standard input holds.
pub fn open_columns(path: &Path, columns: TextColumns) -> Result<Box<dyn TextSource>, DataError> {
    Ok(of_table(Table::open(path, columns.format)?, columns))
}

/// The text of a column of a table.
pub fn of_table(table: Table, columns: TextColumns) -> Box<dyn TextSource> {
    Box::new(TextTable { table, columns })
}

/// What `path` holds: `-` is standard input; a `.tgz` or `.tar.gz`, or a folder with the texts of
/// Brown in it, is the Brown corpus; any other file or folder is plain text.
///
/// # Errors
/// When there is nothing at the path.
pub fn open(path: &Path) -> Result<Box<dyn TextSource>, DataError> {
    if path == Path::new("-") {
        return Ok(Box::new(StandardInput));
    }
    fs::metadata(path).map_err(DataError::read(path))?;
    if Brown::is_at(path) {
        return Ok(Box::new(Brown::at(path)));
    }
    Ok(Box::new(TextPath::new(path)))
}

/// Plain text in a file, or in all files of a folder and its folders, in the order of their names.
///
/// Files that begin like gzip are decompressed. In a folder, files and folders whose names begin
/// with a dot are passed over, and so are files without text. A file's name
/// (in a folder, its path inside it) is the name of its text.
#[derive(Clone, Debug)]
pub(crate) struct TextPath {
    path: PathBuf,
}

impl TextPath {
    /// The text at `path`, which is not looked at yet.
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

impl TextSource for TextPath {
    fn each_line(&self, visit: &mut Visit<'_>) -> Result<(), DataError> {
        for file in files(&self.path)? {
            let input = File::open(&file).map_err(DataError::read(&file))?;
            let name = inner_name(&self.path, &file);
            let input = Reader::new(input, reading(&file, &name, false));
            each_line(input, NamedFile { file: &file, name: &name }, visit)?;
        }
        Ok(())
    }
}

/// The file at a path, or all files of the folder there, in the order of their names.
pub(crate) fn files(path: &Path) -> Result<Vec<PathBuf>, DataError> {
    let mut files = Vec::new();
    match fs::metadata(path).map_err(DataError::read(path))?.is_dir() {
        true => collect(path, &mut files)?,
        false => files.push(path.to_owned()),
    }
    Ok(files)
}

/// The stage of reading a file, by its bytes unless it is read here and there.
pub(crate) fn reading(file: &Path, name: &str, here_and_there: bool) -> Stage {
    // A pipe has no length.
    let bytes = fs::metadata(file).map_or(0, |it| it.len());
    let size = if here_and_there || bytes == 0 { Size::Unknown } else { Size::Bytes(bytes) };
    Stage::begin(format!("reading {name}"), size)
}

/// The name of a file, or its path inside a folder, the same on every system.
pub(crate) fn inner_name(folder: &Path, file: &Path) -> String {
    if folder == file {
        return file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    }
    let inner = file.strip_prefix(folder).unwrap_or(file);
    let parts: Vec<_> = inner.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// All files under a folder, in order. Links to folders are not followed, so there are no circles.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), DataError> {
    let mut entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<io::Result<Vec<_>>>)
        .map_err(DataError::read(folder))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if entry.file_type().map_err(DataError::read(&path))?.is_dir() {
            collect(&path, files)?;
        } else if fs::metadata(&path).map_err(DataError::read(&path))?.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// Plain text, or gzip, from standard input. It can be read once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandardInput;

impl TextSource for StandardInput {
    fn each_line(&self, visit: &mut Visit<'_>) -> Result<(), DataError> {
        let name = "standard input";
        let named = NamedFile { file: Path::new(name), name };
        each_line(io::stdin().lock(), named, visit)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn lines(path: &Path) -> Result<Vec<String>, DataError> {
        let mut all = Vec::new();
        open(path)?.each_line(&mut |line| {
            all.push(format!("{}:{} {}", line.name, line.place.line, line.text));
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn a_folder_is_read_in_the_order_of_names() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        put("b.txt", "third\nfourth\n");
        put("a.txt", "first");
        put(".hidden", "no");
        put("empty", "");
        fs::create_dir(folder.path().join("aa")).unwrap();
        put("aa/inner", "second");
        let expected = ["a.txt:1 first", "aa/inner:1 second", "b.txt:1 third", "b.txt:2 fourth"];
        assert_eq!(lines(folder.path()).unwrap(), expected);
        assert_eq!(lines(&folder.path().join("a.txt")).unwrap(), ["a.txt:1 first"]);
    }

    #[test]
    fn nothing_to_read_is_a_text_without_lines() {
        let folder = tempfile::tempdir().unwrap();
        assert!(lines(folder.path()).unwrap().is_empty());
        let empty = folder.path().join("empty");
        for text in ["", "\n \n"] {
            fs::write(&empty, text).unwrap();
            assert!(lines(&empty).unwrap().is_empty() && lines(folder.path()).unwrap().is_empty());
        }
        let missing = folder.path().join("missing");
        assert!(matches!(lines(&missing), Err(DataError::Read { path, .. }) if path == missing));
    }

    #[cfg(unix)]
    #[test]
    fn a_circle_of_links_ends() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("text"), "one").unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).unwrap();
        assert_eq!(lines(folder.path()).unwrap(), ["text:1 one"]);
    }

    #[test]
    fn an_error_of_the_visitor_stops_the_reading() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        fs::write(&path, "one\ntwo\n").unwrap();
        let mut seen = 0;
        let result = TextPath::new(&path).each_line(&mut |_| {
            seen += 1;
            Err(DataError::NoSamples)
        });
        assert!(matches!(result, Err(DataError::NoSamples)));
        assert_eq!(seen, 1);
    }
}
