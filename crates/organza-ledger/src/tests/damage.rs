//! A ledger that was cut or changed: what is read back is a beginning of what was written, and
//! nothing that was lost goes unsaid.

use super::samples::{any_charge, pure, replay, text_of};
use crate::{Charge, KeyFingerprint, LedgerError, Replay};
use proptest::prelude::*;

fn three_charges() -> Vec<Charge> {
    let key = KeyFingerprint::new([7; 16]);
    vec![
        Charge::once("vocabulary", pure(0.5)),
        Charge::block("training", 0..100, pure(0.01)).with_key(key),
        Charge::block("training", 100..200, pure(0.01)).with_key(key),
    ]
}

/// A ledger that ends after `cut` bytes must hold every charge whose line ended before, must name a
/// line that was begun, and without a whole header must be refused.
fn cut_is_sound(
    read: impl Fn(&[u8]) -> Result<Replay, LedgerError>,
    charges: &[Charge],
    cut: usize,
) -> Result<(), String> {
    let text = text_of(charges);
    let kept = &text[..cut];
    let ended = kept.iter().filter(|byte| **byte == b'\n').count();
    let begun = kept.last().is_some_and(|byte| *byte != b'\n');
    match read(kept) {
        Err(LedgerError::NoHeader(_)) if ended == 0 => Ok(()),
        Err(error) => Err(format!("cut at {cut}: {error}")),
        Ok(_) if ended == 0 => Err(format!("cut at {cut}: read without a header")),
        Ok(found) if found.charges != charges[..ended - 1] => {
            Err(format!("cut at {cut}: {} charges instead of {}", found.charges.len(), ended - 1))
        }
        Ok(found) if found.torn.is_some() != begun => {
            Err(format!("cut at {cut}: {:?}", found.torn))
        }
        Ok(_) => Ok(()),
    }
}

/// Whether a change at `position` by `mask` is noticed: by an error, or by naming a torn line and
/// keeping all others.
fn flip_is_noticed(charges: &[Charge], position: usize, mask: u8) -> Result<(), String> {
    let mut text = text_of(charges);
    text[position] ^= mask;
    match replay(&text) {
        Err(_) => Ok(()),
        Ok(found) if found.torn.is_none() => Err(format!("{mask:#x} at {position} unnoticed")),
        Ok(found) if found.charges != charges[..charges.len() - 1] => {
            Err(format!("{mask:#x} at {position} lost more than the last line"))
        }
        Ok(_) => Ok(()),
    }
}

#[test]
fn a_cut_at_any_byte_leaves_a_beginning() {
    let charges = three_charges();
    for cut in 0..=text_of(&charges).len() {
        cut_is_sound(replay, &charges, cut).unwrap();
    }
}

/// Broken twins of the reader: each must fail for some cut.
#[test]
fn readers_that_forget_or_invent_are_caught() {
    let charges = three_charges();
    let caught = |read: &dyn Fn(&[u8]) -> Result<Replay, LedgerError>| {
        (0..=text_of(&charges).len()).any(|cut| cut_is_sound(read, &charges, cut).is_err())
    };
    assert!(!caught(&replay));
    let forgets_the_line_before_the_torn_one = |text: &[u8]| {
        let mut found = replay(text)?;
        if found.torn.is_some() {
            found.charges.pop();
        }
        Ok(found)
    };
    assert!(caught(&forgets_the_line_before_the_torn_one));
    let forgets_on_reopening = |text: &[u8]| Ok(Replay { charges: Vec::new(), ..replay(text)? });
    assert!(caught(&forgets_on_reopening));
    let hides_the_repair = |text: &[u8]| Ok(Replay { torn: None, ..replay(text)? });
    assert!(caught(&hides_the_repair));
}

#[test]
fn any_change_of_any_byte_is_noticed() {
    let charges = three_charges();
    for position in 0..text_of(&charges).len() {
        for mask in 1..=255 {
            flip_is_noticed(&charges, position, mask).unwrap();
        }
    }
}

#[test]
fn a_lost_doubled_or_moved_line_is_an_error_that_names_it() {
    let text = text_of(&three_charges());
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let (header, first, second, third) = (lines[0], lines[1], lines[2], lines[3]);
    for (order, bad_line) in [
        ([header, second, third, third], 2),
        ([header, second, first, third], 2),
        ([header, first, first, second], 3),
        ([header, header, first, second], 2),
        ([first, header, second, third], 1),
    ] {
        match replay(&order.concat()) {
            Err(LedgerError::Line { line, .. }) => assert_eq!(line, bad_line),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_bad_line_in_the_middle_is_an_error_that_names_file_and_line() {
    let mut text = text_of(&three_charges());
    let third_line =
        text.split_inclusive(|byte| *byte == b'\n').take(2).map(<[u8]>::len).sum::<usize>();
    text[third_line + 20] ^= 1;
    let message = replay(&text).unwrap_err().to_string();
    assert!(message.starts_with("`ledger.jsonl` line 3: its checksum is "), "{message}");
}

proptest! {
    #[test]
    fn any_ledger_cut_anywhere_leaves_a_beginning(
        charges in prop::collection::vec(any_charge(), 0..5),
        place in 0.0..=1.0_f64,
    ) {
        let cut = (text_of(&charges).len() as f64 * place) as usize;
        cut_is_sound(replay, &charges, cut).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn any_ledger_changed_anywhere_is_noticed(
        charges in prop::collection::vec(any_charge(), 1..5),
        place in 0.0..1.0_f64,
        mask in 1..=255_u8,
    ) {
        let position = (text_of(&charges).len() as f64 * place) as usize;
        flip_is_noticed(&charges, position, mask).map_err(TestCaseError::fail)?;
    }
}
