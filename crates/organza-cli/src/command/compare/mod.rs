//! `organza compare`: methods beside each other, at equal privacy.

mod comparison;

use super::train::{BudgetAndMethod, Options};
use crate::names::method_parser;
use crate::output::Output;
use crate::progress::suite;
use crate::usage::UsageError;
use anyhow::Context;
use clap::Args;
use comparison::Comparison;
use organza_words::settings::{Method, Settings, VocabularyOrigin};
use organza_words::suite::{NamedSettings, Total, shared_total};
use std::num::NonZeroUsize;
use std::path::PathBuf;

const ABOUT: &str = "\
Train with several methods at equal privacy, and show which learns most

Each method is trained at each epsilon; `none` once, as what could be had without privacy. The \
share of signal is how much of what there is to learn beyond word frequencies a method has learned: 0 is \
word frequencies alone, 1 is the best of all runs, usually the one without privacy.

All runs have the same words, which are declared (--vocabulary-file, --vocabulary declared-public), because losses over \
different words do not compare; those of a run that released them privately will do, and cost nothing more.

All flags of `organza train` hold for all runs; what no flag sets is as `organza train` has it for \
each method. The same command goes on where it was stopped. The test \
losses that it compares are NOT private, and choosing a method by them on private data is a release \
without a charge: compare on public data that resembles yours.

What all private runs in the folder cost together is printed; those of earlier commands are added. Not private \
either: outcome.json and metrics.jsonl in the folder of each run, which hold exact losses and timings.";

const EXAMPLES: &str = "\
Examples:
  organza compare --data brown.tgz --preset brown-1k
  organza compare --data reviews.txt --vocabulary-file run/vocabulary.txt --epsilon 3,8 --methods counts,dpsgd";

/// Train with several methods at equal privacy, and show which learns most
#[derive(Args, Debug)]
#[command(long_about = ABOUT, after_help = EXAMPLES)]
pub(crate) struct Compare {
    /// The budgets
    #[arg(long = "epsilon", value_delimiter = ',', default_value = "1,3,8")]
    epsilons: Vec<f64>,
    /// The methods
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "counts,dpsgd,sparse,none",
        value_parser = method_parser()
    )]
    methods: Vec<Method>,
    #[command(flatten)]
    options: Options,
    /// The folder of all runs
    #[arg(long, value_name = "FOLDER", default_value = "organza-compare")]
    out: PathBuf,
    /// How many threads; the results are the same with any number [default: one a core]
    #[arg(long, value_name = "NUMBER")]
    threads: Option<NonZeroUsize>,
}

/// Refuses words that every run would release for itself; those of the built-in corpus are public.
fn one_vocabulary(settings: &mut Settings) -> Result<(), UsageError> {
    if !matches!(settings.data.vocabulary, VocabularyOrigin::Private { .. }) {
        return Ok(());
    }
    if settings.data.path.is_some() {
        return Err(UsageError::new(
            "each run would release words of its own, and losses over different words do not compare",
            "release them once with `organza train`, and compare with --vocabulary-file RUN/vocabulary.txt; or declare them by \
             --vocabulary declared-public",
        ));
    }
    settings.data.vocabulary = VocabularyOrigin::DeclaredPublic;
    Ok(())
}

impl Compare {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let runs = self.runs()?;
        for run in &runs {
            run.settings.check().with_context(|| run.name.clone())?;
        }
        if runs.iter().any(|run| run.settings.seed.is_some()) {
            output.note("with --seed the noise can be repeated: these runs are NOT private");
        }
        let outcomes = suite(&self.out, self.threads, output)?.run(&runs)?;
        let dataset = runs.first().map(|run| shared_total(&run.settings)).transpose()?.flatten();
        let comparison = Comparison::new(&outcomes, Total::of(&self.out)?, dataset);
        comparison.write(&self.out)?;
        output.result(&comparison)
    }

    /// Every method at every budget, the one without privacy once; each as `organza train` would make it.
    fn runs(&self) -> anyhow::Result<Vec<NamedSettings>> {
        let mut runs = Vec::new();
        for &method in &self.methods {
            let budgets: Vec<Option<f64>> = match method {
                Method::None => vec![None],
                _ => self.epsilons.iter().copied().map(Some).collect(),
            };
            for epsilon in budgets {
                let mut settings = self.options.settings(&BudgetAndMethod::of(method, epsilon))?;
                settings.privacy.epsilon = epsilon;
                one_vocabulary(&mut settings)?;
                settings.privacy.noise_multiplier = None;
                let name = match epsilon {
                    Some(epsilon) => format!("{method}-{epsilon}"),
                    None => method.to_string(),
                };
                runs.push(NamedSettings { name, settings });
            }
        }
        Ok(runs)
    }
}
