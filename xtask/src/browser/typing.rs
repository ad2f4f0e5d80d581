//! The box on the page of a typeahead in which a reader types.

use super::Look;
use crate::{step::Step, workspace};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;

const TAB: char = '\u{e004}';
/// The length of the list on the page, and of the one it is compared with.
const SHOWN: usize = 5;
const COMPARED: &str = "10";
/// Probabilities closer than this, relative to each other, may change places: the page has fewer digits.
const SAME: f64 = 1e-4;

/// A word with its probability.
type Offered = (String, f64);

impl Look<'_> {
    /// Typing letter by letter shows what `organza complete` offers, and Tab takes the first word.
    pub(super) fn typing(&self, organza: &Path, page: &Path) -> Result<()> {
        let run = page.parent().and_then(Path::to_str).context("the run has no folder")?;
        let complete = |typed: &str| -> Result<Vec<Offered>> {
            let command = Step::program(organza).arguments(&["complete", run, typed]);
            let command = command.arguments(&["--top", COMPARED, "--json"]);
            let said = command.stdout().with_context(|| format!("`{command}` failed"))?;
            let answer: Value = serde_json::from_str(&said)?;
            let pair = |it: &Value| {
                (workspace::text(&it[0]).to_owned(), it[1].as_f64().unwrap_or(f64::NAN))
            };
            Ok(workspace::list(&answer).iter().map(pair).collect())
        };
        self.offers("", &complete("")?)?;
        let mut typed = String::new();
        let frequent = complete("")?;
        let [(first, _), (second, _), ..] = &frequent[..] else {
            anyhow::bail!("nothing is offered")
        };
        for letter in format!("{first} {}", &second[..1]).chars() {
            self.type_letter(letter)?;
            typed.push(letter);
            self.offers(&typed, &complete(&typed)?)?;
        }
        let taken = self.offered()?.into_iter().next().context("nothing is offered")?;
        self.type_letter(TAB)?;
        let typed = format!("{first} {taken} ");
        let found = self.browser.script("return document.getElementById('typed').value")?;
        ensure!(workspace::text(&found) == typed, "Tab made {found} of it, not {typed:?}");
        self.offers(&typed, &complete(&typed)?)?;
        let another = self.offers(&typed, &complete("")?[1..]);
        ensure!(another.is_err(), "the words of another text would not be seen");
        for letter in "zzzz".chars() {
            self.type_letter(letter)?;
        }
        let said = self.browser.script("return document.getElementById('offered').textContent")?;
        ensure!(workspace::text(&said).contains("No word"), "it says {said} to what nobody writes");
        Ok(())
    }

    fn type_letter(&self, letter: char) -> Result<()> {
        self.browser.script(
            "const box = document.getElementById('typed');
             box.scrollIntoView({block: 'center'});
             box.focus({preventScroll: true});",
        )?;
        self.browser.press(letter)
    }

    /// The words that the page offers.
    fn offered(&self) -> Result<Vec<String>> {
        let found = self.browser.script(
            "return [...document.querySelectorAll('#offered button')].map((it) => it.textContent);",
        )?;
        Ok(workspace::list(&found).iter().map(|it| workspace::text(it).to_owned()).collect())
    }

    /// Whether the page offers the first of these words, or others that are as probable.
    fn offers(&self, typed: &str, expected: &[Offered]) -> Result<()> {
        let found = self.offered()?;
        let wrong = || format!("after {typed:?} it offers {found:?}, not {expected:?}");
        ensure!(found.len() == expected.len().min(SHOWN), wrong());
        for (shown, (_, at_place)) in found.iter().zip(expected) {
            let own = expected.iter().find(|(word, _)| word == shown).with_context(wrong)?.1;
            ensure!((own - at_place).abs() <= SAME * at_place, wrong());
        }
        Ok(())
    }
}
