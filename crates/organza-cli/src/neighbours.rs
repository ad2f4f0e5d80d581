//! The vectors of a finished run, and lists of near words.

use anyhow::{Context, ensure};
use organza_model::vectors::{Neighbour, SavedModel, Vectors, read_words};
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// Reads the vectors of the run in `folder`.
pub(crate) fn vectors(folder: &Path) -> anyhow::Result<Vectors> {
    let model = folder.join("model.safetensors");
    ensure!(
        model.exists(),
        "{} holds no finished run: train one with `organza train --out {0}`, or resume one that \
         was stopped with `organza resume {0}`",
        folder.display()
    );
    ensure!(
        !folder.join(organza_erm::READER).exists(),
        "{} holds a linear model, which has no vectors: use it with `organza predict {0} --data new-rows`",
        folder.display()
    );
    let saved = SavedModel::read(&model)?;
    let words = read_words(&folder.join("vocabulary.txt"))?;
    saved.into_vectors(words).with_context(|| {
        format!("model.safetensors and vocabulary.txt in {} do not fit", folder.display())
    })
}

/// Near words, the nearest first.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Neighbours(pub(crate) Vec<Neighbour>);

impl fmt::Display for Neighbours {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|near| writeln!(formatter, "{:>6.3}  {}", near.cosine, near.word))
    }
}
