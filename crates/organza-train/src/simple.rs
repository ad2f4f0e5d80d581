//! The smallest application: a task, and nothing else.

use crate::application::{Application, Failure, Start};
use crate::books::Releases;
use crate::certificate::Certificate;
use crate::export::header;
use crate::fingerprint::fingerprint;
use crate::folder::RunFolder;
use crate::settings::EngineSettings;
use crate::task::Task;
use organza_mechanism::Purpose;
use organza_mechanism::sample::fill_normal_f32;
use serde::Serialize;
use std::io::Write;

/// The deviation of the first parameters.
const DEVIATION: f32 = 0.3;

/// A task whose data is in memory, with nothing to release before its steps. Its first parameters are normal with
/// deviation 0.3; a finished run writes them as `model.safetensors`, a tensor for each table, and hands them over.
#[derive(Clone, Debug)]
pub struct Simple<T>(T);

impl<T: Task + Serialize> Application for Simple<T> {
    type Settings = EngineSettings;
    type Data = T;
    type Task = T;
    type Model = Vec<f32>;

    fn read(_: &EngineSettings) -> Result<T, Failure> {
        Err("the data is in memory: hand it over by `Session::begin_with` or `resume_with`".into())
    }

    fn fingerprint(task: &T) -> Result<[u8; 32], Failure> {
        Ok(fingerprint(task)?)
    }

    fn prepare(_: &EngineSettings, task: T, _: &mut Releases<'_>) -> Result<Self, Failure> {
        Ok(Self(task))
    }

    fn task(&self) -> &T {
        &self.0
    }

    fn start(&self, _: &EngineSettings, releases: &mut Releases<'_>) -> Result<Start, Failure> {
        let count: u64 = self.0.tables().iter().map(|(rows, dimensions)| rows * dimensions).sum();
        let mut parameters = vec![0.0; usize::try_from(count)?];
        let mut random = releases.source().substream(Purpose::Initialisation, 0, 0);
        fill_normal_f32(&mut parameters, &mut random);
        parameters.iter_mut().for_each(|value| *value *= DEVIATION);
        Ok(Start { parameters, ..Start::default() })
    }

    fn finish(
        self,
        parameters: Vec<f32>,
        certificate: &Certificate,
        folder: Option<&RunFolder>,
    ) -> Result<Vec<f32>, Failure> {
        let Some(folder) = folder else { return Ok(parameters) };
        let header = header(&self.0.tables(), &certificate.metadata());
        folder.write_with(&folder.file("model.safetensors"), |file| {
            file.write_all(&header)?;
            parameters.iter().try_for_each(|value| file.write_all(&value.to_le_bytes()))
        })?;
        Ok(parameters)
    }
}
