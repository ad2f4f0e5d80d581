//! Gradient descent on weights that shrink, stay in a set and are averaged, at the cost of what is touched.

use super::lent::LENT;
use super::{
    List, RowRequest, SavedTables, Standing, Storage, TableState, Upkeep, WEIGHTS, Weights,
};
use crate::optimizer::{Optimizer, Rule, Runs};
use organza_mechanism::Shape;
use serde::{Deserialize, Serialize};
use std::io;

/// Below this the common factor is multiplied in: the average takes differences of numbers that are
/// larger than it by the inverse, and half of the digits shall be left.
const SMALLEST_SCALE: f64 = 1e-8;
const FACTORS: &str = "factors";
const CHANGES: &str = "changes";

/// The set that weights are kept in (W of the paper).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Constraint {
    /// No constraint.
    Free,
    /// The L2 ball of this radius, around all weights together.
    Ball(f64),
    /// Every weight between minus this and this.
    Box(f64),
}

/// w <- the nearest point of the constraint to (1 - rate l2) w - rate g; at the end the mean over the last steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Projection {
    /// The step size.
    pub learning_rate: f32,
    /// The weight of |w|^2 / 2.
    pub l2: f64,
    /// How many coordinates it is for: the first ones. Those after them, such as an intercept, do not shrink.
    pub shrinking: u64,
    /// The set that weights are kept in.
    pub constraint: Constraint,
    /// The first step after which weights count in the mean.
    pub average_from: u64,
}

impl Rule for Projection {
    fn can_rest(&self) -> bool {
        true
    }

    fn start(
        &self,
        shape: &Shape,
        upkeep: Upkeep,
        _: Storage<'_>,
    ) -> io::Result<Box<dyn Optimizer>> {
        let by_row = match upkeep {
            Upkeep::EveryStep => Vec::new(),
            _ => vec![NEVER; shape.rows() as usize],
        };
        Ok(Box::new(Projected {
            settings: *self,
            shrinking: self.shrinking.min(shape.coordinates()) as usize,
            scale: 1.0,
            squares: 0.0,
            scales: 0.0,
            counted: 0.0,
            changes: Vec::new(),
            values: Vec::new(),
            by_row,
        }))
    }
}

/// The weights s v, kept as a common factor s and a list v, with a running squared norm of v; those that do not shrink
/// have the factor 1.
///
/// Shrinking and projecting on a ball are then a change of s; adding to a coordinate and clamping it to
/// a box touch that coordinate alone (shrinking never leaves a box around zero). For the mean, with
/// A_t the sum of the factors of all steps up to t: sum_t s_t v_t = A_T v_T - sum of A_{t-1} x (change
/// of v in step t), so a second list holds the changes' sum.
///
/// A row of the table is s v after it was read, until the next step. Where all rows are kept up to date, the table is v,
/// and s is multiplied in after each step.
///
/// # Privacy
/// What is read is a function of s and v, which change with released gradients alone.
#[derive(Debug)]
struct Projected {
    settings: Projection,
    shrinking: usize,
    scale: f64,
    squares: f64,
    /// A, and the number of steps, which is A for coordinates that do not shrink.
    scales: f64,
    counted: f64,
    changes: Vec<f64>,
    /// v, and when each row was last put into the table, the later the smaller; empty if all rows are kept up to date.
    values: Vec<f32>,
    by_row: Vec<u32>,
}

/// When a row was put into the table that never was.
const NEVER: u32 = LENT - 1;

/// When rows are put into the table after so many steps.
fn time_after(steps: u64) -> u32 {
    NEVER - 1 - steps as u32
}

impl Projected {
    /// The factor of a coordinate, and the sum of its factors in the mean.
    fn factors(&self, coordinate: usize) -> (f64, f64) {
        if coordinate < self.shrinking { (self.scale, self.scales) } else { (1.0, self.counted) }
    }

    /// What a coordinate is worth.
    fn worth(&self, coordinate: usize, value: f32) -> f32 {
        (self.factors(coordinate).0 * f64::from(value)) as f32
    }

    /// Adds to one coordinate, and keeps it in the box if there is one.
    fn add(&mut self, weights: &mut [f32], coordinate: usize, change: f64) {
        let limit = match self.settings.constraint {
            Constraint::Box(limit) => limit,
            _ => f64::INFINITY,
        };
        let (scale, scales) = self.factors(coordinate);
        let old = f64::from(weights[coordinate]);
        weights[coordinate] = ((scale * old + change).clamp(-limit, limit) / scale) as f32;
        let new = f64::from(weights[coordinate]);
        if coordinate < self.shrinking {
            self.squares += new * new - old * old;
        }
        if let Some(sum) = self.changes.get_mut(coordinate) {
            *sum += scales * (new - old);
        }
    }

    fn shrink(&mut self, weights: &mut [f32], factor: f64) {
        self.scale *= factor;
        if self.scale < SMALLEST_SCALE {
            self.multiply_in(weights);
        }
    }

    /// Projects on the ball, if that is the constraint.
    fn project(&mut self, weights: &mut [f32]) {
        let Constraint::Ball(radius) = self.settings.constraint else { return };
        let others = &weights[self.shrinking..];
        let others: f64 = others.iter().map(|it| f64::from(*it).powi(2)).sum();
        let norm = (self.scale * self.scale * self.squares + others).max(0.0).sqrt();
        if norm > radius {
            for coordinate in self.shrinking..weights.len() {
                let change = (radius / norm - 1.0) * f64::from(weights[coordinate]);
                self.add(weights, coordinate, change);
            }
            self.shrink(weights, radius / norm);
        }
    }

    fn multiply_in(&mut self, weights: &mut [f32]) {
        let weights = &mut weights[..self.shrinking];
        // The sum so far, A v - changes, is put into the changes, so that A can start anew.
        for (change, value) in self.changes.iter_mut().zip(&*weights) {
            *change -= self.scales * f64::from(*value);
        }
        self.scales = 0.0;
        self.squares = 0.0;
        for value in weights {
            *value = (self.scale * f64::from(*value)) as f32;
            self.squares += f64::from(*value).powi(2);
        }
        self.scale = 1.0;
    }

    /// One step on v.
    fn step_on(&mut self, values: &mut [f32], steps: u64, gradient: &mut Runs<'_>) {
        if steps == self.settings.average_from {
            self.changes = vec![0.0; values.len()];
        }
        let rate = f64::from(self.settings.learning_rate);
        self.shrink(values, (1.0 - rate * self.settings.l2).max(0.0));
        gradient(&mut |first, run| {
            for (coordinate, slope) in (first as usize..).zip(run) {
                self.add(values, coordinate, -rate * f64::from(*slope));
            }
        });
        self.project(values);
        if self.by_row.is_empty() && self.scale != 1.0 {
            self.multiply_in(values);
        }
        if !self.changes.is_empty() {
            self.scales += self.scale;
            self.counted += 1.0;
        }
    }
}

impl Optimizer for Projected {
    fn begin(&mut self, first: &mut [f32]) {
        let shrinking = self.shrinking.min(first.len());
        self.squares = first[..shrinking].iter().map(|it| f64::from(*it).powi(2)).sum();
        if !self.by_row.is_empty() {
            self.values = first.to_vec();
        }
    }

    fn moves_all(&self) -> bool {
        true
    }

    fn step(&mut self, weights: Weights<'_>, gradient: &mut Runs<'_>) {
        if self.by_row.is_empty() {
            return self.step_on(weights.values, weights.steps, gradient);
        }
        let mut values = std::mem::take(&mut self.values);
        self.step_on(&mut values, weights.steps, gradient);
        self.values = values;
    }

    fn takes_ascending_runs(&self) -> bool {
        false
    }

    fn state<'a>(&'a self, weights: &'a [f32]) -> Vec<TableState<'a>> {
        let weights = if self.by_row.is_empty() { weights } else { &self.values };
        let factors = vec![self.scale, self.squares, self.scales, self.counted];
        vec![
            (WEIGHTS, List::Floats(weights)),
            (FACTORS, List::Doubles(factors.into())),
            (CHANGES, List::Doubles((&self.changes).into())),
        ]
    }

    fn resume(&mut self, _: &Shape, _: u64, saved: &mut dyn SavedTables) -> Option<Vec<f32>> {
        let factors: [f64; 4] = saved.doubles(FACTORS)?.try_into().ok()?;
        [self.scale, self.squares, self.scales, self.counted] = factors;
        self.changes = saved.doubles(CHANGES)?;
        let weights = saved.floats(WEIGHTS)?;
        if !self.by_row.is_empty() {
            self.values.clone_from(&weights);
        }
        (self.changes.is_empty() || self.changes.len() == weights.len()).then_some(weights)
    }

    fn standing(&self, steps: u64) -> Option<Standing<'_>> {
        let at_rest = time_after(steps) + 1;
        (!self.by_row.is_empty()).then_some(Standing { by_row: &self.by_row, at_rest })
    }

    fn lend(&mut self, weights: Weights<'_>, rows: RowRequest<'_>) {
        let now = time_after(weights.steps);
        let mut put = |row: u32| {
            if let Some(time) = self.by_row.get_mut(row as usize).filter(|time| **time != now) {
                *time = now;
                for coordinate in weights.shape.range(row) {
                    weights.values[coordinate] = self.worth(coordinate, self.values[coordinate]);
                }
            }
        };
        match rows {
            RowRequest::All => (0..weights.shape.rows() as u32).for_each(put),
            RowRequest::Of(units) => units.iter().flat_map(|it| &it.rows).for_each(|row| put(*row)),
        }
    }

    fn value(&self, shape: &Shape, _: u64, _: &[f32], row: u32) -> Vec<f32> {
        let worth = |coordinate: usize| self.worth(coordinate, self.values[coordinate]);
        shape.range(row).map(worth).collect()
    }

    /// The mean, if there is one.
    fn finish(&mut self, weights: Weights<'_>) {
        if !self.by_row.is_empty() {
            weights.values.copy_from_slice(&self.values);
        }
        for (coordinate, value) in weights.values.iter_mut().enumerate() {
            let (scale, scales) = self.factors(coordinate);
            let own = f64::from(*value);
            *value = match self.changes.get(coordinate) {
                Some(changes) if self.counted > 0.0 => (scales * own - changes) / self.counted,
                _ => scale * own,
            } as f32;
        }
    }
}
