//! Selection by capped scores, jointly with the noise on what was selected.
//!
//! Exponential selection alone lets a record move exactly the scores that carry all the
//! probability. Where scores are capped, a record moves them by a bounded amount in L2 and there
//! are many candidates, it cannot, and noise added to *only the selected* coordinates sees little of
//! the record. `docs/concepts/joint-account.md` states the conditions and proves what is used here.

mod curve;
mod draw;
mod facts;
mod fold;
mod hits;
mod noise;
mod per_draw;
mod step;
#[cfg(test)]
mod tests;

use organza_ledger::AccountError;

use self::curve::Curve;
use self::facts::{Facts, check};
use super::{Pair, bounded_range};
use crate::normal;

/// The largest shift that is priced: beyond it losses are too large to tabulate, and to be of use.
const WIDEST: f64 = 1e4;

/// Ranges and shifts that are smaller and not zero are priced as this, so that round-off
/// stays far below them.
const FAINTEST: f64 = 1e-8;

/// Draws without replacement, each proportional to exp(weight x score) over what is left, with
/// scores in \[0, cap\] that are 1-Lipschitz, coordinate by coordinate (or row by row), in one vector
/// that a record moves by at most `l2`; the weight is `epsilon` / min(2 cap, sqrt2 l2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CappedSelection {
    facts: Facts,
}

impl CappedSelection {
    /// `draws` draws from `candidates`, each of bounded range `epsilon`. For the replace-one relation
    /// `l2` is the change by a replacement.
    ///
    /// # Errors
    /// If a parameter is out of range, or there are more draws than candidates.
    pub fn new(
        epsilon: f64,
        draws: u64,
        candidates: u64,
        cap: f64,
        l2: f64,
    ) -> Result<Self, AccountError> {
        Ok(Self { facts: Facts::new(epsilon, draws, candidates, cap, l2)? })
    }

    /// A pair that dominates the published draws; up to `tail` of its mass may be infinite for
    /// want of a longer grid.
    ///
    /// # Privacy
    /// Each draw, whatever was drawn before, has a profile below the convex hull of three bounds
    /// (variance, rarity, bounded range); the product of pairs with that profile dominates the
    /// adaptive sequence, and so does the optimal adaptive curve of bounded range. The class of
    /// neighbours is closed under swapping, so the pair is symmetric.
    pub fn pair(&self, tail: f64) -> Pair {
        selected(&self.facts, tail)
    }

    /// A pair that dominates the draws together with Gaussian noise on *just the selected*
    /// coordinates, after a map that does not expand distances and bounds what a record moves to
    /// `kept` x `l2`, with 0 < `kept` <= 1. The deviation of the noise is `noise_multiplier` x `kept` x
    /// `l2`: the multiplier is relative to the true sensitivity.
    ///
    /// Without any draw nothing is released. The pair is never dearer than that of the selection
    /// composed with a Gaussian of this multiplier.
    ///
    /// # Privacy
    /// Theorem 2 of `docs/concepts/joint-account.md`, and what it says there of a second clip.
    ///
    /// # Errors
    /// If the noise multiplier is not positive and finite, or `kept` is out of range.
    pub fn with_noise(
        &self,
        noise_multiplier: f64,
        kept: f64,
        tail: f64,
    ) -> Result<Pair, AccountError> {
        let noise = Shift::new(noise_multiplier, kept)?;
        let selection = self.pair(tail);
        if self.facts.draws == 0 {
            return Ok(selection);
        }
        Ok(step::curve(&self.facts, &selection, noise, tail).pair())
    }
}

/// By how many standard deviations a record moves the noise on what was selected.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shift {
    /// At the most: one over the noise multiplier.
    most: f64,
    /// What of the record's norm has to be selected for that, as a share of its bound: below one
    /// where a second clip bounds the change further.
    kept: f64,
}

impl Shift {
    fn new(noise_multiplier: f64, kept: f64) -> Result<Self, AccountError> {
        check("sensitivity", kept, kept > 0.0 && kept <= 1.0)?;
        Ok(Self { most: shift(noise_multiplier)?, kept })
    }

    /// Where a part of the record is selected whose norm is this share of the bound.
    fn of(&self, part: f64) -> f64 {
        self.most * (part / self.kept).min(1.0)
    }
}

/// By how many standard deviations the whole record moves the noise.
fn shift(noise_multiplier: f64) -> Result<f64, AccountError> {
    check("noise_multiplier", noise_multiplier, noise_multiplier > 0.0)?;
    let shift = 1.0 / noise_multiplier;
    check("noise_multiplier", noise_multiplier, shift > 0.0 && shift <= WIDEST)?;
    // More than it is, where it is next to nothing.
    Ok(shift.max(FAINTEST))
}

/// The pair of all draws: the k-fold product of the draw's pair, or the optimal adaptive curve of
/// bounded range where that is smaller.
fn selected(facts: &Facts, tail: f64) -> Pair {
    let top = facts.range.min(facts.largest_loss());
    if facts.draws == 0 || top <= 0.0 {
        return Pair::identity(1.0);
    }
    let step = (0.25 * facts.variance.sqrt()).clamp(top / 480.0, top / 64.0);
    let mut folded = fold::fold(&draw::curve(facts, step).pair(), facts.draws, tail, 1024);
    while folded.lowest + folded.masses.len() as i64 > 2048 {
        folded = fold::coarser(&folded);
    }
    let mut curve = Curve::of(&folded);
    // With a variance far below that of bounded range the latter has nothing to add.
    if facts.draws > 1 && facts.variance > facts.range * facts.range / 16.0 {
        curve = curve.min(&Curve::of(&bounded_range::pair(facts.range, facts.draws, tail)));
    }
    // The relative error of a product of n masses doubles with each squaring and adds n roundings.
    let up = 1.0 + 3e-13 * facts.draws as f64;
    curve.values.iter_mut().for_each(|value| *value = (*value * up).min(1.0));
    curve.pair()
}

/// A pair that dominates a uniform mask, drawn independently of the data and published, with
/// Gaussian noise on the masked coordinates: of a record's squared norm the mask lets through
/// `share` in the mean, and `noise_multiplier` is relative to the whole of it.
///
/// # Privacy
/// Given the mask the record shifts the noise by s/`noise_multiplier`, s^2 the share that is let
/// through, and E s^2 = `share`. H(a) is at most the concave envelope of the Gaussian's profile as a
/// function of s^2, at `share`: the supremum over all laws of s^2 with that mean. As a supremum of
/// convex functions of a it is convex, so it is the profile of a pair.
///
/// # Errors
/// If the share is not in \[0, 1\] or the noise multiplier not positive and finite.
pub fn uniform_mask(share: f64, noise_multiplier: f64, tail: f64) -> Result<Pair, AccountError> {
    check("share", share, (0.0..=1.0).contains(&share))?;
    let shift = shift(noise_multiplier)?;
    let top = 0.5 * shift * shift + normal::exceeded_with(tail) * shift;
    if share == 0.0 {
        return Ok(Pair::identity(top / 1024.0));
    }
    let step = (shift / 160.0).min(share.sqrt() * shift / 8.0).max(top / 4096.0);
    let count = (top / step).ceil() as usize;
    Ok(Curve::tabulate(step, count, |log| noise::envelope(log, shift, share)).pair())
}
