//! Every check of the workspace, in the order in which they run: the quick ones that fail most
//! often come first.

use crate::{browser, dependencies, hygiene, python, step::Step, tools};
use anyhow::{Context, Result, bail};
use std::time::{Duration, Instant};

/// One check.
struct Check {
    name: &'static str,
    /// What it makes sure of.
    meaning: &'static str,
    /// What to do where it fails.
    remedy: &'static str,
    run: fn() -> Result<()>,
}

const CHECKS: &[Check] = &[
    Check {
        name: "hygiene",
        meaning: "no file above 1 MiB, no source file above 500 lines",
        remedy: "split the file after its ideas, or keep the data out of the repository",
        run: hygiene::check,
    },
    Check {
        name: "dependencies",
        meaning: "all dependencies have a permissive license, come from crates.io and name their versions",
        remedy: "choose another dependency, or argue for a change of xtask/src/dependencies.rs",
        run: dependencies::check,
    },
    Check {
        name: "format",
        meaning: "the code is formatted",
        remedy: "`cargo fmt --all` formats it",
        run: format,
    },
    Check {
        name: "lints",
        meaning: "no warning from the compiler or clippy, tests and benchmarks included",
        remedy: "mend the warnings above",
        run: lints,
    },
    Check {
        name: "tests",
        meaning: "unit, property, statistical, compile-fail, snapshot and doc tests",
        remedy: "where an output changed on purpose: `INSTA_UPDATE=always cargo test -p organza-cli`, \
                 then look at the difference in tests/snapshots",
        run: tests,
    },
    Check {
        name: "python",
        meaning: "the Python package: types, tests, examples of its documentation, notebooks",
        remedy: "the environment is target/python: `target/python/bin/python -m pytest bindings/python/tests`",
        run: python::check,
    },
    Check {
        name: "browser",
        meaning: "pages work in Chromium: values on hover, light and dark, on a phone, no network",
        remedy: "look at target/browser, the pages and their screenshots",
        run: browser::check,
    },
    Check {
        name: "documentation",
        meaning: "the documentation builds without a warning",
        remedy: "mend the warnings above",
        run: documentation,
    },
];

/// All of the code is formatted.
pub(crate) fn format() -> Result<()> {
    tools::require_component("rustfmt", "fmt")?;
    shown(&Step::cargo(&["fmt", "--all", "--check"]))
}

fn lints() -> Result<()> {
    clippy()?;
    // Whoever depends on the library may leave its features out.
    shown(&Step::cargo(&["check", "-p", "organza", "--no-default-features"]))
}

/// No warning, anywhere.
pub(crate) fn clippy() -> Result<()> {
    tools::require_component("clippy", "clippy")?;
    let arguments = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    shown(&Step::cargo(&arguments))
}

fn tests() -> Result<()> {
    // A fixed seed for property tests: a red check is then a finding about the change at hand. Run
    // `cargo test` by itself to search with fresh seeds.
    let step = Step::cargo(&["test", "--workspace"]).variable("INSTA_UPDATE", "no");
    shown(&step.variable("PROPTEST_RNG_SEED", "20210301"))
}

fn documentation() -> Result<()> {
    let step = Step::cargo(&["doc", "--no-deps", "--workspace"]);
    shown(&step.variable("RUSTDOCFLAGS", "-D warnings"))
}

/// Shows a command and runs it.
pub(crate) fn shown(step: &Step) -> Result<()> {
    println!("$ {step}");
    step.run()
}

/// Prints the names of all checks and what they make sure of.
pub(crate) fn list() {
    for check in CHECKS {
        println!("  {:<15} {}", check.name, check.meaning);
    }
}

/// Runs the checks with these names, or all where there are none, but none of `without`, and stops at
/// the first failure.
pub(crate) fn run(names: &[&str], without: &[&str]) -> Result<()> {
    let is_unknown = |name: &&&str| CHECKS.iter().all(|check| check.name != **name);
    if let Some(unknown) = names.iter().chain(without).find(is_unknown) {
        let known: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
        bail!("no check is called `{unknown}`; there are {}", known.join(", "));
    }
    let chosen: Vec<&Check> =
        CHECKS.iter().filter(|check| names.is_empty() || names.contains(&check.name)).collect();
    let (left_out, chosen): (Vec<&Check>, Vec<&Check>) =
        chosen.into_iter().partition(|check| without.contains(&check.name));
    let start = Instant::now();
    let mut times = Vec::new();
    for (index, check) in chosen.iter().enumerate() {
        println!("\n[{}/{}] {}: {}", index + 1, chosen.len(), check.name, check.meaning);
        let start = Instant::now();
        (check.run)().with_context(|| {
            let Check { name, remedy, .. } = check;
            let seconds = seconds(start.elapsed());
            format!(
                "the check `{name}` failed after {seconds}\n\
                 to do:  {remedy}\n\
                 repeat: cargo xtask test {name}"
            )
        })?;
        times.push((check.name, start.elapsed()));
        println!(
            "[{}/{}] {}: good, {}",
            index + 1,
            chosen.len(),
            check.name,
            seconds(start.elapsed())
        );
    }
    match left_out.as_slice() {
        [] => println!("\nAll checks passed."),
        _ => println!("\nThe checks that were run passed."),
    }
    for check in left_out {
        println!("  {:<15} LEFT OUT: it says nothing about this change", check.name);
    }
    for (name, time) in times {
        println!("  {name:<15} {:>9}", seconds(time));
    }
    println!("  {:<15} {:>9}", "together", seconds(start.elapsed()));
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
