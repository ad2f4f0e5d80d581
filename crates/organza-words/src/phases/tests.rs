//! What is released, and at which price.

use super::*;
use organza_accountant::Accountant;
use organza_ledger::{Account, Neighbouring};

const CLIPS: Clips = Clips { words: 20.0, pairs: 20.0 };

/// However small the share of counts, the sizes of units leave most of it to them.
#[test]
fn unit_sizes_leave_something_for_counts() {
    for word_share in [0.001, 0.01, 0.05, 0.3] {
        let mut settings = Settings::standard().suited_to(Method::Dpsgd);
        settings.privacy.epsilon = Some(3.0);
        settings.data.vocabulary = VocabularyOrigin::DeclaredPublic;
        settings.counts.word_share = word_share;
        let noises = CountNoises::new(&settings, 10.0);
        let sizes = noises.sizes.expect("clips were not declared");
        assert_eq!(sizes, 3.0 * f64::min(0.02, 0.25 * word_share));
        let phase = phases(&settings).pop().expect("word counts");
        assert_eq!((phase.until, phase.releases), (word_share, vec!["unit sizes", "word counts"]));
        let account = Accountant::new(settings.privacy.neighbouring);
        let spent = |noise| {
            let events = (phase.events)(noise).expect("good settings");
            Account::epsilon(&account, &events, settings.privacy.delta).expect("supported")
        };
        assert!(spent(1e6) <= 3.0 * word_share, "some noise fits: {}", spent(1e6));
    }
}

/// Selection follows the number of words, and so does a released number of pairs: there words are charged as what
/// decides, and what is left for steps is what is left by plain subtraction. The twin, charged tightly, would
/// leave more; it serves where no later event follows the words.
#[test]
fn words_that_decide_are_added_as_they_are() {
    for unit in [Unit::Pair, Unit::Line] {
        let plan = |method, units| {
            let mut settings = Settings::standard().suited_to(method);
            settings.privacy.units = units;
            settings.privacy.epsilon = Some(3.0);
            settings.privacy.unit = unit;
            settings.data.path = Some("text".into());
            settings.data.vocabulary = VocabularyOrigin::private();
            let share = 3.0 * Shares::of(&settings).vocabulary;
            let phase = organza_accountant::calibrate::Target::new(share, settings.privacy.delta);
            let event = |noise| vocabulary_plan(&settings, noise).ok().map(|plan| plan.event());
            let noise = organza_accountant::calibrate::scale(&phase, event).expect("some noise").0;
            (event(noise).expect("good settings"), share, settings)
        };
        let left = |method, units| {
            let (words, share, settings) = plan(method, units);
            let account = Accountant::new(settings.privacy.neighbouring);
            let epsilon = |events: &[Event]| {
                Account::epsilon(&account, events, settings.privacy.delta).expect("supported")
            };
            assert!((0.98 * share..=share).contains(&epsilon(std::slice::from_ref(&words))));
            let steps = Event::Gaussian { noise_multiplier: 2.0 };
            epsilon(&[words, steps.clone()]) - epsilon(&[steps])
        };
        let share = plan(Method::Sparse, None).1;
        for (method, units, decides) in [
            (Method::Sparse, None, true),
            (Method::Sparse, Some(1_000), true),
            (Method::Dpsgd, None, unit == Unit::Pair),
            (Method::Dpsgd, Some(1_000), false),
        ] {
            let left = left(method, units) / share;
            let expected = if decides { left > 0.95 } else { left < 0.9 };
            assert!(expected, "{unit} {method} {units:?}: {left}");
        }
    }
}

/// What decides never costs less than the same release by tight composition. The twin, which takes the
/// concentrated rho of Gaussian noise for an epsilon, would.
#[test]
fn what_decides_costs_no_less() {
    let (delta, share) = (1e-6, 1e-7);
    let account = Accountant::new(Neighbouring::AddRemove);
    let epsilon = |event: Event| Account::epsilon(&account, &[event], delta).expect("supported");
    for noise in [0.5, 2.0, 10.0] {
        for rule in [
            ItemRule::Laplace { epsilon: 1.0 / noise, delta: share },
            ItemRule::AdaptiveGaussian { multiplier: noise, delta: share },
        ] {
            let plan = PrivateVocabularyPlan::new(PrivateVocabularySettings {
                unit: Unit::Line,
                window: 4,
                neighbouring: Neighbouring::AddRemove,
                size: None,
                words_per_unit: 8,
                rule,
            });
            let plan = plan.expect("good settings");
            let tight = epsilon(plan.event());
            assert!(epsilon(plan.deciding().event()) >= tight, "{rule:?}");
            let twin = Event::Added { epsilon: 0.5 / (noise * noise) };
            let is_gaussian = !matches!(rule, ItemRule::Laplace { .. });
            assert!(!is_gaussian || epsilon(twin) < tight, "{rule:?}");
        }
    }
}

/// Where lines are held out by what they are, a replaced line may leave the training data.
#[test]
fn the_number_of_units_is_released_where_neighbours_differ_in_it() {
    let released = |neighbouring, unit, held_out, units| {
        let mut settings = Settings::standard().suited_to(Method::Dpsgd);
        settings.data.split = SplitSettings::Units { validation: held_out, test: 0.0 };
        settings.privacy.neighbouring = neighbouring;
        settings.privacy.unit = unit;
        settings.privacy.units = units;
        Released::of(&settings).units
    };
    let (added, replaced) = (Neighbouring::AddRemove, Neighbouring::ReplaceOne);
    for unit in [Unit::Line, Unit::User] {
        assert!(released(replaced, unit, 0.1, None));
        assert!(!released(replaced, unit, 0.0, None));
        assert!(!released(replaced, unit, 0.1, Some(1_000)));
    }
    assert!(!released(replaced, Unit::Pair, 0.1, None));
    // Where words are released, a record that is replaced may become a training pair or none.
    let own_words = |units| {
        let mut settings = Settings::standard().suited_to(Method::Dpsgd);
        settings.data.path = Some("text".into());
        settings.privacy.neighbouring = replaced;
        settings.privacy.unit = Unit::Pair;
        settings.privacy.units = units;
        (Released::of(&settings).units, words_decide(&settings))
    };
    assert_eq!((own_words(None), own_words(Some(1_000))), ((true, true), (false, false)));
    assert!(released(added, Unit::Pair, 0.0, None) && released(added, Unit::Line, 0.0, None));
    assert!(!released(added, Unit::Line, 0.1, Some(1_000)));
}

/// A wide table has as many false cells as it may, for either law of noise: one step lower there
/// would be too many.
#[test]
fn few_empty_cells_reach_the_bar_of_a_wide_table() {
    let laplace = CountNoise::DiscreteLaplace { epsilon: 2.55 };
    let gaussian = CountNoise::RoundedGaussian { multiplier: 1.5 };
    for (unit, noise, step) in [(Unit::Pair, laplace, 1.0), (Unit::Line, gaussian, 0.01)] {
        let mut settings = Settings::standard();
        settings.privacy.unit = unit;
        for words in [10_000, 100_000] {
            let false_cells = |words: u32, asked: Option<f64>| {
                let mut settings = settings.clone();
                settings.counts.bar = asked;
                let plan = pair_counts(&settings, CLIPS, words, noise);
                let plan = plan.expect("good settings");
                let plan = plan.histogram_plan();
                let bar = plan.bar().expect("wide tables have one") / plan.deviation();
                (plan.chance_above(0.0) * PairTable::new(words).cells() as f64, bar)
            };
            let (few, bar) = false_cells(words, None);
            assert!(few <= FALSE_CELLS, "{few}");
            let lower = pair_counts(&settings, CLIPS, 2, noise);
            let deviation = lower.expect("good settings").histogram_plan().deviation();
            let (more, _) = false_cells(words, Some(bar - step / deviation));
            assert!(more > FALSE_CELLS, "{more}");
        }
        let dense = pair_counts(&settings, CLIPS, DENSE_WORDS, noise);
        assert_eq!(dense.expect("good settings").histogram_plan().bar(), None);
    }
}

/// What each phase releases, by the names of the certificate, in their order.
#[test]
fn phases_follow_the_method_and_what_was_declared() {
    let released = |method, change: fn(&mut Settings)| {
        let mut settings = Settings::standard().suited_to(method);
        settings.data.path = Some("text.txt".into());
        change(&mut settings);
        let phases = phases(&settings).into_iter().map(|phase| (phase.name, phase.releases));
        (phases.collect::<Vec<_>>(), Released::of(&settings).units)
    };
    let words = (VOCABULARY, vec!["vocabulary"]);
    let counts = (COUNTS, vec!["unit sizes", "word counts", "pair counts"]);
    let both = vec![words.clone(), counts.clone()];
    assert_eq!(released(Method::Counts, |_| {}), (both.clone(), false));
    let public = |it: &mut Settings| it.data.vocabulary = VocabularyOrigin::DeclaredPublic;
    assert_eq!(released(Method::Counts, public), (vec![counts], false));
    let tuned = |it: &mut Settings| it.counts.fine_tuning_share = 0.2;
    assert_eq!(released(Method::Counts, tuned), (both, true));
    assert_eq!(released(Method::Dpsgd, public), (vec![], true));
    let declared = |it: &mut Settings| it.privacy.units = Some(1_000);
    assert_eq!(released(Method::Dpsgd, declared), (vec![words], false));
    assert_eq!(released(Method::None, |_| {}), (vec![], false));
}

/// Whether noise is left for later, and what that costs, follows the width of the table.
#[test]
fn words_decide_where_noise_can_be_left_for_later() {
    let decides = |optimizer, average| {
        let mut settings = Settings::standard().suited_to(Method::Dpsgd);
        settings.data.path = Some("text".into());
        (settings.training.optimizer, settings.training.average) = (optimizer, average);
        words_decide(&settings)
    };
    let sgd = organza_train::OptimizerSettings::Sgd { learning_rate: 1.0 };
    assert!(decides(sgd, false) && !decides(sgd, true));
    assert!(!decides(organza_train::OptimizerSettings::adam(0.1), false));
}
