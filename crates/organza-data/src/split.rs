//! Splits into training, validation and test data.
//!
//! # Privacy
//! The guarantee of a run is for its *training* units: neighbours are training sets that differ in
//! one of them. Only [`Sides::by_unit`], with lines or users as units, carries this over to the whole text,
//! because there the side of a unit depends on nothing but the unit; elsewhere adding a unit may push
//! another over a border. A unit that is *replaced* may change its side: the training sets of texts
//! that differ in one replaced unit differ in one that is replaced, added or removed. What is private
//! for a replacement is so for the other two (a unit less moves no sum further than another in its
//! place may), but their number of training units is not the same.
//! Losses on validation and test data are computed without noise, so they are *not private*.

use crate::{DataError, Samples, TokenisedText, Units};
use organza_ledger::Unit;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::below;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// The three parts. No sample is in two of them.
#[derive(Clone, Debug)]
pub struct Split {
    /// What the model learns from.
    pub train: Units,
    /// What decides when to stop.
    pub validation: Units,
    /// What the result is judged by.
    pub test: Units,
}

/// How many samples each part has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Of training.
    pub train: u64,
    /// Of validation.
    pub validation: u64,
    /// Of test.
    pub test: u64,
}

impl Sizes {
    /// The paper's, and those of the `brown-1k` protocol.
    pub const PAPER: Self = Self { train: 200_000, validation: 100_000, test: 200_000 };

    /// Refuses a text that has not as many samples: for whoever may say so, because the number is no secret.
    ///
    /// # Errors
    /// Says how many are missing.
    pub fn check(self, found: u64) -> Result<(), DataError> {
        let asked = self.train.saturating_add(self.validation).saturating_add(self.test);
        if asked > found { Err(DataError::SplitTooLarge { asked, found }) } else { Ok(()) }
    }

    /// The same sizes where there are as many samples. Where there are not, training has what there is, validation
    /// what that leaves, and test the rest: one sample less makes one part shorter by one, and nothing fails.
    fn within(self, found: u64) -> Self {
        let train = self.train.min(found);
        let validation = self.validation.min(found - train);
        Self { train, validation, test: self.test.min(found - train - validation) }
    }
}

/// What shares of the units validate and test; the others train.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// Of validation.
    pub validation: f64,
    /// Of test.
    pub test: f64,
}

/// Samples drawn at random without replacement, each a unit, as the paper seems to do.
///
/// It leaks: a window looks both ways, so the mirror image of a test pair may stand in training.
///
/// Parts are shorter where there are not as many samples.
pub fn shuffled(samples: &Samples, sizes: Sizes, random: &mut PrivateRandom) -> Split {
    let count = samples.count();
    let sizes = sizes.within(count);
    let total = sizes.train + sizes.validation + sizes.test;
    // A Fisher-Yates shuffle stopped early: only the places that were swapped are remembered.
    let mut moved: HashMap<u64, u64> = HashMap::new();
    let mut draw = |place: u64| {
        let other = place + below(count - place, random);
        let at_place = moved.remove(&place).unwrap_or(place);
        if other == place { at_place } else { moved.insert(other, at_place).unwrap_or(other) }
    };
    let mut drawn: Vec<u64> = (0..total).map(&mut draw).collect();
    let test = drawn.split_off((sizes.train + sizes.validation) as usize);
    let validation = drawn.split_off(sizes.train as usize);
    Split {
        train: Units::of_list(drawn),
        validation: Units::of_list(validation),
        test: Units::of_list(test),
    }
}

/// The first samples train, those after them validate, the last ones test; each sample is a unit.
///
/// On a corpus [`ordered_by_name_hash`](crate::Corpus::ordered_by_name_hash) this holds out whole
/// texts (but for the ones on the borders, of which each side has some lines), so that a pair and its
/// mirror image are on the same side: the `brown-1k` protocol.
///
/// Parts are shorter where there are not as many samples.
pub fn in_order(samples: &Samples, sizes: Sizes) -> Split {
    let count = samples.count();
    let sizes = sizes.within(count);
    Split {
        train: Units::of_range(0..sizes.train),
        validation: Units::of_range(sizes.train..sizes.train + sizes.validation),
        test: Units::of_range(count - sizes.test..count),
    }
}

/// A side of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Train,
    Validation,
    Test,
}

/// The side of every line of a text, known before its vocabulary is.
///
/// Each line, or with users as units each user, goes to a side by a hash of itself and a seed: SHA-256 of all
/// words of the line, whether or not they will be in the vocabulary, or of the user's name. So equal lines
/// are on the same side; lines that differ only in words outside the vocabulary may be on different ones. The
/// shares come out about as asked, by chance.
///
/// # Privacy
/// A unit's side depends on the unit and the seed alone, and not on the other units: adding
/// or removing one leaves all others where they are. That is why the number of a line takes no part.
/// A unit in the place of another may be on another side, so the number of training units may change by
/// one where a unit is replaced, too: it is public only where nothing is held out.
/// With pairs as units whole lines are held out, and the guarantee is for the training pairs.
///
/// # Proof
/// *The number n of training lines or users does not depend on a vocabulary W that was released before.* The sides
/// are made of a [`TokenisedText`], which has none, and a line stays a line and a user a user where no word of
/// theirs is in W ([`TokenisedText::into_corpus`]): n is a function of the text. That is what the account of a noisy
/// count N that decides later events rests on. With P and Q the laws on neighbouring texts, W and N are then
/// independent, P(W = w, N = v) = P(w) P(v), so for each v what was fixed beforehand together with what v decides
/// is (e - e0, d)-private as it stands, and with P(v) <= e^e0 Q(v)
///
/// ```text
/// P(S) = sum over v of P(v) P_v(S(v)) <= sum over v of P(v) (e^(e - e0) Q_v(S(v)) + d) <= e^e Q(S) + d.
/// ```
///
/// If sides followed the words in W, P(v) would become P(v | w), and the d of each v could be spent on the w that make
/// this v likely: the sum over v of d is then weighted anew for each v, and exceeds d. A number of *pairs* does
/// depend on W (only words of W make pairs), so there W has to be charged as what decides itself.
#[derive(Clone, Debug)]
pub struct Sides {
    unit: Unit,
    of_lines: Vec<Side>,
}

impl Sides {
    /// Parts the lines of a text.
    ///
    /// # Errors
    /// When the shares are no shares, or the text has no such unit.
    pub fn by_unit(
        text: &TokenisedText,
        unit: Unit,
        shares: Shares,
        seed: u64,
    ) -> Result<Self, DataError> {
        let Shares { validation, test } = shares;
        if !(validation >= 0.0 && test >= 0.0 && validation + test < 1.0) {
            return Err(DataError::SplitShares { validation, test });
        }
        let lines = text.lines();
        let of_users: Option<Vec<f64>> = match (unit, lines.user_count()) {
            (Unit::User | Unit::Document, None) => return Err(DataError::NoUsers),
            (Unit::User | Unit::Document, Some(users)) => Some(
                (0..users as u32)
                    .map(|user| {
                        position(seed, lines.user_name(user).unwrap_or_default().as_bytes())
                    })
                    .collect(),
            ),
            _ => None,
        };
        let mut bytes = Vec::new();
        let mut of_line = |line: u64| {
            let position = match (&of_users, lines.user_of_line(line)) {
                (Some(positions), Some(user)) => positions[user as usize],
                _ => {
                    write_line(text, line, &mut bytes);
                    position(seed, &bytes)
                }
            };
            if position < test {
                Side::Test
            } else if position < test + validation {
                Side::Validation
            } else {
                Side::Train
            }
        };
        Ok(Self { unit, of_lines: (0..lines.line_count()).map(&mut of_line).collect() })
    }

    /// What is protected as one.
    pub(crate) fn unit(&self) -> Unit {
        self.unit
    }

    /// Whether each line tests.
    pub(crate) fn sides(&self) -> Vec<bool> {
        self.of_lines.iter().map(|side| *side != Side::Train).collect()
    }

    /// The units of each side, now that the text has become samples.
    ///
    /// # Errors
    /// When the samples are of another text.
    pub fn split(&self, samples: &Samples) -> Result<Split, DataError> {
        let (sides, lines) = (self.of_lines.len() as u64, samples.corpus().line_count());
        if sides != lines {
            return Err(DataError::OtherText { sides, lines });
        }
        let units = |side: Side| {
            let on_side = (0..).zip(&self.of_lines).filter(|(_, of_line)| **of_line == side);
            Units::of_lines(samples, self.unit, on_side.map(|(line, _)| line).collect())
        };
        Ok(Split {
            train: units(Side::Train)?,
            validation: units(Side::Validation)?,
            test: units(Side::Test)?,
        })
    }
}

/// Writes the words of a line, each after its length, so that no two lines are written alike.
pub(crate) fn write_line(text: &TokenisedText, line: u64, bytes: &mut Vec<u8>) {
    bytes.clear();
    for &number in text.lines().line(line) {
        let word = text.words()[number as usize].as_bytes();
        bytes.extend((word.len() as u64).to_le_bytes());
        bytes.extend(word);
    }
}

/// A number in [0, 1) that stands for the bytes.
fn position(seed: u64, bytes: &[u8]) -> f64 {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update(bytes);
    let [a, b, c, d, e, f, ..]: [u8; 32] = hash.finalize().into();
    let whole = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    whole as f64 / (1_u64 << 48) as f64
}

#[cfg(test)]
mod tests;
