//! Data that a program hands over, in place of a file that a flag names.

use organza_data::sparse::SparseRows;
use organza_data::table::Table;
use organza_recommend::Histories;
use organza_train::Failure;

/// Data that a program hands over; flags name it as `--data` [`HANDED_OVER`](organza_data::table::HANDED_OVER).
pub enum HandedData {
    /// Nothing: flags name files.
    Nothing,
    /// A table, whose columns flags name.
    Table(Table),
    /// What persons did with items of these names, which are public.
    Histories(Histories, Vec<String>),
    /// Rows with this many features.
    Rows(SparseRows, u64),
}

/// A kind of data that a command has no use for.
pub(crate) const OTHER: &str = "this command does not take data of this kind";

impl HandedData {
    /// Text: that of the table, or what the settings name.
    pub(crate) fn text(
        self,
        data: &organza_data::settings::DataSettings,
        unit: organza_ledger::Unit,
    ) -> Result<Box<dyn organza_data::TextSource>, Failure> {
        match self {
            Self::Nothing => Ok(data.source(unit)?),
            Self::Table(table) => Ok(data.handed_over(table)),
            Self::Histories(..) | Self::Rows(..) => Err(OTHER.into()),
        }
    }
}
