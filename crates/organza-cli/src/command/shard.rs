//! `organza shard`: runs that are made of shards, for people with a scheduler of their own.

use crate::arguments::Arguments;
use crate::command::Command;
use crate::output::Output;
use crate::running::RunOptions;
use crate::shard::{Rows, Sharded, begun, count, merged};
use crate::usage::UsageError;
use anyhow::Context;
use clap::{Args, Subcommand};
use organza_data::table::HANDED_OVER;
use organza_ledger::atomic::{Readers, remove_unfinished, write_alone};
use organza_mechanism::Partial;
use organza_train::shard::{SealKey, open, sealed};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

const PROMISE: &str = "\
Make a run of shards: several machines count, one draws the noise

For data that outgrow a machine. `begin` makes the folder of a run and a task for workers. `count` counts the units of one shard, anywhere. `merge` adds the \
partials of all shards up, charges, draws the noise once and writes the task of the next round, until the model is done. With the same \
seed it is, bit for bit, the model that one machine makes.

The shard of a unit is a hash of its name, so every worker may be given all rows: it takes those of its own shard, and no unit is ever in two. \
A row that is a unit of its own is placed by a hash of the line.

Private: what `merge` leaves in the folder, as in every run. NOT private: partials are the bare sums of the data, before any noise. They are \
written for their owner alone, sealed where --key-file names a key, and deleted by `merge` once their release is on the disk.";

const EXAMPLES: &str = "\
Examples:
  organza shard begin typeahead --text-column message --user-column writer --vocabulary-file words.txt --epsilon 1 --out run
  organza shard count --task run/task --data messages.csv --shard 0 --shards 2 --out part-0
  organza shard count --task run/task --data messages.csv --shard 1 --shards 2 --out part-1
  organza shard merge run part-0 part-1

and so on with `count` and `merge`, until `merge` says that the run is finished. A merge that was killed can be run again with the same partials.";

/// Make a run of shards: several machines count, one draws the noise
#[derive(Args, Debug)]
#[command(long_about = PROMISE, after_help = EXAMPLES)]
pub(crate) struct Shard {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Begin(Begin),
    Count(Count),
    Merge(Merge),
}

impl Shard {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        match self.what {
            What::Begin(command) => command.run_command(output),
            What::Count(command) => command.run(),
            What::Merge(command) => command.run(output),
        }
    }
}

/// A key that the machines of a run share.
#[derive(Args, Debug)]
struct Sealing {
    /// A file of at least 32 random bytes, the same on all machines: tasks and partials are sealed with it, and no others are accepted
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl Sealing {
    fn key(&self) -> anyhow::Result<Option<SealKey>> {
        let Some(path) = &self.key_file else { return Ok(None) };
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Some(SealKey::new(&bytes)?))
    }

    /// What a file holds.
    fn read(&self, path: &Path) -> anyhow::Result<Vec<u8>> {
        let name = path.display();
        let bytes = fs::read(path).with_context(|| format!("cannot read {name}"))?;
        open(bytes, self.key()?.as_ref()).with_context(|| format!("{name} cannot be used"))
    }

    /// Writes a file for its owner alone.
    fn write(&self, path: &Path, bytes: Vec<u8>) -> anyhow::Result<()> {
        let bytes = sealed(bytes, self.key()?.as_ref())?;
        write_alone(path, Readers::Owner, &bytes)
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Begin a run: the folder, and the task of its first round
#[derive(Args, Debug)]
pub(crate) struct Begin {
    #[command(flatten)]
    sealing: Sealing,
    /// The command that would make the run on one machine, without --data: train, recommender, typeahead or clicks, and its flags
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true
    )]
    command: Vec<OsString>,
}

impl Begin {
    fn run_command(self, output: &Output) -> anyhow::Result<()> {
        let mut words = self.command.iter().cloned();
        let command = words.next().unwrap_or_default();
        let data = ["--data", HANDED_OVER].map(OsString::from);
        let words = [OsString::from("organza"), command].into_iter().chain(data).chain(words);
        // A person is told of wrong usage by the parser itself.
        let (arguments, output) = match output.caller() {
            Some(_) => (Arguments::parsed(words.collect())?, output.clone()),
            None => {
                let arguments = Arguments::from_command_line(words.collect());
                let output = output.or(&arguments.output);
                (arguments, output)
            }
        };
        match arguments.command {
            Command::Train(command) => command.begin_shards(&self, &output),
            Command::Recommender(command) => command.begin_shards(&self, &output),
            Command::Typeahead(command) => command.begin_shards(&self, &output),
            Command::Clicks(command) => command.begin_shards(&self, &output),
            _ => Err(UsageError::new(
                "`organza shard begin` is for train, recommender, typeahead and clicks",
                "name one of them first, and then its flags",
            )
            .into()),
        }
    }

    /// Begins a run of an application.
    pub(crate) fn run<A: Sharded>(
        &self,
        settings: A::Settings,
        path: &Path,
        running: &RunOptions,
        output: &Output,
    ) -> anyhow::Result<()> {
        // A key that cannot be read is told before there is a folder.
        let key = self.sealing.key()?;
        let (progress, _) = begun::<A>(settings, path, key.as_ref(), running, output)?;
        output.result(&progress)
    }
}

/// Count the units of one shard: what it writes is NOT private
#[derive(Args, Debug)]
struct Count {
    /// The task of the round: `task` in the folder of the run
    #[arg(long, value_name = "FILE")]
    task: PathBuf,
    /// The rows: a file or a folder, of this shard or of all
    #[arg(long, value_name = "PATH")]
    data: PathBuf,
    /// Which shard, from 0
    #[arg(long, value_name = "NUMBER")]
    shard: u32,
    /// How many shards there are
    #[arg(long, value_name = "NUMBER")]
    shards: u32,
    /// End with an error at a row of another shard, instead of passing over it
    #[arg(long)]
    strict: bool,
    /// How many threads [default: one a core]
    #[arg(long, value_name = "NUMBER")]
    threads: Option<std::num::NonZeroUsize>,
    /// Where the partial is written, for its owner alone
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    sealing: Sealing,
}

impl Count {
    fn run(self) -> anyhow::Result<()> {
        let task = self.sealing.read(&self.task)?;
        let (number, of, strict) = (self.shard, self.shards, self.strict);
        let shard = organza_data::Shard { number, of, strict };
        let threads = self.threads.map_or(0, |threads| threads.get());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let partial = pool.install(|| count(&task, Rows::Path(self.data), shard))?;
        self.sealing.write(&self.out, partial)
    }
}

/// Release a round from the partials of all shards, and go on to the next one or to the model
#[derive(Args, Debug)]
struct Merge {
    /// The folder of the run
    #[arg(value_name = "RUN")]
    folder: PathBuf,
    /// The partials of all shards
    #[arg(value_name = "PARTIAL", required = true)]
    partials: Vec<PathBuf>,
    /// Keep the partials, which are NOT private
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    sealing: Sealing,
    #[command(flatten)]
    running: RunOptions,
}

impl Merge {
    fn run(self, output: &Output) -> anyhow::Result<()> {
        let read = |path: &PathBuf| -> anyhow::Result<Partial> {
            let bytes = self.sealing.read(path)?;
            let name = path.display();
            Partial::from_bytes(&bytes).with_context(|| format!("{name} cannot be used"))
        };
        let partials = self.partials.iter().map(read).collect::<anyhow::Result<_>>()?;
        // A person sees the summary of a finished run, and a program how far it has come.
        let told = match output.is_for_people() && output.caller().is_none() {
            true => output.clone(),
            false => output.without_results(),
        };
        let key = self.sealing.key()?;
        let progress = merged(&self.folder, partials, key.as_ref(), &self.running, &told)?;
        if !self.keep {
            for path in &self.partials {
                fs::remove_file(path)
                    .and_then(|()| remove_unfinished(path))
                    .with_context(|| format!("cannot delete {}", path.display()))?;
            }
        }
        match progress.finished && told.is_for_people() && output.caller().is_none() {
            true => Ok(()),
            false => output.result(&progress),
        }
    }
}
