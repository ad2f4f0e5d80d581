//! Measurements over widths, as a table and as a picture.

use super::measured::Measured;
use super::{Bench, What};
use crate::files;
use crate::output::Output;
use anyhow::{Context, bail};
use organza_report::chart::{Axis, Chart, Line, picture};
use organza_report::describe::count;
use organza_train::OptimizerName;
use organza_words::settings::Method;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The narrowest table of a sweep.
const NARROWEST: u64 = 1_000;
/// The widest table of a sweep, unless another is asked for.
const WIDEST: u64 = 10_000_000;
/// Dense noise and dense moments are measured up to this many coordinates: beyond that, a step takes seconds.
const DENSE: u64 = 100_000_000;

/// All measurements of a sweep.
#[derive(Debug, Serialize)]
pub(super) struct Sweep {
    measured: Vec<Measured>,
}

impl Sweep {
    /// Measures each width in a process of its own, because memory is counted for a whole process.
    pub(super) fn measure(bench: &Bench, output: &Output) -> anyhow::Result<Self> {
        let widest = bench.what.vocabulary.unwrap_or(WIDEST);
        let widths = std::iter::successors(Some(NARROWEST), |width| width.checked_mul(10))
            .take_while(|width| *width <= widest);
        let mut measured = Vec::new();
        for vocabulary in widths {
            for (method, optimizer) in kinds(&bench.what) {
                let dim = bench.what.dim.unwrap_or(64);
                let dense = method == Method::Dpsgd && optimizer == OptimizerName::ADAM;
                if dense && vocabulary.saturating_mul(dim as u64) > DENSE {
                    continue;
                }
                output.detail(format_args!("{method}, {optimizer}, {} rows", count(vocabulary)));
                let what = What {
                    method: Some(method),
                    optimizer: Some(optimizer),
                    vocabulary: Some(vocabulary),
                    dim: Some(dim),
                    ..bench.what.clone()
                };
                measured.push(what.measure_apart()?);
            }
        }
        Ok(Self { measured })
    }

    /// Draws milliseconds over rows, and the lines of others beside.
    pub(super) fn draw(&self, path: &Path, beside: Option<&Path>) -> anyhow::Result<()> {
        let mut lines = self.lines();
        if let Some(beside) = beside {
            let form = "is not of the form {\"name\": [[rows, milliseconds], ...]}";
            let others: BTreeMap<String, Vec<(f64, f64)>> = files::read_json(beside, form)?;
            lines.extend(others.into_iter().map(|(name, points)| Line { name, points }));
        }
        let chart = Chart {
            title: "milliseconds a step".to_owned(),
            horizontal: Axis::logarithmic("rows of the table"),
            vertical: Axis::logarithmic("milliseconds"),
            lines,
            mark: None,
        };
        files::write(path, picture(&[chart]))
    }

    fn lines(&self) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        for measured in &self.measured {
            let point = (measured.vocabulary as f64, measured.ms_step);
            let name = measured.name();
            match lines.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.push(point),
                None => lines.push(Line { name, points: vec![point] }),
            }
        }
        lines
    }
}

/// The methods of a sweep: the one that was asked for, or all, each with the optimizer that suits it.
fn kinds(what: &What) -> Vec<(Method, OptimizerName)> {
    let methods = match what.method {
        Some(method) => vec![method],
        None => vec![Method::Sparse, Method::Dpsgd, Method::None],
    };
    let mut kinds = Vec::new();
    for method in methods {
        match (method, what.optimizer) {
            (_, Some(optimizer)) => kinds.push((method, optimizer)),
            (Method::Dpsgd, None) => {
                kinds.extend([(method, OptimizerName::SGD), (method, OptimizerName::ADAM)]);
            }
            (_, None) => kinds.push((method, OptimizerName::ADAM)),
        }
    }
    kinds
}

impl What {
    /// Measures in another process of this program.
    fn measure_apart(&self) -> anyhow::Result<Measured> {
        let program = std::env::current_exe().context("this program cannot be found")?;
        let mut command = Command::new(program);
        command.args(["--json", "bench"]).stderr(Stdio::inherit());
        let mut flag = |name: &str, value: String| {
            command.args([name, &value]);
        };
        flag("--select", self.select.to_string());
        flag("--draws", self.draws.to_string());
        flag("--batch", self.batch.to_string());
        flag("--steps", self.steps.to_string());
        flag("--warmup", self.warmup.to_string());
        flag("--seconds", self.seconds.to_string());
        flag("--threads", self.threads.to_string());
        for (name, value) in [
            ("--method", self.method.map(|method| method.to_string())),
            ("--optimizer", self.optimizer.map(|optimizer| optimizer.to_string())),
            ("--vocabulary", self.vocabulary.map(|rows| rows.to_string())),
            ("--words", self.words.map(|words| words.to_string())),
            ("--dim", self.dim.map(|length| length.to_string())),
        ] {
            if let Some(value) = value {
                flag(name, value);
            }
        }
        let out = command.output().context("the measuring process cannot be started")?;
        if !out.status.success() {
            bail!("the measuring process failed: a narrower table (--vocabulary) may fit");
        }
        serde_json::from_slice(&out.stdout).context("the measuring process said nothing sensible")
    }
}

impl fmt::Display for Sweep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths: Vec<u64> = self.measured.iter().map(|it| it.vocabulary).collect();
        widths.dedup();
        write!(formatter, "{:28}", "milliseconds a step")?;
        widths.iter().try_for_each(|width| write!(formatter, "{:>12}", count(*width)))?;
        writeln!(formatter, "  rows")?;
        let cell = |measured: Option<&Measured>, value: fn(&Measured) -> Option<String>| {
            measured.and_then(value).unwrap_or_else(|| "-".to_owned())
        };
        for line in self.lines() {
            let at = |width: u64| {
                self.measured.iter().find(|it| it.name() == line.name && it.vocabulary == width)
            };
            write!(formatter, "{:28}", line.name)?;
            for &width in &widths {
                write!(
                    formatter,
                    "{:>12}",
                    cell(at(width), |it| Some(format!("{:.4}", it.ms_step)))
                )?;
            }
            write!(formatter, "\n{:28}", "  megabytes")?;
            for &width in &widths {
                let megabytes = cell(at(width), |it| it.peak_rss_mb.map(|mb| format!("{mb:.0}")));
                write!(formatter, "{megabytes:>12}")?;
            }
            writeln!(formatter)?;
        }
        Ok(())
    }
}
