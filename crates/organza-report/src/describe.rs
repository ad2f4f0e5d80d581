//! Events in words: a small tree, outermost first.

use organza_ledger::{Event, MaxNoise};
use std::fmt;

/// Shows an event as a tree, one line for each event in it.
pub struct Tree<'event>(pub &'event Event);

impl fmt::Display for Tree<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", headline(self.0))?;
        write_parts(formatter, self.0, "")
    }
}

fn write_parts(formatter: &mut fmt::Formatter<'_>, event: &Event, margin: &str) -> fmt::Result {
    let parts = event.parts();
    for (index, part) in parts.iter().enumerate() {
        let is_last = index + 1 == parts.len();
        let (branch, below) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        writeln!(formatter, "{margin}{branch}{}", headline(part))?;
        write_parts(formatter, part, &format!("{margin}{below}"))?;
    }
    Ok(())
}

/// One event in one line, without what is inside it.
fn headline(event: &Event) -> String {
    match event {
        Event::Gaussian { noise_multiplier } => {
            format!("Gaussian noise: deviation {} x L2 sensitivity", number(*noise_multiplier))
        }
        Event::RoundedGaussian { noise_multiplier } => format!(
            "Gaussian noise, rounded to integers: deviation {} x L2 sensitivity",
            number(*noise_multiplier)
        ),
        Event::DiscreteGaussian { noise_multiplier } => format!(
            "discrete Gaussian noise: sigma {} x L2 sensitivity (zCDP only)",
            number(*noise_multiplier)
        ),
        Event::Laplace { noise_multiplier } => {
            format!("Laplace noise: scale {} x L1 sensitivity", number(*noise_multiplier))
        }
        Event::DiscreteLaplace { noise_multiplier } => {
            format!("discrete Laplace noise: scale {} x L1 sensitivity", number(*noise_multiplier))
        }
        Event::Pure { epsilon } => {
            format!("some mechanism that is {}-differentially private", number(*epsilon))
        }
        Event::Added { epsilon } => format!(
            "a release that later events depend on, {}-differentially private: added as it is",
            number(*epsilon)
        ),
        Event::Near { total_variation } => format!(
            "all else only nearly as it is stated: within a total variation of {}",
            number(*total_variation)
        ),
        Event::Approximate { epsilon, delta } => format!(
            "some mechanism that is ({}, {})-differentially private",
            number(*epsilon),
            number(*delta)
        ),
        Event::Exponential { epsilon, draws, candidates, cap, l2 } => {
            let mut line = format!(
                "exponential selection: {} of bounded range {}",
                drawn(*draws),
                number(*epsilon)
            );
            if let Some(candidates) = candidates {
                line += &format!(", from {} candidates", count(*candidates));
            }
            if let Some(cap) = cap {
                line += &format!(", scores up to {}", number(*cap));
            }
            if let Some(l2) = l2 {
                line += &format!(", moved by {} in L2", number(*l2));
            }
            line
        }
        Event::Selected { by, sensitivity, .. } => {
            let mut line = "noise on just what is selected".to_owned();
            let change = match by.as_ref() {
                Event::Exponential { l2, .. } => *l2,
                _ => None,
            };
            if let Some(most) = sensitivity.or(change) {
                line += &format!(", which one unit moves by at most {} in L2", number(most));
            }
            line
        }
        Event::UniformMask { share, .. } => {
            format!("behind a public uniform mask that lets a share of {} through", number(*share))
        }
        Event::SparseVector {
            threshold_epsilon,
            query_epsilon,
            hits,
            refreshed,
            value_epsilon,
        } => {
            let threshold = if *refreshed { "fresh after each" } else { "the same throughout" };
            let mut line = format!(
                "sparse vector: up to {} above a threshold (epsilon {}, {threshold}), \
                 queries at epsilon {}",
                plural(*hits, "answer"),
                number(*threshold_epsilon),
                number(*query_epsilon)
            );
            if let Some(value_epsilon) = value_epsilon {
                line += &format!(", values published at epsilon {}", number(*value_epsilon));
            }
            line
        }
        Event::NoisyMax { epsilon, draws, noise } => format!(
            "report noisy max: {} of epsilon {}, {} noise",
            drawn(*draws),
            number(*epsilon),
            noise_name(*noise)
        ),
        Event::LimitedDomain { epsilon, delta, draws } => format!(
            "limited domain: up to {} of bounded range {}, delta {}",
            drawn(*draws),
            number(*epsilon),
            number(*delta)
        ),
        Event::Cluster { groups, .. } => {
            format!("on one of {}, the choice visible", plural(*groups, "fixed group"))
        }
        Event::Compose(events) if events.is_empty() => "nothing".to_owned(),
        Event::Compose(_) => "all of these, in this order".to_owned(),
        Event::Repeat { times, .. } => plural(*times, "time"),
        Event::Poisson { rate, .. } => {
            format!("on a Poisson batch that each unit joins with probability {}", number(*rate))
        }
    }
}

fn noise_name(noise: MaxNoise) -> &'static str {
    match noise {
        MaxNoise::Gumbel => "Gumbel",
        MaxNoise::Laplace => "Laplace",
        MaxNoise::Exponential => "exponential",
    }
}

/// A number in full, in scientific notation where that is much shorter.
pub fn number(value: f64) -> String {
    let plain = value.to_string();
    let scientific = format!("{value:e}");
    if scientific.len() + 2 < plain.len() { scientific } else { plain }
}

fn drawn(draws: u64) -> String {
    plural(draws, "draw")
}

/// So many things.
pub fn plural(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", count(number))
}

/// A whole number with its thousands apart.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(200_000), "200,000");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(plural(1, "time"), "1 time");
        assert_eq!(plural(1000, "time"), "1,000 times");
    }

    #[test]
    fn small_and_large_numbers_keep_every_digit() {
        for value in [0.28379, 1e-7, 0.1, 3.0, 1e300, 5e-324, 123_456.789] {
            assert_eq!(number(value).parse::<f64>(), Ok(value));
        }
        assert_eq!(number(1e-7), "1e-7");
        assert_eq!(number(0.001), "0.001");
    }

    #[test]
    fn a_branch_continues_beside_the_parts_of_its_elder() {
        let pure = Event::Pure { epsilon: 0.1 };
        let nothing = Event::Compose(Vec::new());
        let inner = Event::Compose(vec![pure.clone().repeat(2), pure, nothing]);
        assert_eq!(
            Tree(&inner).to_string(),
            "all of these, in this order\n\
             ├─ 2 times\n\
             │  └─ some mechanism that is 0.1-differentially private\n\
             ├─ some mechanism that is 0.1-differentially private\n\
             └─ nothing\n"
        );
    }
}
