//! What a person asks of a selection, and how it shares one budget with the noise.

use super::rules::{SelectionRule, SelectionSettings};
use crate::scores::By;
use crate::shape::Shape;
use serde::{Deserialize, Serialize};

/// How coordinates or rows are selected. [`Self::split`] shares a budget between it and the noise,
/// [`Self::settings`] makes of it what a plan takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// The rule.
    pub rule: SelectionRule,
    /// Single coordinates or whole rows.
    pub by: By,
    /// How many; without it `gamma` of all.
    pub draws: Option<u64>,
    /// The share of the coordinates (or rows) that is selected.
    pub gamma: f64,
    /// The guarantee of one draw; without it `share` of the budget is for selection.
    pub epsilon: Option<f64>,
    /// The share of the budget that goes to selection.
    pub share: f64,
    /// The cap on scores (S0); infinite for none, but not with the exponential mechanism.
    pub cap: f64,
    /// The threshold of the sparse vector technique.
    pub threshold: f64,
}

/// What selection and noise get of one budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Deviation of the noise over its sensitivity.
    pub noise_multiplier: f64,
    /// The epsilon of one draw; none where draws cost nothing.
    pub draw: Option<f64>,
}

impl Selection {
    /// How many are selected of a model of this shape: floor(gamma p), at least one, unless a number was given.
    pub fn draws(&self, shape: &Shape) -> u64 {
        let all = shape.candidates(self.rule.only_by().unwrap_or(self.by)) as f64;
        self.draws.unwrap_or(((self.gamma * all).floor() as u64).max(1))
    }

    /// The one splitter: selection and noise that together cost about as much as one Gaussian of multiplier
    /// `together`. Of 1 / together^2 the `draws` draws get the share f and the noise the rest, so that its multiplier is
    /// together / sqrt(1 - f): k draws of bounded range e compose like a Gaussian of squared shift k e^2 / 4, and k of pure
    /// differential privacy like one of k e^2. Where a draw has an epsilon of its own or costs nothing, the noise gets
    /// all.
    ///
    /// # Privacy
    /// It is a guess: what is released is priced by its event, whatever was split.
    pub fn split(&self, draws: u64, together: f64) -> Split {
        match (self.rule.unit_draw(), self.epsilon) {
            (Some(unit), None) if draws > 0 => Split {
                noise_multiplier: together / (1.0 - self.share).sqrt(),
                draw: Some(unit * (self.share / draws as f64).sqrt() / together),
            },
            (_, draw) => Split { noise_multiplier: together, draw },
        }
    }

    /// The exact settings for a model of this shape, at this epsilon of a draw.
    pub fn settings(&self, shape: &Shape, draw: f64) -> SelectionSettings {
        self.rule.settings(self, shape, self.draws(shape), draw)
    }
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            rule: SelectionRule::Exponential,
            by: By::Coordinate,
            draws: None,
            gamma: 0.001,
            epsilon: None,
            share: 0.1,
            cap: 0.1,
            threshold: 0.5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 1 / together^2 the draws get their share and the noise the rest, each by what it counts.
    #[test]
    fn a_split_budget_adds_up() {
        for rule in SelectionRule::ALL {
            let selection = Selection { rule, share: 0.3, ..Selection::default() };
            let Split { noise_multiplier, draw } = selection.split(50, 0.7);
            let draws = match (rule.unit_draw(), draw) {
                (Some(unit), Some(draw)) => 50.0 * (draw / unit).powi(2),
                (None, None) => 0.0,
                other => panic!("{rule}: {other:?}"),
            };
            let together = noise_multiplier.powi(-2) + draws;
            assert!((together * 0.49 - 1.0).abs() < 1e-12, "{rule}");
            let given = Selection { epsilon: Some(0.1), ..selection }.split(50, 0.7);
            assert_eq!(given, Split { noise_multiplier: 0.7, draw: Some(0.1) });
        }
    }

    #[test]
    fn names_are_those_of_the_settings() {
        for rule in SelectionRule::ALL {
            let named = serde_json::from_str(&format!("\"{rule}\""));
            assert_eq!(named.ok(), Some(rule));
        }
    }
}
