//! Keys of numbered places below the key of a purpose: each place has its own, whoever holds it.

use crate::random::{Origin, RandomSource, StreamKey};
use std::ops::Range;

/// Bytes of a key.
const KEY: usize = 32;

/// The keys of some places.
///
/// # Privacy
/// The key of a place is [named](RandomSource::named) under that of the purpose, by a function that is pseudorandom under it: keys of some
/// places tell nothing of another's, nor of the key of the purpose.
#[derive(Clone)]
pub(crate) struct NumberedKeys {
    first: u16,
    sources: Vec<RandomSource>,
}

impl NumberedKeys {
    /// Those of `places`, which are `kind` and a number below the key of a purpose.
    pub(crate) fn of(purpose: &RandomSource, kind: &str, places: Range<u16>) -> Self {
        let named = |place| purpose.named(&format!("{kind} {place}"));
        Self { first: places.start, sources: places.map(named).collect() }
    }

    /// The places.
    pub(crate) fn places(&self) -> Range<u16> {
        self.first..self.first + self.sources.len() as u16
    }

    /// The keys one after another.
    pub(crate) fn expose(&self) -> Vec<u8> {
        let first = self.first.to_le_bytes();
        let keys = self.sources.iter().flat_map(|source| source.key().expose());
        first.iter().chain(keys).copied().collect()
    }

    /// Keys that were handed over, of places below `end`; `None` if these are none.
    pub(crate) fn from_bytes(bytes: &[u8], end: u16) -> Option<Self> {
        let (first, keys) = bytes.split_first_chunk::<2>()?;
        let first = u16::from_le_bytes(*first);
        let (keys, rest) = keys.as_chunks::<KEY>();
        if !rest.is_empty() || usize::from(first) + keys.len() > usize::from(end) {
            return None;
        }
        // Where the key of the run came from is told to nobody by those of places.
        let source = |key: &[u8; KEY]| {
            RandomSource::resume(StreamKey::from_bytes(*key), Origin::OperatingSystem)
        };
        Some(Self { first, sources: keys.iter().map(source).collect() })
    }

    /// The source of a place; `None` if its key is not here.
    pub(crate) fn source(&self, place: u16) -> Option<&RandomSource> {
        self.sources.get(usize::from(place.checked_sub(self.first)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_has_a_key_of_its_own_whoever_holds_it() {
        let purpose = RandomSource::from_seed(7).named("training");
        let all = NumberedKeys::of(&purpose, "units of bucket", 0..4_096);
        let other = NumberedKeys::of(&purpose, "rows of range", 0..256);
        let of_all = |keys: &NumberedKeys| -> Vec<[u8; KEY]> {
            keys.sources.iter().map(|it| *it.key().expose()).collect()
        };
        let mut keys = of_all(&all);
        let few = NumberedKeys::of(&purpose, "units of bucket", 90..93).expose();
        let few = NumberedKeys::from_bytes(&few, 4_096).expect("keys");
        assert_eq!(few.places(), 90..93);
        assert_eq!(few.expose()[2..], keys[90..93].concat());
        let key = |keys: &NumberedKeys, place| Some(*keys.source(place)?.key().expose());
        assert_eq!(key(&few, 91), key(&all, 91));
        assert!(key(&few, 93).is_none() && key(&few, 89).is_none());
        keys.extend(of_all(&other));
        keys.extend([*purpose.key().expose(), *RandomSource::from_seed(7).key().expose()]);
        keys.sort_unstable();
        assert!(keys.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn what_are_no_keys_is_refused() {
        let purpose = RandomSource::from_seed(7).named("training");
        let good = NumberedKeys::of(&purpose, "units of bucket", 4_090..4_096).expose();
        let read = |bytes: &[u8]| NumberedKeys::from_bytes(bytes, 4_096);
        assert!(read(&good).is_some());
        assert!(read(&good[..good.len() - 1]).is_none());
        let beyond = [&[0xfb, 0x0f], &good[2..]].concat();
        assert!(read(&beyond).is_none(), "4091 + 6 keys");
        assert!(read(&[]).is_none());
    }
}
