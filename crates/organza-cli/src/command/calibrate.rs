//! `organza calibrate`: the training that meets a target.

use crate::{
    answer::Answer,
    curves,
    describe::{count, number},
    digits::{above, below},
    names::named,
    output::{GOOD, Output},
    training::TrainingOptions,
    usage::UsageError,
};
use clap::{Args, ValueEnum};
use organza_accountant::{
    Guarantee,
    calibrate::{self, Target},
};
use organza_ledger::Neighbouring;
use organza_mechanism::{SelectionRule, Split};
use serde::Serialize;
use std::{fmt, path::PathBuf, time::Instant};

/// How many digits of a found parameter are kept. It is rounded to the cheaper side, so that the
/// price of the unrounded one remains a bound.
const DIGITS: usize = 6;

const EXAMPLES: &str = "\
Examples:
  organza calibrate --rate 1e-4 --steps 200000 --epsilon 3 --delta 1e-5
  organza calibrate --rate 1e-4 --steps 200000 --epsilon 3 --delta 1e-5 \\
      --select exponential --draws 100 --share 0.1
  organza calibrate --rate 1e-4 --steps 200000 --epsilon 3 --delta 1e-5 \\
      --select uniform --draws 100 --candidates 100000
  organza calibrate --find steps --rate 1e-4 --noise-multiplier 0.5 --epsilon 3 --delta 1e-5

The answer never exceeds the target. Rate 1 and one step is the plain Gaussian mechanism.";

/// Find the noise, or the steps, the rate or the range of a draw, that meet an epsilon and delta
///
/// The accountant is pld. With --select exponential, --share says how much of the budget goes to the
/// selection: of 1/s^2, where s is the multiplier of one Gaussian that would cost as much as
/// selection and noise together.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Calibrate {
    /// What to find; all else is given
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Find::NoiseMultiplier)]
    find: Find,

    #[command(flatten)]
    training: TrainingOptions,

    #[command(flatten)]
    target: TargetOptions,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Target")]
struct TargetOptions {
    /// The bound on the privacy loss
    #[arg(long)]
    epsilon: f64,

    /// The probability of exceeding it
    #[arg(long)]
    delta: f64,

    /// The share of the budget for the selection (exponential)
    #[arg(long)]
    share: Option<f64>,

    /// Which data sets are neighbours [default: add-remove] [possible values: add-remove, replace-one]
    #[arg(long, value_name = "RELATION", value_parser = named::<Neighbouring>(["add-remove", "replace-one"]), hide_possible_values = true)]
    neighbouring: Option<Neighbouring>,

    /// Draw epsilon over delta and over the steps into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// The parameters that can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Find {
    /// The smallest deviation of the noise, over the sensitivity of what it is added to
    NoiseMultiplier,
    /// The largest number of steps
    Steps,
    /// The largest probability of joining a batch
    Rate,
    /// The largest range of a draw
    SelectionEpsilon,
}

impl Calibrate {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        self.nothing_is_given_and_sought()?;
        let target = self.target.target()?;
        let start = Instant::now();
        let (found, guarantee) = match self.find {
            Find::NoiseMultiplier => self.find_noise_multiplier(&target),
            Find::Steps => self.find_steps(&target),
            Find::Rate => self.find_rate(&target),
            Find::SelectionEpsilon => self.find_selection_epsilon(&target),
        }?;
        let seconds = start.elapsed().as_secs_f64();
        if let Some(path) = &self.target.plot {
            let point = (guarantee.delta, guarantee.epsilon);
            curves::draw(path, &found.event()?, target.neighbouring, point)?;
            output.note(format_args!("wrote {}", path.display()));
        }
        output.result(&Report {
            answer: Answer::from_guarantee(&guarantee, seconds),
            noise_multiplier: found.needed_noise_multiplier()?,
            deviation: found.deviation,
            selection_epsilon: found.selection_epsilon,
            rate: found.rate,
            steps: found.steps,
            training: found,
            target,
        })
    }

    fn find_noise_multiplier(&self, target: &Target) -> Found {
        let share = match (self.training.select, self.target.share) {
            (Some(SelectionRule::Exponential), None) => {
                return Err(UsageError::new(
                    "`--share` is missing: selection and noise have one budget",
                    "add `--share 0.1` to give a tenth of it to the selection",
                )
                .into());
            }
            (_, share) => share.unwrap_or(0.0),
        };
        let training = &self.training;
        let (rate, steps) = (training.needed_rate()?, training.needed_steps()?);
        let selection = training.selection(share)?;
        let split = |together: f64| match &selection {
            Some((selection, draws)) => selection.split(*draws, together),
            None => Split { noise_multiplier: together, draw: None },
        };
        let step = |together: f64| training.with(split(together))?.step();
        // A first look, so that flags that make no sense are named as such.
        step(1.0)?;
        let (together, guarantee) =
            calibrate::scale_of_steps(target, rate, steps, |together| step(together).ok())?;
        let found = training.with(split(together))?;
        let found = TrainingOptions {
            noise_multiplier: found.noise_multiplier.map(|it| above(it, DIGITS)),
            deviation: found.deviation.map(|it| above(it, DIGITS)),
            selection_epsilon: found.selection_epsilon.map(|it| below(it, DIGITS)),
            ..found
        };
        Ok((found, guarantee))
    }

    fn find_selection_epsilon(&self, target: &Target) -> Found {
        if self.training.select != Some(SelectionRule::Exponential) {
            return Err(UsageError::new(
                "`--find selection-epsilon` needs draws whose range can be found",
                "add `--select exponential`",
            )
            .into());
        }
        self.training.selection(0.0)?;
        let with =
            |draw: f64| TrainingOptions { selection_epsilon: Some(draw), ..self.training.clone() };
        // A first look, so that flags that make no sense are named as such.
        with(1.0).event()?;
        let (draw, guarantee) = calibrate::draw_epsilon(target, |draw| with(draw).event().ok())?;
        Ok((with(below(draw, DIGITS)), guarantee))
    }

    fn find_steps(&self, target: &Target) -> Found {
        let one = TrainingOptions { steps: Some(1), ..self.training.clone() };
        let (steps, guarantee) = calibrate::times(&one.event()?, target)?;
        Ok((TrainingOptions { steps: Some(steps), ..one }, guarantee))
    }

    fn find_rate(&self, target: &Target) -> Found {
        let steps = self.training.needed_steps()?;
        let (rate, guarantee) = calibrate::rate(&self.training.step()?, steps, target)?;
        Ok((
            TrainingOptions { rate: Some(below(rate, DIGITS)), ..self.training.clone() },
            guarantee,
        ))
    }

    /// A parameter that is to be found must not be given, nor a share where nothing is shared.
    fn nothing_is_given_and_sought(&self) -> Result<(), UsageError> {
        let training = &self.training;
        let given = match self.find {
            Find::NoiseMultiplier if training.noise_multiplier.is_some() => "--noise-multiplier",
            Find::NoiseMultiplier if training.deviation.is_some() => "--deviation",
            Find::NoiseMultiplier | Find::SelectionEpsilon
                if training.selection_epsilon.is_some() =>
            {
                "--selection-epsilon"
            }
            Find::Steps if training.steps.is_some() => "--steps",
            Find::Rate if training.rate.is_some() => "--rate",
            _ => return self.share_is_of_use(),
        };
        let others = "`--find` steps, rate or selection-epsilon looks for something else";
        Err(UsageError::new(
            format!("`{given}` is given, and is also what is to be found"),
            format!("remove `{given}`; {others}"),
        ))
    }

    fn share_is_of_use(&self) -> Result<(), UsageError> {
        let is_split = self.find == Find::NoiseMultiplier
            && self.training.select == Some(SelectionRule::Exponential);
        if self.target.share.is_none() || is_split {
            return Ok(());
        }
        Err(UsageError::new(
            "`--share` splits a budget between draws and noise, and there is none to split",
            "remove `--share`, or look for the noise multiplier with `--select exponential`",
        ))
    }
}

/// A training that meets the target, and what it costs.
type Found = anyhow::Result<(TrainingOptions, Guarantee)>;

impl TargetOptions {
    fn target(&self) -> Result<Target, UsageError> {
        let fail = |flag, value, expected| Err(UsageError::value(flag, value, expected));
        if !(self.epsilon > 0.0 && self.epsilon.is_finite()) {
            return fail("--epsilon", self.epsilon, "positive and finite");
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            return fail("--delta", self.delta, "between 0 and 1");
        }
        match self.share {
            Some(share) if !(share > 0.0 && share < 1.0) => {
                fail("--share", share, "between 0 and 1")
            }
            _ => Ok(Target {
                neighbouring: self.neighbouring.unwrap_or_default(),
                ..Target::new(self.epsilon, self.delta)
            }),
        }
    }
}

/// What was found.
#[derive(Serialize)]
struct Report {
    noise_multiplier: f64,
    deviation: Option<f64>,
    selection_epsilon: Option<f64>,
    rate: Option<f64>,
    steps: Option<u64>,
    #[serde(flatten)]
    answer: Answer,
    #[serde(skip)]
    training: TrainingOptions,
    #[serde(skip)]
    target: Target,
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answer, training, target, .. } = self;
        let mut row = |name: &str, value: Option<String>| match value {
            Some(value) => writeln!(formatter, "{name:<17}  {GOOD}{value}{GOOD:#}"),
            None => Ok(()),
        };
        row("noise multiplier", training.noise_multiplier.map(number))?;
        row("noise deviation", training.deviation.map(number))?;
        row("selection epsilon", training.selection_epsilon.map(number))?;
        row("rate", training.rate.map(number))?;
        row("steps", training.steps.map(count))?;
        let worst = answer.direction.map_or_else(String::new, |direction| format!(", {direction}"));
        writeln!(
            formatter,
            "epsilon            {} of {} at delta {} (pld, {}{worst})",
            number(above(answer.epsilon, DIGITS - 1)),
            number(target.epsilon),
            number(target.delta),
            target.neighbouring
        )?;
        write!(
            formatter,
            "\nTo see it priced:\n  organza account {} --delta {}",
            training.command_line(),
            number(target.delta)
        )?;
        if target.neighbouring == Neighbouring::ReplaceOne {
            write!(formatter, " --neighbouring {}", target.neighbouring)?;
        }
        writeln!(formatter)
    }
}
