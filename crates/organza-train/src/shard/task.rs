//! What a worker needs to count a shard in one round: settings, what was released before, and where choices come from.

use super::ShardError;
use organza_ledger::KeyFingerprint;
use organza_mechanism::random::{Origin, StreamKey};
use organza_mechanism::{Exchange, RandomSource, ReleasedRound, Round, TaskName, of_shard};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// How a task begins.
const BEGIN: &[u8] = b"organza task 1\n";

/// A round of a run that is made of shards, as every worker gets it.
///
/// # Privacy
/// A task goes to machines that see the data, so it holds what these may know: settings, what was released before, and the key of the
/// choices that are made unit by unit. That key makes no noise, and the key of the noise does not follow from it. Bounds hold for
/// every choice, so nobody's protection rests on its being secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub(super) head: Head,
    pub(super) released: Vec<ReleasedRound>,
}

/// All of a task but what was released.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Head {
    /// The version of the library: others may count in other ways.
    pub(super) organza: String,
    /// The application, in a word.
    pub(super) application: String,
    pub(super) settings: Value,
    /// The public name of the key of the run.
    pub(super) run: [u8; 16],
    /// The key of choices.
    choices: [u8; 32],
    seed: Option<u64>,
    /// The noise of each phase, so that no machine has to find it again.
    pub(super) noises: Vec<(String, f64)>,
    /// What is counted now.
    pub(super) purpose: String,
    pub(super) look: u32,
    /// How many rounds there are, where that is known.
    pub(super) rounds: Option<u64>,
    /// The rounds that were released, with the length of what they released.
    released: Vec<(String, u32, u64)>,
    /// A digest of all that they released.
    history: [u8; 32],
}

impl Head {
    /// Of a run with this source, before anything is released.
    pub(super) fn new(
        application: &str,
        settings: Value,
        source: &RandomSource,
        noises: Vec<(String, f64)>,
        rounds: Option<u64>,
    ) -> Self {
        let seed = match source.origin() {
            Origin::Seed(seed) => Some(seed),
            Origin::OperatingSystem => None,
        };
        Self {
            organza: env!("CARGO_PKG_VERSION").to_owned(),
            application: application.to_owned(),
            settings,
            run: run_name(source.fingerprint()),
            choices: *source.choices().key().expose(),
            seed,
            noises,
            purpose: String::new(),
            look: 0,
            rounds,
            released: Vec::new(),
            history: [0; 32],
        }
    }
}

/// The public name of the key of a run.
pub(super) fn run_name(key: KeyFingerprint) -> [u8; 16] {
    let digest = Sha256::digest(key.to_string());
    std::array::from_fn(|place| digest[place])
}

impl Task {
    /// The task of a round.
    pub(super) fn of(head: Head, round: Round, released: Vec<ReleasedRound>) -> Self {
        let mut hash = Sha256::new();
        released.iter().for_each(|(_, bytes)| hash.update(Sha256::digest(bytes)));
        let (history, Round { purpose, look }) = (hash.finalize().into(), round);
        Self { head: Head { purpose, look, history, ..head }, released: Vec::new() }.with(released)
    }

    fn with(self, released: Vec<ReleasedRound>) -> Self {
        let length = |(round, bytes): &ReleasedRound| {
            (round.purpose.clone(), round.look, bytes.len() as u64)
        };
        let head = Head { released: released.iter().map(length).collect(), ..self.head };
        Self { head, released }
    }

    /// The same task for the worker of a shard, without what other shards alone have: between the looks of a release of names, noisy sums
    /// of names that were not released. It is known by the same name.
    pub fn for_shard(&self, shard: u32) -> Self {
        let own = |(round, bytes): &ReleasedRound| (round.clone(), of_shard(bytes, shard));
        self.clone().with(self.released.iter().map(own).collect())
    }

    /// The application, in a word: `train`, `typeahead`.
    pub fn application(&self) -> &str {
        &self.head.application
    }

    /// The settings of the run.
    ///
    /// # Errors
    /// If they are of another application.
    pub fn settings<S: DeserializeOwned>(&self) -> Result<S, ShardError> {
        serde_json::from_value(self.head.settings.clone())
            .map_err(|error| ShardError::Settings(error.to_string()))
    }

    /// What is counted.
    pub fn round(&self) -> Round {
        Round { purpose: self.head.purpose.clone(), look: self.head.look }
    }

    /// Which round of the run it is, from 1.
    pub fn number(&self) -> u64 {
        self.released.len() as u64 + 1
    }

    /// How many rounds there are, where that is known.
    pub fn rounds(&self) -> Option<u64> {
        self.head.rounds
    }

    /// By which partials of it are known.
    pub fn name(&self) -> TaskName {
        // Lengths differ where a task was cut to what a shard has.
        let head = Head { released: Vec::new(), ..self.head.clone() };
        let head = serde_json::to_vec(&head).unwrap_or_default();
        TaskName { run: self.head.run, task: Sha256::digest(head).into() }
    }

    /// Where a worker of a shard draws from, which has no key of noise.
    pub(super) fn source(&self, shard: (u32, u32)) -> (RandomSource, Exchange) {
        let exchange = Exchange::counting(self.name(), shard, self.released.clone());
        let origin = self.head.seed.map_or(Origin::OperatingSystem, Origin::Seed);
        let choices = StreamKey::from_bytes(self.head.choices);
        (RandomSource::of_worker(choices, origin, exchange.clone()), exchange)
    }

    /// Its bytes, for workers.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Plain values: they are always written.
        let head = serde_json::to_vec(&self.head).unwrap_or_default();
        let mut bytes = BEGIN.to_vec();
        bytes.extend((head.len() as u64).to_le_bytes());
        bytes.extend(head);
        self.released.iter().for_each(|(_, released)| bytes.extend(released));
        let check = Sha256::digest(&bytes[BEGIN.len()..]);
        bytes.extend(check);
        bytes
    }

    /// A task from its bytes.
    ///
    /// # Errors
    /// If they are no task, not all of one, or one of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ShardError> {
        let task = Self::read(bytes).ok_or(ShardError::NoTask)?;
        match task.head.organza == env!("CARGO_PKG_VERSION") {
            true => Ok(task),
            false => Err(ShardError::Version(task.head.organza)),
        }
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let body = bytes.strip_prefix(BEGIN)?;
        let (body, check) = body.split_at_checked(body.len().checked_sub(32)?)?;
        if Sha256::digest(body)[..] != *check {
            return None;
        }
        let (length, body) = body.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (head, mut rest) = body.split_at_checked(length)?;
        let head: Head = serde_json::from_slice(head).ok()?;
        let mut released = Vec::new();
        for (purpose, look, length) in &head.released {
            let (bytes, others) = rest.split_at_checked(usize::try_from(*length).ok()?)?;
            released.push((Round { purpose: purpose.clone(), look: *look }, bytes.to_vec()));
            rest = others;
        }
        rest.is_empty().then_some(Self { head, released })
    }
}
