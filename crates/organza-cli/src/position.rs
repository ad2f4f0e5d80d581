//! Events whose meaning once depended on their place.

use organza_ledger::Event;

/// What a bare event with a `gaussian` directly after a capped `exponential` is answered.
pub(crate) const EXPLANATION: &str = "\
a `gaussian` stands directly after an `exponential` with `cap` in one `compose`, which meant noise on \
what was selected in version 1 and is a plain composition now
help: if the noise lies on just the selected coordinates, and its multiplier is relative to how far a \
unit moves what gets it, write
      {\"selected\": {\"by\": {\"exponential\": ...}, \"noise\": {\"gaussian\": ...}}}
      if it is any other noise, put the gaussian first, or the event into a question of \"version\": 2";

/// Whether somewhere inside a composition a Gaussian stands directly after a capped selection.
pub(crate) fn is_noise_after_selection(event: &Event) -> bool {
    let parts = event.parts();
    let is_sequence = matches!(event, Event::Compose(_));
    is_sequence && parts.windows(2).any(|pair| is_capped(pair[0]) && is_gaussian(pair[1]))
        || parts.into_iter().any(is_noise_after_selection)
}

fn is_capped(event: &Event) -> bool {
    matches!(event, Event::Exponential { candidates: Some(_), cap: Some(_), l2: Some(_), .. })
}

fn is_gaussian(event: &Event) -> bool {
    matches!(event, Event::Gaussian { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_its_meaning_is_found() {
        let noise = || Event::Gaussian { noise_multiplier: 0.5 };
        let selection = |cap: Option<f64>| Event::Exponential {
            epsilon: 0.3,
            draws: 5,
            candidates: Some(100),
            cap,
            l2: Some(0.75),
        };
        let old = Event::Compose(vec![noise(), selection(Some(0.1)), noise()]);
        assert!(is_noise_after_selection(&old));
        assert!(is_noise_after_selection(&old.poisson(0.1).repeat(3)));
        for parts in [
            vec![noise(), selection(Some(0.1))],
            vec![selection(Some(0.1)), Event::Compose(vec![noise()])],
            vec![Event::Compose(vec![selection(Some(0.1))]), noise()],
            vec![selection(None), noise()],
        ] {
            assert!(!is_noise_after_selection(&Event::Compose(parts)));
        }
    }
}
