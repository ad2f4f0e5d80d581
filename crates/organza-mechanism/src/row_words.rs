//! The random words of many rows, each row a shard of its own.

use crate::random::{AT_ONCE, StepRandom, Word, Words};
use crate::sample::{CHUNK, size_of_block};
use std::ops::Range;

/// The fewest words of a row: a vector of pairs.
const FEWEST: usize = size_of_block(1);

/// Calls `visit` with the number of each row of `rows`, where in the row a piece of it starts, and the words of
/// as many normals as the piece has values, rounded up to whole vectors. `of` tells the row of a number and its
/// length. Each row has the words of its shard, whatever rows are beside it; those of neighbours of one
/// length are made together, because the cipher makes 128 words at a time.
pub(crate) fn each_row_words(
    random: &StepRandom,
    rows: Range<usize>,
    of: impl Fn(usize) -> (u32, usize),
    mut visit: impl FnMut(usize, usize, &[Word]),
) {
    let mut words = Words::default();
    let mut shards = [0; AT_ONCE / FEWEST];
    let mut next = rows.start;
    while next < rows.end {
        let (row, length) = of(next);
        let size = size_of_block(length);
        if size > AT_ONCE {
            let mut random = random.shard(u64::from(row));
            for start in (0..length).step_by(CHUNK) {
                let count = size_of_block(length - start).min(CHUNK);
                visit(next, start, random.fill(&mut words, count));
            }
            next += 1;
            continue;
        }
        let most = (AT_ONCE / size.max(FEWEST)).min(rows.end - next);
        let alike = (next..next + most).map(&of);
        let alike = alike.take_while(|(_, length)| size_of_block(*length) == size);
        let mut count = 0;
        for ((row, _), shard) in alike.zip(&mut shards) {
            *shard = row;
            count += 1;
        }
        let words = random.fill_shards(&shards[..count], size, &mut words);
        if size > 0 {
            (next..).zip(words.chunks(size)).for_each(|(number, words)| visit(number, 0, words));
        }
        next += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{RandomSource, Secret};

    #[test]
    fn each_row_has_the_words_of_its_shard() {
        let random = RandomSource::from_seed(3).secret(Secret::OwedNoise, 5);
        let lengths = [64, 64, 64, 1, 0, 300, 300, 100, 17, 20, 31, 3, 128, 129];
        let of = |number: usize| (7 * number as u32, lengths[number]);
        for rows in [0..14, 1..3, 4..4, 12..14] {
            let mut seen = vec![Vec::new(); lengths.len()];
            each_row_words(&random, rows.clone(), of, |number, start, words| {
                assert_eq!(start, seen[number].len());
                seen[number].extend_from_slice(words);
            });
            for (number, seen) in seen.iter().enumerate() {
                let length = if rows.contains(&number) { lengths[number] } else { 0 };
                let mut shard = random.shard(7 * number as u64);
                let (mut expected, mut words) = (Vec::new(), Words::default());
                for start in (0..length).step_by(CHUNK) {
                    let count = size_of_block(length - start).min(CHUNK);
                    expected.extend_from_slice(shard.fill(&mut words, count));
                }
                assert_eq!(*seen, expected);
            }
        }
    }
}
