//! What the mechanisms cost: `cargo bench -p organza-mechanism`.
//!
//! Selection is measured on 20,000 non-zeros (200 rows of 100) among p coordinates: it must be flat in p.
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use organza_ledger::testing::paid;
use organza_ledger::{Charged, Neighbouring};
use organza_mechanism::random::Purpose;
use organza_mechanism::sample::{exponential, fill_normal, fill_normal_f32, gumbel, laplace};
use organza_mechanism::{
    BatchSum, By, NoiseSettings, Plan, PlanSettings, RandomSource, Sampler, Selection,
    SelectionRule, SelectionSettings, Shape, UnitGradient,
};
use std::cell::Cell;
use std::hint::black_box;

const DIMENSIONS: u64 = 100;
const UNITS: u64 = 20;
const ROWS_OF_A_UNIT: u64 = 10;

fn shape(coordinates: u64) -> Shape {
    Shape::table(coordinates / DIMENSIONS, DIMENSIONS).unwrap()
}

fn plan(coordinates: u64, selection: SelectionSettings) -> Plan {
    // As in the paper: a second clip after a selection, none for dense noise.
    let second_clip = (selection != SelectionSettings::Everything).then_some(1.0);
    Plan::new(PlanSettings {
        shape: shape(coordinates),
        neighbouring: Neighbouring::AddRemove,
        rate: 1.0,
        expected_batch: UNITS as f64,
        clip: 15.0,
        selection,
        noise: NoiseSettings::Gaussian { multiplier: 0.5, second_clip },
    })
    .unwrap()
}

/// The gradient of one unit: ten rows spread over the table, a hundred values each.
fn gradient(unit: u64, rows: u64, gradient: &mut UnitGradient) {
    for index in 0..ROWS_OF_A_UNIT {
        let row = (unit * ROWS_OF_A_UNIT + index) * (rows / (UNITS * ROWS_OF_A_UNIT)).max(1) % rows;
        let values = gradient.row(row as u32).unwrap();
        for (place, value) in values.iter_mut().enumerate() {
            *value = ((place as u64 * 31 + unit * 17 + index) % 101) as f32 / 50.0 - 1.0;
        }
    }
}

/// Steps of a plan, one after another, all of them paid for.
struct Steps {
    rows: u64,
    sampler: Sampler,
    paid: Charged,
    next: Cell<u64>,
}

impl Steps {
    fn new(plan: &Plan) -> Self {
        let sampler = plan.sampler("training", UNITS, &RandomSource::from_seed(1));
        let paid = paid(sampler.charge(0..1 << 40));
        Self { rows: plan.settings().shape.rows(), sampler, paid, next: Cell::new(0) }
    }

    fn sum(&self) -> BatchSum {
        let step = self.next.replace(self.next.get() + 1);
        let batch = self.sampler.batch(step, &self.paid).unwrap();
        batch.sum(|unit, target| gradient(unit, self.rows, target))
    }
}

fn selection(criterion: &mut Criterion) {
    let by = By::Coordinate;
    let exponential =
        |epsilon| SelectionSettings::Exponential { by, draws: 100, epsilon, cap: 0.1 };
    // Peeling takes a pass over the touched rows for each draw.
    let draws = |rule| if rule == SelectionRule::NoisyMax { 1 } else { 100 };
    let every = SelectionRule::ALL.map(|rule| {
        let asked = Selection { rule, by, draws: Some(draws(rule)), ..Selection::default() };
        (rule.name(), asked.settings(&shape(10_000_000), 0.284))
    });
    let larger =
        [("exponential, eta 5", exponential(5.0)), ("exponential, eta 50", exponential(50.0))];
    for (name, settings) in every.into_iter().chain(larger) {
        let mut group = criterion.benchmark_group(format!("select 100: {name}"));
        for coordinates in [100_000, 10_000_000, 1_000_000_000] {
            let steps = Steps::new(&plan(coordinates, settings.clone()));
            group.bench_function(BenchmarkId::from_parameter(coordinates), |bencher| {
                bencher.iter_batched(|| steps.sum(), |sum| sum.select(), BatchSize::LargeInput);
            });
        }
        group.finish();
    }
}

fn step(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("from gradients to noise, exponential, 100 draws");
    for coordinates in [100_000, 10_000_000, 1_000_000_000] {
        let settings = SelectionSettings::Exponential {
            by: By::Coordinate,
            draws: 100,
            epsilon: 0.284,
            cap: 0.1,
        };
        let steps = Steps::new(&plan(coordinates, settings));
        group.bench_function(BenchmarkId::from_parameter(coordinates), |bencher| {
            bencher.iter(|| {
                let noised = steps.sum().select().noise();
                let mut total = 0.0;
                noised.visit(|_, values| total += values[0]);
                total
            });
        });
    }
    group.finish();
    let steps = Steps::new(&plan(100_000, SelectionSettings::Everything));
    criterion.bench_function("from gradients to noise, dense, 100,000 coordinates", |bencher| {
        bencher.iter(|| {
            let noised = steps.sum().select().noise();
            let mut total = 0.0;
            noised.visit(|_, values| total += values[0]);
            total
        });
    });
}

fn samplers(criterion: &mut Criterion) {
    let source = RandomSource::from_seed(1);
    let mut random = source.substream(Purpose::Data, 0, 0);
    let mut group = criterion.benchmark_group("samplers");
    let mut floats = vec![0.0_f32; 16_384];
    group.throughput(Throughput::Elements(floats.len() as u64));
    group.bench_function("normals, f32", |bencher| {
        bencher.iter(|| fill_normal_f32(black_box(&mut floats), &mut random));
    });
    let mut doubles = vec![0.0_f64; 16_384];
    group.bench_function("normals, f64", |bencher| {
        bencher.iter(|| fill_normal(black_box(&mut doubles), &mut random));
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("a word of 64 bits", |bencher| bencher.iter(|| random.word()));
    group.bench_function("exponential", |bencher| bencher.iter(|| exponential(&mut random)));
    group.bench_function("gumbel", |bencher| bencher.iter(|| gumbel(&mut random)));
    group.bench_function("laplace", |bencher| bencher.iter(|| laplace(&mut random)));
    let mut step = 0;
    group.bench_function("a substream", |bencher| {
        bencher.iter(|| {
            step += 1;
            source.substream(Purpose::Data, step, 0).word()
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(40).warm_up_time(std::time::Duration::from_millis(500)).measurement_time(std::time::Duration::from_secs(2));
    targets = samplers, selection, step
}
criterion_main!(benches);
