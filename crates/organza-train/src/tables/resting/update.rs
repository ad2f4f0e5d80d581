//! One step of Adam on coordinates that are gathered from wherever they are.

use super::*;

/// What an update needs to know of its step, in single precision.
pub(super) struct Constants {
    pub(super) step: u32,
    pub(super) live: u32,
    beta1: f32,
    beta2: f32,
    pub(super) epsilon: f32,
    /// log2 r and log2 sqrt(b2).
    pub(super) ratio: f32,
    pub(super) root_decay: f32,
    /// S and A of the time before, and of this step.
    pub(super) total_before: f32,
    pub(super) centre_before: f32,
    pub(super) total: f32,
    pub(super) centre: f32,
    pub(super) central: [f32; 3],
    pub(super) step_size: f32,
    pub(super) root_correction: f32,
    /// Above which e = eps / (sqrt(v) + eps A) the short form would err too much at a later time.
    pub(super) felt: f32,
    /// Above which e the expansion of this step fails.
    pub(super) reach: f32,
}

impl Constants {
    pub(super) fn new(settings: &AdamSettings, series: &Series, step: u64) -> Self {
        let (before, future) = (series.after(step - 1), series.after(step));
        let (weight, inverse) = settings.corrections(step);
        // A_t b2^(-j/2) drifts from A_s by at most so much a step, and r^j j is at most 1 / (e |ln r|):
        // twice that for the curvature.
        let drift = -0.5 * settings.beta2().ln() + 0.5 / step as f64;
        let drift = 2.0 * drift / (std::f64::consts::E * -settings.ratio().ln());
        Self {
            step: step as u32,
            live: series.live() as u32,
            beta1: settings.beta1,
            beta2: settings.beta2,
            epsilon: settings.epsilon,
            ratio: settings.ratio().log2() as f32,
            root_decay: (0.5 * settings.beta2().log2()) as f32,
            total_before: before.total as f32,
            centre_before: before.centre as f32,
            total: future.total as f32,
            centre: future.centre as f32,
            central: future.central.map(|moment| moment as f32),
            step_size: (f64::from(settings.learning_rate) * weight / inverse) as f32,
            root_correction: inverse.recip() as f32,
            felt: (SHORT_FORM / (drift * future.centre)) as f32,
            reach: future.reach() as f32,
        }
    }
}

/// Coordinates gathered from wherever they are.
pub(super) struct Stage {
    pub(super) lanes: Lanes,
    pub(super) pieces: [Piece; LANES],
    pub(super) count: usize,
    pub(super) filled: usize,
}

/// Consecutive coordinates of a row.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) place: Place,
    pub(super) inside: usize,
    pub(super) length: usize,
}

impl Piece {
    pub(super) fn weights(&self) -> Range<usize> {
        let start = self.place.first + self.inside;
        start..start + self.length
    }

    pub(super) fn part(&self, part: usize) -> Range<usize> {
        let start = self.place.part(part, self.inside);
        start..start + self.length
    }
}

/// Copies without a call where there is a single value, as there mostly is.
#[inline(always)]
pub(super) fn copy<T: Copy>(to: &mut [T], from: &[T]) {
    match (&mut *to, from) {
        ([to], [from]) => *to = *from,
        _ => to.copy_from_slice(from),
    }
}

/// Weights and gradient are numbers, the state is bits.
pub(super) struct Lanes {
    pub(super) weights: [f32; LANES],
    pub(super) speeds: [u32; LANES],
    pub(super) roots: [u32; LANES],
    pub(super) moved: [u32; LANES],
    pub(super) gradient: [f32; LANES],
    pub(super) new_weights: [f32; LANES],
    pub(super) new_speeds: [u32; LANES],
    pub(super) new_roots: [u32; LANES],
    pub(super) new_moved: [u32; LANES],
    /// Not zero where the long form is needed.
    pub(super) special: [u32; LANES],
}

impl Stage {
    pub(super) fn new() -> Self {
        let (zeros, none) = ([0.0; LANES], [0; LANES]);
        let lanes = Lanes {
            weights: zeros,
            speeds: none,
            roots: none,
            moved: none,
            gradient: zeros,
            new_weights: zeros,
            new_speeds: none,
            new_roots: none,
            new_moved: none,
            special: none,
        };
        let nothing = Piece { place: Place { first: 0, length: 0 }, inside: 0, length: 0 };
        Self { lanes, pieces: [nothing; LANES], count: 0, filled: 0 }
    }

    /// Gathers coordinates for which there is room.
    pub(super) fn take(&mut self, state: &[u32], weights: &[f32], piece: Piece, gradient: &[f32]) {
        let to = self.filled..self.filled + piece.length;
        copy(&mut self.lanes.weights[to.clone()], &weights[piece.weights()]);
        copy(&mut self.lanes.speeds[to.clone()], &state[piece.part(SPEEDS)]);
        copy(&mut self.lanes.roots[to.clone()], &state[piece.part(ROOTS)]);
        copy(&mut self.lanes.moved[to.clone()], &state[piece.part(MOVED)]);
        copy(&mut self.lanes.gradient[to.clone()], gradient);
        self.pieces[self.count] = piece;
        self.count += 1;
        self.filled = to.end;
    }
}

/// One step of Adam from resting place to resting place; says whether lanes need the long form.
pub(super) struct Update<'a> {
    pub(super) lanes: &'a mut Lanes,
    pub(super) constants: &'a Constants,
}

impl WithSimd for Update<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let Self { lanes, constants: it } = self;
        let before = it.step - 1;
        let [second_moment, third_moment, fourth_moment] = it.central;
        let mut any = 0;
        for lane in 0..LANES {
            let moved = lanes.moved[lane];
            let age = before.wrapping_sub(moved & !MARK);
            let years = age as i32 as f32;
            let ratio = if age < it.live { power_of_two(years * it.ratio) } else { 0.0 };
            let decay = running_power(years * it.root_decay);
            let speed = f32::from_bits(lanes.speeds[lane]);
            let root = f32::from_bits(lanes.roots[lane]);
            let weight = lanes.weights[lane] + speed * (ratio * it.total_before);
            let first = speed * (root + it.epsilon * it.centre_before) * ratio * decay;
            let root = root * decay;

            let gradient = lanes.gradient[lane];
            let first = it.beta1 * first + (1.0 - it.beta1) * gradient;
            let second = it.beta2 * (root * root) + (1.0 - it.beta2) * (gradient * gradient);
            let root = second.sqrt();
            let move_now = it.step_size * first / (root * it.root_correction + it.epsilon);
            let inverse = 1.0 / (root + it.epsilon * it.centre);
            let (speed, share) = (first * inverse, it.epsilon * inverse);
            let speed = if speed.abs() < SMALLEST { 0.0 } else { speed };
            let root = if root < SMALLEST { 0.0 } else { root };
            let series = second_moment - share * (third_moment - share * fourth_moment);
            let to_come = speed * it.total * (1.0 + share * share * series);

            lanes.new_weights[lane] = weight - move_now - to_come;
            lanes.new_speeds[lane] = speed.to_bits();
            lanes.new_roots[lane] = root.to_bits();
            let felt = if share > it.felt && first != 0.0 { MARK } else { 0 };
            lanes.new_moved[lane] = it.step | felt;
            let beyond = if share > it.reach && first != 0.0 { MARK } else { 0 };
            // Squares of what is this small are no numbers to rely on.
            let tiny = if second < 1e-34 && first != 0.0 { MARK } else { 0 };
            lanes.special[lane] = (moved & MARK) | beyond | tiny;
            any |= lanes.special[lane];
        }
        any != 0
    }
}
