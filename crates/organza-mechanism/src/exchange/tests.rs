//! Releases of shards: the bits of one machine, and nothing for what is not all of the shards.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::random::RandomSource;
use crate::{
    Bound, CountNoise, GramPlan, GramSettings, HistogramPlan, HistogramSettings, ItemRule,
    ItemSettings, ItemsPlan, NotPaid, UnitCounts, of_shard,
};
use organza_ledger::Neighbouring;
use organza_ledger::testing::paid;

const NAME: TaskName = TaskName { run: [1; 16], task: [2; 32] };

type Outcome<R> = Result<R, NotPaid>;

/// A run of one release, on a source and on the units of a shard.
trait Run<R>: Fn(&RandomSource, &[u32]) -> Outcome<R> {}
impl<R, F: Fn(&RandomSource, &[u32]) -> Outcome<R>> Run<R> for F {}

fn source() -> RandomSource {
    RandomSource::from_seed(7)
}

/// What a worker hands on.
fn counted<R>(
    run: &impl Run<R>,
    released: &[ReleasedRound],
    shard: (u32, u32),
    units: &[u32],
) -> Outcome<Partial> {
    let own = |(round, bytes): &ReleasedRound| (round.clone(), of_shard(bytes, shard.0));
    let exchange = Exchange::counting(NAME, shard, released.iter().map(own).collect());
    let choices = source().choices();
    let worker = RandomSource::of_worker(choices.key().clone(), choices.origin(), exchange.clone());
    match run(&worker, units) {
        Ok(_) => panic!("a worker released something"),
        Err(error) => exchange.counted().ok_or(error),
    }
}

fn merging(released: Vec<ReleasedRound>, sums: Option<Partial>) -> (RandomSource, Exchange) {
    let exchange = Exchange::merging(released, sums, Box::new(|_| Ok(true)));
    (source().with_exchange(exchange.clone()), exchange)
}

/// All rounds of a release, of so many shards, joined as a tree in an order of its own.
fn of_shards<R>(run: &impl Run<R>, units: &[u32], of: u32) -> R {
    let mut released = Vec::new();
    for round in 0..40 {
        let mut parts: Vec<Partial> = (0..of)
            .map(|shard| {
                let own = |unit: &&u32| **unit % of == shard;
                let own: Vec<u32> = units.iter().filter(own).copied().collect();
                let part = counted(run, &released, (shard, of), &own).unwrap();
                Partial::from_bytes(&part.to_bytes()).unwrap()
            })
            .collect();
        parts.rotate_left(round % of as usize);
        let later = parts.split_off(parts.len() / 2);
        let halves = [parts, later].into_iter().filter(|half| !half.is_empty());
        let sums = Partial::join(halves.map(|half| Partial::join(half).unwrap())).unwrap();
        sums.check(NAME).unwrap();
        let (source, exchange) = merging(released, Some(sums));
        let outcome = run(&source, &[]);
        released = exchange.released();
        match outcome {
            Ok(_) => {
                // Whoever has what was released has the same without any sums.
                return run(&merging(released, None).0, &[]).unwrap();
            }
            Err(error) => assert!(exchange.stopped().is_some(), "{error}"),
        }
    }
    panic!("it takes too many rounds")
}

fn cells(cells: u64, bound: Bound, noise: CountNoise, bar: Option<f64>) -> HistogramPlan {
    let neighbouring = Neighbouring::AddRemove;
    HistogramPlan::new(HistogramSettings { dense: 0, cells, neighbouring, bound, noise, bar })
        .unwrap()
}

fn histogram(
    plan: &HistogramPlan,
    source: &RandomSource,
    units: &[u32],
) -> Outcome<Vec<(u64, f64)>> {
    let release = plan.release("counts", source);
    let mut histogram = plan.histogram();
    for unit in units {
        let mut counts = UnitCounts::new();
        (0..=unit % 5).for_each(|place| counts.add(u64::from(unit * 31 + place * 7) % 40, 1.0));
        histogram.add(&mut counts);
    }
    let noisy = histogram.noise(&release, paid(release.charge()))?;
    Ok(noisy.cells().collect())
}

fn laplace(epsilon: f64) -> CountNoise {
    CountNoise::DiscreteLaplace { epsilon }
}

#[test]
fn histograms_of_shards_have_the_bits_of_one_machine() {
    let units: Vec<u32> = (0..300).collect();
    let gaussian = CountNoise::RoundedGaussian { multiplier: 2.0 };
    for plan in [
        cells(40, Bound::Total(3), laplace(0.5), None),
        cells(40, Bound::Norm(1.5), gaussian, None),
        // A bar of 12 deviations, which no empty cell reaches.
        cells(
            1 << 40,
            Bound::Norm(1.5),
            CountNoise::RoundedGaussian { multiplier: 0.5 },
            Some(9.0),
        ),
    ] {
        let run = |source: &RandomSource, units: &[u32]| histogram(&plan, source, units);
        let whole = run(&source(), &units).unwrap();
        // Of more shards than units some are empty.
        for of in [1, 2, 5, 301] {
            assert_eq!(of_shards(&run, &units, of), whole, "{of}");
        }
        assert_ne!(of_shards(&run, &units[1..], 2), whole);
    }
}

#[test]
fn tables_of_pairs_of_shards_have_the_bits_of_one_machine() {
    let neighbouring = Neighbouring::AddRemove;
    let plan = GramPlan::new(GramSettings { columns: 12, neighbouring, multiplier: 0.5 }).unwrap();
    let run = |source: &RandomSource, units: &[u32]| {
        let release = plan.release("pairs", source);
        let mut sum = plan.sum(&[3, 2, 1]);
        for unit in units {
            sum.add(&[(unit % 5, 8_000), (5 + unit % 7, 4_000 + unit)]);
        }
        let noisy = sum.noise(&release, paid(release.charge()))?;
        Ok((0..12).map(|row| noisy.row(row).to_vec()).collect::<Vec<_>>())
    };
    let units: Vec<u32> = (0..200).collect();
    let whole = run(&source(), &units).unwrap();
    for of in [1, 2, 5] {
        assert_eq!(of_shards(&run, &units, of), whole, "{of}");
    }
    // A worker with another direction has no sums in common with the others.
    let other = |source: &RandomSource, _: &[u32]| {
        let release = plan.release("pairs", source);
        let noisy = plan.sum(&[3, 2, 2]).noise(&release, paid(release.charge()))?;
        Ok(noisy.row(0).to_vec())
    };
    let parts = [counted(&run, &[], (0, 2), &units), counted(&other, &[], (1, 2), &[])];
    let joined = Partial::join(parts.map(Result::unwrap));
    assert_eq!(joined.unwrap_err(), PartialError::Foreign("plan"));
}

/// Words that many units have, that some have, and that one has alone; units of more words than count.
fn items(plan: &ItemsPlan, source: &RandomSource, units: &[u32]) -> Outcome<Vec<(Box<str>, f64)>> {
    let release = plan.release("words", source);
    let mut counts = plan.counts(release.clone());
    let words = |unit: u32| {
        let some = (0..unit % 4).map(move |place| format!("some{}", (unit + place) % 9));
        let all = (0..3).map(|word| format!("all{word}"));
        let mut words: Vec<String> = some.chain(all).collect();
        words.push(format!("own{unit}"));
        words
    };
    let name = |place: u64| units[place as usize].to_le_bytes().to_vec();
    let of_unit = |place: u64| words(units[place as usize]);
    counts.add_units(units.len() as u64, name, of_unit);
    let names: Vec<String> = units.iter().flat_map(|unit| words(*unit)).collect();
    let name = |word: &String| {
        names.iter().find(|name| *name == word).map(String::as_str).unwrap_or_default()
    };
    Ok(counts.noise_by_name(paid(release.charge()), name)?.items().to_vec())
}

fn items_plan(items_per_unit: u64, rule: ItemRule) -> ItemsPlan {
    let neighbouring = Neighbouring::AddRemove;
    ItemsPlan::new(ItemSettings { items_per_unit, neighbouring, rule }).unwrap()
}

#[test]
fn items_of_shards_have_the_bits_of_one_machine() {
    let units: Vec<u32> = (0..240).map(|unit| unit * 17 % 240).collect();
    let delta = 1e-3;
    for (items_per_unit, rule) in [
        (3, ItemRule::Laplace { epsilon: 2.0, delta }),
        (3, ItemRule::AdaptiveGaussian { multiplier: 1.0, delta }),
        (64, ItemRule::AdaptiveGaussian { multiplier: 2.0, delta }),
    ] {
        let plan = items_plan(items_per_unit, rule);
        let run = |source: &RandomSource, units: &[u32]| items(&plan, source, units);
        let whole = run(&source(), &units).unwrap();
        assert!(whole.iter().any(|(word, _)| word.starts_with("all")), "{whole:?}");
        assert!(!whole.iter().any(|(word, _)| word.starts_with("own")), "{whole:?}");
        for of in [1, 2, 5] {
            assert_eq!(of_shards(&run, &units, of), whole, "{rule:?} {of}");
        }
    }
}

/// Between looks a worker sees the words of its own shard and nobody else's; the twin, which is told all of it, sees the others'.
#[test]
fn a_worker_is_told_of_its_own_words_alone() {
    let plan = items_plan(64, ItemRule::AdaptiveGaussian { multiplier: 2.0, delta: 1e-3 });
    let run = |source: &RandomSource, units: &[u32]| items(&plan, source, units);
    let parts = [(0, [10]), (1, [20])]
        .map(|(shard, units)| counted(&run, &[], (shard, 2), &units).unwrap());
    let (source, exchange) = merging(Vec::new(), Some(Partial::join(parts).unwrap()));
    assert!(run(&source, &[]).is_err());
    let (_, all) = exchange.released().pop().unwrap();
    let names =
        |bytes: &[u8], name: &str| bytes.windows(name.len()).any(|part| part == name.as_bytes());
    let own = of_shard(&all, 0);
    assert!(names(&own, "own10") && names(&own, "all0") && !names(&own, "own20"));
    assert!(names(&all, "own20"));
    // Another shard in its place is not what it was in the look before.
    let released = exchange.released();
    let other = counted(&run, &released, (0, 2), &[20]);
    assert!(matches!(other, Err(NotPaid::OtherUnits { .. })), "{other:?}");
    assert!(counted(&run, &released, (0, 2), &[10]).is_ok());
}

#[test]
fn what_is_not_all_of_the_shards_is_refused() {
    let plan = cells(40, Bound::Total(3), laplace(0.5), None);
    let run = |source: &RandomSource, units: &[u32]| histogram(&plan, source, units);
    let part = |shard: u32, of: u32| counted(&run, &[], (shard, of), &[shard]).unwrap();
    let join = |parts: Vec<Partial>| Partial::join(parts)?.check(NAME);
    assert_eq!(join(vec![part(1, 2), part(0, 2)]), Ok(()));
    assert_eq!(join(Vec::new()), Err(PartialError::None));
    assert_eq!(join(vec![part(0, 3), part(2, 3)]), Err(PartialError::Missing(1, 3)));
    assert_eq!(join(vec![part(0, 2), part(0, 2)]), Err(PartialError::Double(0)));
    let number = PartialError::Foreign("number of shards");
    assert_eq!(join(vec![part(0, 2), part(1, 3)]), Err(number));
    let mut other = part(1, 2);
    other.name.run = [9; 16];
    assert_eq!(join(vec![part(0, 2), other]), Err(PartialError::Foreign("run")));
    let mut other = part(1, 2);
    other.round.purpose.push('s');
    assert_eq!(join(vec![part(0, 2), other]), Err(PartialError::Foreign("round")));
    // One that somebody made up, of no shards at all.
    let mut none = part(0, 1);
    (none.of, none.shards) = (0, [].into());
    assert_eq!(none.check(NAME), Err(PartialError::Missing(0, 0)));
    assert_eq!(Partial::from_bytes(&none.to_bytes()), Err(PartialError::Damaged));
    none.of = 1;
    assert_eq!(Partial::from_bytes(&none.to_bytes()), Err(PartialError::Damaged));
    let later = TaskName { task: [3; 32], ..NAME };
    assert_eq!(part(0, 1).check(later), Err(PartialError::Foreign("round")));

    let bytes = part(1, 2).to_bytes();
    assert_eq!(Partial::from_bytes(&bytes), Ok(part(1, 2)));
    for length in 0..bytes.len() {
        assert!(Partial::from_bytes(&bytes[..length]).is_err());
        let mut changed = bytes.clone();
        changed[length] ^= 1;
        assert!(Partial::from_bytes(&changed).is_err());
    }
    assert_eq!(format!("{:?}", part(1, 2)), "Partial(counts, 1 of 2 shards)");
}

/// The noise of a merge is drawn on what was noted, once for each source, and never by a worker.
#[test]
fn noise_is_drawn_on_the_sums_that_were_noted() {
    let plan = cells(40, Bound::Total(3), laplace(0.5), None);
    let run = |source: &RandomSource, units: &[u32]| histogram(&plan, source, units);
    let sums = |units: &[u32]| counted(&run, &[], (0, 1), units).unwrap();
    let noted = |answer: Result<bool, String>| {
        let note = move |_: &SumsDigest| answer.clone();
        let exchange = Exchange::merging(Vec::new(), Some(sums(&[4])), Box::new(note));
        (run(&source().with_exchange(exchange.clone()), &[]), exchange)
    };
    let (released, exchange) = noted(Ok(true));
    assert!(released.is_ok() && exchange.released().len() == 1);
    for answer in [Ok(false), Err("the disk is full".to_owned())] {
        let (refused, exchange) = noted(answer);
        assert!(matches!(refused, Err(NotPaid::OtherSums { .. } | NotPaid::NotNoted { .. })));
        assert!(exchange.released().is_empty());
    }
    let wide = cells(41, Bound::Total(3), laplace(0.5), None);
    let other = merging(Vec::new(), Some(sums(&[4]))).0;
    let other = histogram(&wide, &other, &[]);
    assert!(matches!(other, Err(NotPaid::OtherPlan { .. })), "{other:?}");

    // What is not summed here draws nothing: neither on no data, nor with the key of choices.
    let worker = Exchange::counting(NAME, (0, 1), Vec::new());
    for exchange in [merging(Vec::new(), None).1, worker] {
        let release = plan.release("other", &source().with_exchange(exchange));
        let drawn = release.random(paid(release.charge()), &plan.event());
        assert!(matches!(drawn, Err(NotPaid::Elsewhere { .. })));
    }
    let choices = source().choices();
    assert_ne!(choices.key().expose(), source().key().expose());
    assert_eq!(choices.choices().key().expose(), choices.key().expose());
}

/// Sums of other units than in the look before draw no noise, so they are not noted either, and the right ones are merged afterwards. The
/// twin, which notes whatever it gets first, would refuse these for good.
#[test]
fn what_draws_no_noise_is_not_noted() {
    let plan = items_plan(64, ItemRule::AdaptiveGaussian { multiplier: 2.0, delta: 1e-3 });
    let run = |source: &RandomSource, units: &[u32]| items(&plan, source, units);
    let (source_now, exchange) =
        merging(Vec::new(), Some(counted(&run, &[], (0, 1), &[10, 20]).unwrap()));
    assert!(run(&source_now, &[]).is_err());
    let released = exchange.released();
    let noted = Arc::new(Mutex::new(None));
    let merged = |units: &[u32]| {
        let sums = counted(&run, &released, (0, 1), units).unwrap();
        let noted = noted.clone();
        let note =
            move |sums: &SumsDigest| Ok(*noted.lock().unwrap().get_or_insert(*sums) == *sums);
        let exchange = Exchange::merging(released.clone(), Some(sums), Box::new(note));
        (
            run(&source().with_exchange(exchange.clone()), &[]).unwrap_err(),
            exchange.released().len(),
        )
    };
    let (fewer, rounds) = merged(&[10]);
    assert!(matches!(fewer, NotPaid::OtherUnits { .. }), "{fewer}");
    assert_eq!((rounds, *noted.lock().unwrap()), (1, None));
    let (waits, rounds) = merged(&[10, 20]);
    assert!(matches!(waits, NotPaid::Elsewhere { .. }), "{waits}");
    assert_eq!(rounds, 2);
    let first = noted.lock().unwrap().replace(SumsDigest { name: NAME, digest: [0; 32] });
    assert!(first.is_some());
    assert!(matches!(merged(&[10, 20]), (NotPaid::OtherSums { .. }, 1)));
}

/// By their digest the same sums are known again.
#[test]
fn sums_are_noted_whatever_their_order() {
    let plan = cells(40, Bound::Total(3), laplace(0.5), None);
    let run = |source: &RandomSource, units: &[u32]| histogram(&plan, source, units);
    let part = |shard: u32| counted(&run, &[], (shard, 3), &[shard, shard + 9]).unwrap();
    let joined = |order: [u32; 3]| Partial::join(order.map(part)).unwrap().digest();
    assert_eq!(joined([0, 1, 2]), joined([2, 0, 1]));
    assert_ne!(joined([0, 1, 2]), part(0).digest());
}

/// The broken twin of a partition: a unit of which a part is in either shard is bounded twice, and moves the sums by twice its bound.
/// That is why the shard of a unit is a hash of its name, and no worker takes rows of another shard.
#[test]
fn a_unit_in_two_shards_exceeds_its_bound() {
    let plan = cells(40, Bound::Total(1), laplace(30.0), None);
    let run = |source: &RandomSource, units: &[u32]| histogram(&plan, source, units);
    let total = |of: u32, shards: &[&[u32]]| {
        let parts = (0..of).zip(shards);
        let parts = parts.map(|(shard, units)| counted(&run, &[], (shard, of), units).unwrap());
        let (source, _) = merging(Vec::new(), Some(Partial::join(parts).unwrap()));
        run(&source, &[]).unwrap().iter().map(|(_, count)| count.max(0.0)).sum::<f64>()
    };
    let bound = 1.0;
    assert_eq!(total(2, &[&[4], &[]]), bound);
    assert_eq!(total(2, &[&[4], &[4]]), 2.0 * bound, "it moves the sums by twice the bound");
}
