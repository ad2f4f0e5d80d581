//! What the words of the built-in corpus are called, however many there are.

use super::words::{COMMON, TOPICS};

/// Letters of the number of a group of topics, and of the rank of a word: 676 groups, 17,576 words.
const GROUP_LETTERS: u32 = 2;
const RANK_LETTERS: u32 = 3;
/// Letters of the rank of a common word, after its stem.
const COMMON_LETTERS: u32 = 5;
const COMMON_STEM: &str = "common";

/// Writes the word of a topic that has the given rank. The first sixteen topics have sixteen words of
/// the language; all others are called by the name of a topic, the group of sixteen topics that it is
/// of, and their rank.
pub(super) fn push_of_topic(text: &mut String, topic: usize, rank: usize) {
    let (group, (name, words)) = (topic / TOPICS.len(), &TOPICS[topic % TOPICS.len()]);
    match words.get(rank) {
        Some(word) if group == 0 => text.push_str(word),
        _ => {
            text.push_str(name);
            push_number(text, group, GROUP_LETTERS);
            push_number(text, rank, RANK_LETTERS);
        }
    }
}

/// Writes the word of the given rank that goes with all topics.
pub(super) fn push_common(text: &mut String, rank: usize) {
    match COMMON.get(rank) {
        Some(word) => text.push_str(word),
        None => {
            text.push_str(COMMON_STEM);
            push_number(text, rank, COMMON_LETTERS);
        }
    }
}

/// The topic of a word: the name of one of the first sixteen, or that and the letters of its group.
pub(super) fn topic(word: &str) -> Option<&str> {
    if let Some((name, _)) = TOPICS.iter().find(|(_, words)| words.contains(&word)) {
        return Some(name);
    }
    let (rest, rank) = word.split_at_checked(word.len().checked_sub(RANK_LETTERS as usize)?)?;
    let (name, group) = rest.split_at_checked(rest.len().checked_sub(GROUP_LETTERS as usize)?)?;
    let is_number = |letters: &str| letters.bytes().all(|letter| letter.is_ascii_lowercase());
    if !is_number(rank) || !is_number(group) || !TOPICS.iter().any(|(known, _)| *known == name) {
        return None;
    }
    Some(if group.bytes().all(|letter| letter == b'a') { name } else { rest })
}

/// A number in so many letters from a to z, the last one counting ones.
fn push_number(text: &mut String, number: usize, letters: u32) {
    for place in (0..letters).rev() {
        let digit = number / 26_usize.pow(place) % 26;
        text.push((b'a' + digit as u8) as char);
    }
}
