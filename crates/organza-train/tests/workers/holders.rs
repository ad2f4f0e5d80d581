//! Who holds rows does not show.

use crate::task::{METHODS, Method, Pairs, ROWS, UNITS, expected};
use organza_ledger::Replay;
use organza_train::Simple;
use organza_train::remote::{
    HolderJob, HolderState, MessageError, RemoteError, Reply, RowHolder, StepLead, StepWorker,
    buckets_of, part_for_holders,
};
use std::path::Path;

type Lead = StepLead<Simple<Pairs>>;

fn lead(method: Method, path: &Path) -> Lead {
    Lead::open(method.settings(), Pairs::default(), path).unwrap()
}

fn holder(lead: &Lead, number: usize, of: usize) -> RowHolder {
    let ranges = lead.cut().of_place(number, of);
    let job = lead.holder_job(ranges.clone()).to_bytes();
    let state = lead.holder_state(ranges).unwrap().to_bytes();
    let (job, state) = (HolderJob::from_bytes(&job).unwrap(), HolderState::from_bytes(&state));
    RowHolder::new(job, &state.unwrap()).unwrap()
}

fn holders(lead: &Lead, of: usize) -> Vec<RowHolder> {
    (0..of).map(|number| holder(lead, number, of)).collect()
}

/// What a worker of all units has to say of its parts, with the rows of all holders.
fn part(
    lead: &mut Lead,
    holders: &mut [RowHolder],
    worker: &mut StepWorker<Pairs>,
    order: &[u8],
) -> Vec<u8> {
    let mut reply = worker.order(order).unwrap();
    loop {
        match reply {
            Reply::Part(part) => return part,
            Reply::Asks(asks) => {
                let asked = lead.rows(&asks, holders.len()).unwrap();
                let rows: Vec<Vec<u8>> = asked
                    .iter()
                    .map(|(number, message)| holders[*number].answer(message).unwrap())
                    .collect();
                reply = worker.rows_of(&rows).unwrap();
            }
        }
    }
}

/// Makes steps until `end`, by two workers.
fn step_until(method: Method, lead: &mut Lead, holders: &mut [RowHolder], end: u64) {
    let of = holders.len();
    let mut workers = [0, 1].map(|number| {
        let (pairs, names) = method.shard(1.0);
        StepWorker::new(pairs, names, &lead.job(buckets_of(number, 2))).unwrap()
    });
    while lead.steps().0 < end {
        let order = lead.order().unwrap().unwrap();
        for (number, holder) in holders.iter_mut().enumerate() {
            let opening = lead.opening(lead.cut().of_place(number, of)).unwrap();
            assert!(holder.answer(&opening).unwrap().is_empty());
        }
        for worker in &mut workers {
            let part = part(lead, holders, worker, &order);
            let parts = part_for_holders(&part, of).unwrap();
            // The last first: order says nothing.
            for (holder, part) in holders.iter_mut().zip(parts).rev() {
                lead.offers(&holder.answer(&part).unwrap()).unwrap();
            }
        }
        let decisions = lead.decide(of).unwrap();
        for (holder, decision) in holders.iter_mut().zip(decisions) {
            assert!(holder.answer(&decision).unwrap().is_empty());
        }
        if lead.saves() {
            assert!(matches!(lead.order(), Err(RemoteError::NotSaved(_))));
            for holder in holders.iter_mut().rev() {
                lead.save(&holder.answer(&Lead::SAVE).unwrap()).unwrap();
            }
        }
    }
}

fn bits(lead: Lead, mut holders: Vec<RowHolder>) -> Vec<u32> {
    // The last first: each says which rows they are.
    let weights: Vec<Vec<u8>> =
        holders.iter_mut().rev().map(|holder| holder.answer(&Lead::END).unwrap()).collect();
    let run = lead.finish(&weights, false).unwrap();
    assert!(run.certificate.epsilon <= Some(3.0));
    run.model.into_iter().map(f32::to_bits).collect()
}

/// The tables have four ranges, so more than four holders have nothing to hold.
pub fn any_number_of_holders() {
    let place = tempfile::tempdir().unwrap();
    for method in METHODS {
        let expected = expected(method);
        for of in [1, 2, 3, 4] {
            let mut lead = lead(method, &place.path().join(format!("{method:?} {of}")));
            let mut holders = holders(&lead, of);
            step_until(method, &mut lead, &mut holders, 12);
            assert!(bits(lead, holders) == expected, "{method:?} {of}");
        }
    }
}

/// A holder that dies takes its rows since the checkpoint with it: all begin there again, and make the same steps. There may be
/// another number of holders than before.
pub fn lost_holders() {
    let place = tempfile::tempdir().unwrap();
    for method in METHODS {
        let path = place.path().join(format!("{method:?}"));
        for (of, end) in [(2, 3), (4, 7), (1, 10), (3, 11), (2, 12)] {
            let mut lead = lead(method, &path);
            let mut holders = holders(&lead, of);
            step_until(method, &mut lead, &mut holders, end);
            if end == 12 {
                assert!(bits(lead, holders) == expected(method), "{method:?}");
                break;
            }
        }
        let replay = Replay::read(&path.join("ledger.jsonl")).unwrap();
        let mut paid: Vec<u64> = Vec::new();
        for charge in replay.charges.iter().filter(|charge| charge.purpose.starts_with("training"))
        {
            paid.extend(charge.range());
        }
        assert!(paid.iter().copied().eq(0..12), "each step is charged once: {paid:?}");
    }
}

/// Killed in the middle of a step: after rows were read, after all offers, and after some holders were told what was decided. The lead and all
/// holders begin again from the checkpoint, and make the same step, although nobody reads that row in it now.
pub fn lost_in_the_middle() {
    let place = tempfile::tempdir().unwrap();
    for method in METHODS {
        let path = place.path().join(format!("{method:?}"));
        for middle in 0..3 {
            let mut lead = lead(method, &path);
            let mut holders = holders(&lead, 2 + middle % 2);
            let of = holders.len();
            step_until(method, &mut lead, &mut holders, 4);
            let order = lead.order().unwrap().unwrap();
            for (number, holder) in holders.iter_mut().enumerate() {
                let opening = lead.opening(lead.cut().of_place(number, of)).unwrap();
                holder.answer(&opening).unwrap();
            }
            let (pairs, names) = method.shard(1.0);
            let mut worker = StepWorker::new(pairs, names, &lead.job(0..4_096)).unwrap();
            let part = part(&mut lead, &mut holders, &mut worker, &order);
            if middle == 0 {
                continue;
            }
            for (holder, part) in holders.iter_mut().zip(part_for_holders(&part, of).unwrap()) {
                lead.offers(&holder.answer(&part).unwrap()).unwrap();
            }
            if middle == 2 {
                let decisions = lead.decide(of).unwrap();
                holders[0].answer(&decisions[0]).unwrap();
            }
        }
        let mut lead = lead(method, &path);
        let mut holders = holders(&lead, 3);
        step_until(method, &mut lead, &mut holders, 12);
        assert!(bits(lead, holders) == expected(method), "{method:?}");
    }
}

/// A row that was read before all were killed has its noise from that step on, also if nobody asks for it again and others hold it; in the twin
/// it was never read there, and what it is worth later has other noise.
pub fn rows_that_were_read() {
    let place = tempfile::tempdir().unwrap();
    let method = Method::Owed;
    let nobodys = |row: &u32| (0..UNITS).all(|person| person as u32 * 7 % ROWS != *row);
    let row = (ROWS / 10..ROWS).find(nobodys).unwrap();
    // What the row is worth at the step after the last, after it was asked for at step 4 or not.
    let worth = |path: &Path, of: usize, asked: bool, end: u64| {
        let mut lead = lead(method, path);
        let mut holders = holders(&lead, of);
        step_until(method, &mut lead, &mut holders, if asked { 4 } else { end });
        let order = lead.order().unwrap().unwrap();
        let ask = |lead: &mut Lead, holders: &mut [RowHolder]| {
            let order = lead.order().unwrap().unwrap();
            for (number, holder) in holders.iter_mut().enumerate() {
                let opening = lead.opening(lead.cut().of_place(number, of)).unwrap();
                holder.answer(&opening).unwrap();
            }
            let asked = lead.rows(&[&order[..], &row.to_le_bytes()].concat(), of).unwrap();
            let [(number, message)] = &asked[..] else { panic!("one holder has it") };
            holders[*number].answer(message).unwrap()
        };
        assert!(!order.is_empty());
        if asked {
            ask(&mut lead, &mut holders);
            if end == 4 {
                return Vec::new();
            }
            step_until(method, &mut lead, &mut holders, end);
        }
        ask(&mut lead, &mut holders)
    };
    let whole = worth(&place.path().join("whole"), 2, true, 5);
    let killed = place.path().join("killed");
    worth(&killed, 2, true, 4);
    assert!(worth(&killed, 3, false, 5) == whole);
    assert!(worth(&place.path().join("never"), 3, false, 5) != whole);
}

/// A worker that makes its part of a step twice, and whose data changed in between, gives one to each of two holders: no step is made of both.
pub fn parts_of_two_states() {
    let place = tempfile::tempdir().unwrap();
    for method in METHODS {
        let mut lead = lead(method, &place.path().join(format!("{method:?}")));
        let mut holders = holders(&lead, 2);
        step_until(method, &mut lead, &mut holders, 1);
        let order = lead.order().unwrap().unwrap();
        for (number, holder) in holders.iter_mut().enumerate() {
            let opening = lead.opening(lead.cut().of_place(number, 2)).unwrap();
            holder.answer(&opening).unwrap();
        }
        let parts = [1.0, -1.0].map(|factor| {
            let (pairs, names) = method.shard(factor);
            let mut worker = StepWorker::new(pairs, names, &lead.job(0..4_096)).unwrap();
            let part = part(&mut lead, &mut holders, &mut worker, &order);
            part_for_holders(&part, 2).unwrap()
        });
        lead.offers(&holders[0].answer(&parts[0][0]).unwrap()).unwrap();
        let refused = lead.offers(&holders[1].answer(&parts[1][1]).unwrap());
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("its data or program changed"), "{refused}");
        assert!(matches!(lead.decide(2), Err(RemoteError::MissingRange(_))));
    }
}

/// What is late, of another run, or of a holder that is behind changes nothing.
pub fn what_holders_refuse() {
    let place = tempfile::tempdir().unwrap();
    let method = Method::Selected;
    let mut lead = lead(method, &place.path().join("run"));
    let mut own = holders(&lead, 2);
    let behind = holder(&lead, 0, 2);
    step_until(method, &mut lead, &mut own, 5);
    lead.order().unwrap().unwrap();
    let opening = lead.opening(lead.cut().of_place(0, 2)).unwrap();
    // One with the rows of an older state would add the noise of this step to others.
    let mut behind = behind;
    assert!(matches!(behind.answer(&opening), Err(MessageError::OtherStep)));
    // Another run, of the same seed or another, has other keys or makes its own steps.
    let mut settings = method.settings();
    settings.seed = Some(4);
    let mut other = Lead::open(settings, Pairs::default(), &place.path().join("other")).unwrap();
    other.order().unwrap();
    let foreign = other.opening(other.cut().of_place(0, 2)).unwrap();
    assert!(own[0].answer(&foreign).is_err());
    own[0].answer(&opening).unwrap();
    own[0].answer(&opening).unwrap();
    let order = lead.order().unwrap().unwrap();
    let mut whole = method.shard(1.0);
    let mut worker = StepWorker::new(whole.0, whole.1.drain(..), &lead.job(0..4_096)).unwrap();
    own[1].answer(&lead.opening(lead.cut().of_place(1, 2)).unwrap()).unwrap();
    let part = part(&mut lead, &mut own, &mut worker, &order);
    let parts = part_for_holders(&part, 2).unwrap();
    assert!(own[0].answer(&parts[1]).is_err(), "the rows of another holder");
    let offers = own[0].answer(&parts[0]).unwrap();
    assert!(!offers.is_empty());
    assert!(own[0].answer(&parts[0]).is_err(), "twice");
    assert!(matches!(lead.decide(2), Err(RemoteError::MissingRange(_))));
    lead.offers(&offers).unwrap();
    assert!(lead.offers(&offers).is_err(), "twice");
    lead.offers(&own[1].answer(&parts[1]).unwrap()).unwrap();
    let decisions = lead.decide(2).unwrap();
    assert!(own[0].answer(&decisions[1]).is_err(), "of other ranges");
    for end in [1, 20, decisions[1].len() - 1] {
        assert!(own[1].answer(&decisions[1][..end]).is_err());
    }
    own[1].answer(&decisions[1]).unwrap();
    assert!(own[1].answer(&decisions[1]).is_err(), "its noise was drawn");
    // And one that a worker made up: it has no seal.
    let unsealed = [&[1, 32, 0, 0, 0, 0, 0, 0, 0], &order[..]].concat();
    assert!(own[1].answer(&unsealed).is_err());
    own[0].answer(&decisions[0]).unwrap();
    // Nothing is saved in the middle of a block, twice, or cut short.
    let state = own[1].answer(&Lead::SAVE).unwrap();
    assert!(!lead.saves() && lead.save(&state).is_err());
    step_until(method, &mut lead, &mut own, 9);
    assert!(lead.save(&own[0].answer(&Lead::SAVE).unwrap()).is_err(), "it is saved");
    assert_eq!(holders(&lead, 3).len(), 3, "the checkpoint is there");
}
