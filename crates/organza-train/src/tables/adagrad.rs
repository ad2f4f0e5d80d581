//! Adagrad: every coordinate has a step size of its own, which falls with what it has got so far.

use super::aligned::Aligned;
use super::{List, SavedTables, Storage, TableState, Upkeep, WEIGHTS, Weights};
use crate::optimizer::{Optimizer, Rule, Runs};
use organza_mechanism::Shape;
use std::io;
use std::ops::Range;

/// Where the sums begin, in lines after a page: apart from the weights, with which they are walked.
const LINES: usize = 21;
const SQUARES: &str = "squares";

/// Adagrad's constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AdagradSettings {
    pub(crate) learning_rate: f32,
    pub(crate) epsilon: f32,
}

impl Rule for AdagradSettings {
    fn start(
        &self,
        shape: &Shape,
        _: Upkeep,
        storage: Storage<'_>,
    ) -> io::Result<Box<dyn Optimizer>> {
        let squares = storage.zeros(shape.coordinates() as usize, LINES)?;
        Ok(Box::new(Adagrad { settings: *self, squares }))
    }
}

/// G <- G + g^2, w <- w - rate g / (sqrt(G) + eps). A coordinate without a gradient stays as it is, so a step costs
/// what it selects.
#[derive(Debug)]
struct Adagrad {
    settings: AdagradSettings,
    squares: Aligned<f32>,
}

impl Optimizer for Adagrad {
    fn step(&mut self, weights: Weights<'_>, gradient: &mut Runs<'_>) {
        let AdagradSettings { learning_rate, epsilon } = self.settings;
        gradient(&mut |first, gradient| {
            let place = first as usize..first as usize + gradient.len();
            let squares = self.squares[place.clone()].iter_mut();
            let weights = weights.values[place].iter_mut();
            for ((weight, square), slope) in weights.zip(squares).zip(gradient) {
                *square += slope * slope;
                *weight -= learning_rate * slope / (square.sqrt() + epsilon);
            }
        });
    }

    fn takes_ascending_runs(&self) -> bool {
        false
    }

    fn fetch(&mut self, _: &Shape, places: &mut dyn Iterator<Item = Range<usize>>) {
        self.squares.fetch(places);
    }

    fn state<'a>(&'a self, weights: &'a [f32]) -> Vec<TableState<'a>> {
        vec![(WEIGHTS, List::Floats(weights)), (SQUARES, List::Floats(&self.squares))]
    }

    fn resume(&mut self, _: &Shape, _: u64, saved: &mut dyn SavedTables) -> Option<Vec<f32>> {
        let squares = saved.floats(SQUARES).filter(|list| list.len() == self.squares.len())?;
        self.squares = Aligned::new(squares, LINES);
        saved.floats(WEIGHTS)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::Tables;
    use super::*;
    use crate::OptimizerSettings;

    /// Against the formula in double precision, on all coordinates and on some.
    #[test]
    fn it_is_the_formula() {
        let (rate, epsilon) = (0.1, 1e-6);
        let optimizer = OptimizerSettings::Adagrad { learning_rate: rate, epsilon };
        let shape = Shape::table(4, 2).unwrap();
        let mut tables = Tables::new(shape, optimizer, Upkeep::WhenRead, vec![0.5; 8]).unwrap();
        let (mut weights, mut squares) = ([0.5_f64; 8], [0.0_f64; 8]);
        for step in 0..50_u32 {
            let range = if step.is_multiple_of(3) { 0..8 } else { 2..5 };
            let slopes: Vec<f32> =
                range.clone().map(|it| ((it as u32 + 7 * step) as f32).sin()).collect();
            tables.step(|visit| visit(range.start as u64, &slopes));
            for (place, slope) in range.zip(&slopes) {
                let slope = f64::from(*slope);
                squares[place] += slope * slope;
                let root = squares[place].sqrt() + f64::from(epsilon);
                weights[place] -= f64::from(rate) * slope / root;
            }
        }
        for (weight, exact) in tables.into_parameters().iter().zip(weights) {
            assert!((f64::from(*weight) - exact).abs() < 1e-5, "{weight} {exact}");
        }
    }
}
