//! A normal rounded to a whole number where double precision cannot tell: by enclosures and further random bits.

use super::rounded_normals::RoundedNormals;
use crate::exact::functions::{exp_negative, ratio, squared_sine_and_cosine};
use crate::exact::interval::Interval;
use crate::exact::inversion::{FIRST_PLACES, decided};
use crate::random::PrivateRandom;

/// Which of a pair of normals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// By the sine of the angle.
    Sine,
    /// By its cosine.
    Cosine,
}

/// round(x / 2^bits + t N) for the normal N that two uniform numbers give, of which `words` are the first bits and
/// `more` gives those that follow; `guess` is about the result. Both normals of a pair take the same further bits.
///
/// # Proof
/// With r = sqrt(-2 ln U), f the size of the sine or cosine, and a half h with c = h - x / 2^bits > 0:
///
/// ```text
/// t r f >= c  <=>  -2 ln U >= c^2 / (t f)^2  <=>  U <= exp(-z / f^2),   z = c^2 / (2 t^2).
/// ```
///
/// c / s is a ratio of a whole number and a double, and (t / s)^2 = k + (k - 1) / (12 s^2), so z, f^2 (of the bits of V
/// that are known) and the exponential are enclosed as closely as one likes, and compared with an enclosure of U.
/// They are apart after finitely many bits with probability 1. (Where f^2 cannot be told from 0, z / f^2 is beyond all bounds, as z is
/// not 0.) The sign of N is that of the direction, so every comparison
/// of the value with a half is one of these or known beforehand; the result is the whole number between two halves.
#[cold]
pub(super) fn rounded_exactly(
    law: &RoundedNormals,
    words: [u64; 2],
    slot: Slot,
    sum: i64,
    guess: i64,
    more: PrivateRandom,
) -> i64 {
    let direction = Direction::of(words[1], slot);
    let mut uniforms = Uniforms { words, further: Vec::new(), more };
    let mut whole = guess;
    while is_at_least(law, &direction, &mut uniforms, sum, whole) {
        whole += 1;
    }
    while !is_at_least(law, &direction, &mut uniforms, sum, whole - 1) {
        whole -= 1;
    }
    whole
}

/// Whether the value is at least `whole` + 1/2.
fn is_at_least(
    law: &RoundedNormals,
    direction: &Direction,
    uniforms: &mut Uniforms,
    sum: i64,
    whole: i64,
) -> bool {
    let (deviation, draws, bits) = law.parameters();
    // 2 (h - x / 2^bits) in steps of the sums: c / s is this over twice the deviation.
    let twice = ((2 * i128::from(whole) + 1) << bits) - 2 * i128::from(sum);
    let distance = u64::try_from(twice.unsigned_abs()).unwrap_or(u64::MAX);
    match (twice > 0, direction.is_negative) {
        (true, true) => return false,
        (false, false) => return true,
        // On the half itself there is nothing to reach.
        _ if twice == 0 => return false,
        _ => {}
    }
    let mut places = FIRST_PLACES;
    let reaches = loop {
        let answer = reaches(distance, deviation, draws, bits, direction, uniforms, places);
        if let Some(answer) = answer {
            break answer;
        }
        places *= 2;
    };
    // A negative value is at least the half if it does not reach as far down as the half is.
    reaches != direction.is_negative
}

/// Whether t r f is at least c, if `places` words can tell.
fn reaches(
    distance: u64,
    deviation: f64,
    draws: u32,
    bits: u32,
    direction: &Direction,
    uniforms: &mut Uniforms,
    places: usize,
) -> Option<bool> {
    let (uniform, angle) = uniforms.enclosed(direction, places);
    let (sine, cosine) = squared_sine_and_cosine(&angle)?;
    let squared = if direction.is_sine { sine } else { cosine };
    let over_deviation = ratio(distance, 2.0 * deviation, places)?;
    let square = over_deviation.multiply(&over_deviation)?;
    // (t / s)^2, where s is in steps of the result.
    let own = ratio(1, libm::ldexp(deviation, -(bits as i32)), places)?;
    let rounding = own.multiply(&own)?.times(u64::from(draws - 1))?.divided_by(12);
    let variance = Interval::whole(u64::from(draws), places).add(&rounding)?;
    let exponent = square.quotient(&variance.times(2)?)?.quotient(&squared);
    decided(&uniform, &exp_negative(exponent.as_ref(), places))
}

/// Where the angle lies, and which function of it counts.
struct Direction {
    /// The angle within a quarter, from -1/8 to 1/8 of the circle, is this in units of 2^-64 of the circle and its rest.
    within: u64,
    is_sine: bool,
    is_negative: bool,
}

impl Direction {
    /// As `sine_cosine` reads the bits: two choose the quarter, the others the place in it, from -1/2 to 1/2.
    fn of(bits: u64, slot: Slot) -> Self {
        let place = (bits << 2) as i64;
        let (half, quarter) = (bits >> 63 == 1, (bits >> 62) & 1 == 1);
        let is_sine = (slot == Slot::Sine) != quarter;
        let turned = match slot {
            Slot::Sine => half,
            Slot::Cosine => half != quarter,
        };
        let is_negative = turned != (is_sine && place < 0);
        // Of a negative place the size is in the cell below, and bits that follow count from there: they are as
        // uniform as their complements.
        let within =
            if place < 0 { (!place).unsigned_abs() >> 2 } else { place.unsigned_abs() >> 2 };
        Self { within, is_sine, is_negative }
    }
}

/// Two uniform numbers, of which as many bits are drawn as are looked at.
struct Uniforms {
    words: [u64; 2],
    further: Vec<[u64; 2]>,
    more: PrivateRandom,
}

impl Uniforms {
    /// U, and the size of the angle within its quarter as a share of half the circle.
    fn enclosed(&mut self, direction: &Direction, places: usize) -> (Interval, Interval) {
        while self.further.len() < places {
            self.further.push([self.more.word(), self.more.word()]);
        }
        let radius: Vec<u64> =
            [self.words[0]].into_iter().chain(self.further.iter().map(|words| words[0])).collect();
        // (within + rest) / 2^62 of a quarter, which is half of half the circle: 1 and 62 bits, then the rest.
        let follow: Vec<u64> = self.further.iter().map(|words| words[1]).collect();
        let first = [direction.within << 1 | follow[0] >> 63];
        let angle: Vec<u64> = first
            .into_iter()
            .chain(follow.windows(2).map(|pair| pair[0] << 1 | pair[1] >> 63))
            .collect();
        (Interval::begun_by(&radius[..places]), Interval::begun_by(&angle[..places]))
    }
}
