//! Files that nobody should have written: an error, never a panic, never a charge made up.

use super::samples::{header, pure, replay, text_of};
use crate::line::{LONGEST_LINE, Line};
use crate::{Charge, LedgerError, LineError, checksum};
use proptest::prelude::*;

/// Header line, then `content` with a true checksum, so that only its meaning can be wrong.
fn with_line(content: &str) -> Vec<u8> {
    let (header, checksum) = Line::Header(header()).encode(0).unwrap();
    [header, sealed(content, checksum)].concat()
}

/// `content`, of which the last byte must be its closing brace, with its checksum.
fn sealed(content: &str, checksum: u32) -> Vec<u8> {
    let content = content.strip_suffix('}').unwrap_or(content);
    let checksum = checksum::extend(checksum, content.as_bytes());
    format!("{content},\"check\":\"{checksum:08x}\"}}\n").into_bytes()
}

fn charge_with(event: &str) -> String {
    format!(r#"{{"charge":{{"purpose":"training","from_step":0,"steps":1,"event":{event}}}}}"#)
}

fn error_of(text: &[u8]) -> (u64, LineError) {
    match replay(text) {
        Err(LedgerError::Line { line, source, .. }) => (line, source),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_sealed_line_is_read() {
    let text = with_line(&charge_with(r#"{"pure":{"epsilon":0.5}}"#));
    assert_eq!(replay(&text).unwrap().charges, [Charge::once("training", pure(0.5))]);
}

#[test]
fn an_unknown_kind_is_refused_by_name_even_in_the_last_line() {
    let (line, error) = error_of(&with_line(&charge_with(r#"{"teleport":{"epsilon":0.5}}"#)));
    assert_eq!(line, 2);
    assert!(error.to_string().contains("unknown variant `teleport`"), "{error}");
    assert!(!error.to_string().contains("line 1"), "{error}");
}

#[test]
fn an_unknown_version_is_refused_by_name() {
    for version in [0, 1, 3, u64::MAX] {
        let content = format!(r#"{{"header":{{"version":{version},"colour":"blue"}}}}"#);
        let error = error_of(&sealed(&content, 0));
        assert_eq!(error, (1, LineError::UnknownVersion(version)));
        // Whatever a later version seals its lines with.
        let error = error_of(format!("{content}\n").as_bytes());
        assert_eq!(error, (1, LineError::UnknownVersion(version)));
        // What the first version said by position has a form of its own.
        assert_eq!(error.1.to_string().contains("{\"selected\": "), version == 1);
    }
}

#[test]
fn wrong_content_is_refused_although_its_checksum_is_right() {
    let many_levels = "{\"compose\":[".repeat(10_000) + &"]}".repeat(10_000);
    let forty_levels = "{\"compose\":[".repeat(40) + &"]}".repeat(40);
    let event = r#"{"pure":{"epsilon":0.5}}"#;
    for content in [
        charge_with(r#"{"pure":{"epsilon":-0.5}}"#),
        charge_with(r#"{"pure":{"epsilon":NaN}}"#),
        charge_with(r#"{"pure":{"epsilon":1e999}}"#),
        charge_with(r#"{"pure":{"epsilon":0.5,"epsilon":0.1}}"#),
        charge_with(r#"{"gaussian":{"noise_multiplier":0}}"#),
        charge_with(r#"{"poisson":{"rate":1.5,"event":{"pure":{"epsilon":0.5}}}}"#),
        charge_with(&many_levels),
        charge_with(&forty_levels),
        charge_with(event).replace("\"steps\":1", "\"steps\":0"),
        charge_with(event).replace("\"steps\":1", "\"steps\":-1"),
        charge_with(event).replace("\"steps\":1", "\"steps\":1,\"steps\":2"),
        charge_with(event).replace("\"steps\":1", "\"steps\":18446744073709551616"),
        charge_with(event).replace("\"from_step\":0", "\"from_step\":18446744073709551615"),
        charge_with(event).replace("\"steps\":1", "\"steps\":1,\"discount\":0.5"),
        charge_with(event).replace("\"steps\":1", "\"steps\":1,\"key\":\"00\""),
        charge_with(event).replace("training", ""),
        charge_with(event).replace("training", "a\\nb"),
        charge_with(event).replace("charge", "refund"),
        format!("{},\"charge\":{{}}}}", charge_with(event).trim_end_matches('}')),
        "{}".to_owned(),
        "null".to_owned(),
        "\u{0}".to_owned(),
    ] {
        assert_eq!(error_of(&with_line(&content)).0, 2, "{content:.200}");
    }
}

#[test]
fn a_wrong_header_is_refused_although_its_checksum_is_right() {
    let whole =
        r#"{"header":{"version":2,"neighbouring":"add-remove","unit":"line","delta":1e-6}}"#;
    assert!(replay(&sealed(whole, 0)).is_ok());
    for (from, to) in [
        ("1e-6", "-1e-6"),
        ("1e-6", "1.0"),
        ("1e-6", "NaN"),
        ("add-remove", "swap"),
        ("\"line\"", "\"village\""),
        ("\"version\":2", "\"version\":2,\"version\":2"),
        ("\"version\":2", "\"version\":\"2\""),
        ("\"version\":2,", ""),
        ("1e-6", "1e-6,\"epsilon\":3"),
        ("1e-6", "1e-6,\"public\":[{\"name\":\"\",\"value\":\"\"}]"),
    ] {
        assert_eq!(error_of(&sealed(&whole.replace(from, to), 0)).0, 1, "{to}");
    }
}

#[test]
fn a_file_that_is_no_ledger_is_refused() {
    for text in [&b""[..], b"{", b"\0\0\0\0", b"\xff\xfe\xfd", b"{\"header\":{\"version\":2}}"] {
        assert!(matches!(replay(text), Err(LedgerError::NoHeader(_))), "{text:?}");
    }
    for text in [&b"\n"[..], b"\n\n\n", b"\0\n", b"\xff\xfe\n\xfd", b"{}\n", b"[1]\n{}\n"] {
        assert_eq!(error_of(text), (1, LineError::NoChecksum), "{text:?}");
    }
}

#[test]
fn a_huge_line_is_refused_without_reading_it_whole() {
    let huge = vec![b'x'; 2 * LONGEST_LINE];
    assert_eq!(error_of(&huge), (1, LineError::TooLong));
    // A line of this length was never begun here, so that nothing explains it as torn.
    assert_eq!(error_of(&[text_of(&[]), huge].concat()), (2, LineError::TooLong));
    let endless = std::io::BufReader::new(std::io::repeat(b'x'));
    let read = crate::Replay::from_reader(&mut { endless }, std::path::Path::new("endless"));
    assert!(matches!(read, Err(LedgerError::Line { source: LineError::TooLong, .. })));
}

#[test]
fn garbage_at_the_end_is_named_and_does_not_count() {
    let charges = [Charge::once("training", pure(0.5))];
    for garbage in [&b"\0\0\0\0"[..], b"\xff\n", b"\n", b"{\"charge\":", b"{}\n"] {
        let found = replay(&[&text_of(&charges)[..], garbage].concat()).unwrap();
        assert_eq!(found.charges, charges);
        assert_eq!(found.torn.unwrap().line, 3);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(replay(&bytes).is_err());
        let after_header = [text_of(&[]), bytes].concat();
        if let Ok(found) = replay(&after_header) {
            prop_assert_eq!(found.charges, []);
        }
    }

    /// Words of the format in any order, under a true checksum.
    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec(prop::sample::select(vec![
        "{", "}", "[", "]", ":", ",", "\"charge\"", "\"header\"", "\"event\"", "\"pure\"", "\"epsilon\"",
        "\"compose\"", "\"steps\"", "\"from_step\"", "\"purpose\"", "\"key\"", "0", "-1", "1e308", "null",
        "true", "\"\\ud800\"", "\u{feff}", " ",
    ]), 0..40)) {
        let _ = replay(&with_line(&words.concat()));
        let _ = replay(&sealed(&words.concat(), 0));
    }

    /// A true charge with a piece replaced, under a true checksum.
    #[test]
    fn any_edited_charge_is_read_or_refused(
        at in 0..60_usize,
        length in 0..20_usize,
        piece in "[\\[\\]{}\":,0-9eE.+-]{0,6}",
    ) {
        let mut content = charge_with(r#"{"pure":{"epsilon":0.5}}"#);
        let end = (at + length).min(content.len());
        content.replace_range(at..end, &piece);
        if let Ok(found) = replay(&with_line(&content)) {
            for charge in found.charges {
                prop_assert_eq!(charge.check(), Ok(()));
            }
        }
    }
}
