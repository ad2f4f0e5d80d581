//! A step's ratio under both laws, where its losses lie on no grid.

use super::Direction;
use super::sample::Atoms;

/// A dominating pair with losses anywhere: the ratio dP/dQ takes the values of `points`.
///
/// Unlike a [`super::Pair`] it holds both masses of a point, each accurate even where the other is
/// beyond the floats, and what is rounded may be rounded up for each direction on its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    pub(super) points: Vec<Point>,
    /// The P-mass where Q has none.
    pub(super) infinite: f64,
    /// The Q-mass where P has none.
    pub(super) only_without: f64,
}

/// One value of the ratio.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Point {
    /// ln dP/dQ.
    pub(super) loss: f64,
    /// A bound on the rounding of the loss.
    pub(super) error: f64,
    /// The P-mass.
    pub(super) with: f64,
    /// The Q-mass.
    pub(super) without: f64,
    /// The distance to the next loss, over the step of the grid.
    pub(super) width: f64,
}

impl Cells {
    /// The loss in one direction, every rounding upwards.
    pub(super) fn atoms(&self, direction: Direction) -> Atoms {
        let removal = direction == Direction::Remove;
        let mut atoms = Atoms {
            // What was rounded up may exceed all there is.
            infinite: if removal { self.infinite } else { self.only_without }.min(1.0),
            ..Atoms::default()
        };
        for point in &self.points {
            if removal {
                atoms.push(point.loss + point.error, point.with, point.width);
            } else {
                atoms.push(point.error - point.loss, point.without, point.width);
            }
        }
        atoms
    }
}
