//! Items whose units lie in shards: one look at a time, in each of which workers count and one machine draws.

use super::counts::{above, one_by_one};
use super::plan::{ItemsPlan, Law};
use super::rounds::{Numbered, ROUNDS, Rounds};
use crate::due::NotPaid;
use crate::exchange::bytes::{Reader, Writer};
use crate::exchange::{Exchange, Named, Round, Sums, Turn, digest, read_shards, write_shards};
use crate::release::Release;
use organza_ledger::Charged;

/// How what was released begins, and how what looks have shown so far.
const RELEASED: u8 = 2;
const LOOKS: u8 = 3;

/// The name of an item.
type Name = Box<[u8]>;
/// Released items, by name.
type Items = Vec<(Box<str>, i64)>;

/// What there is of the units of a shard, by name, in the order of names.
pub(super) enum Counted {
    /// How many have each item.
    Once(Vec<(Name, u64)>),
    /// The items, and the units by their numbers.
    Units(Vec<Name>, Numbered),
}

/// What the looks so far have shown: every item that some unit has, with its noisy sum. **Private**: that an item is there is not released
/// before it reaches the threshold.
///
/// # Privacy
/// A worker gets the noisy sums of those items that its own shard has ([`of_shard`]). Towards the units of other shards these are the sums
/// of a fixed list of items with noise on each: Gaussian mechanisms, of the sensitivity that is charged, whether or not the items reach the
/// threshold, which hides no more than which items there are. Towards its own units nothing has to be hidden from it.
struct Looks {
    items: Vec<(Name, Look)>,
}

struct Look {
    sum: i64,
    shards: Vec<u32>,
}

impl Looks {
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.bytes(&[LOOKS]);
        writer.number(self.items.len() as u64);
        for (name, Look { sum, shards }) in &self.items {
            writer.name(name);
            writer.signed(*sum);
            write_shards(shards, &mut writer);
        }
        writer.into_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let [LOOKS] = reader.array()? else { return None };
        let mut items = Vec::new();
        for _ in 0..reader.count()? {
            let name = reader.name()?.into();
            let sum = reader.signed()?;
            items.push((name, Look { sum, shards: read_shards(&mut reader)? }));
        }
        reader.is_at_end().then_some(Self { items })
    }
}

/// Of what was released in a round, and of what looks have shown, what a worker of a shard has to know.
pub fn of_shard(released: &[u8], shard: u32) -> Vec<u8> {
    match Looks::from_bytes(released) {
        Some(Looks { items }) => {
            let own = |(_, look): &(Name, Look)| look.shards.contains(&shard);
            let alone = |(name, Look { sum, .. })| (name, Look { sum, shards: vec![shard] });
            Looks { items: items.into_iter().filter(own).map(alone).collect() }.to_bytes()
        }
        None => released.to_vec(),
    }
}

fn released_bytes(items: &[(Name, i64)]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.bytes(&[RELEASED]);
    writer.number(items.len() as u64);
    for (name, noisy) in items {
        writer.name(name);
        writer.signed(*noisy);
    }
    writer.into_bytes()
}

fn released(bytes: &[u8]) -> Option<Items> {
    let mut reader = Reader::new(bytes);
    let [RELEASED] = reader.array()? else { return None };
    let mut items = Vec::new();
    for _ in 0..reader.count()? {
        let name = str::from_utf8(reader.name()?).ok()?.into();
        items.push((name, reader.signed()?));
    }
    reader.is_at_end().then_some(items)
}

/// What is released of items, the largest first: as it was before, or of the sums of all shards. A worker hands its sums on.
pub(super) fn in_shards(
    plan: &ItemsPlan,
    release: &Release,
    exchange: &Exchange,
    counted: Counted,
    paid: Charged,
) -> Result<Items, NotPaid> {
    let purpose = || release.purpose().to_owned();
    let other = || NotPaid::OtherPlan { purpose: purpose() };
    let last = exchange.last_of(release.purpose());
    if let Some(items) = last.as_ref().and_then(|(_, bytes)| released(bytes)) {
        return Ok(items);
    }
    let looks = match &last {
        None => Looks { items: Vec::new() },
        Some((_, bytes)) => Looks::from_bytes(bytes).ok_or_else(other)?,
    };
    let round = |look: u32| Round { purpose: purpose(), look };
    let look = last.map_or(0, |(look, _)| look + 1);
    let digest = digest(&format!("items {:?}", plan.settings()));
    match exchange.turn(&round(look), digest)? {
        Turn::Count => {
            let shards = match (look, &plan.law) {
                (0, Law::Rounds(_)) => exchange.shard().into_iter().collect(),
                _ => Vec::new(),
            };
            let named = |(name, sum)| (name, Named { sum, shards: shards.clone() });
            let sums = match (counted, &plan.law) {
                (Counted::Units(names, units), Law::Rounds(rounds)) => {
                    let values = values(rounds, look, &looks, &names)
                        .ok_or_else(|| NotPaid::OtherUnits { purpose: purpose() })?;
                    let weights = units.weights(&values);
                    names.into_iter().zip(weights).map(named).collect()
                }
                (Counted::Once(counts), _) => counts.into_iter().map(named).collect(),
                _ => return Err(other()),
            };
            exchange.hand_on(&round(look), digest, Sums::Named(sums));
            Err(release.elsewhere())
        }
        Turn::Merge(partial) => {
            let noted_as = partial.noted_as();
            let sums = partial.named().ok_or_else(other)?;
            if look > 0 && !sums.iter().map(|(name, _)| name).eq(looks.items.iter().map(|it| &it.0))
            {
                return Err(NotPaid::OtherUnits { purpose: purpose() });
            }
            let noted = exchange.note(&noted_as, release.purpose())?;
            let random = release.random_of_merge(paid, &plan.event(), noted)?;
            let noisy: Vec<(Name, i64)> = match &plan.law {
                Law::Counts(noise) => {
                    let counts = sums.into_iter().map(|(name, named)| (name, named.sum));
                    counts.map(one_by_one(noise, &random)).collect()
                }
                Law::Rounds(rounds) => {
                    let looks = match look {
                        0 => of_first_look(sums.as_slice()),
                        _ => looks,
                    };
                    let weights: Vec<u64> = sums.into_iter().map(|(_, named)| named.sum).collect();
                    let mut all: Vec<i64> = looks.items.iter().map(|(_, look)| look.sum).collect();
                    let mut values = vec![0; all.len()];
                    let places = (&mut all[..], &mut values[..]);
                    rounds.add_round(look.into(), places, &weights, &random);
                    let items = looks.items.into_iter().zip(all);
                    if u64::from(look) + 1 < ROUNDS {
                        let items =
                            items.map(|((name, look), sum)| (name, Look { sum, ..look })).collect();
                        exchange.keep(&round(look), Looks { items }.to_bytes());
                        // It waits for the next look.
                        exchange.turn(&round(look + 1), digest)?;
                        return Err(release.elsewhere());
                    }
                    items.map(|((name, _), sum)| (name, sum)).collect()
                }
            };
            let bytes = released_bytes(&above(plan, noisy));
            let items = released(&bytes).ok_or_else(other)?;
            exchange.keep(&round(look), bytes);
            Ok(items)
        }
        Turn::Wait | Turn::Released(_) => Err(release.elsewhere()),
    }
}

fn of_first_look(sums: &[(Name, Named)]) -> Looks {
    let look = |(name, named): &(Name, Named)| {
        (name.clone(), Look { sum: 0, shards: named.shards.clone() })
    };
    Looks { items: sums.iter().map(look).collect() }
}

/// What the items of a shard are worth to its units; none if one of them was not there in the looks before.
fn values(rounds: &Rounds, look: u32, looks: &Looks, names: &[Name]) -> Option<Vec<u32>> {
    let value = |name: &Name| {
        let sum = match look {
            0 => 0,
            _ => {
                let place = looks.items.binary_search_by(|(it, _)| it.cmp(name)).ok()?;
                looks.items[place].1.sum
            }
        };
        Some(rounds.value(look.into(), sum))
    };
    names.iter().map(value).collect()
}
