//! Python packages to compare with, for tests of several crates.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs a command that has to succeed.
pub(crate) fn run(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}: {}", said.lines().last().unwrap_or_default()))
}

/// A Python that can import a module, or why there is none: `python3`, or a virtual environment under `target/` into which
/// `package` is installed.
pub(crate) fn python_with(module: &str, package: &str) -> Result<PathBuf, String> {
    let import = format!("import {module}");
    let imports = |python: &Path| run(Command::new(python).args(["-c", &import])).is_ok();
    if imports(Path::new("python3")) {
        return Ok("python3".into());
    }
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join(module);
    let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if imports(&python) {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
    let options = ["--quiet", "--disable-pip-version-check", "--timeout", "60", "--retries", "5"];
    run(Command::new(&python).args(["-m", "pip", "install"]).args(options).arg(package))?;
    if imports(&python) { Ok(python) } else { Err(format!("{module} does not import")) }
}
