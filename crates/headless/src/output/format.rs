//! Formats numbers, times and lines for reading.

use session::Time;
use unicode_width::UnicodeWidthStr;

pub use host::text::{line, mask, now, rfc3339};
pub use tui::format::{dollars, duration, plural, sanitise, tokens};

/// How long ago something was: `just now`, `5 min ago`, `3 days ago`.
pub fn ago(then: Time, now: Time) -> String {
    let plural = |count: u64, unit: &str| plural(count, unit) + " ago";
    match now.0.saturating_sub(then.0) / 60_000 {
        0 => "just now".into(),
        minutes @ 1..60 => format!("{minutes} min ago"),
        minutes @ 60..1_440 => plural(minutes / 60, "hour"),
        minutes @ 1_440..43_200 => plural(minutes / 1_440, "day"),
        minutes @ 43_200..525_600 => plural(minutes / 43_200, "month"),
        minutes => plural(minutes / 525_600, "year"),
    }
}

/// Text wrapped between words at a width, with indented continuation lines. A word that is too long is not broken, and
/// the last column stays free, because some terminals wrap there.
pub fn wrap(text: &str, columns: usize) -> String {
    let mut out = String::new();
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let indent = line.len() - line.trim_start_matches(' ').len() + 2;
        let mut used = 0;
        for piece in line.split_inclusive(' ') {
            let wide = piece.trim_end_matches(' ').width();
            if used > indent && wide > 0 && used + wide >= columns {
                out.truncate(out.trim_end_matches(' ').len());
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
                used = indent;
            }
            out.push_str(piece);
            used += piece.width();
        }
    }
    out
}

/// The width of a text in columns.
pub fn width(text: &str) -> usize {
    text.width()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Cost;
    use std::time::Duration;

    #[test]
    fn long_lines_are_broken_between_words() {
        for (text, columns, expected) in [
            ("? one two three", 12, "? one two\n  three"),
            ("? one two three", 16, "? one two three"),
            ("? one two three", 15, "? one two\n  three"),
            (
                "a\n  1. first choice: fine\n",
                16,
                "a\n  1. first\n    choice:\n    fine\n",
            ),
            (
                "ask https://example.org/very/long now: ",
                12,
                "ask\n  https://example.org/very/long\n  now: ",
            ),
            ("二つ 二つ 二つ", 11, "二つ 二つ\n  二つ"),
            ("", 10, ""),
        ] {
            assert_eq!(wrap(text, columns), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_short() {
        for (count, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1k"),
            (14_230, "14.2k"),
            (25_977, "26k"),
            (19_040, "19k"),
            (200_000, "200k"),
            (1_300_000, "1.3M"),
            (1_000_000, "1M"),
        ] {
            assert_eq!(tokens(count), text);
        }
        for (usd, text) in [
            (0.0, "$0"),
            (0.00001, "<$0.0001"),
            (0.0042, "$0.0042"),
            (1.374, "$1.37"),
        ] {
            assert_eq!(dollars(Cost::from_usd(usd)), text);
        }
        for (millis, text) in [
            (40, "40ms"),
            (3_210, "3.2s"),
            (12_400, "12s"),
            (125_000, "2m05s"),
            (3_720_000, "1h02m"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), text);
        }
        for (minutes, text) in [
            (0, "just now"),
            (5, "5 min ago"),
            (60, "1 hour ago"),
            (3 * 1_440, "3 days ago"),
        ] {
            assert_eq!(ago(Time(0), Time(minutes * 60_000)), text);
        }
    }

    #[test]
    fn text_is_shortened_to_one_line_of_the_given_width() {
        assert_eq!(line("  a\n\n b\tc ", 10), "a b c");
        assert_eq!(line("abcdefgh", 5), "abcd…");
        assert_eq!(line("abcde", 5), "abcde");
        assert_eq!(line("abcde ", 5), "abcde");
        assert_eq!(line("abcdefge", 5), "abcd…");
        assert_eq!(line("abcdefgd e", 4), "abc…");
        assert_eq!(line("名前名前", 5), "名前…");
        assert_eq!(line("\u{1b}[31mred\u{7}", 20), "[31mred");
    }
}
