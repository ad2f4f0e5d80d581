//! Files of word vectors: round trips, and hostile files, which are errors and nothing worse.
#![allow(missing_docs, clippy::unwrap_used)]

use organza_model::vectors::{SavedModel, Vectors, VectorsError, read_pairs};
use organza_model::{Layout, WordVectors};
use proptest::prelude::*;
use safetensors::SafeTensors;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn read(bytes: &[u8]) -> Result<Vectors, VectorsError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors");
    fs::write(&path, bytes).unwrap();
    Vectors::read_text(&path)
}

fn read_saved(bytes: &[u8]) -> Result<SavedModel, VectorsError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    fs::write(&path, bytes).unwrap();
    SavedModel::read(&path)
}

fn any_vectors() -> impl Strategy<Value = Vectors> {
    let words = prop::collection::btree_set("[a-zé日']{1,6}", 0..12);
    (words, 1usize..6).prop_flat_map(|(words, dimensions)| {
        let finite = any::<f32>().prop_filter("finite", |value| value.is_finite());
        prop::collection::vec(finite, words.len() * dimensions).prop_map(move |matrix| {
            Vectors::new(words.iter().rev().cloned().collect(), dimensions, matrix).unwrap()
        })
    })
}

fn bits(vectors: &Vectors) -> Vec<u32> {
    vectors.matrix().iter().map(|value| value.to_bits()).collect()
}

/// The binary format of word2vec: a header line, then each word, a space, its numbers, a line end.
fn binary_format(vectors: &Vectors) -> Vec<u8> {
    let header = format!("{} {}\n", vectors.words().len(), vectors.dimensions());
    let rows = vectors.matrix().chunks_exact(vectors.dimensions());
    let row = |(word, row): (&String, &[f32])| {
        let numbers = row.iter().flat_map(|value| value.to_le_bytes());
        [word.as_bytes(), b" ", &numbers.collect::<Vec<u8>>(), b"\n"].concat()
    };
    let rows = vectors.words().iter().zip(rows).flat_map(row);
    header.into_bytes().into_iter().chain(rows).collect()
}

fn metadata() -> BTreeMap<String, String> {
    let pairs = [("epsilon", "3"), ("delta", "1e-6"), ("neighbouring", "add-remove")];
    let more = [("unit", "line"), ("method", "dpsgd"), ("strange \" key", "\u{1} \\ 日")];
    pairs.into_iter().chain(more).map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

proptest! {
    // Every file is synced to the disk, which takes most of the time.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn word2vec_files_come_back_bit_by_bit(vectors in any_vectors()) {
        let folder = tempfile::tempdir().unwrap();
        let (text, binary) = (folder.path().join("text"), folder.path().join("binary"));
        vectors.write_text(&text).unwrap();
        vectors.write_binary(&binary).unwrap();
        let back = Vectors::read_text(&text).unwrap();
        prop_assert_eq!(back.words(), vectors.words());
        prop_assert_eq!(back.dimensions(), vectors.dimensions());
        prop_assert_eq!(bits(&back), bits(&vectors));
        prop_assert_eq!(fs::read(&binary).unwrap(), binary_format(&vectors));
    }

    #[test]
    fn saved_models_come_back_bit_by_bit(
        tied in any::<bool>(), words in 1u64..9, dimensions in 1usize..9, seed in any::<u32>(),
    ) {
        let layout = if tied { Layout::Tied } else { Layout::TwoTables };
        let model = WordVectors::new(layout, words, dimensions).unwrap();
        let parameters: Vec<f32> = (0..model.parameters() as u32)
            .map(|place| f32::from_bits(place.wrapping_mul(seed | 1)))
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        SavedModel::write(&path, &model, &parameters, &metadata()).unwrap();
        let back = SavedModel::read(&path).unwrap();
        prop_assert_eq!(back.model, model);
        prop_assert_eq!(back.metadata, metadata());
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&back.parameters), bits(&parameters));
    }

    /// Any bytes, any end cut off, any byte changed: a result or an error, and no panic.
    #[test]
    fn damage_is_an_error_or_harmless(
        vectors in any_vectors(),
        noise in prop::collection::vec(any::<u8>(), 0..80),
        (place, byte, cut) in any::<(prop::sample::Index, u8, bool)>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let model = WordVectors::new(Layout::TwoTables, 3, 2).unwrap();
        vectors.write_text(&path).unwrap();
        let text = fs::read(&path).unwrap();
        vectors.write_binary(&path).unwrap();
        let binary = fs::read(&path).unwrap();
        SavedModel::write(&path, &model, &vec![0.5; model.parameters()], &metadata()).unwrap();
        let saved = fs::read(&path).unwrap();
        for mut bytes in [text, binary, saved, noise] {
            if !bytes.is_empty() {
                let place = place.index(bytes.len());
                if cut { bytes.truncate(place) } else { bytes[place] = byte }
            }
            let _ = read(&bytes);
            let _ = read_saved(&bytes);
            fs::write(&path, &bytes).unwrap();
            let _ = read_pairs(&path);
        }
    }
}

/// The error of a file, which names what the test expects.
#[track_caller]
fn refused(bytes: &[u8], expected: &str) {
    let message = read(bytes).unwrap_err().to_string();
    assert!(message.contains(expected), "{message}");
}

#[test]
fn hostile_text_files_are_refused_by_line() {
    refused(b"", "line 1: \"\"");
    refused(b"cat 1 2\n", "line 1");
    refused(b"1 2 3\n", "line 1");
    refused(b"-1 2\n", "line 1");
    refused(b"1 0\ncat\n", "dimensions are possible");
    refused(b"99999999999999999999 5\n", "line 1");
    refused(b"18446744073709551615 2\na 1 2\n", "are possible");
    refused(b"1 18446744073709551615\na 1 2\n", "are possible");
    refused(b"4000000000 1000000\na 1 2\n", "line 2: 1000000 numbers are expected, not 2");
    refused(b"2 2\na 1 2\n", "2 words were promised, the file ends after 1");
    refused(b"1 2\na 1 2\nb 1 2\n", "goes on in line 3");
    refused(b"1 2\na 1\n", "line 2: 2 numbers are expected, not 1");
    refused(b"1 2\na 1 2 3\n", "line 2: 2 numbers are expected, not 3");
    refused(b"1 2\na 1 NaN\n", "line 2: \"NaN\" is not a finite number");
    refused(b"1 2\na 1 1e39\n", "line 2: \"1e39\" is not a finite number");
    refused(b"2 1\na 1\na 2\n", "comes twice");
    refused(b"1 1\n\xff 1\n", "line 2: not UTF-8");
    refused(b"2 1\n\na 1\n", "line 2: the line is empty");
    refused(&[b'7'; 100_000], "line 1: longer than 64 bytes");
    let long = [&b"1 1\n"[..], &[b'x'; 100_000]].concat();
    refused(&long, "line 2: longer than");
    assert!(read(b"1 2\r\na 1 2 \r\n\n").is_ok(), "other programs end lines so");
    assert!(matches!(
        Vectors::read_text(Path::new("/no/such/file")),
        Err(VectorsError::File { .. })
    ));
}

#[test]
fn hostile_model_files_are_refused() {
    let refused = |header: &str, data: usize, expected: &str| {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.resize(bytes.len() + data, 0);
        let message = read_saved(&bytes).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    };
    let meta = r#""__metadata__":{"organza_format":"1"}"#;
    let tensor = |name: &str, shape: &str, start: u64, end: u64| {
        format!(r#""{name}":{{"dtype":"F32","shape":{shape},"data_offsets":[{start},{end}]}}"#)
    };
    let target = tensor("target", "[2,2]", 0, 16);
    refused("", 0, "not a safetensors header");
    refused("{}", 0, "organza_format");
    refused(&format!("{{{meta}}}"), 0, "no tensor `target`");
    refused(&format!("{{{target}}}"), 16, "organza_format");
    refused(r#"{"__metadata__":{"organza_format":"2"}}"#, 0, "newer Organza");
    refused(&format!("{{{meta},{target}}}"), 15, "promises 16 bytes");
    refused(&format!("{{{meta},{target}}}"), 17, "promises 16 bytes");
    let other = tensor("other", "[2]", 16, 24);
    refused(&format!("{{{meta},{target},{other}}}"), 24, "other than");
    let flat = tensor("target", "[4]", 0, 16);
    refused(&format!("{{{meta},{flat}}}"), 16, "not a matrix");
    let empty = tensor("target", "[0,4]", 0, 0);
    refused(&format!("{{{meta},{empty}}}"), 0, "give at least one");
    let huge = tensor("target", "[1099511627776,1099511627776]", 0, 16);
    refused(&format!("{{{meta},{huge}}}"), 16, "not a safetensors header");
    let huge = tensor("target", "[1099511627776,1024]", 0, 1 << 52);
    refused(&format!("{{{meta},{huge}}}"), 16, "which are not there");
    let context = tensor("context", "[2,2]", 16, 32);
    let bias = tensor("bias", "[1,2]", 32, 40);
    refused(&format!("{{{meta},{target},{context},{bias}}}"), 40, "`bias` should be");
    let halves = target.replace("F32", "F16").replace("[2,2]", "[4,2]");
    refused(&format!("{{{meta},{halves}}}"), 16, "`target` should be F32");
    assert!(read_saved(&[0xff; 40]).is_err());
    assert!(read_saved(b"short").is_err());
}

/// The library that everyone else reads these files with sees what we meant.
#[test]
fn model_files_are_safetensors_and_always_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let model = WordVectors::new(Layout::TwoTables, 3, 2).unwrap();
    let parameters: Vec<f32> = (0..15).map(|place| place as f32).collect();
    let write = |name: &str| {
        let path = folder.path().join(name);
        SavedModel::write(&path, &model, &parameters, &metadata()).unwrap();
        fs::read(&path).unwrap()
    };
    let bytes = write("one");
    assert_eq!(bytes, write("two"));
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let first = |name: &str| {
        let tensor = tensors.tensor(name).unwrap();
        (tensor.shape().to_vec(), f32::from_le_bytes(tensor.data()[..4].try_into().unwrap()))
    };
    assert_eq!(first("target"), (vec![3, 2], 0.0));
    assert_eq!(first("context"), (vec![3, 2], 6.0));
    assert_eq!(first("bias"), (vec![3], 12.0));
    let (header, found) = SafeTensors::read_metadata(&bytes).unwrap();
    assert_eq!(header % 8, 0);
    assert_eq!(found.metadata().as_ref().unwrap()["epsilon"], "3");
    assert!(
        SavedModel::write(&folder.path().join("three"), &model, &[0.0; 14], &metadata()).is_err()
    );

    let saved = SavedModel::read(&folder.path().join("one")).unwrap();
    let vectors = saved.into_vectors(vec!["a".into(), "b".into(), "c".into()]).unwrap();
    assert_eq!(vectors.vector("b").unwrap(), [2.0, 3.0]);
}

#[test]
fn vectors_that_are_none_are_refused() {
    let words = || vec!["a".to_owned(), "b".to_owned()];
    assert!(matches!(Vectors::new(words(), 2, vec![0.0; 3]), Err(VectorsError::Size { .. })));
    assert!(matches!(Vectors::new(words(), 0, vec![]), Err(VectorsError::Size { .. })));
    let nan = Vectors::new(words(), 1, vec![0.0, f32::NAN]).unwrap_err().to_string();
    assert!(nan.contains("\"b\" is not finite"), "{nan}");
    assert!(Vectors::new(vec!["a b".to_owned()], 1, vec![0.0]).is_err());
}
