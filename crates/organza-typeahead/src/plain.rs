//! N-grams without privacy, to compare with.

use crate::level::{Context, Level};
use crate::model::Model;
use organza_data::Writing;
use rayon::prelude::*;

/// What is taken from each count, for words that were not seen.
const DISCOUNT: f32 = 0.75;

/// The model of exact counts of all n-grams up to an order, by interpolated Kneser-Ney smoothing: an n-gram counts as often as it occurs, or, below
/// the longest order, with as many words before it. *Not private.*
pub fn model(writing: &Writing, order: usize) -> Model {
    let symbols = u64::from(writing.symbols());
    let rows = || (0..writing.units()).map(|unit| writing.unit(unit));
    let mut words = vec![f32::MIN_POSITIVE; symbols as usize];
    rows().flatten().for_each(|symbol| words[*symbol as usize] += 1.0);
    let fits = |row: &[u32]| {
        let (word, context) = row.split_last().unwrap_or((&Writing::END, &[]));
        *word >= Writing::FIRST_WORD && !context.contains(&Writing::OTHER)
    };
    let key = |row: &[u32]| row.iter().fold(0, |key, it| key * symbols + u64::from(*it));
    // The n-grams of the order above, without their first words.
    let mut above: Option<Vec<u64>> = None;
    let mut levels = Vec::new();
    for length in (2..=order).rev() {
        let mut keys: Vec<u64> = match above.take() {
            Some(keys) => keys,
            None => {
                rows().flat_map(|row| row.windows(length).filter(|it| fits(it)).map(key)).collect()
            }
        };
        keys.par_sort_unstable();
        let mut level = Level::new(Context::Symbols(length - 1));
        for of_context in keys.chunk_by(|one, other| one / symbols == other / symbols) {
            let total = of_context.len() as f32;
            let following = of_context
                .chunk_by(|one, other| one == other)
                .map(|run| ((run[0] % symbols) as u32, (run.len() as f32 - DISCOUNT) / total));
            level.push(of_context[0] / symbols, following);
        }
        levels.push(level);
        let scale = symbols.pow(length as u32 - 1);
        keys.dedup();
        above = Some(keys.into_iter().map(|key| key % scale).collect());
    }
    levels.reverse();
    Model::new(words, levels)
}
