//! Neighbouring texts, and the public list of their words.

use organza_ledger::Unit;
use std::fmt::Write;

/// How many lines all neighbours share.
const LINES: usize = 49;
/// How many lines they share where a unit is a pair: ten pairs each with a window of one.
const LINES_OF_PAIRS: usize = 4;
/// How many words a shared line has.
const WORDS: usize = 6;
/// The words of shared lines are the first ones of the list.
const COMMON: usize = 24;

/// Two texts that differ in one line of rare words.
#[derive(Clone, Debug)]
pub(crate) struct Texts {
    /// Without the line, and with it.
    pub(crate) texts: [String; 2],
    /// All words, one a line.
    pub(crate) list: String,
    /// The words of the line.
    pub(crate) rare: Vec<String>,
    /// The number of units with the line.
    pub(crate) units: u64,
    /// How many units the line is.
    pub(crate) apart: u32,
}

impl Texts {
    /// Texts for this unit, with a public list of `words` words.
    pub(crate) fn new(unit: Unit, words: usize) -> Self {
        let name = |number: usize| format!("w{number:05}");
        let mut list = String::new();
        (0..words).for_each(|number| writeln!(list, "{}", name(number)).expect("a string"));
        let (lines, length) = match unit {
            Unit::Pair => (LINES_OF_PAIRS, 2),
            _ => (LINES, 5),
        };
        let rare: Vec<String> = (words - length..words).map(name).collect();
        let mut without = String::new();
        for line in 0..lines {
            let word = |place: usize| name((line * 7 + place * 5 + place * place) % COMMON);
            let said: Vec<String> = (0..WORDS).map(word).collect();
            writeln!(without, "{}{}", prefix(unit, line), said.join(" ")).expect("a string");
        }
        let with = format!("{without}{}{}\n", prefix(unit, lines), rare.join(" "));
        let (units, apart) = match unit {
            // Each word with its neighbour, both ways round.
            Unit::Pair => ((lines * 2 * (WORDS - 1) + 2) as u64, 2),
            _ => (lines as u64 + 1, 1),
        };
        Self { texts: [without, with], list, rare, units, apart }
    }
}

/// The user of a line, where lines have one.
fn prefix(unit: Unit, line: usize) -> String {
    if unit == Unit::User { format!("u{line}\t") } else { String::new() }
}
