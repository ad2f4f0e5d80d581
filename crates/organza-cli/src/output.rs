//! The one place that writes: results on standard output, everything else on standard error.

use crate::arguments::{OutputOptions, ProgressForm};
use crate::caller::Caller;
use crate::progress::Stop;
use crate::stages::Telling;
use crate::usage::UsageError;
use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use clap::ColorChoice;
use serde::Serialize;
use std::{
    fmt::Display,
    io::{self, ErrorKind, IsTerminal, Write},
    sync::Arc,
};

/// The exit code for a command line that makes no sense, as the parser's own.
const WRONG_USAGE: u8 = 2;
/// That of a command that failed.
const FAILED: u8 = 1;

/// How a good outcome looks.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// How something that must not be relied on looks.
pub(crate) const DOUBT: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();

/// Writes what commands have to say, in the form that the user asked for.
#[derive(Clone)]
pub(crate) struct Output {
    json: bool,
    quiet: bool,
    verbose: bool,
    progress: ProgressForm,
    color: anstream::ColorChoice,
    /// Whether results are kept back.
    mute: bool,
    /// The program that runs the command, if it is not a person.
    caller: Option<Arc<Caller>>,
}

impl Output {
    /// Output for a program: nothing is printed.
    pub(crate) fn for_program(options: &OutputOptions, caller: Arc<Caller>) -> Self {
        Self { caller: Some(caller), ..Self::new(options) }
    }

    /// Output for a program that asks for no result.
    pub(crate) fn silent(caller: Arc<Caller>) -> Self {
        let (color, progress) = (anstream::ColorChoice::Never, ProgressForm::None);
        let caller = Some(caller);
        Self { json: false, quiet: true, verbose: false, progress, color, mute: true, caller }
    }

    /// As these options say, or those of the command that this one is a part of.
    pub(crate) fn or(&self, options: &OutputOptions) -> Self {
        let given = Self::new(options);
        let (json, quiet) = (self.json || given.json, self.quiet || given.quiet);
        Self { json, quiet, verbose: self.verbose || given.verbose, ..self.clone() }
    }

    /// The program that runs the command, if it is not a person.
    pub(crate) fn caller(&self) -> Option<&Caller> {
        self.caller.as_deref()
    }

    /// The wish to stop: the caller's, or Ctrl-C.
    pub(crate) fn stop(&self) -> anyhow::Result<Stop> {
        self.caller().map_or_else(Stop::listen, |caller| Ok(caller.stop.clone()))
    }

    /// Output as the options say.
    pub(crate) fn new(options: &OutputOptions) -> Self {
        let color = match options.color {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        };
        let OutputOptions { json, quiet, verbose, progress, .. } = *options;
        Self { json, quiet, verbose, progress, color, mute: false, caller: None }
    }

    /// Whether a person reads the result.
    pub(crate) fn is_for_people(&self) -> bool {
        !self.json
    }

    /// The same without results, for a command that is a part of another one.
    pub(crate) fn without_results(&self) -> Self {
        Self { mute: true, ..self.clone() }
    }

    /// Prints the result of a command: its `Display` for people, its `Serialize` for programs.
    pub(crate) fn result(&self, result: &(impl Display + Serialize)) -> anyhow::Result<()> {
        if self.mute {
            return Ok(());
        }
        if let Some(caller) = self.caller() {
            caller.take(serde_json::to_value(result)?);
            return Ok(());
        }
        Ok(self.print(result)?)
    }

    fn print(&self, result: &(impl Display + Serialize)) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        if self.json {
            serde_json::to_writer(&mut stdout, result)?;
            writeln!(stdout)?;
            return stdout.flush();
        }
        let mut stdout = AutoStream::new(stdout, self.color);
        write!(stdout, "{result}")?;
        stdout.flush()
    }

    /// How it is told what is being done: unless something else was asked for, as a bar where standard error is a
    /// terminal.
    pub(crate) fn telling(&self) -> Telling {
        match self.progress {
            ProgressForm::Json => Telling::Lines,
            ProgressForm::Auto if !self.quiet && !self.json && io::stderr().is_terminal() => {
                Telling::Bar
            }
            ProgressForm::Auto | ProgressForm::None => Telling::Nothing,
        }
    }

    /// Tells what the user should know beside the result; silent with `--quiet`.
    pub(crate) fn note(&self, note: impl Display) {
        if let Some(caller) = self.caller() {
            caller.note(note.to_string());
        } else if !self.quiet {
            self.message(format_args!("{NOTE}note:{NOTE:#} {note}"));
        }
    }

    /// Tells what is being done; silent without `--verbose`.
    pub(crate) fn detail(&self, detail: impl Display) {
        if self.verbose {
            self.message(detail);
        }
    }

    /// Reports why the command failed and gives the exit code for it.
    pub(crate) fn failure(&self, error: &anyhow::Error) -> u8 {
        if is_broken_pipe(error) {
            return 0;
        }
        let mut told = error.to_string();
        for cause in error.chain().skip(1).map(ToString::to_string) {
            // Most messages tell their cause.
            if !told.contains(&cause) {
                told = format!("{told}: {cause}");
            }
        }
        self.message(format_args!("{BAD}error:{BAD:#} {told}"));
        if error.is::<UsageError>() { WRONG_USAGE } else { FAILED }
    }

    fn message(&self, message: impl Display) {
        let mut stderr = AutoStream::new(io::stderr().lock(), self.color);
        // Where standard error itself is closed, there is nobody left to tell.
        let _ = writeln!(stderr, "{message}");
    }
}

/// Whether the reader of our output has left, as `head` does once it has seen enough.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}
