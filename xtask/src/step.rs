//! One command to run, in the root of the workspace, with its output shown.

use crate::workspace;
use anyhow::{Context, Result, bail};
use std::{
    ffi::{OsStr, OsString},
    fmt,
    path::Path,
    process::{Command, Stdio},
};

/// A command that can be run and shown.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    program: OsString,
    shown: String,
    arguments: Vec<String>,
    variables: Vec<(&'static str, OsString)>,
}

impl Step {
    /// A command of cargo.
    pub(crate) fn cargo(arguments: &[&str]) -> Self {
        Self { program: workspace::cargo(), ..Self::program("cargo") }.arguments(arguments)
    }

    /// Any other program.
    pub(crate) fn program(program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref().to_owned();
        let name = Path::new(&program).file_name().unwrap_or(&program);
        let shown = name.to_string_lossy().into_owned();
        Self { program, shown, arguments: Vec::new(), variables: Vec::new() }
    }

    /// The same with more arguments.
    pub(crate) fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// The same with an environment variable set.
    pub(crate) fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// The same with an environment variable set to a path.
    pub(crate) fn path_variable(mut self, name: &'static str, value: &Path) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Runs it to its end; whatever it prints is shown.
    pub(crate) fn run(&self) -> Result<()> {
        let status = self.command().status().with_context(|| format!("cannot start `{self}`"))?;
        if !status.success() {
            bail!("`{self}` failed ({status})");
        }
        Ok(())
    }

    /// What it prints, where it succeeds.
    pub(crate) fn stdout(&self) -> Option<String> {
        let output = self.command().stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(workspace::root());
        command.envs(self.variables.iter().cloned());
        command
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.variables {
            write!(formatter, "{name}=\"{}\" ", value.display())?;
        }
        write!(formatter, "{}", self.shown)?;
        self.arguments.iter().try_for_each(|argument| write!(formatter, " {argument}"))
    }
}
