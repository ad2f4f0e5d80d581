//! Privacy loss distributions: exact up to pessimistic rounding on a grid.
//!
//! The way of a question, one file each:
//!
//! 1. `plan`: nested events become a flat list of phases, each a number of steps on batches of their
//!    own;
//! 2. `prepared`: what a step does to its batch becomes one dominating [`Pair`], from the pairs of
//!    [`gaussian`], [`laplace`], [`pure`], [`bounded_range`] and [`sparse_vector`], and from
//!    `selection` for what is known of capped scores and masks;
//! 3. `sample`: the pair is subsampled, once, in both directions; `replace` does it for replacement;
//! 4. `run`: exponential moments of the total loss, for tilts, guesses and tail bounds;
//! 5. `window`: which losses to compute, on which grid, under which tilt;
//! 6. `compose`: the total loss by Fourier transform, with a bound on everything it lost;
//! 7. `solver`: both directions, and the search for epsilon. `closed` answers what needs no numerics.
//!
//! # Privacy
//! (P, Q) dominates a mechanism if and only if the ratio dP/dQ of the mechanism is smaller, under Q,
//! in convex order. Adaptive composition keeps that order (Zhu, Dong, Wang 2022, Theorem 10), an
//! affine map such as subsampling does, and a mean-preserving spread only raises it: so every step
//! above is an upper bound on the one before, down to the printed digits.

pub mod bounded_range;
pub mod gaussian;
pub mod grid;
pub mod joint;
pub mod laplace;
pub mod pure;
pub mod sparse_vector;

mod accountant;
mod binomial;
mod cells;
mod closed;
mod comonotone;
mod compose;
mod group;
mod mixture;
mod pair;
mod plan;
mod prepared;
mod replace;
mod run;
mod sample;
mod selection;
mod solver;
mod source;
mod window;

pub use accountant::{Accountant, Direction, Guarantee};
pub use pair::Pair;
