//! How recommenders are made, beside the spectrum of a table of pairs: a file each, to compare with.

pub(crate) mod als;
pub(crate) mod covariance;
pub(crate) mod dpsgd;
pub(crate) mod plain;

use crate::histories::{FULL_WEIGHT, Histories};
use crate::model::Recommender;
use crate::release::NoisyItems;
use faer::Mat;

/// What everybody likes, and nothing else.
pub(crate) fn popularity(items: &NoisyItems) -> Recommender {
    let none = vec![0.0; items.items.len()];
    Recommender::new(1, none, popular(items), Vec::new())
}

/// How much everybody likes each item, over what is liked most: what a history that says nothing asks for.
pub(crate) fn popular(items: &NoisyItems) -> Vec<f32> {
    let most = items.counts.first().copied().unwrap_or(1.0).max(f64::MIN_POSITIVE);
    items.counts.iter().map(|count| (count / most) as f32).collect()
}

/// The kept items of persons by their places among them, with weights up to 1.
pub(crate) fn rows(histories: &Histories, items: &NoisyItems) -> Vec<Vec<(u32, f32)>> {
    let mut place = vec![None; histories.items()];
    for (at, item) in (0_u32..).zip(&items.items) {
        place[*item as usize] = Some(at);
    }
    let entry = |(item, weight): &(u32, u16)| {
        Some((place[*item as usize]?, f32::from(*weight) / f32::from(FULL_WEIGHT)))
    };
    histories.rows().map(|row| row.iter().filter_map(entry).collect()).collect()
}

/// A model of rows that ask and rows that are found, to which popularity is added for histories that say nothing.
fn model(
    items: &NoisyItems,
    asking: &Mat<f64>,
    found: &Mat<f64>,
    likeness: &Mat<f64>,
) -> Recommender {
    let flat = |rows: &Mat<f64>, last: &dyn Fn(usize) -> Option<f32>| -> Vec<f32> {
        let row = |row: usize| {
            let entries = (0..rows.ncols()).map(move |column| rows[(row, column)] as f32);
            entries.chain(last(row))
        };
        (0..rows.nrows()).flat_map(row).collect()
    };
    let popular = popular(items);
    Recommender::new(
        asking.ncols() + 1,
        flat(asking, &|_| Some(0.0)),
        flat(found, &|item| Some(popular[item])),
        flat(likeness, &|_| None),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::application::{fit_data, fit_histories};
    use crate::histories::Histories;
    use crate::settings::{Method, Settings};
    use crate::synthetic::shop;

    fn all() -> impl Iterator<Item = Method> {
        Method::NAMES.into_iter().map(|name| serde_json::from_value(name.into()).unwrap())
    }

    /// Who has bought a tent and a map is a hiker.
    #[test]
    fn every_method_learns_something_within_its_budget() {
        for method in all() {
            let mut settings = Settings::new(None, 20.0, 1e-6);
            (settings.method, settings.seed) = (method, Some(1));
            let (fitted, certificate) = fit_data(shop(), settings).unwrap();
            let (quality, saved) = (fitted.quality, fitted.saved);
            assert_eq!(certificate.method, method.to_string());
            let least = if method == Method::Popularity { 1.0 } else { 1.5 };
            assert!(quality.recall >= least * quality.popular_recall, "{method}: {quality:?}");
            let history = ["tent", "map"].map(|name| saved.find(name).unwrap());
            let next = saved.model.recommend(&history, 20);
            assert_eq!(next.len(), 20);
            assert!(next.iter().all(|it| !history.contains(&it.item)));
            // Popularity does not say what is alike.
            let alike = if method == Method::Popularity { 0 } else { 3 };
            assert_eq!(saved.model.similar_items(history[0], 3).len(), alike);
            match method.is_private() {
                true => assert!(certificate.epsilon.unwrap() <= 20.0, "{method}"),
                false => {
                    assert_eq!((certificate.epsilon, certificate.private), (None, false));
                    assert!(certificate.conditions[0].contains("there is no guarantee"));
                }
            }
        }
    }

    /// Whether a run ends well tells nothing: without persons, or with one, there is a model that recommends nothing or little.
    #[test]
    fn nobody_and_one_person_are_no_error() {
        for method in all() {
            for rows in [vec![], vec![vec![]], vec![vec![2, 0]]] {
                let settings = Settings { method, ..Settings::new(None, 1.0, 1e-6) };
                let (fitted, _) = fit_histories(Histories::of_rows(3, rows), settings).unwrap();
                assert!(fitted.saved.model.recommend(&[0, 7], 9).len() <= 3, "{method}");
            }
        }
    }

    /// A budget is spent on what the method needs and nothing else.
    #[test]
    fn only_what_is_used_is_charged() {
        for (method, charged) in [
            (Method::Spectrum, 2),
            (Method::Popularity, 1),
            (Method::Covariance, 2),
            (Method::Als, 2),
            (Method::Ease, 0),
        ] {
            let settings = Settings { method, ..Settings::new(None, 1.0, 1e-6) };
            let (_, certificate) = fit_data(shop(), settings).unwrap();
            assert_eq!(certificate.private, method.is_private());
            let events = serde_json::to_string(&certificate.events).unwrap();
            assert_eq!(events.matches("noise_multiplier").count(), charged, "{method}: {events}");
            let iterations = format!("\"times\":{}", super::als::ITERATIONS);
            assert_eq!(events.contains(&iterations), method == Method::Als, "{method}: {events}");
        }
    }
}
