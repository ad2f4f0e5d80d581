//! Whole sessions with one key: everything but the model is the same.

use crate::drawn::{SEED, WORDS, rare_line, shared_lines, word};
use crate::{Compared, l2, worst};
use organza_model::vectors::SavedModel;
use organza_train::metrics::Point;
use organza_train::{Observer, OptimizerSettings};
use organza_words::Session;
use organza_words::settings::{Method, Settings, SplitSettings, VocabularyOrigin};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const LINES: usize = 20;
const RATE: f32 = 0.5;

/// Which steps were made, and what was charged for them.
#[derive(Debug, Default, PartialEq)]
struct Watched {
    steps: Vec<(u64, u64)>,
    charged: Vec<f64>,
}

impl Observer for Watched {
    fn step(&mut self, done: u64, steps: u64) {
        self.steps.push((done, steps));
    }

    fn point(&mut self, _: &Point) {}

    fn charged(&mut self, epsilon: f64) {
        self.charged.push(epsilon);
    }

    fn interrupted(&self) -> bool {
        false
    }
}

/// What a run shows beside the model: how it went, and the files that are private by their charges.
type Shown = (Watched, BTreeMap<String, String>);

/// What is changed of the settings.
type Change<'a> = &'a dyn Fn(&mut Settings);

/// A run on shared lines and `last`, with the settings that `change` makes.
fn run(place: &Path, last: &str, change: Change<'_>) -> (Shown, SavedModel) {
    let [text, list, out] = ["text.txt", "words.txt", "run"].map(|name| place.join(name));
    fs::write(&text, shared_lines(LINES) + last).unwrap();
    fs::write(&list, (0..WORDS).map(|it| word(it) + "\n").collect::<String>()).unwrap();
    let mut settings = Settings::standard().suited_to(Method::Dpsgd);
    settings.data.path = Some(text);
    settings.data.vocabulary = VocabularyOrigin::File(list);
    settings.data.split = SplitSettings::Units { validation: 0.0, test: 0.0 };
    settings.privacy.epsilon = Some(1.0);
    settings.privacy.units = Some(LINES as u64 + 1);
    settings.training.batch = LINES as f64 + 1.0;
    settings.training.clip = 0.05;
    settings.training.steps = Some(1);
    settings.training.evaluations = 1;
    settings.training.checkpoints = 1;
    settings.training.optimizer = OptimizerSettings::Sgd { learning_rate: RATE };
    settings.seed = Some(SEED);
    change(&mut settings);
    let mut watched = Watched::default();
    Session::begin(settings, &out).unwrap().train(false, &mut watched).unwrap();
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(&out).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_model = name.starts_with("vectors.") || name == "model.safetensors";
        // Losses are marked as not private; of the model's files only the names are compared.
        let text = match is_model || name == "metrics.jsonl" {
            true => String::new(),
            false => fs::read_to_string(out.join(&name)).unwrap(),
        };
        files.insert(name, text);
    }
    let model = SavedModel::read(&out.join("model.safetensors")).unwrap();
    fs::remove_dir_all(&out).unwrap();
    ((watched, files), model)
}

fn both(change: Change<'_>) -> [(Shown, SavedModel); 2] {
    let place = tempfile::tempdir().unwrap();
    ["", &rare_line(0)].map(|last| run(place.path(), last, change))
}

#[test]
fn a_run_shows_the_same_but_for_its_model() {
    let changes: [(&str, Change<'_>); 5] = [
        ("sgd", &|_| {}),
        ("adam", &|it| it.training.optimizer = OptimizerSettings::adam(0.02)),
        ("average", &|it| {
            it.training.average = true;
            it.training.steps = Some(4);
        }),
        ("sparse", &|it| it.method = Method::Sparse),
        ("counts", &|it| {
            it.method = Method::Counts;
            it.counts.word_share = 0.1;
        }),
    ];
    for (name, change) in changes {
        let [(one, _), (other, _)] = both(change);
        assert_eq!(one, other, "{name}");
        assert!(one.1.len() >= 8, "{name}: {:?}", one.1.keys());
    }
}

/// With one step of gradient descent the models differ by the rate times what the step may move.
#[test]
fn its_model_moves_by_no_more_than_the_clip() {
    let moved = |clip: f64| {
        let [(_, one), (_, other)] = both(&|it| it.training.clip = clip);
        let values =
            |it: &SavedModel| it.parameters.iter().map(|it| f64::from(*it)).collect::<Vec<_>>();
        let stated = f64::from(RATE) * 0.05 / (LINES as f64 + 1.0);
        worst([Compared::new("the model of a session", l2(&values(&one), &values(&other)), stated)])
    };
    let sound = moved(0.05);
    assert!(!sound.violates() && sound.found > 0.9 * sound.stated, "{sound}");
    eprint!("twin: ");
    assert!(moved(0.1).violates());
}
