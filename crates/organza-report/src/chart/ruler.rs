//! From values to places along one axis.

use crate::describe::{count, number};

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, with zero.
    Linear,
    /// By their logarithm; only positive values can be shown.
    Logarithmic,
    /// Evenly, from about the least value: for differences that would vanish beside zero.
    Fitted,
}

/// One axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What is measured along it.
    pub label: String,
    /// How it is spread.
    pub scale: Scale,
}

impl Axis {
    /// An axis from zero.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear }
    }

    /// An axis by logarithms.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Logarithmic }
    }

    /// An axis from about the least value.
    pub fn fitted(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Fitted }
    }
}

pub(super) struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    /// Where the lowest and the highest value stand.
    ends: (f64, f64),
}

impl Ruler {
    pub(super) fn new(scale: Scale, values: impl Iterator<Item = f64>, ends: (f64, f64)) -> Self {
        let usable = |value: &f64| match scale {
            Scale::Linear | Scale::Fitted => value.is_finite(),
            Scale::Logarithmic => value.is_finite() && *value > 0.0,
        };
        let (least, most) = values
            .filter(usable)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
                (least.min(value), most.max(value))
            });
        let (low, high) = match scale {
            Scale::Logarithmic if least < most => (least, most),
            // One value stands in the middle.
            Scale::Logarithmic if least == most => (least / 2.0, most * 2.0),
            Scale::Logarithmic => (1e-9, 1.0),
            Scale::Linear if most > 0.0 || least < 0.0 => (least.min(0.0), most.max(0.0)),
            Scale::Fitted if least <= most => {
                // Nothing is drawn on the edge, and equal values have a range as well.
                let room = (0.06 * (most - least)).max(1e-6 * most.abs()).max(1e-12);
                (least - room, most + room)
            }
            Scale::Linear | Scale::Fitted => (0.0, 1.0),
        };
        Self { scale, low, high, ends }
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear | Scale::Fitted => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => {
                (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
            }
        };
        self.ends.0 + share.clamp(0.0, 1.0) * (self.ends.1 - self.ends.0)
    }

    /// A tick's value, without the rounding of its computation.
    pub(super) fn caption(&self, tick: f64) -> String {
        let rounded: f64 = format!("{tick:.6e}").parse().unwrap_or(tick);
        match self.scale {
            Scale::Logarithmic if !(1e-3..1e4).contains(&rounded) => format!("{rounded:e}"),
            _ if (1e3..1e7).contains(&rounded) && rounded.fract() == 0.0 => count(rounded as u64),
            _ => number(rounded),
        }
    }

    /// Where zero stands, if there is something on either side of it.
    pub(super) fn zero(&self) -> Option<f64> {
        (self.scale == Scale::Linear && self.low < 0.0 && self.high > 0.0).then(|| self.place(0.0))
    }

    /// Two to eight round values.
    pub(super) fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear | Scale::Fitted => {
                // Captions side by side need more room than captions one above another.
                let most = if self.scale == Scale::Fitted { 7.0 } else { 5.0 };
                let rough = (self.high - self.low) / most;
                let power = 10_f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0]
                    .into_iter()
                    .map(|factor| factor * power)
                    .find(|step| *step >= rough * (1.0 - 1e-9))
                    .unwrap_or(rough);
                let first = (self.low / step - 1e-9).ceil() as i64;
                let last = ((self.high / step) * (1.0 + 1e-9)).floor() as i64;
                (first..=last).take(9).map(|index| index as f64 * step).collect()
            }
            Scale::Logarithmic => {
                let (first, last) = (
                    (self.low.log10() - 1e-9).ceil() as i32,
                    (self.high.log10() + 1e-9).floor() as i32,
                );
                let stride = ((last - first) / 6 + 1).max(1);
                let powers = (first..=last).filter(|power| power.rem_euclid(stride) == 0);
                let decades: Vec<f64> = powers.map(|power| 10_f64.powi(power)).collect();
                if decades.len() >= 3 {
                    return decades;
                }
                // Within a decade or two, what lies between has numbers as well.
                let factors: &[f64] = match self.high / self.low < 20.0 {
                    true => &[1.0, 2.0, 3.0, 5.0, 8.0],
                    false => &[1.0, 2.0, 5.0],
                };
                let between = (first - 1..=last)
                    .flat_map(|power| factors.iter().map(move |it| it * 10_f64.powi(power)));
                let within = |tick: &f64| {
                    (self.low * (1.0 - 1e-9)..=self.high * (1.0 + 1e-9)).contains(tick)
                };
                let between: Vec<f64> = between.filter(within).collect();
                if between.len() >= 2 { between } else { vec![self.low, self.high] }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruler(scale: Scale, values: &[f64]) -> Ruler {
        Ruler::new(scale, values.iter().copied(), (0.0, 100.0))
    }

    #[test]
    fn ticks_are_round_and_few() {
        let ticks = ruler(Scale::Linear, &[0.1, 2.418]).ticks();
        assert_eq!(ticks, [0.0, 0.5, 1.0, 1.5, 2.0]);
        let decades = ruler(Scale::Logarithmic, &[1e-12, 1e-3]);
        let captions: Vec<_> = decades.ticks().iter().map(|tick| decades.caption(*tick)).collect();
        assert_eq!(captions, ["1e-12", "1e-10", "1e-8", "1e-6", "1e-4"]);
        let steps = ruler(Scale::Linear, &[300_000.0]);
        assert_eq!(steps.caption(steps.ticks()[2]), "200,000");
        for most in [1e-9, 0.3, 7.0, 300_000.0, 1e12] {
            for scale in [Scale::Linear, Scale::Fitted] {
                let count = ruler(scale, &[0.9 * most, most]).ticks().len();
                assert!((3..=8).contains(&count), "{count} ticks up to {most}");
            }
        }
        let fitted = ruler(Scale::Fitted, &[0.613, 0.694]);
        assert_eq!(
            fitted.ticks().iter().map(|tick| fitted.caption(*tick)).collect::<Vec<_>>(),
            ["0.62", "0.64", "0.66", "0.68"]
        );
    }

    #[test]
    fn budgets_have_numbers_and_losses_below_zero_a_place() {
        let captions = |values: &[f64]| {
            let ruler = ruler(Scale::Logarithmic, values);
            ruler.ticks().iter().map(|tick| ruler.caption(*tick)).collect::<Vec<_>>()
        };
        assert_eq!(captions(&[0.5, 8.0]), ["0.5", "0.8", "1", "2", "3", "5", "8"]);
        assert_eq!(captions(&[3.0]), ["2", "3", "5"]);
        assert_eq!(captions(&[3.1, 4.0]), ["3.1", "4"]);
        assert_eq!(captions(&[0.1, 3.0]), ["0.1", "0.2", "0.5", "1", "2"]);
        let shares = ruler(Scale::Linear, &[-0.5, 1.0]);
        assert_eq!(shares.ticks(), [-0.5, 0.0, 0.5, 1.0]);
        assert!((shares.place(-0.5)).abs() < 1e-9 && shares.zero().is_some());
        assert!((shares.place(0.0) - 100.0 / 3.0).abs() < 1e-9);
        assert_eq!(ruler(Scale::Linear, &[0.2, 1.0]).zero(), None);
    }

    #[test]
    fn places_run_from_end_to_end_and_never_beyond() {
        let ruler = ruler(Scale::Logarithmic, &[1e-4, 1e-2]);
        for (value, place) in [(1e-4, 0.0), (1e-3, 50.0), (1e-2, 100.0), (1.0, 100.0), (0.0, 0.0)] {
            assert!((ruler.place(value) - place).abs() < 1e-9, "{value}");
        }
    }

    #[test]
    fn one_value_has_a_place() {
        for scale in [Scale::Linear, Scale::Logarithmic, Scale::Fitted] {
            assert!(ruler(scale, &[0.7]).place(0.7).is_finite());
        }
        assert!((ruler(Scale::Fitted, &[0.7]).place(0.7) - 50.0).abs() < 1e-6);
    }
}
