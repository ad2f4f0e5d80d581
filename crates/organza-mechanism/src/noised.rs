//! Values with noise: what a step releases.

use crate::adaptive::{Adaptive, ReleasedClip};
use crate::batch::{Run, Selected};
use crate::dense::{DenseNoise, DenseRows};
use crate::memory::{Lease, Memory};
use crate::noise::{Projection, squares};
use crate::random::{Secret, StepRandom};
use crate::select::Choice;
use std::sync::Arc;

/// How many coordinates of a dense release share one substream.
const BLOCK: u64 = 8_192;
/// How many values of a dense release are handed out at a time: they stay in the nearest cache.
const VISITED: usize = 1_024;

/// Selected values with noise: the averaged gradient of this step, private and free to use.
///
/// Only [`Selected::noise`](crate::Selected::noise) makes it. It is in runs of consecutive
/// coordinates; a dense release is drawn block by block when it is read, so that it never takes the
/// space of a table, and reading a block again gives the same noise again.
pub struct Noised {
    run: Arc<Run>,
    /// Of a sparse release, runs and values with noise; of a dense one the touched rows without it.
    memory: Lease,
    /// The noise of this step.
    random: StepRandom,
    body: Body,
    /// The clip of this step over that of the plan.
    scale: f64,
    next_clip: Option<ReleasedClip>,
}

#[derive(Clone, Copy)]
enum Body {
    Sparse,
    /// The second clip, and the largest size of a sum after it.
    Dense {
        coordinates: u64,
        projection: Projection,
        largest: f64,
    },
}

/// Without the values: those of a dense release have no noise yet.
impl std::fmt::Debug for Noised {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self.body {
            Body::Sparse => "Noised(sparse)",
            Body::Dense { .. } => "Noised(dense)",
        })
    }
}

impl Noised {
    /// How many coordinates a block of a dense release has; the last may have fewer.
    pub const BLOCK: u64 = BLOCK;

    pub(crate) fn release(selected: Selected) -> Self {
        let Selected { run, mut memory, selection, step, grid, squares: of_all } = selected;
        let Run { plan, source, .. } = &*run;
        let noise = plan.noise();
        let random = source.secret(Secret::Noise, step);
        let Memory { sum, workspace, release, indices, .. } = &mut *memory;
        let scale = grid.clip() / plan.grid().clip();
        let next = |adaptive: &Adaptive| adaptive.next(grid.clip(), sum.within(), source, step);
        let next_clip = plan.adaptive().map(next);
        let body = match selection {
            Choice::All => {
                release.list_touched(sum, workspace.rows());
                let projection =
                    noise.projection(|| of_all.unwrap_or_else(|| squares(sum.all_values())));
                let largest = noise.largest_projected(sum.largest());
                Body::Dense { coordinates: sum.shape().coordinates(), projection, largest }
            }
            Choice::Some { by, indices: selected } => {
                release.gather(sum, by, &selected);
                let projection = noise
                    .projection(|| of_all.unwrap_or_else(|| squares(release.sums.iter().copied())));
                release.sums.iter_mut().for_each(|value| *value = projection.apply(*value));
                noise.add(&mut release.sums, noise.largest_projected(sum.largest()), &random);
                release.finish(noise.released_step() * scale);
                *indices = selected;
                Body::Sparse
            }
        };
        Self { run, memory, random, body, scale, next_clip }
    }

    /// What the next step clips to, released with this step; `None` if the plan's clip does not adapt.
    pub fn next_clip(&self) -> Option<ReleasedClip> {
        self.next_clip
    }

    /// Whether the noise came from a key that nobody can know; false for a seeded run.
    pub fn is_private(&self) -> bool {
        self.run.source.is_private()
    }

    /// The number of blocks that [`Noised::block`] has.
    pub fn blocks(&self) -> u64 {
        match self.body {
            Body::Sparse => u64::from(!self.memory.release.runs.is_empty()),
            Body::Dense { coordinates, .. } => coordinates.div_ceil(BLOCK),
        }
    }

    /// Calls `visit` with the first coordinate and the averaged, noised values of each run of block
    /// `block`, in ascending order, and not at all beyond the last. Blocks are independent, so they may be
    /// visited on different threads.
    pub fn block(&self, block: u64, mut visit: impl FnMut(u64, &[f32])) {
        if block >= self.blocks() {
            return;
        }
        match self.body {
            Body::Sparse => self.memory.release.visit(visit),
            Body::Dense { coordinates, projection, largest } => {
                let first = block * BLOCK;
                let end = coordinates.min(first + BLOCK);
                let rows = DenseRows::from(&self.memory, projection, first);
                let noise = self.run.plan.noise();
                let mut dense =
                    DenseNoise::new(noise, self.scale, largest, rows, &self.random, block);
                let mut values = [0.0; VISITED];
                for start in (first..end).step_by(VISITED) {
                    let values = &mut values[..VISITED.min((end - start) as usize)];
                    dense.fill(start, values);
                    visit(start, values);
                }
            }
        }
    }

    /// Calls `visit` with the first coordinate and the averaged, noised values of every run.
    pub fn visit(&self, mut visit: impl FnMut(u64, &[f32])) {
        for block in 0..self.blocks() {
            self.block(block, &mut visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{NoiseSettings, Plan, PlanSettings, RandomSource, SelectionSettings, Shape};
    use organza_ledger::Neighbouring;
    use organza_ledger::testing::paid;

    #[test]
    fn a_release_does_not_print_what_it_hides() {
        let plan = Plan::new(PlanSettings {
            shape: Shape::table(3, 1).expect("a good shape"),
            neighbouring: Neighbouring::AddRemove,
            rate: 1.0,
            expected_batch: 1.0,
            clip: 1.0,
            selection: SelectionSettings::Everything,
            noise: NoiseSettings::Gaussian { multiplier: 1.0, second_clip: None },
        });
        let sampler = plan.expect("a good plan").sampler("x", 1, &RandomSource::from_seed(1));
        let batch = sampler.batch(0, &paid(sampler.charge(0..1))).expect("paid");
        let sum = batch.sum(|_, gradient| {
            gradient.row(2).expect("inside")[0] = 0.5;
        });
        assert_eq!(format!("{:?}", sum.select().noise()), "Noised(dense)");
    }
}
