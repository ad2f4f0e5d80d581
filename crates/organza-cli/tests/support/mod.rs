//! Runs the tool as a person would, in the folder of the test files and in a plain environment.
// Each file of tests uses its own part of this.
#![allow(dead_code)]

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// One run to be.
pub(crate) struct Run {
    line: String,
    input: Vec<u8>,
    variables: Vec<(&'static str, &'static str)>,
    folder: PathBuf,
}

/// What came of a run.
pub(crate) struct Outcome {
    pub(crate) line: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The published examples of events, each with its words.
pub(crate) fn documented_events() -> Vec<(String, String)> {
    let page = std::fs::read_to_string(root().join("docs/reference/events.md")).unwrap();
    let examples = page.split("\n## Questions").next().unwrap().split("```json\n").skip(1);
    let parts = examples.map(|example| {
        let (event, rest) = example.split_once("```\n```text\n").expect("words below an event");
        (event.to_owned(), rest.split("```").next().unwrap().to_owned())
    });
    parts.collect()
}

/// Runs `organza` with the words of `line`.
pub(crate) fn organza(line: &str) -> Outcome {
    Run::new(line).run()
}

/// The same in a folder.
pub(crate) fn organza_in(folder: &Path, line: &str) -> Outcome {
    Run::new(line).in_folder(folder).run()
}

/// The same, which has to succeed.
pub(crate) fn done(folder: &Path, line: &str) -> Outcome {
    let outcome = organza_in(folder, line);
    assert_eq!(outcome.code, Some(0), "{line}: {}", outcome.stderr);
    outcome
}

/// What a file holds.
pub(crate) fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The names of all that is in a folder, in order.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

impl Run {
    pub(crate) fn new(line: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
        Self { line: line.to_owned(), input: Vec::new(), variables: Vec::new(), folder }
    }

    pub(crate) fn in_root(mut self) -> Self {
        self.folder = root();
        self
    }

    pub(crate) fn in_folder(mut self, folder: &Path) -> Self {
        self.folder = folder.to_owned();
        self
    }

    pub(crate) fn input(mut self, input: &[u8]) -> Self {
        self.input = input.to_vec();
        self
    }

    pub(crate) fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    pub(crate) fn run(&self) -> Outcome {
        let mut child = self.command().spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = self.input.clone();
        // On a thread of its own, because the tool may answer before it has read everything.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Outcome {
            line: self.line.clone(),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs with a standard output whose reader is gone before the first byte.
    pub(crate) fn run_with_closed_output(&self) -> (Option<i32>, String) {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = self.command().stdin(Stdio::null()).stdout(writer).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_organza"));
        command
            .args(self.line.split_whitespace())
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for variable in ["COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(variable);
        }
        command.envs(self.variables.iter().copied());
        command
    }
}

impl Outcome {
    /// Everything that a snapshot should hold: times are left out, long fractions cut.
    pub(crate) fn show(&self) -> String {
        let code = self.code.map_or_else(|| "killed".to_owned(), |code| code.to_string());
        let stream = |name: &str, text: &str| match text {
            "" => String::new(),
            text => format!("--- {name}\n{text}"),
        };
        format!(
            "$ organza {}\n{}{}--- exit code {code}\n",
            self.line,
            stream("stdout", &cut_fractions(&without_times(&self.stdout))),
            stream("stderr", &self.stderr)
        )
    }
}

/// The text with the value of every `seconds` left out.
fn without_times(text: &str) -> String {
    let mut parts = text.split("\"seconds\":");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find([',', '}']).unwrap_or(part.len());
        kept += "\"seconds\":[time]";
        kept += &part[end..];
    }
    kept
}

/// The text with every fraction of more than nine digits cut to four, which no change of the
/// numerics within its tolerance moves.
fn cut_fractions(text: &str) -> String {
    let mut parts = text.split('.');
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(part.len());
        let cut = if digits > 9 { 4 } else { digits };
        kept.push('.');
        kept += &part[..cut];
        kept += &part[digits..];
    }
    kept
}
