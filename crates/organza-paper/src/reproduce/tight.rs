//! The paper's method at the paper's budget, by an account that is tight: noise and selection are chosen
//! anew, so that epsilon 30 is spent and not merely stated.

use super::ReproduceError;
use super::nearest::Ended;
use super::plan::{Base, Change, SHARES};
use super::reproduction::Tight;
use organza_ledger::Event;
use organza_train::{Certificate, RunFolder};
use organza_words::suite::{Outcome, Suite};

/// Tries the shares that selection may have; the best on the validation set is also run with what the
/// search has changed.
pub(super) fn tight(
    base: &Base,
    suite: &Suite,
    nearest: Option<Change>,
) -> Result<Vec<Tight>, ReproduceError> {
    let runs = SHARES.map(|share| base.tight(share, Change::default()));
    let outcomes = suite.run(&runs)?;
    let mut all = Vec::new();
    for ((run, outcome), share) in runs.iter().zip(&outcomes).zip(SHARES) {
        all.push(read(suite, &run.name, outcome, share, Change::default())?);
    }
    let loss = |it: &Tight| it.ended.validation_loss;
    let best = (0..all.len()).min_by(|one, other| loss(&all[*one]).total_cmp(&loss(&all[*other])));
    let Some(best) = best else { return Ok(all) };
    all[best].chosen = true;
    let change = nearest.map(Change::without_selection).filter(|it| *it != Change::default());
    if let Some(change) = change {
        let run = base.tight(SHARES[best], change);
        let outcomes = suite.run(std::slice::from_ref(&run))?;
        for outcome in &outcomes {
            all.push(read(suite, &run.name, outcome, SHARES[best], change)?);
        }
    }
    Ok(all)
}

fn read(
    suite: &Suite,
    name: &str,
    outcome: &Outcome,
    share: f64,
    change: Change,
) -> Result<Tight, ReproduceError> {
    let (mut noise_multiplier, mut selection_epsilon) = (None, None);
    for event in events_of(suite, name)? {
        look(&event, &mut |part| match part {
            Event::Gaussian { noise_multiplier: found } => noise_multiplier = Some(*found),
            Event::Exponential { epsilon, .. } => selection_epsilon = Some(*epsilon),
            _ => {}
        });
    }
    let setting = change.to_string();
    let ended = Ended::new(outcome);
    let chosen = false;
    Ok(Tight { share, setting, chosen, noise_multiplier, selection_epsilon, ended })
}

/// What a run has released, as its certificate has it.
pub(super) fn events_of(suite: &Suite, name: &str) -> Result<Vec<Event>, ReproduceError> {
    let folder = RunFolder::open(&suite.path(name))?;
    let path = folder.file("certificate.json");
    let bytes = folder.read(&path)?.unwrap_or_default();
    let certificate: Certificate = serde_json::from_slice(&bytes).map_err(|source| {
        ReproduceError::Certificate { path: path.display().to_string(), source }
    })?;
    Ok(certificate.events)
}

/// Shows an event and all that is inside it.
pub(super) fn look(event: &Event, see: &mut dyn FnMut(&Event)) {
    see(event);
    event.parts().into_iter().for_each(|part| look(part, see));
}
