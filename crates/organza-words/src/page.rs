//! The page of a run of word vectors, from its files alone.

use crate::phases::Released;
use crate::settings::{Method, Settings};
use organza_model::vectors::{Neighbour, SavedModel, Vectors, VectorsError, read_words};
use organza_report::chart::{Map, Place};
use organza_report::page::{Figure, Page, Section, Table};
use organza_report::run::{Additions, Baseline, RunFiles, RunFilesError};
use organza_train::Failure;
use rayon::prelude::*;
use std::collections::HashMap;
use std::path::Path;

const FILES: [(&str, &str); 4] = [
    ("vectors.txt", "the word vectors, as text for readers of word2vec files"),
    ("vectors.bin", "the same, binary"),
    ("model.safetensors", "all tables of the model"),
    ("vocabulary.txt", "the words, in the order of the rows"),
];

/// The page of the finished run in `path`.
///
/// # Errors
/// If there is no run, it is not finished, or a file is missing or damaged.
pub fn page(path: &Path) -> Result<Page, RunFilesError> {
    let files = RunFiles::<Settings>::read(path)?;
    for file in ["model.safetensors", "vocabulary.txt"] {
        if !path.join(file).exists() {
            let (folder, meaning) =
                (path.display().to_string(), "without it there are no vectors to show");
            return Err(RunFilesError::Missing { folder, file, meaning });
        }
    }
    let vectors = vectors(path).map_err(Failure::from)?;
    let loss = files.summary.get("frequency_loss").and_then(|loss| loss.as_f64());
    Ok(files.page(Additions {
        again: Some("organza train --settings settings.json --out FOLDER".to_owned()),
        baseline: loss.map(|loss| Baseline { name: "word frequencies", loss }),
        sections: vec![words(&vectors)],
        files: FILES.to_vec(),
        unused: unused(&files.settings),
        ..Additions::new("Word vectors", "vectors")
    }))
}

/// Settings that the method does not look at.
fn unused(settings: &Settings) -> Vec<&'static str> {
    let Released { vocabulary, words, pairs, steps, .. } = Released::of(settings);
    let steps: &[&str] = match steps {
        true if settings.method == Method::Sparse => &[],
        true => &["selection", "training.second_clip"],
        false => &["selection", "training", "privacy.per_unit", "model.initial_deviation"],
    };
    let mut unused = steps.to_vec();
    for (used, setting) in [
        (vocabulary, "counts.vocabulary_share"),
        (vocabulary || settings.data.path.is_some(), "data.vocabulary"),
        (words, "counts.word_share"),
        (words, "counts.word_clip"),
        (pairs, "counts.pair_clip"),
        (pairs, "counts.bar"),
        (pairs, "counts.fine_tuning_share"),
        (settings.method != Method::None, "privacy"),
    ] {
        if !used {
            unused.push(setting);
        }
    }
    unused
}

fn vectors(path: &Path) -> Result<Vectors, VectorsError> {
    let words = read_words(&path.join("vocabulary.txt"))?;
    SavedModel::read(&path.join("model.safetensors"))?.into_vectors(words)
}

/// The words in the table.
const LISTED: usize = 8;
/// The neighbours of each word.
const NEIGHBOURS: usize = 5;
/// How many products of numbers neighbours may take.
const EFFORT: usize = 100_000_000;
/// The least and the most words on the map.
const MAPPED: (usize, usize) = (50, 300);

/// The words of the largest released counts, or the first of a public list: on a map, and those that have the nearest
/// neighbours in a table.
///
/// # Privacy
/// Words and places are a function of the released vectors and their order, so that all of this is post-processing.
fn words(vectors: &Vectors) -> Section {
    let (size, dimensions) = (vectors.words().len(), vectors.dimensions());
    let affordable = EFFORT / size.saturating_mul(dimensions).max(1);
    let shown = &vectors.words()[..affordable.clamp(MAPPED.0, MAPPED.1).min(size)];
    let near: Vec<Vec<Neighbour>> = shown
        .par_iter()
        .map(|word| vectors.nearest(word, NEIGHBOURS).unwrap_or_default())
        .collect();
    let map = map(vectors, shown, &near);
    let caption = format!(
        "The first {} words of `vocabulary.txt`, on the plane in which their vectors differ most: a shadow of {dimensions} \
         dimensions, in which words that are close may be far apart. Point at one, tap it, or use the arrow keys, to \
         see its nearest words. Everything here comes from the released vectors, so looking costs nothing.",
        shown.len()
    );
    Section::new("The words")
        .figure(Figure::new("map", map).caption(caption))
        .text("Of these, the words that have the nearest neighbours. `organza nearest` shows any other.")
        .table(nearest(shown, near))
}

fn told(neighbours: &[Neighbour]) -> String {
    let words: Vec<String> =
        neighbours.iter().map(|near| format!("{} {:.2}", near.word, near.cosine)).collect();
    words.join(", ")
}

fn map(vectors: &Vectors, shown: &[String], near: &[Vec<Neighbour>]) -> Map {
    let numbers: HashMap<&str, usize> =
        shown.iter().enumerate().map(|(number, word)| (word.as_str(), number)).collect();
    let places = vectors.plane(shown.len()).into_iter().zip(shown).zip(near);
    let place = |((at, name), near): (((f64, f64), &String), &Vec<Neighbour>)| Place {
        name: name.clone(),
        at,
        told: format!("nearest: {}", told(near)),
        near: near.iter().filter_map(|near| numbers.get(near.word.as_str()).copied()).collect(),
    };
    Map { title: "A map of the words".to_owned(), places: places.map(place).collect() }
}

/// Words that have the nearest neighbours.
fn nearest(words: &[String], near: Vec<Vec<Neighbour>>) -> Table {
    let near = words.iter().zip(near).filter(|(_, neighbours)| !neighbours.is_empty());
    let mut near: Vec<(&String, Vec<Neighbour>)> = near.collect();
    near.sort_by(|left, right| right.1[0].cosine.total_cmp(&left.1[0].cosine));
    let mut shown: Vec<(&String, Vec<Neighbour>)> = Vec::new();
    for (word, neighbours) in near {
        // A pair of near words is shown from one side.
        let is_seen = shown.iter().any(|(_, seen)| seen[0].word == *word);
        if !is_seen && shown.len() < LISTED {
            shown.push((word, neighbours));
        }
    }
    let table = Table::new("neighbours", ["word", "nearest words, with their cosine"]);
    shown
        .iter()
        .fold(table, |table, (word, near)| table.row([word.as_str().into(), told(near).into()]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_pair_is_shown_from_one_side() {
        let all = ["cat", "dog", "sun"].map(str::to_owned).to_vec();
        let vectors = Vectors::new(all, 2, vec![1.0, 0.1, 1.0, 0.0, -1.0, 1.0]).unwrap();
        let html = Page::new("p").section(words(&vectors)).html();
        assert!(html.contains("<td>cat</td><td>dog 1.00, sun -0.63</td>"), "{html}");
        assert!(!html.contains("<td>dog</td>") && html.contains("<td>sun</td>"), "{html}");
    }

    #[test]
    fn one_word_has_no_neighbours_and_no_row() {
        let vectors = Vectors::new(vec!["cat".to_owned()], 1, vec![1.0]).unwrap();
        assert!(!Page::new("p").section(words(&vectors)).html().contains("<td>"));
    }
}
