//! Steps of word vectors: batch, gradients, clip, selection and noise.

use crate::drawn::{WORDS, batch, rare_line, samples, shared_lines, source};
use crate::{Compared, l2, worst};
use organza_data::{Negatives, Objective};
use organza_ledger::{MaxNoise, Neighbouring, Unit};
use organza_mechanism::{
    By, Choice, NoiseSettings, Plan, PlanSettings, Purpose, SelectionSettings, Shape,
};
use organza_model::{Layout, WordVectors};
use organza_train::{Task, WriteRows};
use organza_words::WordTask;
use std::collections::{BTreeMap, BTreeSet};

const LINES: usize = 30;
const STEPS: u64 = 12;
const BATCH: f64 = 15.0;
/// Below the gradient of every unit: each is cut to it.
const CLIP: f64 = 0.01;
const RATE: f32 = 5.0;

/// What a task is that is compared, and what is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// The clip is twice as large as stated.
    LooseClip,
    /// The last unit is there twice.
    CountedTwice,
    /// The gradient of a unit is divided by the number of units.
    SeesOthers,
}

fn task(text: &str, unit: Unit, objective: Objective, layout: Layout) -> WordTask {
    let (samples, split) = samples(text, unit, objective, 3);
    let model = WordVectors::new(layout, WORDS as u64, 8).unwrap();
    let negatives = Negatives::uniform(WORDS).unwrap();
    WordTask::new(samples, split, model, negatives, 3, 8)
}

/// Neighbours: lines that both have, and a last line that one has, or that is another one.
fn neighbours(relation: Neighbouring, layout: Layout, objective: Objective) -> [WordTask; 2] {
    let shared = shared_lines(LINES);
    let last = match relation {
        Neighbouring::AddRemove => [String::new(), rare_line(0)],
        Neighbouring::ReplaceOne => [rare_line(5), rare_line(0)],
    };
    last.map(|line| task(&format!("{shared}{line}"), Unit::Line, objective, layout))
}

fn plan(
    task: &WordTask,
    relation: Neighbouring,
    selection: SelectionSettings,
    noise: f64,
) -> PlanSettings {
    PlanSettings {
        shape: Shape::tables(&task.tables()).unwrap(),
        neighbouring: relation,
        rate: 0.5,
        expected_batch: BATCH,
        clip: CLIP,
        selection,
        noise: NoiseSettings::Gaussian { multiplier: noise, second_clip: None },
    }
}

/// What a step shows.
struct Released {
    joined: Vec<u64>,
    selection: Choice,
    values: BTreeMap<u64, f64>,
}

/// One step from `parameters`, by the plan and on the task that `fault` makes of them.
fn released(
    settings: &PlanSettings,
    task: &WordTask,
    fault: Fault,
    step: u64,
    parameters: &[f32],
) -> Released {
    let mut settings = settings.clone();
    if fault == Fault::LooseClip {
        settings.clip *= 2.0;
    }
    let units = task.units();
    let has_last = units > LINES as u64;
    let drawn = units + u64::from(fault == Fault::CountedTwice && has_last);
    let batch = batch(&Plan::new(settings).unwrap(), drawn, step);
    let joined = batch.units().to_vec();
    let rows = task.model().rows(parameters).unwrap();
    let selected = batch
        .sum(|unit, gradient| {
            let unit = unit.min(units - 1);
            let mut random = source().substream(Purpose::Negatives, step, unit);
            let mut draw = Vec::new();
            task.draw(unit, &mut random, &mut draw);
            task.gradient(unit, &draw, &rows, gradient);
            if fault == Fault::SeesOthers {
                let share = 1e-3 / units as f32;
                let mut read = BTreeSet::new();
                task.reads(unit, &draw, &mut |row| {
                    read.insert(row);
                });
                for row in read {
                    WriteRows::row(gradient, row).iter_mut().for_each(|slope| *slope *= share);
                }
            }
        })
        .select();
    let selection = selected.selection().clone();
    let mut values = BTreeMap::new();
    selected.noise().visit(|first, run| {
        values.extend((first..).zip(run).map(|(place, value)| (place, f64::from(*value))));
    });
    Released { joined, selection, values }
}

/// Compares all steps of two neighbours, both from the parameters of the first.
fn compared(
    tasks: &[WordTask; 2],
    relation: Neighbouring,
    selection: &SelectionSettings,
    noise: f64,
    fault: Fault,
) -> Vec<Compared> {
    let settings = plan(&tasks[0], relation, selection.clone(), noise);
    let model = tasks[0].model();
    let mut parameters: Vec<f32> =
        (0..model.parameters()).map(|place| (place as f32 * 0.7).sin() * 0.5).collect();
    let mut all = Vec::new();
    for step in 0..STEPS {
        let [one, other] =
            [0, 1].map(|side: usize| released(&settings, &tasks[side], fault, step, &parameters));
        let last = LINES as u64;
        let shared =
            |it: &Released| it.joined.iter().copied().filter(|it| *it < last).collect::<Vec<_>>();
        assert_eq!(shared(&one), shared(&other), "the same batch but for the one unit");
        let takes_part = other.joined.iter().any(|unit| *unit >= last);
        let times = if relation == Neighbouring::ReplaceOne { 2.0 } else { 1.0 };
        let stated = if takes_part { times * CLIP / BATCH } else { 0.0 };
        let same = one.selection == other.selection;
        if !takes_part {
            all.push(Compared::new(
                format!("step {step}, selection"),
                f64::from(u8::from(!same)),
                0.0,
            ));
        }
        // Where another selection was made, the coordinates that both have.
        let both: Vec<u64> =
            one.values.keys().filter(|place| other.values.contains_key(place)).copied().collect();
        let of = |it: &Released| both.iter().map(|place| it.values[place]).collect::<Vec<f64>>();
        let what = format!("step {step}, {} values", both.len());
        all.push(Compared::new(what, l2(&of(&one), &of(&other)), stated));
        for (place, value) in &one.values {
            parameters[*place as usize] -= RATE * *value as f32;
        }
    }
    all
}

#[test]
fn a_dense_step_moves_by_no_more_than_its_clip() {
    for relation in [Neighbouring::AddRemove, Neighbouring::ReplaceOne] {
        for layout in [Layout::Tied, Layout::TwoTables] {
            for objective in [Objective::SkipGram, Objective::ContinuousBag] {
                let tasks = neighbours(relation, layout, objective);
                let all =
                    compared(&tasks, relation, &SelectionSettings::Everything, 0.5, Fault::None);
                let joined = all.iter().filter(|it| it.stated > 0.0).count();
                assert!((3..10).contains(&joined), "in some batches and not in others: {joined}");
                // The bound is reached: a gradient that is longer is cut to it.
                assert!(all.iter().any(|it| it.found > 0.9 * CLIP / BATCH));
                let worst = worst(all);
                assert!(!worst.violates(), "{worst}");
            }
        }
    }
}

#[test]
fn a_wrong_sensitivity_is_caught() {
    let relation = Neighbouring::AddRemove;
    let tasks = neighbours(relation, Layout::TwoTables, Objective::SkipGram);
    for fault in [Fault::LooseClip, Fault::CountedTwice, Fault::SeesOthers] {
        eprint!("twin {fault:?}: ");
        let worst = worst(compared(&tasks, relation, &SelectionSettings::Everything, 0.5, fault));
        assert!(worst.violates(), "{fault:?}: {worst}");
    }
}

/// With next to no noise, values can be compared wherever both selected.
#[test]
fn what_is_selected_moves_by_no_more_than_the_clip() {
    let relation = Neighbouring::AddRemove;
    let tasks = neighbours(relation, Layout::Tied, Objective::SkipGram);
    let (cap, epsilon) = (CLIP / BATCH, 2.0);
    let mut selections = vec![SelectionSettings::LimitedDomain {
        draws: 10,
        domain: 30,
        rows_per_unit: 20,
        epsilon: 20.0,
        delta: 0.1,
    }];
    for by in [By::Coordinate, By::Row] {
        let draws = if by == By::Row { 10 } else { 60 };
        selections.extend([
            SelectionSettings::Exponential { by, draws, epsilon, cap },
            SelectionSettings::NoisyMax {
                by,
                draws,
                epsilon,
                noise: MaxNoise::Laplace,
                cap: Some(cap),
            },
            SelectionSettings::SparseVector {
                by,
                hits: draws,
                order: Default::default(),
                threshold: 0.2 * cap,
                threshold_epsilon: epsilon,
                query_epsilon: epsilon,
                cap: Some(cap),
            },
            SelectionSettings::Uniform { by, draws },
        ]);
    }
    for selection in selections {
        let all = compared(&tasks, relation, &selection, 1e-9, Fault::None);
        let seen = all.iter().filter(|it| it.found > 0.0).count();
        let worst = worst(all);
        assert!(!worst.violates(), "{selection:?}: {worst}");
        assert!(seen > 0, "{selection:?}: the unit moves something");
    }
    // Every coordinate in turn, so that no part of a gradient hides behind another selection.
    let all = SelectionSettings::Uniform { by: By::Row, draws: WORDS as u64 };
    for fault in [Fault::LooseClip, Fault::CountedTwice, Fault::SeesOthers] {
        eprint!("twin {fault:?}, selected: ");
        let worst = worst(compared(&tasks, relation, &all, 1e-9, fault));
        assert!(worst.violates(), "{fault:?}: {worst}");
    }
}
