//! A file as lines: byte order mark and line endings are stored separately, so that matching sees `\n` only and
//! rendering restores them.

use std::ops::Range;

/// The ending of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EolStyle {
    Lf,
    CrLf,
    Cr,
    /// The last line of a file without a final newline.
    Missing,
}

impl EolStyle {
    fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
            Self::Missing => "",
        }
    }
}

/// Replaces `range` (bytes of [`TextDocument::body`]) with `text`, whose lines end in `\n`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

/// A parsed text file.
#[derive(Clone, Debug)]
pub(crate) struct TextDocument {
    has_bom: bool,
    body: String,
    starts: Vec<usize>,
    eols: Vec<EolStyle>,
}

const BOM: char = '\u{feff}';

impl TextDocument {
    pub(crate) fn parse(content: &str) -> Self {
        let has_bom = content.starts_with(BOM);
        let rest = content.strip_prefix(BOM).unwrap_or(content);
        let mut document = Self {
            has_bom,
            body: String::with_capacity(rest.len()),
            starts: Vec::new(),
            eols: Vec::new(),
        };
        let mut rest = rest;
        while !rest.is_empty() {
            let (line, eol, after) = split_line(rest);
            document.starts.push(document.body.len());
            document.eols.push(eol);
            document.body.push_str(line);
            if eol != EolStyle::Missing {
                document.body.push('\n');
            }
            rest = after;
        }
        document
    }

    /// The text without byte order mark, with `\n` line endings.
    pub(crate) fn body(&self) -> &str {
        &self.body
    }

    pub(crate) fn line_count(&self) -> usize {
        self.starts.len()
    }

    /// Line `index` (from 0) without its ending; empty past the end.
    pub(crate) fn line(&self, index: usize) -> &str {
        let Some(&start) = self.starts.get(index) else {
            return "";
        };
        let end = self.starts.get(index + 1).copied().unwrap_or(self.body.len());
        let line = self.body.get(start..end).unwrap_or_default();
        line.strip_suffix('\n').unwrap_or(line)
    }

    pub(crate) fn lines(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.line_count()).map(|index| self.line(index))
    }

    pub(crate) fn has_final_newline(&self) -> bool {
        self.eols.last().is_none_or(|eol| *eol != EolStyle::Missing)
    }

    /// The start of line `index`; the end of the text for the line after the last.
    pub(crate) fn line_start(&self, index: usize) -> usize {
        self.starts.get(index).copied().unwrap_or(self.body.len())
    }

    /// The line (from 0) that contains byte `offset`.
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// The most frequent ending, used for new lines.
    pub(crate) fn dominant_eol(&self) -> EolStyle {
        let count = |target: EolStyle| self.eols.iter().filter(|eol| **eol == target).count();
        let first = self
            .eols
            .first()
            .copied()
            .filter(|eol| *eol != EolStyle::Missing)
            .unwrap_or(EolStyle::Lf);
        let mut best = first;
        for eol in [EolStyle::CrLf, EolStyle::Lf, EolStyle::Cr] {
            if count(eol) > count(best) {
                best = eol;
            }
        }
        best
    }

    /// Replaces the lines `range` by `lines`. `final_newline` applies if the last line of a file without a final
    /// newline is replaced.
    pub(crate) fn line_splice(&self, range: Range<usize>, lines: &[String], final_newline: FinalNewline) -> Splice {
        let (mut start, end) = (self.line_start(range.start), self.line_start(range.end));
        let mut text = String::new();
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        let reaches_bare_end = range.end >= self.line_count() && !self.has_final_newline();
        if reaches_bare_end {
            if range.is_empty() {
                text.insert(0, '\n');
            }
            if final_newline == FinalNewline::Keep {
                text.pop();
            }
            if lines.is_empty() && !range.is_empty() && start > 0 {
                start -= 1;
            }
        }
        Splice {
            range: start..end,
            text,
        }
    }

    /// The file's bytes after `splices`, which are sorted and do not overlap.
    pub(crate) fn render(&self, splices: &[Splice]) -> String {
        let eol = self.dominant_eol().as_str();
        let mut out = String::with_capacity(self.body.len() + 16);
        if self.has_bom {
            out.push(BOM);
        }
        let mut from = 0;
        for splice in splices {
            self.render_kept(from..splice.range.start, &mut out);
            for piece in splice.text.split_inclusive('\n') {
                match piece.strip_suffix('\n') {
                    Some(line) => {
                        out.push_str(line);
                        out.push_str(eol);
                    }
                    None => out.push_str(piece),
                }
            }
            from = splice.range.end;
        }
        self.render_kept(from..self.body.len(), &mut out);
        out
    }

    fn render_kept(&self, range: Range<usize>, out: &mut String) {
        let mut line = self.line_at(range.start);
        for piece in self.body.get(range).unwrap_or_default().split_inclusive('\n') {
            match piece.strip_suffix('\n') {
                Some(text) => {
                    out.push_str(text);
                    out.push_str(self.eols.get(line).copied().unwrap_or(EolStyle::Lf).as_str());
                    line += 1;
                }
                None => out.push_str(piece),
            }
        }
    }
}

/// How the end of a file without a final newline is handled when its last line is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinalNewline {
    /// The newline stays missing.
    Keep,
    /// The edit decides.
    Add,
}

fn split_line(text: &str) -> (&str, EolStyle, &str) {
    let Some(at) = text.find(['\n', '\r']) else {
        return (text, EolStyle::Missing, "");
    };
    let (line, rest) = text.split_at(at);
    if let Some(rest) = rest.strip_prefix("\r\n") {
        (line, EolStyle::CrLf, rest)
    } else if let Some(rest) = rest.strip_prefix('\r') {
        (line, EolStyle::Cr, rest)
    } else {
        (line, EolStyle::Lf, rest.strip_prefix('\n').unwrap_or_default())
    }
}

/// `text` with `\n` line endings and without a byte order mark.
pub(crate) fn normalize_newlines(text: &str) -> String {
    TextDocument::parse(text).body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_renders_back_to_its_own_bytes() {
        for text in [
            "",
            "\n",
            "a",
            "a\n",
            "\u{feff}a\r\nb\rc\n",
            "a\r\n\r\n",
            "\r\r\n\n",
            "x\ry",
        ] {
            assert_eq!(TextDocument::parse(text).render(&[]), text, "{text:?}");
        }
    }

    #[test]
    fn new_lines_get_the_ending_that_most_lines_have() {
        let document = TextDocument::parse("one\r\ntwo\rthree\nfour\r\n");
        let splice = document.line_splice(2..3, &["THREE".to_owned()], FinalNewline::Keep);
        assert_eq!(document.render(&[splice]), "one\r\ntwo\rTHREE\r\nfour\r\n");
    }

    #[test]
    fn a_missing_final_newline_stays_missing() {
        let document = TextDocument::parse("a\nb");
        let check = |range: Range<usize>, lines: &[&str], end: FinalNewline| {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            document.render(&[document.line_splice(range, &lines, end)])
        };
        assert_eq!(check(1..2, &["B"], FinalNewline::Keep), "a\nB");
        assert_eq!(check(1..2, &["B"], FinalNewline::Add), "a\nB\n");
        assert_eq!(check(2..2, &["c"], FinalNewline::Keep), "a\nb\nc");
        assert_eq!(check(1..2, &[], FinalNewline::Keep), "a");
        assert_eq!(check(0..1, &["A"], FinalNewline::Keep), "A\nb");
    }
}
