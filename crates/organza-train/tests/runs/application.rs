//! An application that knows no words: factors of items from made-up ratings, with a release before the first step. It
//! gets a plan from a budget, a ledger, a certificate, files, and goes on after it was stopped.
#![allow(missing_docs, clippy::unwrap_used)]

use organza_ledger::{Event, Neighbouring, PublicFact, Replay, Unit};
use organza_mechanism::NoisyCount;
use organza_train::metrics::Point;
use organza_train::settings::{EngineSettings, Steps};
use organza_train::{
    Application, Certificate, Ended, Failure, Losses, Observer, OptimizerSettings, Phase, ReadRows,
    Releases, RunFolder, Session, SessionError, Start, Task, WriteRows, fingerprint,
};
use std::path::Path;

const ITEMS: u64 = 30;
const FACTORS: u64 = 3;
const RATED: &str = "rated";

/// For each person some items and how they were rated.
type Ratings = Vec<Vec<(u32, f32)>>;

struct Factors {
    ratings: Ratings,
    /// The released number of people who rated the first item.
    rated: u64,
}

fn count(noise: f64) -> Result<NoisyCount, Failure> {
    Ok(NoisyCount::new(1.0 / noise, Neighbouring::AddRemove)?)
}

impl Task for Factors {
    fn tables(&self) -> Vec<(u64, u64)> {
        vec![(ITEMS, FACTORS)]
    }

    fn units(&self) -> u64 {
        self.ratings.len() as u64
    }

    fn gradient(&self, unit: u64, _: &[u32], items: &dyn ReadRows, gradient: &mut dyn WriteRows) {
        for (item, rating) in &self.ratings[unit as usize] {
            let miss: f32 = items.row(*item).iter().sum::<f32>() - rating;
            gradient.row(*item).iter_mut().for_each(|slope| *slope += miss);
        }
    }

    fn evaluate(&self, items: &dyn ReadRows) -> Losses {
        let all = self.ratings.iter().flatten();
        let loss = |(item, rating): &(u32, f32)| {
            f64::from(items.row(*item).iter().sum::<f32>() - rating).powi(2)
        };
        let train = all.clone().map(loss).sum::<f64>() / all.count() as f64;
        Losses { train, validation: train, test: f64::NAN }
    }
}

impl Application for Factors {
    type Settings = EngineSettings;
    type Data = Ratings;
    type Task = Self;
    type Model = (Vec<f32>, u64);

    fn read(_: &EngineSettings) -> Result<Ratings, Failure> {
        Ok(ratings(400))
    }

    fn fingerprint(data: &Ratings) -> Result<[u8; 32], Failure> {
        Ok(fingerprint(data)?)
    }

    fn public_facts(_: &EngineSettings, _: &Ratings) -> Result<Vec<PublicFact>, Failure> {
        Ok(vec![PublicFact::new("items", ITEMS.to_string())])
    }

    fn phases<'a>(_: &'a EngineSettings, _: &'a Ratings) -> Result<Vec<Phase<'a>>, Failure> {
        let events = |noise| Ok(vec![count(noise)?.event()]);
        let releases = vec!["how many rated the first item"];
        Ok(vec![Phase { name: RATED, releases, until: 0.2, events: Box::new(events) }])
    }

    fn prepare(
        _: &EngineSettings,
        ratings: Ratings,
        releases: &mut Releases<'_>,
    ) -> Result<Self, Failure> {
        let Some(noise) = releases.noise(RATED) else { return Ok(Self { ratings, rated: 0 }) };
        let count = count(noise)?;
        let release = count.release(RATED, releases.source());
        let paid = releases.charge(release.charge())?;
        let true_count = ratings.iter().filter(|person| person.iter().any(|it| it.0 == 0)).count();
        let rated = count.noise(true_count as u64, &release, paid)?;
        Ok(Self { ratings, rated })
    }

    fn task(&self) -> &Self {
        self
    }

    fn start(&self, _: &EngineSettings, _: &mut Releases<'_>) -> Result<Start, Failure> {
        let parameters = vec![0.0; (ITEMS * FACTORS) as usize];
        Ok(Start { parameters, ..Start::default() })
    }

    fn finish(
        self,
        parameters: Vec<f32>,
        certificate: &Certificate,
        folder: Option<&RunFolder>,
    ) -> Result<(Vec<f32>, u64), Failure> {
        let text = format!("{:?}", certificate.epsilon);
        if let Some(folder) = folder {
            folder.write(&folder.file("model.txt"), text.as_bytes())?;
        }
        Ok((parameters, self.rated))
    }
}

fn ratings(people: u32) -> Ratings {
    let of = |person: u32| {
        (0..6)
            .map(move |at| (person * 7 + at * 5) % ITEMS as u32)
            .map(|item| (item, (item % 3) as f32))
    };
    (0..people).map(|person| of(person).collect()).collect()
}

fn settings() -> EngineSettings {
    let mut settings = EngineSettings::new("factors", Unit::User, 3.0, 1e-6);
    settings.training.batch = 100.0;
    settings.training.clip = 3.0;
    settings.training.optimizer = OptimizerSettings::Sgd { learning_rate: 1.0 };
    settings
}

fn finished(session: Session<Factors>) -> organza_train::Finished<(Vec<f32>, u64)> {
    match session.train(false, &mut ()).unwrap() {
        Ended::Finished(finished) => *finished,
        Ended::Interrupted { .. } => panic!("nobody interrupts"),
    }
}

fn purposes(path: &Path) -> Vec<String> {
    let charges = Replay::read(&path.join("ledger.jsonl")).unwrap().charges;
    let mut purposes: Vec<String> = charges.into_iter().map(|charge| charge.purpose).collect();
    purposes.dedup();
    purposes
}

#[test]
fn it_gets_all_that_makes_a_run() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let run = finished(Session::begin(settings(), &path).unwrap());
    let certificate = &run.certificate;
    assert!(certificate.private && certificate.epsilon == Some(3.0), "{certificate:?}");
    assert_eq!((certificate.method.as_ref(), certificate.unit), ("dpsgd", Unit::User));
    assert_eq!(
        certificate.conditions[0],
        "noise of how many rated the first item, the number of units exact: the law that is charged"
    );
    assert_eq!(certificate.public[0].name, "items");
    assert_eq!(purposes(&path), [RATED, "units", "training"]);
    let (first, last) = (run.curve.first().unwrap(), run.curve.last().unwrap());
    assert!(last.losses.train < 0.3 * first.losses.train, "{first:?} {last:?}");
    assert!(run.model.1.abs_diff(80) < 60, "{}", run.model.1);
    assert!(path.join("model.txt").exists() && !path.join("private").exists());
}

/// Stops after some steps.
struct Until(u64, bool);

impl Observer for Until {
    fn step(&mut self, done: u64, _: u64) {
        self.1 = done >= self.0;
    }

    fn point(&mut self, _: &Point) {}

    fn interrupted(&self) -> bool {
        self.1
    }
}

#[test]
fn it_goes_on_with_the_same_data_alone() {
    let place = tempfile::tempdir().unwrap();
    let [whole, parts] = ["whole", "parts"].map(|name| place.path().join(name));
    let seeded = EngineSettings { seed: Some(3), ..settings() };
    let whole = finished(Session::begin(seeded.clone(), &whole).unwrap()).model;
    let session = Session::<Factors>::begin(seeded, &parts).unwrap();
    let ended = session.train(false, &mut Until(17, false)).unwrap();
    assert!(matches!(ended, Ended::Interrupted { steps: 17 }));
    let others = Session::<Factors>::resume_with(&parts, None, |_| Ok(ratings(401)));
    assert!(matches!(others.err().unwrap(), SessionError::Changed(_)));
    assert_eq!(finished(Session::resume(&parts).unwrap()).model, whole);
}

#[test]
fn what_makes_no_sense_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    for change in [
        |it: &mut EngineSettings| it.privacy.delta = 2.0,
        |it: &mut EngineSettings| it.privacy.noise_multiplier = Some(1.0),
        |it: &mut EngineSettings| it.privacy.epsilon = Some(1e-9),
    ] {
        let mut settings = settings();
        change(&mut settings);
        assert!(Session::<Factors>::begin(settings, &path).is_err());
        assert!(!path.exists());
    }
}

#[test]
fn each_phase_says_how_its_noise_is_drawn() {
    let place = tempfile::tempdir().unwrap();
    let conditions = |name: &str, change: fn(&mut EngineSettings)| {
        let mut settings = EngineSettings { seed: Some(1), ..settings() };
        settings.training.steps = Some(3);
        change(&mut settings);
        finished(Session::begin(settings, &place.path().join(name)).unwrap()).certificate.conditions
    };
    let exact = |what: &str| format!("noise of {what} exact: the law that is charged");
    let steps = "noise of steps exact: real Gaussian, rounded to a grid".to_owned();
    let selection = "selection idealised: drawn in double precision".to_owned();
    let rated = "how many rated the first item";
    let declared = |it: &mut EngineSettings| it.privacy.units = Some(400);
    assert_eq!(conditions("declared", declared)[..2], [exact(rated), steps.clone()]);
    let selected = |it: &mut EngineSettings| it.steps = Some(Steps::Selected);
    let with_units = exact(&format!("{rated}, the number of units"));
    assert_eq!(conditions("selected", selected)[..3], [with_units, steps, selection]);
    let once = |it: &mut EngineSettings| it.steps = None;
    assert_eq!(conditions("once", once)[0], exact(rated));
    let plain = |it: &mut EngineSettings| it.private = false;
    assert!(conditions("plain", plain)[0].contains("there is no guarantee"));
}

/// The noise of a phase is the least at which all so far keep to their share; the twin, twice the share, would not.
#[test]
fn phases_keep_to_their_shares() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let run = finished(Session::begin(settings(), &path).unwrap());
    let Some(Event::Added { epsilon }) = run.certificate.events.first() else { panic!() };
    assert!((0.59..=0.6).contains(epsilon), "{epsilon}");
    assert!(2.0 * epsilon > 0.6);
}
