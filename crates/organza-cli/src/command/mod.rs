//! The commands: one file each, one arm each.

mod account;
mod analogy;
mod audit;
mod bench;
mod calibrate;
pub(crate) mod clicks;
mod compare;
mod complete;
mod completions;
mod data;
mod erm;
mod event;
mod ledger;
mod nearest;
mod predict;
mod recommend;
mod recommender;
mod report;
mod reproduce;
mod resume;
pub(crate) mod shard;
mod similar;
mod similarity;
mod train;
mod tune;
mod typeahead;

use crate::handed::HandedData;
use crate::output::Output;
use clap::Subcommand;

/// What the tool can be asked to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Train(Box<train::Train>),
    Resume(resume::Resume),
    Report(report::Report),
    Nearest(nearest::Nearest),
    Analogy(analogy::Analogy),
    Similarity(similarity::Similarity),
    Audit(audit::Audit),
    #[command(name = "linear", visible_alias = "erm")]
    Erm(Box<erm::Erm>),
    Predict(predict::Predict),
    Recommender(Box<recommender::Recommender>),
    Recommend(recommend::Recommend),
    Similar(similar::Similar),
    Typeahead(Box<typeahead::Typeahead>),
    Complete(complete::Complete),
    Clicks(Box<clicks::Clicks>),
    Data(data::Data),
    Account(account::Account),
    Calibrate(calibrate::Calibrate),
    Compare(Box<compare::Compare>),
    Tune(Box<tune::Tune>),
    Reproduce(reproduce::Reproduce),
    Shard(shard::Shard),
    Ledger(ledger::Ledger),
    Event(event::Event),
    Bench(bench::Bench),
    Completions(completions::Completions),
}

impl Command {
    /// Does it on data that a program hands over, where it takes data.
    pub(crate) fn run_on(self, handed: HandedData, output: &Output) -> anyhow::Result<()> {
        match self {
            Self::Train(command) => command.run_on(handed, output),
            Self::Erm(command) => command.run_on(handed, output),
            Self::Recommender(command) => command.run_on(handed, output),
            Self::Typeahead(command) => command.run_on(handed, output),
            Self::Clicks(command) => command.run_on(handed, output),
            other => other.run(output),
        }
    }

    /// Does it.
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        match self {
            command @ (Self::Train(_)
            | Self::Erm(_)
            | Self::Recommender(_)
            | Self::Typeahead(_)
            | Self::Clicks(_)) => command.run_on(HandedData::Nothing, output),
            Self::Resume(command) => command.run(output),
            Self::Report(command) => command.run(output),
            Self::Nearest(command) => command.run(output),
            Self::Analogy(command) => command.run(output),
            Self::Similarity(command) => command.run(output),
            Self::Audit(command) => command.run(output),
            Self::Predict(command) => command.run(output),
            Self::Recommend(command) => command.run(output),
            Self::Similar(command) => command.run(output),
            Self::Complete(command) => command.run(output),
            Self::Data(command) => command.run(output),
            Self::Account(command) => command.run(output),
            Self::Calibrate(command) => command.run(output),
            Self::Compare(command) => command.run(output),
            Self::Tune(command) => command.run(output),
            Self::Reproduce(command) => command.run(output),
            Self::Shard(command) => command.run(output),
            Self::Ledger(command) => command.run(output),
            Self::Event(command) => command.run(output),
            Self::Bench(command) => command.run(output),
            Self::Completions(command) => command.run(output),
        }
    }
}
