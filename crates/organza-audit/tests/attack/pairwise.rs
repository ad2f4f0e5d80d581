//! Few combinations of many choices, among which every two choices meet.

use std::collections::BTreeSet;

/// Every combination of so many levels for each choice that `allowed` lets pass.
pub(crate) fn product(levels: &[usize], allowed: impl Fn(&[usize]) -> bool) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for count in levels {
        let longer = all.iter().flat_map(|start: &Vec<usize>| {
            (0..*count).map(move |level| [start.as_slice(), &[level]].concat())
        });
        all = longer.collect();
    }
    all.retain(|combination| allowed(combination));
    all
}

/// Two choices and their levels.
type Pair = (usize, usize, usize, usize);

fn pairs(combination: &[usize]) -> impl Iterator<Item = Pair> + '_ {
    let others = move |one: usize| (one + 1..combination.len()).map(move |other| (one, other));
    let places = (0..combination.len()).flat_map(others);
    places.map(|(one, other)| (one, other, combination[one], combination[other]))
}

/// Some of `all` in which every pair of levels meets that meets in any: in each turn the first of those that
/// have most pairs that were not met yet.
pub(crate) fn pairwise(all: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut open: BTreeSet<Pair> = all.iter().flat_map(|it| pairs(it)).collect();
    let mut chosen = Vec::new();
    while !open.is_empty() {
        let fresh = |it: &Vec<usize>| pairs(it).filter(|pair| open.contains(pair)).count();
        let most = all.iter().map(fresh).max().unwrap_or(0);
        let Some(best) = all.iter().find(|it| fresh(it) == most) else { break };
        pairs(best).for_each(|pair| {
            open.remove(&pair);
        });
        chosen.push(best.clone());
    }
    chosen
}

#[test]
fn every_two_choices_meet() {
    let levels = [5, 2, 2, 3, 2];
    let allowed = |it: &[usize]| it[0] != 4 || it[1] == 0;
    let all = product(&levels, allowed);
    assert_eq!(all.len(), 4 * 24 + 12);
    let chosen = pairwise(&all);
    assert!(chosen.len() >= 15 && chosen.len() <= 20, "{}", chosen.len());
    let met =
        |chosen: &[Vec<usize>]| chosen.iter().flat_map(|it| pairs(it)).collect::<BTreeSet<_>>();
    assert_eq!(met(&chosen), met(&all));
    assert!(met(&chosen[1..]) != met(&all), "a twin that leaves one out is caught");
}
