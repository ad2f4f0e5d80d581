//! The presets say what they are said to say.
#![allow(missing_docs, clippy::unwrap_used)]

use organza_data::{Objective, Synthetic, TextSource};
use organza_ledger::Event;
use organza_mechanism::SelectionRule;
use organza_model::Layout;
use organza_train::OptimizerSettings;
use organza_words::settings::{Method, Settings, SplitSettings, StopWordList, Tokens};
use organza_words::{Ended, Session};
use std::fmt::Write;
use std::path::Path;

/// Section 5 and Table 1 of the paper.
#[test]
fn the_paper_is_there_to_the_letter() {
    let paper = Settings::paper();
    assert_eq!(paper.data.vocabulary_size, Some(1_000));
    assert_eq!(paper.data.stop_words, StopWordList::English);
    assert!(paper.data.tokens == Tokens::Ascii && !paper.data.keep_case);
    assert_eq!(paper.data.split, SplitSettings::PaperShuffled);
    assert_eq!((paper.model.layout, paper.model.architecture), (Layout::Tied, Objective::SkipGram));
    assert_eq!((paper.model.dimensions, paper.model.window, paper.model.negatives), (100, 4, 8));
    assert_eq!((paper.training.batch, paper.training.epochs), (20.0, 20.0));
    assert_eq!((paper.training.clip, paper.training.second_clip), (15.0, Some(1.0)));
    assert_eq!(paper.training.optimizer, OptimizerSettings::adam(0.001));
    assert!(!paper.training.average);
    assert_eq!((paper.selection.gamma, paper.selection.cap), (0.001, 0.1));
    assert_eq!((paper.privacy.noise_multiplier, paper.privacy.delta), (Some(0.5), 1e-5));
    assert_eq!(paper.privacy.units, Some(200_000));
}

/// A text with enough words and pairs for the paper's split: the built-in corpus, with each of its words
/// in five spellings.
fn write_text(path: &Path) {
    let mut text = String::new();
    let mut number = 0_usize;
    let letters = ["a", "b", "c", "d", "e"];
    Synthetic::new(1, 12_000)
        .each_line(&mut |line| {
            for word in line.text.split(' ') {
                number += 1;
                write!(text, "{word}{} ", letters[number % letters.len()]).unwrap();
            }
            text.push('\n');
            Ok(())
        })
        .unwrap();
    std::fs::write(path, text).unwrap();
}

/// A few steps of each run of the paper's Figure 1.
#[test]
fn all_runs_of_the_figure_go_through() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("text.txt");
    write_text(&data);
    let runs = [
        (Method::None, SelectionRule::Exponential, None),
        (Method::Dpsgd, SelectionRule::Exponential, Some(0.32)),
        (Method::Dpsgd, SelectionRule::Exponential, Some(0.5)),
        (Method::Sparse, SelectionRule::Exponential, Some(0.5)),
        (Method::Sparse, SelectionRule::SparseVector, Some(0.5)),
        (Method::Sparse, SelectionRule::Uniform, Some(0.5)),
    ];
    for (number, (method, rule, noise_multiplier)) in runs.into_iter().enumerate() {
        let mut settings = Settings::paper();
        settings.data.path = Some(data.clone());
        settings.method = method;
        settings.selection.rule = rule;
        settings.privacy.noise_multiplier = noise_multiplier;
        settings.training.steps = Some(30);
        settings.training.evaluations = 1;
        settings.training.checkpoints = 2;
        settings.seed = Some(1);
        let session = Session::begin(settings, &place.path().join(number.to_string())).unwrap();
        let Ended::Finished(finished) = session.train(false, &mut ()).unwrap() else {
            panic!("nobody interrupts");
        };
        let certificate = finished.certificate;
        assert_eq!(certificate.epsilon.is_some(), method != Method::None);
        assert!(finished.curve.iter().all(|point| point.losses.test.is_finite()));
        let events = serde_json::to_string(&certificate.events).unwrap();
        let selects = match (method, rule) {
            (Method::Sparse, SelectionRule::Exponential) => events.contains("exponential"),
            (Method::Sparse, SelectionRule::SparseVector) => events.contains("sparse_vector"),
            (Method::Sparse, _) => events.contains("uniform_mask"),
            (Method::Dpsgd, _) => {
                let gaussian = Event::Gaussian { noise_multiplier: noise_multiplier.unwrap() };
                events.contains(&serde_json::to_string(&gaussian).unwrap())
            }
            (Method::None, _) => certificate.events.is_empty(),
            (Method::Counts, _) => false,
        };
        assert!(selects, "{method} {rule}: {events}");
    }
}
