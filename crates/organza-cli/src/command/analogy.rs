//! `organza analogy`: A is to B as C is to what?

use crate::neighbours::{Neighbours, vectors};
use crate::output::Output;
use clap::Args;
use std::path::PathBuf;

/// Complete "A is to B as C is to ..."
#[derive(Args, Debug)]
pub(crate) struct Analogy {
    /// The folder of a finished run
    run: PathBuf,
    /// The first word, such as man
    a: String,
    /// What it is to, such as king
    b: String,
    /// The word whose counterpart is asked for, such as woman
    c: String,
    /// How many to show
    #[arg(long, value_name = "NUMBER", default_value_t = 5)]
    count: usize,
}

impl Analogy {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let near = vectors(&self.run)?.analogy([&self.a, &self.b, &self.c], self.count)?;
        output.result(&Neighbours(near))
    }
}
