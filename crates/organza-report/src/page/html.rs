//! The page as HTML.

use super::{Fact, Page, Part, Section};
use crate::escape::{escaped, prose};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// The browser itself refuses whatever would come from elsewhere.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
const ICON: &str = "<svg class=\"icon\" viewBox=\"0 0 24 24\" aria-hidden=\"true\">\
<path d=\"M2 7c5-4 9 3 20-1M2 13c6-4 11 3 20-1M2 19c6-4 12 3 20-1M7 3c-3 6 2 11-1 18M13 3c-3 6 2 \
11-1 18M19 3c-3 6 2 11-1 18\"/></svg>";

/// What the mark means, where there is one.
const LEGEND: &str = "marks what comes from the data without noise. It is for those who hold the data \
    anyway: do not publish it, nor this page, which shows it.";

impl Page {
    /// The page: one file that needs no other and asks nothing of a network.
    pub fn html(&self) -> String {
        let title = escaped(&self.title);
        let warnings = self.warnings.iter().chain(&self.remarks);
        let warnings: String = warnings
            .map(|text| format!("<p class=\"warning\" role=\"note\">{}</p>\n", prose(text)))
            .collect();
        let facts: String = self.facts.iter().map(Fact::html).collect();
        let legend = if self.has_marks() {
            format!(
                "<p class=\"legend\">{} {LEGEND}</p>\n",
                "<span class=\"mark\">not private</span>"
            )
        } else {
            String::new()
        };
        let contents: String = self
            .sections
            .iter()
            .enumerate()
            .map(|(index, section)| {
                format!("<a href=\"#part-{}\">{}</a>\n", index + 1, escaped(&section.heading))
            })
            .collect();
        let sections: String = self
            .sections
            .iter()
            .enumerate()
            .map(|(index, section)| section.html(index + 1))
            .collect();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <link rel=\"icon\" href=\"data:,\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <header>\n<p class=\"brand\">{ICON}Organza</p>\n<h1>{title}</h1>\n\
             <p class=\"lead\">{}</p>\n{warnings}<div class=\"facts\">\n{facts}</div>\n{legend}\
             <nav aria-label=\"Contents\">\n{contents}</nav>\n</header>\n<main>\n{sections}</main>\n\
             <div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{SCRIPT}</script>\n\
             </body>\n</html>\n",
            prose(&self.lead),
        )
    }
}

/// How a card looks in a page that is not ours.
const CARD: &str = "<style>.organza-card{font:14px/1.45 system-ui,sans-serif;border:1px solid #8884;border-radius:8px;\
padding:.8em 1em;max-width:46em}.organza-card p{margin:.3em 0}.organza-card .facts{display:flex;flex-wrap:wrap;gap:.4em 1.6em;\
margin-top:.6em}.organza-card .label{display:block;opacity:.7;font-size:.85em}.organza-card .value{font-weight:600;\
font-size:1.15em}.organza-card .note{display:block;opacity:.7;font-size:.85em;max-width:20em}.organza-card .warning{border-left:\
3px solid #c60;padding-left:.6em}</style>";

impl Page {
    /// The head of the page for a notebook: what is promised, and the facts that are private.
    pub fn card(&self) -> String {
        let warnings: String = self
            .warnings
            .iter()
            .map(|text| format!("<p class=\"warning\">{}</p>", prose(text)))
            .collect();
        let facts = self.facts.iter().filter(|fact| fact.not_private.is_none());
        let facts: String = facts.map(Fact::html).collect();
        format!(
            "<div class=\"organza-card\">{CARD}<strong>{}</strong><p>{}</p>{warnings}<div class=\"facts\">{facts}</div></div>",
            escaped(&self.title),
            prose(&self.lead)
        )
    }
}

impl Fact {
    fn html(&self) -> String {
        format!(
            "<div class=\"fact\"><span class=\"label\">{}</span><span class=\"value\">{}</span>\
             <span class=\"note\">{}</span>{}</div>\n",
            escaped(&self.label),
            escaped(&self.value),
            prose(&self.note),
            mark(self.not_private.as_deref())
        )
    }
}

impl Section {
    fn html(&self, number: usize) -> String {
        let parts: String = self.parts.iter().map(Part::html).collect();
        format!(
            "<section id=\"part-{number}\">\n<h2>{}</h2>\n{parts}</section>\n",
            escaped(&self.heading)
        )
    }
}

impl Part {
    fn html(&self) -> String {
        match self {
            Self::Text(text) => format!("<p>{}</p>\n", prose(text)),
            Self::Note(text) => format!("<p class=\"remark\" role=\"note\">{}</p>\n", prose(text)),
            Self::Code(text) => {
                format!("<pre class=\"scroll\" tabindex=\"0\">{}</pre>\n", escaped(text))
            }
            Self::Links(links) => {
                let link = |(file, what): &(String, String)| {
                    let file = escaped(file);
                    format!("<li><a href=\"{file}\">{file}</a> {}</li>\n", prose(what))
                };
                format!(
                    "<ul class=\"files\">\n{}</ul>\n",
                    links.iter().map(link).collect::<String>()
                )
            }
            Self::Figure(figure) => figure.html(),
            Self::Table(table) => table.html(),
            Self::Widget(html) => html.clone(),
            Self::Promise(promise) => promise.html(),
        }
    }
}

/// The mark of what is not private, with the reason for whoever points at it.
pub(super) fn mark(why: Option<&str>) -> String {
    why.map_or(String::new(), |why| {
        format!(
            "<span class=\"mark\" tabindex=\"0\" data-tip=\"{}\">not private</span>",
            escaped(why)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Figure, Promise, Table};
    use super::*;
    use crate::chart::Stack;

    const HOSTILE: &str = "<img src=x onerror=\"alert(1)\">'";

    #[test]
    fn nothing_that_is_shown_is_markup() {
        let stack =
            Stack { title: HOSTILE.to_owned(), measure: HOSTILE.to_owned(), pieces: Vec::new() };
        let page = Page::new(HOSTILE)
            .lead(HOSTILE)
            .warning(HOSTILE)
            .fact(Fact::new(HOSTILE, HOSTILE).note(HOSTILE).not_private(HOSTILE))
            .section(
                Section::new(HOSTILE)
                    .text(HOSTILE)
                    .note(HOSTILE)
                    .code(HOSTILE)
                    .links([(HOSTILE, HOSTILE)])
                    .figure(Figure::new(HOSTILE, stack).caption(HOSTILE).not_private(HOSTILE))
                    .table(Table::new(HOSTILE, [HOSTILE]).row([HOSTILE.into()]).caption(HOSTILE))
                    .promise(Promise { headline: HOSTILE.to_owned(), ..Promise::default() }),
            );
        assert!(!page.html().contains("<img"));
    }

    #[test]
    fn the_legend_is_there_where_a_mark_is() {
        let plain = Page::new("p").fact(Fact::new("epsilon", "3"));
        assert!(!plain.has_marks() && !plain.html().contains(LEGEND));
        let marked = plain.fact(Fact::new("loss", "0.6").not_private("from the data"));
        assert!(marked.has_marks() && marked.html().contains(LEGEND));
        assert!(marked.html().contains("data-tip=\"from the data\">not private<"));
    }

    #[test]
    fn nothing_is_asked_of_a_network() {
        let html = Page::new("p").html();
        for outside in ["src=\"http", "href=\"http", "url(", "@import", "fetch("] {
            assert!(!html.contains(outside), "{outside}");
        }
    }
}
