//! What a run writes before it releases anything: its folder, its ledger, its place on the ledger of the data set.

use crate::folder::RunFolder;
use crate::phases::Calibrated;
use crate::purse::Purse;
use crate::run::RunError;
use crate::session::SessionError;
use crate::settings::EngineSettings;
use organza_accountant::Accountant;
use organza_ledger::{
    Budget, BudgetError, Charge, Charged, DataSetError, Event, Header, Ledger, Reserved, TornLine,
};
use organza_mechanism::{NoisyCount, NotPaid, RandomSource};
use std::path::PathBuf;

pub(crate) const LEDGER: &str = "ledger.jsonl";
pub(crate) const SETTINGS: &str = "settings.json";
pub(crate) const STATE: &str = "state.json";
/// The purpose under which the number of units is charged and drawn.
pub(crate) const UNITS: &str = "units";
/// The share of the budget for releasing the number of units.
const COUNT_SHARE: f64 = 0.01;
/// What releasing the number of units costs where there is no budget.
const COUNT_EPSILON: f64 = 0.01;

/// The books of a run. They are opened by its first charge, or else when it has a plan: settings that give none leave
/// nothing behind.
pub(crate) struct Books {
    settings: EngineSettings,
    source: RandomSource,
    place: Place,
}

enum Place {
    /// Nothing is written yet.
    Closed(FirstFiles),
    Open(Box<OpenBooks>),
}

struct OpenBooks {
    folder: Option<RunFolder>,
    /// None without privacy.
    purse: Option<Purse>,
    torn: Option<TornLine>,
    reserved: Option<Reserved>,
}

/// What a new run will write first.
pub(crate) struct FirstFiles {
    /// None for a run in memory, which writes nothing.
    pub(crate) path: Option<PathBuf>,
    pub(crate) header: Header,
    /// The private `state.json`; none for a run that cannot go on.
    pub(crate) state: Option<String>,
    /// The public `settings.json`.
    pub(crate) settings: String,
}

impl Books {
    /// The books of a run that begins.
    pub(crate) fn closed(
        settings: EngineSettings,
        source: RandomSource,
        files: FirstFiles,
    ) -> Result<Self, SessionError> {
        // A budget that makes no sense is refused before anything is written.
        budget(&settings)?;
        Ok(Self { settings, source, place: Place::Closed(files) })
    }

    /// The books of a run that goes on, if its ledger was begun with this header.
    pub(crate) fn reopened(
        settings: EngineSettings,
        source: RandomSource,
        folder: RunFolder,
        header: &Header,
    ) -> Result<Self, SessionError> {
        let (purse, torn) = match settings.private {
            false => (None, None),
            true => {
                let (ledger, torn) = Ledger::open(&folder.file(LEDGER))?;
                if ledger.header() != header {
                    return Err(SessionError::Changed(format!(
                        "{}: the settings are not those that the ledger was begun with",
                        folder.path().display()
                    )));
                }
                (Some(purse(&settings, ledger)?), torn)
            }
        };
        let reserved = reserve(&settings, &source)?;
        let place =
            Place::Open(Box::new(OpenBooks { folder: Some(folder), purse, torn, reserved }));
        Ok(Self { settings, source, place })
    }

    /// Writes what is not written yet.
    ///
    /// # Privacy
    /// A folder with settings is one that can go on, so these are written last. A run that is killed before it has its
    /// place on the ledger of the data set takes it when it goes on; one that is refused it leaves nothing.
    pub(crate) fn open(&mut self) -> Result<Option<&RunFolder>, SessionError> {
        if let Place::Closed(FirstFiles { path, header, state, settings }) = &self.place {
            let folder = path.as_deref().map(RunFolder::create).transpose()?;
            if let (Some(folder), Some(state)) = (&folder, state) {
                folder.write(&folder.private(STATE), state.as_bytes())?;
            }
            let purse = match (self.settings.private, &folder) {
                (false, _) => None,
                (true, Some(folder)) => {
                    let ledger = Ledger::create(&folder.file(LEDGER), header.clone())?;
                    Some(purse(&self.settings, ledger)?)
                }
                (true, None) => Some(purse(&self.settings, Ledger::in_memory(header.clone())?)?),
            };
            if let Some(folder) = &folder {
                folder.write(&folder.file(SETTINGS), settings.as_bytes())?;
            }
            let reserved = match reserve(&self.settings, &self.source) {
                Ok(reserved) => reserved,
                Err(refused) => {
                    folder.map(|folder| folder.discard()).transpose()?;
                    return Err(refused.into());
                }
            };
            self.place = Place::Open(Box::new(OpenBooks { folder, purse, torn: None, reserved }));
        }
        Ok(self.opened()?.folder.as_ref())
    }

    fn opened(&mut self) -> Result<&mut OpenBooks, SessionError> {
        match &mut self.place {
            Place::Open(opened) => Ok(opened),
            Place::Closed(_) => Err(RunError::NoPurse.into()),
        }
    }

    /// The folder, and what pays: nothing without privacy.
    pub(crate) fn purse(
        &mut self,
    ) -> Result<(Option<&RunFolder>, Option<&mut Purse>), SessionError> {
        self.open()?;
        let OpenBooks { folder, purse, .. } = self.opened()?;
        Ok((folder.as_ref(), purse.as_mut()))
    }

    /// Where the run draws from.
    pub(crate) fn source(&self) -> &RandomSource {
        &self.source
    }

    /// Lines that were torn when a run was killed, and were cut off: of the ledger of the run, and of that of the
    /// data set.
    pub(crate) fn torn(&self) -> impl Iterator<Item = &TornLine> {
        let opened = match &self.place {
            Place::Open(opened) => Some(opened),
            Place::Closed(_) => None,
        };
        opened.into_iter().flat_map(|opened| {
            let shared = opened.reserved.iter().flat_map(|reserved| &reserved.torn);
            opened.torn.iter().chain(shared)
        })
    }

    /// What has paid; nothing without privacy.
    pub(crate) fn paid(&self) -> Option<&Purse> {
        match &self.place {
            Place::Open(opened) => opened.purse.as_ref(),
            Place::Closed(_) => None,
        }
    }

    /// Whether something was charged under the name of `purpose`, by this process or one before it.
    pub(crate) fn has_paid(&self, purpose: &str) -> bool {
        let charges = self.paid().map(|purse| purse.ledger().charges()).unwrap_or_default();
        charges.iter().any(|charge| charge.purpose == purpose)
    }

    /// The place on the ledger of the data set, if the run is on one.
    pub(crate) fn reserved(&self) -> Option<&Reserved> {
        match &self.place {
            Place::Open(opened) => opened.reserved.as_ref(),
            Place::Closed(_) => None,
        }
    }
}

fn budget(settings: &EngineSettings) -> Result<Budget, BudgetError> {
    let privacy = &settings.privacy;
    // Where only noise was given there is no budget to keep to: the run may spend what that noise costs, and the
    // certificate says what it came to.
    let epsilon = privacy.epsilon.unwrap_or(f64::MAX);
    Budget::new(epsilon, privacy.delta, privacy.neighbouring)
}

fn purse(settings: &EngineSettings, ledger: Ledger) -> Result<Purse, BudgetError> {
    let account = Accountant::new(settings.privacy.neighbouring);
    Ok(Purse::new(ledger, budget(settings)?, account))
}

/// Takes the place of the run with this key on the ledger of its data set, or finds it again. Nothing may be released
/// before.
fn reserve(
    settings: &EngineSettings,
    source: &RandomSource,
) -> Result<Option<Reserved>, DataSetError> {
    match (&settings.ledger, settings.share()) {
        (Some(ledger), Some(share)) => ledger.reserve(&share, source.fingerprint()).map(Some),
        _ => Ok(None),
    }
}

/// What an application releases by: the noise of its phases, what pays for them, and where they draw from.
pub struct Releases<'a> {
    books: &'a mut Books,
    phases: &'a [Calibrated],
    before: Vec<Event>,
}

impl<'a> Releases<'a> {
    pub(crate) fn new(books: &'a mut Books, phases: &'a [Calibrated]) -> Self {
        let before = phases.iter().flat_map(|phase| phase.events.clone()).collect();
        Self { books, phases, before }
    }

    /// The noise of a phase that the application named, at which all phases keep to their shares; none if it did not.
    pub fn noise(&self, phase: &str) -> Option<f64> {
        self.phases.iter().find(|calibrated| calibrated.name == phase).map(|it| it.noise)
    }

    /// Where everything random comes from: the key of the run.
    pub fn source(&self) -> &RandomSource {
        self.books.source()
    }

    /// Charges for a release, before it is drawn. With the same key it is the same release again, which costs nothing.
    ///
    /// # Errors
    /// If the budget does not allow for it, the ledger cannot be written, or the run is not private.
    pub fn charge(&mut self, charge: Charge) -> Result<Charged, SessionError> {
        if let Some(exchange) = self.source().exchange()
            && !exchange.may_charge(&charge.purpose)
        {
            // Its shards are counted first: without their sums there is nothing to pay for.
            return Err(RunError::from(NotPaid::Elsewhere { purpose: charge.purpose }).into());
        }
        let (_, purse) = self.books.purse()?;
        Ok(purse.ok_or(RunError::NoPurse)?.charge(charge)?)
    }

    /// The number of units, of which `own` are somebody's: declared, the same in all neighbouring data sets, or released
    /// with a charge. The engine asks where there are steps; an application without any may ask once.
    ///
    /// # Errors
    /// As [`Releases::charge`].
    pub fn units(&mut self, own: u64) -> Result<u64, SessionError> {
        let EngineSettings { privacy, private, units_are_public, added_units, .. } =
            self.books.settings.clone();
        let units = match privacy.units {
            Some(declared) => declared,
            None if !private || units_are_public => own,
            None => {
                let epsilon = privacy.epsilon.map_or(COUNT_EPSILON, |all| COUNT_SHARE * all);
                let count = NoisyCount::new(epsilon, privacy.neighbouring)?;
                let release = count.release(UNITS, self.source());
                let paid = self.charge(release.charge())?;
                self.before.push(count.event());
                count.noise(own, &release, paid).map_err(RunError::from)?
            }
        };
        Ok(units.saturating_add(added_units))
    }

    /// What is charged before the first step: all phases, and the number of units once it was asked for.
    pub fn before(&self) -> &[Event] {
        &self.before
    }
}
