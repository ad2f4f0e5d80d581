//! `organza similar`: the items most like an item.

use super::recommend::{List, Recommended};
use crate::output::Output;
use clap::Args;
use organza_recommend::SavedRecommender;
use std::path::PathBuf;

/// Show the items most like an item, by cosine
#[derive(Args, Debug)]
pub(crate) struct Similar {
    /// The folder of a finished run of `organza recommender`
    run: PathBuf,
    /// The item, by name or title
    item: String,
    /// How many to show
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    top: usize,
}

impl Similar {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let saved = SavedRecommender::read(&self.run)?;
        let near = saved.model.similar_items(saved.find(&self.item)?, self.top);
        if near.is_empty() {
            output.note("this model does not say what is alike");
        }
        let near = near.into_iter().map(|it| Recommended {
            item: saved.names[it.item as usize].clone(),
            title: saved.titles[it.item as usize].clone(),
            score: it.score,
            because: Vec::new(),
        });
        output.result(&List(near.collect()))
    }
}
