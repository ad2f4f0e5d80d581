//! Who computes gradients does not show.

use crate::task::{METHODS, Method, bits, expected, finish};
use crate::this_program;
use organza_train::remote::LocalWorkers;

pub fn any_number_of_workers() {
    let place = tempfile::tempdir().unwrap();
    for method in METHODS {
        let expected = expected(method);
        let other = METHODS.into_iter().find(|other| *other != method).unwrap();
        assert!(expected != crate::task::expected(other), "{method:?}");
        for (of, threads) in [(1, 3), (2, 1), (5, 2)] {
            let path = place.path().join(format!("{method:?} {of}"));
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let found = pool.install(|| finish(method, method.driver(&path), of));
            assert!(found == expected, "{method:?} {of} {threads}");
        }
    }
}

pub fn any_number_of_processes() {
    let place = tempfile::tempdir().unwrap();
    for method in METHODS {
        let expected = expected(method);
        for count in [1, 2, 4] {
            let mut driver = method.driver(&place.path().join(format!("{method:?} {count}")));
            let mut workers =
                LocalWorkers::new(count, move |_| this_program(&["worker", method.name()]));
            while workers.step(&mut driver).unwrap() {}
            let traffic = workers.traffic();
            assert_eq!((traffic.steps, traffic.restarts, traffic.left_out), (12, 0, 0));
            assert!(bits(driver) == expected, "{method:?} {count}");
        }
    }
}

/// Batches follow the keys: the twin, a run of another seed, gives other bits, and a worker of one run has none for another.
pub fn another_key_gives_other_bits() {
    let place = tempfile::tempdir().unwrap();
    let method = Method::Owed;
    let mut driver = method.driver(&place.path().join("run"));
    let mut settings = method.settings();
    settings.seed = Some(4);
    let path = place.path().join("other");
    let mut other =
        organza_train::remote::StepDriver::open(settings, Default::default(), &path).unwrap();
    let order = driver.order().unwrap().unwrap();
    assert!(method.worker(&other, 0, 1).order(&order).is_err());
    assert!(other.order().unwrap().unwrap() != order);
    assert!(finish(method, other, 1) != finish(method, driver, 1));
}
