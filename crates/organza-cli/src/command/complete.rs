//! `organza complete`: what may come after what was typed.

use crate::output::Output;
use clap::Args;
use organza_typeahead::Typeahead;
use serde::Serialize;
use std::fmt;
use std::io::{self, BufRead};
use std::path::PathBuf;

/// How many continuations unless told otherwise.
const TOP: usize = 5;

const EXAMPLES: &str = "\
Examples:
  organza complete run 'see you '          the next word: a space comes after the last one
  organza complete run 'see yo'            the rest of the word
  organza complete run 'how to' --words 3  phrases of up to three words
  organza complete run --top 3 --json      what to type comes line by line from standard input

With --json and without a text, the answer to every line is a JSON list of [word, probability], written at once: for editors and \
scripts.";

/// Complete what was typed
///
/// The model of the run is used as it was released: nothing is spent. What is typed is not protected by anything, so ask where
/// it is typed. Probabilities are those of the words that begin as the last one was typed.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Complete {
    /// The folder of a finished run of `organza typeahead`
    run: PathBuf,
    /// What was typed; without it every line of standard input
    text: Option<String>,
    /// How many continuations
    #[arg(long, value_name = "NUMBER", default_value_t = TOP)]
    top: usize,
    /// How many words a continuation has
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    words: usize,
}

impl Complete {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let typeahead = Typeahead::open(&self.run)?;
        let answer = |text: &str| {
            let found = typeahead.phrases(text, self.top, self.words);
            Answer(found.into_iter().map(|it| (it.text, it.probability)).collect())
        };
        match &self.text {
            Some(text) => output.result(&answer(text)),
            None => io::stdin().lock().lines().try_for_each(|line| output.result(&answer(&line?))),
        }
    }
}

/// Continuations with their probabilities, the most probable first.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Answer(Vec<(String, f32)>);

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return writeln!(formatter, "no word of the model begins like this");
        }
        let line = |(word, probability): &(String, f32)| format!("{probability:7.4}  {word}");
        writeln!(formatter, "{}", self.0.iter().map(line).collect::<Vec<_>>().join("\n"))
    }
}
