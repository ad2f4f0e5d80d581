//! `organza resume`: a run that was stopped goes on.

use super::{erm, recommender, train, typeahead};
use crate::output::Output;
use crate::running::{Kind, RunOptions};
use clap::Args;
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
        let (path, moved) = (&self.folder, self.ledger.as_deref());
        RunFolder::open(path)?;
        match Kind::of(path) {
            Kind::Typeahead => self.running.train(
                path,
                output,
                || Session::<TypeaheadRun>::resume_with(path, moved, TypeaheadRun::read),
                |folder, run| typeahead::show(folder, &run, output),
            ),
            Kind::Recommender => self.running.train(
                path,
                output,
                || Session::<RecommenderRun>::resume_with(path, moved, RecommenderRun::read),
                |folder, run| recommender::show(folder, &run, output),
            ),
            Kind::Linear => self.running.train(
                path,
                output,
                || Session::<Linear<'_>>::resume_with(path, moved, Linear::read),
                |folder, run| erm::show(folder, &run, output),
            ),
            Kind::Words => self.running.train(
                path,
                output,
                || Session::<Words>::resume_with(path, moved, Words::read),
                |folder, run| train::show(folder, &run, output),
            ),
        }
    }
}
