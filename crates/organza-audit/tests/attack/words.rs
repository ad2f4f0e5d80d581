//! Word vectors as a victim: a run of the public session, without a seed.

use crate::texts::Texts;
use organza_audit::attack::{Knowledge, Neighbour, Observation, Promised, Victim};
use organza_ledger::Unit;
use organza_mechanism::{By, SelectionRule};
use organza_model::Layout;
use organza_train::{OptimizerName, SessionError};
use organza_words::settings::{Method, Settings, SplitSettings, VocabularyOrigin};
use organza_words::{Ended, Session};
use std::fs;
use std::path::Path;

/// What is promised in every attack.
pub(crate) const PROMISED: Promised = Promised { epsilon: 0.1, delta: 1e-6 };
/// The words of a table that is kept up to date at every step, and of one that is not.
const NARROW: usize = 40;
pub(crate) const WIDE: usize = 2_000;
/// The words of a wide table of counts, which has all pairs of them.
const WIDE_COUNTS: usize = 500;
/// The file that says itself that it is not private.
pub(crate) const NOT_PRIVATE: [&str; 1] = ["metrics.jsonl"];

/// A run on one of two texts.
pub(crate) struct Words {
    pub(crate) settings: Settings,
    pub(crate) texts: Texts,
}

impl Words {
    /// A run on texts with a public list of `words` words, at the promised epsilon.
    pub(crate) fn new(method: Method, unit: Unit, words: usize) -> Self {
        let texts = Texts::new(unit, words);
        let mut settings = Settings::standard().suited_to(method);
        settings.data.vocabulary = VocabularyOrigin::File("words.txt".into());
        settings.data.split = SplitSettings::Units { validation: 0.0, test: 0.0 };
        settings.model.dimensions = 16;
        settings.model.negatives = 1;
        settings.model.window = if unit == Unit::Pair { 1 } else { 4 };
        settings.privacy.unit = unit;
        settings.privacy.per_unit = if unit == Unit::Pair { 1 } else { 16 };
        settings.privacy.epsilon = Some(PROMISED.epsilon);
        settings.privacy.delta = PROMISED.delta;
        settings.privacy.units = Some(texts.units);
        // Every unit joins every batch: nothing hides in a batch that it did not join.
        settings.training.batch = texts.units as f64;
        settings.training.steps = Some(1);
        settings.training.evaluations = 1;
        settings.training.checkpoints = 1;
        Self { settings, texts }
    }

    pub(crate) fn knowledge(&self) -> Knowledge {
        let training = &self.settings.training;
        let rate = training.optimizer.learning_rate();
        let grid = training.clip / (training.batch * f64::from(1 << 30));
        Knowledge::of_rows(&self.texts.rare)
            .with_rates(&[rate])
            .with_grids(&[grid, grid * f64::from(rate)])
    }

    pub(crate) fn promised(&self) -> Promised {
        PROMISED.for_units(self.texts.apart)
    }
}

impl Victim for Words {
    fn run(&self, neighbour: Neighbour, folder: &Path) -> Observation {
        let [text, words, out] = ["text.tsv", "words.txt", "run"].map(|name| folder.join(name));
        fs::write(&text, &self.texts.texts[neighbour as usize]).expect("a file");
        fs::write(&words, &self.texts.list).expect("a file");
        let mut settings = self.settings.clone();
        settings.data.path = Some(text);
        if let VocabularyOrigin::File(list) = &mut settings.data.vocabulary {
            *list = words;
        }
        let ended = match train(settings, &out) {
            Ok(Ended::Finished(finished)) => {
                let spent = finished.certificate.epsilon.expect("a private run");
                assert!(spent <= PROMISED.epsilon, "the certificate says {spent}");
                Ok("finished".to_owned())
            }
            Ok(Ended::Interrupted { .. }) => Err("interrupted".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        Observation::of(&out, ended, &NOT_PRIVATE).expect("files that can be read")
    }
}

fn train(settings: Settings, out: &Path) -> Result<Ended, SessionError> {
    Session::begin(settings, out)?.train(false, &mut ())
}

/// The choices of a command that trains word vectors, each with its number of levels.
pub(crate) fn levels() -> [usize; 8] {
    [methods().len(), OptimizerName::all().count(), 2, 2, 2, UNITS.len(), 2, 2]
}

const CLIPPED: &str = "exponential with clipped candidates";

/// Every rule of selection, and what there is beside them.
fn methods() -> Vec<&'static str> {
    let steps = ["dpsgd", "dpsgd with an adaptive clip"];
    let others = ["exponential by row", CLIPPED, "counts", "counts and steps"];
    steps.into_iter().chain(SelectionRule::ALL.map(SelectionRule::name)).chain(others).collect()
}

const UNITS: [Unit; 3] = [Unit::Line, Unit::Pair, Unit::User];

/// Whether a command can reach a combination, and it is none of another name: counts need two tables, and without
/// steps there is no optimizer, no average, no start and no number of units.
pub(crate) fn is_reached(levels: &[usize]) -> bool {
    let [method, optimizer, layout, _, average, _, start, units] = *levels else { return false };
    match methods()[method] {
        "counts" => layout == 1 && optimizer + average + start + units == 0,
        "counts and steps" => layout == 1,
        _ => true,
    }
}

/// Whether a combination is quick enough for the checks: a search for the noise of an exponential selection, which
/// released units make necessary, is not.
pub(crate) fn is_quick(levels: &[usize]) -> bool {
    !methods()[levels[0]].starts_with("exponential") || levels[7] == 0
}

/// The victim of a combination, and its name.
pub(crate) fn combination(levels: &[usize]) -> (String, Words) {
    let [method, optimizer, layout, width, average, unit, start, units] = *levels else {
        unreachable!("as many levels as there are choices")
    };
    let (name, unit) = (methods()[method], UNITS[unit]);
    let kind = match name {
        "dpsgd" | "dpsgd with an adaptive clip" => Method::Dpsgd,
        "counts" | "counts and steps" => Method::Counts,
        _ => Method::Sparse,
    };
    let words = match (width, kind) {
        (0, Method::Counts) => WIDE_COUNTS,
        (0, _) => WIDE,
        _ => NARROW,
    };
    let mut victim = Words::new(kind, unit, words);
    let settings = &mut victim.settings;
    settings.selection.draws = Some(8);
    let by_row = matches!(name, "exponential by row" | "uniform");
    settings.selection.by = if by_row { By::Row } else { By::Coordinate };
    if let Some(rule) = SelectionRule::ALL.into_iter().find(|rule| rule.name() == name) {
        settings.selection.rule = rule;
    }
    if name == "dpsgd with an adaptive clip" {
        settings.training.adaptive_clip = Some(0.5);
    }
    if name == CLIPPED {
        settings.training.candidate_clip = Some(settings.training.clip / 4.0);
    }
    if name == "counts and steps" {
        settings.counts.fine_tuning_share = 0.3;
    }
    settings.model.layout = [Layout::Tied, Layout::TwoTables][layout];
    let optimizer = OptimizerName::all().nth(optimizer).expect("a level of the optimizers");
    let rate = match optimizer {
        "sgd" => 0.3,
        "adam" => 0.02,
        _ => 0.1,
    };
    let named = OptimizerName::try_from(optimizer.to_owned()).expect("one of all names");
    settings.training.optimizer = named.at(rate);
    settings.training.average = average == 1;
    // One step from nothing shows every bit of it; several from random vectors show how they add up.
    let zero = start == 0;
    settings.model.initial_deviation = zero.then_some(0.0);
    settings.training.steps = Some(if zero { 1 } else { 6 });
    if units == 1 {
        settings.privacy.units = None;
    } else if settings.method == Method::Sparse
        && settings.selection.rule == SelectionRule::Exponential
    {
        // Known noise instead of a search for it, which takes most of a second each time.
        let root = if zero { 1.0 } else { f64::sqrt(6.0) };
        settings.privacy.epsilon = None;
        settings.privacy.noise_multiplier = Some(75.0 * root);
        settings.selection.epsilon = Some(0.004 / root);
    }
    let said = [
        name,
        optimizer,
        ["tied", "two tables"][layout],
        ["wide", "narrow"][width],
        ["last weights", "average"][average],
        &unit.to_string(),
        ["one step from zero", "six steps"][start],
        ["units declared", "units released"][units],
    ]
    .join(", ");
    (said, victim)
}
