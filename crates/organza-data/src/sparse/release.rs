//! The release of categories that may be secret.

use super::{Category, Columns, UnreleasedRows};
use organza_ledger::{Charge, Charged, Neighbouring, Unit};
use organza_mechanism::{
    Groups, ItemRule, ItemSettings, ItemsPlan, NotPaid, PlanError, RandomSource,
};

/// The part of delta that a category of one unit alone may show with.
const DELTA_SHARE: f64 = 0.05;
/// How many categories of a group count, for each private column.
const EACH_OF_GROUP: u64 = 16;
/// Up to so many categories of a unit Laplace noise on counts hides them at the lower threshold.
const FEW: u64 = 2;

/// Which categories of private columns a model may have: those that many units have.
///
/// # Privacy
/// A record has one category in each private column, so c is their number; of a group at most 16 for each column count, chosen by
/// randomness of the group's own. Names are shown by [`ItemsPlan`], where the mechanism and its proof stand, in the order of noisy
/// counts; its threshold takes a twentieth of delta. What follows depends on how many features come of it, so it is charged as what
/// decides. With the list a row's features depend on that row alone.
#[derive(Clone, Copy, Debug)]
pub struct CategoryRelease {
    /// What is protected as one.
    pub unit: Unit,
    /// Whether that is a group of rows, and not a row.
    pub by_group: bool,
    /// The relation that the promise is about.
    pub neighbouring: Neighbouring,
    /// The delta of the whole run.
    pub delta: f64,
}

impl CategoryRelease {
    /// The phase, and the purpose of the release.
    pub const PURPOSE: &str = "categories";
    /// The share of epsilon for it.
    pub const EPSILON_SHARE: f64 = 0.1;

    /// How it is done for these columns at a noise, by what is declared alone.
    ///
    /// # Errors
    /// If the noise makes no sense.
    pub fn plan(&self, columns: &Columns, noise: f64) -> Result<ItemsPlan, PlanError> {
        let columns = columns.private_columns();
        let items_per_unit = if self.by_group { EACH_OF_GROUP * columns } else { columns };
        let delta = DELTA_SHARE * self.delta;
        let rule = if items_per_unit <= FEW {
            ItemRule::Laplace { epsilon: 1.0 / noise, delta }
        } else {
            ItemRule::AdaptiveGaussian { multiplier: noise, delta }
        };
        let settings = ItemSettings { items_per_unit, neighbouring: self.neighbouring, rule };
        ItemsPlan::new(settings).map(ItemsPlan::deciding)
    }

    /// Releases the categories of a table's private columns. Gives the columns with them, and what is to be said about it.
    ///
    /// # Errors
    /// If the noise makes no sense, or the charge is refused.
    pub fn release<E: From<PlanError> + From<NotPaid>>(
        &self,
        table: &UnreleasedRows,
        groups: Option<&Groups>,
        noise: f64,
        source: &RandomSource,
        charge: impl FnOnce(Charge) -> Result<Charged, E>,
    ) -> Result<(Columns, String), E> {
        let plan = self.plan(table.columns(), noise)?;
        let release = plan.release(Self::PURPOSE, source);
        let paid = charge(release.charge())?;
        let mut counts = plan.counts::<Category<'_>>(release);
        match groups.filter(|_| self.by_group) {
            Some(groups) => {
                table.count_groups((0..groups.len()).map(|group| groups.units(group)), &mut counts);
            }
            None => table.count_records(&mut counts),
        }
        let noisy = counts.noise(paid)?;
        let columns = table.columns().with_categories(noisy.items().iter().map(|(item, _)| *item));
        let statement = format!(
            "{} private categories were released with noise and charged on the ledger: those with noisy counts from {:.1} on, \
             of each {}; all others share a feature",
            noisy.items().len(),
            plan.threshold(),
            self.unit,
        );
        Ok((columns, statement))
    }
}
