//! Why a printed figure is no guarantee.

/// A step of the paper that does not hold, or a condition that its use breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Objection {
    /// Lemma 1: sampling at rate g turns epsilon into ln(1 + g (e^epsilon - 1)), which exceeds the
    /// printed g epsilon for every 0 < g < 1.
    AmplificationIsTooLow,
    /// Lemma 3 is stated for epsilon <= 1 and is too low well above it.
    GaussianBeyondOne,
    /// Algorithm 1 tests its count after the loop, so it never stops at the stated number of hits.
    BreakOutsideTheLoop,
    /// Algorithm 2 visits one of m fixed groups; only delta is amplified by that, not epsilon.
    FixedGroupsDoNotAmplify,
    /// The term k epsilon (e^epsilon - 1) of strong composition is left out.
    CompositionTermDropped,
    /// A loop "from 0 to T" runs T + 1 times.
    OneStepTooMany,
    /// Algorithm 4 sets the gradient to minus infinity inside an absolute value, which makes a drawn
    /// coordinate certain to be drawn again; it is the score that has to be minus infinity.
    ScoreOfDrawnCoordinate,
    /// The theorem's own assumption, rate x epsilon <= 1 / sqrt(T), does not hold here.
    AssumptionFails,
    /// The sensitivity is that of replacing a record, while the run that the paper compares with is
    /// priced for adding or removing one.
    RelationsMixed,
}

impl Objection {
    /// The objection in a sentence, for people.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::AmplificationIsTooLow => {
                "sampling amplifies epsilon to ln(1 + q (e^epsilon - 1)), not to q epsilon"
            }
            Self::GaussianBeyondOne => {
                "the Gaussian formula is used far above epsilon 1, where it is too low"
            }
            Self::BreakOutsideTheLoop => {
                "the sparse vector algorithm as printed never stops at its number of hits"
            }
            Self::FixedGroupsDoNotAmplify => {
                "visiting one of m fixed groups amplifies delta only, not epsilon"
            }
            Self::CompositionTermDropped => {
                "the second term of strong composition, k epsilon (e^epsilon - 1), is left out"
            }
            Self::OneStepTooMany => "a loop from 0 to T takes T + 1 steps",
            Self::ScoreOfDrawnCoordinate => {
                "a drawn coordinate gets infinite weight instead of none"
            }
            Self::AssumptionFails => "the theorem's own assumption does not hold for this run",
            Self::RelationsMixed => {
                "it speaks about replacing a record, the baseline about adding or removing one"
            }
        }
    }
}

impl std::fmt::Display for Objection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.reason())
    }
}
