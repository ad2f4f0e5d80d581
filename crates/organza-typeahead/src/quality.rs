//! How good completions are, for whoever holds the data. *Not private.*

use crate::model::Model;
use organza_data::Writing;
use organza_progress::{Size, Stage};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Of a writer at most so many.
const MOST_OF_WRITER: usize = 1_500;
/// How many words are offered.
const OFFERED: usize = 3;

/// How often the next word of the vocabulary is among those offered. *Not private.*
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// How many words had to be predicted.
    pub words: usize,
    /// The part of them that was offered first.
    pub first: f64,
    /// The part of them that was among the first three.
    pub three: f64,
    /// The same by how frequent words are alone.
    pub first_alone: f64,
    /// The same among three.
    pub three_alone: f64,
}

/// Predicts the words of writers, each by those before it, of about `most` words in all. What is to be predicted is in the vocabulary.
pub fn quality(writing: &Writing, model: &Model, most: usize) -> Quality {
    let writers = writing.units();
    let each = |unit: usize| writing.unit(unit).len().min(MOST_OF_WRITER);
    let total: usize = (0..writers).map(each).sum();
    let step = total.div_ceil(most.max(1)).max(1);
    let stage = Stage::begin("measuring quality", Size::Hidden(writers as u64));
    let alone: Vec<u32> = model.next(&[], OFFERED).iter().map(|it| it.word).collect();
    let of_writer = |unit: usize| {
        stage.add(1);
        let row = &writing.unit(unit)[..each(unit)];
        let mut hits = [0_usize; 5];
        for place in 1..row.len() {
            let word = row[place];
            if word < Writing::FIRST_WORD {
                continue;
            }
            let offered = model.next(&row[..place], OFFERED);
            let found = offered.iter().position(|it| it.word == word);
            let found_alone = alone.iter().position(|it| *it == word);
            hits[0] += 1;
            hits[1] += usize::from(found == Some(0));
            hits[2] += usize::from(found.is_some());
            hits[3] += usize::from(found_alone == Some(0));
            hits[4] += usize::from(found_alone.is_some());
        }
        hits
    };
    let units: Vec<usize> = (0..writers).step_by(step).collect();
    let add = |one: [usize; 5], other: [usize; 5]| std::array::from_fn(|at| one[at] + other[at]);
    let hits = units.into_par_iter().map(of_writer).reduce(|| [0; 5], add);
    let part = |hits: usize, words: usize| hits as f64 / words.max(1) as f64;
    Quality {
        words: hits[0],
        first: part(hits[1], hits[0]),
        three: part(hits[2], hits[0]),
        first_alone: part(hits[3], hits[0]),
        three_alone: part(hits[4], hits[0]),
    }
}
