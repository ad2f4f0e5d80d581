//! A membership attack on the files of runs: which of two neighbouring data sets was it?
//!
//! ```text
//! Victim ─(neighbour, folder)─▶ Observation ─▶ features ─┬─ half of the runs ─▶ Rule
//!                                                        └─ the other half ──▶ Verdict
//! ```
//!
//! Differential privacy speaks about everything that leaves a run, down to the last bit: names and lengths of files,
//! the way in which a number was rounded, the message at the end. An attack that looks at values alone misses
//! what rounding gives away; so this one makes hundreds of numbers of each run, learns on half of its runs which of
//! them tell, fixes one decision, and counts on the rest how often it was right.
//!
//! # Statistics
//! The decision is an event that is fixed before the second half of the runs is looked at. These runs are independent
//! of each other and of the decision, so how often the event happens on each side is binomial, and
//! [`Verdict::lower_bound`] holds with probability at least 1 - [`FALSE_ALARM`], whatever was learned and however many
//! numbers there were to choose from. A bound above what is promised refutes the promise; a bound below it proves
//! nothing but that *this* attack found nothing.
//!
//! A pipeline that rounds more coarsely where there is data is found out:
//!
//! ```
//! use organza_audit::attack::{Attack, Knowledge, Neighbour, Observation, Promised, Table};
//! # use organza_mechanism::{Purpose, RandomSource, sample::fill_normal_f32};
//! # fn noise() -> Vec<f32> {
//! #     let source = RandomSource::from_operating_system().expect("randomness");
//! #     let mut noise = vec![0.0; 64];
//! #     fill_normal_f32(&mut noise, &mut source.substream(Purpose::Data, 0, 0));
//! #     noise
//! # }
//!
//! let attack = Attack {
//!     name: "our training".to_owned(),
//!     runs: 60,
//!     knowledge: Knowledge::of_rows([3]),
//!     promised: Promised { epsilon: 0.1, delta: 1e-6 },
//! };
//! let verdict = attack.run(
//!     &|neighbour: Neighbour, _folder: &std::path::Path| {
//!         let mut values = noise();
//!         if neighbour == Neighbour::With {
//!             values[3 * 8..4 * 8].iter_mut().for_each(|it| *it = (*it * 256.0).round() / 256.0);
//!         }
//!         // A run that writes files is seen by Observation::of.
//!         Observation::default().with_table("weights", Table::of_singles(8, &values))
//!     },
//!     &std::env::temp_dir().join(format!("attack-{}", std::process::id())),
//!     &|| (),
//! )?;
//! assert!(verdict.refutes() && verdict.auc > 0.99);
//! # Ok::<(), std::io::Error>(())
//! ```

mod decision;
mod features;
mod observation;
mod values;
mod verdict;

use decision::Rule;
use features::Features;
pub use features::Knowledge;
pub use observation::{Observation, Table};
pub use verdict::{FALSE_ALARM, Promised, Verdict};

use rayon::prelude::*;
use std::fs;
use std::io;
use std::path::Path;

/// One of two data sets that differ in one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// The data set without the unit, or with the unit that another is replaced by.
    Without,
    /// The data set with the unit.
    With,
}

/// What is attacked: anything that makes a run on one of two neighbouring data sets.
///
/// Any function of a neighbour and a folder is one.
pub trait Victim: Sync {
    /// Makes one run with fresh noise on the data set `neighbour`, in `folder`, which is empty, and returns
    /// what an outsider sees of it. Runs must be independent of each other, and may be made at the same time.
    fn run(&self, neighbour: Neighbour, folder: &Path) -> Observation;
}

impl<F: Fn(Neighbour, &Path) -> Observation + Sync> Victim for F {
    fn run(&self, neighbour: Neighbour, folder: &Path) -> Observation {
        self(neighbour, folder)
    }
}

/// An attack: how many runs it makes, and what is known to everybody.
#[derive(Clone, Debug)]
pub struct Attack {
    /// The name of what is attacked.
    pub name: String,
    /// How many runs there are on each side: half of them to learn from, half to test on. From fifty on, a leak
    /// that never errs is proved; hundreds are needed for one that does.
    pub runs: u64,
    /// What an outsider knows without the run.
    pub knowledge: Knowledge,
    /// What is promised about one run.
    pub promised: Promised,
}

impl Attack {
    /// Makes all runs in folders of their own below `scratch`, learns, and tests. `progress` is called after each run.
    ///
    /// # Errors
    /// If a folder cannot be made or deleted.
    pub fn run(
        &self,
        victim: &dyn Victim,
        scratch: &Path,
        progress: &(dyn Fn() + Sync),
    ) -> io::Result<Verdict> {
        let sides = [Neighbour::Without, Neighbour::With];
        let numbered: Vec<(Neighbour, u64)> =
            (0..self.runs).flat_map(|number| sides.map(|side| (side, number))).collect();
        let seen: Vec<(Neighbour, u64, Features)> = numbered
            .into_par_iter()
            .map(|(neighbour, number)| {
                // Names of one length, of which nothing is seen.
                let folder = scratch.join(format!("{:08}", 2 * number + neighbour as u64));
                fs::create_dir_all(&folder)?;
                let observation = victim.run(neighbour, &folder).without(&folder);
                fs::remove_dir_all(&folder)?;
                progress();
                Ok((neighbour, number, Features::of(&observation, &self.knowledge)))
            })
            .collect::<io::Result<_>>()?;
        let half = self.runs.div_ceil(2);
        let of = |side: Neighbour, learns: bool| {
            let wanted = move |(neighbour, number): (Neighbour, u64)| {
                neighbour == side && (number < half) == learns
            };
            let seen = seen.iter().filter(move |it| wanted((it.0, it.1)));
            seen.map(|(.., features)| features).collect::<Vec<_>>()
        };
        let [without, with] = sides.map(|side| of(side, true));
        let rule = Rule::learn(&without, &with, self.promised.delta);
        let [without, with] = sides.map(|side| of(side, false));
        Ok(Verdict::new(&self.name, self.promised, &rule, &without, &with))
    }
}
