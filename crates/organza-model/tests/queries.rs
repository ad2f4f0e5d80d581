//! Questions to word vectors.
#![allow(missing_docs, clippy::unwrap_used)]

use organza_model::vectors::{Vectors, VectorsError, read_pairs};
use std::fs;

/// Two directions: royalty and sex; one word of no meaning, one of large and one of tiny numbers.
fn vectors() -> Vectors {
    let entries: [(&str, [f32; 3]); 8] = [
        ("king", [2.0, 0.1, 0.9]),
        ("queen", [2.0, 0.1, -0.9]),
        ("man", [0.1, 0.3, 1.0]),
        ("woman", [0.1, 0.3, -1.0]),
        ("apple", [0.0, 1.0, 0.0]),
        ("nothing", [0.0, 0.0, 0.0]),
        ("large", [0.0, 3e38, 0.0]),
        ("tiny", [0.0, -1e-30, 0.0]),
    ];
    let words = entries.iter().map(|entry| entry.0.to_owned()).collect();
    Vectors::new(words, 3, entries.iter().flat_map(|entry| entry.1).collect()).unwrap()
}

#[test]
fn neighbours_are_sorted_by_cosine() {
    let near = vectors().nearest("apple", 100).unwrap();
    assert_eq!(near.len(), 7, "all but the word itself");
    assert_eq!((near[0].word.as_str(), near[0].cosine), ("large", 1.0));
    assert_eq!((near[6].word.as_str(), near[6].cosine), ("tiny", -1.0));
    assert!(near.is_sorted_by(|one, next| one.cosine >= next.cosine));
    assert_eq!(near[5].word, "nothing", "no direction, so orthogonal to all");
    assert_eq!(vectors().nearest("king", 1).unwrap()[0].word, "queen");
    assert!(vectors().nearest("king", 0).unwrap().is_empty());
    let cosine = vectors().cosine("king", "queen").unwrap();
    assert_eq!(cosine, vectors().cosine("queen", "king").unwrap());
    assert!((cosine - (4.0 + 0.01 - 0.81) / (4.0 + 0.01 + 0.81)).abs() < 1e-6);
}

#[test]
fn analogies_leave_out_what_was_asked() {
    let answer = vectors().analogy(["man", "king", "woman"], 2).unwrap();
    assert_eq!(answer[0].word, "queen");
    // king / |king| - 2 (0, 0, 1) / |man| against queen, by hand.
    assert!((answer[0].cosine - 0.825).abs() < 1e-3, "{answer:?}");
    let all = vectors().analogy(["man", "king", "woman"], 100).unwrap();
    assert_eq!(all.len(), 5);
}

#[test]
fn unknown_words_are_named_and_spelled_better() {
    let message = |word| vectors().nearest(word, 1).unwrap_err().to_string();
    assert_eq!(
        message("qeuen"),
        "\"qeuen\" is not in the vocabulary of 8 words; did you mean \"queen\"?"
    );
    assert_eq!(vectors().nearest("King", 1).unwrap(), vectors().nearest("king", 1).unwrap());
    assert_eq!(message("zebra"), "\"zebra\" is not in the vocabulary of 8 words");
    assert_eq!(message(""), "\"\" is not in the vocabulary of 8 words");
    assert!(
        vectors().analogy(["man", "king", "womann"], 1).unwrap_err().to_string().contains("woman")
    );
}

#[test]
fn similarity_leaves_out_and_counts_unknown_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pairs.tsv");
    let list = "# a heading\n\nKing\tqueen\t9\nman\tapple\t2.5\textra\nking\tunknown\t1\nman\twoman\t1\r\n";
    fs::write(&path, list).unwrap();
    let pairs = read_pairs(&path).unwrap();
    let similarity = vectors().similarity(&pairs).unwrap();
    assert_eq!((similarity.known, similarity.all, similarity.spearman), (3, 4, 1.0));
    let few = vectors().similarity(&pairs[..1]).unwrap_err();
    assert!(matches!(few, VectorsError::TooFewPairs { known: 1, all: 1 }));
    for (bad, line) in
        [("a\tb\n", "line 1"), ("a\tb\t1\nc\td\tx\n", "line 2"), ("a\tb\tNaN\n", "line 1")]
    {
        fs::write(&path, bad).unwrap();
        let message = read_pairs(&path).unwrap_err().to_string();
        assert!(message.contains(line), "{message}");
    }
}
