//! `report.html` of a reproduction: every figure and table beside what the paper prints.

use super::compared::{ComparedRun, Others};
use super::hyper_parameters;
use super::nearest::{Ended, Nearest};
use super::plan::BUDGET;
use super::reproduction::{Canary, Panel, Reproduction, Tight};
use organza_report::chart::{Axis, Chart, Line};
use organza_report::describe::count;
use organza_report::digits::{cost, near};
use organza_report::page::{Cell, Fact, Figure, Page, Section, Table};
use organza_words::settings::Settings;

/// Why losses and ranks are marked.
const WHY: &str = "from public data, and with a seed that is known";

/// The page; `settings` are those that all runs share, if their table is wanted.
pub fn page(found: &Reproduction, settings: Option<&Settings>) -> Page {
    let mut page = Page::new("The experiments of the paper, run again").lead(
        "Section 5 of \"Wide Network Learning with Differential Privacy\" (Zhang, Mironov, Hejazinia 2021) \
         with the settings that it prints, beside what it prints and what a tight account says.",
    );
    if found.quick {
        page = page.warning(
            "Shortened by `--quick`: these figures show that everything works, and nothing else.",
        );
    }
    page = page.warning(format!(
        "Every run has the seed {}, so its noise can be repeated and none of them is private. The Brown \
         corpus is public.",
        found.seed
    ));
    let kept = found.claims.iter().filter(|claim| claim.holds).count();
    if !found.claims.is_empty() {
        let fact = Fact::new("claims that hold", format!("{kept} of {}", found.claims.len()));
        page = page.fact(fact.not_private(WHY));
    }
    for panel in found.figure1.iter().filter(|panel| panel.printed_epsilon.is_some()) {
        let Some(epsilon) = panel.ended.epsilon else { continue };
        let note = format!("the paper says {}", near(panel.printed_epsilon.unwrap_or(f64::NAN)));
        page = page.fact(Fact::new(format!("epsilon, {}", panel.name), cost(epsilon)).note(note));
    }
    let sections = [
        (!found.claims.is_empty()).then(|| claims(found)),
        (!found.figure1.is_empty()).then(|| figure_1(&found.figure1)),
        settings.map(hyper_parameter_section),
        (!found.figure2.is_empty()).then(|| figure_2(&found.figure2)),
        found.nearest.as_ref().map(nearest),
        (!found.tight.is_empty()).then(|| tight(&found.tight)),
        found.compared.as_ref().map(compared),
    ];
    let page = sections.into_iter().flatten().fold(page, Page::section);
    page.section(
        Section::new("Files")
            .text("Beside this page stands a folder for each run, each with its certificate.")
            .links([("reproduction.json", "all of it for programs")]),
    )
}

fn loss(value: f64) -> Cell {
    Cell::from(value).not_private(WHY)
}

fn claims(found: &Reproduction) -> Section {
    let mut table = Table::new("claims", ["the paper says", "here", "by these figures"]);
    for claim in &found.claims {
        let verdict = if claim.holds { "holds" } else { "does not hold" };
        let because = Cell::from(claim.because.clone()).not_private(WHY);
        table = table.row([claim.says.into(), verdict.into(), because]);
    }
    Section::new("What the paper says, and what came out").table(table)
}

fn curve(panel: &Panel) -> Chart {
    let line = |name: &str, of: fn(&organza_train::Losses) -> f64| {
        let points = panel.curve.iter().map(|point| (point.step as f64, of(&point.losses)));
        Line::new(name, points.collect::<Vec<_>>())
    };
    Chart {
        title: panel.name.to_owned(),
        horizontal: Axis::linear("steps"),
        vertical: Axis::linear("loss"),
        lines: vec![line("training", |it| it.train), line("test", |it| it.test)],
        mark: None,
    }
}

fn figure_1(panels: &[Panel]) -> Section {
    let mut charts = panels.iter().map(curve);
    let mut section = Section::new("Figure 1: learning curves").text(
        "Six methods with the printed settings. The paper prints its curves as pictures, without numbers, \
         and epsilon 30 at delta 1e-5 for each method but the first and the third.",
    );
    if let Some(first) = charts.next() {
        let figure = charts.fold(Figure::new("figure-1", first), Figure::panel);
        section = section.figure(
            figure.caption("A model of zeros has a loss of 9 ln 2 = 6.24.").not_private(WHY),
        );
    }
    let mut table = Table::new(
        "figure-1",
        ["run", "epsilon, printed", "epsilon, tight", "start", "training", "test", "gap"],
    );
    for Panel { name, printed_epsilon, ended, .. } in panels {
        table = table.row([
            (*name).into(),
            Cell::from(printed_epsilon.unwrap_or(f64::NAN)),
            Cell::cost(ended.epsilon),
            loss(ended.start_test_loss),
            loss(ended.train_loss),
            loss(ended.test_loss),
            loss(ended.gap()),
        ]);
    }
    section.table(table.caption(
        "Epsilon at delta 1e-5, add-remove, for one pair of words. The tight account prices selection and \
         noise together; sparse-vector has no such account and is priced as it must be.",
    ))
}

fn hyper_parameter_section(settings: &Settings) -> Section {
    Section::new("Hyper-parameters")
        .text("The paper's table, and what the runs on this page have.")
        .table(hyper_parameters::table(settings))
        .note(
            "The paper states sigma .5 for an epsilon of 20 that its Theorem 3 gives to the noise. As \
             printed, the theorem gives 14.2 for sigma .5, and steps of its proof are false.",
        )
}

fn figure_2(canaries: &[Canary]) -> Section {
    let mut section = Section::new("Figure 2: ranks of canaries").text(
        "Phrases of three random words, each inserted n_c times, and ranked by the trained model among \
         random phrases that begin with the same word; and phrases that were never inserted, ranked by \
         the sparse model. Both private methods have sigma .5.",
    );
    let mut panels = Vec::new();
    for canary in canaries {
        let title = format!("{}, n_c = {}", canary.column, canary.repeats);
        panels.push(canary.inserted.histogram(title));
        if canary.column == "sparse" {
            let title = format!("never inserted, n_c = {}", canary.repeats);
            panels.push(canary.control.histogram(title));
        }
    }
    let mut panels = panels.into_iter();
    if let Some(first) = panels.next() {
        let figure = panels.fold(Figure::new("figure-2", first), Figure::panel);
        let caption = "Level with the line: nothing is seen. All at the right: all are memorised.";
        section = section.figure(figure.caption(caption).not_private(WHY));
    }
    let mut table = Table::new(
        "chi-squared",
        [
            "n_c",
            "run",
            "epsilon",
            "printed (p)",
            "distance",
            "p",
            "control printed (p)",
            "control",
            "control p",
        ],
    );
    for canary in canaries {
        let printed = |distance: super::printed::Distance| {
            Cell::from(format!("{} ({:.2})", near(distance.distance), distance.p_value))
        };
        let (inserted, control) = (&canary.inserted.uniformity, &canary.control.uniformity);
        table = table.row([
            canary.repeats.into(),
            canary.column.into(),
            Cell::cost(canary.epsilon),
            printed(canary.printed),
            loss(inserted.distance),
            loss(inserted.p_value),
            printed(canary.printed_control),
            loss(control.distance),
            loss(control.p_value),
        ]);
    }
    section
        .table(table.caption(
            "Chi-squared distance from uniform (the statistic over the number of phrases) and Pearson's \
             p-value. 9 is the largest distance there is: all phrases in the highest tenth.",
        ))
        .note(
            "The test bounds epsilon neither from above nor from below. The paper reads \"empirical epsilon \
             between 0.07 and 0.11\" off the numbers of repeats: 1/15 and 1/9, a heuristic.",
        )
}

fn nearest(found: &Nearest) -> Section {
    let mut table = Table::new(
        "nearest",
        ["setting", "start", "sparse", "DP-SGD .32", "sparse is better", "it learns"],
    );
    let yes = |holds: bool| Cell::from(if holds { "yes" } else { "no" });
    for tried in &found.tried {
        table = table.row([
            tried.setting.clone().into(),
            loss(tried.start),
            loss(tried.sparse),
            loss(tried.dp_sgd),
            yes(tried.beats),
            yes(tried.learns),
        ]);
    }
    let mut section = Section::new("The nearest setting at which sparse beats DP-SGD")
        .text(format!(
            "One or a few settings changed, {} steps each, losses on the validation set. A sparse run that \
             stands still can be better than a DP-SGD run that walks away: the last column tells it apart \
             from one that learns.",
            count(found.steps)
        ))
        .table(table);
    if found.nearest.is_empty() {
        return section.note("No setting that was tried lets the sparse method beat DP-SGD.");
    }
    let mut full =
        Table::new("nearest-full", ["setting", "run", "epsilon", "start", "training", "test"]);
    for nearest in &found.nearest {
        let row = |name: &str, ended: &Ended| {
            [
                nearest.setting.clone().into(),
                name.into(),
                Cell::cost(ended.epsilon),
                loss(ended.start_test_loss),
                loss(ended.train_loss),
                loss(ended.test_loss),
            ]
        };
        full = full.row(row("sparse-exponential", &nearest.sparse));
        full = full.row(row("DP-SGD, sigma .32", &nearest.dp_sgd));
        let verdict = match (nearest.beats, nearest.learns) {
            (true, true) => "sparse is better than DP-SGD, and learns",
            (true, false) => {
                "sparse is better than DP-SGD because it moves less; it learns nothing"
            }
            (false, _) => "the advantage of the short runs is gone",
        };
        section = section.text(format!("At full length, {}: {verdict}.", nearest.setting));
    }
    section.table(full)
}

fn tight(runs: &[Tight]) -> Section {
    let mut table = Table::new(
        "tight",
        [
            "setting",
            "share of selection",
            "sigma",
            "selection epsilon",
            "epsilon",
            "training",
            "validation",
            "test",
        ],
    );
    for run in runs {
        let chosen = if run.chosen { " (chosen)" } else { "" };
        table = table.row([
            run.setting.clone().into(),
            Cell::number(run.share, format!("{}{chosen}", run.share)),
            Cell::from(run.noise_multiplier.unwrap_or(f64::NAN)),
            Cell::from(run.selection_epsilon.unwrap_or(f64::NAN)),
            Cell::cost(run.ended.epsilon),
            loss(run.ended.train_loss),
            loss(run.ended.validation_loss),
            loss(run.ended.test_loss),
        ]);
    }
    Section::new("The same method, with all of its budget")
        .text(format!(
            "The printed settings spend far less than epsilon {}. Here noise and selection are chosen so \
             that the tight account comes to {}; the share of the budget that selection gets is chosen on \
             the validation set.",
            near(BUDGET),
            near(BUDGET)
        ))
        .table(table)
}

fn compared(others: &Others) -> Section {
    let Others { steps, selective, subspace, at_one_per_parameter, runs } = others;
    let mut table = Table::new(
        "compared",
        [
            "run",
            "epsilon",
            "sigma",
            "epsilon of a step",
            "per parameter",
            "start",
            "training",
            "test",
        ],
    );
    for run in runs {
        let ComparedRun { method, noise_multiplier, step_epsilon, per_parameter, ended, .. } = run;
        let optional = |value: &Option<f64>| Cell::from(value.unwrap_or(f64::NAN));
        table = table.row([
            (*method).into(),
            Cell::cost(ended.epsilon),
            optional(noise_multiplier),
            optional(step_epsilon),
            optional(per_parameter),
            loss(ended.start_test_loss),
            loss(ended.train_loss),
            loss(ended.test_loss),
        ]);
    }
    let mut budgets: Vec<f64> = runs.iter().map(|run| run.budget).collect();
    budgets.dedup();
    let chart = |budget: f64| Chart {
        title: format!("epsilon {}", near(budget)),
        horizontal: Axis::linear("steps"),
        vertical: Axis::linear("test loss"),
        lines: runs
            .iter()
            .filter(|run| run.budget == budget)
            .map(|run| {
                let points = run.curve.iter().map(|it| (it.step as f64, it.losses.test));
                Line::new(run.method, points.collect::<Vec<_>>())
            })
            .collect(),
        mark: None,
    };
    let mut section = Section::new("The two systems that the paper compares itself with").text(format!(
        "All at the same epsilon by the tight account, {} steps each, all else as printed. selective-sgd (Shokri and Shmatikov          2015) releases at most {} coordinates a step that clear a noisy threshold, with Laplace noise. projected-dpsgd (Zhou,          Wu and Banerjee 2020) is DP-SGD whose noisy gradient is projected on the top {} directions of the gradients of {}          public samples, found anew every {} steps: a post-processing, so its account is that of dp-sgd.",
        count(*steps),
        selective.hits,
        subspace.dimensions,
        subspace.samples,
        subspace.every
    ));
    let mut charts = budgets.into_iter().map(chart);
    if let Some(first) = charts.next() {
        let figure = charts.fold(Figure::new("compared", first), Figure::panel);
        section = section.figure(figure.not_private(WHY));
    }
    section
        .table(table.caption(
            "sigma: deviation over sensitivity, of Gaussian noise. Epsilon of a step: of selective-sgd, before sampling, with all              of its values. Per parameter: what its paper reports of it, the same over the number of values.",
        ))
        .note(format!(
            "Epsilon per parameter is not a guarantee: a record is in all values of a step, and in many steps. These steps at epsilon \
             1 per parameter have epsilon {} in all.",
            cost(*at_one_per_parameter)
        ))
        .note(
            "The public samples of projected-dpsgd are from the validation part and were declared public; nothing is promised to \
             them. No other method has any.",
        )
}
