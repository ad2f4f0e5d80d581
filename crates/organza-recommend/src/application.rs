//! Recommenders as an application of the engine: what is released, and, for one method, steps.

use crate::events::{Events, read_items, read_titles};
use crate::fit::{Choice, fit};
use crate::histories::Histories;
use crate::method::dpsgd::Factorisation;
use crate::method::{als, covariance, plain, popularity};
use crate::model::Recommender;
use crate::quality::{Quality, quality};
use crate::release::{Names, NoisyItems, ReleasePlan, Rules};
use crate::saved::SavedRecommender;
use crate::settings::{EventSettings, Method, NAMES_DELTA, Settings};
use crate::synthetic;
use organza_data::Shard;
use organza_data::table::Table;
use organza_ledger::PublicFact;
use organza_mechanism::Purpose;
use organza_progress::{Size, Stage};
use organza_train::{
    Application, Certificate, Failure, Phase, Releases, RunFolder, Start, fingerprint,
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

/// A model, and how it was chosen, where there was a choice.
type Made = (Recommender, Option<Choice>);

/// A recommender on events.
#[derive(Debug)]
pub struct RecommenderRun {
    task: Factorisation,
    histories: Histories,
    items: NoisyItems,
    /// None if steps make it.
    made: Option<Made>,
    names: Vec<String>,
    titles: Vec<Option<String>>,
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
    /// The events in a table.
    ///
    /// # Errors
    /// If it cannot be read or lacks a column, or a file of items or titles cannot be read.
    pub fn of_table(
        settings: &Settings,
        data: &EventSettings,
        table: &Table,
    ) -> Result<Self, Failure> {
        Self::of_shard(settings, data, table, None)
    }

    /// The same for the persons of a shard alone, if one is named.
    ///
    /// # Errors
    /// As [`RecommenderData::of_table`], and if a row is of another shard, where that is refused.
    pub fn of_shard(
        settings: &Settings,
        data: &EventSettings,
        table: &Table,
        shard: Option<Shard>,
    ) -> Result<Self, Failure> {
        let catalogue = settings.items.as_deref().map(read_items).transpose()?;
        let declared = catalogue.is_some();
        let titles = Self::titles(settings)?;
        Ok(Self { events: Events::of_shard(table, data, catalogue, shard)?, declared, titles })
    }

    /// The same with the titles that the settings name.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn with_titles(self, settings: &Settings) -> Result<Self, Failure> {
        Ok(Self { titles: Self::titles(settings)?, ..self })
    }

    fn titles(settings: &Settings) -> Result<HashMap<String, String>, Failure> {
        Ok(settings.titles.as_deref().map(read_titles).transpose()?.unwrap_or_default())
    }

    /// Histories over a declared catalogue, in memory.
    pub fn declared(histories: Histories, names: Vec<String>) -> Self {
        let events = Events { histories, names, left_out: 0 };
        Self { events, declared: true, titles: HashMap::new() }
    }
}

impl Application for RecommenderRun {
    type Settings = Settings;
    type Data = RecommenderData;
    type Task = Factorisation;
    type Model = FittedRecommender;

    fn read(settings: &Settings) -> Result<RecommenderData, Failure> {
        match &settings.data {
            None => {
                let titles = RecommenderData::titles(settings)?;
                Ok(RecommenderData { titles, ..synthetic::shop() })
            }
            Some(data) => {
                RecommenderData::of_table(settings, data, &Table::open(&data.path, data.format)?)
            }
        }
    }

    fn nobody(settings: &Settings) -> Result<RecommenderData, Failure> {
        if settings.data.is_none() {
            return Err(
                "the built-in shop is made in one place: shards are of data of your own".into()
            );
        }
        if settings.method == Method::Als {
            return Err(
                "--method als cannot be made of shards: take spectrum, covariance or popularity"
                    .into(),
            );
        }
        let catalogue = settings.items.as_deref().map(read_items).transpose()?;
        let declared = catalogue.is_some();
        let titles = RecommenderData::titles(settings)?;
        Ok(RecommenderData { events: Events::of_nobody(catalogue)?, declared, titles })
    }

    fn fingerprint(data: &RecommenderData) -> Result<[u8; 32], Failure> {
        Ok(fingerprint(&(&data.events.histories, &data.events.names))?)
    }

    fn public_facts(_: &Settings, data: &RecommenderData) -> Result<Vec<PublicFact>, Failure> {
        let number = data.events.names.len();
        let items = data.declared.then(|| PublicFact::new("items", format!("{number} declared")));
        Ok(items.into_iter().collect())
    }

    fn phases<'a>(
        settings: &'a Settings,
        data: &'a RecommenderData,
    ) -> Result<Vec<Phase<'a>>, Failure> {
        let declared = data.declared;
        let method = settings.method;
        let releases = match method {
            Method::Popularity | Method::Dpsgd => &RELEASES[..1],
            Method::Als => &[RELEASES[0], "item factors"],
            _ => &RELEASES,
        };
        Ok(vec![Phase {
            name: RELEASE,
            releases: releases.to_vec(),
            until: if method == Method::Dpsgd { settings.rules.item_share } else { 1.0 },
            events: Box::new(move |noise| {
                let plan = plan(settings, declared, noise)?;
                let mut events = vec![plan.item_event()?];
                match method {
                    Method::Spectrum | Method::Covariance => events.push(plan.pair_event()?),
                    Method::Als => {
                        events.push(als::event(settings.neighbouring(), plan.rest_noise())?);
                    }
                    _ => {}
                }
                Ok(events)
            }),
        }])
    }

    fn prepare(
        settings: &Settings,
        data: RecommenderData,
        releases: &mut Releases<'_>,
    ) -> Result<Self, Failure> {
        let RecommenderData { events, declared, titles } = data;
        let Events { mut histories, mut names, left_out } = events;
        let (items, made) = match releases.noise(RELEASE) {
            None => {
                let most = settings.rules.most_items;
                let (items, model) = plain::fit(&histories, settings.method, most);
                (items, Some((model, None)))
            }
            Some(noise) => {
                release(settings, (&mut histories, &mut names), declared, noise, releases)?
            }
        };
        let task = match made {
            None => Factorisation::new(&histories, &items),
            Some(_) => Factorisation::default(),
        };
        let title = |item: &u32| {
            let name = &names[*item as usize];
            (name.clone(), titles.get(name).cloned())
        };
        let (names, titles) = items.items.iter().map(title).unzip();
        Ok(Self { task, histories, items, made, names, titles, left_out })
    }

    fn task(&self) -> &Factorisation {
        &self.task
    }

    fn start(&self, _: &Settings, releases: &mut Releases<'_>) -> Result<Start, Failure> {
        let mut random = releases.source().substream(Purpose::Initialisation, 0, 0);
        Ok(Start { parameters: self.task.start(&mut random), ..Start::default() })
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
                "{left_out} rows were left out: no user, no item or none of the declared items, or no valid weight or time"
            )
        });
        let none = self
            .names
            .is_empty()
            .then(|| "no item stands out of the noise, so nothing can be recommended".to_owned());
        rows.into_iter().chain(none).collect()
    }

    fn finish(
        self,
        parameters: Vec<f32>,
        certificate: &Certificate,
        folder: Option<&RunFolder>,
    ) -> Result<FittedRecommender, Failure> {
        let Self { task, histories, items, made, names, titles, .. } = self;
        let (model, choice) = made.unwrap_or_else(|| (task.model(&parameters), None));
        let quality = quality(&histories, &items.items, &model);
        let saved = SavedRecommender { model, names, titles, counts: items.counts, choice };
        if let Some(folder) = folder {
            saved.write(folder, &certificate.metadata())?;
        }
        Ok(FittedRecommender { saved, quality })
    }
}

/// What is released before any step, and the model that is made of it; none if steps make it.
fn release(
    settings: &Settings,
    (histories, names): (&mut Histories, &mut Vec<String>),
    declared: bool,
    noise: f64,
    releases: &mut Releases<'_>,
) -> Result<(NoisyItems, Option<Made>), Failure> {
    let plan = plan(settings, declared, noise)?;
    let source = releases.source().clone();
    let mut charge = |charge| releases.charge(charge).map_err(Failure::from);
    let items = plan.kept(plan.release_items(histories, names, &source, &mut charge)?);
    histories.widen(names.len());
    let histories = &*histories;
    let mut random = source.substream(Purpose::Initialisation, 0, 0);
    let made = match settings.method {
        Method::Popularity => Some((popularity(&items), None)),
        Method::Covariance => {
            let released = plan.release_pairs(histories, &items, true, &source, charge)?;
            Some((covariance::fit(&items, &released), None))
        }
        Method::Als => {
            let noise = (settings.neighbouring(), plan.rest_noise());
            Some((als::fit(histories, &items, noise, &source, &mut random, charge)?, None))
        }
        Method::Dpsgd => None,
        Method::Spectrum | Method::Ease | Method::LowRank => {
            let released = plan.release_pairs(histories, &items, false, &source, charge)?;
            let _stage = Stage::begin("choosing a model", Size::Unknown);
            let (model, choice) = fit(&released, &mut random);
            Some((model, Some(choice)))
        }
    };
    Ok((items, made))
}

fn plan(settings: &Settings, declared: bool, noise: f64) -> Result<ReleasePlan, Failure> {
    let names = match declared {
        true => Names::Public,
        false => Names::Private { delta: NAMES_DELTA * settings.privacy.delta },
    };
    // The noise of counts that nothing follows is all there is; steps have a part of the budget of their own.
    let rules = match settings.method {
        Method::Popularity | Method::Dpsgd => Rules { item_share: 1.0, ..settings.rules },
        _ => settings.rules,
    };
    Ok(ReleasePlan::new(rules, names, settings.neighbouring(), noise)?)
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
    let finished = crate::Session::fit(settings, data)?;
    Ok((finished.model, finished.certificate))
}
