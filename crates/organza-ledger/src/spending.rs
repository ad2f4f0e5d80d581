//! The sum of all charges, as the events that an account prices.

use crate::{Charge, Event};

/// How often each event was charged, equal events together.
///
/// # Privacy
/// The order of the charges is dropped. That is sound: an [`Account`](crate::Account) bounds the
/// adaptive composition of its events in whatever order. Bounds by dominating pairs do (Zhu, Dong
/// and Wang 2022, theorem 10), since the product of the pairs is the same in any order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spending(Vec<(Event, u64)>);

impl Spending {
    /// Counts one more charge.
    pub(crate) fn add(&mut self, charge: &Charge) {
        for (event, times) in &mut self.0 {
            if *event == charge.event
                && let Some(sum) = times.checked_add(charge.steps)
            {
                *times = sum;
                return;
            }
        }
        self.0.push((charge.event.clone(), charge.steps));
    }

    /// What was charged, as few events.
    pub(crate) fn events(&self) -> Vec<Event> {
        let event = |(event, times): &(Event, u64)| match times {
            1 => event.clone(),
            _ => event.clone().repeat(*times),
        };
        self.0.iter().map(event).collect()
    }
}

impl<'a> FromIterator<&'a Charge> for Spending {
    fn from_iter<I: IntoIterator<Item = &'a Charge>>(charges: I) -> Self {
        let mut spending = Self::default();
        charges.into_iter().for_each(|charge| spending.add(charge));
        spending
    }
}

#[cfg(test)]
mod tests {
    use super::Spending;
    use crate::{Charge, Event};

    #[test]
    fn equal_events_are_counted_together() {
        let (small, large) = (Event::Pure { epsilon: 0.1 }, Event::Pure { epsilon: 0.2 });
        let mut spending = Spending::default();
        spending.add(&Charge::block("training", 0..100, small.clone()));
        spending.add(&Charge::once("vocabulary", large.clone()));
        spending.add(&Charge::block("training", 100..150, small.clone()));
        assert_eq!(spending.events(), [small.repeat(150), large]);
    }

    #[test]
    fn no_count_is_lost_beyond_the_largest_number() {
        let event = Event::Pure { epsilon: 0.1 };
        let mut spending = Spending::default();
        for _ in 0..2 {
            spending.add(&Charge::block("training", 0..u64::MAX, event.clone()));
        }
        assert_eq!(spending.events(), [event.clone().repeat(u64::MAX), event.repeat(u64::MAX)]);
    }
}
