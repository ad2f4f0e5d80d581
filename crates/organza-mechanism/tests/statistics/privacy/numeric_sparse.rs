//! NumericSparse: a hit costs the threshold's epsilon, the query's and the value's.

use super::harness::{Audit, pure};
use super::pipeline::{BY, Pipeline, Unit, bin, settings};
use organza_mechanism::{NoiseSettings, NumericSparse, SelectionSettings};

const COORDINATES: usize = 6;

/// What one hit shows: where, and its noisy value.
type Hit = (u64, i64);

fn audit(
    name: &'static str,
    seed: u64,
    selection: SelectionSettings,
    noise: NoiseSettings,
    width: f64,
) -> Audit<Vec<Hit>> {
    let pipeline = Pipeline::new(seed, settings(COORDINATES as u64, selection, noise));
    // The last coordinate takes almost all of the unit's length; the others rise a little against it.
    let mut others = vec![0.2_f32; COORDINATES];
    others[COORDINATES - 1] = 0.0;
    let mut joining = vec![-0.2_f32; COORDINATES];
    joining[COORDINATES - 1] = 0.89;
    let (with, without) = ([others.clone(), joining], [others]);
    let see = |units: &[Unit], run| -> Vec<Hit> {
        let released = pipeline.step(units, run);
        let values = released.values.iter().map(|value| bin(f64::from(*value), width));
        released.selected.iter().copied().zip(values).collect()
    };
    Audit::new(name, 400_000, |run| see(&with, run), |run| see(&without, run))
}

#[test]
fn a_hit_and_its_value_are_private() {
    let selection = SelectionSettings::SparseVector {
        by: BY,
        hits: 1,
        order: Default::default(),
        threshold: 1.0,
        threshold_epsilon: 1.0,
        query_epsilon: 1.0,
        cap: None,
    };
    let noise = NoiseSettings::Laplace { epsilon: 1.0 };
    audit("sparse vector with values", 1_600, selection, noise, 0.5).holds(&[pure(3.0)], 0.35);
}

/// The settings of the paper's lemma, with an epsilon so high that something shows. The noise on values
/// is so large that only their sign is worth a look.
#[test]
fn two_hits_of_the_lemma_are_private() {
    let lemma = NumericSparse { threshold: 1.0, hits: 2, epsilon: 16.0, delta: 0.1 };
    let (selection, noise) = lemma.settings().expect("good settings");
    let SelectionSettings::SparseVector { threshold_epsilon, query_epsilon, hits, .. } = selection
    else {
        panic!("the lemma selects by sparse vector")
    };
    let NoiseSettings::Laplace { epsilon } = noise else { panic!("the lemma has Laplace noise") };
    let claim = hits as f64 * (threshold_epsilon + query_epsilon + epsilon);
    audit("NumericSparse", 1_601, selection, noise, 1e3).holds(&[pure(claim)], 0.1);
}

/// The value's noise forgotten in the charge.
#[test]
fn a_value_for_free_is_caught() {
    let selection = SelectionSettings::SparseVector {
        by: BY,
        hits: 1,
        order: Default::default(),
        threshold: 1.0,
        threshold_epsilon: 0.5,
        query_epsilon: 0.5,
        cap: None,
    };
    let noise = NoiseSettings::Laplace { epsilon: 2.0 };
    audit("a value for free", 1_602, selection, noise, 0.25).is_caught(&[pure(1.0)]);
}
