//! N-grams without privacy, to compare with.

use crate::candidates::Candidates;
use crate::grams::{Grams, Order};
use organza_data::Writing;
use rayon::prelude::*;

/// The exact counts of all n-grams up to an order: how many writers have each. *Not private.*
pub fn count(writing: &Writing, order: usize) -> Grams {
    let mut words = vec![0.0; writing.symbols() as usize];
    let rows = || (0..writing.units()).map(|unit| writing.unit(unit));
    for word in rows().flatten().filter(|word| **word >= Writing::FIRST_WORD) {
        words[*word as usize] += 1.0;
    }
    let mut grams = Grams { words, deviation: 0.0, orders: Vec::new() };
    for _ in 1..order {
        let candidates = Candidates::next(&grams);
        let mut all: Vec<u64> = Vec::new();
        let mut cells = Vec::new();
        for row in rows() {
            candidates.of_row(row, &mut cells);
            all.append(&mut cells);
        }
        all.par_sort_unstable();
        let cells = all.chunk_by(|one, other| one == other).map(|run| {
            let (context, word) = candidates.of_cell(run[0]);
            (context, word, run.len() as f32)
        });
        let suffix = |context, word| grams.next_suffix(context, word);
        let order = Order::new(grams.next_contexts(), cells, suffix, 0.0);
        grams.orders.push(order);
    }
    grams
}
