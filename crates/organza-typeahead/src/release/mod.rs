//! What leaves the data: noisy counts of words, of words after endings, of words after words, and of words after two. Nothing else does.
//!
//! # Privacy
//! The unit is a writer: all of their text together. In every stage a writer has a vector over the cells of that stage, with an entry for each
//! cell that occurs in their text at all, however often, scaled to L2 norm 1; so one writer moves the sums by at most 1 in L2, and
//! with noise of deviation s on *all* cells the stage is a Gaussian mechanism of noise multiplier s
//! ([`HistogramPlan`](organza_mechanism::HistogramPlan)).
//!
//! Which cells a stage has, how much each weighs before a writer is scaled, and which cells have a bar follows from the words and from
//! the stages before: every stage is made of their results alone, before it sees a text. What a writer contributes follows from their own
//! text and those: they are scaled anew, on the cells of this stage. Each stage is thus a Gaussian mechanism whatever was released before,
//! and its noise multiplier was fixed before the first: they compose adaptively as if they were made at once (Dong, Roth and Su 2022,
//! corollary 3.3). The number of writers is not released: nothing divides by it.

mod after_ending;
mod after_two;
mod after_word;
mod stage;
mod words;

pub use stage::Released;
pub(crate) use stage::{ReleasePlan, STAGES};

use crate::endings::Endings;
use crate::model::Model;
use after_ending::AfterEnding;
use after_two::AfterTwo;
use after_word::AfterWord;
use organza_data::Writing;
use organza_ledger::{Charge, Charged};
use organza_mechanism::{NotPaid, PlanError, RandomSource};
use stage::Stages;
use words::WordCounts;

impl ReleasePlan {
    /// Charges for all stages, one after another, releases them, and makes a model of them.
    pub(crate) fn release<E: From<PlanError> + From<NotPaid>>(
        &self,
        names: &[String],
        writings: [&Writing; STAGES.len()],
        source: &RandomSource,
        charge: impl FnMut(Charge) -> Result<Charged, E>,
    ) -> Result<(Model, Vec<Released>), E> {
        let mut stages = Stages { plan: self, writings, source, charge };
        let (words, released) = WordCounts::release(&mut stages)?;
        let mut all = vec![released];
        let mut levels = Vec::new();
        if self.stages() > 1 {
            let (endings, released) =
                AfterEnding::release(&mut stages, &words, Endings::new(names))?;
            all.push(released);
            levels.push(endings.level(&words));
            let (after_word, released) = AfterWord::release(&mut stages, &words, &endings)?;
            all.push(released);
            levels.push(after_word.level(&endings));
            if self.stages() > 3 {
                let (after_two, released) = AfterTwo::release(&mut stages, &after_word)?;
                all.push(released);
                levels.push(after_two);
            }
        }
        Ok((Model::new(words.frequencies, levels), all))
    }
}
