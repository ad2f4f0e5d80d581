//! Data that a program hands over, in place of a file that a flag names.

use organza_clicks::ClickData;
use organza_data::sparse::SparseRows;
use organza_data::table::Table;
use organza_erm::LinearData;
use organza_recommend::{Histories, RecommenderData};
use organza_train::{Application, Failure};

/// Data that a program hands over; flags name it as `--data` [`HANDED_OVER`](organza_data::table::HANDED_OVER).
pub enum Handed {
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
const OTHER: &str = "this command does not take data of this kind";

impl Handed {
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

    /// Events: those of the table or of the matrix, or what the settings name.
    pub(crate) fn events(
        self,
        settings: &organza_recommend::Settings,
    ) -> Result<RecommenderData, Failure> {
        match (self, &settings.data) {
            (Self::Table(table), Some(data)) => RecommenderData::of_table(settings, data, &table),
            (Self::Histories(histories, names), _) => {
                RecommenderData::declared(histories, names).with_titles(settings)
            }
            (Self::Nothing, _) => organza_recommend::RecommenderRun::read(settings),
            _ => Err(OTHER.into()),
        }
    }

    /// Clicks: the rows of the table, or what the settings name.
    pub(crate) fn clicks(self, settings: &organza_clicks::Settings) -> Result<ClickData, Failure> {
        match self {
            Self::Nothing => ClickData::read(settings),
            Self::Table(table) => ClickData::of_table(settings, &table),
            Self::Histories(..) | Self::Rows(..) => Err(OTHER.into()),
        }
    }

    /// Rows: those of the table or of the matrix, or what the settings name.
    pub(crate) fn rows(
        self,
        settings: &organza_erm::Settings,
    ) -> Result<LinearData<'static>, Failure> {
        Ok(match self {
            Self::Nothing => LinearData::read(settings)?,
            Self::Table(table) => LinearData::of_table(settings, &table)?,
            Self::Rows(rows, features) => LinearData::owned(settings, rows, features)?,
            Self::Histories(..) => return Err(OTHER.into()),
        })
    }
}
