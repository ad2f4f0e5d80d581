//! Orders the ways to a private click model on made-up data with a known truth, as the guide has it:
//!
//! ```sh
//! cargo run --release -p organza-clicks --example order -- --users 40000 --seeds 5
//! ```
//!
//! The unit is the user. `--only`, `--rate`, `--clip` and the like change what is run; settings are those of the library otherwise. Each seed has its own truth, its own rows and 10,000 other users to test with. Seeds from 100 on were
//! those on which settings were found.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use organza_clicks::{ClickData, MadeUp, Method, Model, Quality, Settings, fit};
use organza_mechanism::{Purpose, RandomSource, SelectionRule};
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;

type Failed = Box<dyn Error + Send + Sync>;

const DELTA: f64 = 1e-6;
const TEST_USERS: u64 = 10_000;

/// What is compared: a name, a method, a model, and a rule where the method selects.
const WAYS: [(&str, Method, Model, Option<SelectionRule>); 8] = [
    ("without privacy, logistic", Method::None, Model::Logistic, None),
    ("without privacy, factorisation machine", Method::None, Model::FactorisationMachine, None),
    ("DP-SGD, logistic", Method::Dpsgd, Model::Logistic, None),
    (
        "selection, exponential, by row",
        Method::Sparse,
        Model::Logistic,
        Some(SelectionRule::Exponential),
    ),
    ("selection, uniform, by row", Method::Sparse, Model::Logistic, Some(SelectionRule::Uniform)),
    ("one-shot", Method::OneShot, Model::Logistic, None),
    ("one-shot, then DP-SGD, logistic", Method::OneShotDpsgd, Model::Logistic, None),
    (
        "one-shot, then DP-SGD, factorisation machine",
        Method::OneShotDpsgd,
        Model::FactorisationMachine,
        None,
    ),
];

/// What the command line says: `--name value`.
struct Options(BTreeMap<String, String>);

impl Options {
    fn parse() -> Result<Self, Failed> {
        let mut words = std::env::args().skip(1);
        let mut options = BTreeMap::new();
        while let Some(name) = words.next() {
            let name = name.strip_prefix("--").ok_or("write --name value")?.to_owned();
            options.insert(name, words.next().ok_or("write --name value")?);
        }
        Ok(Self(options))
    }

    fn number(&self, name: &str) -> Result<Option<f64>, Failed> {
        Ok(self.0.get(name).map(|value| value.parse()).transpose()?)
    }

    fn list(&self, name: &str, usual: &[f64]) -> Result<Vec<f64>, Failed> {
        let Some(text) = self.0.get(name) else { return Ok(usual.to_vec()) };
        Ok(text.split(',').map(str::parse).collect::<Result<_, _>>()?)
    }
}

fn main() -> Result<(), Failed> {
    let options = Options::parse()?;
    let users = options.number("users")?.unwrap_or(40_000.0) as u64;
    let seeds = options.number("seeds")?.unwrap_or(5.0) as u64;
    let first = options.number("first-seed")?.unwrap_or(0.0) as u64;
    let epsilons = options.list("epsilons", &[1.0, 3.0, 8.0])?;
    let only = options.0.get("only").cloned().unwrap_or_default();
    let mut found: BTreeMap<(usize, usize), Vec<Quality>> = BTreeMap::new();
    for seed in first..first + seeds {
        let made_up = MadeUp { users, test_users: TEST_USERS, seed, ..MadeUp::default() };
        let (data, truth) = made_up.data()?;
        let test = data.test.iter().flat_map(|rows| rows.iter());
        let pairs = truth.iter().zip(test).map(|(log_odds, row)| (*log_odds, row.label));
        found.entry((0, 0)).or_default().push(Quality::of_log_odds(pairs.collect()));
        for (place, way) in (1..).zip(WAYS) {
            if !way.0.contains(&only) {
                continue;
            }
            for (column, epsilon) in epsilons.iter().enumerate() {
                if column > 0 && !way.1.is_private() {
                    continue;
                }
                let begun = Instant::now();
                let quality = measured(way, *epsilon, seed, &data, &options)?;
                let auc = quality.auc.unwrap_or(f64::NAN);
                let ratio = quality.expected_over_observed.unwrap_or(f64::NAN);
                let loss = quality.log_loss.unwrap_or(f64::NAN);
                let seconds = begun.elapsed().as_secs_f64();
                eprintln!(
                    "seed {seed}, {} at {epsilon}: {auc:.4} {loss:.4} {ratio:.3}, {seconds:.1} s",
                    way.0
                );
                found.entry((place, column)).or_default().push(quality);
            }
        }
    }
    print(&found, &epsilons);
    print_differences(&found, &epsilons);
    Ok(())
}

/// Trains by one way, with fresh noise, and measures.
fn measured(
    (_, method, model, rule): (&str, Method, Model, Option<SelectionRule>),
    epsilon: f64,
    seed: u64,
    data: &ClickData,
    options: &Options,
) -> Result<Quality, Failed> {
    let mut settings = Settings::new(None, method, epsilon, DELTA);
    settings.model = model;
    // Noise of another seed than the data.
    let source = RandomSource::from_seed(seed);
    settings.seed = Some(source.substream(Purpose::Data, 9, 0).word());
    if let Some(rule) = rule {
        settings.selection.rule = rule;
    }
    let training = &mut settings.training;
    if let Some(rate) = options.number("rate")? {
        training.optimizer = training.optimizer.with_learning_rate(rate as f32);
    }
    training.clip = options.number("clip")?.unwrap_or(training.clip);
    training.batch = options.number("batch")?.unwrap_or(training.batch);
    training.epochs = options.number("epochs")?.unwrap_or(training.epochs);
    settings.selection.gamma = options.number("gamma")?.unwrap_or(settings.selection.gamma);
    settings.selection.share = options.number("share")?.unwrap_or(settings.selection.share);
    settings.rules.start_share =
        options.number("start-share")?.unwrap_or(settings.rules.start_share);
    settings.rules.bucket_share =
        options.number("bucket-share")?.unwrap_or(settings.rules.bucket_share);
    let (fitted, certificate) = fit(settings, data.clone())?;
    if certificate.private && certificate.epsilon > Some(epsilon) {
        return Err("more was spent than there was".into());
    }
    fitted.test.ok_or_else(|| "no test users".into())
}

fn print(found: &BTreeMap<(usize, usize), Vec<Quality>>, epsilons: &[f64]) {
    let heads: Vec<String> = epsilons.iter().map(|epsilon| format!("epsilon {epsilon}")).collect();
    println!("| AUC · log loss · expected over observed | {} |", heads.join(" | "));
    println!("|---{}|", "|---".repeat(heads.len()));
    let names = std::iter::once("the truth itself").chain(WAYS.map(|way| way.0));
    for (place, name) in names.enumerate() {
        let cell =
            |column: usize| found.get(&(place, column)).map_or(String::new(), |it| shown(it));
        if found.contains_key(&(place, 0)) {
            let cells: Vec<String> = (0..epsilons.len()).map(cell).collect();
            println!("| {name} | {} |", cells.join(" | "));
        }
    }
}

/// The way that the others are compared with, seed by seed.
const BASE: usize = 3;

/// What each way has beyond DP-SGD on the same truth and rows, with the standard error of that: most of what figures deviate by is the
/// truth, which is the same for all.
fn print_differences(found: &BTreeMap<(usize, usize), Vec<Quality>>, epsilons: &[f64]) {
    println!(
        "\n| beyond {}: AUC · log loss |{} |",
        WAYS[BASE - 1].0,
        " |".repeat(epsilons.len() - 1)
    );
    println!("|---{}|", "|---".repeat(epsilons.len()));
    for (place, way) in (1..).zip(WAYS).filter(|(place, way)| *place != BASE && way.1.is_private())
    {
        let cell = |column: usize| -> Option<String> {
            let own = found.get(&(place, column))?;
            let base = found.get(&(BASE, column))?;
            let beyond = |value: fn(&Quality) -> Option<f64>| {
                let pairs = own.iter().zip(base);
                let pairs: Vec<f64> =
                    pairs.filter_map(|(own, base)| Some(value(own)? - value(base)?)).collect();
                let count = pairs.len() as f64;
                let mean = pairs.iter().sum::<f64>() / count;
                let square = pairs.iter().map(|it| (it - mean).powi(2)).sum::<f64>();
                format!("{mean:+.4} ± {:.4}", (square / (count - 1.0) / count).sqrt())
            };
            Some(format!("{} · {}", beyond(|it| it.auc), beyond(|it| it.log_loss)))
        };
        let cells: Vec<String> =
            (0..epsilons.len()).map(|column| cell(column).unwrap_or_default()).collect();
        println!("| {} | {} |", way.0, cells.join(" | "));
    }
}

/// Means with deviations over seeds.
fn shown(all: &[Quality]) -> String {
    let of = |value: &dyn Fn(&Quality) -> Option<f64>, digits: usize| {
        let values: Vec<f64> = all.iter().filter_map(value).collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let deviation = (square / (count - 1.0)).sqrt();
        match values.len() > 1 {
            true => format!("{mean:.digits$} ± {deviation:.digits$}"),
            false => format!("{mean:.digits$}"),
        }
    };
    format!(
        "**{}** · {} · {}",
        of(&|it| it.auc, 3),
        of(&|it| it.log_loss, 3),
        of(&|it| it.expected_over_observed, 2)
    )
}
