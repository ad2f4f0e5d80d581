//! Files for workers and from workers under a key that they share, for whoever keeps them where others may read or write.

use super::ShardError;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use organza_mechanism::RandomSource;
use sha2::{Digest, Sha256};

/// How a sealed file begins.
const BEGIN: &[u8] = b"organza sealed 1\n";
const NONCE: usize = 24;
/// A key file has at least so many bytes.
const SHORTEST_KEY: usize = 32;

/// A key that the machines of a run share: what is sealed by it, nobody else reads, nor changes unseen.
///
/// By XChaCha20-Poly1305, with a nonce of 192 random bits for each file.
#[derive(Clone)]
pub struct SealKey(XChaCha20Poly1305);

impl std::fmt::Debug for SealKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SealKey(secret)")
    }
}

impl SealKey {
    /// The key of a key file: random bytes, such as of `head -c 32 /dev/urandom`.
    ///
    /// # Errors
    /// If there are fewer than 32.
    pub fn new(bytes: &[u8]) -> Result<Self, ShardError> {
        if bytes.len() < SHORTEST_KEY {
            return Err(ShardError::ShortKey(bytes.len()));
        }
        let key = Sha256::digest([&b"organza seal"[..], bytes].concat());
        XChaCha20Poly1305::new_from_slice(&key).map(Self).map_err(|_| ShardError::Sealing)
    }

    /// Bytes that only this key opens.
    ///
    /// # Errors
    /// If there is no randomness, or more bytes than can be sealed.
    pub fn seal(&self, bytes: &[u8]) -> Result<Vec<u8>, ShardError> {
        let random = RandomSource::from_operating_system().map_err(|_| ShardError::Sealing)?;
        let mut nonce = [0; NONCE];
        nonce.copy_from_slice(&random.key().expose()[..NONCE]);
        let payload = Payload { msg: bytes, aad: BEGIN };
        let sealed = self.0.encrypt(&XNonce::from(nonce), payload);
        Ok([BEGIN, &nonce, &sealed.map_err(|_| ShardError::Sealing)?].concat())
    }

    fn opened(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>()?;
        self.0.decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: BEGIN }).ok()
    }
}

/// What a file is to hold: sealed with the key, if there is one.
///
/// # Errors
/// If it cannot be sealed.
pub fn sealed(bytes: Vec<u8>, key: Option<&SealKey>) -> Result<Vec<u8>, ShardError> {
    match key {
        Some(key) => key.seal(&bytes),
        None => Ok(bytes),
    }
}

/// What a file holds: opened by the key, if there is one. With a key nothing is taken that was not sealed by it.
///
/// # Errors
/// If it is sealed and there is no key, it is not sealed and there is one, or it was sealed by another key or changed since.
pub fn open(bytes: Vec<u8>, key: Option<&SealKey>) -> Result<Vec<u8>, ShardError> {
    match (bytes.strip_prefix(BEGIN), key) {
        (None, None) => Ok(bytes),
        (Some(_), None) => Err(ShardError::KeyNeeded),
        (None, Some(_)) => Err(ShardError::NotSealed),
        (Some(sealed), Some(key)) => key.opened(sealed).ok_or(ShardError::OtherKey),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_the_key_opens_what_it_sealed() {
        let (key, other) = (SealKey::new(&[7; 32]).unwrap(), SealKey::new(&[8; 32]).unwrap());
        let sealed = key.seal(b"sums").unwrap();
        assert_ne!(sealed, key.seal(b"sums").unwrap());
        assert!(!sealed.windows(4).any(|bytes| bytes == b"sums"));
        assert_eq!(open(sealed.clone(), Some(&key)).unwrap(), b"sums");
        assert_eq!(open(b"sums".to_vec(), None).unwrap(), b"sums");
        assert!(matches!(open(sealed.clone(), Some(&other)), Err(ShardError::OtherKey)));
        assert!(matches!(open(sealed.clone(), None), Err(ShardError::KeyNeeded)));
        assert!(matches!(open(b"sums".to_vec(), Some(&key)), Err(ShardError::NotSealed)));
        for place in BEGIN.len()..sealed.len() {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert!(matches!(open(changed, Some(&key)), Err(ShardError::OtherKey)), "{place}");
        }
        let short = sealed[..sealed.len() - 1].to_vec();
        assert!(open(short, Some(&key)).is_err());
        assert!(matches!(SealKey::new(&[7; 31]), Err(ShardError::ShortKey(31))));
    }
}
