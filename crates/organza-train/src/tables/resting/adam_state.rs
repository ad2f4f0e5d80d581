//! Where coordinates are, and where they come to rest, by what is kept of each.

use super::*;

/// What Adam knows of each coordinate besides its resting place.
#[derive(Debug, PartialEq)]
pub(super) struct AdamState {
    pub(super) settings: AdamSettings,
    pub(super) series: Series,
    /// log2 r.
    pub(super) exponent: f32,
    /// Row by row: all n, then all s with their marks, then all sqrt(v_s), as bits. What belongs to one row
    /// stands together, because far apart each would cost a translation of its address.
    pub(super) bits: Aligned<u32>,
}

impl AdamState {
    /// All that [`AdamState::bring`] looks at in most rows: n and s.
    pub(super) fn moved(&self, place: Place) -> &[u32] {
        &self.bits[place.part(SPEEDS, 0)..place.part(MOVED, place.length)]
    }

    /// Adds to the resting places of a row, its `weights`, how far they are away at `time`.
    pub(super) fn bring(&self, weights: &mut [f32], time: u64, place: Place) {
        let marked = Arch::new().dispatch(Bring {
            weights: &mut *weights,
            speeds: &self.bits[place.part(SPEEDS, 0)..place.part(SPEEDS, place.length)],
            moved: &self.bits[place.part(MOVED, 0)..place.part(MOVED, place.length)],
            time: time as u32,
            live: self.series.live() as u32,
            exponent: self.exponent,
            total: self.series.after(time).total as f32,
        });
        if !marked {
            return;
        }
        for (inside, weight) in weights.iter_mut().enumerate() {
            let moved = self.bits[place.part(MOVED, inside)];
            if moved & MARK != 0 {
                let number = |part| f64::from(f32::from_bits(self.bits[place.part(part, inside)]));
                let time_of_it = u64::from(moved & !MARK);
                let coordinate =
                    Coordinate { speed: number(SPEEDS), root: number(ROOTS), time: time_of_it };
                // The short form left marked ones where they were.
                let distance = self.distance(time, self.moments(coordinate, time));
                *weight = (f64::from(*weight) + distance) as f32;
            }
        }
    }

    /// m and sqrt(v) at `time`.
    fn moments(&self, coordinate: Coordinate, time: u64) -> (f64, f64) {
        let age = time - coordinate.time;
        let root = coordinate.root * (0.5 * age as f64 * self.settings.beta2().ln()).exp();
        if age >= self.series.live() {
            return (0.0, root);
        }
        let centre = self.series.after(coordinate.time).centre;
        let first =
            coordinate.speed * (coordinate.root + f64::from(self.settings.epsilon) * centre);
        (first * (age as f64 * self.settings.beta1().ln()).exp(), root)
    }

    fn distance(&self, time: u64, (first, root): (f64, f64)) -> f64 {
        self.series.distance(time, first, root)
    }

    /// Updates what is on the stage and puts it back.
    pub(super) fn flush(&mut self, stage: &mut Stage, constants: &Constants, weights: &mut [f32]) {
        if stage.filled == 0 {
            return;
        }
        let special = Arch::new().dispatch(Update { lanes: &mut stage.lanes, constants });
        if special {
            for lane in 0..stage.filled {
                if stage.lanes.special[lane] != 0 {
                    self.update_exactly(&mut stage.lanes, lane, constants);
                }
            }
        }
        let mut from = 0;
        for piece in &stage.pieces[..stage.count] {
            let lanes = from..from + piece.length;
            copy(&mut weights[piece.weights()], &stage.lanes.new_weights[lanes.clone()]);
            copy(&mut self.bits[piece.part(SPEEDS)], &stage.lanes.new_speeds[lanes.clone()]);
            copy(&mut self.bits[piece.part(ROOTS)], &stage.lanes.new_roots[lanes.clone()]);
            copy(&mut self.bits[piece.part(MOVED)], &stage.lanes.new_moved[lanes]);
            from += piece.length;
        }
        (stage.filled, stage.count) = (0, 0);
    }

    /// The long form, in double precision.
    fn update_exactly(&self, lanes: &mut Lanes, lane: usize, constants: &Constants) {
        let settings = &self.settings;
        let (step, before) = (u64::from(constants.step), u64::from(constants.step) - 1);
        let coordinate = Coordinate {
            speed: f64::from(f32::from_bits(lanes.speeds[lane])),
            root: f64::from(f32::from_bits(lanes.roots[lane])),
            time: u64::from(lanes.moved[lane] & !MARK),
        };
        let (first, root) = self.moments(coordinate, before);
        let weight = f64::from(lanes.weights[lane]) + self.distance(before, (first, root));
        let gradient = f64::from(lanes.gradient[lane]);
        let (beta1, beta2) = (settings.beta1(), settings.beta2());
        let first = beta1 * first + (1.0 - beta1) * gradient;
        let root = (beta2 * root * root + (1.0 - beta2) * gradient * gradient).sqrt();
        let (weighting, inverse) = settings.corrections(step);
        let epsilon = f64::from(settings.epsilon);
        let rate = f64::from(settings.learning_rate);
        let moved = rate * weighting * first / (root + epsilon * inverse);
        lanes.new_weights[lane] = (weight - moved - self.distance(step, (first, root))) as f32;
        let divisor = (root + epsilon * self.series.after(step).centre).recip();
        let flushed =
            |value: f64| if value.abs() < f64::from(SMALLEST) { 0.0 } else { value as f32 };
        lanes.new_speeds[lane] = flushed(first * divisor).to_bits();
        lanes.new_roots[lane] = flushed(root).to_bits();
        let felt = epsilon * divisor > f64::from(constants.felt) && first != 0.0;
        lanes.new_moved[lane] = step as u32 | if felt { MARK } else { 0 };
    }
}

/// A coordinate as it was when it last got a gradient.
#[derive(Clone, Copy)]
struct Coordinate {
    speed: f64,
    root: f64,
    time: u64,
}

/// w += n r^age S for the unmarked ones; says whether some are marked.
struct Bring<'a> {
    weights: &'a mut [f32],
    speeds: &'a [u32],
    moved: &'a [u32],
    time: u32,
    live: u32,
    /// log2 r.
    exponent: f32,
    total: f32,
}

impl WithSimd for Bring<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let Self { weights, speeds, moved, time, live, exponent, total } = self;
        let mut marks = 0;
        for ((weight, speed), moved) in weights.iter_mut().zip(speeds).zip(moved) {
            marks |= moved;
            let age = time.wrapping_sub(moved & !MARK);
            // Marked coordinates look as old as can be.
            let age = age | (moved & MARK);
            let power = power_of_two(age as i32 as f32 * exponent);
            let distance = f32::from_bits(*speed) * (power * total);
            *weight += if age < live { distance } else { 0.0 };
        }
        marks & MARK != 0
    }
}
