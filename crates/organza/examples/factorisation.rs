//! A model of one's own: factors of films, from what people thought of them; each person is protected as one.

use organza::ledger::Unit;
use organza::report::run::{Additions, RunFiles};
use organza::train::settings::EngineSettings;
use organza::train::{Ended, Losses, ReadRows, Session, Simple, Task, WriteRows};

/// For each person films and how much they were liked.
#[derive(serde::Serialize)]
struct Ratings(Vec<Vec<(u32, f32)>>);

/// What a person likes, and by how much that misses what the person said of each film.
fn misses(person: &[(u32, f32)], films: &dyn ReadRows) -> ([f32; 4], Vec<f32>) {
    let mut taste = [0.0; 4];
    for (film, liked) in person {
        let scale = liked / person.len() as f32;
        taste.iter_mut().zip(films.row(*film)).for_each(|(sum, factor)| *sum += scale * factor);
    }
    let product = |film: u32| taste.iter().zip(films.row(film)).map(|(one, other)| one * other);
    (taste, person.iter().map(|(film, liked)| product(*film).sum::<f32>() - liked).collect())
}

impl Task for Ratings {
    fn tables(&self) -> Vec<(u64, u64)> {
        vec![(40, 4)]
    }

    fn units(&self) -> u64 {
        self.0.len() as u64
    }

    fn gradient(&self, unit: u64, _: &[u32], films: &dyn ReadRows, gradient: &mut dyn WriteRows) {
        let person = &self.0[unit as usize];
        let (taste, misses) = misses(person, films);
        for ((film, _), miss) in person.iter().zip(misses) {
            gradient.row(*film).iter_mut().zip(taste).for_each(|(sum, one)| *sum += miss * one);
        }
    }

    fn evaluate(&self, films: &dyn ReadRows) -> Losses {
        let all: Vec<f32> = self.0.iter().flat_map(|person| misses(person, films).1).collect();
        let loss = all.iter().map(|miss| f64::from(miss * miss)).sum::<f64>() / all.len() as f64;
        Losses { train: loss, validation: f64::NAN, test: f64::NAN }
    }
}

pub(crate) fn train(path: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    let rated = |it: u32| (0..20).map(move |at| ((7 * it + at) % 40, 1.0 - 2.0 * (at % 2) as f32));
    let people = Ratings((0..5_000).map(|person| rated(person).collect()).collect());
    let settings = EngineSettings::new("films", Unit::User, 2.0, 1e-6);
    let session = Session::<Simple<Ratings>>::begin_with(settings, path, |_| Ok(people))?;
    let Ended::Finished(run) = session.train(false, &mut ())? else { return Ok(()) };
    assert!(run.certificate.epsilon <= Some(2.0) && run.model.len() == 160);
    let page = Additions::new("Films", "factors");
    Ok(RunFiles::<EngineSettings>::read(path)?.page(page).write(path, "report.html")?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    train(std::env::args_os().nth(1).unwrap_or_else(|| "films".into()).as_ref())
}
