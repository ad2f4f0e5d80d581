//! Whole runs of applications as victims.

use crate::words::PROMISED;
use organza_audit::attack::{Attack, Knowledge, Verdict, Victim};
use organza_train::{Application, Ended, Session};
use std::ops::Range;
use std::path::Path;

/// How often each victim is run.
const RUNS: u64 = 60;

/// Makes a run in `out`, and says how it ended.
pub(crate) fn ended<A: Application>(settings: A::Settings, out: &Path) -> Result<String, String> {
    let ended =
        Session::<A>::begin(settings, out).and_then(|session| session.train(false, &mut ()));
    match ended.map_err(|error| error.to_string())? {
        Ended::Finished(run) => {
            let spent = run.certificate.epsilon.expect("a private run");
            assert!(spent <= PROMISED.epsilon, "the certificate says {spent}");
            Ok("finished".to_owned())
        }
        Ended::Interrupted { .. } => Ok("interrupted".to_owned()),
    }
}

/// Attacks a victim whose rare rows are those of one unit alone.
pub(crate) fn attacked(name: &str, rare: Range<u32>, victim: &dyn Victim) -> Verdict {
    let place = tempfile::tempdir().expect("a folder");
    let knowledge = Knowledge::of_rows(rare);
    let attack = Attack { name: name.to_owned(), runs: RUNS, knowledge, promised: PROMISED };
    let verdict = attack.run(victim, place.path(), &|| ()).expect("an attack");
    eprintln!("{verdict}");
    verdict
}
