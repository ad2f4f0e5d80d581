//! `organza recommend`: what goes with a history.

use crate::output::Output;
use anyhow::Context;
use clap::Args;
use organza_recommend::{SavedRecommender, Scored};
use serde::Serialize;
use std::fmt;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// How many items of a history are named as the reason.
const REASONS: usize = 3;

const EXAMPLES: &str = "\
Examples:
  organza recommend run tent 'hiking boots'
  organza recommend run --histories histories.jsonl --top 20 --json

A line of --histories is a JSON list of items; the answer is a JSON list of [item, score] a line.";

/// Recommend items for a history
///
/// The model of the run is used as it was released: nothing is spent. The history itself is not protected by
/// anything, so ask where it is. Items that the model does not have say nothing.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Recommend {
    /// The folder of a finished run
    run: PathBuf,
    /// The items of the history, by name or title
    #[arg(required_unless_present = "histories", conflicts_with = "histories")]
    items: Vec<String>,
    /// A file of histories, a JSON list of items a line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    histories: Option<PathBuf>,
    /// How many items to recommend
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    top: usize,
}

impl Recommend {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let saved = SavedRecommender::read(&self.run)?;
        if let Some(path) = &self.histories {
            return self.each_history(&saved, path, output);
        }
        let mut history = Vec::new();
        for name in &self.items {
            match saved.find(name) {
                Ok(item) => history.push(item),
                Err(unknown) => output.note(unknown),
            }
        }
        let because = |item: u32| {
            let terms = saved.model.because(&history, item);
            let terms = terms.into_iter().filter(|term| term.score > 0.0).take(REASONS);
            terms.map(|term| saved.title(term.item).to_owned()).collect()
        };
        let next = saved.model.recommend(&history, self.top);
        let next = next.into_iter().map(|Scored { item, score }| Recommended {
            item: saved.names[item as usize].clone(),
            title: saved.titles[item as usize].clone(),
            score,
            because: because(item),
        });
        output.result(&List(next.collect()))
    }

    fn each_history(
        &self,
        saved: &SavedRecommender,
        path: &Path,
        output: &Output,
    ) -> anyhow::Result<()> {
        let input: Box<dyn BufRead> = match path == Path::new("-") {
            true => Box::new(io::stdin().lock()),
            false => {
                let file = std::fs::File::open(path);
                Box::new(BufReader::new(
                    file.with_context(|| format!("cannot read {}", path.display()))?,
                ))
            }
        };
        let places = saved.places();
        for (number, line) in (1..).zip(input.lines()) {
            let line = line?;
            if line.trim().is_empty() {
                output.result(&Pairs(Vec::new()))?;
                continue;
            }
            let names: Vec<serde_json::Value> = serde_json::from_str(&line).with_context(|| {
                format!(
                    "{} line {number}: write a JSON list of items, such as [\"tent\", \"map\"]",
                    path.display()
                )
            })?;
            let name = |value: serde_json::Value| match value {
                serde_json::Value::String(name) => name,
                other => other.to_string(),
            };
            let history: Vec<u32> =
                names.into_iter().filter_map(|it| places.get(name(it).as_str()).copied()).collect();
            let next = saved.model.recommend(&history, self.top);
            let pair = |it: Scored| (saved.names[it.item as usize].clone(), it.score);
            output.result(&Pairs(next.into_iter().map(pair).collect()))?;
        }
        Ok(())
    }
}

/// An item with the reason why.
#[derive(Debug, Serialize)]
pub(super) struct Recommended {
    pub(super) item: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
    pub(super) score: f32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) because: Vec<String>,
}

/// Items, the best first.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct List(pub(super) Vec<Recommended>);

impl fmt::Display for List {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |it: &Recommended| match &it.title {
            Some(title) => format!("{title} ({})", it.item),
            None => it.item.clone(),
        };
        let width = self.0.iter().map(|it| name(it).chars().count()).max().unwrap_or(0);
        for it in &self.0 {
            let (score, name) = (it.score, name(it));
            match it.because.is_empty() {
                true => writeln!(formatter, "{score:7.4}  {name}")?,
                false => {
                    let because = it.because.join(", ");
                    writeln!(formatter, "{score:7.4}  {name:width$}  because of {because}")?;
                }
            }
        }
        Ok(())
    }
}

/// A line of the answer to histories.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Pairs(Vec<(String, f32)>);

impl fmt::Display for Pairs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items: Vec<String> =
            self.0.iter().map(|(item, score)| format!("{item} {score:.4}")).collect();
        writeln!(formatter, "{}", items.join(", "))
    }
}
