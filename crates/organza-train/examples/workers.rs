//! Trains word embeddings by DP-SGD whose gradients are computed by several processes, and says what a step costs.
//!
//! ```sh
//! cargo run -p organza-train --example workers -- 2          # two processes
//! cargo run -p organza-train --example workers -- 1 --threads 2 --batch 4096 --pairs 32 --steps 10
//! ```
//!
//! The program is its own worker: it starts itself with the word `worker`. A worker on another machine, or in an actor of an
//! engine, would be the same `StepWorker` with another way for its messages.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use organza_ledger::Unit;
use organza_mechanism::random::PrivateRandom;
use organza_train::remote::{LocalWorkers, StepDriver, serve};
use organza_train::settings::EngineSettings;
use organza_train::{Losses, OptimizerSettings, ReadRows, Simple, Task, WriteRows};
use std::process::Command;
use std::time::Instant;

const DIMENSIONS: usize = 64;
const NEGATIVES: usize = 5;

/// What is measured.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    processes: usize,
    threads: usize,
    words: u32,
    people: u64,
    pairs: usize,
    batch: u64,
    steps: u64,
}

/// For each person pairs of words that stood together.
#[derive(Clone, Default, serde::Serialize)]
struct Pairs {
    words: u32,
    people: Vec<Vec<(u32, u32)>>,
}

impl Pairs {
    /// Made-up people, whose words have the frequencies of Zipf's law.
    fn made_up(sizes: Sizes) -> Self {
        let mut state = 1_u64;
        let logarithm = f64::from(sizes.words).ln();
        let mut word = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64;
            ((uniform * logarithm).exp() as u32 - 1).min(sizes.words - 1)
        };
        let people =
            (0..sizes.people).map(|_| (0..sizes.pairs).map(|_| (word(), word())).collect());
        Self { words: sizes.words, people: people.collect() }
    }
}

impl Task for Pairs {
    /// Words, and contexts.
    fn tables(&self) -> Vec<(u64, u64)> {
        vec![(u64::from(self.words), DIMENSIONS as u64); 2]
    }

    fn units(&self) -> u64 {
        self.people.len() as u64
    }

    fn draw(&self, unit: u64, random: &mut PrivateRandom, draw: &mut Vec<u32>) {
        let count = NEGATIVES * self.people[unit as usize].len();
        draw.extend((0..count).map(|_| (random.word() % u64::from(self.words)) as u32));
    }

    fn reads(&self, unit: u64, draw: &[u32], visit: &mut dyn FnMut(u32)) {
        for (word, context) in &self.people[unit as usize] {
            visit(*word);
            visit(self.words + context);
        }
        draw.iter().for_each(|negative| visit(self.words + negative));
    }

    /// Of skip-gram with negative sampling: -log s(w c) - sum over negatives n of log s(-w n), with s(x) = 1 / (1 + e^-x).
    fn gradient(
        &self,
        unit: u64,
        draw: &[u32],
        weights: &dyn ReadRows,
        gradient: &mut dyn WriteRows,
    ) {
        for ((word, context), negatives) in
            self.people[unit as usize].iter().zip(draw.chunks(NEGATIVES))
        {
            let own = weights.row(*word);
            let mut of_word = [0.0; DIMENSIONS];
            let others =
                std::iter::once((context, 1.0)).chain(negatives.iter().map(|it| (it, 0.0)));
            for (other, label) in others {
                let row = self.words + other;
                let values = weights.row(row);
                let product: f32 = own.iter().zip(values).map(|(one, other)| one * other).sum();
                let miss = 1.0 / (1.0 + (-product).exp()) - label;
                of_word.iter_mut().zip(values).for_each(|(sum, value)| *sum += miss * value);
                gradient.row(row).iter_mut().zip(own).for_each(|(sum, value)| *sum += miss * value);
            }
            gradient.row(*word).iter_mut().zip(of_word).for_each(|(sum, value)| *sum += value);
        }
    }

    fn evaluate(&self, _: &dyn ReadRows) -> Losses {
        Losses { train: f64::NAN, validation: f64::NAN, test: f64::NAN }
    }
}

/// Seconds that all threads of a process have computed; none where the system does not say.
fn processor_seconds(process: &str) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e9
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn drive(sizes: Sizes, arguments: Vec<String>) -> Result<(), Box<dyn std::error::Error>> {
    let mut settings = EngineSettings::new("words", Unit::User, 3.0, 1e-6);
    settings.privacy.units = Some(sizes.people);
    let training = &mut settings.training;
    (training.batch, training.clip) = (sizes.batch as f64, 1.0);
    (training.steps, training.checkpoints) = (Some(sizes.steps), 1);
    training.optimizer = OptimizerSettings::Sgd { learning_rate: 0.5 };
    let path = std::env::temp_dir().join(format!("organza-workers-{}", std::process::id()));
    // The driver knows the tables, and nobody's words.
    let nobody = Pairs { words: sizes.words, people: Vec::new() };
    let mut driver = StepDriver::<Simple<Pairs>>::open(settings, nobody, &path)?;
    let program = std::env::current_exe()?;
    let mut workers = LocalWorkers::new(sizes.processes, move |_| {
        let mut command = Command::new(&program);
        command.arg("worker").args(&arguments).env("RAYON_NUM_THREADS", sizes.threads.to_string());
        command
    });
    let (mut wall, mut of_driver, mut of_worker) = (Vec::new(), Vec::new(), Vec::new());
    // The first step waits for workers to begin.
    workers.step(&mut driver)?;
    let first = workers.traffic();
    loop {
        let now = |workers: &LocalWorkers| -> Vec<f64> {
            workers.ids().map(|id| processor_seconds(&id.to_string())).collect()
        };
        let (begun, own, theirs) = (Instant::now(), processor_seconds("self"), now(&workers));
        if !workers.step(&mut driver)? {
            break;
        }
        wall.push(begun.elapsed().as_secs_f64());
        of_driver.push(processor_seconds("self") - own);
        let spent = now(&workers).into_iter().zip(theirs).map(|(after, before)| after - before);
        of_worker.push(spent.sum::<f64>() / sizes.processes as f64);
    }
    let traffic = workers.traffic();
    let steps = (traffic.steps - first.steps).max(1);
    let each = |bytes: u64, before: u64| (bytes - before) as f64 / steps as f64 / 1e6;
    println!(
        "{} processes, {} threads each: {:.1} ms a step; processor {:.1} ms of a worker, {:.1} ms of the driver; \
         {:.2} MB to workers, {:.2} MB to the driver",
        sizes.processes,
        sizes.threads,
        1e3 * median(wall),
        1e3 * median(of_worker),
        1e3 * median(of_driver),
        each(traffic.to_workers, first.to_workers),
        each(traffic.to_driver, first.to_driver)
    );
    let certificate = driver.finish(false)?.certificate;
    println!(
        "epsilon {:.3} at delta {:e}",
        certificate.epsilon.unwrap_or(f64::NAN),
        certificate.delta.unwrap_or(f64::NAN)
    );
    Ok(std::fs::remove_dir_all(path)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_worker = arguments.first().is_some_and(|word| word == "worker");
    if is_worker {
        arguments.remove(0);
    }
    let after = |flag: &str, usual: u64| {
        let place = arguments.iter().position(|word| word == flag);
        let value = place.and_then(|place| arguments.get(place + 1));
        value.map_or(Ok(usual), |value| value.parse())
    };
    let sizes = Sizes {
        processes: arguments.first().map_or(Ok(2), |count| count.parse())?,
        threads: after("--threads", 1)? as usize,
        words: after("--words", 20_000)? as u32,
        people: after("--people", 50_000)?,
        pairs: after("--pairs", 16)? as usize,
        batch: after("--batch", 4_096)?,
        steps: after("--steps", 10)?,
    };
    if !is_worker {
        return drive(sizes, arguments);
    }
    let read = |_: &_| {
        let names: Vec<[u8; 8]> = (0..sizes.people).map(u64::to_be_bytes).collect();
        Ok((Pairs::made_up(sizes), names))
    };
    Ok(serve(std::io::stdin().lock(), std::io::stdout().lock(), read)?)
}
