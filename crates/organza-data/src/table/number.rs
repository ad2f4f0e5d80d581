//! Numbers as they stand in tables: plain, as truth values, or as dates.

use chrono::{DateTime, NaiveDate, NaiveDateTime};

const SECONDS_OF_DAY: f64 = 86_400.0;

/// The finite number that a text is: a number, 1 or 0 for `true` and `false`, or the days since 1970 of a date
/// `2024-03-01`, with or without a time after it.
pub fn number(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse::<f64>() {
        return number.is_finite().then_some(number);
    }
    if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
        return Some(f64::from(u8::from(text.eq_ignore_ascii_case("true"))));
    }
    let seconds = if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        time.naive_utc().and_utc().timestamp_millis()
    } else {
        let time = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"];
        let time = time.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok());
        let day = || NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0);
        time.or_else(day)?.and_utc().timestamp_millis()
    };
    Some(seconds as f64 / 1_000.0 / SECONDS_OF_DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_and_truth_is_one() {
        for (text, expected) in [
            ("1e3", Some(1000.0)),
            ("TRUE", Some(1.0)),
            ("false", Some(0.0)),
            ("1970-01-02", Some(1.0)),
            ("1969-12-31T12:00:00", Some(-0.5)),
            ("1970-01-02 06:00", Some(1.25)),
            ("1970-01-02 06:00:00.000", Some(1.25)),
            ("1970-01-02T06:00:00+06:00", Some(1.0)),
            ("inf", None),
            ("nan", None),
            ("1970-13-02", None),
            ("yes", None),
            ("", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }
}
