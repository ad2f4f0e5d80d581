//! Recommenders as a victim: a run of the whole command, with or without one person.

use crate::runs::{attacked, ended};
use crate::words::{NOT_PRIVATE, PROMISED};
use organza_audit::attack::{Neighbour, Observation, Victim};
use organza_recommend::settings::EventSettings;
use organza_recommend::{ITEMS, Method, RecommenderRun, Settings};
use std::fs;
use std::ops::Range;
use std::path::Path;

/// How many items are declared, and how many of them nobody has but the person.
const DECLARED: u32 = 40;
const RARE: u32 = 8;
const PERSONS: u32 = 50;
/// A multiplier that costs less than what is promised.
const NOISE: f64 = 40.0;
const RARE_ROWS: Range<u32> = DECLARED - RARE..DECLARED;

/// A run on events with or without a person of many items.
struct Recommender {
    method: Method,
    declared: bool,
    /// The broken twin: items are listed by exact counts.
    exact: bool,
}

impl Recommender {
    fn events(neighbour: Neighbour) -> String {
        let common = DECLARED - RARE;
        let event = |person: u32, item: u32| format!("p{person},i{item}\n");
        let shared = (0..PERSONS).flat_map(|person| {
            (0..8).map(move |it| event(person, (person * 5 + it * it * 3) % common))
        });
        let person = (common..DECLARED).map(|item| event(PERSONS, item));
        let person = person.filter(|_| neighbour == Neighbour::With);
        "who,what\n".to_owned() + &shared.chain(person).collect::<String>()
    }
}

impl Victim for Recommender {
    fn run(&self, neighbour: Neighbour, folder: &Path) -> Observation {
        let [data, items, out] = ["events.csv", "declared.txt", "run"].map(|it| folder.join(it));
        let events = Self::events(neighbour);
        fs::write(&data, &events).expect("a file");
        fs::write(&items, (0..DECLARED).map(|item| format!("i{item}\n")).collect::<String>())
            .expect("a file");
        let events_of = EventSettings {
            path: data,
            format: None,
            user: "who".to_owned(),
            item: "what".to_owned(),
            weight: None,
            newest: None,
        };
        let mut settings = Settings::new(Some(events_of), PROMISED.epsilon, PROMISED.delta);
        settings.method = self.method;
        settings.items = self.declared.then_some(items);
        // Known noise, which costs no more than what is promised, instead of a search for it in every run.
        settings.privacy.epsilon = None;
        settings.privacy.noise_multiplier = Some(NOISE);
        let ended = ended::<RecommenderRun>(settings, &out);
        if self.exact {
            let listed: Vec<&str> =
                events.lines().filter_map(|line| line.split(',').nth(1)).collect();
            let mut names: Vec<&str> = listed.clone();
            names.sort_unstable();
            names.dedup();
            fs::write(out.join(ITEMS), names.join("\n")).expect("a file");
        }
        // Where the data lies is not a secret, and another place in every run.
        fs::remove_file(out.join("settings.json")).expect("a file");
        Observation::of(&out, ended, &NOT_PRIVATE).expect("files that can be read")
    }
}

/// A false alarm has probability 1e-6 each.
#[test]
fn recommenders_do_not_give_a_person_away() {
    for (method, declared) in [
        (Method::Spectrum, true),
        (Method::Spectrum, false),
        (Method::Popularity, true),
        (Method::Covariance, true),
        (Method::Als, true),
    ] {
        let items = if declared { "declared items" } else { "private items" };
        let name = format!("{method}, {items}");
        let verdict = attacked(&name, RARE_ROWS, &Recommender { method, declared, exact: false });
        assert!(!verdict.refutes(), "{verdict}");
    }
}

#[test]
fn items_chosen_by_exact_counts_are_caught() {
    let twin = Recommender { method: Method::Spectrum, declared: true, exact: true };
    let verdict = attacked("twin: exact counts", RARE_ROWS, &twin);
    assert!(verdict.refutes(), "{verdict}");
}
