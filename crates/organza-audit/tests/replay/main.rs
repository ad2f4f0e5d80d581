//! Record and replay: the same key on two neighbours, every value compared at every stage.
//!
//! With one key both runs draw the same batches (but for the one unit, which is the last) and the same noise, so the
//! difference of two releases *is* the difference of what was released before its noise, to the last step of the grid.
//! It must be no more than the plan states, in its norm, and nothing at all where the unit had no part. Parameters that
//! were recorded from one run are fed to both, so that the next step can be compared as well.
//!
//! All of it is deterministic: there are no false alarms. Each comparison has twins with a wrong sensitivity, whose
//! violated bounds are printed.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]

mod clicks;
mod counts;
mod drawn;
mod linear;
mod outside;
mod recommender;
mod sessions;
mod steps;
mod typeahead;
mod vocabulary;

use std::fmt;

/// How far the last place of a single may take a sum of squares of some thousand values.
const ROUNDING: f64 = 1e-4;

/// How far two releases are apart, and how far they may be.
#[derive(Clone, Debug, PartialEq)]
struct Compared {
    what: String,
    found: f64,
    stated: f64,
}

impl Compared {
    fn new(what: impl Into<String>, found: f64, stated: f64) -> Self {
        Self { what: what.into(), found, stated }
    }

    fn violates(&self) -> bool {
        self.found > self.stated * (1.0 + ROUNDING)
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, found, stated } = self;
        let answer = if self.violates() { "VIOLATED" } else { "holds" };
        write!(formatter, "{answer:<8}  moved by {found:.6e}, stated {stated:.6e}  {what}")
    }
}

fn l1(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other).abs()).sum()
}

fn l2(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other).powi(2)).sum::<f64>().sqrt()
}

/// The one of several comparisons that is nearest to its bound or farthest above it; prints it.
fn worst(all: impl IntoIterator<Item = Compared>) -> Compared {
    let share = |it: &Compared| if it.found > 0.0 { it.found / it.stated } else { 0.0 };
    let worst = all.into_iter().max_by(|one, other| share(one).total_cmp(&share(other)));
    let worst = worst.expect("something was compared");
    eprintln!("{worst}");
    worst
}
