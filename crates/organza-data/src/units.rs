//! The units of a part of the data: what is protected as one, and the samples of each.

use crate::canaries::insertion::Moves;
use crate::{DataError, Pair, Sample, Samples};
use organza_ledger::Unit;
use std::ops::Range;

/// The units of training, of validation or of test.
///
/// A unit has a number from 0, and its samples have numbers from 0 within it. The mapping holds no
/// samples: 16 bytes a line at the most, or 8 a sample where samples were drawn one by one.
#[derive(Clone, Debug)]
pub struct Units {
    unit: Unit,
    members: Members,
}

#[derive(Clone, Debug)]
enum Members {
    /// Each of these samples is a unit.
    Range(Range<u64>),
    /// Each of these samples is a unit.
    Listed(Vec<u64>),
    /// Lines, with the samples before each and at last of all. A unit is a sample of them, one of
    /// them, or, where `starts` says so, several in a row.
    Lines { lines: Vec<u64>, before: Vec<u64>, starts: Option<Vec<u64>> },
}

/// Where a sample is found.
enum SamplePlace {
    Sample(u64),
    OfLine { line: u64, offset: u64 },
}

impl Units {
    pub(crate) fn of_range(range: Range<u64>) -> Self {
        Self { unit: Unit::Pair, members: Members::Range(range) }
    }

    pub(crate) fn of_list(samples: Vec<u64>) -> Self {
        Self { unit: Unit::Pair, members: Members::Listed(samples) }
    }

    /// The units of these lines: their samples, the lines themselves, or the users they are from.
    ///
    /// # Errors
    /// When the text has no such unit.
    pub fn of_lines(samples: &Samples, unit: Unit, mut lines: Vec<u64>) -> Result<Self, DataError> {
        let corpus = samples.corpus();
        let starts = match unit {
            Unit::Pair | Unit::Line => None,
            Unit::User | Unit::Document => {
                if corpus.user_count().is_none() {
                    return Err(DataError::NoUsers);
                }
                lines.sort_by_key(|&line| corpus.user_of_line(line));
                let mut starts: Vec<u64> = Vec::new();
                for (place, &line) in lines.iter().enumerate() {
                    let same = |previous: &u64| {
                        corpus.user_of_line(*previous) == corpus.user_of_line(line)
                    };
                    if !place.checked_sub(1).and_then(|place| lines.get(place)).is_some_and(same) {
                        starts.push(place as u64);
                    }
                }
                starts.push(lines.len() as u64);
                Some(starts)
            }
            Unit::Record | Unit::Group => return Err(DataError::NoSuchUnit(unit)),
        };
        let mut total = 0;
        let mut before = Vec::with_capacity(lines.len() + 1);
        before.push(0);
        for &line in &lines {
            total += samples.count_in_line(line);
            before.push(total);
        }
        Ok(Self { unit, members: Members::Lines { lines, before, starts } })
    }

    /// The same units where other lines were put between theirs.
    pub(crate) fn moved(self, moves: &Moves) -> Self {
        let sample = |sample| moves.sample(sample);
        let members = match self.members {
            Members::Range(range) => Members::Listed(range.map(sample).collect()),
            Members::Listed(listed) => Members::Listed(listed.into_iter().map(sample).collect()),
            Members::Lines { mut lines, before, starts } => {
                lines.iter_mut().for_each(|line| *line = moves.line(*line));
                Members::Lines { lines, before, starts }
            }
        };
        Self { unit: self.unit, members }
    }

    /// Adds lines as further units: each line, each of its samples, or its user, who has no other line.
    pub(crate) fn append_lines(&mut self, samples: &Samples, new: &[u64]) {
        match &mut self.members {
            Members::Lines { lines, before, starts } => {
                for &line in new {
                    let total = before.last().copied().unwrap_or_default();
                    lines.push(line);
                    before.push(total + samples.count_in_line(line));
                    if let Some(starts) = starts {
                        starts.push(lines.len() as u64);
                    }
                }
            }
            Members::Listed(listed) => {
                listed.extend(new.iter().flat_map(|&line| samples.in_line(line)));
            }
            Members::Range(range) => {
                let numbers =
                    range.clone().chain(new.iter().flat_map(|&line| samples.in_line(line)));
                self.members = Members::Listed(numbers.collect());
            }
        }
    }

    /// What a unit is.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The number of units. It is a fact about the data, and is *not private* by itself.
    pub fn len(&self) -> u64 {
        match &self.members {
            Members::Range(range) => range.end - range.start,
            Members::Listed(samples) => samples.len() as u64,
            Members::Lines { starts: Some(starts), .. } => starts.len() as u64 - 1,
            Members::Lines { lines, .. } if self.unit == Unit::Line => lines.len() as u64,
            Members::Lines { .. } => self.sample_count(),
        }
    }

    /// Whether there are no units.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of samples in all units.
    pub fn sample_count(&self) -> u64 {
        match &self.members {
            Members::Lines { before, .. } => before.last().copied().unwrap_or_default(),
            Members::Range(_) | Members::Listed(_) => self.len(),
        }
    }

    /// The number of samples of a unit; none if there is no such unit.
    pub fn samples_in(&self, unit: u64) -> u64 {
        self.span(unit).map_or(0, |span| span.end - span.start)
    }

    /// Sample `index` of a unit.
    pub fn sample<'a>(&self, samples: &'a Samples, unit: u64, index: u64) -> Option<Sample<'a>> {
        match self.place(unit, index)? {
            SamplePlace::Sample(number) => samples.sample(number),
            SamplePlace::OfLine { line, offset } => samples.sample_in_line(line, offset),
        }
    }

    /// The number of sample `index` of a unit among all samples of the text.
    #[cfg(test)]
    pub(crate) fn sample_number(&self, samples: &Samples, unit: u64, index: u64) -> Option<u64> {
        Some(match self.place(unit, index)? {
            SamplePlace::Sample(number) => number,
            SamplePlace::OfLine { line, offset } => samples.in_line(line).start + offset,
        })
    }

    /// The lines of a unit, where a unit is a line or a user; none if there is no such unit.
    pub(crate) fn lines_of(&self, unit: u64) -> Option<&[u64]> {
        let Members::Lines { lines, .. } = &self.members else { return None };
        let is_there = self.unit != Unit::Pair && unit < self.len();
        is_there.then(|| &lines[self.lines_from(unit, lines.len())])
    }

    /// All samples, unit by unit.
    pub fn all<'a>(&'a self, samples: &'a Samples) -> impl Iterator<Item = Sample<'a>> {
        let (range, listed, lines) = match &self.members {
            Members::Range(range) => (range.clone(), &[][..], &[][..]),
            Members::Listed(listed) => (0..0, &listed[..], &[][..]),
            Members::Lines { lines, .. } => (0..0, &[][..], &lines[..]),
        };
        let numbers = range.chain(listed.iter().copied());
        numbers
            .filter_map(|number| samples.sample(number))
            .chain(lines.iter().flat_map(|&line| samples.of_line(line)))
    }

    /// Every so-many-th of all samples, unit by unit: they are found by their numbers, and those between cost nothing.
    pub fn every<'a>(
        &'a self,
        samples: &'a Samples,
        stride: usize,
    ) -> impl Iterator<Item = Sample<'a>> {
        let numbers = (0..self.sample_count()).step_by(stride.max(1));
        numbers.filter_map(move |number| match &self.members {
            Members::Range(range) => samples.sample(range.start + number),
            Members::Listed(listed) => samples.sample(listed[number as usize]),
            Members::Lines { lines, before, .. } => {
                let line = before.partition_point(|&earlier| earlier <= number) - 1;
                samples.sample_in_line(lines[line], number - before[line])
            }
        })
    }

    /// All samples as pairs, unit by unit; none where samples have several input words.
    pub(crate) fn pairs<'a>(&'a self, samples: &'a Samples) -> impl Iterator<Item = Pair> {
        self.all(samples).filter_map(|sample| samples.pair_of(sample))
    }

    /// How often each word is the one to be predicted. Exact, hence *not private*.
    pub fn output_counts(&self, samples: &Samples) -> Vec<u64> {
        let mut counts = vec![0; samples.corpus().vocabulary_size];
        match &self.members {
            Members::Lines { lines, .. } => {
                lines.iter().for_each(|&line| samples.count_outputs(line, &mut counts));
            }
            Members::Range(_) | Members::Listed(_) => {
                self.all(samples).for_each(|sample| counts[sample.output as usize] += 1);
            }
        }
        counts
    }

    fn place(&self, unit: u64, index: u64) -> Option<SamplePlace> {
        let span = self.span(unit)?;
        let place = span.start.checked_add(index).filter(|place| span.contains(place))?;
        Some(match &self.members {
            Members::Range(range) => SamplePlace::Sample(range.start + place),
            Members::Listed(listed) => SamplePlace::Sample(listed[place as usize]),
            Members::Lines { lines, before, .. } => {
                let of_unit = self.lines_from(unit, lines.len());
                let first = of_unit.start;
                let line = first + before[of_unit].partition_point(|&earlier| earlier <= place) - 1;
                SamplePlace::OfLine { line: lines[line], offset: place - before[line] }
            }
        })
    }

    /// The lines that the samples of a unit, which there is, are to be looked for in, of so many lines.
    fn lines_from(&self, unit: u64, lines: usize) -> Range<usize> {
        let unit = unit as usize;
        match (&self.members, self.unit) {
            (Members::Lines { starts: Some(starts), .. }, _) => {
                starts[unit] as usize..starts[unit + 1] as usize
            }
            (_, Unit::Line) => unit..unit + 1,
            _ => 0..lines,
        }
    }

    /// The samples of a unit, numbered through those of all units.
    fn span(&self, unit: u64) -> Option<Range<u64>> {
        if unit >= self.len() {
            return None;
        }
        match &self.members {
            Members::Lines { lines, before, .. } if self.unit != Unit::Pair => {
                let lines = self.lines_from(unit, lines.len());
                Some(before[lines.start]..before[lines.end])
            }
            _ => Some(unit..unit + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::corpus::Users;
    use crate::samples::tests::corpus;
    use crate::{Objective, Samples};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn samples(lines: &[(u32, Vec<u32>)]) -> Option<Samples> {
        let tokens: Vec<_> = lines.iter().map(|(_, line)| line.clone()).collect();
        let mut corpus = corpus(&tokens);
        let names = (0..4).map(|user| user.to_string().into()).collect();
        corpus.users =
            Some(Users { of_line: lines.iter().map(|(user, _)| *user).collect(), names });
        Samples::new(corpus, Objective::SkipGram, 2).ok()
    }

    /// The numbers of the samples of each unit, by random access.
    fn numbers(units: &Units, samples: &Samples) -> Vec<Vec<u64>> {
        let of = |unit| {
            assert_eq!(units.sample_number(samples, unit, units.samples_in(unit)), None);
            (0..units.samples_in(unit))
                .map(|index| units.sample_number(samples, unit, index).unwrap())
                .collect()
        };
        assert_eq!(units.sample_number(samples, units.len(), 0), None);
        let numbers: Vec<Vec<u64>> = (0..units.len()).map(of).collect();
        let listed = numbers.concat().into_iter().map(|number| samples.sample(number).unwrap());
        assert!(listed.eq(units.all(samples)));
        for (unit, numbers) in (0..).zip(&numbers) {
            for (index, &number) in (0..).zip(numbers) {
                assert_eq!(units.sample(samples, unit, index), samples.sample(number));
            }
        }
        numbers
    }

    proptest! {
        #[test]
        fn every_unit_has_its_samples(
            lines in proptest::collection::vec((0_u32..4, proptest::collection::vec(0_u32..9, 0..6)), 1..100),
            skipped in 1_usize..4,
        ) {
            if let Some(samples) = samples(&lines) {
                let chosen: Vec<u64> = (0..lines.len() as u64).step_by(skipped).collect();
                let of_line = |line: &u64| samples.in_line(*line).collect::<Vec<_>>();
                let of = |unit| Units::of_lines(&samples, unit, chosen.clone()).unwrap();

                let by_line: Vec<_> = chosen.iter().map(of_line).collect();
                prop_assert_eq!(&numbers(&of(Unit::Line), &samples), &by_line);
                let by_pair: Vec<_> = by_line.concat().into_iter().map(|pair| vec![pair]).collect();
                prop_assert_eq!(numbers(&of(Unit::Pair), &samples), by_pair);
                let mut by_user: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
                for line in &chosen {
                    by_user.entry(lines[*line as usize].0).or_default().extend(of_line(line));
                }
                let by_user: Vec<_> = by_user.into_values().collect();
                prop_assert_eq!(numbers(&of(Unit::User), &samples), by_user);

                for unit in [Unit::Pair, Unit::Line, Unit::User] {
                    let units = of(unit);
                    prop_assert_eq!(units.unit(), unit);
                    prop_assert_eq!(units.sample_count(), by_line.concat().len() as u64);
                    prop_assert_eq!(units.pairs(&samples).count() as u64, units.sample_count());
                    let mut outputs = vec![0; samples.corpus().vocabulary_size];
                    units.all(&samples).for_each(|sample| outputs[sample.output as usize] += 1);
                    prop_assert_eq!(units.output_counts(&samples), outputs);
                    prop_assert!(units.every(&samples, skipped).eq(units.all(&samples).step_by(skipped)));
                }
            }
        }
    }

    #[test]
    fn samples_drawn_one_by_one_are_units() {
        let samples =
            Samples::new(corpus(&[vec![0, 1, 2], vec![3, 4]]), Objective::SkipGram, 2).unwrap();
        assert_eq!(numbers(&Units::of_range(3..5), &samples), [[3], [4]]);
        assert_eq!(numbers(&Units::of_list(vec![7, 0, 4]), &samples), [[7], [0], [4]]);
    }

    #[test]
    fn units_that_text_does_not_have_are_refused() {
        let plain = Samples::new(corpus(&[vec![0, 1]]), Objective::SkipGram, 1).unwrap();
        assert!(matches!(Units::of_lines(&plain, Unit::User, vec![0]), Err(DataError::NoUsers)));
        let record = Units::of_lines(&plain, Unit::Record, vec![0]);
        assert!(matches!(record, Err(DataError::NoSuchUnit(Unit::Record))));
        let none = Units::of_lines(&plain, Unit::Line, vec![]).unwrap();
        assert!(none.is_empty() && none.sample_count() == 0);
    }
}
