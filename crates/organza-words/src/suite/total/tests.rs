//! Folders of runs, and what they cost.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::suite::NamedSettings;
use organza_ledger::{Budget, Charge, Event, Header, Ledger};
use std::fs;
use tempfile::{TempDir, tempdir};

const DELTA: f64 = 1e-6;

fn settings(change: impl Fn(&mut Settings)) -> Settings {
    let mut settings = Settings::standard();
    change(&mut settings);
    settings
}

fn planned(name: &str) -> NamedSettings {
    NamedSettings { name: name.to_owned(), settings: settings(|_| {}) }
}

/// A run of one Gaussian, in a folder of its own.
fn run(folder: &TempDir, name: &str, noise_multiplier: f64, settings: &Settings, finished: bool) {
    let path = folder.path().join(name);
    fs::create_dir(&path).unwrap();
    fs::write(path.join("settings.json"), serde_json::to_vec(settings).unwrap()).unwrap();
    if finished {
        fs::write(path.join("certificate.json"), "{}").unwrap();
    }
    let header = Header::new(settings.privacy.neighbouring, settings.privacy.unit, DELTA);
    let mut ledger = Ledger::create(&path.join("ledger.jsonl"), header).unwrap();
    let budget = Budget::new(100.0, DELTA, settings.privacy.neighbouring).unwrap();
    let account = Accountant::new(settings.privacy.neighbouring);
    let charge = Charge::once("training", Event::Gaussian { noise_multiplier });
    let _ = budget.charge(&mut ledger, &account, charge).unwrap();
}

fn gaussian(noise_multiplier: f64) -> f64 {
    let account = Accountant::new(Neighbouring::AddRemove);
    Account::epsilon(&account, &[Event::Gaussian { noise_multiplier }], DELTA).unwrap()
}

fn price(folder: &TempDir) -> Price {
    Total::of(folder.path()).unwrap().price.unwrap()
}

fn is_near(price: Price, epsilon: f64, delta: f64) {
    assert!((price.epsilon / epsilon - 1.0).abs() < 1e-3, "{price:?} is not {epsilon}");
    assert!((price.delta / delta - 1.0).abs() < 1e-9, "{price:?} is not at {delta}");
}

/// Four Gaussians of multiplier 4 that were fixed together are one of multiplier 2. The same four, chosen two after
/// two, add up; the twin that prices the last command alone, as if the first had not been, says far less.
#[test]
fn what_was_fixed_together_composes_and_what_came_later_is_added() {
    let names = ["a", "b", "c", "d"];
    let all = tempdir().unwrap();
    Grid::write(all.path(), &names.map(planned)).unwrap();
    names.iter().for_each(|name| run(&all, name, 4.0, &settings(|_| {}), true));
    is_near(price(&all), gaussian(2.0), DELTA);
    assert_eq!(Total::of(all.path()).unwrap().earlier, 0);

    let later = tempdir().unwrap();
    for pair in names.chunks(2) {
        let grid: Vec<NamedSettings> = pair.iter().map(|name| planned(name)).collect();
        Grid::write(later.path(), &grid).unwrap();
        pair.iter().for_each(|name| run(&later, name, 4.0, &settings(|_| {}), true));
    }
    let half = gaussian(4.0 / 2.0_f64.sqrt());
    is_near(price(&later), 2.0 * half, 2.0 * DELTA);
    let total = Total::of(later.path()).unwrap();
    assert_eq!((total.runs, total.earlier), (4, 2));
    let twin = half;
    assert!(price(&later).epsilon > 1.9 * twin, "the last command alone: {twin}");
}

#[test]
fn runs_of_no_known_command_are_added_one_by_one() {
    let folder = tempdir().unwrap();
    for name in ["a", "b"] {
        run(&folder, name, 4.0, &settings(|_| {}), true);
    }
    is_near(price(&folder), 2.0 * gaussian(4.0), 2.0 * DELTA);
}

#[test]
fn a_run_that_was_never_finished_counts_with_its_budget() {
    let folder = tempdir().unwrap();
    Grid::write(folder.path(), &["a", "b"].map(planned)).unwrap();
    run(&folder, "a", 4.0, &settings(|_| {}), true);
    run(&folder, "b", 4.0, &settings(|_| {}), false);
    is_near(price(&folder), gaussian(4.0) + 3.0, 2.0 * DELTA);
}

#[test]
fn what_promises_nothing_or_something_else_is_said() {
    let folder = tempdir().unwrap();
    fs::create_dir(folder.path().join("figures")).unwrap();
    assert_eq!(Total::of(folder.path()).unwrap().in_words(), "nothing is promised");
    run(&folder, "a", 4.0, &settings(|_| {}), true);
    run(&folder, "seeded", 4.0, &settings(|it| it.seed = Some(1)), true);
    let plain = folder.path().join("none");
    fs::create_dir(&plain).unwrap();
    fs::write(plain.join("settings.json"), serde_json::to_vec(&settings(|_| {})).unwrap()).unwrap();
    let total = Total::of(folder.path()).unwrap();
    assert_eq!((total.runs, total.without_guarantee), (1, 2));
    let words = total.in_words();
    assert!(words.starts_with("1 private run together: epsilon 1.0"), "{words}");
    assert!(
        words.ends_with("nothing is promised of 2 runs without privacy or with a seed"),
        "{words}"
    );
    run(&folder, "pair", 4.0, &settings(|it| it.privacy.unit = Unit::Pair), true);
    let total = Total::of(folder.path()).unwrap();
    assert_eq!(total.price, None);
    assert!(total.in_words().starts_with("2 runs that protect different things"));
}
