//! One measurement: the median time of a step, and the memory it took.

use super::What;
use crate::memory::{free_megabytes, own_megabytes, peak_megabytes};
use anyhow::{Context, bail};
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) on_disk: Option<OnDisk>,
}

/// What is to be said of tables on a disk.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct OnDisk {
    /// Seconds until the first weights were written.
    first_seconds: f64,
    /// Seconds until the file was that of the model.
    export_seconds: f64,
    /// The memory of the process after the steps, without pages of the file.
    own_rss_mb: Option<f64>,
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
            warmup: self.warmup,
            seconds: self.seconds,
            threads: self.threads.get(),
            tables_on_disk: self.tables_on_disk.clone(),
            ..BenchSettings::default()
        };
        if settings.tables_on_disk.is_none() {
            check_memory(settings.vocabulary, settings.dimensions)?;
        }
        let mut own_rss_mb = None;
        let times = bench(&settings, || own_rss_mb = own_megabytes())
            .context("nothing can be measured with these settings")?;
        let on_disk = times.on_disk.map(|seconds| OnDisk {
            first_seconds: seconds.first,
            export_seconds: seconds.export,
            own_rss_mb,
        });
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
            on_disk,
        })
    }
}

/// Refuses weights that there is no memory for, which the system would end without a word.
fn check_memory(rows: u64, dimensions: usize) -> anyhow::Result<()> {
    let needed = rows as f64 * dimensions as f64 * 4.0;
    let free = free_megabytes().map_or(f64::INFINITY, |free| free * 1_048_576.0);
    if needed > free {
        bail!(
            "the tables need {:.1} GB, and {:.1} GB of memory are free: keep them in a folder with --tables-on-disk FOLDER, \
             or take fewer rows (--vocabulary) or dimensions (--dim)",
            needed / 1e9,
            free / 1e9
        );
    }
    Ok(())
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
            Some(memory) => writeln!(formatter, ", {memory:.0} MB of memory at the most")?,
            None => writeln!(formatter)?,
        }
        let Some(OnDisk { first_seconds, export_seconds, own_rss_mb }) = &self.on_disk else {
            return Ok(());
        };
        write!(
            formatter,
            "tables on a disk: {first_seconds:.1} s to write them, {export_seconds:.1} s to export"
        )?;
        match own_rss_mb {
            Some(own) => writeln!(formatter, "; {own:.0} MB of memory without pages of the file"),
            None => writeln!(formatter),
        }
    }
}
