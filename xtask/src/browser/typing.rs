//! The box on the page of a typeahead in which a reader types.

use super::Look;
use crate::{step::Step, workspace};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;

const TAB: char = '\u{e004}';
/// The length of the list on the page.
const SHOWN: &str = "5";

impl Look<'_> {
    /// Typing letter by letter shows what `organza complete` offers, and Tab takes the first word.
    pub(super) fn typing(&self, organza: &Path, page: &Path) -> Result<()> {
        let run = page.parent().and_then(Path::to_str).context("the run has no folder")?;
        let complete = |typed: &str| -> Result<Vec<String>> {
            let command = Step::program(organza).arguments(&["complete", run, typed]);
            let command = command.arguments(&["--top", SHOWN, "--json"]);
            let said = command.stdout().with_context(|| format!("`{command}` failed"))?;
            let answer: Value = serde_json::from_str(&said)?;
            Ok(workspace::list(&answer)
                .iter()
                .map(|pair| workspace::text(&pair[0]).to_owned())
                .collect())
        };
        self.offers("", &complete("")?)?;
        let mut typed = String::new();
        let frequent = complete("")?;
        let [first, second, ..] = &frequent[..] else { anyhow::bail!("nothing is offered") };
        for letter in format!("{first} {}", &second[..1]).chars() {
            self.type_letter(letter)?;
            typed.push(letter);
            self.offers(&typed, &complete(&typed)?)?;
        }
        let expected = complete(&typed)?;
        self.type_letter(TAB)?;
        let typed = format!("{first} {} ", expected.first().context("nothing is offered")?);
        let found = self.browser.script("return document.getElementById('typed').value")?;
        ensure!(workspace::text(&found) == typed, "Tab made {found} of it, not {typed:?}");
        self.offers(&typed, &complete(&typed)?)?;
        let another = self.offers(&typed, &["nothing".to_owned()]);
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

    /// Whether the page offers these words.
    fn offers(&self, typed: &str, expected: &[String]) -> Result<()> {
        let found = self.browser.script(
            "return [...document.querySelectorAll('#offered button')].map((it) => it.textContent);",
        )?;
        let found: Vec<&str> = workspace::list(&found).iter().map(workspace::text).collect();
        ensure!(found == expected, "after {typed:?} it offers {found:?}, not {expected:?}");
        Ok(())
    }
}
