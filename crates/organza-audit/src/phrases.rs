//! What an audit asks of a model: how likely phrases are.

/// A model that gives probabilities to the words of a phrase.
///
/// # Definition
/// The log-perplexity of a phrase is
///
/// ```text
/// P(c) = - ln Pr(c1 | c0) - ln Pr(c2 | c0, c1)
/// ```
///
/// so a phrase is compared with others that begin with the same word.
pub(crate) trait Phrases: Sync {
    /// The phrases that begin with one word.
    type Continuations<'a>: Continuations
    where
        Self: 'a;

    /// The size of the vocabulary.
    fn words(&self) -> u32;

    /// The phrases that begin with a word, which must be in the vocabulary.
    fn continuations(&self, first: u32) -> Self::Continuations<'_>;
}

/// The phrases that begin with one word. All other words must be in the vocabulary. Both methods give the same phrase the same
/// log-perplexity, to the last bit.
pub(crate) trait Continuations {
    /// The log-perplexity of the phrase that goes on with these words.
    fn log_perplexity(&mut self, second: u32, third: u32) -> f64;

    /// Calls `visit` with the log-perplexity of every phrase that goes on with `second`.
    fn each_third(&mut self, second: u32, visit: impl FnMut(f64));
}
