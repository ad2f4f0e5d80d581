//! What an [`Event::Selected`] states, as numbers.

use crate::event::Check;
use crate::{Event, EventError};

/// How noise on what was selected is written since version 2 of ledgers, certificates and questions.
/// Before, a `gaussian` directly after a capped `exponential` within one `compose` meant it.
pub const SELECTED_FORM: &str =
    r#"{"selected": {"by": {"exponential": ...}, "noise": {"gaussian": ...}}}"#;

/// The numbers of an [`Event::Selected`]: a capped exponential selection, and the noise on what it
/// selected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelectedNoise {
    /// The bounded range of one draw.
    pub epsilon: f64,
    /// The number of draws.
    pub draws: u64,
    /// The number of candidates before the first draw.
    pub candidates: u64,
    /// The largest score.
    pub cap: f64,
    /// How far one unit moves the whole vector, in L2.
    pub l2: f64,
    /// How far one unit moves what gets the noise, at the most; not above `l2`.
    pub sensitivity: f64,
    /// The deviation of the noise over `sensitivity`.
    pub noise_multiplier: f64,
}

impl SelectedNoise {
    /// Reads the fields of an [`Event::Selected`].
    ///
    /// # Errors
    /// If `by` is not an exponential selection that states its candidates, cap and L2 bound, `noise` is
    /// not one Gaussian, or `sensitivity` is not positive or exceeds the L2 bound.
    pub fn new(by: &Event, sensitivity: Option<f64>, noise: &Event) -> Result<Self, EventError> {
        let check = Check { kind: "selected" };
        let Event::Exponential {
            epsilon,
            draws,
            candidates: Some(candidates),
            cap: Some(cap),
            l2: Some(l2),
        } = *by
        else {
            let value = match by {
                Event::Exponential { .. } => "`exponential` without all of these".to_owned(),
                other => format!("`{}`", other.kind()),
            };
            let expected = "one `exponential` with `candidates`, `cap` and `l2`";
            return Err(check.error("by", value, expected));
        };
        let (Event::Gaussian { noise_multiplier } | Event::RoundedGaussian { noise_multiplier }) =
            *noise
        else {
            let expected = "one `gaussian` or `rounded_gaussian`";
            return Err(check.error("noise", format!("`{}`", noise.kind()), expected));
        };
        let sensitivity = sensitivity.unwrap_or(l2);
        if !(sensitivity > 0.0 && sensitivity <= l2) {
            let expected = "positive and at most `l2`, by which the whole vector moves";
            return Err(check.error("sensitivity", sensitivity, expected));
        }
        Ok(Self { epsilon, draws, candidates, cap, l2, sensitivity, noise_multiplier })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(cap: Option<f64>) -> Event {
        let (candidates, l2) = (Some(100), Some(0.75));
        Event::Exponential { epsilon: 0.3, draws: 5, candidates, cap, l2 }
    }

    fn selected(by: Event, sensitivity: Option<f64>, noise: Event) -> Event {
        Event::Selected { by: Box::new(by), sensitivity, noise: Box::new(noise) }
    }

    #[test]
    fn without_a_second_clip_the_noise_sees_all_that_was_selected() {
        let noise = Event::Gaussian { noise_multiplier: 0.5 };
        let read = |sensitivity| SelectedNoise::new(&selection(Some(0.1)), sensitivity, &noise);
        assert_eq!(read(None).expect("it is whole").sensitivity, 0.75);
        assert_eq!(read(Some(0.2)).expect("it is whole").sensitivity, 0.2);
    }

    #[test]
    fn what_cannot_be_priced_as_one_is_named() {
        let noise = || Event::Gaussian { noise_multiplier: 0.5 };
        assert_eq!(selected(selection(Some(0.1)), None, noise()).check(), Ok(()));
        for (event, message) in [
            (
                selected(selection(None), None, noise()),
                "event `selected`: `by` is `exponential` without all of these, but must be one \
                 `exponential` with `candidates`, `cap` and `l2`",
            ),
            (
                selected(Event::Compose(vec![selection(Some(0.1))]), None, noise()),
                "event `selected`: `by` is `compose`, but must be one `exponential` with \
                 `candidates`, `cap` and `l2`",
            ),
            (
                selected(selection(Some(0.1)), None, noise().repeat(2)),
                "event `selected`: `noise` is `repeat`, but must be one `gaussian` or \
                 `rounded_gaussian`",
            ),
            (
                selected(selection(Some(0.1)), Some(0.76), noise()),
                "event `selected`: `sensitivity` is 0.76, but must be positive and at most `l2`, by \
                 which the whole vector moves",
            ),
            (
                selected(selection(Some(-0.1)), None, noise()),
                "event `exponential`: `cap` is -0.1, but must be positive and finite",
            ),
        ] {
            assert_eq!(event.check().expect_err("it makes no sense").to_string(), message);
        }
    }
}
