//! From released counts to probabilities.

use crate::grams::Grams;
use crate::level::{Context, Level};
use crate::model::Model;

/// Words that are counted less often than so many deviations of the noise are taken for as frequent as that: which of them are is noise.
const LEAST_WORD: f32 = 0.5;
/// How much what a shorter context says counts beside the counts of a longer one, in deviations of their noise: by order.
const SHORTER: [f32; 3] = [4.0, 10.0, 10.0];
/// The same where there is no noise, in counts.
const SHORTER_PLAIN: [f32; 3] = [1.0, 1.0, 1.0];

/// With noisy counts N of what follows a context h, their sum T, and h' the context without its first word,
///
/// ```text
/// p(w | h) = (N(w) + k p(w | h')) / (T + k)
/// ```
///
/// where k is a number of deviations of the noise: counts that stand little above it say little.
pub(crate) fn model(grams: &Grams) -> Model {
    let symbols = u64::from(grams.symbols());
    let least = (LEAST_WORD * grams.deviation).max(f32::MIN_POSITIVE);
    let words = grams.words().iter().map(|count| count.max(least)).collect();
    let mut levels = Vec::new();
    let mut keys: Vec<u64> = (0..symbols).collect();
    for (place, order) in grams.orders().iter().enumerate() {
        let shorter = match order.deviation() > 0.0 {
            true => SHORTER[place] * order.deviation() as f32,
            false => SHORTER_PLAIN[place],
        };
        let mut level = Level::new(Context::Symbols(place + 1));
        let mut next = Vec::with_capacity(order.len());
        for (context, key) in (0_u32..).zip(&keys) {
            let total: f32 = order.following(context).map(|(_, count)| count).sum();
            let part = |(word, count)| (word, count / (total + shorter));
            level.push(*key, order.following(context).map(part));
            next.extend(order.following(context).map(|(word, _)| key * symbols + u64::from(word)));
        }
        levels.push(level);
        keys = next;
    }
    Model::new(words, levels)
}
