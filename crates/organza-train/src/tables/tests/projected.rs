//! Weights that shrink and are projected and averaged, against dense ones in double precision.

use super::ask;
use crate::OptimizerSettings;
use crate::tables::{Constraint, Projection, Tables, Upkeep};
use organza_mechanism::{ReadRows, Shape};
use proptest::prelude::*;

const COORDINATES: usize = 5;
const STEPS: u64 = 12;

/// The rule as it is written, on dense vectors.
struct Dense {
    values: [f64; COORDINATES],
    sum: [f64; COORDINATES],
}

impl Dense {
    fn step(&mut self, rule: &Projection, step: u64, gradient: &[(usize, f32)]) {
        let (rate, shrinking) = (f64::from(rule.learning_rate), rule.shrinking as usize);
        self.values[..shrinking].iter_mut().for_each(|it| *it *= (1.0 - rate * rule.l2).max(0.0));
        for (coordinate, slope) in gradient {
            self.values[*coordinate] -= rate * f64::from(*slope);
        }
        match rule.constraint {
            Constraint::Free => {}
            Constraint::Box(limit) => {
                self.values.iter_mut().for_each(|it| *it = it.clamp(-limit, limit));
            }
            Constraint::Ball(radius) => {
                let norm = self.values.iter().map(|it| it * it).sum::<f64>().sqrt();
                self.values.iter_mut().for_each(|it| *it *= (radius / norm).min(1.0));
            }
        }
        if step >= rule.average_from {
            self.sum.iter_mut().zip(self.values).for_each(|(sum, value)| *sum += value);
        }
    }
}

fn gradients() -> impl Strategy<Value = Vec<Vec<(usize, f32)>>> {
    let gradient = prop::collection::btree_map(0..COORDINATES, -1.0_f32..1.0, 0..COORDINATES);
    let sorted = gradient.prop_map(|gradient| gradient.into_iter().collect());
    prop::collection::vec(sorted, STEPS as usize)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn they_move_as_dense_ones_do(
        gradients in gradients(),
        kind in 0..3_usize,
        // From none to weights that vanish at once.
        l2 in prop_oneof![Just(0.0), 0.0..1.0, Just(1.9999), Just(2.0)],
        average_from in 0..=STEPS,
        lazily in any::<bool>(),
    ) {
        let constraint = [Constraint::Free, Constraint::Ball(1.5), Constraint::Box(0.7)][kind];
        let rule = Projection { learning_rate: 0.5, l2, shrinking: 4, constraint, average_from };
        let upkeep = if lazily { Upkeep::WhenRead } else { Upkeep::EveryStep };
        let initial = vec![0.3, -0.2, 0.0, 0.5, -0.4];
        let mut dense = Dense { values: [0.0; COORDINATES], sum: [0.0; COORDINATES] };
        dense.values.iter_mut().zip(&initial).for_each(|(to, from)| *to = f64::from(*from));
        let shape = Shape::table(COORDINATES as u64, 1).unwrap();
        let mut tables =
            Tables::new(shape, OptimizerSettings::Projected(rule), upkeep, initial).unwrap();
        for (step, gradient) in (0..).zip(&gradients) {
            tables.step(|visit| {
                gradient.iter().for_each(|(at, slope)| visit(*at as u64, &[*slope]));
            });
            dense.step(&rule, step, gradient);
            let mut reading = tables.read();
            // Some rows are asked for, and others are read all the same.
            ask(&mut reading, &[0, 3, 3]);
            let rows = reading.rows();
            for (row, value) in (0..).zip(dense.values) {
                let found = f64::from(rows.row(row)[0]);
                prop_assert!((found - value).abs() < 1e-5, "{row}: {found} {value}");
            }
        }
        let counted = STEPS.saturating_sub(average_from);
        let found = tables.into_parameters();
        for (coordinate, found) in found.into_iter().enumerate() {
            let value = match counted {
                0 => dense.values[coordinate],
                _ => dense.sum[coordinate] / counted as f64,
            };
            prop_assert!((f64::from(found) - value).abs() < 1e-5, "{found} {value}");
        }
    }
}
