//! Samples by number, held against a list of them.
#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

/// Lines of ids as a corpus, without users and in one text.
pub(crate) fn corpus(lines: &[Vec<u32>]) -> Corpus {
    let mut corpus = Corpus::empty();
    for line in lines {
        corpus.tokens.extend(line);
        corpus.line_starts.push(corpus.tokens.len() as u64);
    }
    corpus.texts.push(crate::TextStart { name: "text".into(), first_line: 0 });
    corpus.vocabulary_size = corpus.tokens.iter().max().map_or(0, |&largest| largest as usize + 1);
    corpus
}

/// Inputs and output of every sample, by listing them.
fn naive(lines: &[Vec<u32>], objective: Objective, window: usize) -> Vec<Vec<(Vec<u32>, u32)>> {
    let mut all = Vec::new();
    for line in lines {
        let mut samples = Vec::new();
        for (target, &word) in line.iter().enumerate() {
            let near = |place: &usize| *place != target && place.abs_diff(target) <= window;
            let context: Vec<_> = (0..line.len()).filter(near).map(|place| line[place]).collect();
            match objective {
                Objective::SkipGram => {
                    samples.extend(context.into_iter().map(|other| (vec![word], other)));
                }
                Objective::ContinuousBag if context.is_empty() => {}
                Objective::ContinuousBag => samples.push((context, word)),
            }
        }
        all.push(samples);
    }
    all
}

proptest! {
    #[test]
    fn numbers_agree_with_a_list(
        lines in proptest::collection::vec(proptest::collection::vec(0_u32..50, 0..9), 0..200),
        window in 1_u32..6,
        bag: bool,
    ) {
        let objective = if bag { Objective::ContinuousBag } else { Objective::SkipGram };
        let expected = naive(&lines, objective, window as usize);
        let total = expected.iter().map(Vec::len).sum::<usize>() as u64;
        let samples = Samples::new(corpus(&lines), objective, window).unwrap();
        prop_assert_eq!(samples.count(), total);
        let mut next = 0;
        for (line, expected) in expected.iter().enumerate() {
            let range = samples.in_line(line as u64);
            let listed: Vec<_> = samples.of_line(line as u64).map(|sample| (sample.inputs().collect(), sample.output)).collect();
            prop_assert_eq!(&listed, expected);
            prop_assert_eq!(range.clone(), next..next + expected.len() as u64);
            for (number, (inputs, output)) in range.clone().zip(expected) {
                let sample = samples.sample(number).unwrap();
                prop_assert_eq!(&sample.inputs().collect::<Vec<_>>(), inputs);
                prop_assert_eq!(sample.inputs().len(), inputs.len());
                prop_assert_eq!(sample.output, *output);
                let pair = samples.pair(number);
                prop_assert_eq!(pair.is_some(), !bag);
                prop_assert!(pair.is_none_or(|pair| (vec![pair.target], pair.context) == (inputs.clone(), *output)));
            }
            next = range.end;
        }
        prop_assert!(samples.sample(total).is_none());
        prop_assert!(samples.in_line(lines.len() as u64).is_empty());
        prop_assert!(samples.in_line(u64::MAX).is_empty());
    }
}

#[test]
fn a_window_reaches_at_least_one_word() {
    let lines = [vec![0, 1]];
    assert!(matches!(
        Samples::new(corpus(&lines), Objective::SkipGram, 0),
        Err(DataError::NoWindow)
    ));
    assert!(Samples::new(corpus(&lines), Objective::ContinuousBag, u32::MAX).is_ok());
}
