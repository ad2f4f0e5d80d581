//! The files of a finished model.

use organza_model::WordVectors;
use organza_model::vectors::{SavedModel, Vectors, VectorsError, write_words};
use organza_train::{Certificate, RunFolder};
use std::collections::BTreeMap;

/// Writes the model as safetensors and in both word2vec formats, with its vocabulary. Each carries, or
/// stands beside, what is promised about it.
pub(crate) fn write(
    folder: &RunFolder,
    model: &WordVectors,
    words: Vec<String>,
    parameters: Vec<f32>,
    certificate: &Certificate,
) -> Result<Vectors, VectorsError> {
    let number = |value: Option<f64>| value.map_or("none".to_owned(), |value| value.to_string());
    let metadata = BTreeMap::from([
        ("epsilon".to_owned(), number(certificate.epsilon)),
        ("delta".to_owned(), number(certificate.delta)),
        ("neighbouring".to_owned(), certificate.neighbouring.to_string()),
        ("unit".to_owned(), certificate.unit.to_string()),
        ("method".to_owned(), certificate.method.to_string()),
        ("private".to_owned(), certificate.private.to_string()),
    ]);
    SavedModel::write(&folder.file("model.safetensors"), model, &parameters, &metadata)?;
    write_words(&folder.file("vocabulary.txt"), &words)?;
    let saved = SavedModel { model: *model, parameters, metadata };
    let vectors: Vectors = saved.into_vectors(words)?;
    vectors.write_text(&folder.file("vectors.txt"))?;
    vectors.write_binary(&folder.file("vectors.bin"))?;
    Ok(vectors)
}
