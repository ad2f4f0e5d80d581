//! The box on the page of a recommender in which a reader picks items.

use super::Look;
use crate::{step::Step, workspace};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;

const ENTER: char = '\u{e007}';
/// The length of the list on the page.
const SHOWN: &str = "10";
/// Scores closer than this, relative to the best, may change places: the page adds in double precision.
const SAME: f64 = 1e-5;

impl Look<'_> {
    /// Picking items by the keyboard, on the map and not at all shows what `organza recommend` recommends.
    pub(super) fn picker(&self, organza: &Path, page: &Path) -> Result<()> {
        let run = page.parent().and_then(Path::to_str).context("the run has no folder")?;
        let recommend = |history: &[&str]| -> Result<Value> {
            let command = Step::program(organza).arguments(&["recommend", run]).arguments(history);
            let command = command.arguments(&["--top", SHOWN, "--json"]);
            let said = command.stdout().with_context(|| format!("`{command}` failed"))?;
            Ok(serde_json::from_str(&said)?)
        };
        self.shows(&[], &recommend(&["nothing that is sold"])?)?;
        // `tent pole` is the title of `map`: what is typed on the way to a longer title is not picked.
        self.write("tent")?;
        self.shows(&[], &recommend(&["nothing that is sold"])?)?;
        self.browser.press(ENTER)?;
        self.shows(&["tent"], &recommend(&["tent"])?)?;
        let another = self.shows(&["tent"], &recommend(&["trowel"])?);
        ensure!(another.is_err(), "the list of another history would not be seen");
        self.write("tent pole")?;
        self.shows(&["tent", "tent pole"], &recommend(&["tent", "map"])?)?;
        self.browser.script("document.querySelector('#picked button').click()")?;
        self.shows(&["tent pole"], &recommend(&["map"])?)?;
        let title = self.browser.script(
            "document.getElementById('pick-clear').click();
             const dot = document.querySelector('#item-map circle');
             dot.dispatchEvent(new MouseEvent('click', {bubbles: true}));
             return dot.textContent;",
        )?;
        let title = workspace::text(&title);
        self.shows(&[title], &recommend(&[title])?)?;
        self.browser.script("document.getElementById('pick-clear').click()")?;
        self.shows(&[], &recommend(&["nothing that is sold"])?)
    }

    /// Types into the box.
    fn write(&self, text: &str) -> Result<()> {
        self.browser.script(
            "const box = document.getElementById('pick');
             box.scrollIntoView({block: 'center'});
             box.focus({preventScroll: true});
             box.value = '';",
        )?;
        text.chars().try_for_each(|letter| self.browser.press(letter))
    }

    /// What is picked, and that the list beside it is the one of the command.
    fn shows(&self, picked: &[&str], expected: &Value) -> Result<()> {
        let found = self.browser.script(
            "const texts = (query) => [...document.querySelectorAll(query)].map((it) => it.firstChild.textContent);
             const why = [...document.querySelectorAll('#recommended li')].map((it) => it.querySelector('small')?.textContent ?? '');
             return [texts('#picked button'), texts('#recommended li'), why];",
        )?;
        let [chosen, list, why] = [0, 1, 2].map(|at| workspace::list(&found[at]));
        let names: Vec<String> = picked.iter().map(|title| format!("{title} \u{d7}")).collect();
        ensure!(chosen == names, "{chosen:?} are picked, not {picked:?}");
        let expected = workspace::list(expected);
        ensure!(expected.len().to_string() == SHOWN, "the command recommends {expected:?}");
        ensure!(list.len() == expected.len(), "it shows {list:?}, not {expected:?}");
        let title = |it: &Value| {
            let name = if it["title"].is_null() { &it["item"] } else { &it["title"] };
            workspace::text(name).to_owned()
        };
        let score = |it: &Value| it["score"].as_f64().unwrap_or(f64::NAN);
        let near = SAME * score(&expected[0]).abs();
        for (shown, place) in list.iter().zip(expected) {
            let same = expected.iter().find(|it| title(it) == workspace::text(shown));
            let same = same.with_context(|| format!("{shown} is shown for {picked:?}"))?;
            ensure!(
                (score(same) - score(place)).abs() <= near,
                "{shown} is shown for {picked:?} in the place of {place}"
            );
        }
        for (shown, why) in list.iter().zip(why) {
            let same = expected.iter().find(|it| title(it) == workspace::text(shown));
            let because = same.map_or(&[][..], |it| workspace::list(&it["because"]));
            let said = workspace::text(why);
            let all = because.iter().all(|reason| said.contains(workspace::text(reason)));
            ensure!(
                all && said.is_empty() == because.is_empty(),
                "{shown} is shown{said}, not because of {because:?}"
            );
        }
        Ok(())
    }
}
