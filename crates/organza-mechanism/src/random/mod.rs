//! The one source of private randomness.
//!
//! A run has one 256-bit key. Each use of randomness names its [`Purpose`] and its step, which give a
//! key of their own, and its shard, which is the nonce of AES-256 in counter mode under that key.
//! Uses of different names share no bits, results do not depend on how many threads there are, and a run that is
//! resumed with the same key draws the same noise again.

mod keys;
mod stream;
mod turns;

use crate::exchange::Exchange;
use aes::Aes256Enc;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
pub(crate) use keys::NumberedKeys;
use organza_ledger::KeyFingerprint;
pub use stream::PrivateRandom;
use stream::number;
pub(crate) use stream::{AT_ONCE, Word, Words};
use thiserror::Error;
pub(crate) use turns::Turn;
use turns::Turns;
use zeroize::Zeroize;

/// The name of the source of choices.
const CHOICES: &str = "choices of units";

/// What randomness is for, where it hides nothing. Two purposes never share bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Purpose {
    /// Which units join a batch.
    Batch = 1,
    /// The initial model.
    Initialisation = 5,
    /// Negative examples and other draws that do not depend on the data.
    Negatives = 6,
    /// Splits of the data, canaries, synthetic data.
    Data = 7,
    /// What layers of a network draw, such as dropout.
    Layers = 12,
    /// What is drawn for data that was declared public.
    Public = 13,
}

/// What randomness is for, where it hides data: this crate alone draws it, against the proof of a charge. It shares
/// no bits with any [`Purpose`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub(crate) enum Secret {
    /// Which coordinates or rows are selected.
    Selection = 2,
    /// The noise on gradients.
    Noise = 3,
    /// Releases made once, such as a vocabulary or counts.
    Release = 4,
    /// The public name of the key, and nothing else.
    Fingerprint = 8,
    /// The noise of a step on the rows that it touched, where that on others is left for later.
    TouchedNoise = 9,
    /// Noise that was left for later.
    OwedNoise = 10,
    /// The noise on how many units are within the clip.
    ClipNoise = 11,
}

/// Where the key came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The operating system: private.
    OperatingSystem,
    /// A seed that somebody may know: for tests and reproduction, *not private*.
    Seed(u64),
}

/// The operating system gave no randomness.
#[derive(Debug, Error)]
#[error("the operating system gave no randomness, so nothing private can be made: {0}")]
pub struct RandomError(getrandom::Error);

/// The secret key of a run. Whoever has it can take the noise off everything that was released.
#[derive(Clone)]
pub struct StreamKey([u8; 32]);

impl Drop for StreamKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl StreamKey {
    /// A key read back from the private part of a run.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, for the private part of a run and nothing else.
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Debug for StreamKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("StreamKey(secret)")
    }
}

/// Makes the substreams of one run.
///
/// # Privacy
/// The noise is private only while the key is: [`RandomSource::is_private`] is false for a seeded
/// source, and whoever writes a certificate has to say so.
///
/// What hides data is drawn once: a source remembers which steps of which name were handed out, and its clones
/// and all that are [named](RandomSource::named) from it remember with it. A second source of the same key knows
/// nothing of the first: see [`RandomSource::resume`].
///
/// Noise itself is not to be had here, but only from a mechanism that was paid for:
/// ```compile_fail,E0599
/// # use organza_mechanism::{Purpose, RandomSource};
/// # let source = RandomSource::from_seed(1);
/// source.substream(Purpose::Noise, 0, 0);
/// ```
#[derive(Clone)]
pub struct RandomSource {
    key: StreamKey,
    cipher: Aes256Enc,
    origin: Origin,
    turns: Turns,
    exchange: Option<Exchange>,
    /// Whether this is the source of choices, which has no key of noise.
    chooses: bool,
}

impl std::fmt::Debug for RandomSource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "RandomSource({:?})", self.origin)
    }
}

impl RandomSource {
    /// A source with a fresh key from the operating system.
    ///
    /// # Errors
    /// When the operating system has no randomness to give.
    pub fn from_operating_system() -> Result<Self, RandomError> {
        let mut bytes = [0; 32];
        #[expect(clippy::disallowed_methods, reason = "this is the one place")]
        getrandom::fill(&mut bytes).map_err(RandomError)?;
        Ok(Self::resume(StreamKey(bytes), Origin::OperatingSystem))
    }

    /// A source for tests and reproduction. *Not private*: a seed can be guessed or written down.
    pub fn from_seed(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..24].copy_from_slice(b"organza: seeded!");
        Self::resume(StreamKey(bytes), Origin::Seed(seed))
    }

    /// The source of a run that goes on, from what was kept of it.
    ///
    /// # Privacy
    /// It draws steps again that the run has drawn before, with the same noise. That is a copy, which tells
    /// nothing new, on the same data, from the same state and with the same settings, and bares the data on any
    /// others. So whoever keeps a key keeps with it, as privately, a fingerprint of the data, the settings and the
    /// state, and refuses to go on with anything else; the session of `organza-train` does. The same holds of two
    /// sources of one seed, which are for tests.
    pub fn resume(key: StreamKey, origin: Origin) -> Self {
        Self::with_turns(key, origin, Turns::default())
    }

    fn with_turns(key: StreamKey, origin: Origin, turns: Turns) -> Self {
        let cipher = Aes256Enc::new(&key.0.into());
        Self { key, cipher, origin, turns, exchange: None, chooses: false }
    }

    /// The source of a run whose sums come from elsewhere, or go there.
    pub fn with_exchange(self, exchange: Exchange) -> Self {
        Self { exchange: Some(exchange), ..self }
    }

    /// Where sums come from and go to, if not all is made in one place.
    pub fn exchange(&self) -> Option<&Exchange> {
        self.exchange.as_ref()
    }

    /// Where choices that are made unit by unit, before the noise, come from: of a worker this source itself.
    ///
    /// # Privacy
    /// It is all the randomness that a worker needs, and from its key nobody gets that of this source, which makes the noise: a name's key
    /// is a keyed function of the name.
    pub fn choices(&self) -> Self {
        match self.chooses {
            true => self.clone(),
            false => Self { chooses: true, ..self.named(CHOICES) },
        }
    }

    /// The source of a worker, by the key of [`RandomSource::choices`].
    pub fn of_worker(choices: StreamKey, origin: Origin, exchange: Exchange) -> Self {
        Self { chooses: true, ..Self::resume(choices, origin).with_exchange(exchange) }
    }

    /// The turn of each step that is drawn from this very key.
    pub(crate) fn turn(&self) -> Turn {
        self.turns.of(self.fingerprint())
    }

    /// The key, for the private part of a run.
    pub fn key(&self) -> &StreamKey {
        &self.key
    }

    /// Where the key came from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Whether nobody can know the key.
    pub fn is_private(&self) -> bool {
        self.origin == Origin::OperatingSystem
    }

    /// The public name of the key: the first 128 bits of a substream that serves nothing else.
    pub fn fingerprint(&self) -> KeyFingerprint {
        let mut random = self.secret(Secret::Fingerprint, 0).shard(0);
        let bits = u128::from(random.word()) << 64 | u128::from(random.word());
        KeyFingerprint::new(bits.to_le_bytes())
    }

    /// A source of its own for everything under `name`, as private as this one: two names never share
    /// bits, nor does a name with this source itself.
    ///
    /// Its key is the CBC-MAC of the name under this key, over blocks that begin with the length (so that
    /// no name is the beginning of another) and differ from all blocks that give substreams; the two
    /// halves of the key differ in their first block.
    pub fn named(&self, name: &str) -> Self {
        self.named_by(name.as_bytes())
    }

    /// The same for a name in bytes.
    pub(crate) fn named_by(&self, name: &[u8]) -> Self {
        let mut key = [0; 32];
        for (half, target) in key.chunks_exact_mut(16).enumerate() {
            let mut first = [0; 16];
            first[..8].copy_from_slice(&(name.len() as u64).to_le_bytes());
            first[12..14].copy_from_slice(&u16::MAX.to_le_bytes());
            first[14] = half as u8;
            let mut state = first.into();
            self.cipher.encrypt_block(&mut state);
            for block in name.chunks(16) {
                for (byte, letter) in state.iter_mut().zip(block) {
                    *byte ^= letter;
                }
                self.cipher.encrypt_block(&mut state);
            }
            target.copy_from_slice(&state);
        }
        let named = Self::with_turns(StreamKey(key), self.origin, self.turns.clone());
        Self { exchange: self.exchange.clone(), chooses: self.chooses, ..named }
    }

    /// The bits for one use: always the same for the same three, and unrelated for any others.
    pub fn substream(&self, purpose: Purpose, step: u64, shard: u64) -> PrivateRandom {
        self.step(purpose, step).shard(shard)
    }

    /// The substreams of one purpose in one step, for whoever needs many shards.
    pub fn step(&self, purpose: Purpose, step: u64) -> StepRandom {
        self.numbered(purpose as u16, step)
    }

    /// What hides data in one step. Whoever asks has seen the proof of a charge, and taken the turn of the step.
    pub(crate) fn secret(&self, secret: Secret, step: u64) -> StepRandom {
        self.numbered(secret as u16, step)
    }

    /// Their key is the run's key applied to two blocks that hold all of (purpose, step) and a half
    /// number, so distinct uses have distinct, unpredictable keys; the shard is the nonce under it.
    fn numbered(&self, purpose: u16, step: u64) -> StepRandom {
        let mut key = [0; 32];
        for (half, target) in key.chunks_exact_mut(16).enumerate() {
            let mut block = [0; 16];
            block[..8].copy_from_slice(&step.to_le_bytes());
            block[12..14].copy_from_slice(&purpose.to_le_bytes());
            block[14] = half as u8;
            let mut block = block.into();
            self.cipher.encrypt_block(&mut block);
            target.copy_from_slice(&block);
        }
        let cipher = Aes256Enc::new(&key.into());
        key.zeroize();
        StepRandom { cipher }
    }
}

/// The randomness of one purpose in one step: cheap to divide into shards.
#[derive(Clone)]
pub struct StepRandom {
    cipher: Aes256Enc,
}

impl StepRandom {
    /// The bits of one shard: always the same for the same number.
    pub fn shard(&self, shard: u64) -> PrivateRandom {
        PrivateRandom::new(self.cipher.clone(), shard)
    }

    /// Fills `words` with the first bits of several shards, `each` words of one after another, no more than
    /// 128 in all: those that [`PrivateRandom::fill`] gives of a fresh shard, encrypted at once.
    pub(crate) fn fill_shards<'a>(
        &self,
        shards: &[u32],
        each: usize,
        words: &'a mut Words,
    ) -> &'a [Word] {
        let blocks = words.at_once();
        for (shard, blocks) in shards.iter().zip(blocks.chunks_mut(each.div_ceil(2).max(1))) {
            number(blocks, u64::from(*shard), 0);
        }
        self.cipher.encrypt_blocks(blocks);
        words.first(shards.len() * each)
    }
}

impl std::fmt::Debug for StepRandom {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("StepRandom(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(random: &mut PrivateRandom) -> Vec<u64> {
        (0..100).map(|_| random.word()).collect()
    }

    #[test]
    fn the_same_use_gives_the_same_bits() {
        let source = RandomSource::from_seed(7);
        let again = RandomSource::resume(source.key().clone(), source.origin());
        let one = first(&mut source.secret(Secret::Noise, 3).shard(1));
        assert_eq!(one, first(&mut again.secret(Secret::Noise, 3).shard(1)));
        assert_eq!(source.fingerprint(), again.fingerprint());
        assert_ne!(source.fingerprint(), RandomSource::from_seed(8).fingerprint());
        let names = ["", "a", "a\0", "training", "curve", "a name that is longer than a block"];
        let mut keys: Vec<[u8; 32]> =
            names.iter().map(|name| *source.named(name).key().expose()).collect();
        keys.push(*source.key().expose());
        assert_eq!(keys[1], *again.named("a").key().expose());
        keys.sort_unstable();
        assert!(keys.windows(2).all(|pair| pair[0] != pair[1]));
    }

    /// Two streams of the same use, one through `rand_core`; the twin is of another shard.
    #[test]
    fn generators_of_rand_give_the_same_words() {
        use rand_core::CryptoRng;
        fn fill(random: &mut impl CryptoRng, bytes: &mut [u8]) -> u64 {
            let low = u64::from(random.next_u32());
            random.fill_bytes(bytes);
            random.next_u64() ^ low
        }
        let source = RandomSource::from_seed(7);
        // More bytes than are made at a time, and no whole number of words.
        let mut bytes = [0; 8 * AT_ONCE + 27];
        let folded = fill(&mut source.substream(Purpose::Data, 3, 1), &mut bytes);
        let agrees = |shard: u64| {
            let random = &mut source.substream(Purpose::Data, 3, shard);
            let low = random.word() & u64::from(u32::MAX);
            let words = std::iter::repeat_with(|| random.word()).take(bytes.len().div_ceil(8));
            let whole: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
            whole[..bytes.len()] == bytes && random.word() ^ low == folded
        };
        assert!(agrees(1) && !agrees(2));
    }

    #[test]
    fn every_part_of_the_name_matters() {
        let source = RandomSource::from_seed(7);
        let one = first(&mut source.secret(Secret::Noise, 3).shard(1));
        for (secret, step, shard) in [
            (Secret::Selection, 3, 1),
            (Secret::Noise, 4, 1),
            (Secret::Noise, 3 + (1 << 32), 1),
            (Secret::Noise, 3, 2),
            (Secret::Noise, 3, 1 + (1 << 40)),
        ] {
            assert_ne!(one, first(&mut source.secret(secret, step).shard(shard)));
        }
        assert_ne!(one, first(&mut RandomSource::from_seed(8).secret(Secret::Noise, 3).shard(1)));
    }

    #[test]
    fn a_source_remembers_what_its_clones_and_names_have_drawn() {
        let source = RandomSource::from_seed(7);
        assert!(source.named("training").turn().take(4));
        assert!(!source.clone().named("training").turn().take(4));
        assert!(!source.named("training").turn().take(3));
        assert!(source.named("other").turn().take(0) && source.turn().take(0));
        let again = RandomSource::resume(source.key().clone(), source.origin());
        assert!(again.named("training").turn().take(4), "which its owner has to vouch for");
    }

    #[test]
    fn another_shard_starts_at_its_first_bit() {
        let step = RandomSource::from_seed(7).secret(Secret::Noise, 3);
        let mut random = step.shard(1);
        first(&mut random);
        for shard in [5, 1, u64::MAX] {
            random.turn_to(shard);
            assert_eq!(first(&mut random), first(&mut step.shard(shard)));
        }
    }

    #[test]
    fn shards_filled_together_have_the_bits_of_each() {
        let random = RandomSource::from_seed(7).secret(Secret::Noise, 3);
        for (shards, each) in [(vec![9], 128), (vec![0, u32::MAX], 64), ((3..11).collect(), 16)] {
            let (mut together, mut alone) = (Words::default(), Words::default());
            let parts = random.fill_shards(&shards, each, &mut together).chunks(each);
            for (shard, part) in shards.iter().zip(parts) {
                assert_eq!(random.shard(u64::from(*shard)).fill(&mut alone, each), part);
            }
        }
    }

    #[test]
    fn bulk_and_scalar_draws_never_overlap() {
        let source = RandomSource::from_seed(7);
        let mut random = source.secret(Secret::Noise, 0).shard(0);
        let mut seen = first(&mut random);
        let mut bulk = Words::default();
        for count in [256, 256, 20, 129] {
            let words = random.fill(&mut bulk, count);
            assert_eq!(words.len(), count);
            seen.extend(words.iter().copied().map(u64::from_le_bytes));
        }
        seen.extend(first(&mut random));
        seen.sort_unstable();
        assert!(seen.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn keys_from_the_operating_system_differ() {
        let one = RandomSource::from_operating_system().expect("a machine with randomness");
        let other = RandomSource::from_operating_system().expect("a machine with randomness");
        assert!(one.is_private());
        assert!(!RandomSource::from_seed(1).is_private());
        assert_ne!(one.key().expose(), other.key().expose());
        assert_eq!(format!("{:?}", one.key()), "StreamKey(secret)");
    }

    /// The stream of bits is a promise: a change of it breaks the reproduction of seeded runs. The
    /// value was computed by OpenSSL's AES from the definition above.
    #[test]
    fn the_stream_is_stable() {
        let mut random = RandomSource::from_seed(0).secret(Secret::Noise, 0).shard(0);
        assert_eq!(random.word(), 2_294_067_375_321_496_626);
    }
}
