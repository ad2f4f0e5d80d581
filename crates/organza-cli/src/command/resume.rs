//! `organza resume`: a run that was stopped goes on.

use crate::output::Output;
use crate::running::{Kind, RunOptions, Runnable};
use crate::summary::show;
use clap::Args;
use organza_clicks::ClickRun;
use organza_erm::Linear;
use organza_recommend::RecommenderRun;
use organza_train::{RunFolder, Session};
use organza_typeahead::TypeaheadRun;
use organza_words::Words;
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
        RunFolder::open(&self.folder)?;
        match Kind::of(&self.folder) {
            Kind::Typeahead => self.go_on::<TypeaheadRun>(output),
            Kind::Clicks => self.go_on::<ClickRun>(output),
            Kind::Recommender => self.go_on::<RecommenderRun>(output),
            Kind::Linear => self.go_on::<Linear<'_>>(output),
            Kind::Words => self.go_on::<Words>(output),
            Kind::Network => anyhow::bail!(
                "this run is of a network, whose gradients its own program computes: run that again, with the same folder"
            ),
        }
    }

    fn go_on<A: Runnable>(&self, output: &Output) -> anyhow::Result<()> {
        let (path, moved) = (&self.folder, self.ledger.as_deref());
        let session = || Session::<A>::resume_with(path, moved, A::read);
        self.running.train(path, output, session, show)
    }
}
