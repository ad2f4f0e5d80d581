//! `organza similarity`: how well vectors agree with people.

use crate::neighbours::vectors;
use crate::output::Output;
use clap::Args;
use organza_model::vectors::{self, read_pairs};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// Compare vectors with people's judgement: Spearman's rank correlation over word pairs
#[derive(Args, Debug)]
pub(crate) struct Similarity {
    /// The folder of a finished run
    run: PathBuf,
    /// Word, word and score, separated by tabs, as WordSim-353 has them
    pairs: PathBuf,
}

/// How well they agree.
#[derive(Serialize)]
#[serde(transparent)]
struct Agreement(vectors::Similarity);

impl Similarity {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let pairs = read_pairs(&self.pairs)?;
        output.result(&Agreement(vectors(&self.run)?.similarity(&pairs)?))
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vectors::Similarity { spearman, known, all } = self.0;
        writeln!(formatter, "Spearman {spearman:.3} over {known} of {all} pairs")
    }
}
