//! The checks and benchmarks of the workspace, each in one command that does its own set-up.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod browser;
mod checks;
mod dependencies;
mod hygiene;
mod python;
mod quick;
mod step;
mod tools;
mod workspace;

use anyhow::{Result, bail};
use std::process::ExitCode;
use step::Step;

const USAGE: &str = "\
Usage:
  cargo xtask quick              look at the format, the lints and the unit tests of what has changed
  cargo xtask test [CHECK]...    run every check in order, or only those named
  cargo xtask test --without CHECK...
                                 run every check but those named
  cargo xtask bench [FILTER]     run the benchmarks, or only those whose name holds FILTER
  cargo xtask attack [--runs N] [WORD]...
                                 attack everything that a command can reach, which takes hours, or only what has
                                 all WORDs in its name
  cargo xtask torch              check `organza.torch`, which installs PyTorch (5.5 GB)
  cargo xtask engines            check runs on Ray and Spark, and the recipes for Beam and Daft, which installs them (2 GB)
  cargo xtask wheel              build the wheel of the Python package that is published";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Err(error) = run(&arguments) else { return ExitCode::SUCCESS };
    // The cause first, so that what to do about it stands last, where the eye is.
    let mut causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    causes.reverse();
    eprintln!("\nerror: {}", causes.join("\n"));
    ExitCode::FAILURE
}

fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["quick"] => quick::run(),
        ["test", "--without", without @ ..] => checks::run(&[], without),
        ["test", names @ ..] => checks::run(names, &[]),
        ["bench"] => bench(&[]),
        ["bench", filter] => bench(&["--", filter]),
        ["attack", rest @ ..] => attack(rest),
        ["torch"] => python::check_torch(),
        ["engines"] => python::check_engines(),
        ["wheel"] => python::wheel(),
        ["help" | "--help" | "-h"] | [] => {
            println!("{USAGE}\n\nChecks:");
            checks::list();
            Ok(())
        }
        _ => bail!("no such task: {}\n\n{USAGE}", words.join(" ")),
    }
}

/// Only the benchmark targets: `--benches` would also build the unit tests of every crate.
fn bench(rest: &[&str]) -> Result<()> {
    Step::cargo(&["bench", "--workspace", "--bench", "*"]).arguments(rest).run()
}

/// Membership attacks on every combination of settings, with progress.
fn attack(rest: &[&str]) -> Result<()> {
    let example =
        ["run", "--release", "--quiet", "--package", "organza-audit", "--example", "attack"];
    Step::cargo(&example).arguments(&["--"]).arguments(rest).run()
}
