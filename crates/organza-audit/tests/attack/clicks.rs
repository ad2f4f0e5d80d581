//! Click models as a victim: a run of the whole command, with or without one user.

use crate::runs::{attacked, ended};
use crate::words::{NOT_PRIVATE, PROMISED};
use organza_audit::attack::{Neighbour, Observation, Victim};
use organza_clicks::{ClickReader, ClickRun, DataSettings, Method, Model, Settings, features};
use organza_data::sparse::{Categories, Column, Columns};
use std::fs;
use std::ops::Range;
use std::path::Path;

/// Categories of a column, and how many of them nobody has but the user.
const LISTED: u32 = 24;
const RARE: u32 = 6;
const USERS: u32 = 50;
/// The rows of the user: far more than anybody else has.
const ROWS: u32 = 3_000;
/// A multiplier that costs less than what is promised.
const NOISE: f64 = 40.0;
const RARE_ROWS: Range<u32> = LISTED - RARE..LISTED;

/// A run on rows with or without a user of many.
struct Clicks {
    method: Method,
    model: Model,
    /// The broken twin: each row is bounded as if it were of a user of its own.
    row_by_row: bool,
}

impl Clicks {
    fn rows(&self, neighbour: Neighbour) -> String {
        let common = LISTED - RARE;
        let shared = (0..USERS).flat_map(|user| {
            (0..6).map(move |at| {
                format!(
                    "u{user},a{},{},{}\n",
                    (user * 5 + at * at) % common,
                    at,
                    (user + at) % 3 / 2
                )
            })
        });
        let row = |at: u32| {
            let name = if self.row_by_row { format!("last{at}") } else { "last".to_owned() };
            format!("{name},a{},900,{}\n", common + at % RARE, at % 2)
        };
        let last = (0..ROWS).filter(|_| neighbour == Neighbour::With).map(row);
        "user,ad,seen,clicked\n".to_owned() + &shared.chain(last).collect::<String>()
    }

    fn settings(&self, path: &Path) -> Settings {
        let mut features = features([("seen".to_owned(), 1e3)], Vec::new(), 1);
        let listed = (0..LISTED - 1).map(|ad| format!("a{ad}")).collect();
        let categories = Categories::Listed(listed);
        features.push(Column::Categorical { name: "ad".to_owned(), categories });
        let columns = Columns {
            label: Some("clicked".to_owned()),
            group: Some("user".to_owned()),
            features,
            ..Columns::default()
        };
        let reader = ClickReader { format: None, header: None, columns };
        let data = DataSettings { path: path.to_owned(), test: None, reader, strict: false };
        let mut settings = Settings::new(Some(data), self.method, PROMISED.epsilon, PROMISED.delta);
        settings.model = self.model;
        if self.method == Method::OneShot {
            // Known noise, which costs no more than what is promised, instead of a search for it in every run.
            settings.privacy.epsilon = None;
            settings.privacy.noise_multiplier = Some(NOISE);
        } else {
            settings.privacy.units = Some(u64::from(USERS) + 1);
            // Every unit joins every batch: nothing hides in a batch that it did not join.
            settings.training.batch = f64::from(USERS) + 1.0;
            settings.training.steps = Some(2);
        }
        settings
    }
}

impl Victim for Clicks {
    fn run(&self, neighbour: Neighbour, folder: &Path) -> Observation {
        let [data, out] = ["rows.csv", "run"].map(|name| folder.join(name));
        fs::write(&data, self.rows(neighbour)).expect("a file");
        let ended = ended::<ClickRun>(self.settings(&data), &out);
        // Where the data lies is not a secret, and another place in every run.
        fs::remove_file(out.join("settings.json")).expect("a file");
        Observation::of(&out, ended, &NOT_PRIVATE).expect("files that can be read")
    }
}

/// A false alarm has probability 1e-6 each.
#[test]
fn click_models_do_not_give_a_user_away() {
    for (method, model) in [
        (Method::OneShot, Model::Logistic),
        (Method::Dpsgd, Model::FactorisationMachine),
        (Method::Sparse, Model::Logistic),
        (Method::OneShotDpsgd, Model::Logistic),
    ] {
        let victim = Clicks { method, model, row_by_row: false };
        let verdict = attacked(&format!("clicks, {method}, {model}"), RARE_ROWS, &victim);
        assert!(!verdict.refutes(), "{verdict}");
    }
}

#[test]
fn users_who_are_bounded_row_by_row_are_caught() {
    let twin = Clicks { method: Method::OneShot, model: Model::Logistic, row_by_row: true };
    let verdict = attacked("twin: clicks bounded row by row", RARE_ROWS, &twin);
    assert!(verdict.refutes(), "{verdict}");
}
