//! `organza resume`: a run that was stopped goes on.

use super::train::RunOptions;
use crate::output::Output;
use clap::Args;
use organza_train::Application;
use organza_words::{Session, Words};
use std::path::PathBuf;

/// Go on with a run that was stopped
///
/// The run goes on from its last checkpoint with the same noise, pays for nothing twice and ends
/// with the very model that an unbroken run would have made. It is refused if the data or the
/// settings have changed. Start it where the run was started if its data has a relative path.
#[derive(Args, Debug)]
pub(crate) struct Resume {
    /// The folder of the run
    folder: PathBuf,
    /// Where the ledger of the data set is now, if it has moved since the run began
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    #[command(flatten)]
    running: RunOptions,
}

impl Resume {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        self.running.train(&self.folder, output, || {
            Session::resume_with(&self.folder, self.ledger.as_deref(), Words::read)
        })
    }
}
