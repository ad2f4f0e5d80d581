//! The average of the parameters over steps: free, because it is a post-processing.

/// A running mean of the parameters over the snapshots of the second half of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Average {
    sums: Vec<f64>,
    snapshots: u64,
}

impl Average {
    /// How many snapshots a run contributes.
    const SNAPSHOTS: u64 = 500;

    /// An empty average of `coordinates` parameters.
    pub(crate) fn new(coordinates: usize) -> Self {
        Self { sums: vec![0.0; coordinates], snapshots: 0 }
    }

    /// The average of a run that goes on.
    pub(crate) fn resume(sums: Vec<f64>, snapshots: u64) -> Self {
        Self { sums, snapshots }
    }

    /// The sums and how many snapshots are in them, for a checkpoint.
    pub(crate) fn state(&self) -> (&[f64], u64) {
        (&self.sums, self.snapshots)
    }

    /// Whether the parameters after `done` of `steps` steps count.
    pub(crate) fn wants(done: u64, steps: u64) -> bool {
        done > steps / 2 && (steps - done).is_multiple_of((steps / 2 / Self::SNAPSHOTS).max(1))
    }

    /// Adds a snapshot.
    pub(crate) fn add(&mut self, parameters: &[f32]) {
        self.snapshots += 1;
        for (sum, parameter) in self.sums.iter_mut().zip(parameters) {
            *sum += f64::from(*parameter);
        }
    }

    /// The mean of the snapshots; `None` if there is none yet.
    pub(crate) fn into_mean(self) -> Option<Vec<f32>> {
        let count = self.snapshots as f64;
        (count > 0.0).then(|| self.sums.iter().map(|sum| (sum / count) as f32).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_that_of_the_second_half() {
        for steps in [1_u64, 2, 7, 1_000, 200_001] {
            let mut average = Average::new(1);
            for done in (1..=steps).filter(|done| Average::wants(*done, steps)) {
                average.add(&[done as f32]);
            }
            let mean = average.into_mean().map(|mean| f64::from(mean[0])).unwrap_or(f64::NAN);
            let exact = (steps / 2 + 1 + steps) as f64 / 2.0;
            assert!((mean - exact).abs() <= 0.002 * steps as f64 + 0.5, "{steps}: {mean} {exact}");
        }
    }
}
