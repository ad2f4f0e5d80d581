//! Any application, trained by one of the compared systems.

use super::selective::{SelectiveSchedule, SelectiveSgd};
use super::subspace::{PublicSubspace, Subspace};
use organza_ledger::{LedgerSettings, PublicFact};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::{Groups, ReadRows, WriteRows};
use organza_train::check::{at_least_one, positive};
use organza_train::settings::{EngineSettings, RunSettings, Steps};
use organza_train::{
    Application, Certificate, Failure, Losses, Phase, Refinement, Releases, RunFolder, Schedule,
    SettingError, Start, Task,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A task with samples that were declared public and are none of its units.
pub trait WithPublic: Task {
    /// The same model on public samples: its units are these samples, and all that it holds is public.
    type Public: Task + Clone + Send + Sync + 'static;

    /// Public samples, at most so many.
    ///
    /// # Errors
    /// If there are none.
    fn public(&self, most: u64) -> Result<Self::Public, Failure>;

    /// What they are, as certificate and ledger say it.
    fn public_samples() -> &'static str;
}

/// One of the systems that the paper compares itself with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedMethod {
    /// Selective SGD by the sparse vector technique.
    Selective(SelectiveSgd),
    /// DP-SGD on a subspace from public samples.
    Projected(PublicSubspace),
}

impl ComparedMethod {
    fn name(&self) -> &'static str {
        match self {
            Self::Selective(_) => "selective-sgd",
            Self::Projected(_) => "projected-dpsgd",
        }
    }
}

/// The settings of an application, whose steps are those of a compared system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "S: RunSettings", deny_unknown_fields)]
pub struct ComparedSettings<S> {
    /// Those of the application.
    pub of: S,
    /// Its steps.
    pub method: ComparedMethod,
}

impl<S: RunSettings> RunSettings for ComparedSettings<S> {
    fn engine(&self) -> EngineSettings {
        let mut engine = self.of.engine();
        engine.name[1] = self.method.name().into();
        engine.steps = Some(match self.method {
            ComparedMethod::Selective(_) => Steps::Selected,
            ComparedMethod::Projected(_) => Steps::Everywhere,
        });
        engine
    }

    fn ledger(&mut self) -> Option<&mut LedgerSettings> {
        self.of.ledger()
    }

    fn moved(&mut self, now: &Self) {
        self.of.moved(&now.of);
    }

    fn check(&self) -> Result<(), SettingError> {
        match self.method {
            ComparedMethod::Selective(SelectiveSgd { hits, bound, .. }) => {
                at_least_one("hits", hits)?;
                positive("bound", bound)?;
            }
            ComparedMethod::Projected(PublicSubspace { samples, dimensions, every }) => {
                at_least_one("samples", samples)?;
                at_least_one("dimensions", dimensions as u64)?;
                at_least_one("every", every)?;
            }
        }
        self.of.check()
    }
}

/// An application whose steps are those of a compared system. All else is as it was.
pub struct Compared<A: Application<Task: WithPublic> + Sync>(ComparedTask<A>);

/// The task of an application, with what the steps need beside it.
pub struct ComparedTask<A: Application<Task: WithPublic> + Sync> {
    application: A,
    subspace: Option<(PublicSubspace, Arc<<A::Task as WithPublic>::Public>)>,
}

impl<A: Application<Task: WithPublic> + Sync> Task for ComparedTask<A> {
    fn tables(&self) -> Vec<(u64, u64)> {
        self.application.task().tables()
    }

    fn dense_tables(&self) -> usize {
        self.application.task().dense_tables()
    }

    fn units(&self) -> u64 {
        self.application.task().units()
    }

    fn groups(&self) -> Option<Arc<Groups>> {
        self.application.task().groups()
    }

    fn draw(&self, unit: u64, random: &mut PrivateRandom, draw: &mut Vec<u32>) {
        self.application.task().draw(unit, random, draw);
    }

    fn reads(&self, unit: u64, draw: &[u32], visit: &mut dyn FnMut(u32)) {
        self.application.task().reads(unit, draw, visit);
    }

    fn gradient(
        &self,
        unit: u64,
        draw: &[u32],
        weights: &dyn ReadRows,
        gradient: &mut dyn WriteRows,
    ) {
        self.application.task().gradient(unit, draw, weights, gradient);
    }

    fn refinement(&self) -> Option<Box<dyn Refinement>> {
        let (settings, public) = self.subspace.as_ref()?;
        // Its tables have a shape: that was looked at before anything was charged.
        Some(Box::new(Subspace::new(public.as_ref().clone(), *settings).ok()?))
    }

    fn evaluate(&self, weights: &dyn ReadRows) -> Losses {
        self.application.task().evaluate(weights)
    }
}

impl<A: Application<Task: WithPublic> + Sync> Application for Compared<A> {
    type Settings = ComparedSettings<A::Settings>;
    type Data = A::Data;
    type Task = ComparedTask<A>;
    type Model = A::Model;

    fn read(settings: &Self::Settings) -> Result<A::Data, Failure> {
        A::read(&settings.of)
    }

    fn fingerprint(data: &A::Data) -> Result<[u8; 32], Failure> {
        A::fingerprint(data)
    }

    fn public_facts(settings: &Self::Settings, data: &A::Data) -> Result<Vec<PublicFact>, Failure> {
        let mut facts = A::public_facts(&settings.of, data)?;
        if let ComparedMethod::Projected(PublicSubspace { samples, .. }) = settings.method {
            let value = format!("at most {samples} {}", A::Task::public_samples());
            facts.push(PublicFact::new("public samples", value));
        }
        Ok(facts)
    }

    fn phases<'a>(
        settings: &'a Self::Settings,
        data: &'a A::Data,
    ) -> Result<Vec<Phase<'a>>, Failure> {
        A::phases(&settings.of, data)
    }

    fn prepare(
        settings: &Self::Settings,
        data: A::Data,
        releases: &mut Releases<'_>,
    ) -> Result<Self, Failure> {
        let application = A::prepare(&settings.of, data, releases)?;
        let subspace = match settings.method {
            ComparedMethod::Selective(_) => None,
            ComparedMethod::Projected(asked) => {
                let public = application.task().public(asked.samples)?;
                public.shape()?;
                Some((asked, Arc::new(public)))
            }
        };
        Ok(Self(ComparedTask { application, subspace }))
    }

    fn task(&self) -> &ComparedTask<A> {
        &self.0
    }

    fn own_units(&self) -> u64 {
        self.0.application.own_units()
    }

    fn schedule(
        &self,
        settings: &Self::Settings,
        units: u64,
    ) -> Result<Box<dyn Schedule + '_>, Failure> {
        let other = self.0.application.schedule(&settings.of, units)?;
        Ok(match settings.method {
            ComparedMethod::Projected(_) => other,
            ComparedMethod::Selective(selective) => {
                let (settings, shape) = (settings.engine(), self.0.shape()?);
                Box::new(SelectiveSchedule { selective, settings, shape, other })
            }
        })
    }

    fn first_files(&self, folder: &RunFolder) -> Result<(), Failure> {
        self.0.application.first_files(folder)
    }

    fn start(
        &self,
        settings: &Self::Settings,
        releases: &mut Releases<'_>,
    ) -> Result<Start, Failure> {
        self.0.application.start(&settings.of, releases)
    }

    fn not_private() -> impl Iterator<Item = &'static str> {
        A::not_private()
    }

    fn remarks(&self) -> Vec<String> {
        self.0.application.remarks()
    }

    fn certify(&self, settings: &Self::Settings, certificate: &mut Certificate) {
        self.0.application.certify(&settings.of, certificate);
        if let Some((_, public)) = &self.0.subspace {
            let samples = public.units();
            certificate.conditions.push(format!(
                "{samples} {} were declared public: gradients were projected on a subspace that they show, and nothing \
                 is promised to them",
                A::Task::public_samples()
            ));
        }
    }

    fn finish(
        self,
        parameters: Vec<f32>,
        certificate: &Certificate,
        folder: Option<&RunFolder>,
    ) -> Result<A::Model, Failure> {
        self.0.application.finish(parameters, certificate, folder)
    }
}
