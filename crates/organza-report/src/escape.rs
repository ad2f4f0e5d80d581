//! Text that cannot be taken for markup.

/// `text` for elements and quoted attributes of HTML and SVG.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            // XML allows no other control characters, not even escaped.
            '\n' | '\t' => safe.push(letter),
            _ if letter.is_control() => safe.push('\u{fffd}'),
            _ => safe.push(letter),
        }
    }
    safe
}

/// `text` with `code` between backticks and the rest escaped.
pub(crate) fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // An odd number of backticks is no code: the text is shown as it is.
    if parts.len().is_multiple_of(2) {
        return escaped(text);
    }
    let mut html = String::new();
    for (place, part) in parts.into_iter().enumerate() {
        let part = escaped(part);
        html += &if place % 2 == 0 { part } else { format!("<code>{part}</code>") };
    }
    html
}

/// A link that holds the file itself.
pub(crate) fn data_link(kind: &str, text: &str) -> String {
    let mut link = format!("data:{kind};charset=utf-8,");
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => link.push(char::from(byte)),
            b'-' | b'_' | b'.' | b',' | b';' | b'(' | b')' | b'/' | b'=' => {
                link.push(char::from(byte));
            }
            _ => link += &format!("%{byte:02X}"),
        }
    }
    link
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_markup_but_code() {
        assert_eq!(escaped("<a b='\"'>&\u{1}"), "&lt;a b=&#39;&quot;&#39;&gt;&amp;\u{fffd}");
        assert_eq!(prose("see `<x>` there"), "see <code>&lt;x&gt;</code> there");
        assert_eq!(prose("one ` alone"), "one ` alone");
    }

    #[test]
    fn a_link_holds_every_byte() {
        assert_eq!(
            data_link("text/csv", "a,\"é\"\n"),
            "data:text/csv;charset=utf-8,a,%22%C3%A9%22%0A"
        );
    }
}
