//! The flags that describe a training: a number of steps, each on a Poisson batch, each selecting
//! coordinates in some way and adding Gaussian noise.

use crate::{
    describe::number,
    usage::{UsageError, needed},
};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use organza_ledger::{Event, MaxNoise};
use organza_mechanism::{Selection, SelectionRule, Split};

/// A training in flags; which of them are needed depends on what is asked.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Training")]
pub(crate) struct TrainingOptions {
    /// The probability with which a unit joins a batch (1: no sampling)
    #[arg(long, value_name = "Q")]
    pub(crate) rate: Option<f64>,

    /// The number of steps
    #[arg(long, value_name = "T")]
    pub(crate) steps: Option<u64>,

    /// The deviation of the noise over the L2 sensitivity of what it is added to; not with --score-l2
    #[arg(long, value_name = "SIGMA", conflicts_with = "deviation")]
    pub(crate) noise_multiplier: Option<f64>,

    /// The deviation of the noise itself, in the measure of --score-l2, which it needs
    #[arg(long, value_name = "D")]
    pub(crate) deviation: Option<f64>,

    /// How each step selects the coordinates that get noise, if not all do
    #[arg(long, value_name = "HOW", value_parser = priced())]
    pub(crate) select: Option<SelectionRule>,

    /// The number of coordinates that a step selects
    #[arg(long, value_name = "K")]
    pub(crate) draws: Option<u64>,

    /// The bounded range of one draw
    #[arg(long, value_name = "ETA")]
    pub(crate) selection_epsilon: Option<f64>,

    /// The number of coordinates to select from
    #[arg(long, value_name = "P")]
    pub(crate) candidates: Option<u64>,

    /// The largest score (exponential)
    #[arg(long, value_name = "CAP")]
    pub(crate) score_cap: Option<f64>,

    /// How far one unit moves the vector that is selected from, in L2 (exponential, uniform)
    #[arg(long, value_name = "L2")]
    pub(crate) score_l2: Option<f64>,

    /// What the selected part is clipped to in L2 before it gets noise, if it is (exponential, uniform)
    #[arg(long, value_name = "S2")]
    pub(crate) second_clip: Option<f64>,

    /// The number of coordinates above the threshold (sparse-vector)
    #[arg(long, value_name = "C")]
    pub(crate) hits: Option<u64>,

    /// What the noise of the threshold costs for each hit (sparse-vector)
    #[arg(long, value_name = "EPSILON")]
    pub(crate) threshold_epsilon: Option<f64>,

    /// What the noise of the queries costs for each hit (sparse-vector)
    #[arg(long, value_name = "EPSILON")]
    pub(crate) query_epsilon: Option<f64>,
}

/// The rules that flags can state; any other is written as an event.
fn priced() -> impl TypedValueParser<Value = SelectionRule> {
    PossibleValuesParser::new([
        PossibleValue::new("exponential")
            .help("Draws without replacement, proportional to e^(weight x score)"),
        PossibleValue::new("uniform").help("A mask that ignores the data"),
        PossibleValue::new("sparse-vector")
            .help("Scores above a noisy threshold, fresh after each hit"),
        PossibleValue::new("noisy-max")
            .help("The best of scores with Gumbel noise, one after the other"),
    ])
    .try_map(|name| serde_json::from_value(serde_json::Value::String(name)))
}

/// Where the flags about a selection begin among all flags.
const SELECTION: usize = 5;

/// What allows selection and noise to be priced as one, as in [`Event::Selected`].
#[derive(Clone, Copy)]
struct Capped {
    candidates: u64,
    /// The largest score.
    cap: f64,
    /// How far a unit moves the whole vector, in L2.
    l2: f64,
    /// How far it moves what gets the noise; none if no second clip bounds it further.
    sensitivity: Option<f64>,
}

/// The flags that say something about a selection.
fn flags(rule: SelectionRule) -> &'static [&'static str] {
    match rule {
        SelectionRule::Exponential => &[
            "--draws",
            "--selection-epsilon",
            "--candidates",
            "--score-cap",
            "--score-l2",
            "--second-clip",
        ],
        SelectionRule::Uniform => &["--draws", "--candidates", "--score-l2", "--second-clip"],
        SelectionRule::SparseVector => &["--hits", "--threshold-epsilon", "--query-epsilon"],
        _ => &["--draws", "--selection-epsilon"],
    }
}

impl TrainingOptions {
    /// The whole training, as an event that passed its check.
    pub(crate) fn event(&self) -> Result<Event, UsageError> {
        let step = self.step()?;
        let rate = self.needed_rate()?;
        let steps = self.needed_steps()?;
        let sampled = if rate == 1.0 { step } else { step.poisson(rate) };
        checked(if steps == 1 { sampled } else { sampled.repeat(steps) })
    }

    /// One step, as if everyone were in the batch.
    pub(crate) fn step(&self) -> Result<Event, UsageError> {
        self.only_flags_of_the_selection()?;
        let noise = Event::Gaussian { noise_multiplier: self.needed_noise_multiplier()? };
        let Some(select) = self.select else { return checked(noise) };
        let selection = match select {
            SelectionRule::Uniform => {
                let share = self.share_of_the_mask()?;
                return checked(Event::UniformMask { share, event: Box::new(noise) });
            }
            SelectionRule::Exponential => {
                let known = self.known_of_the_scores()?;
                let by = Event::Exponential {
                    epsilon: self.needed_selection_epsilon()?,
                    draws: self.needed_draws()?,
                    candidates: known.map(|known| known.candidates),
                    cap: known.map(|known| known.cap),
                    l2: known.map(|known| known.l2),
                };
                if let Some(Capped { sensitivity, .. }) = known {
                    let (by, noise) = (Box::new(by), Box::new(noise));
                    return checked(Event::Selected { by, sensitivity, noise });
                }
                by
            }
            SelectionRule::NoisyMax => Event::NoisyMax {
                epsilon: self.needed_selection_epsilon()?,
                draws: self.needed_draws()?,
                noise: MaxNoise::Gumbel,
            },
            SelectionRule::SparseVector => Event::SparseVector {
                threshold_epsilon: needed(
                    self.threshold_epsilon,
                    "--threshold-epsilon",
                    "what the noise of the threshold costs for each hit",
                )?,
                query_epsilon: needed(
                    self.query_epsilon,
                    "--query-epsilon",
                    "what the noise of the queries costs for each hit",
                )?,
                hits: needed(self.hits, "--hits", "after how many hits it stops")?,
                refreshed: true,
                value_epsilon: None,
            },
            other => {
                return Err(UsageError::new(
                    format!("no flags state what `--select {other}` costs"),
                    "write the event into a file: `organza event --help` shows how",
                ));
            }
        };
        checked(Event::Compose(vec![selection, noise]))
    }

    /// The selection whose budget shall be found, `share` of it for the draws, and how many draws there are.
    pub(crate) fn selection(&self, share: f64) -> Result<Option<(Selection, u64)>, UsageError> {
        self.only_flags_of_the_selection()?;
        match self.select {
            None => Ok(None),
            Some(rule @ (SelectionRule::Exponential | SelectionRule::Uniform)) => {
                Ok(Some((Selection { rule, share, ..Selection::default() }, self.needed_draws()?)))
            }
            Some(other) => Err(UsageError::new(
                format!("no budget is split between `--select {other}` and the noise"),
                "give all its parameters and ask for `--find steps` or `--find rate`, or select \
                 `exponential` or `uniform`",
            )),
        }
    }

    /// The same training with this noise, as a multiplier of what it is added to, and this epsilon of a draw.
    pub(crate) fn with(&self, split: Split) -> Result<Self, UsageError> {
        let Split { noise_multiplier, draw } = split;
        let (noise_multiplier, deviation) = match self.sensitivity()? {
            None => (Some(noise_multiplier), None),
            Some(moved) => (None, Some(noise_multiplier * moved)),
        };
        Ok(Self { noise_multiplier, deviation, selection_epsilon: draw, ..self.clone() })
    }

    pub(crate) fn needed_rate(&self) -> Result<f64, UsageError> {
        needed(self.rate, "--rate", "the probability with which a unit joins a batch")
    }

    pub(crate) fn needed_steps(&self) -> Result<u64, UsageError> {
        needed(self.steps, "--steps", "the number of steps")
    }

    /// The deviation of the noise over the sensitivity of what it is added to.
    pub(crate) fn needed_noise_multiplier(&self) -> Result<f64, UsageError> {
        let Some(sensitivity) = self.sensitivity()? else {
            if self.deviation.is_some() {
                return Err(UsageError::new(
                    "`--deviation` says nothing without the sensitivity that it hides",
                    "add `--score-l2`, or give `--noise-multiplier` instead",
                ));
            }
            let purpose = "the deviation of the noise over the sensitivity of what it is added to";
            return needed(self.noise_multiplier, "--noise-multiplier", purpose);
        };
        if let Some(multiplier) = self.noise_multiplier {
            let deviation = number(multiplier * sensitivity);
            return Err(UsageError::new(
                "`--noise-multiplier` does not say whether it is relative to `--score-l2` or to what \
                 a second clip leaves of it",
                format!(
                    "give the deviation itself: `--deviation {deviation}` if the noise hides a change \
                     of {}, and `--second-clip` if there is one",
                    number(sensitivity)
                ),
            ));
        }
        let purpose = "the deviation of the noise, in the measure of `--score-l2`";
        Ok(positive("--deviation", needed(self.deviation, "--deviation", purpose)?)? / sensitivity)
    }

    /// How far one unit moves what gets the noise, where its measure is given: min(L2, 2 S2).
    pub(crate) fn sensitivity(&self) -> Result<Option<f64>, UsageError> {
        match (self.score_l2, self.second_clip) {
            (None, None) => Ok(None),
            (Some(l2), None) => positive("--score-l2", l2).map(Some),
            (Some(l2), Some(clip)) => {
                let most = 2.0 * positive("--second-clip", clip)?;
                Ok(Some(positive("--score-l2", l2)?.min(most)))
            }
            (None, Some(_)) => Err(UsageError::new(
                "`--second-clip` alone does not say how much of a change it leaves",
                "add `--score-l2`, and `--deviation` for the noise",
            )),
        }
    }

    fn needed_selection_epsilon(&self) -> Result<f64, UsageError> {
        needed(self.selection_epsilon, "--selection-epsilon", "the bounded range of one draw")
    }

    fn needed_draws(&self) -> Result<u64, UsageError> {
        needed(self.draws, "--draws", "the number of coordinates that a step selects")
    }

    fn share_of_the_mask(&self) -> Result<f64, UsageError> {
        let (draws, candidates) = (self.needed_draws()?, self.candidates);
        let candidates = needed(candidates, "--candidates", "how many coordinates there are")?;
        if draws > candidates {
            return Err(UsageError::new(
                format!("`--draws` is {draws}, but there are only {candidates} to draw from"),
                "lower `--draws` or raise `--candidates`",
            ));
        }
        let share = draws as f64 / candidates.max(1) as f64;
        // Where a second clip leaves less of a change, the mask hides less of what is left.
        let hidden = match (self.sensitivity()?, self.score_l2) {
            (Some(sensitivity), Some(l2)) => sensitivity / l2,
            _ => 1.0,
        };
        Ok((share / (hidden * hidden)).min(1.0))
    }

    /// The number of candidates, the cap and the L2 bound: all of them, or none.
    fn known_of_the_scores(&self) -> Result<Option<Capped>, UsageError> {
        let sensitivity = self.sensitivity()?;
        match (self.candidates, self.score_cap, self.score_l2) {
            (Some(candidates), Some(cap), Some(l2)) => {
                let sensitivity = sensitivity.filter(|sensitivity| *sensitivity < l2);
                Ok(Some(Capped { candidates, cap, l2, sensitivity }))
            }
            (None, None, None) => Ok(None),
            (candidates, cap, l2) => {
                let all = [
                    ("`--candidates`", candidates.is_some()),
                    ("`--score-cap`", cap.is_some()),
                    ("`--score-l2`", l2.is_some()),
                ];
                let list = |given: bool| {
                    let some = all.iter().filter(|(_, is_given)| *is_given == given);
                    some.map(|(flag, _)| *flag).collect::<Vec<_>>().join(" and ")
                };
                Err(UsageError::new(
                    format!("{} alone does not tighten the account of the selection", list(true)),
                    format!("add {} too, or give none of the three", list(false)),
                ))
            }
        }
    }

    fn only_flags_of_the_selection(&self) -> Result<(), UsageError> {
        let given = self.given(SELECTION);
        let Some(select) = self.select else {
            return match given.first() {
                None => Ok(()),
                Some((flag, _)) => Err(UsageError::new(
                    format!("`{flag}` speaks of a selection, and there is none"),
                    "add `--select exponential` (or uniform, sparse-vector, noisy-max)",
                )),
            };
        };
        match given.iter().find(|(flag, _)| !flags(select).contains(flag)) {
            None => Ok(()),
            Some((flag, _)) => Err(UsageError::new(
                format!("`{flag}` says nothing about `--select {select}`"),
                format!("remove `{flag}`; these belong to it: {}", flags(select).join(", ")),
            )),
        }
    }

    /// The flags that state this training.
    pub(crate) fn command_line(&self) -> String {
        let words = self.given(0).into_iter().map(|(flag, value)| format!("{flag} {value}"));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The first flag that was given, if any was.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        self.given(0).first().map(|(flag, _)| *flag)
    }

    /// The flags that were given, from the flag `first` on.
    fn given(&self, first: usize) -> Vec<(&'static str, String)> {
        let real = |value: Option<f64>| value.map(number);
        let whole = |value: Option<u64>| value.map(|value| value.to_string());
        [
            ("--rate", real(self.rate)),
            ("--steps", whole(self.steps)),
            ("--noise-multiplier", real(self.noise_multiplier)),
            ("--deviation", real(self.deviation)),
            ("--select", self.select.map(|select| select.to_string())),
            ("--draws", whole(self.draws)),
            ("--selection-epsilon", real(self.selection_epsilon)),
            ("--candidates", whole(self.candidates)),
            ("--score-cap", real(self.score_cap)),
            ("--score-l2", real(self.score_l2)),
            ("--second-clip", real(self.second_clip)),
            ("--hits", whole(self.hits)),
            ("--threshold-epsilon", real(self.threshold_epsilon)),
            ("--query-epsilon", real(self.query_epsilon)),
        ]
        .into_iter()
        .skip(first)
        .filter_map(|(flag, value)| value.map(|value| (flag, value)))
        .collect()
    }
}

fn positive(flag: &str, value: f64) -> Result<f64, UsageError> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(UsageError::value(flag, value, "positive and finite"))
}

fn checked(event: Event) -> Result<Event, UsageError> {
    event.check().map_err(|error| UsageError::from_event(&error))?;
    Ok(event)
}
