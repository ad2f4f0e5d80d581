//! Words by how they end: what follows "walking" is much like what follows "talking".

use organza_data::Writing;
use std::collections::HashMap;

/// An ending has at most so many letters, and at least so many words have it, or one of so many: so that there are no more endings where
/// there are more words.
const MOST_LETTERS: usize = 3;
const FEWEST_WORDS: usize = 60;
const FEWEST_OF: usize = 170;

/// The class of each symbol: words that end alike, by the longest ending that enough of them have.
///
/// # Privacy
/// It is a function of the vocabulary, which is public or was released.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Endings {
    pub(crate) of_symbol: Vec<u32>,
    pub(crate) number: usize,
}

impl Endings {
    /// The endings of words, in the order of their symbols.
    pub(crate) fn new(words: &[String]) -> Self {
        let ending = |word: &str, letters: usize| {
            let (from, _) = word.char_indices().rev().nth(letters - 1)?;
            (from > 0).then(|| word[from..].to_owned())
        };
        let mut counts: HashMap<String, usize> = HashMap::new();
        for word in words {
            for letters in 1..=MOST_LETTERS {
                if let Some(ending) = ending(word, letters) {
                    *counts.entry(ending).or_default() += 1;
                }
            }
        }
        let fewest = FEWEST_WORDS.max(words.len() / FEWEST_OF);
        let longest = |word: &String| {
            let endings = (1..=MOST_LETTERS).rev().filter_map(|letters| ending(word, letters));
            let mut often = endings.filter(|it| counts.get(it).is_some_and(|it| *it >= fewest));
            often.next()
        };
        // The end of a sentence, the word outside, and words of no frequent ending are classes of their own.
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut of_symbol = vec![Writing::END, Writing::OTHER];
        for word in words {
            let next = numbers.len() as u32 + Writing::FIRST_WORD + 1;
            let class = longest(word).map(|ending| *numbers.entry(ending).or_insert(next));
            of_symbol.push(class.unwrap_or(Writing::FIRST_WORD));
        }
        Self { of_symbol, number: numbers.len() + Writing::FIRST_WORD as usize + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_end_alike_are_of_a_class() {
        let mut words: Vec<String> = (0..FEWEST_WORDS).map(|it| format!("w{it}ing")).collect();
        words.extend(["ing", "thing", "so", "größe"].map(str::to_owned));
        let endings = Endings::new(&words);
        assert_eq!(endings.of_symbol.len(), words.len() + 2);
        let of = |word: &str| {
            let place = words.iter().position(|it| it == word);
            endings.of_symbol[place.unwrap_or_default() + 2]
        };
        assert_eq!(of("w3ing"), of("thing"));
        // Of a word that is an ending, a shorter one counts.
        assert!(of("ing") != of("so") && of("so") == of("größe"));
        assert!(endings.of_symbol.iter().all(|class| (*class as usize) < endings.number));
    }
}
