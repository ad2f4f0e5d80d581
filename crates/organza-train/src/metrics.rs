//! The learning curve: losses over steps, marked as what they are.

use crate::folder::{FolderError, RunFolder};
use crate::run::Observer;
use crate::task::Losses;
use serde::{Deserialize, Serialize};

const FILE: &str = "metrics.jsonl";

/// Losses after a number of steps. *Not private*: they come from the data without noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The steps that were made.
    pub step: u64,
    /// The losses.
    #[serde(flatten)]
    pub losses: Losses,
    /// The fields that come from the data without a charge.
    pub not_private: Vec<String>,
}

/// The curve of a run, in `metrics.jsonl` if there is a folder.
#[derive(Debug)]
pub(crate) struct Metrics<'a> {
    folder: Option<&'a RunFolder>,
    points: Vec<Point>,
}

impl<'a> Metrics<'a> {
    /// The curve up to `steps`; what was written after the checkpoint will be written again. Lines that
    /// cannot be read are gone for good: what is added stands on a line of its own.
    pub(crate) fn open(folder: Option<&'a RunFolder>, steps: u64) -> Result<Self, FolderError> {
        let mut points = folder.map(read).transpose()?.unwrap_or_default();
        points.retain(|point| point.step <= steps);
        let text: String = points.iter().map(|point| line(point) + "\n").collect();
        if let Some(folder) = folder
            && folder.file(FILE).exists()
        {
            folder.write(&folder.file(FILE), text.as_bytes())?;
        }
        Ok(Self { folder, points })
    }

    pub(crate) fn into_points(self) -> Vec<Point> {
        self.points
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    pub(crate) fn add(
        &mut self,
        step: u64,
        losses: Losses,
        observer: &mut dyn Observer,
    ) -> Result<(), FolderError> {
        let not_private = ["train", "validation", "test"].map(str::to_owned).to_vec();
        let point = Point { step, losses, not_private };
        if let Some(folder) = self.folder {
            folder.append(&folder.file(FILE), &line(&point))?;
        }
        observer.point(&point);
        self.points.push(point);
        Ok(())
    }
}

/// The curve of a run; a torn last line is left out.
///
/// # Errors
/// If the file is there and cannot be read.
pub fn read(folder: &RunFolder) -> Result<Vec<Point>, FolderError> {
    let bytes = folder.read(&folder.file(FILE))?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

fn line(point: &Point) -> String {
    serde_json::to_string(point).unwrap_or_default()
}
