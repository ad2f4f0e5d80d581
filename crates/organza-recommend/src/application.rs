//! Recommenders as an application of the engine: two releases, and no steps.

use crate::events::{Events, read_items, read_titles};
use crate::fit::fit;
use crate::histories::Histories;
use crate::quality::{Quality, quality};
use crate::release::{Names, ReleasePlan};
use crate::saved::SavedRecommender;
use crate::settings::{NAMES_DELTA, Settings};
use crate::synthetic;
use organza_ledger::PublicFact;
use organza_mechanism::{Purpose, ReadRows, WriteRows};
use organza_train::{
    Application, Certificate, Failure, Losses, Phase, Releases, RunFolder, Start, Task, fingerprint,
};
use std::collections::HashMap;

/// The name of the phase, and of what it releases.
const RELEASE: &str = "release";
const RELEASES: [&str; 2] = ["item counts", "item pairs"];

/// Events, and whether the names of items are public.
#[derive(Clone, Debug)]
pub struct RecommenderData {
    /// What happened.
    pub events: Events,
    /// Whether the items were declared; otherwise which of them occur is private.
    pub declared: bool,
    /// Public titles of items.
    pub titles: HashMap<String, String>,
}

/// A recommender on events.
#[derive(Debug)]
pub struct RecommenderRun {
    nothing: NoSteps,
    saved: SavedRecommender,
    quality: Quality,
    left_out: u64,
}

/// What a finished run hands over.
#[derive(Clone, Debug)]
pub struct FittedRecommender {
    /// The model with the names of its items.
    pub saved: SavedRecommender,
    /// How good it is on the data that it was made of. *Not private.*
    pub quality: Quality,
}

impl RecommenderData {
    /// Histories over a declared catalogue, in memory.
    pub fn declared(histories: Histories, names: Vec<String>) -> Self {
        let events = Events { histories, names, left_out: 0 };
        Self { events, declared: true, titles: HashMap::new() }
    }
}

impl Application for RecommenderRun {
    type Settings = Settings;
    type Data = RecommenderData;
    type Task = NoSteps;
    type Model = FittedRecommender;

    fn read(settings: &Settings) -> Result<RecommenderData, Failure> {
        let catalogue = settings.items.as_deref().map(read_items).transpose()?;
        let titles = settings.titles.as_deref().map(read_titles).transpose()?.unwrap_or_default();
        Ok(match &settings.data {
            None => RecommenderData { titles, ..synthetic::shop() },
            Some(data) => {
                let declared = catalogue.is_some();
                RecommenderData { events: Events::read(data, catalogue)?, declared, titles }
            }
        })
    }

    fn fingerprint(data: &RecommenderData) -> Result<[u8; 32], Failure> {
        Ok(fingerprint(&(&data.events.histories, &data.events.names))?)
    }

    fn public_facts(_: &Settings, data: &RecommenderData) -> Result<Vec<PublicFact>, Failure> {
        let fact = |name: &str, value: String| PublicFact { name: name.to_owned(), value };
        let number = data.events.names.len();
        Ok(if data.declared {
            vec![fact("items", format!("{number} declared"))]
        } else {
            Vec::new()
        })
    }

    fn phases<'a>(
        settings: &'a Settings,
        data: &'a RecommenderData,
    ) -> Result<Vec<Phase<'a>>, Failure> {
        let declared = data.declared;
        Ok(vec![Phase {
            name: RELEASE,
            releases: RELEASES.to_vec(),
            until: 1.0,
            events: Box::new(move |noise| Ok(plan(settings, declared, noise)?.events()?)),
        }])
    }

    fn prepare(
        settings: &Settings,
        data: RecommenderData,
        releases: &mut Releases<'_>,
    ) -> Result<Self, Failure> {
        let noise =
            releases.noise(RELEASE).ok_or("a recommender without privacy has no release")?;
        let RecommenderData { events, declared, titles } = data;
        let Events { histories, names, left_out } = events;
        let plan = plan(settings, declared, noise)?;
        let source = releases.source().clone();
        let items = plan.release_items(&histories, &source, |charge| {
            releases.charge(charge).map_err(Failure::from)
        })?;
        let (items, released) = plan.release_pairs(&histories, items, &source, |charge| {
            releases.charge(charge).map_err(Failure::from)
        })?;
        let mut random = source.substream(Purpose::Initialisation, 0, 0);
        let (model, choice) = fit(&released, &mut random);
        let quality = quality(&histories, &items.items, &model);
        let title = |item: &u32| {
            let name = &names[*item as usize];
            (name.clone(), titles.get(name).cloned())
        };
        let (names, titles) = items.items.iter().map(title).unzip();
        let saved = SavedRecommender { model, names, titles, counts: items.counts, choice };
        Ok(Self { nothing: NoSteps, saved, quality, left_out })
    }

    fn task(&self) -> &NoSteps {
        &self.nothing
    }

    fn start(&self, _: &Settings, _: &mut Releases<'_>) -> Result<Start, Failure> {
        Ok(Start { parameters: vec![0.0], ..Start::default() })
    }

    fn not_private() -> impl Iterator<Item = &'static str> {
        [
            "summary.json: quality, remarks, timings, memory",
            "report.html, tables: what is marked there",
            "timings",
        ]
        .into_iter()
    }

    fn remarks(&self) -> Vec<String> {
        let left_out = self.left_out;
        let rows = (left_out > 0).then(|| {
            format!(
                "{left_out} rows were left out: no user, no item or none of the declared items, or a weight or time that is none"
            )
        });
        let none = (self.saved.model.items() == 0)
            .then(|| "no item stands out of the noise, so nothing can be recommended".to_owned());
        rows.into_iter().chain(none).collect()
    }

    fn finish(
        self,
        _: Vec<f32>,
        certificate: &Certificate,
        folder: Option<&RunFolder>,
    ) -> Result<FittedRecommender, Failure> {
        let Self { saved, quality, .. } = self;
        if let Some(folder) = folder {
            saved.write(folder, &certificate.metadata())?;
        }
        Ok(FittedRecommender { saved, quality })
    }
}

fn plan(settings: &Settings, declared: bool, noise: f64) -> Result<ReleasePlan, Failure> {
    let names = match declared {
        true => Names::Public,
        false => Names::Private { delta: NAMES_DELTA * settings.privacy.delta },
    };
    Ok(ReleasePlan::new(settings.rules, names, settings.neighbouring(), noise)?)
}

/// Nothing is trained by steps.
#[derive(Clone, Copy, Debug)]
pub struct NoSteps;

impl Task for NoSteps {
    /// The engine wants a table: a number that nobody reads.
    fn tables(&self) -> Vec<(u64, u64)> {
        vec![(1, 1)]
    }

    fn units(&self) -> u64 {
        0
    }

    fn gradient(&self, _: u64, _: &[u32], _: &dyn ReadRows, _: &mut dyn WriteRows) {}

    fn evaluate(&self, _: &dyn ReadRows) -> Losses {
        Losses { train: f64::NAN, validation: f64::NAN, test: f64::NAN }
    }
}

/// Fits a recommender to histories over a declared catalogue, in memory: items are named by their numbers.
///
/// # Errors
/// If settings make no sense.
pub fn fit_histories(
    histories: Histories,
    settings: Settings,
) -> Result<(FittedRecommender, Certificate), Failure> {
    let names = (0..histories.items()).map(|item| item.to_string()).collect();
    fit_data(RecommenderData::declared(histories, names), settings)
}

/// Fits a recommender in memory.
///
/// # Errors
/// If settings make no sense.
pub fn fit_data(
    data: RecommenderData,
    settings: Settings,
) -> Result<(FittedRecommender, Certificate), Failure> {
    let session = organza_train::Session::<RecommenderRun>::in_memory(settings, data)?;
    match session.train(false, &mut ())? {
        organza_train::Ended::Finished(finished) => Ok((finished.model, finished.certificate)),
        organza_train::Ended::Interrupted { .. } => Err("interrupted".into()),
    }
}
