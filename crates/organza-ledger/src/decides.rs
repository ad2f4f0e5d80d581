//! Which events decide what comes after them.

use crate::Event;

impl Event {
    /// Whether it is, or holds, an [`Event::Added`]: later events may then be chosen by what was released.
    ///
    /// # Privacy
    /// What such a sequence cost is known when its end is, and differs from outcome to outcome; the proof at
    /// [`Event::Added`] needs one level that *every* outcome keeps to. So what may be claimed is the budget that was
    /// fixed beforehand and that each charge was held against, and not the price of the events that came to be.
    pub fn decides(&self) -> bool {
        match self {
            Self::Added { .. } => true,
            Self::Compose(events) => events.iter().any(Self::decides),
            Self::Repeat { event, .. } => event.decides(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_is_found_inside_sequences() {
        let fixed = Event::Gaussian { noise_multiplier: 1.0 };
        let deciding = Event::Added { epsilon: 0.1 };
        assert!(deciding.decides() && deciding.clone().repeat(2).decides());
        let nested = Event::Compose(vec![fixed.clone(), Event::Compose(vec![deciding])]);
        assert!(nested.decides());
        assert!(!fixed.clone().poisson(0.1).repeat(3).decides());
        assert!(!Event::Compose(vec![fixed]).decides());
    }
}
