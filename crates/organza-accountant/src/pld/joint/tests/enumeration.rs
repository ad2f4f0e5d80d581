//! Tiny mechanisms, all of whose outcomes are listed.

use super::{Random, Setting};
use crate::normal::{density, hockey_stick};
use crate::pld::Pair;
use crate::pld::joint::fold;

/// The logarithms of the thresholds at which claims are tested.
const LOGS: [f64; 15] =
    [0.0, 0.05, 0.15, 0.3, 0.5, 0.8, 1.2, 1.7, 2.3, 3.0, 4.0, 6.0, 9.0, 13.0, 18.0];

const SETTINGS: [Setting; 11] = [
    Setting::new(1.0, 1, 4, 0.3, 1.0, 1.0),
    Setting::new(3.0, 2, 6, 0.5, 0.75, 0.5),
    Setting::new(0.5, 3, 5, 0.2, 1.0, 0.7),
    Setting::new(2.0, 2, 5, 1.0, 1.0, 3.0),
    Setting::new(4.0, 1, 6, 0.4, 1.0, 0.4),
    Setting::new(2.5, 3, 6, 0.3, 0.8, 1.0),
    Setting::new(0.3, 1, 6, 0.1, 0.75, 0.5),
    Setting::new(1.5, 3, 3, 0.3, 1.0, 1.0),
    Setting::new(1.0, 1, 6, 0.1, 1.0, 0.7).clipped(0.4),
    Setting::new(2.0, 2, 6, 0.5, 0.75, 0.5).clipped(0.25),
    Setting::new(0.3, 1, 6, 0.1, 0.75, 0.5).clipped(0.6),
];

/// One outcome of the draws: its probability with and without the record, and by how many standard
/// deviations the record then moves the noise.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    with: f64,
    without: f64,
    shift: f64,
}

/// Two vectors that differ by one record, and the radius of the ball that the selected part is
/// projected to.
#[derive(Clone, Debug)]
struct Neighbours {
    without: Vec<f64>,
    with: Vec<f64>,
    ball: f64,
}

impl Neighbours {
    /// The vector `start` and what `change`, clipped to `l2`, makes of it.
    fn new(start: &[f64], change: &[f64], l2: f64, ball: f64) -> Self {
        let norm = change.iter().map(|value| value * value).sum::<f64>().sqrt();
        let scale = if norm > l2 { l2 / norm * (1.0 - 1e-12) } else { 1.0 };
        let with = start.iter().zip(change).map(|(base, value)| base + scale * value).collect();
        Self { without: start.to_vec(), with, ball }
    }

    fn projected(&self, vector: &[f64], chosen: &[usize]) -> Vec<f64> {
        let part: Vec<f64> = chosen.iter().map(|index| vector[*index]).collect();
        let norm = part.iter().map(|value| value * value).sum::<f64>().sqrt();
        let scale = if norm > self.ball { self.ball / norm } else { 1.0 };
        part.iter().map(|value| value * scale).collect()
    }

    /// Every ordered sequence of draws.
    fn outcomes(&self, setting: &Setting) -> Vec<Outcome> {
        let mut found = Vec::new();
        self.extend(setting, &mut Vec::new(), 1.0, 1.0, &mut |chosen, with, without| {
            let (to, from) =
                (self.projected(&self.with, chosen), self.projected(&self.without, chosen));
            let moved = to.iter().zip(&from).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
            let shift = moved / setting.deviation();
            found.push(Outcome { with, without, shift });
        });
        found
    }

    fn extend(
        &self,
        setting: &Setting,
        chosen: &mut Vec<usize>,
        with: f64,
        without: f64,
        visit: &mut impl FnMut(&[usize], f64, f64),
    ) {
        if chosen.len() as u64 == setting.draws {
            return visit(chosen, with, without);
        }
        let left: Vec<usize> =
            (0..self.with.len()).filter(|index| !chosen.contains(index)).collect();
        let weights = |vector: &[f64]| -> Vec<f64> {
            left.iter()
                .map(|i| (setting.weight() * vector[*i].abs().min(setting.cap)).exp())
                .collect()
        };
        let (after, before) = (weights(&self.with), weights(&self.without));
        let totals = (after.iter().sum::<f64>(), before.iter().sum::<f64>());
        for (position, index) in left.iter().enumerate() {
            chosen.push(*index);
            let (up, down) = (after[position] / totals.0, before[position] / totals.1);
            self.extend(setting, chosen, with * up, without * down, visit);
            chosen.pop();
        }
    }
}

/// The true profile at e^`log`, with the Gaussian part in closed form.
fn profile(outcomes: &[Outcome], log: f64) -> f64 {
    outcomes
        .iter()
        .map(|one| one.with * hockey_stick(log.exp() * one.without / one.with, one.shift))
        .sum()
}

/// The largest ratio of the true profile to a claim, over the thresholds.
fn excess(outcomes: &[Outcome], claimed: &[f64]) -> f64 {
    LOGS.iter()
        .zip(claimed)
        .map(|(log, claim)| profile(outcomes, *log) / (claim + 1e-14))
        .fold(0.0, f64::max)
}

fn claimed(pair: &Pair) -> Vec<f64> {
    LOGS.iter().map(|log| pair.delta(*log)).collect()
}

/// Neighbours whose profile comes close to `claimed`, by a random search that keeps what is better.
fn worst(
    setting: &Setting,
    claimed: &[f64],
    random: &mut Random,
    tries: usize,
) -> (f64, Neighbours) {
    let size = setting.candidates as usize;
    let mut best: Option<(f64, Vec<f64>, Vec<f64>, f64)> = None;
    for round in 0..tries {
        let ball = match setting.kept {
            kept if kept < 1.0 => 0.5 * kept * setting.l2,
            _ if round % 3 == 0 => 0.6 * setting.l2,
            _ => 1e9,
        };
        let mut fresh = |scale: f64| -> Vec<f64> {
            let sparse = random.uniform();
            (0..size)
                .map(|_| if random.uniform() < sparse { 0.0 } else { scale * random.normal() })
                .collect()
        };
        let (mut start, mut change) = (fresh(setting.cap), fresh(setting.l2));
        if round % 4 == 1 {
            start.fill(0.0);
            change.fill(0.0);
            change[0] = setting.l2;
            // From one side of the ball to the other.
            if setting.kept < 1.0 && round % 8 == 1 {
                start[0] = -0.5 * setting.kept * setting.l2;
            }
        }
        if let Some((_, old_start, old_change, _)) = best.as_ref().filter(|_| round % 2 == 0) {
            let near = |value: &mut f64, old: &f64| *value = old + 0.1 * *value;
            start.iter_mut().zip(old_start).for_each(|(value, old)| near(value, old));
            change.iter_mut().zip(old_change).for_each(|(value, old)| near(value, old));
        }
        let mut pair = Neighbours::new(&start, &change, setting.l2, ball);
        let forward = excess(&pair.outcomes(setting), claimed);
        std::mem::swap(&mut pair.with, &mut pair.without);
        let back = excess(&pair.outcomes(setting), claimed);
        if back > forward {
            start = pair.without.clone();
            change = pair.with.iter().zip(&start).map(|(to, from)| to - from).collect();
        }
        let score = forward.max(back);
        if best.as_ref().is_none_or(|(old, ..)| score > *old) {
            best = Some((score, start, change, ball));
        }
    }
    let (score, start, change, ball) = best.expect("at least one try");
    (score, Neighbours::new(&start, &change, setting.l2, ball))
}

#[test]
fn no_neighbours_pass_the_claim_and_every_twin_is_caught() {
    let mut random = Random::new(1);
    let mut caught = [false; 6];
    let mut tightest = 0.0f64;
    for setting in &SETTINGS {
        let (score, neighbours) = worst(setting, &claimed(&setting.claim()), &mut random, 3000);
        assert!(score <= 1.0, "{setting:?} {neighbours:?}: {score}");
        tightest = tightest.max(score);
        for (place, (_, twin)) in setting.twins().iter().enumerate() {
            caught[place] |= worst(setting, &claimed(twin), &mut random, 300).0 > 1.0;
        }
    }
    let names: Vec<_> = SETTINGS[0].twins().iter().map(|twin| twin.0).collect();
    assert_eq!(caught, [true; 6], "{names:?}");
    assert!(tightest > 0.8, "the search came no closer than {tightest}");
}

/// The true profile of `times` steps, each on its own joined to the batch with probability `rate`:
/// H_t(a) = E_P\[H_{t-1}(a/r)\], the Gaussian part summed over a fine grid.
fn repeated(outcomes: &[Outcome], rate: f64, times: u32) -> impl Fn(f64) -> f64 {
    const HALF: i32 = 1200;
    const STEP: f64 = 0.02;
    let spacing = 0.03;
    let mut atoms = Vec::new();
    for one in outcomes {
        let points = ((18.0 + one.shift) / spacing) as usize;
        for point in 0..points {
            let place = -9.0 + (point as f64 + 0.5) * spacing;
            let without = one.without * density(place) * spacing;
            let with = one.with * density(place - one.shift) * spacing;
            let mixed = (1.0 - rate) * without + rate * with;
            if mixed > 1e-13 {
                atoms.push((mixed, (mixed / without).ln()));
            }
        }
    }
    let base = |log: f64| (1.0 - log.exp()).max(0.0);
    let mut table: Vec<f64> = (-HALF..=HALF).map(|i| base(f64::from(i) * STEP)).collect();
    let look = |table: &[f64], log: f64| {
        let place = log / STEP + f64::from(HALF);
        if place <= 0.0 {
            return 1.0 - log.exp();
        }
        let low = place.floor() as usize;
        if low + 1 >= table.len() {
            return 0.0;
        }
        // The chord of a convex function is above it; here that is a part in ten thousand.
        let share = ((place - low as f64) * STEP).exp_m1() / STEP.exp_m1();
        table[low] * (1.0 - share) + table[low + 1] * share
    };
    for _ in 0..times {
        let previous = table.clone();
        for (index, value) in table.iter_mut().enumerate() {
            let log = (index as f64 - f64::from(HALF)) * STEP;
            *value = atoms.iter().map(|(mass, loss)| mass * look(&previous, log - loss)).sum();
        }
    }
    move |log| look(&table, log)
}

#[test]
fn several_steps_stay_below_the_product() {
    let mut random = Random::new(2);
    for setting in [&SETTINGS[0], &SETTINGS[4], &SETTINGS[6]] {
        let claim = setting.claim();
        let (_, found) = worst(setting, &claimed(&claim), &mut random, 400);
        let size = setting.candidates as usize;
        let mut single = vec![0.0; size];
        single[0] = setting.l2;
        let single = Neighbours::new(&vec![0.0; size], &single, setting.l2, 1e9);
        for times in 1..=3 {
            let product = fold::fold(&claim, u64::from(times), 1e-20, 4096);
            let broken = fold::fold(&setting.twins()[3].1, u64::from(times), 1e-20, 4096);
            let (mut closest, mut caught) = (0.0f64, false);
            for neighbours in [&found, &single] {
                let outcomes = neighbours.outcomes(setting);
                let truth = repeated(&outcomes, 1.0, times);
                for log in LOGS {
                    let (value, bound) = (truth(log), product.delta(log));
                    assert!(
                        value <= bound * (1.0 + 1e-3) + 1e-10,
                        "{times} {log}: {value} {bound}"
                    );
                    closest = closest.max(value / (bound + 1e-9));
                    caught |= value > 1.01 * broken.delta(log) + 1e-9;
                }
            }
            assert!(closest > 0.3 && caught, "{setting:?} {times}: {closest} {caught}");
        }
    }
}

#[test]
fn the_gaussian_part_in_closed_form_is_its_integral_over_space() {
    // Two draws, projected to a ball: the noise is summed over the plane, in no special direction.
    let setting = Setting::new(2.0, 2, 3, 0.5, 1.0, 0.8);
    let neighbours = Neighbours::new(&[0.4, -0.2, 0.1], &[0.6, 0.5, -0.4], 1.0, 0.7);
    let outcomes = neighbours.outcomes(&setting);
    let deviation = setting.deviation();
    let claim = setting.claim();
    for log in [0.0f64, 0.4, 1.0] {
        let (mut sum, mut position) = (0.0, 0);
        neighbours.extend(&setting, &mut Vec::new(), 1.0, 1.0, &mut |chosen, with, without| {
            let to = neighbours.projected(&neighbours.with, chosen);
            let from = neighbours.projected(&neighbours.without, chosen);
            let spacing = 0.02;
            for (row, column) in
                (-350..350).flat_map(|row| (-350..350).map(move |column| (row, column)))
            {
                let point = [f64::from(row) * spacing, f64::from(column) * spacing];
                let law = |centre: &[f64]| -> f64 {
                    point
                        .iter()
                        .zip(centre)
                        .map(|(at, middle)| density(at - middle / deviation))
                        .product()
                };
                let gain = with * law(&to) - log.exp() * without * law(&from);
                sum += gain.max(0.0) * spacing * spacing;
            }
            position += 1;
        });
        assert_eq!(position, outcomes.len());
        let exact = profile(&outcomes, log);
        assert!((sum / exact - 1.0).abs() < 2e-3, "{log}: {sum} {exact}");
        assert!(sum <= claim.delta(log));
    }
}
