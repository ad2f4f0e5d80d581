//! The convex problem and its solution: accelerated proximal steps.

use super::cells::Cells;
use super::low_rank::LowRank;
use super::spectrum::{Inner, Part, Spectrum};
use organza_progress::{Size, Stage};

/// How often the first block is multiplied with the first gradient before it is used.
const FIRST_PRODUCTS: usize = 6;
/// By what a step is shortened that would overshoot, at least and at most.
const SHORTEN: f64 = 1.5;
const MOST_SHORTEN: f64 = 10.0;
/// A step that still seems to overshoot after so many times is as short as rounding can tell: it is taken, and the
/// next ones are tried as long as before.
const MOST_TIMES: usize = 30;
/// A solution has settled when a pass moves it by less than this share of its size.
const SETTLED: f64 = 2e-3;
/// It has also settled when this many passes in a row each gained less than this share of what all have
/// gained: where more directions rise above the noise than there are dimensions, the last of them go on
/// changing places for ever, to no effect.
const GAINED: f64 = 2e-4;
const PASSES_WITHOUT_GAIN: usize = 3;

/// The solution, in whitened coordinates.
#[derive(Debug)]
pub(super) struct Solution {
    pub(super) matrix: LowRank,
    pub(super) passes: usize,
    pub(super) settled: bool,
}

/// Minimises (loss of the cells) + `penalty` (sum of absolute eigenvalues), over symmetric matrices of
/// at most `rank`.
///
/// # Method
/// FISTA (Beck and Teboulle 2009) with backtracking, and a restart where momentum points uphill
/// (O'Donoghue and Candes 2015). A step from Y goes to the matrix M that minimises
/// L/2 |M - (Y - gradient / L)|^2 + penalty |M|_nuclear: the eigenvectors of Y - gradient / L, with each
/// eigenvalue moved towards zero by penalty / L, and dropped if it would cross it. L grows until
/// L/2 |M - Y|^2 bounds how far the loss bends between the two. Eigenvectors come from subspace
/// iteration that goes on from those of the step before: only products of the matrix with a block are
/// needed, whose cost follows the entries.
pub(super) fn solve(cells: &Cells, penalty: f64, rank: usize, most_passes: usize) -> Solution {
    let entries = cells.entries.len();
    let mut spectrum = Spectrum::new(cells, rank);
    // Y = (1 + momentum) current - momentum former.
    let (mut current, mut former) = (Part::zero(), Part::zero());
    let (mut momentum, mut age) = (0.0, 1.0_f64);
    let (mut at_current, mut at_point) = (vec![0.0; entries], vec![0.0; entries]);
    let (mut at_next, mut descent) = (vec![0.0; entries], vec![0.0; entries]);
    let mut stiffness = cells.first_stiffness();
    let mut products = Products::default();
    let mut progress = Progress::default();
    let stage = Stage::begin("learning", Size::Unknown);
    for pass in 1..=most_passes {
        stage.add(1);
        let loss = cells.descent(&at_point, &mut descent);
        let mut repeats = if pass == 1 { FIRST_PRODUCTS } else { 1 };
        let (stiffness_before, mut times) = (stiffness, 0);
        let (next, found, objective) = loop {
            let mut point = [(1.0 + momentum, &mut current), (-momentum, &mut former)];
            let next = spectrum.step(&descent, &mut point, stiffness, repeats, penalty, rank);
            cells.evaluate(&next.matrix, &mut at_next);
            let found = products.with(&spectrum, &next, &current, &former);
            let moved = found.square([1.0, -1.0 - momentum, momentum]);
            let (value, bend) = cells.bend(&at_point, &at_next, &descent, loss);
            let bend = bend + moved.bent / 2.0;
            // Sums over many cells are rounded: what is below their noise is no overshoot.
            let bound = stiffness / 2.0 * moved.plain;
            let short = times == MOST_TIMES;
            if short {
                stiffness = stiffness_before;
            }
            if bend <= bound + 1e-9 * loss.abs() || !bend.is_finite() || short {
                let size: f64 = next.matrix.values.iter().map(|value| value.abs()).sum();
                let background = cells.background_at(&next.matrix) + found.own.bent / 2.0;
                break (next, found, value + background + penalty * size);
            }
            // The bend along this very step says how stiff the loss is at least.
            let longer = bend / bound;
            stiffness *= if longer > 0.0 { longer.clamp(SHORTEN, MOST_SHORTEN) } else { SHORTEN };
            times += 1;
            repeats = 1;
        };
        let distance = found.square([1.0, -1.0, 0.0]).plain.max(0.0).sqrt();
        let size = found.own.plain.max(0.0).sqrt();
        // At zero, entries are all that there is.
        progress.note(if pass == 1 { loss } else { progress.objective }, objective);
        if distance <= SETTLED * size || progress.idle >= PASSES_WITHOUT_GAIN {
            return Solution { matrix: next.matrix, passes: pass, settled: true };
        }
        // <Y - next, next - current> > 0: momentum points uphill.
        let uphill = found.between([-1.0, 1.0 + momentum, -momentum], [1.0, -1.0, 0.0]) > 0.0;
        let older = if uphill { 1.0 } else { (1.0 + (1.0 + 4.0 * age * age).sqrt()) / 2.0 };
        momentum = if uphill { 0.0 } else { (age - 1.0) / older };
        age = older;
        for ((at_point, next), current) in at_point.iter_mut().zip(&at_next).zip(&at_current) {
            *at_point = next + momentum as f32 * (next - current);
        }
        former = std::mem::replace(&mut current, next);
        products = found.moved_on();
        std::mem::swap(&mut at_current, &mut at_next);
        spectrum.fit_width(current.matrix.values.len(), [&mut current, &mut former]);
    }
    Solution { matrix: current.matrix, passes: most_passes, settled: false }
}

/// The inner products among the matrices (next, current, former).
#[derive(Clone, Copy, Debug, Default)]
struct Products {
    own: Inner,
    with_current: Inner,
    with_former: Inner,
    current: Inner,
    current_and_former: Inner,
    former: Inner,
}

impl Products {
    fn with(&self, spectrum: &Spectrum<'_>, next: &Part, current: &Part, former: &Part) -> Self {
        Self {
            own: spectrum.inner(next, next),
            with_current: spectrum.inner(current, next),
            with_former: spectrum.inner(former, next),
            ..*self
        }
    }

    /// What is next becomes current, and what is current former.
    fn moved_on(&self) -> Self {
        Self {
            current: self.own,
            current_and_former: self.with_current,
            former: self.current,
            ..Self::default()
        }
    }

    fn sum(&self, one: [f64; 3], other: [f64; 3], of: impl Fn(&Inner) -> f64) -> f64 {
        let rows = [
            [self.own, self.with_current, self.with_former],
            [self.with_current, self.current, self.current_and_former],
            [self.with_former, self.current_and_former, self.former],
        ];
        let rows = rows.iter().zip(one);
        rows.map(|(row, left)| {
            row.iter().zip(other).map(|(inner, right)| left * right * of(inner)).sum::<f64>()
        })
        .sum()
    }

    /// The inner product of two combinations.
    fn between(&self, one: [f64; 3], other: [f64; 3]) -> f64 {
        self.sum(one, other, |inner| inner.plain)
    }

    /// That of a combination with itself.
    fn square(&self, one: [f64; 3]) -> Inner {
        Inner { plain: self.between(one, one), bent: self.sum(one, one, |inner| inner.bent) }
    }
}

/// What passes gain.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    objective: f64,
    all: f64,
    /// Passes in a row that gained nearly nothing.
    idle: usize,
}

impl Progress {
    fn note(&mut self, before: f64, objective: f64) {
        let gain = before - objective;
        self.all += gain;
        self.objective = objective;
        self.idle = if gain.abs() <= GAINED * self.all { self.idle + 1 } else { 0 };
    }
}
