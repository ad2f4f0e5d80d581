//! The page of a run of word vectors, from its files alone.

use crate::settings::Settings;
use organza_model::vectors::{Neighbour, SavedModel, Vectors, VectorsError, read_words};
use organza_report::page::{Page, Section, Table};
use organza_report::run::{Additions, Baseline, RunFiles, RunFilesError};
use organza_train::Failure;
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
        sections: vec![nearest(&vectors)],
        files: FILES.to_vec(),
        ..Additions::new("Word vectors", "vectors")
    }))
}

fn vectors(path: &Path) -> Result<Vectors, VectorsError> {
    let words = read_words(&path.join("vocabulary.txt"))?;
    SavedModel::read(&path.join("model.safetensors"))?.into_vectors(words)
}

/// The words that are shown.
const SHOWN: usize = 8;
/// The neighbours of each.
const NEIGHBOURS: usize = 5;
/// How many products of numbers the choice of words may take.
const EFFORT: usize = 40_000_000;
/// The most words to choose from.
const CANDIDATES: usize = 200;

/// Nearest neighbours of the words that have the nearest ones.
///
/// # Privacy
/// The words are chosen by the released vectors, so that all of this is post-processing.
fn nearest(vectors: &Vectors) -> Section {
    let (size, dimensions) = (vectors.words().len(), vectors.dimensions());
    let affordable = EFFORT / size.saturating_mul(dimensions).max(1);
    let candidates = affordable.clamp(SHOWN, CANDIDATES).min(size);
    let mut near: Vec<(&String, Vec<Neighbour>)> = vectors.words()[..candidates]
        .iter()
        .filter_map(|word| Some((word, vectors.nearest(word, NEIGHBOURS).ok()?)))
        .filter(|(_, neighbours)| !neighbours.is_empty())
        .collect();
    near.sort_by(|left, right| right.1[0].cosine.total_cmp(&left.1[0].cosine));
    let mut shown: Vec<(&String, Vec<Neighbour>)> = Vec::new();
    for (word, neighbours) in near {
        // A pair of near words is shown from one side.
        let is_seen = shown.iter().any(|(_, seen)| seen[0].word == *word);
        if !is_seen && shown.len() < SHOWN {
            shown.push((word, neighbours));
        }
    }
    let mut table = Table::new("neighbours", ["word", "nearest words, with their cosine"]);
    for (word, neighbours) in shown {
        let words: Vec<String> =
            neighbours.iter().map(|near| format!("{} {:.2}", near.word, near.cosine)).collect();
        table = table.row([word.as_str().into(), words.join(", ").into()]);
    }
    Section::new("Nearest words")
        .text(format!(
            "From the released vectors alone, so that looking costs nothing: of the first {candidates} \
             words those that have the nearest neighbours. `organza nearest` shows any other."
        ))
        .table(table)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_pair_is_shown_from_one_side() {
        let words = ["cat", "dog", "sun"].map(str::to_owned).to_vec();
        let vectors = Vectors::new(words, 2, vec![1.0, 0.1, 1.0, 0.0, -1.0, 1.0]).unwrap();
        let html = Page::new("p").section(nearest(&vectors)).html();
        assert!(html.contains("<td>cat</td><td>dog 1.00, sun -0.63</td>"), "{html}");
        assert!(!html.contains("<td>dog</td>") && html.contains("<td>sun</td>"), "{html}");
    }

    #[test]
    fn one_word_has_no_neighbours_and_no_row() {
        let vectors = Vectors::new(vec!["cat".to_owned()], 1, vec![1.0]).unwrap();
        assert!(!Page::new("p").section(nearest(&vectors)).html().contains("<td>"));
    }
}
