//! The real gensim reads our files and gives the same answers.
//!
//! Uses the gensim of `python3`, or installs one into a virtual environment under `target/`. Where
//! there is no Python, no pip or no network it fails, unless `ORGANZA_WITHOUT_GENSIM` says that this is known.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]

mod python;

use organza_model::vectors::{Vectors, read_pairs};
use python::{python_with, run};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Loads both formats and asks gensim what the test below asks of us. Cosines of gensim come in
/// single precision.
const SCRIPT: &str = r#"
import json, sys
from gensim.models import KeyedVectors
from gensim.test.utils import datapath

folder = sys.argv[1]
text = KeyedVectors.load_word2vec_format(folder + "/vectors.txt", binary=False)
binary = KeyedVectors.load_word2vec_format(folder + "/vectors.bin", binary=True)
assert text.index_to_key == binary.index_to_key
assert (text.vectors.view("uint32") == binary.vectors.view("uint32")).all()
binary.save_word2vec_format(folder + "/gensim.txt", binary=False)
pairs = datapath("wordsim353.tsv")
print(json.dumps({
    "words": binary.index_to_key,
    "bits": [int(bits) for bits in binary.vectors.view("uint32").ravel()],
    "nearest": binary.most_similar("king", topn=5),
    "analogy": binary.most_similar(positive=["king", "woman"], negative=["man"], topn=5),
    "spearman": float(binary.evaluate_word_pairs(pairs)[1][0]),
    "unknown": float(binary.evaluate_word_pairs(pairs)[2]),
    "pairs": pairs,
}))
"#;

/// The lower-case words of WordSim-353 that are easily listed, some with letters beyond ASCII, and
/// vectors without meaning.
fn vectors() -> Vectors {
    let words = "king queen man woman tiger cat book paper computer keyboard plane car train bread \
        butter doctor nurse money bank stock market wood forest love sex naïve 日本 o'clock # 1,000";
    let words: Vec<String> = words.split_whitespace().map(String::from).collect();
    let mut state = 7_u32;
    let matrix = (0..words.len() * 20).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 1e7 - 0.8
    });
    let mut matrix: Vec<f32> = matrix.collect();
    // A few numbers that are hard to write, in a word that no question below looks at closely.
    let last = matrix.len();
    matrix[last - 4..].copy_from_slice(&[f32::MIN_POSITIVE, -0.0, 1e-45, 16_777_217.0]);
    Vectors::new(words, 20, matrix).unwrap()
}

#[test]
fn gensim_reads_our_files_and_agrees() {
    let python = match python_with("gensim", "gensim") {
        Ok(python) => python,
        Err(reason) if std::env::var_os("ORGANZA_WITHOUT_GENSIM").is_some() => {
            eprintln!("left out as asked, since gensim cannot be had here: {reason}");
            return;
        }
        Err(reason) => {
            panic!("gensim cannot be had (ORGANZA_WITHOUT_GENSIM=1 leaves it out): {reason}")
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let vectors = vectors();
    vectors.write_text(&folder.path().join("vectors.txt")).unwrap();
    vectors.write_binary(&folder.path().join("vectors.bin")).unwrap();
    fs::write(folder.path().join("script.py"), SCRIPT).unwrap();
    let output =
        run(Command::new(python).arg(folder.path().join("script.py")).arg(folder.path())).unwrap();
    let answers: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();

    assert_eq!(answers["words"], serde_json::json!(vectors.words()));
    let bits: Vec<u32> = vectors.matrix().iter().map(|value| value.to_bits()).collect();
    assert_eq!(answers["bits"], serde_json::json!(bits));
    for (question, ours) in [
        ("nearest", vectors.nearest("king", 5).unwrap()),
        ("analogy", vectors.analogy(["man", "king", "woman"], 5).unwrap()),
    ] {
        for (place, ours) in ours.iter().enumerate() {
            let theirs = &answers[question][place];
            assert_eq!(theirs[0], ours.word.as_str(), "{question}");
            assert!((theirs[1].as_f64().unwrap() - ours.cosine).abs() < 1e-5, "{question}");
        }
    }
    let pairs = read_pairs(Path::new(answers["pairs"].as_str().unwrap())).unwrap();
    let similarity = vectors.similarity(&pairs).unwrap();
    assert!(similarity.known >= 10 && similarity.all == 353, "{similarity:?}");
    let theirs = answers["spearman"].as_f64().unwrap();
    assert!((theirs - similarity.spearman).abs() < 1e-6, "{theirs} {similarity:?}");
    let unknown = 100.0 * (similarity.all - similarity.known) as f64 / similarity.all as f64;
    assert!((answers["unknown"].as_f64().unwrap() - unknown).abs() < 1e-9);

    let theirs = Vectors::read_text(&folder.path().join("gensim.txt")).unwrap();
    assert_eq!(theirs, vectors);

    eprintln!("gensim agrees: {similarity:?}");
}
