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

/// Margins of so many models need no memory of their own.
const FEW: usize = 16;

/// Rows of linear models: one table, a coordinate a row with a value for each model, the intercept last.
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
    /// What classes are called, if they have names.
    pub(crate) classes: Vec<String>,
}

impl<'a> LinearTask<'a> {
    /// The rows of a fit with `features` features and these classes: of bounded norm, with bounded labels, unless it is without privacy.
    ///
    /// # Errors
    /// If a label is no finite number, and that is no secret.
    pub fn new(
        settings: &Settings,
        rows: Cow<'a, SparseRows>,
        features: u64,
        named: Option<Arc<Groups>>,
        classes: Vec<String>,
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
        let design = design.with_classes(classes.len());
        let (by_group, label_unit) = (settings.by_group(), settings.label_unit());
        Ok(Self { design, test: None, loss: settings.model, label_unit, named, by_group, classes })
    }

    /// The records of a unit.
    fn records(&self, unit: u64) -> impl Iterator<Item = usize> {
        let groups = self.named.as_deref().filter(|_| self.by_group);
        let own = groups.is_none().then_some(unit as usize);
        let named = groups.map_or(&[][..], |groups| groups.units(unit as usize));
        own.into_iter().chain(named.iter().map(|record| *record as usize))
    }

    /// The model with these coordinates, those of a column beside each other.
    pub(crate) fn model(&self, mut weights: Vec<f64>) -> LinearModel {
        weights.iter_mut().for_each(|weight| *weight *= self.label_unit);
        let (models, has_intercept) = (self.design.models(), self.design.intercept());
        let intercepts = match has_intercept {
            true => weights.split_off(weights.len().saturating_sub(models)),
            false => vec![0.0; models],
        };
        let (classes, bound) = (self.classes.clone(), self.design.bound());
        LinearModel { loss: self.loss, weights, intercepts, has_intercept, bound, classes }
    }
}

impl Task for LinearTask<'_> {
    fn tables(&self) -> Vec<(u64, u64)> {
        vec![(self.design.coordinates(), self.design.models() as u64)]
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
        let (mut few, mut many);
        let slopes = match self.design.models() {
            models @ ..=FEW => {
                few = [0.0; FEW];
                &mut few[..models]
            }
            models => {
                many = vec![0.0; models];
                &mut many[..]
            }
        };
        for record in self.records(unit) {
            slopes.fill(0.0);
            for (column, value) in self.design.entries(record) {
                let row = weights.row(column).iter();
                slopes.iter_mut().zip(row).for_each(|(sum, it)| *sum += f64::from(*it) * value);
            }
            for (model, slope) in slopes.iter_mut().enumerate() {
                let label = self.design.label(record, model) / self.label_unit;
                *slope = share * self.loss.slope(*slope, label);
            }
            for (column, value) in self.design.entries(record) {
                let row = gradient.row(column).iter_mut();
                row.zip(&*slopes).for_each(|(place, slope)| *place += (slope * value) as f32);
            }
        }
    }

    fn evaluate(&self, weights: &dyn ReadRows) -> Losses {
        let columns = 0..self.design.coordinates() as u32;
        let coordinates = columns.flat_map(|column| weights.row(column)).map(|it| f64::from(*it));
        let model = self.model(coordinates.collect());
        let test = self.test.as_ref().map_or(f64::NAN, |rows| mean_loss(&model, rows));
        Losses { train: mean_loss(&model, self.design.rows()), validation: f64::NAN, test }
    }
}
