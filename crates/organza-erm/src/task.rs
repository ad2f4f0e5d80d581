//! The gradient of a record, or of a group of them.

use crate::data::FitError;
use crate::design::Design;
use crate::loss::Loss;
use crate::model::LinearModel;
use crate::score::mean_loss;
use crate::settings::{Method, Settings};
use organza_data::sparse::SparseRows;
use organza_mechanism::Groups;
use organza_train::{Losses, ReadRows, Task, WriteRows};
use std::borrow::Cow;
use std::sync::Arc;

/// Rows of a linear model: one table, a coordinate a row, the intercept last.
#[derive(Debug)]
pub struct LinearTask<'a> {
    pub(crate) design: Design<'a>,
    pub(crate) test: Option<SparseRows>,
    pub(crate) loss: Loss,
    /// What labels are divided by; weights are in this unit until a model is made of them.
    pub(crate) label_unit: f64,
    /// The groups that rows name.
    pub(crate) named: Option<Arc<Groups>>,
    /// Whether the unit is a group, with its mean gradient.
    pub(crate) by_group: bool,
}

impl<'a> LinearTask<'a> {
    /// The rows of a fit with `features` features: of bounded norm, with bounded labels, unless it is without privacy.
    ///
    /// # Errors
    /// If a label is no finite number, and that is no secret.
    pub fn new(
        settings: &Settings,
        rows: Cow<'a, SparseRows>,
        features: u64,
        named: Option<Arc<Groups>>,
    ) -> Result<Self, FitError> {
        let design = match settings.method {
            Method::None => {
                let mut labels = (1..).zip(rows.iter().map(|row| row.label));
                if let Some((row, label)) = labels.find(|(_, label)| !label.is_finite()) {
                    return Err(FitError::Label { row, label });
                }
                drop(labels);
                Design::new(rows, features, settings.row_bound(), settings.intercept)
            }
            _ => Design::bounded(rows, features, settings.model, &settings.input()),
        };
        let (by_group, label_unit) = (settings.by_group(), settings.label_unit());
        Ok(Self { design, test: None, loss: settings.model, label_unit, named, by_group })
    }

    /// The records of a unit.
    fn records(&self, unit: u64) -> impl Iterator<Item = usize> {
        let groups = self.named.as_deref().filter(|_| self.by_group);
        let own = groups.is_none().then_some(unit as usize);
        let named = groups.map_or(&[][..], |groups| groups.units(unit as usize));
        own.into_iter().chain(named.iter().map(|record| *record as usize))
    }

    /// The model with these coordinates.
    pub(crate) fn model(&self, mut weights: Vec<f64>) -> LinearModel {
        weights.iter_mut().for_each(|weight| *weight *= self.label_unit);
        let has_intercept = self.design.intercept();
        let intercept = if has_intercept { weights.pop().unwrap_or(0.0) } else { 0.0 };
        LinearModel {
            loss: self.loss,
            weights,
            intercept,
            has_intercept,
            bound: self.design.bound(),
        }
    }
}

impl Task for LinearTask<'_> {
    fn tables(&self) -> Vec<(u64, u64)> {
        vec![(self.design.coordinates(), 1)]
    }

    fn units(&self) -> u64 {
        let groups = self.named.as_deref().filter(|_| self.by_group);
        groups.map_or(self.design.len(), Groups::len) as u64
    }

    fn groups(&self) -> Option<Arc<Groups>> {
        self.named.clone().filter(|_| !self.by_group)
    }

    fn reads(&self, unit: u64, _: &[u32], visit: &mut dyn FnMut(u32)) {
        for record in self.records(unit) {
            self.design.entries(record).for_each(|(column, _)| visit(column));
        }
    }

    fn gradient(&self, unit: u64, _: &[u32], weights: &dyn ReadRows, gradient: &mut dyn WriteRows) {
        // A rule that sees this unit alone.
        let share = 1.0 / self.records(unit).count().max(1) as f64;
        for record in self.records(unit) {
            let weight = |column| weights.row(column).first().map_or(0.0, |it| f64::from(*it));
            let entries = self.design.entries(record);
            let margin: f64 = entries.map(|(column, value)| weight(column) * value).sum();
            let label = self.design.label(record) / self.label_unit;
            let slope = share * self.loss.slope(margin, label);
            for (column, value) in self.design.entries(record) {
                if let Some(place) = gradient.row(column).first_mut() {
                    *place += (slope * value) as f32;
                }
            }
        }
    }

    fn evaluate(&self, weights: &dyn ReadRows) -> Losses {
        let column =
            |column: u64| weights.row(column as u32).first().map_or(0.0, |it| f64::from(*it));
        let model = self.model((0..self.design.coordinates()).map(column).collect());
        let test = self.test.as_ref().map_or(f64::NAN, |rows| mean_loss(&model, rows));
        Losses { train: mean_loss(&model, self.design.rows()), validation: f64::NAN, test }
    }
}
