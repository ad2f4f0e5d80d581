//! Weights that shrink and are projected at the cost of what is touched.

use serde::{Deserialize, Serialize};

/// Below this the common factor is multiplied in: the average takes differences of numbers that are
/// larger than it by the inverse, and half of the digits shall be left.
const SMALLEST_SCALE: f64 = 1e-8;

/// The set that weights are kept in (W of the paper).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Constraint {
    /// No constraint.
    Free,
    /// The L2 ball of this radius, the intercept included.
    Ball(f64),
    /// Every weight, the intercept too, between minus this and this.
    Box(f64),
}

/// The weights s v, kept as a common factor s and a dense vector v, with an intercept beside them and
/// a running squared norm. Their average over steps is kept the same way.
///
/// Shrinking and projecting on a ball are then a change of s; adding to a coordinate and clamping it to
/// a box touch that coordinate alone (shrinking never leaves a box around zero). For the average, with
/// A_t the sum of the factors of all steps up to t: sum_t s_t v_t = A_T v_T - sum of A_{t-1} x (change
/// of v in step t), so a second vector holds the changes' sum.
#[derive(Clone, Debug)]
pub struct Weights {
    values: Vec<f64>,
    scale: f64,
    squares: f64,
    intercept: f64,
    constraint: Constraint,
    average: Option<Average>,
}

#[derive(Clone, Debug)]
struct Average {
    changes: Vec<f64>,
    scales: f64,
    intercepts: f64,
    steps: u64,
}

impl Weights {
    /// All zero.
    pub fn new(features: u64, constraint: Constraint) -> Self {
        let values = vec![0.0; features as usize];
        Self { values, scale: 1.0, squares: 0.0, intercept: 0.0, constraint, average: None }
    }

    /// The value at a coordinate; the one after the features is the intercept.
    pub fn value(&self, coordinate: usize) -> f64 {
        self.values.get(coordinate).map_or(self.intercept, |value| self.scale * value)
    }

    /// The squared norm, the intercept included.
    pub fn squared_norm(&self) -> f64 {
        self.scale * self.scale * self.squares + self.intercept * self.intercept
    }

    /// Multiplies all weights but the intercept.
    pub fn shrink(&mut self, factor: f64) {
        self.scale *= factor;
        if self.scale.abs() < SMALLEST_SCALE {
            self.multiply_in();
        }
    }

    /// Adds to one coordinate, and keeps it in the box if there is one.
    pub fn add(&mut self, coordinate: usize, change: f64) {
        let limit = match self.constraint {
            Constraint::Box(limit) => limit,
            _ => f64::INFINITY,
        };
        let Some(value) = self.values.get_mut(coordinate) else {
            self.intercept = (self.intercept + change).clamp(-limit, limit);
            return;
        };
        let old = *value;
        let new = (self.scale * old + change).clamp(-limit, limit) / self.scale;
        *value = new;
        self.squares += new * new - old * old;
        if let Some(average) = &mut self.average {
            average.changes[coordinate] += average.scales * (new - old);
        }
    }

    /// Projects on the ball, if that is the constraint.
    pub fn project(&mut self) {
        let Constraint::Ball(radius) = self.constraint else { return };
        let norm = self.squared_norm().max(0.0).sqrt();
        if norm > radius {
            self.intercept *= radius / norm;
            self.shrink(radius / norm);
        }
    }

    /// Starts to average over the steps that follow.
    pub fn start_average(&mut self) {
        let changes = vec![0.0; self.values.len()];
        self.average = Some(Average { changes, scales: 0.0, intercepts: 0.0, steps: 0 });
    }

    /// Ends a step: the weights as they are now count in the average, if there is one.
    pub fn end_step(&mut self) {
        if let Some(average) = &mut self.average {
            average.scales += self.scale;
            average.intercepts += self.intercept;
            average.steps += 1;
        }
    }

    /// The averaged weights and intercept, or the last ones where nothing was averaged.
    pub fn finish(self) -> (Vec<f64>, f64) {
        let Self { mut values, scale, intercept, average, .. } = self;
        match average {
            Some(Average { changes, scales, intercepts, steps }) if steps > 0 => {
                let count = steps as f64;
                for (value, change) in values.iter_mut().zip(&changes) {
                    *value = (scales * *value - change) / count;
                }
                (values, intercepts / count)
            }
            _ => {
                values.iter_mut().for_each(|value| *value *= scale);
                (values, intercept)
            }
        }
    }

    fn multiply_in(&mut self) {
        let scale = self.scale;
        // The sum so far, A v - changes, is put into the changes, so that A can start anew.
        if let Some(average) = &mut self.average {
            for (change, value) in average.changes.iter_mut().zip(&self.values) {
                *change -= average.scales * value;
            }
            average.scales = 0.0;
        }
        self.values.iter_mut().for_each(|value| *value *= scale);
        self.squares *= scale * scale;
        self.scale = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One thing that happens to weights.
    #[derive(Clone, Debug)]
    enum Action {
        Shrink(f64),
        Add(usize, f64),
        EndStep,
        StartAverage,
    }

    /// The same with dense vectors.
    struct Dense {
        values: Vec<f64>,
        constraint: Constraint,
        sum: Vec<f64>,
        steps: f64,
        averages: bool,
    }

    impl Dense {
        fn act(&mut self, action: &Action) {
            match action {
                Action::Shrink(factor) => {
                    let last = self.values.len() - 1;
                    self.values[..last].iter_mut().for_each(|value| *value *= factor);
                }
                Action::Add(at, change) => {
                    self.values[*at] += change;
                    if let Constraint::Box(limit) = self.constraint {
                        self.values[*at] = self.values[*at].clamp(-limit, limit);
                    }
                }
                Action::StartAverage => {
                    (self.averages, self.steps) = (true, 0.0);
                    self.sum.fill(0.0);
                }
                Action::EndStep => {
                    let norm = self.values.iter().map(|value| value * value).sum::<f64>().sqrt();
                    if let Constraint::Ball(radius) = self.constraint
                        && norm > radius
                    {
                        self.values.iter_mut().for_each(|value| *value *= radius / norm);
                    }
                    if self.averages {
                        self.steps += 1.0;
                        self.sum.iter_mut().zip(&self.values).for_each(|(sum, it)| *sum += it);
                    }
                }
            }
        }
    }

    fn actions() -> impl Strategy<Value = Vec<Action>> {
        let action = prop_oneof![
            2 => (0.5_f64..1.0).prop_map(Action::Shrink),
            1 => Just(Action::Shrink(1e-60)),
            1 => Just(Action::Shrink(1e-5)),
            6 => (0_usize..5, -1.0_f64..1.0).prop_map(|(at, change)| Action::Add(at, change)),
            3 => Just(Action::EndStep),
            1 => Just(Action::StartAverage),
        ];
        prop::collection::vec(action, 1..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn they_move_as_dense_ones_do(actions in actions(), kind in 0..3) {
            let constraint = [Constraint::Free, Constraint::Ball(1.5), Constraint::Box(0.7)][kind as usize];
            let mut weights = Weights::new(4, constraint);
            let (values, sum) = (vec![0.0; 5], vec![0.0; 5]);
            let mut dense = Dense { values, constraint, sum, steps: 0.0, averages: false };
            for action in &actions {
                dense.act(action);
                match action {
                    Action::Shrink(factor) => weights.shrink(*factor),
                    Action::Add(at, change) => weights.add(*at, *change),
                    Action::StartAverage => weights.start_average(),
                    Action::EndStep => { weights.project(); weights.end_step(); }
                }
                for (at, value) in dense.values.iter().enumerate() {
                    prop_assert!((weights.value(at) - value).abs() < 1e-7);
                }
            }
            let expected: Vec<f64> = if dense.steps > 0.0 {
                dense.sum.iter().map(|sum| sum / dense.steps).collect()
            } else {
                dense.values
            };
            let (mut found, intercept) = weights.finish();
            found.push(intercept);
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert!((found - expected).abs() < 1e-7, "{found} {expected}");
            }
        }
    }
}
