//! The checksum of the ledger's lines: CRC-32, as in zip and Ethernet.
//!
//! It guards against accidents (a torn write, a flipped bit, a lost or doubled line), not against a
//! person who rewrites the file: whoever can do that can also run the mechanism without a ledger.
//! It is written out here because it is four lines, and a ledger is small enough that a table or
//! vector instructions would save nothing.

/// The reflected generator polynomial of CRC-32 (IEEE 802.3).
const POLYNOMIAL: u32 = 0xEDB8_8320;

/// The checksum of everything before, continued over `bytes`. The checksum of nothing is 0.
///
/// Any change within 32 neighbouring bits of `bytes` changes the result for certain, any other
/// change with probability 1 - 2^-32.
pub(crate) fn extend(checksum: u32, bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!checksum, |register, byte| {
        (0..8).fold(register ^ u32::from(*byte), |register, _| {
            (register >> 1) ^ (POLYNOMIAL & (register & 1).wrapping_neg())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::extend;

    #[test]
    fn agrees_with_the_published_check_value() {
        assert_eq!(extend(0, b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn continues_where_it_stopped() {
        assert_eq!(extend(extend(0, b"1234"), b"56789"), extend(0, b"123456789"));
        assert_eq!(extend(0, b""), 0);
    }
}
