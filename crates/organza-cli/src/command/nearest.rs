//! `organza nearest`: the words nearest to a word.

use crate::neighbours::{Neighbours, vectors};
use crate::output::Output;
use clap::Args;
use std::path::PathBuf;

/// Show the words nearest to a word, by cosine
#[derive(Args, Debug)]
pub(crate) struct Nearest {
    /// The folder of a finished run
    run: PathBuf,
    /// The word
    word: String,
    /// How many to show
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    count: usize,
}

impl Nearest {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let near = vectors(&self.run)?.nearest(&self.word, self.count)?;
        output.result(&Neighbours(near))
    }
}
