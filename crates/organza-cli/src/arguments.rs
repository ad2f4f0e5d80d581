//! What may stand on the command line.

use crate::command::Command;
use crate::usage::UsageError;
use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser, ValueEnum};
use std::ffi::OsString;

const PROMISE: &str = "\
Organza is for wide models: word vectors, recommenders, typeahead, click models, sparse linear models, where almost all \
parameters sit in tables of which one record touches a few rows.

What it promises: nothing leaves the data except through a private mechanism, every mechanism \
is described by an event, and the events of a run say what was spent.";

const EXAMPLES: &str = "\
Examples:
  organza train                         word vectors of a built-in corpus, at epsilon 3
  organza nearest organza-run bread     what they have learned
  organza audit organza-run             what a run with canaries gives away
  organza account --rate 1e-4 --steps 200000 --noise-multiplier 0.5 --delta 1e-5
                                        what a training costs
  organza calibrate --rate 1e-4 --steps 200000 --epsilon 3 --delta 1e-5
                                        the noise that keeps it within a budget
  organza event check run.json          check the events of a run and say them in words
  organza --json event check - < run.json
                                        the same from standard input, as one line of JSON
  organza completions zsh > _organza    completions for your shell

Exit codes: 0 done, 1 failed, 2 wrong usage.
Colors follow the terminal and the NO_COLOR variable unless --color says otherwise.";

/// Wide models trained with differential privacy
#[derive(Debug, Parser)]
#[command(
    name = "organza",
    version,
    long_about = PROMISE,
    after_help = EXAMPLES,
    max_term_width = 100
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) output: OutputOptions,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// How results and messages are shown, by every command.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputOptions {
    /// Print the result as one line of JSON on standard output, everything else on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Print nothing but the result and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Print on standard error what is being done
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,

    /// How progress is shown, which is not private: it follows the data
    #[arg(long, global = true, value_name = "FORM", value_enum, default_value_t)]
    pub(crate) progress: ProgressForm,

    /// When to use color
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub(crate) color: ColorChoice,
}

/// How long work is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressForm {
    /// A bar on a terminal, nothing elsewhere
    #[default]
    Auto,
    /// A line of JSON on standard error where a stage begins and ends, and each second
    Json,
    /// Nothing
    None,
}

impl Arguments {
    /// Reads the command line; on wrong usage, `--help` and `--version` ends the program.
    pub(crate) fn from_command_line(words: Vec<OsString>) -> Self {
        let color = requested_color(words.iter().cloned());
        let mut command = Self::command().color(color);
        let matches = command.try_get_matches_from_mut(words).unwrap_or_else(|error| error.exit());
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
    }

    /// Reads the words of a program.
    pub(crate) fn parsed(words: Vec<OsString>) -> Result<Self, UsageError> {
        Self::try_parse_from(words).map_err(|error| {
            let text = error.render().to_string();
            let mut lines = text.lines().filter(|line| !line.trim().is_empty());
            let message = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            let listed = lines.next().filter(|line| line.starts_with(' ')).unwrap_or_default();
            UsageError::new(format!("{message}{listed}"), "see the documentation of this setting")
        })
    }
}

/// The color that the command line asks for, found before it is parsed, because help and usage
/// errors are written by the parser itself.
fn requested_color(arguments: impl Iterator<Item = OsString>) -> ColorChoice {
    let words: Vec<String> = arguments.map(|word| word.to_string_lossy().into_owned()).collect();
    let attached = words.iter().filter_map(|word| word.strip_prefix("--color="));
    let separate = words.windows(2).filter(|pair| pair[0] == "--color").map(|pair| &*pair[1]);
    attached
        .chain(separate)
        .find_map(|value| ColorChoice::from_str(value, false).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn color_is_found_wherever_it_stands() {
        let color = |line: &str| requested_color(line.split(' ').map(OsString::from));
        assert_eq!(color("organza --color never --help"), ColorChoice::Never);
        assert_eq!(color("organza event --color=always check x"), ColorChoice::Always);
        assert_eq!(color("organza --help"), ColorChoice::Auto);
        assert_eq!(color("organza --color"), ColorChoice::Auto);
    }
}
