//! Embeddings of words by private steps (DP-SGD), with a certificate of what was spent.
#![allow(clippy::print_stdout)]

use organza::words::settings::{Method, Settings};
use organza::words::{Ended, Session};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut settings = Settings::standard().suited_to(Method::Dpsgd);
    settings.method = Method::Dpsgd;
    // Of the built-in corpus; `settings.data.path` takes a text of your own.
    settings.data.synthetic_lines = Some(2_000);
    settings.training.batch = 200.0;
    settings.training.steps = Some(200);
    settings.privacy.epsilon = Some(8.0);

    let folder = tempfile::tempdir()?;
    let session = Session::begin(settings, &folder.path().join("run"))?;
    let Ended::Finished(run) = session.train(false, &mut ())? else {
        unreachable!("nobody stops it")
    };
    println!("{} steps, epsilon {:?}", run.steps, run.certificate.epsilon);
    println!("{} words", run.model.vectors.words().len());
    assert!(run.certificate.private && run.certificate.epsilon <= Some(8.0));
    Ok(())
}
