//! `organza resume`: a run that was stopped goes on.

use super::{clicks, erm, recommender, train, typeahead};
use crate::output::Output;
use crate::running::{Kind, RunOptions, Trained};
use clap::Args;
use organza_clicks::ClickRun;
use organza_erm::Linear;
use organza_recommend::RecommenderRun;
use organza_train::{Application, RunFolder, Session};
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
            Kind::Typeahead => self.go_on::<TypeaheadRun>(output, typeahead::show),
            Kind::Clicks => self.go_on::<ClickRun>(output, clicks::show),
            Kind::Recommender => self.go_on::<RecommenderRun>(output, recommender::show),
            Kind::Linear => self.go_on::<Linear<'_>>(output, erm::show),
            Kind::Words => self.go_on::<Words>(output, train::show),
            Kind::Network => anyhow::bail!(
                "this run is of a network, whose gradients its own program computes: run that again, with the same folder"
            ),
        }
    }

    fn go_on<A: Application<Settings: Send, Model: Send>>(
        &self,
        output: &Output,
        show: fn(&RunFolder, &Trained<A>, &Output) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (path, moved) = (&self.folder, self.ledger.as_deref());
        let session = || Session::<A>::resume_with(path, moved, A::read);
        self.running.train(path, output, session, |folder, run| show(folder, &run, output))
    }
}
