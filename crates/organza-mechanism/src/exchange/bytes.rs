//! Numbers and names as bytes: small numbers in few of them, and nothing that is read is taken on trust.

/// Bytes that are written one after another.
#[derive(Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Seven bits a byte, the lowest first; all but the last have the highest bit set.
    pub(crate) fn number(&mut self, number: u64) {
        self.wide(number.into());
    }

    /// Of either sign, small ones first.
    pub(crate) fn signed(&mut self, number: impl Into<i128>) {
        let number = number.into();
        self.wide((number << 1 ^ number >> 127) as u128);
    }

    /// As [`number`](Self::number), for one that may be larger.
    fn wide(&mut self, mut number: u128) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// A length and so many bytes.
    pub(crate) fn name(&mut self, name: &[u8]) {
        self.number(name.len() as u64);
        self.bytes(name);
    }
}

/// Bytes that are read one after another; none where they end too early or make no sense.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(crate) fn array<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        self.bytes(LENGTH)?.try_into().ok()
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        u64::try_from(self.wide()?).ok()
    }

    /// A number of either sign, that has to fit.
    pub(crate) fn signed<N: TryFrom<i128>>(&mut self) -> Option<N> {
        let number = self.wide()?;
        N::try_from((number >> 1) as i128 ^ -((number & 1) as i128)).ok()
    }

    fn wide(&mut self) -> Option<u128> {
        let mut number = 0;
        for shift in (0..128).step_by(7) {
            let [byte] = self.array()?;
            let bits = u128::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn name(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.bytes(length)
    }

    /// How many of something there are, of which each takes at least a byte: so that a length that was made up takes no memory.
    pub(crate) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.0.len()).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX];
        let mut writer = Writer::default();
        numbers.iter().for_each(|number| writer.number(*number));
        let signed = [0, -1, 64, i64::MIN.into(), i64::MAX.into(), 1 << 64, i128::MIN, i128::MAX];
        signed.iter().for_each(|number| writer.signed(*number));
        writer.name(b"bread");
        writer.bytes(&[7; 3]);
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes);
        numbers.iter().for_each(|number| assert_eq!(reader.number(), Some(*number)));
        signed.iter().for_each(|number| assert_eq!(reader.signed(), Some(*number)));
        assert_eq!((reader.name(), reader.array()), (Some(&b"bread"[..]), Some([7; 3])));
        assert!(reader.is_at_end() && reader.number().is_none());
    }

    #[test]
    fn what_makes_no_sense_is_nothing() {
        assert_eq!(Reader::new(&[0x80]).number(), None);
        assert_eq!(Reader::new(&[0xff; 20]).wide(), None);
        let mut writer = Writer::default();
        writer.signed(1_i128 << 63);
        let bytes = writer.into_bytes();
        assert_eq!(Reader::new(&bytes).number(), None);
        assert_eq!(Reader::new(&bytes).signed::<i64>(), None);
        assert_eq!(Reader::new(&[5, 1, 2]).name(), None);
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0x7f, 1]).count(), None);
    }
}
