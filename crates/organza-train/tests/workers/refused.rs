//! What comes late, twice or from elsewhere, and a step that was drawn before.

use crate::task::{METHODS, Method, Pairs, ROWS, UNITS, expected, finish, part};
use organza_train::remote::{MessageError, RemoteError, Reply, StepDriver, StepWorker, buckets_of};
use organza_train::{Session, Simple};

pub fn late_and_double_parts() {
    let place = tempfile::tempdir().unwrap();
    for method in METHODS {
        let mut driver = method.driver(&place.path().join(method.name()));
        let mut workers = [0, 1].map(|number| method.worker(&driver, number, 2));
        let mut whole = method.worker(&driver, 0, 1);
        let (mut late, mut late_asks) = (None, None);
        for _ in 0..6 {
            let order = driver.order().unwrap().unwrap();
            assert_eq!(
                driver.order().unwrap().unwrap(),
                order,
                "the same, however often it is asked for"
            );
            assert!(matches!(driver.make(), Err(RemoteError::Missing(_))));
            let [one, other] = workers.each_mut().map(|worker| part(&mut driver, worker, &order));
            // A worker that was thought dead, and its successor, both answer.
            let again = part(&mut driver, &mut workers[0], &order);
            assert!(again == one);
            driver.add(&one).unwrap();
            assert!(driver.add(&again).is_err() && driver.add(&one).is_err());
            // A part of all buckets would count those units twice.
            let all = part(&mut driver, &mut whole, &order);
            assert!(matches!(driver.add(&all), Err(RemoteError::Message(MessageError::Part(_)))));
            // An answer of a step before.
            if let Some(late) = late.replace(other.clone()) {
                assert!(driver.add(&late).is_err());
            }
            assert!(
                matches!(driver.make(), Err(RemoteError::Missing(range)) if range == buckets_of(1, 2))
            );
            driver.add(&other).unwrap();
            let Reply::Asks(asks) = workers[1].order(&order).unwrap() else {
                panic!("it reads rows")
            };
            if let Some(asks) = late_asks.replace(asks) {
                assert!(driver.rows(&asks).is_err());
            }
            driver.make().unwrap();
            assert!(driver.add(&one).is_err() && driver.make().is_err());
        }
        assert!(finish(method, driver, 3) == expected(method), "{method:?}");
    }
}

/// Two sums under one noise would show their difference: the twin is a worker whose data or program has changed since.
pub fn another_sum() {
    let place = tempfile::tempdir().unwrap();
    for method in METHODS {
        let path = place.path().join(method.name());
        let mut driver = method.driver(&path);
        let mut worker = method.worker(&driver, 0, 1);
        for _ in 0..2 {
            let order = driver.order().unwrap().unwrap();
            let part = part(&mut driver, &mut worker, &order);
            driver.add(&part).unwrap();
            driver.make().unwrap();
        }
        drop(driver);
        let mut driver = method.driver(&path);
        assert_eq!(driver.steps(), (0, 12), "there was no checkpoint yet");
        let (pairs, names) = method.shard(0.999);
        let mut changed = StepWorker::new(pairs, names, &driver.job(0..4_096)).unwrap();
        let order = driver.order().unwrap().unwrap();
        let other = part(&mut driver, &mut changed, &order);
        driver.add(&other).unwrap();
        assert!(matches!(driver.make(), Err(RemoteError::Diverged(0))), "{method:?}");
        drop(driver);
        assert!(finish(method, method.driver(&path), 2) == expected(method), "{method:?}");
    }
}

/// A row that was read before the driver was killed has its noise from that step on, also if nobody asks for it again; in the twin
/// it was never read there, and what it is worth later has other noise.
pub fn rows_that_were_read() {
    let place = tempfile::tempdir().unwrap();
    let method = Method::Owed;
    let nobodys = |row: &u32| (0..UNITS).all(|person| person as u32 * 7 % ROWS != *row);
    let row = (ROWS / 10..ROWS).find(nobodys).unwrap();
    // What the row is worth at the last of the steps at which it is asked for.
    let worth = |driver: &mut StepDriver<Simple<Pairs>>, until: u64, asked: &[u64]| {
        let mut worker = method.worker(driver, 0, 1);
        let mut worth = Vec::new();
        while driver.steps().0 < until {
            let order = driver.order().unwrap().unwrap();
            if asked.contains(&driver.steps().0) {
                worth = driver.rows(&[&order[..], &row.to_le_bytes()].concat()).unwrap();
            }
            let part = part(driver, &mut worker, &order);
            driver.add(&part).unwrap();
            driver.make().unwrap();
        }
        worth
    };
    let whole = worth(&mut method.driver(&place.path().join("whole")), 8, &[5, 6]);
    let killed = place.path().join("killed");
    worth(&mut method.driver(&killed), 6, &[5]);
    let mut driver = method.driver(&killed);
    assert_eq!(driver.steps().0, 4, "the last checkpoint");
    assert!(worth(&mut driver, 8, &[6]) == whole);
    assert!(worth(&mut method.driver(&place.path().join("never")), 8, &[6]) != whole);
}

pub fn two_drivers() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let (method, data) = (Method::Owed, Pairs::default());
    let mut driver = method.driver(&path);
    driver.order().unwrap();
    let second = StepDriver::<Simple<Pairs>>::open(method.settings(), data.clone(), &path);
    let second = second.err().unwrap().to_string();
    assert!(second.contains("ledger"), "it is locked: {second}");
    drop(driver);
    // Nor does an ordinary run go on with it: it would draw other batches, and is charged for them on top.
    let session = Session::<Simple<Pairs>>::resume_with(&path, None, |_| Ok(data)).unwrap();
    assert!(session.train(false, &mut ()).is_err());
}

pub fn settings() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let open =
        |settings| StepDriver::<Simple<Pairs>>::open(settings, Pairs::default(), &path).err();
    let mut settings = Method::Owed.settings();
    settings.privacy.units = None;
    assert!(matches!(open(settings.clone()), Some(RemoteError::Settings(_))));
    settings.private = false;
    assert!(matches!(open(settings), Some(RemoteError::Settings(_))));
    assert!(!path.exists(), "nothing was written or charged");
    // What a task would make of released gradients is not left out without a word.
    let opened =
        StepDriver::<Simple<Pairs>>::open(Method::Owed.settings(), Pairs::refined(), &path);
    let error = opened.err().unwrap().to_string();
    assert!(error.contains("without a refinement"), "{error}");
    assert!(open(Method::Owed.settings()).is_none(), "nothing was charged");
}
