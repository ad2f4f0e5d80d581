//! Typeahead as a victim: a run of the whole command, with or without one writer.

use crate::runs::{attacked, ended};
use crate::words::{NOT_PRIVATE, PROMISED};
use organza_audit::attack::{Neighbour, Observation, Victim};
use organza_data::settings::{DataSettings, VocabularyOrigin};
use organza_ledger::Unit;
use organza_typeahead::{NGRAMS, Settings, TypeaheadRun};
use std::fs;
use std::ops::Range;
use std::path::Path;

/// How many words are declared, and how many of them nobody writes but the writer.
const DECLARED: u32 = 40;
const RARE: u32 = 8;
const WRITERS: u32 = 60;
/// A multiplier that costs less than what is promised.
const NOISE: f64 = 40.0;
const RARE_ROWS: Range<u32> = DECLARED - RARE..DECLARED;

/// A run on the text of many, with or without a writer of rare words.
struct Typeahead {
    /// Whether words are declared, or released.
    declared: bool,
    /// The broken twin: n-grams are listed if they occur, before any noise.
    bar_before_noise: bool,
}

impl Typeahead {
    fn text(neighbour: Neighbour) -> String {
        let common = DECLARED - RARE;
        let line = |writer: u32, words: &[u32]| {
            let words: Vec<String> = words.iter().map(|word| format!("w{word}")).collect();
            format!("u{writer}\t{}.\n", words.join(" "))
        };
        let shared = (0..WRITERS).flat_map(|writer| {
            (0..6).map(move |at| {
                let first = (writer * 5 + at * at * 3) % common;
                line(writer, &[first, (first + 7) % common, (first + writer % 3) % common])
            })
        });
        let rare: Vec<u32> = (common..DECLARED).cycle().take(500).collect();
        let writer = (neighbour == Neighbour::With).then(|| line(WRITERS, &rare));
        shared.chain(writer).collect()
    }
}

impl Victim for Typeahead {
    fn run(&self, neighbour: Neighbour, folder: &Path) -> Observation {
        let [data, words, out] = ["text.txt", "words.txt", "run"].map(|it| folder.join(it));
        let text = Self::text(neighbour);
        fs::write(&data, &text).expect("a file");
        fs::write(&words, (0..DECLARED).map(|word| format!("w{word}\n")).collect::<String>())
            .expect("a file");
        let vocabulary = match self.declared {
            true => VocabularyOrigin::File(words),
            false => VocabularyOrigin::private(),
        };
        let data = DataSettings { path: Some(data), vocabulary, ..DataSettings::default() };
        let mut settings = Settings::new(data, PROMISED.epsilon, PROMISED.delta);
        settings.privacy.unit = Unit::User;
        // Known noise, which costs no more than what is promised, instead of a search for it in every run.
        settings.privacy.epsilon = None;
        settings.privacy.noise_multiplier = Some(NOISE);
        let ended = ended::<TypeaheadRun>(settings, &out);
        if self.bar_before_noise {
            let mut pairs: Vec<String> = text
                .lines()
                .filter_map(|line| line.split_once('\t'))
                .flat_map(|(_, text)| {
                    let words: Vec<&str> = text.split([' ', '.']).collect();
                    words.windows(2).map(|pair| pair.join(" ")).collect::<Vec<_>>()
                })
                .collect();
            pairs.sort_unstable();
            pairs.dedup();
            fs::write(out.join(NGRAMS), pairs.join("\n")).expect("a file");
        }
        // Where the data lies is not a secret, and another place in every run.
        if let Err(error) = fs::remove_file(out.join("settings.json")) {
            assert!(ended.is_err(), "{error}");
        }
        Observation::of(&out, ended, &NOT_PRIVATE).expect("files that can be read")
    }
}

/// A false alarm has probability 1e-6 each.
#[test]
fn typeahead_does_not_give_a_writer_away() {
    for (declared, words) in [(true, "declared words"), (false, "private words")] {
        let victim = Typeahead { declared, bar_before_noise: false };
        let verdict = attacked(&format!("typeahead, {words}"), RARE_ROWS, &victim);
        assert!(!verdict.refutes(), "{verdict}");
    }
}

#[test]
fn a_bar_before_the_noise_is_caught() {
    let twin = Typeahead { declared: true, bar_before_noise: true };
    let verdict = attacked("twin: bar before the noise", RARE_ROWS, &twin);
    assert!(verdict.refutes(), "{verdict}");
}
