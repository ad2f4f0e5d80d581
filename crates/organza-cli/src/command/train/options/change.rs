//! What each group of flags changes of the settings.

use super::*;

impl BudgetAndMethod {
    /// One run of a comparison.
    pub(crate) fn of(method: Method, epsilon: Option<f64>) -> Self {
        Self { epsilon, noise_multiplier: None, method: Some(method) }
    }

    pub(super) fn change(&self, settings: &mut Settings) {
        if self.epsilon.is_some() || self.noise_multiplier.is_some() {
            // The one takes the place of the other.
            settings.privacy.epsilon = self.epsilon;
            settings.privacy.noise_multiplier = self.noise_multiplier;
        }
    }
}

impl Privacy {
    pub(super) fn change(&self, settings: &mut Settings) {
        let privacy = &mut settings.privacy;
        set(&mut privacy.delta, &self.delta);
        set(&mut privacy.unit, &self.unit);
        set(&mut privacy.per_unit, &self.per_unit);
        set_some(&mut privacy.units, &self.units);
        set(&mut privacy.neighbouring, &self.neighbouring);
        set_some(&mut settings.ledger, &self.ledger.settings());
        set_some(&mut settings.seed, &self.seed);
    }
}

impl MethodOptions {
    pub(super) fn change(&self, settings: &mut Settings) {
        let selection = &mut settings.selection;
        set(&mut selection.rule, &self.select);
        set(&mut selection.by, &self.by);
        if self.gamma.is_some() {
            selection.draws = None;
        }
        set_some(&mut selection.draws, &self.draws);
        set(&mut selection.gamma, &self.gamma);
        if self.share.is_some() {
            selection.epsilon = None;
        }
        set_some(&mut selection.epsilon, &self.selection_epsilon);
        set(&mut selection.share, &self.share);
        set(&mut selection.cap, &self.score_cap);
        set(&mut selection.threshold, &self.threshold);
    }
}

impl Counts {
    pub(super) fn change(&self, settings: &mut Settings) {
        let counts = &mut settings.counts;
        set(&mut counts.vocabulary_share, &self.vocabulary_share);
        set(&mut counts.word_share, &self.word_share);
        set(&mut counts.fine_tuning_share, &self.fine_tuning_share);
        set_some(&mut counts.pair_clip, &self.pair_clip);
        set_some(&mut counts.word_clip, &self.word_clip);
        set_some(&mut counts.bar, &self.bar);
    }
}

impl Model {
    pub(super) fn change(&self, settings: &mut Settings) {
        let model = &mut settings.model;
        set(&mut model.layout, &self.layout);
        set(&mut model.architecture, &self.architecture);
        set(&mut model.dimensions, &self.dimensions);
        set(&mut model.window, &self.window);
        set(&mut model.negatives, &self.negatives);
        set_some(&mut model.initial_deviation, &self.initial_deviation);
    }
}

impl Training {
    pub(super) fn change(&self, settings: &mut Settings) {
        let training = &mut settings.training;
        set(&mut training.batch, &self.batch);
        if self.epochs.is_some() {
            training.steps = None;
        }
        set(&mut training.epochs, &self.epochs);
        set_some(&mut training.steps, &self.steps);
        set(&mut training.clip, &self.clip);
        set_some(&mut training.adaptive_clip, &self.adaptive_clip);
        set_some(&mut training.candidate_clip, &self.candidate_clip);
        set_some(&mut training.second_clip, &self.second_clip);
        set(&mut training.average, &self.average);
        let rate = self.learning_rate.unwrap_or(training.optimizer.learning_rate());
        training.optimizer = match self.optimizer {
            Some(name) if Some(name) != training.optimizer.name() => name.at(rate),
            _ => training.optimizer.with_learning_rate(rate),
        };
    }
}
