//! How large units are: a noisy histogram of the norms of their counts, from which clips are chosen.

use super::table::PairTable;
use super::together::{Seen, counted};
use crate::{DataError, Samples, Units};
use organza_ledger::{Charged, Event, Neighbouring};
use organza_mechanism::{
    Bound, CountNoise, HistogramPlan, HistogramSettings, RandomSource, Release, UnitCounts,
};

/// Norms fall into bins of half an octave, from 1 to 2^32.
const BINS: u64 = 64;

/// A checked plan for a histogram of the L2 norms that the pair counts and the word counts of a unit have.
///
/// # Privacy
/// A unit is one count in one bin of either half: L1 sensitivity 2. Clips chosen from the noisy histogram
/// are a post-processing, where clips chosen from the norms themselves would be a release without a charge.
#[derive(Clone, Debug)]
pub struct UnitSizes {
    plan: HistogramPlan,
}

impl UnitSizes {
    /// A histogram that costs `epsilon`.
    ///
    /// # Errors
    /// If epsilon is not positive.
    pub fn new(neighbouring: Neighbouring, epsilon: f64) -> Result<Self, DataError> {
        let plan = HistogramPlan::new(HistogramSettings {
            dense: 0,
            cells: 2 * BINS,
            neighbouring,
            bound: Bound::Total(2),
            noise: CountNoise::DiscreteLaplace { epsilon },
            bar: None,
        })?;
        Ok(Self { plan })
    }

    /// What the release costs.
    pub fn event(&self) -> Event {
        self.plan.event()
    }

    /// The release, under the purpose `unit sizes`: charge it, then count.
    pub fn release(&self, source: &RandomSource) -> Release {
        self.plan.release("unit sizes", source)
    }

    /// Measures all units, and releases how many are of which size.
    ///
    /// # Errors
    /// If the charge is not for this release.
    pub fn count(
        &self,
        samples: &Samples,
        units: &Units,
        release: &Release,
        paid: Charged,
    ) -> Result<NoisySizes, DataError> {
        let table = PairTable::new(samples.corpus().vocabulary_size as u32);
        let histogram = counted(samples, units, (&self.plan, release), "measuring units", || {
            let (mut pairs, mut words) = (UnitCounts::new(), UnitCounts::new());
            let mut sizes = UnitCounts::new();
            move |seen, histogram| match seen {
                Seen::Together(one, other) => {
                    pairs.add_one(table.cell(one, other));
                    words.add_one(one.into());
                    words.add_one(other.into());
                }
                Seen::EndOfUnit => {
                    for (first, counts) in [(0, &mut pairs), (BINS, &mut words)] {
                        if let Some(bin) = bin(counts.merge()) {
                            sizes.add(first + bin, 1.0);
                        }
                        counts.clear();
                    }
                    histogram.add(&mut sizes);
                }
            }
        })?;
        let noisy: Vec<f64> =
            histogram.noise(release, paid)?.cells().map(|(_, count)| count.max(0.0)).collect();
        let (pairs, words) = noisy.split_at(BINS as usize);
        Ok(NoisySizes { pairs: median(pairs), words: median(words) })
    }
}

/// Released sizes of units: norms that about half of the units do not exceed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisySizes {
    /// Of pair counts.
    pub pairs: f64,
    /// Of word counts.
    pub words: f64,
}

/// The bin of a norm; none for a unit without counts.
fn bin(counts: &[(u64, f64)]) -> Option<u64> {
    let squares: f64 = counts.iter().map(|(_, count)| count * count).sum();
    (squares > 0.0).then(|| squares.log2().ceil().clamp(0.0, (BINS - 1) as f64) as u64)
}

/// The upper end of the bin that holds the median.
fn median(bins: &[f64]) -> f64 {
    let half = bins.iter().sum::<f64>() / 2.0;
    let mut below = 0.0;
    let place = bins.iter().position(|count| {
        below += count;
        below >= half
    });
    2_f64.powf(place.unwrap_or(0) as f64 / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_half_octaves_and_the_median_is_their_end() {
        assert_eq!(bin(&[]), None);
        assert_eq!(bin(&[(3, 1.0)]), Some(0));
        assert_eq!(bin(&[(3, 1.0), (7, 1.0)]), Some(1));
        assert_eq!(bin(&[(3, 3.0), (7, 4.0)]), Some(5));
        assert_eq!(bin(&[(3, 1e30)]), Some(BINS - 1));
        assert!((median(&[0.0, 10.0, 9.0, 1.0]) - 2_f64.sqrt()).abs() < 1e-12);
        assert!((median(&[0.0, 1.0, 9.0, 1.0]) - 2.0).abs() < 1e-12);
    }
}
