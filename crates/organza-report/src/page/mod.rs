//! Pages: one HTML file that needs no other, filled section by section.
//!
//! ```
//! use organza_report::chart::{Axis, Chart, Line};
//! use organza_report::page::{Fact, Figure, Page, Section, Table};
//!
//! let chart = Chart {
//!     title: "Loss over steps".to_owned(),
//!     horizontal: Axis::linear("steps"),
//!     vertical: Axis::fitted("loss"),
//!     lines: vec![Line::new("training", [(0.0, 0.69), (100.0, 0.61)])],
//!     mark: None,
//! };
//! let page = Page::new("A run")
//!     .lead("What it learned, and what that cost.")
//!     .fact(Fact::new("epsilon", "2.418").note("at delta 1e-6"))
//!     .section(
//!         Section::new("Learning")
//!             .figure(Figure::new("learning", chart).not_private("computed from the data without noise"))
//!             .table(Table::new("ends", ["part", "loss"]).row(["training".into(), 0.61.into()])),
//!     );
//! # let folder = tempfile::tempdir()?;
//! page.write(folder.path(), "report.html")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod figure;
mod files;
mod html;
mod promise;
mod table;

pub use figure::Figure;
pub use files::PageError;
pub use promise::Promise;
pub(crate) use promise::best_guess;
pub use table::{Cell, Table};

/// A page: what anyone should see first, then sections.
///
/// # Privacy
/// A page shows what it is given. Whatever comes from the data without a charge has to be handed over
/// as not private (figures, cells, facts); it is then marked where it stands, and the page says what
/// the mark means. A page with such a mark is itself not private.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    lead: String,
    warnings: Vec<String>,
    /// From the data without noise.
    remarks: Vec<String>,
    facts: Vec<Fact>,
    sections: Vec<Section>,
}

/// A number for the top of a page.
#[derive(Clone, Debug)]
pub struct Fact {
    label: String,
    value: String,
    note: String,
    not_private: Option<String>,
}

/// A part of a page under one heading.
#[derive(Clone, Debug)]
pub struct Section {
    heading: String,
    parts: Vec<Part>,
}

/// What a section is made of.
#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Note(String),
    Code(String),
    Links(Vec<(String, String)>),
    Figure(Figure),
    Table(Table),
    Promise(Promise),
    /// HTML with its script.
    Widget(String),
}

impl Page {
    /// An empty page.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            lead: String::new(),
            warnings: Vec::new(),
            remarks: Vec::new(),
            facts: Vec::new(),
            sections: Vec::new(),
        }
    }

    /// The sentence below the title. Here and in every text, `code` may stand between backticks.
    pub fn lead(mut self, text: impl Into<String>) -> Self {
        self.lead = text.into();
        self
    }

    /// Something that nobody may overlook, such as that there is no privacy.
    pub fn warning(mut self, text: impl Into<String>) -> Self {
        self.warnings.push(text.into());
        self
    }

    /// Something about the data that nobody may overlook, from the data without noise: it makes the page *not private*.
    pub fn remark(mut self, text: &str) -> Self {
        self.remarks.push(format!("Not private, from the data without noise: {text}."));
        self
    }

    /// One more number at the top.
    pub fn fact(mut self, fact: Fact) -> Self {
        self.facts.push(fact);
        self
    }

    /// One more section; one without parts is left out.
    pub fn section(mut self, section: Section) -> Self {
        if !section.parts.is_empty() {
            self.sections.push(section);
        }
        self
    }

    /// Whether all that it shows may be published: it has neither marks nor warnings, which say that there is no promise,
    /// or something about the data.
    pub fn is_private(&self) -> bool {
        self.warnings.is_empty() && self.remarks.is_empty() && !self.has_marks()
    }

    /// Whether anything on it is marked as not private.
    pub fn has_marks(&self) -> bool {
        let parts = self.sections.iter().flat_map(|section| &section.parts);
        let marked = |part: &Part| match part {
            Part::Figure(figure) => figure.is_marked(),
            Part::Table(table) => table.is_marked(),
            _ => false,
        };
        self.facts.iter().any(|fact| fact.not_private.is_some()) || parts.into_iter().any(marked)
    }
}

impl Fact {
    /// A number and what it is.
    pub fn new(label: impl Into<String>, value: impl Into<String>) -> Self {
        Self { label: label.into(), value: value.into(), note: String::new(), not_private: None }
    }

    /// A few words below it.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.note = text.into();
        self
    }

    /// Marks it as not private, and says why.
    pub fn not_private<'a>(mut self, why: impl Into<Option<&'a str>>) -> Self {
        self.not_private = why.into().map(str::to_owned);
        self
    }
}

impl Section {
    /// An empty section.
    pub fn new(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), parts: Vec::new() }
    }

    /// A paragraph.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.part(Part::Text(text.into()))
    }

    /// A remark that stands out.
    pub fn note(self, text: impl Into<String>) -> Self {
        self.part(Part::Note(text.into()))
    }

    /// Text whose spaces and lines are kept, such as a command or a tree of events.
    pub fn code(self, text: impl Into<String>) -> Self {
        self.part(Part::Code(text.into()))
    }

    /// Files beside the page, each with what it is.
    pub fn links(
        self,
        links: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Self {
        let links = links.into_iter().map(|(file, what)| (file.into(), what.into()));
        self.part(Part::Links(links.collect()))
    }

    /// One or more charts.
    pub fn figure(self, figure: Figure) -> Self {
        self.part(Part::Figure(figure))
    }

    /// A table.
    pub fn table(self, table: Table) -> Self {
        self.part(Part::Table(table))
    }

    /// Something to try: HTML with a script of our own, in which `MODEL_DATA` stands for what it shows. Nothing in the data can
    /// end the script that holds it.
    pub fn widget(self, html: &str, data: &serde_json::Value) -> Self {
        let data = data.to_string().replace('<', "\\u003c");
        self.part(Part::Widget(html.replace("MODEL_DATA", &data)))
    }

    /// A guarantee in plain words.
    pub fn promise(self, promise: Promise) -> Self {
        self.part(Part::Promise(promise))
    }

    fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }
}
