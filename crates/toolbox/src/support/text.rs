//! Text helpers.

/// `1 line`, `2 lines`, `1 match`, `2 matches`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    match (number, noun.ends_with("ch")) {
        (1, _) => format!("1 {noun}"),
        (_, true) => format!("{number} {noun}es"),
        (_, false) => format!("{number} {noun}s"),
    }
}

/// The text on one line, with at most `most` characters.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The line ending of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnding {
    Lf,
    CrLf,
}

impl LineEnding {
    /// The line ending of a text: `\r\n` only if every line ends with it.
    pub(crate) fn of(text: &str) -> Self {
        let all = text.matches('\n').count();
        match all > 0 && text.matches("\r\n").count() == all {
            true => Self::CrLf,
            false => Self::Lf,
        }
    }

    /// Converts the text to this line ending.
    pub(crate) fn apply(self, text: &str) -> String {
        let plain = text.replace("\r\n", "\n");
        match self {
            Self::Lf => plain,
            Self::CrLf => plain.replace('\n', "\r\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_joins_and_truncates() {
        assert_eq!(one_line("a\n  b\tc", 5), "a b c");
        assert_eq!(one_line("äöüß", 3), "äöü…");
    }

    #[test]
    fn crlf_is_detected_only_if_every_line_has_it() {
        for (text, end) in [
            ("", LineEnding::Lf),
            ("a", LineEnding::Lf),
            ("a\nb\n", LineEnding::Lf),
            ("a\r\nb\r\n", LineEnding::CrLf),
            ("a\r\nb", LineEnding::CrLf),
            ("a\r\nb\n", LineEnding::Lf),
        ] {
            assert_eq!(LineEnding::of(text), end, "{text:?}");
        }
        assert_eq!(LineEnding::CrLf.apply("a\r\nb\nc"), "a\r\nb\r\nc");
    }
}
