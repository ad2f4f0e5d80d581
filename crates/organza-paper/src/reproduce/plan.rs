//! The runs of the paper's section 5, and the few that explain where they differ from what it says.

use crate::compared::{ComparedMethod, ComparedSettings, PublicSubspace, SelectiveSgd};
use organza_data::CanarySettings;
use organza_mechanism::SelectionRule;
use organza_train::OptimizerSettings;
use organza_words::settings::{Method, Settings};
use organza_words::suite::NamedSettings;
use std::path::Path;

/// The noise of DP-SGD in Figure 1, said to be epsilon 30.
pub(super) const BASELINE_NOISE: f64 = 0.32;
/// The noise of the sparse methods, and of DP-SGD beside them.
pub(super) const SPARSE_NOISE: f64 = 0.5;
/// The budget of all private runs of the paper.
pub(super) const BUDGET: f64 = 30.0;
/// How often canaries are inserted (n_c).
pub(super) const REPEATS: [u64; 3] = [3, 9, 15];
/// Shares of the budget that are tried for selection under the tight account.
pub(super) const SHARES: [f64; 3] = [0.1, 0.5, 0.9];

/// Budgets at which the paper is compared with others.
pub(super) const COMPARED_BUDGETS: [f64; 2] = [3.0, 30.0];
/// The share that selection has there: the one that did best at the budget of the paper.
const COMPARED_SHARE: f64 = 0.9;
/// Selective SGD with as many values a step as the paper selects, and its cap (S0) as the bound.
pub(super) const SELECTIVE: SelectiveSgd = SelectiveSgd { hits: 100, threshold: 0.01, bound: 0.1 };
/// The subspace of the other system.
pub(super) const SUBSPACE: PublicSubspace =
    PublicSubspace { samples: 100, dimensions: 50, every: 10 };

/// How long runs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The steps of a run; without it the paper's 20 epochs.
    pub(super) steps: Option<u64>,
    /// The steps of a run of the search, and of those that compare the paper with others.
    pub(super) search_steps: u64,
    /// How many changes of the settings the search tries.
    pub(super) candidates: usize,
    /// How many phrases are inserted.
    pub(super) canaries: u64,
    /// How many random phrases each of them is ranked among.
    pub(super) continuations: u64,
    evaluations: u64,
}

impl Scale {
    /// As in the paper.
    pub const FULL: Self = Self {
        steps: None,
        search_steps: 20_000,
        candidates: Change::CANDIDATES.len(),
        canaries: 1_000,
        continuations: 10_000,
        evaluations: 20,
    };
    /// Enough to see that everything works.
    pub const QUICK: Self = Self {
        steps: Some(100),
        search_steps: 40,
        candidates: 3,
        canaries: 100,
        continuations: 500,
        evaluations: 2,
    };
}

/// What the settings of all runs have in common.
pub struct Base {
    settings: Settings,
    scale: Scale,
}

/// What a run does, in the words of the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Algorithm {
    NotPrivate,
    DpSgd { noise_multiplier: f64 },
    Sparse(SelectionRule),
}

/// The six panels of Figure 1: name and algorithm.
pub(super) const PANELS: [(&str, Algorithm); 6] = [
    ("non-private", Algorithm::NotPrivate),
    ("dp-sgd-0.32", Algorithm::DpSgd { noise_multiplier: BASELINE_NOISE }),
    ("dp-sgd-0.5", Algorithm::DpSgd { noise_multiplier: SPARSE_NOISE }),
    ("sparse-exponential", Algorithm::Sparse(SelectionRule::Exponential)),
    ("sparse-vector", Algorithm::Sparse(SelectionRule::SparseVector)),
    ("sparse-uniform", Algorithm::Sparse(SelectionRule::Uniform)),
];

/// The three trained columns of Figure 2; the fourth, phrases never inserted, is the control of each.
pub(super) const COLUMNS: [(&str, Algorithm); 3] = [
    ("non-private", Algorithm::NotPrivate),
    ("dp-sgd", Algorithm::DpSgd { noise_multiplier: SPARSE_NOISE }),
    ("sparse", Algorithm::Sparse(SelectionRule::Exponential)),
];

/// What is changed of the printed settings; what is `None` stays.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Change {
    pub(super) initial_deviation: Option<f32>,
    pub(super) learning_rate: Option<f32>,
    /// The guarantee of a draw is so many times the printed one (sparse only).
    pub(super) selection_times: Option<f64>,
}

impl Change {
    const NOTHING: Self =
        Self { initial_deviation: None, learning_rate: None, selection_times: None };

    /// What is tried, from the least change to the largest: nothing, one thing, two things.
    pub(super) const CANDIDATES: [Self; 11] = [
        Self::NOTHING,
        Self::NOTHING.starting(0.1),
        Self::NOTHING.starting(0.01),
        Self::NOTHING.at_rate(0.000_1),
        Self::NOTHING.at_rate(0.01),
        Self::NOTHING.selecting(10.0),
        Self::NOTHING.selecting(50.0),
        Self::NOTHING.starting(0.1).at_rate(0.000_1),
        Self::NOTHING.starting(0.1).selecting(10.0),
        Self::NOTHING.starting(0.1).selecting(50.0),
        Self::NOTHING.starting(0.1).at_rate(0.000_1).selecting(50.0),
    ];

    const fn starting(mut self, deviation: f32) -> Self {
        self.initial_deviation = Some(deviation);
        self
    }

    const fn at_rate(mut self, rate: f32) -> Self {
        self.learning_rate = Some(rate);
        self
    }

    const fn selecting(mut self, times: f64) -> Self {
        self.selection_times = Some(times);
        self
    }

    /// The same for DP-SGD, which selects nothing.
    pub(super) const fn without_selection(mut self) -> Self {
        self.selection_times = None;
        self
    }

    fn make(self, settings: &mut Settings) {
        if let Some(deviation) = self.initial_deviation {
            settings.model.initial_deviation = Some(deviation);
        }
        if let Some(rate) = self.learning_rate {
            settings.training.optimizer = OptimizerSettings::adam(rate);
        }
        if let Some(times) = self.selection_times {
            settings.selection.epsilon = settings.selection.epsilon.map(|it| it * times);
        }
    }

    /// A part of a folder's name.
    fn name(self) -> String {
        let part = |name: &str, value: Option<String>| {
            value.map_or(String::new(), |value| format!("-{name}-{value}"))
        };
        let name = part("start", self.initial_deviation.map(|it| it.to_string()))
            + &part("rate", self.learning_rate.map(|it| it.to_string()))
            + &part("selection", self.selection_times.map(|it| it.to_string()));
        if name.is_empty() { "-printed".to_owned() } else { name }
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = Vec::new();
        if let Some(deviation) = self.initial_deviation {
            parts.push(format!("start from N(0, {deviation}²)"));
        }
        if let Some(rate) = self.learning_rate {
            parts.push(format!("learning rate {rate}"));
        }
        if let Some(times) = self.selection_times {
            parts.push(format!("{times} x the selection epsilon"));
        }
        let nothing = "as printed".to_owned();
        formatter.write_str(&if parts.is_empty() { nothing } else { parts.join(", ") })
    }
}

impl Base {
    /// The paper's settings on this text.
    pub fn new(data: &Path, seed: u64, scale: Scale) -> Self {
        let mut settings = Settings::paper();
        settings.data.path = Some(data.to_owned());
        settings.training.steps = scale.steps;
        settings.training.evaluations = scale.evaluations;
        settings.training.checkpoints = scale.evaluations;
        settings.seed = Some(seed);
        Self { settings, scale }
    }

    /// The settings that all runs share.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn scale(&self) -> Scale {
        self.scale
    }

    fn run(&self, name: String, algorithm: Algorithm) -> NamedSettings {
        let mut settings = self.settings.clone();
        match algorithm {
            Algorithm::NotPrivate => settings.method = Method::None,
            Algorithm::DpSgd { noise_multiplier } => {
                settings.method = Method::Dpsgd;
                settings.privacy.noise_multiplier = Some(noise_multiplier);
            }
            Algorithm::Sparse(rule) => {
                settings.method = Method::Sparse;
                settings.selection.rule = rule;
                settings.privacy.noise_multiplier = Some(SPARSE_NOISE);
            }
        }
        NamedSettings { name, settings }
    }

    /// The runs of Figure 1, in the order of its panels.
    pub(super) fn figure_1(&self) -> Vec<NamedSettings> {
        let panel = |(name, algorithm)| self.run(format!("figure1-{name}"), algorithm);
        PANELS.map(panel).to_vec()
    }

    /// The runs of Figure 2, row by row.
    pub(super) fn figure_2(&self) -> Vec<NamedSettings> {
        let row = |repeats| {
            COLUMNS.map(|(name, algorithm)| {
                let mut run = self.run(format!("figure2-{repeats}-{name}"), algorithm);
                let repeated = self.scale.canaries;
                run.settings.canaries = Some(CanarySettings { repeated, repeats, tossed: 0 });
                run
            })
        };
        REPEATS.map(row).concat()
    }

    /// The sparse method with something changed.
    pub(super) fn changed_sparse(&self, change: Change, is_search: bool) -> NamedSettings {
        self.changed("sparse", Algorithm::Sparse(SelectionRule::Exponential), change, is_search)
    }

    /// DP-SGD at the paper's budget, with the same changed.
    pub(super) fn changed_baseline(&self, change: Change, is_search: bool) -> NamedSettings {
        let algorithm = Algorithm::DpSgd { noise_multiplier: BASELINE_NOISE };
        let change = change.without_selection();
        if change == Change::NOTHING && !is_search {
            // The second panel of Figure 1 is this run.
            return self.run("figure1-dp-sgd-0.32".to_owned(), algorithm);
        }
        self.changed("dp-sgd", algorithm, change, is_search)
    }

    fn changed(
        &self,
        name: &str,
        algorithm: Algorithm,
        change: Change,
        short: bool,
    ) -> NamedSettings {
        let purpose = if short { "search" } else { "nearest" };
        let mut run = self.run(format!("{purpose}-{name}{}", change.name()), algorithm);
        change.make(&mut run.settings);
        if short {
            run.settings.training.steps = Some(self.scale.search_steps);
            run.settings.training.evaluations = 1;
            run.settings.training.checkpoints = 1;
        }
        run
    }

    /// DP-SGD and the paper's method at a budget, to be compared with others.
    pub(super) fn compared(&self, budget: f64) -> [NamedSettings; 2] {
        let named = |name: &str, algorithm| {
            let mut run = self.run(format!("compared-{budget}-{name}"), algorithm);
            run.settings.privacy.epsilon = Some(budget);
            run.settings.privacy.noise_multiplier = None;
            run.settings.training.steps = Some(self.scale.search_steps);
            run
        };
        let mut sparse = named("sparse", Algorithm::Sparse(SelectionRule::Exponential));
        sparse.settings.selection.epsilon = None;
        sparse.settings.selection.share = COMPARED_SHARE;
        [named("dp-sgd", Algorithm::DpSgd { noise_multiplier: SPARSE_NOISE }), sparse]
    }

    /// The two systems that the paper compares itself with, at a budget and with all else as it is there.
    pub(super) fn others(&self, budget: f64) -> [NamedSettings<ComparedSettings<Settings>>; 2] {
        let methods = [ComparedMethod::Selective(SELECTIVE), ComparedMethod::Projected(SUBSPACE)];
        let [dp_sgd, sparse] = self.compared(budget);
        let names = ["selective", "projected"];
        let mut runs = names.into_iter().zip(methods).zip([sparse, dp_sgd]);
        std::array::from_fn(|_| {
            let ((name, method), NamedSettings { settings: of, .. }) =
                runs.next().expect("two runs");
            let name = format!("compared-{budget}-{name}");
            NamedSettings { name, settings: ComparedSettings { of, method } }
        })
    }

    /// The sparse method at the paper's budget, with noise and selection chosen by the tight account.
    pub(super) fn tight(&self, share: f64, change: Change) -> NamedSettings {
        let change = change.without_selection();
        let name = format!("tight-{share}{}", change.name());
        let mut run = self.run(name, Algorithm::Sparse(SelectionRule::Exponential));
        change.make(&mut run.settings);
        let Settings { privacy, selection, .. } = &mut run.settings;
        privacy.epsilon = Some(BUDGET);
        privacy.noise_multiplier = None;
        selection.epsilon = None;
        selection.share = share;
        run
    }
}
