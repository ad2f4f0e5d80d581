//! Gradients on a subspace that public samples show: Zhou, Wu and Banerjee, "Bypassing the Ambient Dimension" (2020).

use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Mat, MatRef, Par};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::{ReadRows, Shape, ShapeError, WriteRows};
use organza_train::{Refinement, Task};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Directions whose share of the largest eigenvalue is below this are rounding.
const LEAST_SHARE: f64 = 1e-9;

/// Which subspace, and how often it is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicSubspace {
    /// How many public samples there are (m).
    pub samples: u64,
    /// How many dimensions the subspace has (k).
    pub dimensions: usize,
    /// Steps from one look to the next.
    pub every: u64,
}

/// Projects noisy gradients on the top k eigenvectors of the second moment of the gradients of public samples,
/// M = (1/m) sum g_i g_i^T, at the weights of some steps before.
///
/// With G the gradients as rows, the eigenvectors of M are G^T u / sqrt(m l) for the eigenvectors u and eigenvalues l > 0 of the
/// m x m matrix G G^T / m: (1/m) G^T G (G^T u) = l G^T u, and |G^T u|^2 = m l. So the projection of g is
/// G^T C G g, C = sum over the k largest of u u^T / (m l). Nothing of the width of the model is ever stored: public
/// gradients have few rows.
///
/// # Privacy
/// The gradient it gets has its noise already, of an event that is on the ledger; weights come of earlier releases; the samples
/// are owned by the public task and were declared public, and what chance decides of them comes from randomness of its own. So
/// it is a post-processing, whatever the samples are, and the account is that of DP-SGD, to the digit. If the samples were
/// private, nothing of this would hold.
pub struct Subspace<P> {
    public: P,
    settings: PublicSubspace,
    shape: Shape,
    gradients: Vec<RowsOf>,
    /// C, m x m.
    coefficients: Mat<f64>,
}

/// The rows of a gradient.
struct RowsOf {
    shape: Shape,
    places: BTreeMap<u32, usize>,
    values: Vec<f32>,
}

impl RowsOf {
    /// The coordinates of its rows, with their values.
    fn runs(&self) -> impl Iterator<Item = (u32, std::ops::Range<usize>, &[f32])> {
        self.places.iter().map(|(row, start)| {
            let range = self.shape.range(*row);
            let values = &self.values[*start..*start + range.len()];
            (*row, range, values)
        })
    }
}

impl WriteRows for RowsOf {
    fn row(&mut self, row: u32) -> &mut [f32] {
        let length = self.shape.range(row).len();
        let end = self.values.len();
        let start = *self.places.entry(row).or_insert(end);
        if start == end {
            self.values.resize(end + length, 0.0);
        }
        &mut self.values[start..start + length]
    }
}

impl<P: Task> Subspace<P> {
    /// Of these public samples.
    ///
    /// # Errors
    /// If their tables have no shape.
    pub fn new(public: P, settings: PublicSubspace) -> Result<Self, ShapeError> {
        let shape = public.shape()?;
        let coefficients = Mat::zeros(0, 0);
        Ok(Self { public, settings, shape, gradients: Vec::new(), coefficients })
    }

    /// G G^T / m, one row of the tables after another.
    fn gram(&self) -> Mat<f64> {
        let count = self.gradients.len();
        let mut of_rows: BTreeMap<u32, Vec<(usize, &[f32])>> = BTreeMap::new();
        for (number, gradient) in self.gradients.iter().enumerate() {
            for (row, _, values) in gradient.runs() {
                of_rows.entry(row).or_default().push((number, values));
            }
        }
        let mut gram = Mat::zeros(count, count);
        for parts in of_rows.values() {
            for (place, (one, values)) in parts.iter().enumerate() {
                for (other, others) in &parts[..=place] {
                    let product = product(values, others) / count as f64;
                    gram[(*one, *other)] += product;
                    if one != other {
                        gram[(*other, *one)] += product;
                    }
                }
            }
        }
        gram
    }
}

impl<P: Task + Send + Sync> Refinement for Subspace<P> {
    fn every(&self) -> u64 {
        self.settings.every
    }

    fn look(&mut self, weights: &dyn ReadRows, random: &mut PrivateRandom) {
        let mut draw = Vec::new();
        self.gradients.clear();
        for unit in 0..self.public.units().min(self.settings.samples) {
            draw.clear();
            self.public.draw(unit, random, &mut draw);
            let (places, values) = (BTreeMap::new(), Vec::new());
            let mut gradient = RowsOf { shape: self.shape.clone(), places, values };
            self.public.gradient(unit, &draw, weights, &mut gradient);
            if gradient.values.iter().all(|value| value.is_finite()) {
                self.gradients.push(gradient);
            }
        }
        self.coefficients = coefficients(self.gram().as_ref(), self.settings.dimensions);
    }

    fn refine(&self, gradient: &mut [f32]) {
        let along: Vec<f64> = self
            .gradients
            .iter()
            .map(|public| public.runs().map(|(_, at, values)| product(values, &gradient[at])).sum())
            .collect();
        let weight = |sample: usize| -> f64 {
            along.iter().enumerate().map(|(it, part)| self.coefficients[(sample, it)] * part).sum()
        };
        gradient.fill(0.0);
        for (sample, public) in self.gradients.iter().enumerate() {
            let weight = weight(sample) as f32;
            for (_, at, values) in public.runs() {
                gradient[at].iter_mut().zip(values).for_each(|(sum, it)| *sum += weight * it);
            }
        }
    }
}

fn product(one: &[f32], other: &[f32]) -> f64 {
    one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum()
}

/// C of the k largest eigenvalues of G G^T / m.
fn coefficients(gram: MatRef<'_, f64>, dimensions: usize) -> Mat<f64> {
    let size = gram.nrows();
    let mut coefficients = Mat::zeros(size, size);
    if size == 0 {
        return coefficients;
    }
    let (mut values, mut vectors) = (faer::diag::Diag::<f64>::zeros(size), Mat::zeros(size, size));
    let params = Default::default();
    let scratch = self_adjoint_evd_scratch::<f64>(size, ComputeEigenvectors::Yes, Par::Seq, params);
    let mut memory = faer::dyn_stack::MemBuffer::new(scratch);
    let stack = faer::dyn_stack::MemStack::new(&mut memory);
    let found =
        self_adjoint_evd(gram, values.as_mut(), Some(vectors.as_mut()), Par::Seq, stack, params);
    if found.is_err() {
        return coefficients;
    }
    // They ascend.
    let least = LEAST_SHARE * values[size - 1];
    for place in (0..size).rev().take(dimensions) {
        let value = values[place];
        if value <= least || value <= 0.0 {
            break;
        }
        for column in 0..size {
            let scale = vectors[(column, place)] / (size as f64 * value);
            for row in 0..size {
                coefficients[(row, column)] += vectors[(row, place)] * scale;
            }
        }
    }
    coefficients
}
