//! Which examples are whose.

use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::uniform_subset;

/// The examples of each unit: what somebody contributed, in a data set that stays outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examples {
    /// All examples, unit by unit.
    examples: Vec<u64>,
    /// Where those of each unit end.
    ends: Vec<u64>,
    /// At most so many of a unit are in a step, drawn anew for each.
    per_unit: Option<u64>,
}

impl Examples {
    /// The examples of units, `ends` saying where those of each end, of which at most `per_unit` are in a step; `None` if they
    /// do not end in order, where the examples do, or an example is there twice.
    pub fn new(examples: Vec<u64>, ends: Vec<u64>, per_unit: Option<u64>) -> Option<Self> {
        let ordered =
            ends.is_sorted() && ends.last().copied().unwrap_or(0) == examples.len() as u64;
        let mut seen = vec![false; examples.len()];
        let once = examples.iter().all(|example| {
            let place = usize::try_from(*example).ok().and_then(|place| seen.get_mut(place));
            place.is_some_and(|seen| !std::mem::replace(seen, true))
        });
        (ordered && once && per_unit != Some(0)).then_some(Self { examples, ends, per_unit })
    }

    /// How many units there are. *Not private* unless declared public.
    pub fn units(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Appends the examples of `unit` in a step: by a rule that looks at this unit and at chance alone.
    pub(super) fn draw(&self, unit: u64, random: &mut PrivateRandom, drawn: &mut Vec<u64>) {
        let unit = unit as usize;
        let start = unit.checked_sub(1).map_or(0, |before| self.ends[before]) as usize;
        let own = &self.examples[start..self.ends[unit] as usize];
        match self.per_unit.filter(|most| *most < own.len() as u64) {
            None => drawn.extend_from_slice(own),
            Some(most) => {
                let chosen = uniform_subset(own.len() as u64, most, random);
                drawn.extend(chosen.into_iter().map(|number| own[number as usize]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use organza_mechanism::{Purpose, RandomSource};

    #[test]
    fn an_example_is_of_one_unit() {
        let good = Examples::new(vec![2, 0, 1], vec![1, 1, 3], None).unwrap();
        assert_eq!(good.units(), 3);
        for (examples, ends) in [
            (vec![0, 0], vec![1, 2]),
            (vec![0, 2], vec![1, 2]),
            (vec![0, 1], vec![2, 1]),
            (vec![0, 1], vec![1]),
        ] {
            assert_eq!(Examples::new(examples, ends, None), None);
        }
        assert_eq!(Examples::new(vec![0], vec![1], Some(0)), None);
    }

    #[test]
    fn no_more_than_asked_for_are_drawn_of_a_unit() {
        let all = Examples::new((0..12).collect(), vec![10, 10, 12], Some(3)).unwrap();
        let mut random = RandomSource::from_seed(1).substream(Purpose::Negatives, 0, 0);
        let mut seen = [0; 12];
        for _ in 0..200 {
            for (unit, size) in [(0, 3), (1, 0), (2, 2)] {
                let mut drawn = Vec::new();
                all.draw(unit, &mut random, &mut drawn);
                assert_eq!(drawn.len(), size);
                drawn.iter().for_each(|example| seen[*example as usize] += 1);
            }
        }
        assert!(seen[..10].iter().all(|times| *times > 0) && seen[10..] == [200, 200]);
    }
}
