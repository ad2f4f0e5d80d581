//! DP-SGD, the paper's selection, and the two systems that the paper compares itself with, on made-up clicks: area under the
//! curve at equal epsilon.
//!
//! `cargo run --release -p organza-paper --example clicks -- 100000 1000 3` takes 100,000 rows, 1,000 buckets a column, 3 seeds.
#![allow(clippy::print_stdout, reason = "an example prints")]

mod data;

use data::Clicks;
use organza_ledger::Unit;
use organza_mechanism::{FlatRows, SelectionRule};
use organza_paper::compared::{
    Compared, ComparedMethod, ComparedSettings, PublicSubspace, SelectiveSgd,
};
use organza_train::settings::{EngineSettings, Steps};
use organza_train::{OptimizerSettings, Session, Simple, Task};
use std::error::Error;

type Other = Session<Compared<Simple<Clicks>>>;

fn main() -> Result<(), Box<dyn Error>> {
    let asked: Vec<u64> =
        std::env::args().skip(1).map(|it| it.parse()).collect::<Result<_, _>>()?;
    let at = |place: usize, usual: u64| asked.get(place).copied().unwrap_or(usual);
    let (rows, buckets, seeds) = (at(0, 20_000) as usize, at(1, 100) as u32, at(2, 1));
    println!("epsilon  seed  dp-sgd  sparse  selective  projected");
    for epsilon in [1.0, 3.0, 8.0] {
        for seed in 0..seeds {
            let data = Clicks::made_up([rows, 500, 20_000], buckets, seed);
            let settings = settings(epsilon, rows, seed);
            let area = |parameters: Vec<f32>| -> Result<f64, Box<dyn Error>> {
                Ok(data.area(&FlatRows::new(data.shape()?, &parameters)))
            };
            let mut sparse = settings.clone();
            sparse.steps = Some(Steps::Selected);
            sparse.selection.rule = SelectionRule::Exponential;
            (sparse.selection.gamma, sparse.selection.share) = (0.1, 0.5);
            let own = [&settings, &sparse]
                .map(|settings| Session::<Simple<Clicks>>::fit(settings.clone(), data.clone()));
            let hits = (data.tables()[0].0 / 100).max(1);
            let selective = SelectiveSgd { hits, threshold: 1e-4, bound: 1e-3 };
            let subspace = PublicSubspace { samples: 500, dimensions: 50, every: 10 };
            let methods =
                [ComparedMethod::Selective(selective), ComparedMethod::Projected(subspace)];
            let others = methods.map(|method| {
                Other::fit(ComparedSettings { of: settings.clone(), method }, data.clone())
            });
            let mut areas = Vec::new();
            for run in own.into_iter().chain(others) {
                areas.push(area(run?.model)?);
            }
            println!(
                "{epsilon:7}  {seed:4}  {:6.3}  {:6.3}  {:9.3}  {:9.3}",
                areas[0], areas[1], areas[2], areas[3]
            );
        }
    }
    Ok(())
}

fn settings(epsilon: f64, rows: usize, seed: u64) -> EngineSettings {
    let mut settings = EngineSettings::new("clicks", Unit::Line, epsilon, 1e-6);
    settings.seed = Some(seed);
    settings.privacy.units = Some(rows as u64);
    settings.training.batch = rows as f64 / 20.0;
    settings.training.epochs = 10.0;
    settings.training.clip = 1.0;
    settings.training.evaluations = 1;
    settings.training.optimizer = OptimizerSettings::adam(0.02);
    settings
}
