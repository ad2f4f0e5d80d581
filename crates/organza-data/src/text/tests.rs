//! Texts of a few lines.
#![allow(clippy::unwrap_used)]
use super::*;
use crate::source::Visit;
use crate::{Line, Place};

/// Lines for tests, each with the name of its text.
pub(crate) struct Fixed<'a>(pub(crate) Vec<(&'a str, &'a str)>);

impl TextSource for Fixed<'_> {
    fn each_line(&self, visit: &mut Visit<'_>) -> Result<(), DataError> {
        for (index, (name, text)) in self.0.iter().enumerate() {
            let place = Place { file: (*name).into(), line: index as u64 + 1 };
            visit(Line::of(text, name, &place))?;
        }
        Ok(())
    }
}

/// A text whose words are the numbers of a corpus.
pub(crate) fn of_corpus(corpus: &Corpus) -> TokenisedText {
    let mut lines = Corpus::empty();
    lines.vocabulary_size = corpus.vocabulary_size;
    lines.tokens.clone_from(&corpus.tokens);
    lines.line_starts.clone_from(&corpus.line_starts);
    lines.texts.clone_from(&corpus.texts);
    lines.users = corpus
        .users
        .as_ref()
        .map(|Users { of_line, names }| Users { of_line: of_line.clone(), names: names.clone() });
    let words = (0..corpus.vocabulary_size).map(|word| word.to_string().into()).collect();
    TokenisedText { words, lines, left_out: LeftOut::default() }
}

pub(crate) fn read(lines: &[&str], layout: Layout) -> Result<TokenisedText, DataError> {
    let lines = lines.iter().map(|line| ("text", *line)).collect();
    TokenisedText::read(&Fixed(lines), &Tokeniser::default(), layout)
}

#[test]
fn words_outside_the_vocabulary_leave_no_gap() {
    let text = read(&["a x b", "x", "b b y a"], Layout::Lines).unwrap();
    assert_eq!(text.words().len(), 4);
    assert_eq!(text.lines().counts(), [2, 2, 3, 1]);
    let vocabulary = Vocabulary::new(["b", "unseen", "a"].map(Box::from).into()).unwrap();
    let corpus = text.into_corpus(&vocabulary);
    let lines: Vec<_> = (0..3).map(|line| corpus.line(line).to_vec()).collect();
    assert_eq!(lines, [vec![2, 0], vec![], vec![0, 0, 2]]);
    assert_eq!(corpus.counts(), [3, 0, 2]);
}

#[test]
fn a_user_stands_before_the_tab() {
    let text = read(&["ann\tone two", "bob\tthree", " ann \tfour\tfive"], Layout::Users).unwrap();
    assert_eq!(text.lines().user_count(), Some(2));
    let users: Vec<_> = (0..3).map(|line| text.lines().user_of_line(line)).collect();
    assert_eq!(users, [Some(0), Some(1), Some(0)]);
    assert_eq!(text.lines().line(2).len(), 2);

    let some = read(&["ann\tone", "no user", " \tone", "bob\ttwo"], Layout::Users).unwrap();
    assert_eq!((some.lines().line_count(), some.lines().user_count()), (2, Some(2)));
    assert_eq!(some.left_out().count, 2);
    let missing = some.left_out().refuse().unwrap_err().to_string();
    assert!(missing.starts_with("`text` line 2: no tab"), "{missing}");
    let empty = read(&[" \tone"], Layout::Users).unwrap().left_out().to_string();
    assert!(empty.contains("1 of the lines") && empty.contains("it does not name the user"));
    assert!(text.left_out().refuse().is_ok() && text.left_out().is_empty());
}

/// Text of several batches: words have the numbers in which they first come, lines stay as they are.
#[test]
fn words_have_the_same_numbers_on_any_threads() {
    let lines: Vec<String> = (0..60_000_u64)
        .map(|line| format!("Word{} common {} x{}", line * line % 9_973, line % 7, line % 40_000))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (mut numbers, mut tokens) = (std::collections::HashMap::new(), Vec::new());
    for token in lines.iter().flat_map(|line| line.split(' ')) {
        let next = numbers.len() as u32;
        tokens.push(*numbers.entry(token.to_lowercase()).or_insert(next));
    }
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let text = pool.install(|| read(&lines, Layout::Lines)).unwrap();
        assert_eq!(text.lines().tokens, tokens);
        assert!(text.lines().line_starts.iter().copied().eq((0..=60_000).map(|line| 4 * line)));
        assert!(text.words().iter().zip(0..).all(|(word, number)| numbers[&**word] == number));
    }
}
