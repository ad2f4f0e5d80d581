//! Text as units of privacy: from files to the samples that a model is trained on.
//!
//! ```text
//! TextSource ─(Tokeniser)─▶ TokenisedText ─(VocabularySource)─▶ Corpus ─(window)─▶ Samples
//!                           TokenisedText ─(split)─▶ Sides ─(Samples)─▶ Units of training,
//!                                                                       validation and test
//! ```
//!
//! Nothing here is private: a [`TokenisedText`], a [`Corpus`] and all [`Samples`] *are* the data.
//! What leaves them leaves by a mechanism (a [`PrivateVocabularyPlan`], the noisy counts of
//! [`cooccurrence`], gradients with noise), with two exceptions that the certificate names: a
//! vocabulary that was declared public ([`VocabularySource`]) and whatever else a person declares.
//! Errors name files, lines and counts for the person who holds the data, and go no further. A private run must not
//! refuse what a single unit can bring about, so that is not an error here: a text may have no lines or no samples,
//! the parts of a split are as long as they can be, and lines that cannot be used are [`LeftOut`].
//!
//! # Memory
//! The text is streamed, line by line, and only ids stay: 4 bytes a token and 8 bytes a line, plus one
//! byte a line for random access to the samples and the dictionary of distinct words. Units of lines
//! or users add 16 bytes a line, their sides 1, users another 4 bytes a line and the name of each user.
//! For 10 GB of English, about 1.7 billion tokens in 100 million lines, this is 7 GB for the tokens,
//! 0.9 GB for the lines, 1.6 GB for the units and under 1 GB for the words. Tokens outside the
//! vocabulary are freed once it is known. No line may be longer than
//! [`LONGEST_LINE`](source::LONGEST_LINE), so that no file can take more.
//!
//! ```
//! use organza_data::*;
//! use organza_ledger::Unit;
//!
//! let source = Synthetic::new(1, 2_000);
//! let text = TokenisedText::read(&source, &Tokeniser::default(), Layout::Lines)?;
//! let shares = split::Shares { validation: 0.1, test: 0.1 };
//! let sides = split::Sides::by_unit(&text, Unit::Line, shares, 7)?;
//! let words = DeclaredPublic::most_frequent(200).vocabulary(&text)?;
//! let samples = Samples::new(text.into_corpus(&words.vocabulary), Objective::SkipGram, 4)?;
//! let split = sides.split(&samples)?;
//! let first = split.train.sample(&samples, 0, 0).expect("the first unit has a sample");
//! assert!(first.inputs().all(|word| word < 200) && first.output < 200);
//! # Ok::<(), DataError>(())
//! ```
#![forbid(unsafe_code)]

mod canaries;
pub mod cooccurrence;
mod corpus;
mod dictionary;
mod error;
mod frequency;
mod left_out;
mod negatives;
mod samples;
pub mod settings;
mod shard;
pub mod source;
pub mod sparse;
pub mod split;
mod synthetic;
pub mod table;
mod text;
mod token;
mod units;
mod vocabulary;
mod window;
mod writing;

pub use canaries::insertion::insert_phrases;
pub use canaries::{Canaries, CanarySettings, Guesses, Phrase, TossedPhrase, random_phrase};
pub use corpus::Corpus;
pub(crate) use corpus::TextStart;
pub use error::{DataError, LineProblem, Place};
pub use frequency::frequency_loss;
pub use left_out::LeftOut;
pub use negatives::Negatives;
pub use samples::{Objective, Pair, Sample, Samples};
pub use shard::{NoText, Shard};
pub use source::{Line, TextSource};
pub use synthetic::{DEFAULT_LINES, Synthetic};
pub use text::{Layout, TokenisedText};
pub use token::{SENTENCE_END, StopWords, Tokeniser, Words};
pub use units::Units;
pub use vocabulary::{
    DeclaredPublic, FromFile, PrivateVocabulary, PrivateVocabularyPlan, PrivateVocabularySettings,
    PrivateWords, Vocabulary, VocabularyRelease, VocabularySource,
};
pub use writing::Writing;
