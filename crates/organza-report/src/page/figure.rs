//! Figures: charts that belong together, with a caption and a file of their own.

use super::html::mark;
use crate::chart::{Draw, inline, picture_of};
use crate::escape::{data_link, escaped, prose};
use std::sync::Arc;

/// Charts that belong together.
#[derive(Clone, Debug)]
pub struct Figure {
    name: String,
    caption: String,
    not_private: Option<String>,
    panels: Vec<Arc<dyn Draw>>,
}

impl Figure {
    /// A figure of one chart; `name` is that of its file, without an ending.
    pub fn new(name: impl Into<String>, chart: impl Draw + 'static) -> Self {
        Self {
            name: name.into(),
            caption: String::new(),
            not_private: None,
            panels: vec![Arc::new(chart)],
        }
    }

    /// One more chart, beside the others where there is room.
    pub fn panel(mut self, chart: impl Draw + 'static) -> Self {
        self.panels.push(Arc::new(chart));
        self
    }

    /// What to see in it.
    pub fn caption(mut self, text: impl Into<String>) -> Self {
        self.caption = text.into();
        self
    }

    /// Marks it as not private, and says why.
    pub fn not_private<'a>(mut self, why: impl Into<Option<&'a str>>) -> Self {
        self.not_private = why.into().map(str::to_owned);
        self
    }

    pub(super) fn is_marked(&self) -> bool {
        self.not_private.is_some()
    }

    /// The name of its file.
    pub(super) fn file(&self) -> String {
        format!("{}.svg", super::files::safe(&self.name))
    }

    /// Its file.
    pub(super) fn svg(&self) -> String {
        picture_of(&self.panels.iter().map(Arc::as_ref).collect::<Vec<_>>())
    }

    pub(super) fn html(&self) -> String {
        let file = self.file();
        let panels: String = self.panels.iter().map(|panel| inline(panel.as_ref())).collect();
        let kind = match self.panels.as_slice() {
            [one] => format!("of-{}", one.class()),
            _ => "many".to_owned(),
        };
        format!(
            "<figure class=\"{kind}\">\n<div class=\"panels\">\n{panels}</div>\n<figcaption>{}{}\
             <a class=\"save\" download=\"{}\" href=\"{}\">SVG</a></figcaption>\n</figure>\n",
            mark(self.not_private.as_deref()),
            match self.caption.as_str() {
                "" => String::new(),
                caption => format!("<p>{}</p>\n", prose(caption)),
            },
            escaped(&file),
            data_link("image/svg+xml", &self.svg())
        )
    }
}
