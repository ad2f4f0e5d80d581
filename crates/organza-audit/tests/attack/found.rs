//! What attacks have found once, each as it was found: none of it may come back.

use crate::words::{WIDE, Words};
use organza_ledger::Unit;
use organza_train::OptimizerSettings;
use organza_words::settings::Method;

/// The victims, with the runs on each side that showed what they gave away.
pub(crate) fn found() -> Vec<(String, Words, u64)> {
    let mut found: Vec<(String, Words, u64)> =
        [deferred_once(), deferred_often(), nothing_to_train_on()]
            .into_iter()
            .map(|(name, victim, runs)| (format!("found once: {name}"), victim, runs))
            .collect();
    found.sort_by_key(|(.., runs)| *runs);
    found
}

/// Noise that waits on a wide table, with one step from nothing: a row that was stepped held products of the rate and
/// nothing else.
fn deferred_once() -> (&'static str, Words, u64) {
    let mut victim = Words::new(Method::Dpsgd, Unit::Line, WIDE);
    victim.settings.model.initial_deviation = Some(0.0);
    victim.settings.training.optimizer = OptimizerSettings::Sgd { learning_rate: 0.3 };
    ("deferred noise, one step", victim, 60)
}

/// The same with many steps: how often a row was rounded showed in exponents and trailing zeros.
fn deferred_often() -> (&'static str, Words, u64) {
    let mut victim = Words::new(Method::Dpsgd, Unit::Line, WIDE);
    let settings = &mut victim.settings;
    settings.model.dimensions = 100;
    settings.training.batch = 18.0;
    settings.training.steps = Some(400);
    settings.training.optimizer = OptimizerSettings::Sgd { learning_rate: 10.0 };
    // Known noise, which costs no more than what is promised, instead of a search for it in every run.
    settings.privacy.epsilon = None;
    settings.privacy.noise_multiplier = Some(330.0);
    ("deferred noise, 400 steps", victim, 100)
}

/// A text of which nothing is in the public list but the one line: it was refused without the line.
fn nothing_to_train_on() -> (&'static str, Words, u64) {
    let mut victim = Words::new(Method::Dpsgd, Unit::Line, 40);
    let texts = &mut victim.texts;
    let line = texts.rare.join(" ") + "\n";
    let without = "x y z\n".repeat(49);
    texts.texts = [without.clone(), without + &line];
    victim.settings.training.optimizer = OptimizerSettings::Sgd { learning_rate: 0.3 };
    ("a text with nothing to train on", victim, 60)
}
