//! The sums of some shards: a file that one machine writes and another one adds to.

use super::bytes::{Reader, Writer};
use super::sums::{Named, Sums};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt;
use thiserror::Error;

/// How a partial begins.
const BEGIN: &[u8] = b"organza partial 1\n";
/// The most shards of a run.
pub const MOST_SHARDS: u32 = 1 << 20;

/// One round of a run: a release, or one look of those that look at the units several times.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Round {
    /// What it is for, as it is charged.
    pub purpose: String,
    /// Which look at the units, from 0.
    pub look: u32,
}

impl fmt::Display for Round {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.look {
            0 => formatter.write_str(&self.purpose),
            look => write!(formatter, "{}, look {}", self.purpose, u64::from(look) + 1),
        }
    }
}

/// Which task sums are counted for: whoever has another one may not add to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskName {
    /// The run: the public name of its key.
    pub run: [u8; 16],
    /// A digest of the settings and of all that was released before.
    pub task: [u8; 32],
}

/// The sums of some shards in one round, before any noise. **Private**: *this is the data*, added up.
///
/// # Privacy
/// There is nothing to read: a partial is joined with others of the same round, and a merge draws noise on all of them together,
/// against the proof of a charge. But its bytes are the bare sums. Whoever has the bytes of a partial has what noise is there to
/// hide: they belong on machines that may see the data, under keys or in files that nobody else opens, and nowhere once
/// they are merged.
///
/// ```compile_fail,E0616
/// # fn read(partial: organza_mechanism::Partial) {
/// let _ = partial.sums;
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Partial {
    pub(super) name: TaskName,
    pub(super) round: Round,
    /// Of what the sums are, and how units were bounded.
    pub(super) plan: [u8; 32],
    /// Of so many shards.
    pub(super) of: u32,
    pub(super) shards: BTreeSet<u32>,
    pub(super) sums: Sums,
}

/// By which sums are known again, on which noise is drawn. **Private**: it tells whether a guess at the sums is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumsDigest {
    /// The task that they were counted for.
    pub name: TaskName,
    /// See [`Partial::digest`].
    pub digest: [u8; 32],
}

/// Why partials are not merged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PartialError {
    /// The bytes are no partial.
    #[error("this is not a partial, or it is damaged or cut short: count its shard again")]
    Damaged,
    /// It is from somewhere else.
    #[error(
        "a partial is of another {0} than the others: count its shard again with the task of this round"
    )]
    Foreign(&'static str),
    /// A shard that is there already.
    #[error("shard {0} is there twice: its units would count twice; leave one of the two out")]
    Double(u32),
    /// There are some missing.
    #[error("shard {0} of {1} is missing: nothing is released of a part of the data")]
    Missing(u32, u32),
    /// No partial at all.
    #[error("there is no partial: count the shards first")]
    None,
}

impl Partial {
    pub(super) fn new(
        name: TaskName,
        round: Round,
        plan: [u8; 32],
        (shard, of): (u32, u32),
        sums: Sums,
    ) -> Self {
        Self { name, round, plan, of, shards: [shard].into(), sums }
    }

    /// The sums of all shards of these partials, in any order.
    ///
    /// # Errors
    /// If there is none, one is of another run, round, plan or number of shards, or a shard is there twice.
    pub fn join(partials: impl IntoIterator<Item = Self>) -> Result<Self, PartialError> {
        let mut partials = partials.into_iter();
        let mut all = partials.next().ok_or(PartialError::None)?;
        for partial in partials {
            all.take(partial)?;
        }
        Ok(all)
    }

    fn take(&mut self, other: Self) -> Result<(), PartialError> {
        let same = [
            ("run", self.name.run == other.name.run),
            ("round", self.round == other.round),
            ("task", self.name.task == other.name.task),
            ("plan", self.plan == other.plan),
            ("number of shards", self.of == other.of),
        ];
        if let Some((what, _)) = same.into_iter().find(|(_, same)| !same) {
            return Err(PartialError::Foreign(what));
        }
        if let Some(shard) = self.shards.intersection(&other.shards).next() {
            return Err(PartialError::Double(*shard));
        }
        let sums = std::mem::replace(&mut self.sums, Sums::Counts(Vec::new()));
        self.sums = sums.joined(other.sums).ok_or(PartialError::Foreign("kind"))?;
        self.shards.extend(other.shards);
        Ok(())
    }

    /// Whether it has all shards of this task.
    ///
    /// # Errors
    /// If it is of another one, or a shard is missing.
    pub fn check(&self, name: TaskName) -> Result<(), PartialError> {
        if self.name.run != name.run {
            return Err(PartialError::Foreign("run"));
        }
        if self.name.task != name.task {
            return Err(PartialError::Foreign("round"));
        }
        // One of no shards at all misses none of them, but has no sums of anybody.
        match (0..self.of.max(1)).find(|shard| !self.shards.contains(shard)) {
            Some(missing) => Err(PartialError::Missing(missing, self.of)),
            None => Ok(()),
        }
    }

    /// The task that it was counted for.
    pub fn name(&self) -> TaskName {
        self.name
    }

    /// The round that it is of.
    pub fn round(&self) -> &Round {
        &self.round
    }

    /// Which shards it covers.
    pub fn shards(&self) -> impl ExactSizeIterator<Item = u32> {
        self.shards.iter().copied()
    }

    /// Of how many.
    pub fn of(&self) -> u32 {
        self.of
    }

    /// By which the same sums are known again, however they were joined. **Private**: it tells whether a guess at the sums is right.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.body()).into()
    }

    /// By which these sums are noted.
    pub fn noted_as(&self) -> SumsDigest {
        SumsDigest { name: self.name, digest: self.digest() }
    }

    /// The sums by name; none if they are of another kind.
    pub(crate) fn named(self) -> Option<Vec<(Box<[u8]>, Named)>> {
        match self.sums {
            Sums::Named(names) => Some(names),
            _ => None,
        }
    }

    fn body(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.bytes(&self.name.run);
        writer.bytes(&self.name.task);
        writer.name(self.round.purpose.as_bytes());
        writer.number(self.round.look.into());
        writer.bytes(&self.plan);
        writer.number(self.of.into());
        writer.number(self.shards.len() as u64);
        self.shards.iter().for_each(|shard| writer.number((*shard).into()));
        self.sums.write(&mut writer);
        writer.into_bytes()
    }

    /// Its bytes. **Private**: the bare sums.
    pub fn to_bytes(&self) -> Vec<u8> {
        let body = self.body();
        let check = Sha256::digest(&body);
        [BEGIN, &body, &check].concat()
    }

    /// A partial from its bytes.
    ///
    /// # Errors
    /// If they are no partial, or not all of one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PartialError> {
        Self::read(bytes).ok_or(PartialError::Damaged)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let body = bytes.strip_prefix(BEGIN)?;
        let (body, check) = body.split_at_checked(body.len().checked_sub(32)?)?;
        if Sha256::digest(body)[..] != *check {
            return None;
        }
        let mut reader = Reader::new(body);
        let name = TaskName { run: reader.array()?, task: reader.array()? };
        let purpose = String::from_utf8(reader.name()?.to_vec()).ok()?;
        let look = u32::try_from(reader.number()?).ok()?;
        let plan = reader.array()?;
        let of =
            u32::try_from(reader.number()?).ok().filter(|of| (1..=MOST_SHARDS).contains(of))?;
        let mut shards = BTreeSet::new();
        for _ in 0..reader.count()? {
            let shard = u32::try_from(reader.number()?).ok().filter(|shard| *shard < of)?;
            shards.insert(shard).then_some(())?;
        }
        shards.first()?;
        let sums = Sums::read(&mut reader)?;
        let round = Round { purpose, look };
        reader.is_at_end().then_some(Self { name, round, plan, of, shards, sums })
    }
}

/// Without anything of the sums.
impl fmt::Debug for Partial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Partial({}, {} of {} shards)", self.round, self.shards.len(), self.of)
    }
}
