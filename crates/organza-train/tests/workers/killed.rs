//! Processes that are killed at any point.

use crate::task::{METHODS, Method, bits, expected};
use crate::this_program;
use organza_ledger::Replay;
use organza_train::remote::LocalWorkers;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

fn workers(method: Method) -> LocalWorkers {
    LocalWorkers::new(2, move |_| this_program(&["worker", method.name()]))
}

/// Drives a run to its end.
pub fn drive(method: Method, path: &Path) {
    let mut driver = method.driver(path);
    let mut workers = workers(method);
    while workers.step(&mut driver).unwrap() {}
    driver.finish(false).unwrap();
}

/// Numbers without a pattern.
fn numbers() -> impl FnMut() -> u64 {
    let mut state = 7_u64;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    }
}

pub fn killed_workers() {
    let place = tempfile::tempdir().unwrap();
    let mut number = numbers();
    for method in METHODS {
        let mut driver = method.driver(&place.path().join(method.name()));
        let mut workers = workers(method);
        let mut steps = 0;
        loop {
            let ids: Vec<u32> = workers.ids().collect();
            let (victim, delay) = (number() as usize, Duration::from_micros(number() % 4_000));
            let killer = std::thread::spawn(move || {
                std::thread::sleep(delay);
                if let Some(id) = ids.get(victim % 3) {
                    // It may be gone already, with the worker that it was.
                    Command::new("kill").args(["-9", &id.to_string()]).output().unwrap();
                }
            });
            let made = workers.step(&mut driver).unwrap();
            killer.join().unwrap();
            steps += u64::from(made);
            if !made {
                break;
            }
        }
        assert!(workers.traffic().restarts > 2, "{:?}", workers.traffic());
        assert_eq!(steps, 12);
        assert!(bits(driver) == expected(method), "{method:?}");
    }
}

pub fn killed_driver() {
    let place = tempfile::tempdir().unwrap();
    let mut number = numbers();
    for method in [Method::Owed, Method::Selected] {
        let [whole, path] =
            ["whole", "killed"].map(|name| place.path().join(name).join(method.name()));
        let start = |path: &Path| {
            this_program(&["driver", method.name(), path.to_str().unwrap()]).spawn().unwrap()
        };
        let begun = Instant::now();
        assert!(start(&whole).wait().unwrap().success());
        let whole_run = begun.elapsed().as_micros() as u64;
        let (mut killed, mut rounds) = (0, 0);
        let is_there = |file: &str| path.join(file).exists();
        while !is_there("certificate.json") || is_there("private/state.json") {
            let mut driver = start(&path);
            // At once, then later and later; now and then it may go to its end, however slow the machine is at the moment.
            if rounds % 12 != 11 {
                let latest = 1 + whole_run * (rounds % 12) / 11;
                std::thread::sleep(Duration::from_micros(number() % latest));
                driver.kill().unwrap();
            }
            rounds += 1;
            killed += u64::from(!driver.wait().unwrap().success());
        }
        assert!(killed > 0, "the first was killed");
        let read = |path: &Path, file: &str| std::fs::read(path.join(file)).unwrap();
        assert!(read(&path, "model.safetensors") == read(&whole, "model.safetensors"));
        let charges = |path: &Path| Replay::read(&path.join("ledger.jsonl")).unwrap().charges;
        assert_eq!(charges(&path), charges(&whole), "nothing is charged twice");
    }
}
