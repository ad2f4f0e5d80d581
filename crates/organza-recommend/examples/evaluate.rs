//! Measures recommenders on data with known histories. NOT PRIVATE: figures come from the data without noise.
//!
//! Whole persons are held out; a fifth of the items of each is hidden, and has to be found by the rest.
//!
//! ```text
//! cargo run --release -p organza-recommend --example evaluate -- \
//!     --test 1000 --held-out 1500 --delta 1e-5 --epsilon 1 --epsilon 5 --seeds 5 train.txt.gz test.txt.gz
//! ```
//!
//! `--method NAME` takes another method, and `--method all` compares all of them. `--private-items` does not declare the items. Files
//! have a person a line: a number, then those of items; lines of one person, in any file, belong together, and persons with fewer than
//! five items are left out (`--least` changes that number). With `--tests FILE`, which has the known items of a person, a bar (`|`) and
//! the hidden ones a line, nobody else is held out.
#![allow(clippy::print_stdout)]

use flate2::read::MultiGzDecoder;
use organza_recommend::quality::{Quality, measure, split};
use organza_recommend::{Histories, Method, RecommenderData, Settings, fit_data};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::{BufRead, BufReader, Read};

type Failed = Box<dyn Error + Send + Sync>;

#[derive(Default)]
struct Arguments {
    files: Vec<String>,
    budgets: Vec<(&'static str, f64)>,
    delta: f64,
    test: usize,
    held_out: usize,
    least: usize,
    seeds: u64,
    rules: Vec<(String, f64)>,
    methods: Vec<Method>,
    tests: Option<String>,
    private_items: bool,
}

fn asked() -> Result<Arguments, Failed> {
    let mut asked = Arguments {
        delta: 1e-5,
        test: 1_000,
        held_out: 1_500,
        least: 5,
        seeds: 5,
        ..Arguments::default()
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if !word.starts_with("--") {
            asked.files.push(word);
            continue;
        }
        if word == "--private-items" {
            asked.private_items = true;
            continue;
        }
        if word == "--method" {
            let name = words.next().unwrap_or_default();
            let methods = match name.as_str() {
                "all" => Method::NAMES.to_vec(),
                name => vec![name],
            };
            for method in methods {
                asked.methods.push(serde_json::from_value(method.into())?);
            }
            continue;
        }
        if word == "--tests" {
            asked.tests = words.next();
            continue;
        }
        let value: f64 = words.next().ok_or("a flag without a value")?.parse()?;
        match word.as_str() {
            "--epsilon" => asked.budgets.push(("epsilon", value)),
            "--noise-multiplier" => asked.budgets.push(("noise multiplier", value)),
            "--delta" => asked.delta = value,
            "--test" => asked.test = value as usize,
            "--held-out" => asked.held_out = value as usize,
            "--least" => asked.least = value as usize,
            "--seeds" => asked.seeds = value as u64,
            "--item-share" | "--most-items" => asked.rules.push((word, value)),
            _ => return Err(format!("there is no flag {word}").into()),
        }
    }
    if asked.methods.is_empty() {
        asked.methods.push(Method::default());
    }
    Ok(asked)
}

/// The number of each item, and the items of each person.
type Data = (BTreeMap<u64, u32>, Vec<Vec<u32>>);

/// The items of every person with at least so many, numbered anew.
fn read(files: &[String], least: usize) -> Result<Data, Failed> {
    let mut persons: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for file in files {
        let input = std::fs::File::open(file)?;
        let input: Box<dyn Read> = match file.ends_with(".gz") {
            true => Box::new(MultiGzDecoder::new(input)),
            false => Box::new(input),
        };
        for line in BufReader::new(input).lines() {
            let line = line?;
            let numbers: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
            if let [person, items @ ..] = &numbers?[..] {
                persons.entry(*person).or_default().extend(items);
            }
        }
    }
    persons.retain(|_, items| items.len() >= least);
    let all: BTreeSet<u64> = persons.values().flatten().copied().collect();
    let number: BTreeMap<u64, u32> = all.into_iter().zip(0..).collect();
    let rows = persons.values().map(|items| items.iter().map(|item| number[item]).collect());
    let rows = rows.collect();
    Ok((number, rows))
}

fn main() -> Result<(), Failed> {
    let asked = asked()?;
    let (number, mut rows) = read(&asked.files, asked.least)?;
    let items = number.len();
    let (train, test) = match &asked.tests {
        Some(file) => {
            let text = std::fs::read_to_string(file)?;
            let numbers = |part: &str| -> Vec<u32> {
                let words = part.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
                words.filter_map(|item| number.get(&item).copied()).collect()
            };
            let pair = |line: &str| {
                line.split_once('|').map(|(known, hidden)| (numbers(known), numbers(hidden)))
            };
            (rows, text.lines().filter_map(pair).collect::<Vec<_>>())
        }
        None => {
            // By chance that has nothing to do with the items.
            let mut state = 98_765_u64;
            for place in (1..rows.len()).rev() {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                rows.swap(place, ((state >> 33) % (place as u64 + 1)) as usize);
            }
            let train = rows.split_off(asked.held_out.min(rows.len()));
            let held_out = (1..).zip(rows.iter().take(asked.test));
            (train, held_out.map(|(seed, row)| split(row, seed)).collect())
        }
    };
    println!(
        "NOT PRIVATE: {} persons to learn from, {} to test, {items} items",
        train.len(),
        test.len()
    );
    let mut popular = vec![0_u32; items];
    train.iter().flatten().for_each(|item| popular[*item as usize] += 1);
    let mut order: Vec<u32> = (0..items as u32).collect();
    order.sort_by_key(|item| std::cmp::Reverse(popular[*item as usize]));
    let best = measure(test.iter().cloned(), |history, number| {
        order.iter().copied().filter(|item| !history.contains(item)).take(number).collect()
    });
    println!("popularity without noise: Recall@20 {:.4}, NDCG@100 {:.4}", best.recall, best.ndcg);
    let mut table = String::from("method");
    asked.budgets.iter().for_each(|(name, value)| table += &format!(" | {name} {value}"));
    for method in &asked.methods {
        table += &format!("\n{method}");
        for (name, value) in &asked.budgets {
            let mean = mean(&asked, *method, name, *value, items, &train, &test)?;
            println!("{method}, {name} {value}: {mean}");
            table += &format!(" | {mean}");
        }
    }
    println!("NOT PRIVATE: Recall@20 / NDCG@100\n{table}");
    Ok(())
}

/// The mean quality over the seeds, in words.
fn mean(
    asked: &Arguments,
    method: Method,
    name: &str,
    value: f64,
    items: usize,
    train: &[Vec<u32>],
    test: &[(Vec<u32>, Vec<u32>)],
) -> Result<String, Failed> {
    let mut all: Vec<Quality> = Vec::new();
    // Without privacy there is no noise, so one seed is like another.
    for seed in 0..if method.is_private() { asked.seeds } else { 1 } {
        let mut settings = Settings::new(None, 1.0, asked.delta);
        settings.method = method;
        match name {
            "epsilon" => settings.privacy.epsilon = Some(value),
            _ => {
                settings.privacy.epsilon = None;
                settings.privacy.noise_multiplier = Some(value);
            }
        }
        for (rule, value) in &asked.rules {
            match rule.as_str() {
                "--item-share" => settings.rules.item_share = *value,
                _ => settings.rules.most_items = *value as usize,
            }
        }
        settings.seed = Some(seed);
        let begun = std::time::Instant::now();
        let histories = Histories::of_rows(items, train.iter().map(|row| row.iter().copied()));
        let names = (0..items).map(|item| item.to_string()).collect();
        let data = RecommenderData::declared(histories, names);
        let data = RecommenderData { declared: !asked.private_items, ..data };
        let (fitted, _) = fit_data(data, settings)?;
        let seconds = begun.elapsed().as_secs_f64();
        let saved = &fitted.saved;
        let known: Vec<u32> =
            saved.names.iter().map(|name| name.parse()).collect::<Result<_, _>>()?;
        let mut place = vec![None; items];
        (0_u32..).zip(&known).for_each(|(at, item)| place[*item as usize] = Some(at));
        let quality = measure(test.iter().cloned(), |history, number| {
            let history: Vec<u32> =
                history.iter().filter_map(|item| place[*item as usize]).collect();
            let list = saved.model.recommend(&history, number);
            list.into_iter().map(|scored| known[scored.item as usize]).collect()
        });
        let chosen = saved.choice.as_ref().map_or(String::new(), |choice| {
            format!(
                "{:?}, ridge {}, block {}, rank {}, popularity {:.2}, ",
                choice.score,
                choice.ridge,
                choice.block,
                choice.eigenvalues.len(),
                choice.popularity,
            )
        });
        println!(
            "  {method}, {name} {value}, seed {seed}: {:.4} / {:.4} ({chosen}{} items, {seconds:.1} s)",
            quality.recall,
            quality.ndcg,
            known.len(),
        );
        all.push(quality);
    }
    let mean = |of: fn(&Quality) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
    Ok(format!("{:.4} / {:.4}", mean(|it| it.recall), mean(|it| it.ndcg)))
}
