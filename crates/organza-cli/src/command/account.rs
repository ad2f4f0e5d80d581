//! `organza account`: what events cost.

use crate::{
    answer::{Answer, Measure, Query},
    curves,
    describe::{Tree, number, plural},
    digits::{cost, near},
    document::{Accountant, Document, Question},
    group::Group,
    input::Input,
    names::named,
    output::{DOUBT, GOOD, Output},
    training::TrainingOptions,
    usage::UsageError,
};
use clap::Args;
use organza_ledger::{AccountError, Event, Neighbouring};
use serde::Serialize;
use std::{fmt, path::PathBuf};

/// An epsilon beyond which even a sentence would be too much said.
const USELESS: f64 = 100.0;

const EXAMPLES: &str = "\
Examples:
  organza account --rate 1e-4 --steps 200000 --noise-multiplier 0.5 --delta 1e-5
  organza account --rate 1e-4 --steps 200000 --deviation 0.375 --delta 1e-5 \\
      --select exponential --draws 100 --selection-epsilon 0.28379 \\
      --candidates 100000 --score-cap 0.1 --score-l2 0.75 --plot curve.svg
  organza account --file question.json --json
  organza account --rate 1 --steps 1 --noise-multiplier 2 --epsilon 1

A file holds an event, or a question about one, as `organza event check` reads it. Flags win over \
what the file says.";

/// Say what a training, or any events, cost: epsilon at a delta, or delta at an epsilon
///
/// Each accountant gives its figure, and the result says which to quote. With --json the result is
/// the quoted answer alone.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Account {
    /// A file with an event or a question, or - for standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    training: TrainingOptions,

    #[command(flatten)]
    question: QuestionOptions,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Question")]
struct QuestionOptions {
    /// Ask for epsilon at this delta
    #[arg(long, conflicts_with = "epsilon")]
    delta: Option<f64>,

    /// Ask for delta at this epsilon
    #[arg(long)]
    epsilon: Option<f64>,

    /// Which data sets are neighbours [default: add-remove] [possible values: add-remove, replace-one]
    #[arg(long, value_name = "RELATION", value_parser = named::<Neighbouring>(["add-remove", "replace-one"]), hide_possible_values = true)]
    neighbouring: Option<Neighbouring>,

    /// Whose answer to quote [default: pld, or rdp where that refuses]
    #[arg(long, value_enum)]
    accountant: Option<Accountant>,

    /// What one unit is, for the wording
    #[arg(long, value_name = "WORD", default_value = "record")]
    unit: String,

    /// Also say what it means for someone with N units
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    group: Option<u64>,

    /// Draw epsilon over delta and over the steps into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// A question without gaps.
struct Complete {
    event: Event,
    neighbouring: Neighbouring,
    asked: Measure,
    accountant: Option<Accountant>,
}

impl Account {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let question = self.complete(output)?;
        let Complete { event, neighbouring, asked, accountant } = &question;
        let query = Query { event, neighbouring: *neighbouring, asked: *asked };
        let ask = |accountant: Accountant| accountant.answer(query);
        let quoted = match (ask(accountant.unwrap_or_default()), accountant) {
            (Ok(answer), _) => answer,
            (Err(refusal), None) => {
                let answer = ask(Accountant::Rdp).map_err(|_| refusal.clone())?;
                output.note(format_args!("pld: {refusal}; quoting rdp"));
                answer
            }
            (Err(refusal), Some(asked)) => {
                return Err(anyhow::Error::new(refusal).context(asked.to_string()));
            }
        };
        if !quoted.sound {
            output.note("as printed, not sound: this figure is not a guarantee");
        }
        let group = self.group(&quoted, query)?;
        if let Some(path) = &self.question.plot {
            let point = (quoted.delta, quoted.epsilon);
            curves::draw(path, event, *neighbouring, point)?;
            output.note(format_args!("wrote {}", path.display()));
        }
        let all = if output.is_for_people() {
            Accountant::ALL
                .map(|accountant| {
                    let known = accountant == quoted.accountant;
                    (accountant, if known { Ok(quoted.clone()) } else { ask(accountant) })
                })
                .into()
        } else {
            Vec::new()
        };
        let unit = self.question.unit;
        output.result(&Report { quoted, group, event: event.clone(), asked: *asked, all, unit })
    }

    fn group(&self, quoted: &Answer, query: Query<'_>) -> anyhow::Result<Option<Group>> {
        let Some(units) = self.question.group else { return Ok(None) };
        if !quoted.sound {
            return Err(UsageError::new(
                "a figure that is not a guarantee says nothing about a group",
                "drop `--group`, or ask `--accountant pld`",
            )
            .into());
        }
        Ok(Some(Group::of(units, query, quoted.accountant)?))
    }

    fn complete(&self, output: &Output) -> anyhow::Result<Complete> {
        let flags = &self.question;
        let document = match &self.file {
            None => Document::Event(self.training.event()?),
            Some(file) => {
                if let Some(flag) = self.training.first_given() {
                    return Err(UsageError::new(
                        format!("`--file` says what happened, and so does `{flag}`"),
                        format!("remove `--file`, or `{flag}` and all that describe the training"),
                    )
                    .into());
                }
                let input = Input::read(file)?;
                output.detail(format_args!("read {} bytes from {}", input.text.len(), input.name));
                Document::from_input(&input)?
            }
        };
        let (event, question) = match document {
            Document::Event(event) => (event, None),
            Document::Question(question) => (question.event.clone(), Some(question)),
        };
        let relation = question.as_ref().map_or(Neighbouring::default(), |it| it.neighbouring);
        Ok(Complete {
            event,
            neighbouring: flags.neighbouring.unwrap_or(relation),
            asked: flags.asked(question.as_ref())?,
            accountant: flags.accountant.or(question.map(|it| it.accountant)),
        })
    }
}

impl QuestionOptions {
    fn asked(&self, question: Option<&Question>) -> Result<Measure, UsageError> {
        let (delta, epsilon) = match (self.delta, self.epsilon, question) {
            (None, None, Some(question)) => (question.delta, question.epsilon),
            (delta, epsilon, _) => (delta, epsilon),
        };
        match (delta, epsilon) {
            (Some(delta), _) => Ok(Measure::EpsilonAt { delta }),
            (None, Some(epsilon)) => Ok(Measure::DeltaAt { epsilon }),
            (None, None) => Err(UsageError::new(
                "nothing is asked: neither `--delta` nor `--epsilon` is given",
                "add `--delta 1e-6` to learn epsilon, or `--epsilon 1` to learn delta",
            )),
        }
    }
}

/// The quoted answer, and for people also the others.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    quoted: Answer,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<Group>,
    #[serde(skip)]
    event: Event,
    #[serde(skip)]
    asked: Measure,
    #[serde(skip)]
    all: Vec<(Accountant, Result<Answer, AccountError>)>,
    #[serde(skip)]
    unit: String,
}

impl Report {
    fn figure(&self, answer: &Answer) -> String {
        let value = match self.asked {
            Measure::EpsilonAt { .. } => answer.epsilon,
            Measure::DeltaAt { .. } => answer.delta,
        };
        if answer.sound { cost(value) } else { near(value) }
    }

    fn change(&self) -> String {
        match self.quoted.neighbouring {
            Neighbouring::AddRemove => format!("one {} is there or not", self.unit),
            Neighbouring::ReplaceOne => format!("one {} is exchanged for another", self.unit),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", Tree(&self.event))?;
        match self.asked {
            Measure::EpsilonAt { delta } => {
                writeln!(formatter, "accountant  epsilon   at delta {}", number(delta))?;
            }
            Measure::DeltaAt { epsilon } => {
                writeln!(formatter, "accountant  delta     at epsilon {}", number(epsilon))?;
            }
        }
        for (accountant, outcome) in &self.all {
            match outcome {
                Ok(answer) => self.write_row(formatter, answer)?,
                Err(refusal) => {
                    let reason = match accountant {
                        Accountant::Theorem => "says nothing about this".to_owned(),
                        Accountant::Pld | Accountant::Rdp => refusal.to_string(),
                    };
                    writeln!(formatter, "{:<10}  -         {reason}", accountant.to_string())?;
                }
            }
        }
        self.write_conclusion(formatter)
    }
}

impl Report {
    fn write_row(&self, formatter: &mut fmt::Formatter<'_>, answer: &Answer) -> fmt::Result {
        let mut remarks = Vec::new();
        if answer.accountant == self.quoted.accountant && answer.sound {
            remarks.push(format!("{GOOD}quote this one{GOOD:#}"));
        }
        if let Some(direction) = answer.direction {
            let done = if direction == "add" { "added" } else { "removed" };
            remarks.push(format!("worst when a {} is {done}", self.unit));
        }
        if let Some(order) = answer.order {
            remarks.push(format!("best order {}", near(order)));
        }
        if !answer.sound {
            remarks.push(format!("{DOUBT}as printed, not sound{DOUBT:#}"));
        }
        let name = answer.accountant.to_string();
        let row = format!("{name:<10}  {:<8}  {}", self.figure(answer), remarks.join("; "));
        writeln!(formatter, "{}", row.trim_end())
    }

    fn write_conclusion(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { quoted, group, .. } = self;
        if quoted.sound {
            let (epsilon, delta) = (cost(quoted.epsilon), cost(quoted.delta));
            writeln!(
                formatter,
                "\n({epsilon}, {delta})-differentially private: {} ({}).",
                self.change(),
                quoted.neighbouring
            )?;
        }
        if let Some(group) = group {
            let (epsilon, delta) = (cost(group.epsilon), cost(group.delta));
            let units = plural(group.units, &self.unit);
            if group.epsilon > USELESS {
                writeln!(
                    formatter,
                    "Someone with {units} is promised nothing of use (epsilon {epsilon}): let the \
                     unit be all that one person has."
                )?;
            } else {
                writeln!(formatter, "({epsilon}, {delta}) for someone with {units}.")?;
            }
        }
        for (_, answer) in &self.all {
            if let Ok(Answer { sound: false, objections, .. }) = answer {
                writeln!(formatter, "\nThe paper's Theorem 3 gives no guarantee here:")?;
                for objection in *objections {
                    writeln!(formatter, "- {objection}")?;
                }
            }
        }
        Ok(())
    }
}
