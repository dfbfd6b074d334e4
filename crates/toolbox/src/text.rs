//! Small things about text that several tools need.

/// `1 line`, `2 lines`, `1 match`, `2 matches`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    match (number, noun.ends_with("ch")) {
        (1, _) => format!("1 {noun}"),
        (_, true) => format!("{number} {noun}es"),
        (_, false) => format!("{number} {noun}s"),
    }
}

/// A text on one line, of at most so many characters.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// How a file ends its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnd {
    Lf,
    CrLf,
}

impl LineEnd {
    /// The line end of a text: `\r\n` only if every line ends so.
    pub(crate) fn of(text: &str) -> Self {
        let all = text.matches('\n').count();
        match all > 0 && text.matches("\r\n").count() == all {
            true => Self::CrLf,
            false => Self::Lf,
        }
    }

    /// The text with this line end, whichever of the two it came with.
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
    fn a_text_becomes_one_short_line() {
        assert_eq!(one_line("a\n  b\tc", 5), "a b c");
        assert_eq!(one_line("äöüß", 3), "äöü…");
    }

    #[test]
    fn a_file_has_crlf_only_if_every_line_has() {
        for (text, end) in [
            ("", LineEnd::Lf),
            ("a", LineEnd::Lf),
            ("a\nb\n", LineEnd::Lf),
            ("a\r\nb\r\n", LineEnd::CrLf),
            ("a\r\nb", LineEnd::CrLf),
            ("a\r\nb\n", LineEnd::Lf),
        ] {
            assert_eq!(LineEnd::of(text), end, "{text:?}");
        }
        assert_eq!(LineEnd::CrLf.apply("a\r\nb\nc"), "a\r\nb\r\nc");
    }
}
