//! The bits of one use: AES in counter mode, one by one or in bulk.

use aes::cipher::BlockCipherEncrypt;
use aes::{Aes256Enc, Block};
use rand_core::{TryCryptoRng, TryRng};
use std::convert::Infallible;

/// How many words are made at a time: 64 blocks, which the widest processors encrypt side by side. Fewer
/// would go through one by one, and take as long.
pub(crate) const AT_ONCE: usize = 128;
/// The same in blocks of two words.
const BLOCKS: usize = AT_ONCE / 2;

/// 64 random bits as they come from the cipher, the lowest first.
pub(crate) type Word = [u8; 8];

/// Room for 256 words, where vectors of the processor may begin.
#[repr(align(64))]
pub(crate) struct Words([Block; 2 * BLOCKS]);

impl Default for Words {
    fn default() -> Self {
        Self([Block::default(); 2 * BLOCKS])
    }
}

impl Words {
    /// How many there are.
    pub(crate) const COUNT: usize = 2 * AT_ONCE;

    /// The first `count`, which were filled.
    #[inline(always)]
    pub(crate) fn first(&self, count: usize) -> &[Word] {
        &Block::slice_as_flattened(&self.0).as_chunks().0[..count]
    }

    /// The blocks of the first 128, to be encrypted.
    pub(super) fn at_once(&mut self) -> &mut [Block] {
        &mut self.0[..BLOCKS]
    }
}

/// Puts (shard, number of the block) into each block, to be encrypted: no two uses of a key have the same.
#[inline(always)]
pub(super) fn number(blocks: &mut [Block], shard: u64, first: u64) {
    for (number, block) in (first..).zip(blocks) {
        *block = (u128::from(shard) << 64 | u128::from(number)).to_le_bytes().into();
    }
}

/// The bits of one use.
///
/// It cannot be copied, so that noise is not drawn twice by accident; asking the source for the same
/// name again does give the same bits.
pub struct PrivateRandom {
    /// Under the key of a step.
    cipher: Aes256Enc,
    shard: u64,
    /// How many blocks were made.
    made: u64,
    /// Blocks for draws of single words, and how many of their words were used.
    ready: [Block; BLOCKS],
    used: usize,
}

impl PrivateRandom {
    pub(super) fn new(cipher: Aes256Enc, shard: u64) -> Self {
        Self { cipher, shard, made: 0, ready: [Block::default(); BLOCKS], used: AT_ONCE }
    }

    /// Goes on with the bits of another shard of the same step, from its first: as
    /// [`StepRandom::shard`](super::StepRandom::shard), at less cost.
    #[inline]
    pub fn turn_to(&mut self, shard: u64) {
        (self.shard, self.made, self.used) = (shard, 0, AT_ONCE);
    }

    /// 64 fresh bits.
    #[inline]
    pub fn word(&mut self) -> u64 {
        if self.used == AT_ONCE {
            self.refill();
        }
        let bytes = &mut self.ready[self.used / 2].as_chunks_mut::<8>().0[self.used % 2];
        self.used += 1;
        u64::from_le_bytes(std::mem::take(bytes))
    }

    #[inline(never)]
    fn refill(&mut self) {
        number(&mut self.ready, self.shard, self.made);
        self.cipher.encrypt_blocks(&mut self.ready);
        self.made += BLOCKS as u64;
        self.used = 0;
    }

    /// Fresh bits in bulk, in the order of the stream: `count` words, 256 at the most; words kept ready for draws
    /// of one stay. What is left of the last 128 words is passed over.
    pub(crate) fn fill<'a>(&mut self, words: &'a mut Words, count: usize) -> &'a [Word] {
        let blocks = count.div_ceil(AT_ONCE) * BLOCKS;
        for blocks in words.0[..blocks].chunks_mut(BLOCKS) {
            number(blocks, self.shard, self.made);
            self.cipher.encrypt_blocks(blocks);
            self.made += BLOCKS as u64;
        }
        words.first(count)
    }
}

/// The words of [`PrivateRandom::word`] for whatever takes the generators of `rand`: as they come, 32 bits as the lower
/// half of a word, bytes as words with the lowest first, of which the last may be cut short.
///
/// # Privacy
/// It never fails and is never reseeded. What draws by it must be exact itself where noise hides data: samplers of
/// `rand_distr` round, and are for what needs no privacy.
impl TryRng for PrivateRandom {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.word() as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.word())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.word().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

/// AES-256 in counter mode under a key that is used for nothing else.
impl TryCryptoRng for PrivateRandom {}

impl std::fmt::Debug for PrivateRandom {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PrivateRandom(secret)")
    }
}
