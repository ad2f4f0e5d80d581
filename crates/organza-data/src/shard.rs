//! Which shard a unit is in, and the rows of one shard.

use crate::source::Visit;
use crate::text::user_and_text;
use crate::{DataError, Layout, Line, Place, TextSource};
use sha2::{Digest, Sha256};

/// One shard of several.
///
/// # Privacy
/// The shard of a unit is a public hash of its name and nothing else: so all rows of a unit are in one shard, whichever machine
/// looks, and nobody has to promise that they are. A worker may be given all rows of everybody: it takes those of its own shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 0.
    pub number: u32,
    /// How many shards there are.
    pub of: u32,
    /// Whether a row of another shard is refused, instead of being passed over: for whoever parts the rows beforehand.
    pub strict: bool,
}

impl Shard {
    /// The shard of a unit, by its name, trimmed: the first 64 bits of the SHA-256 of `organza shard`, a zero byte and the name, the lowest
    /// first, modulo the number of shards.
    pub fn of_unit(name: &str, of: u32) -> u32 {
        let mut hash = Sha256::new();
        hash.update(b"organza shard\0");
        hash.update(name.trim().as_bytes());
        let digest = hash.finalize();
        let first = std::array::from_fn(|place| digest[place]);
        (u64::from_le_bytes(first) % u64::from(of.max(1))) as u32
    }

    /// Whether a row of this unit is in the shard. One that is nobody's is in the first, so that it is left out once.
    ///
    /// # Errors
    /// If it is not and rows of other shards are refused.
    pub fn takes(&self, unit: Option<&str>, place: &Place) -> Result<bool, DataError> {
        let Some(unit) = unit else { return Ok(self.number == 0) };
        let found = Self::of_unit(unit, self.of);
        match found == self.number {
            false if self.strict => {
                let (place, shard) = (place.clone(), *self);
                Err(DataError::OtherShard { place, found, number: shard.number, of: shard.of })
            }
            is_own => Ok(is_own),
        }
    }
}

/// The lines of one shard of a text.
pub(crate) struct ShardText {
    pub(crate) source: Box<dyn TextSource>,
    pub(crate) layout: Layout,
    pub(crate) shard: Shard,
}

impl TextSource for ShardText {
    fn each_line(&self, visit: &mut Visit<'_>) -> Result<(), DataError> {
        self.source.each_line(&mut |line: Line<'_>| {
            let unit = match (line.problem, self.layout) {
                (Some(_), _) => None,
                // A line is a unit of its own.
                (None, Layout::Lines) => Some(line.text),
                (None, layout) => user_and_text(line, layout).ok().map(|(user, _)| user),
            };
            match self.shard.takes(unit, line.place)? {
                true => visit(line),
                false => Ok(()),
            }
        })
    }
}

/// The text of nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoText;

impl TextSource for NoText {
    fn each_line(&self, _: &mut Visit<'_>) -> Result<(), DataError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::text::tests::Fixed;

    fn lines(layout: Layout, number: u32, of: u32, strict: bool) -> Result<Vec<String>, DataError> {
        let rows = vec![
            ("t", "ann\tgood"),
            ("t", "bob\tbad"),
            ("t", "nobody"),
            ("u", "ann\tlost"),
            ("u", "eve\tbad"),
            ("u", "bob\tfair"),
        ];
        let shard = Shard { number, of, strict };
        let mut seen = Vec::new();
        ShardText { source: Box::new(Fixed(rows)), layout, shard }.each_line(&mut |line| {
            seen.push(line.text.to_owned());
            Ok(())
        })?;
        Ok(seen)
    }

    #[test]
    fn every_row_is_in_one_shard_with_all_of_its_unit() {
        for layout in [Layout::Users, Layout::Documents, Layout::Lines] {
            for of in [1, 2, 5] {
                let all: Vec<Vec<String>> =
                    (0..of).map(|number| lines(layout, number, of, false).unwrap()).collect();
                assert_eq!(all.iter().map(Vec::len).sum::<usize>(), 6, "{layout:?} {of}");
                let with = |row: &str| all.iter().position(|of| of.contains(&row.to_owned()));
                if layout == Layout::Users {
                    assert_eq!(with("ann\tgood"), with("ann\tlost"));
                    assert_eq!(with("bob\tbad"), with("bob\tfair"));
                    assert_eq!(with("nobody"), Some(0));
                }
            }
        }
    }

    #[test]
    fn rows_of_other_shards_are_refused_where_there_may_be_none() {
        assert!(lines(Layout::Users, 0, 1, true).is_ok());
        let refused = (0..2).map(|number| lines(Layout::Users, number, 2, true).is_err());
        assert!(refused.into_iter().any(|it| it));
    }

    /// The hash is a promise: whoever parts rows beforehand does it by the same one. Computed by Python's `hashlib` from the definition.
    #[test]
    fn the_shard_of_a_name_is_stable() {
        assert_eq!(["ann", " ann ", "bob", ""].map(|name| Shard::of_unit(name, 16)), SHARDS);
        assert_eq!(Shard::of_unit("ann", 1), 0);
    }

    const SHARDS: [u32; 4] = [11, 11, 10, 6];
}
