//! Pages in a real browser: what a reader sees, light and dark, wide and on a phone.

mod driver;
mod picker;
mod typing;

use crate::{step::Step, tools, workspace};
use anyhow::{Context, Result, ensure};
use driver::Browser;
use serde_json::Value;
use std::{
    env::consts::EXE_EXTENSION,
    fs,
    path::{Path, PathBuf},
};

/// The width of a small phone.
const PHONE: u32 = 360;
/// The smallest letters that can be read on one, in pixels.
const READABLE: f64 = 10.0;
/// The least contrast of text (WCAG 2, level AA).
const CONTRAST: f64 = 4.5;
const ARROW_RIGHT: char = '\u{e014}';
const ESCAPE: char = '\u{e00c}';

/// Makes runs and a page with one of everything, and looks at all of them.
pub(crate) fn check() -> Result<()> {
    let (driver, chromium) = tools::browser()?;
    let place = workspace::target().join("browser");
    if place.exists() {
        fs::remove_dir_all(&place).context("cannot delete the pages of the last check")?;
    }
    let pages = pages(&place)?;
    let organza = program("organza");
    let browser = Browser::start(&driver, &chromium)?;
    for (name, page) in pages {
        let look = Look { browser: &browser, pictures: place.join("screenshots"), name };
        look.all(&page, &organza)
            .with_context(|| format!("the page of the {name}, {}", page.display()))?;
    }
    twin(&browser)?;
    println!("screenshots are in {}", place.join("screenshots").display());
    Ok(())
}

/// The pages to look at: of a run of the tool, of a model of one's own, and with one of everything. Each is made
/// by a program that takes its folder as the last argument.
fn pages(place: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
    fs::create_dir_all(place.join("screenshots")).context("cannot make a folder for pictures")?;
    // The profile and the features of the tests, for which all of it was just built.
    let build = ["build", "--workspace", "--profile", "test", "--bin", "organza"];
    Step::cargo(&build).arguments(&["--example", "gallery", "--example", "factorisation"]).run()?;
    let rows = place.join("rows.libsvm");
    let line = |row: u32| {
        let (one, other) = (row % 10, row % 7);
        format!("{} {}:1 {}:1\n", u32::from(one + other > 7), 1 + one, 11 + other)
    };
    fs::write(&rows, (0..2_000).map(line).collect::<String>()).context("cannot write rows")?;
    let rows = rows.to_string_lossy();
    let steps: &[&str] = &["train", "--steps", "100", "--batch", "300", "--quiet", "--out"];
    let titles = place.join("titles.tsv");
    fs::write(&titles, "map\ttent pole\n").context("cannot write titles")?;
    let titles = titles.to_string_lossy();
    let shop: &[&str] = &["recommender", "--epsilon", "3", "--titles", &titles, "--quiet", "--out"];
    let fit: &[&str] = &["erm", "--data", &rows, "--features", "17", "--quiet", "--out"];
    let programs = [
        ("run", "organza", steps),
        ("counts", "organza", &["train", "--quiet", "--out"]),
        ("fit", "organza", fit),
        ("recommender", "organza", shop),
        ("typeahead", "organza", &["typeahead", "--quiet", "--out"]),
        ("example", "examples/factorisation", &[]),
        ("gallery", "examples/gallery", &[]),
    ];
    let made = programs.map(|(name, file, arguments)| {
        let folder = place.join(name);
        let folder_name = folder.to_str().context(
            "the target folder has a name that is not UTF-8: set CARGO_TARGET_DIR to another",
        )?;
        Step::program(program(file)).arguments(arguments).arguments(&[folder_name]).run()?;
        Ok((name, folder.join("report.html")))
    });
    made.into_iter().collect()
}

/// A program of the tests' profile.
fn program(name: &str) -> PathBuf {
    workspace::target().join("debug").join(name).with_extension(EXE_EXTENSION)
}

/// One page under examination.
struct Look<'a> {
    browser: &'a Browser,
    pictures: PathBuf,
    name: &'static str,
}

impl Look<'_> {
    fn all(&self, page: &Path, organza: &Path) -> Result<()> {
        let browser = self.browser;
        browser.resize(1100, 900, false)?;
        browser.prefer("light")?;
        browser.open(page)?;
        let outside = browser.script("return performance.getEntriesByType('resource').length")?;
        ensure!(outside == 0, "it asks for {outside} other files");
        if let Ok(text) = fs::read(page.with_file_name("certificate.json")) {
            self.certified(&serde_json::from_slice(&text)?)?;
        }
        self.files()?;
        self.hover()?;
        self.map()?;
        self.keyboard()?;
        if self.browser.script("return !!document.getElementById('pick')")? == true {
            self.picker(organza, page)?;
        }
        if self.browser.script("return !!document.getElementById('typed')")? == true {
            self.typing(organza, page)?;
        }
        let light = self.contrast("light")?;
        self.picture("light")?;
        browser.prefer("dark")?;
        let dark = self.contrast("dark")?;
        ensure!(light > 0.5 && dark < 0.2, "grounds of lightness {light} and {dark}");
        self.picture("dark")?;
        self.phone()?;
        let said = browser.console()?;
        ensure!(said.is_empty(), "the console says {}", said.join("\n"));
        Ok(())
    }

    fn picture(&self, kind: &str) -> Result<()> {
        self.browser.script("scrollTo(0, 0)")?;
        self.browser.picture(&self.pictures.join(format!("{}-{kind}.png", self.name)))
    }

    /// The page of a run promises what its certificate says, draws what was learned, and marks every loss.
    fn certified(&self, certificate: &Value) -> Result<()> {
        let found = self.browser.script(
            "const text = (query) => document.querySelector(query)?.textContent ?? '';
             const saved = (file) => document.querySelector(`a.save[download='${file}']`)?.closest('figure, .table');
             const losses = saved('outcome.csv');
             const curve = saved('learning-curve.svg');
             return {
               said: text('.promise.holds .headline'),
               facts: text('.facts'),
               parts: [...document.querySelectorAll('main h2')].map((heading) => heading.textContent),
               released: text('pre'),
               marked: losses?.querySelectorAll('tbody tr').length >= 1 && !!losses.querySelector('th:last-child .mark'),
               points: curve?.querySelector('.mark') ? curve.querySelectorAll('circle.point').length : 0,
             };",
        )?;
        let epsilon = certificate["epsilon"].as_f64().context("the run promises nothing")?;
        let unit = format!("each {}", workspace::text(&certificate["unit"]));
        let promise = format!("epsilon {epsilon:.4} at delta ");
        let said = workspace::text(&found["said"]);
        ensure!(said.starts_with(&promise) && said.contains(&unit), "it promises {said:?}");
        let facts = workspace::text(&found["facts"]);
        ensure!(facts.contains("epsilon") && facts.contains(&unit), "its facts are {facts:?}");
        for part in ["What is promised", "What was learned", "Where the budget went", "Settings"] {
            ensure!(workspace::list(&found["parts"]).contains(&part.into()), "no part {part:?}");
        }
        ensure!(found["released"] != "", "it does not say what was released");
        // What is released at once has no curves.
        let (points, steps) = (found["points"].as_u64().unwrap_or(0), certificate["steps"] != 0);
        ensure!(
            points >= 3 || !steps,
            "{points} points of a learning curve that is marked as not private"
        );
        ensure!(points == 0 || steps, "a learning curve without steps");
        ensure!(found["marked"] == true, "a loss is not marked as not private");
        Ok(())
    }

    /// Every figure and table can be saved, and is whole.
    fn files(&self) -> Result<()> {
        let found = self.browser.script(
            "const text = (link) => decodeURIComponent(link.href.slice(link.href.indexOf(',') + 1));
             const links = (kind) => [...document.querySelectorAll(`a.save[download$='.${kind}']`)];
             const charts = document.querySelectorAll('figure svg').length;
             const whole = links('svg').map(text).filter((svg) => !new DOMParser()
                 .parseFromString(svg, 'image/svg+xml').querySelector('parsererror'));
             const drawn = whole.reduce((sum, svg) => sum + svg.split('class=\"title\"').length - 1, 0);
             const rows = links('csv').map(text).map((csv) => csv.trimEnd().split('\\n').length - 1);
             const shown = [...document.querySelectorAll('.table table')].map((t) => t.tBodies[0].rows.length);
             return [charts, drawn, JSON.stringify(rows) === JSON.stringify(shown), shown.length];",
        )?;
        let [charts, drawn, is_same, tables] = numbers(&found)?;
        ensure!(charts >= 2.0 && tables >= 1.0, "only {charts} charts and {tables} tables");
        ensure!(charts == drawn, "{charts} charts, but {drawn} in the files to save");
        ensure!(is_same == 1.0, "tables and their files have different rows");
        Ok(())
    }

    /// Wherever the mouse goes on a chart, values are shown near it.
    fn hover(&self) -> Result<()> {
        let charts =
            self.browser.script("return document.querySelectorAll('figure svg').length")?;
        for index in 0..charts.as_u64().unwrap_or(0) {
            for (across, down) in [(0.25, 0.5), (0.75, 0.7)] {
                // The bar of a stack is above the middle.
                let place = self.browser.script(&format!(
                    "const chart = document.querySelectorAll('figure svg')[{index}];
                     chart.scrollIntoView({{block: 'center'}});
                     const box = chart.getBoundingClientRect();
                     return [box.left + {across} * box.width, box.top + {down} * box.height];"
                ))?;
                let [x, y] = numbers(&place)?;
                self.browser.point(x, y)?;
                let tip = self.tip()?.with_context(|| format!("chart {index} shows no values"))?;
                ensure!(
                    tip.chars().any(|letter| letter.is_ascii_digit()),
                    "chart {index} shows {tip:?}, which is no value"
                );
            }
        }
        self.browser.point(1.0, 1.0)?;
        ensure!(self.tip()?.is_none(), "values stay when the mouse has left");
        Ok(())
    }

    /// A word on a map tells its neighbours and shows where they are, and no written word hides another.
    fn map(&self) -> Result<()> {
        let found = self.browser.script(
            "const map = document.querySelector('svg.map');
             if (!map) return null;
             map.scrollIntoView({block: 'center'});
             const box = map.querySelector('.point').getBoundingClientRect();
             const words = [...map.querySelectorAll('text.word')].map((word) => word.getBoundingClientRect());
             const meet = (one, other) => one.left < other.right && other.left < one.right
               && one.top + 3 < other.bottom && other.top + 3 < one.bottom;
             const hidden = words.filter((one, at) => words.slice(at + 1).some((other) => meet(one, other)));
             return [box.left + box.width / 2, box.top + box.height / 2, words.length, hidden.length];",
        )?;
        if found.is_null() {
            return Ok(());
        }
        let [x, y, words, hidden] = numbers(&found)?;
        ensure!(words >= 20.0 && hidden == 0.0, "{hidden} of {words} words of the map hide others");
        self.browser.point(x, y)?;
        let tip = self.tip()?.context("a word of the map tells nothing")?;
        ensure!(tip.contains("nearest: "), "a word of the map tells {tip:?}");
        let near = self.browser.script("return document.querySelectorAll('.map .near').length")?;
        ensure!(near != 0, "the neighbours of a word are not shown");
        self.browser.point(1.0, 1.0)?;
        let near = self.browser.script("return document.querySelectorAll('.map .near').length")?;
        ensure!(near == 0, "neighbours stay when the mouse has left");
        Ok(())
    }

    /// Arrow keys go from value to value, and escape ends it.
    fn keyboard(&self) -> Result<()> {
        self.browser.script(
            "const chart = document.querySelector('figure svg');
             chart.scrollIntoView({block: 'center'});
             chart.focus({preventScroll: true});",
        )?;
        let mut seen = Vec::new();
        for _ in 0..2 {
            self.browser.press(ARROW_RIGHT)?;
            seen.push(self.tip()?.context("the arrow keys show no values")?);
        }
        ensure!(seen[0] != seen[1], "the arrow keys stay at {:?}", seen[0]);
        self.browser.press(ESCAPE)?;
        ensure!(self.tip()?.is_none(), "escape does not hide values");
        Ok(())
    }

    /// Text stands out from its ground. Returns the lightness of the page.
    fn contrast(&self, scheme: &str) -> Result<f64> {
        let found = self.browser.script(
            "const light = (color) => {
               const [r, g, b] = color.match(/[\\d.]+/g).map((part) => part / 255)
                 .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
               return 0.2126 * r + 0.7152 * g + 0.0722 * b;
             };
             const ground = (element) => {
               const color = getComputedStyle(element).backgroundColor;
               return color.endsWith(', 0)') && element.parentElement ? ground(element.parentElement) : color;
             };
             const contrast = (element) => {
               const style = getComputedStyle(element);
               const color = element.closest('svg') ? style.fill : style.color;
               const [low, high] = [light(color), light(ground(element))].sort((a, b) => a - b);
               return (high + 0.05) / (low + 0.05);
             };
             const texts = document.querySelectorAll('p, li, td, th, h1, h2, h3, a, .mark, figure text, pre, .fact span');
             return [light(getComputedStyle(document.body).backgroundColor),
                     Math.min(...[...texts].map(contrast))];",
        )?;
        let [lightness, contrast] = numbers(&found)?;
        ensure!(contrast >= CONTRAST, "{scheme} text has a contrast of only {contrast:.2}");
        Ok(lightness)
    }

    /// Nothing has to be pushed sideways, letters can be read, and a finger works like a mouse.
    fn phone(&self) -> Result<()> {
        self.browser.resize(PHONE, 740, true)?;
        let found = self.browser.script(
            "const sizes = [...document.querySelectorAll('figure svg text')].filter((text) => text.getClientRects().length).map((text) =>
               parseFloat(getComputedStyle(text).fontSize) * text.ownerSVGElement.getScreenCTM().a);
             const chart = document.querySelector('figure svg');
             chart.scrollIntoView({block: 'center'});
             const box = chart.getBoundingClientRect();
             const cut = [...document.querySelectorAll('div.scroll')].filter((table) => table.scrollWidth > table.clientWidth);
             return [document.documentElement.scrollWidth, Math.min(...sizes),
                     box.left + box.width / 2, box.top + box.height / 2, cut.length];",
        )?;
        let [width, letters, x, y, cut] = numbers(&found)?;
        ensure!(cut == 0.0, "{cut} tables are cut on a phone");
        ensure!(width <= f64::from(PHONE), "it is {width} pixels wide on a phone of {PHONE}");
        ensure!(letters >= READABLE, "letters of {letters:.1} pixels on a phone");
        self.browser.tap(x, y)?;
        self.tip()?.context("a tap on a chart shows no values")?;
        self.picture("phone")?;
        self.browser.prefer("light")?;
        self.picture("phone-light")
    }

    /// What is shown near the pointer, if anything is; it must be within the window.
    fn tip(&self) -> Result<Option<String>> {
        let found = self.browser.script(
            "const tip = document.getElementById('tip');
             const box = tip.getBoundingClientRect();
             const inside = box.left >= 0 && box.top >= 0
               && box.right <= innerWidth && box.bottom <= innerHeight;
             return tip.hidden ? null : inside ? tip.textContent : 'outside of the window';",
        )?;
        Ok(found.as_str().map(str::to_owned))
    }
}

/// A page that does what pages must not: the check has to see it.
fn twin(browser: &Browser) -> Result<()> {
    browser.console()?;
    browser.script(
        "console.error('a mistake');
         document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/picture.png'}));",
    )?;
    let said = browser.console()?.join("\n");
    ensure!(said.contains("a mistake"), "a mistake of a page would not be seen");
    ensure!(
        said.contains("Content Security Policy"),
        "a page could ask for files from elsewhere: {said}"
    );
    Ok(())
}

/// So many numbers; true is 1.
fn numbers<const COUNT: usize>(found: &Value) -> Result<[f64; COUNT]> {
    let all: Option<Vec<f64>> = found.as_array().map(|all| {
        let number = |value: &Value| match value {
            Value::Bool(flag) => f64::from(u8::from(*flag)),
            value => value.as_f64().unwrap_or(f64::NAN),
        };
        all.iter().map(number).collect()
    });
    let count = all.as_ref().map_or(0, Vec::len);
    all.and_then(|all| all.try_into().ok()).with_context(|| format!("{count} numbers, not {COUNT}"))
}
