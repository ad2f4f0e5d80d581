//! The public name of a secret random key.

use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// A fingerprint that names a random key without revealing it.
///
/// # Privacy
/// The ledger is public and the key is secret (whoever has it can subtract the noise), so only a
/// one-way function of the key may stand here, such as the first block of a substream that serves
/// nothing else. It has 128 bits, so that two keys never share one in practice: if they did, a
/// release with fresh noise would pass for a copy of an older one and not be charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyFingerprint([u8; 16]);

/// A text that is no fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a key fingerprint is 32 hexadecimal digits in lower case")]
pub struct KeyFingerprintError;

impl KeyFingerprint {
    /// Names a key by 16 bytes that a one-way function made of it.
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for KeyFingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl From<KeyFingerprint> for String {
    fn from(key: KeyFingerprint) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for KeyFingerprint {
    type Error = KeyFingerprintError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let digits = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 32 || !text.bytes().all(digits) {
            return Err(KeyFingerprintError);
        }
        let number = u128::from_str_radix(&text, 16).map_err(|_| KeyFingerprintError)?;
        Ok(Self(number.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::KeyFingerprint;

    #[test]
    fn goes_through_text_unchanged() {
        let key = KeyFingerprint::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]);
        let text = String::from(key);
        assert_eq!(text, "000102030405060708090a0b0c0d0eff");
        assert_eq!(KeyFingerprint::try_from(text), Ok(key));
    }

    #[test]
    fn other_text_is_refused() {
        for text in
            ["", "0", "+00102030405060708090a0b0c0d0eff", "000102030405060708090A0B0C0D0EFF"]
        {
            assert!(KeyFingerprint::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
