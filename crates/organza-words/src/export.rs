//! The files of a finished model.

use organza_model::WordVectors;
use organza_model::vectors::{SavedModel, Vectors, VectorsError, write_words};
use organza_train::{Certificate, RunFolder};

/// The vectors of a model, which is written as safetensors and in both word2vec formats, with its vocabulary, if there is a
/// folder. Each file carries, or stands beside, what is promised about it.
pub(crate) fn write(
    folder: Option<&RunFolder>,
    model: &WordVectors,
    words: Vec<String>,
    parameters: Vec<f32>,
    certificate: &Certificate,
) -> Result<Vectors, VectorsError> {
    let metadata = certificate.metadata();
    if let Some(folder) = folder {
        SavedModel::write(&folder.file("model.safetensors"), model, &parameters, &metadata)?;
        write_words(&folder.file("vocabulary.txt"), &words)?;
    }
    let saved = SavedModel { model: *model, parameters, metadata };
    let vectors: Vectors = saved.into_vectors(words)?;
    if let Some(folder) = folder {
        vectors.write_text(&folder.file("vectors.txt"))?;
        vectors.write_binary(&folder.file("vectors.bin"))?;
    }
    Ok(vectors)
}
