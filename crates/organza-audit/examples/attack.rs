//! Attacks everything that a command can reach: `cargo xtask attack [--runs N] [WORD]...`.
//!
//! With words, only what has all of them in its name. It prints a line for each combination as soon as it is done.
//! Each line refutes a promise that holds with probability at most 1e-6.
#![allow(clippy::print_stdout, clippy::print_stderr, dead_code)]

#[path = "../tests/attack/combinations.rs"]
mod combinations;
#[path = "../tests/attack/found.rs"]
mod found;
#[path = "../tests/attack/linear.rs"]
mod linear;
#[path = "../tests/attack/pairwise.rs"]
mod pairwise;
#[path = "../tests/attack/texts.rs"]
mod texts;
#[path = "../tests/attack/words.rs"]
mod words;

use combinations::{Target, everything, found_once, targets};
use organza_audit::attack::Verdict;
use std::error::Error;
use std::io::{IsTerminal, stderr};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Runs a side, unless asked otherwise.
const RUNS: u64 = 100;
const USAGE: &str = "usage: cargo xtask attack [--runs N] [WORD]...";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut runs = RUNS;
    if let Some(place) = arguments.iter().position(|it| it == "--runs") {
        let number = arguments.get(place + 1).and_then(|it| it.parse().ok());
        runs = number.filter(|runs| *runs >= 2).ok_or(USAGE)?;
        arguments.drain(place..place + 2);
    }
    if arguments.iter().any(|it| it.starts_with('-')) {
        return Err(USAGE.into());
    }
    let wanted = |target: &Target| arguments.iter().all(|it| target.attack.name.contains(it));
    let mut all = found_once();
    all.iter_mut().for_each(|target| target.attack.runs = runs);
    all.extend(targets(everything(), runs));
    all.retain(wanted);
    let begun = Instant::now();
    let mut broken = Vec::new();
    for (number, target) in (1..).zip(&all) {
        let verdict = attacked(target, number, all.len())?;
        println!("{verdict}");
        if verdict.refutes() {
            broken.push(verdict);
        }
    }
    let minutes = begun.elapsed().as_secs_f64() / 60.0;
    println!("\n{} attacks of {runs} runs a side in {minutes:.1} minutes", all.len());
    if broken.is_empty() {
        println!("no promise was refuted");
        return Ok(ExitCode::SUCCESS);
    }
    println!("{} promises are BROKEN:", broken.len());
    broken.iter().for_each(|verdict| println!("{}", verdict.name));
    Ok(ExitCode::FAILURE)
}

/// Makes one attack, and shows how far it is where somebody looks.
fn attacked(target: &Target, number: usize, of: usize) -> std::io::Result<Verdict> {
    let (done, is_watched) = (AtomicU64::new(0), stderr().is_terminal());
    let (runs, name) = (2 * target.attack.runs, &target.attack.name);
    let progress = || {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if is_watched {
            eprint!("\r\x1b[K[{number}/{of}] {done} of {runs} runs: {name}");
        }
    };
    let verdict = target.attack(&progress)?;
    if is_watched {
        eprint!("\r\x1b[K");
    }
    Ok(verdict)
}
