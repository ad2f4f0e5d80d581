use super::*;
use crate::{NoiseSettings, Plan, PlanSettings, RandomSource, Sampler, SelectionSettings, Shape};
use organza_ledger::testing::paid;
use organza_ledger::{Event, Neighbouring};

fn sampler(selection: SelectionSettings, noise: NoiseSettings) -> Sampler {
    let plan = Plan::new(PlanSettings {
        shape: Shape::tables(&[(1_000, 64), (20, 1)]).expect("a good shape"),
        neighbouring: Neighbouring::AddRemove,
        rate: 1.0,
        expected_batch: 4.0,
        clip: 2.0,
        selection,
        noise,
    });
    plan.expect("a good plan").sampler("training", 2, &RandomSource::from_seed(4))
}

fn dense(multiplier: f64) -> Sampler {
    let noise = NoiseSettings::Gaussian { multiplier, second_clip: None };
    sampler(SelectionSettings::Everything, noise)
}

fn grid() -> DeferredGrid {
    DeferredGrid::new(64_020, 100, 3.0, 1e-6).expect("a good grid")
}

fn owed(sampler: &Sampler) -> OwedNoise {
    let deferral = sampler.defer(&grid()).expect("dense noise");
    let charge = deferral.charge();
    deferral.paid(paid(charge)).expect("it is paid")
}

#[test]
fn only_dense_gaussian_noise_can_wait() {
    assert!(dense(1.0).defer(&grid()).is_some());
    let clipped = NoiseSettings::Gaussian { multiplier: 1.0, second_clip: Some(0.1) };
    assert!(sampler(SelectionSettings::Everything, clipped).defer(&grid()).is_none());
    let plain = NoiseSettings::Gaussian { multiplier: 1.0, second_clip: None };
    let mask = SelectionSettings::Uniform { by: crate::By::Row, draws: 3 };
    assert!(sampler(mask, plain).defer(&grid()).is_none());
    assert!(dense(1e-8).defer(&grid()).is_none(), "the sum's own grid is coarser");
    let narrow = DeferredGrid::new(64_019, 100, 3.0, 1e-6).expect("a good grid");
    assert!(dense(1.0).defer(&narrow).is_none(), "made for fewer coordinates");
    let long = DeferredGrid::new(64_020, 1 << 30, 3.0, 1e-6).expect("a good grid");
    assert!(dense(1e7).defer(&long).is_none(), "more noise than integers hold");
}

#[test]
fn it_has_to_be_paid_for() {
    let deferral = dense(1.0).defer(&grid()).expect("dense noise");
    let charge = deferral.charge();
    assert_eq!(charge.purpose, "deferred noise of training");
    assert_eq!(charge.event, grid().event());
    let less = Event::Near { total_variation: 0.0 };
    for other in [
        Charge { event: less, ..charge.clone() },
        Charge { purpose: "training".into(), ..charge.clone() },
        Charge { key: None, ..charge.clone() },
        Charge { neighbouring: None, ..charge.clone() },
    ] {
        assert!(deferral.clone().paid(paid(other)).is_err());
    }
    assert!(deferral.paid(paid(charge)).is_ok());
}

/// Of a row of 64 that is all there is.
fn debt(row: u32, steps: u32) -> Debt {
    Debt { row, steps, place: 0..64 }
}

#[test]
fn rows_that_are_settled_together_get_what_each_gets_alone() {
    let settling = owed(&dense(1.0)).settling(5);
    let places = [(4, 20..84), (5, 84..85), (9, 90..154), (11, 154..218), (12, 218..518)];
    let debts = places.map(|(row, place)| Debt { row, steps: row, place });
    let mut together = [1; 518];
    settling.take_off(&debts, 10, &mut together[10..]);
    for debt in debts {
        let mut alone = vec![1; debt.place.len()];
        settling.take_off(&[Debt { place: 0..debt.place.len(), ..debt }], 0, &mut alone);
        assert_eq!(together[debt.place.clone()], alone);
        assert!(alone.iter().all(|whole| *whole != 1));
        together[debt.place].fill(1);
    }
    assert_eq!(together, [1; 518], "and nothing else");
}

#[derive(Default)]
struct KeptRows(Vec<(u32, Vec<i32>)>);

impl Indebted for KeptRows {
    fn take(&mut self, touched: &Touched<'_>) {
        assert_eq!(format!("{touched:?}"), "Touched(secret)");
        for place in 0..touched.count() {
            self.0.push((touched.row(place), Vec::new()));
        }
        touched.gradients(0..touched.count(), |place, start, piece| {
            assert_eq!(start, self.0[place].1.len());
            self.0[place].1.extend_from_slice(piece);
        });
    }
}

/// What step `step` releases of three rows, in the units of a table.
fn touched(sampler: &Sampler, step: u64) -> KeptRows {
    let batch = sampler.batch(step, &paid(sampler.charge(0..9))).expect("paid");
    let selected = batch.sum(|unit, gradient| {
        for row in [900 + unit as u32, 7, 1_019] {
            gradient.row(row).expect("inside")[0] += 0.25;
        }
    });
    let rows = selected.select().noise_touched(&owed(sampler)).expect("of this sampler");
    assert_eq!(format!("{rows:?}"), "TouchedRows(secret)");
    let mut kept = KeptRows::default();
    rows.pay_into(&mut kept);
    kept
}

#[test]
fn touched_rows_hold_their_average_and_noise_of_their_own() {
    let quiet = dense(1e-5);
    let KeptRows(rows) = touched(&quiet, 3);
    let names: Vec<(u32, usize)> = rows.iter().map(|(row, values)| (*row, values.len())).collect();
    assert_eq!(names, [(7, 64), (900, 64), (901, 64), (1_019, 1)]);
    let owed_noise = owed(&quiet);
    let in_gradient = |whole: i32| f64::from(whole) * owed_noise.unit();
    assert!((in_gradient(rows[0].1[0]) - 0.125).abs() < 1e-4);
    assert!(in_gradient(rows[0].1[1]).abs() < 1e-4);
    assert!((in_gradient(rows[1].1[0]) - 0.0625).abs() < 1e-4);
    let deviation = owed_noise.deviation();
    assert!((256.0..1_024.0).contains(&deviation), "{deviation}");

    let (one, other) = (touched(&dense(1.0), 3), touched(&dense(1.0), 4));
    assert_eq!(one.0, touched(&dense(1.0), 3).0, "the same step again, of the same key");
    let same = |one: &[i32], other: &[i32]| one.iter().zip(other).filter(|(a, b)| a == b).count();
    for (one, other) in one.0.iter().zip(&other.0) {
        assert!(same(&one.1, &other.1) < 8);
    }
    let mut noise = [0; 64];
    owed(&dense(1.0)).settling(3).take_off(&[debt(7, 1)], 0, &mut noise);
    assert!(same(&noise, &one.0[0].1) < 8, "not shared");
}

#[test]
fn rows_of_another_sampler_or_of_too_late_a_step_are_refused() {
    let right = owed(&dense(1.0));
    let other = dense(1.0);
    let selected = |sampler: &Sampler, step: u64| {
        let batch = sampler.batch(step, &paid(sampler.charge(0..200))).expect("paid");
        batch.sum(|_, _| ()).select()
    };
    assert!(selected(&other, 0).noise_touched(&right).is_none());
    let own = owed(&other);
    assert!(selected(&other, 99).noise_touched(&own).is_some());
    assert!(selected(&other, 100).noise_touched(&own).is_none());
}

/// The sum of squares over the variance is chi-squared; five of its deviations: a false alarm of 6e-7
/// each way, less than 1e-5 over all. The twin that counts one step less is caught.
#[test]
fn what_is_owed_has_its_variance() {
    let noise = owed(&dense(1.5));
    let settling = noise.settling(12);
    let count = 64_000.0;
    for steps in [1, 2, 7, 1_000, 2_000_000] {
        let mut squares = 0.0;
        for row in 0..1_000 {
            let mut wholes = [0; 64];
            settling.take_off(&[debt(row, steps)], 0, &mut wholes);
            squares += wholes.iter().map(|it| f64::from(*it) * f64::from(*it)).sum::<f64>();
        }
        let bound = 5.0 * f64::sqrt(2.0 / count);
        let variance = f64::from(steps) * noise.deviation() * noise.deviation();
        assert!((squares / count / variance - 1.0).abs() < bound);
        let broken = f64::from(if steps < 30 { steps - 1 } else { steps / 2 });
        assert!((squares / count / variance * f64::from(steps) / broken - 1.0).abs() > bound);
    }
    // multiplier x clip / expected batch.
    let deviation = noise.deviation() * noise.unit();
    assert!((deviation - 1.5 * 2.0 / 4.0).abs() < 1e-12, "{deviation}");
    let mut nothing = [1; 64];
    settling.take_off(&[debt(0, 0)], 0, &mut nothing);
    assert_eq!(nothing, [1; 64]);
}
