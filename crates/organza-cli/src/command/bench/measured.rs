//! One measurement: the median time of a step, and the memory it took.

use super::What;
use crate::memory::peak_megabytes;
use anyhow::Context;
use organza_mechanism::SelectionRule;
use organza_paper::bench::{BenchSettings, bench};
use organza_report::describe::count;
use organza_train::OptimizerName;
use organza_train::settings::Steps;
use organza_words::settings::Method;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What one width came to.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Measured {
    pub(super) method: Method,
    pub(super) select: Option<SelectionRule>,
    pub(super) optimizer: OptimizerName,
    pub(super) vocabulary: u64,
    pub(super) dim: usize,
    pub(super) batch: f64,
    pub(super) threads: usize,
    pub(super) ms_step: f64,
    pub(super) peak_rss_mb: Option<f64>,
}

impl What {
    /// Makes the steps and takes their median.
    pub(super) fn measure(&self) -> anyhow::Result<Measured> {
        let method = self.method.unwrap_or(Method::Sparse);
        let optimizer = self.optimizer.unwrap_or(OptimizerName::ADAM);
        let settings = BenchSettings {
            noise: match method {
                Method::None => None,
                Method::Counts | Method::Dpsgd => Some(Steps::Everywhere),
                Method::Sparse => Some(Steps::Selected),
            },
            select: self.select,
            draws: self.draws,
            optimizer: optimizer.at(if optimizer == OptimizerName::ADAM { 0.001 } else { 0.05 }),
            vocabulary: self.vocabulary.unwrap_or(100_000),
            words: self.words,
            dimensions: self.dim.unwrap_or(100),
            batch: self.batch,
            steps: self.steps,
            seconds: self.seconds,
            threads: self.threads.get(),
            ..BenchSettings::default()
        };
        let times = bench(&settings).context("nothing can be measured with these settings")?;
        Ok(Measured {
            method,
            select: (method == Method::Sparse).then_some(self.select),
            optimizer,
            vocabulary: settings.vocabulary,
            dim: settings.dimensions,
            batch: settings.batch,
            threads: settings.threads,
            ms_step: times.median(),
            peak_rss_mb: peak_megabytes(),
        })
    }
}

impl Measured {
    /// The method and what matters about it, in a few words.
    pub(super) fn name(&self) -> String {
        let method = self.method.to_string();
        let select = self.select.map(|rule| format!(" {rule}")).unwrap_or_default();
        format!("{method}{select}, {}", self.optimizer)
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { vocabulary, dim, batch, threads, ms_step, .. } = self;
        writeln!(formatter, "{}", self.name())?;
        let plural = if *threads == 1 { "" } else { "s" };
        let rows = count(*vocabulary);
        writeln!(formatter, "{rows} x {dim}, batches of {batch}, {threads} thread{plural}")?;
        write!(formatter, "{ms_step:.4} ms a step (median)")?;
        match self.peak_rss_mb {
            Some(memory) => writeln!(formatter, ", {memory:.0} MB of memory at the most"),
            None => writeln!(formatter),
        }
    }
}
