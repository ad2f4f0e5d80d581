//! What an audit found, in plain words.

use crate::rank::Among;
use crate::report::{AuditReport, Gap, LowerBoundEvidence, RankEvidence, RankSummary};
use std::fmt;

/// The width of the longest bar of a histogram.
const BAR: u64 = 40;

impl fmt::Display for AuditReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let promise = &self.promise;
        match (promise.epsilon, promise.delta) {
            (Some(epsilon), Some(delta)) => writeln!(
                formatter,
                "promised: epsilon {epsilon:.4} at delta {delta:e} for each {} ({})",
                self.unit(),
                promise.neighbouring
            )?,
            _ => writeln!(formatter, "promised: nothing, the run is without privacy")?,
        }
        if let Some(ranks) = &self.ranks {
            writeln!(formatter)?;
            ranks.write(formatter, &self.unit())?;
        }
        if let Some(bound) = &self.lower_bound {
            write!(formatter, "\n{bound}")?;
        }
        if let Some(gap) = &self.gap {
            write!(formatter, "\n{gap}")?;
        }
        let marked = self.not_private.join(", ");
        if !marked.is_empty() {
            writeln!(formatter, "\n* not private: {marked}; for your eyes only")?;
        }
        Ok(())
    }
}

impl RankEvidence {
    fn write(&self, formatter: &mut fmt::Formatter<'_>, unit: &str) -> fmt::Result {
        let Self { repeats, units_of_a_phrase, among, inserted, control, .. } = self;
        let times = if *repeats == 1 { "once".to_owned() } else { format!("{repeats} times") };
        writeln!(formatter, "1. Ranks of {} phrases, inserted {times} each", inserted.phrases)?;
        match among {
            Among::Sampled(number) => writeln!(
                formatter,
                "   among {number} random phrases that begin with the same word"
            )?,
            Among::All => {
                writeln!(formatter, "   among all phrases that begin with the same word")?
            }
        }
        writeln!(formatter, "\n   favoured by the model   inserted{:>36}never inserted", "")?;
        let most = inserted.histogram.iter().chain(&control.histogram).max().copied();
        let most = most.unwrap_or_default().max(1);
        for (bin, (found, expected)) in
            inserted.histogram.iter().zip(&control.histogram).enumerate()
        {
            let bar = |count: u64| "#".repeat((count * BAR).div_ceil(most) as usize);
            let name = match bin {
                0 => "least",
                9 => "most",
                _ => "",
            };
            writeln!(
                formatter,
                "   {name:<9}{found:>8} {:<40}{expected:>8} {}",
                bar(*found),
                bar(*expected)
            )?;
        }
        writeln!(formatter)?;
        line(formatter, "inserted", inserted)?;
        line(formatter, "never inserted", control)?;
        writeln!(formatter)?;
        if control.rejects {
            writeln!(
                formatter,
                "   Even phrases that were never inserted are not uniform, as happens to one audit in a \
                 hundred:\n   do not rely on this one."
            )?;
        }
        if inserted.rejects {
            writeln!(formatter, "   The model has kept something of the inserted phrases.")?;
        } else {
            writeln!(
                formatter,
                "   No trace of the inserted phrases was found. That does not prove that there is none."
            )?;
        }
        let side = if inserted.rejects { "above" } else { "below" };
        writeln!(
            formatter,
            "   The paper's heuristic would say: empirical epsilon {side} 1/{repeats} = {:.3}. It bounds \
             epsilon\n   neither from above nor from below; each phrase is {units_of_a_phrase} units of \
             privacy ({unit}s) here.",
            self.heuristic_epsilon
        )
    }
}

fn line(formatter: &mut fmt::Formatter<'_>, name: &str, ranks: &RankSummary) -> fmt::Result {
    let uniformity = &ranks.uniformity;
    let p_value = match uniformity.p_value {
        0.0 => "below 1e-300".to_owned(),
        small if small < 1e-4 => format!("{small:.1e}"),
        usual => format!("{usual:.4}"),
    };
    writeln!(
        formatter,
        "   {name:<15} chi-squared distance {:.4}, p-value {p_value}{}; exposure {:.2} bits in the mean, \
         {:.1} at most",
        uniformity.distance,
        if ranks.rejects { " (not uniform)" } else { "" },
        ranks.mean_exposure,
        ranks.largest_exposure
    )
}

impl fmt::Display for LowerBoundEvidence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { guessed, promised, .. } = self;
        writeln!(
            formatter,
            "2. Lower bound on epsilon, from {} phrases inserted once or not",
            guessed.canaries
        )?;
        writeln!(formatter, "   {}.", self.in_words())?;
        match promised {
            None => writeln!(formatter, "   There is no upper bound to hold it against."),
            Some(promised) if self.refutes_promise => writeln!(
                formatter,
                "   This is ABOVE the promised {promised:.4}: unless this is the one audit in twenty that \
                 is wrong,\n   the promise is broken."
            ),
            Some(promised) => writeln!(
                formatter,
                "   The accountant's upper bound is {promised:.4}: the two do not contradict each other."
            ),
        }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "3. Gap between training and test loss *")?;
        writeln!(
            formatter,
            "   training {:.4}, test {:.4}: a gap of {:.4}. A large one shows memory; a small one proves \
             nothing.",
            self.train, self.test, self.gap
        )
    }
}
