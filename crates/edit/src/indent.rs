//! Adapts the indentation of new lines to the matched lines, with the file's own tabs or spaces.

use crate::fold::{indent_of, is_blank};

/// How the indentation of quoted lines maps to the file's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IndentShift {
    None,
    /// The same character on both sides, with this many more (or fewer).
    By {
        character: char,
        count: isize,
    },
    /// Spaces on both sides with different widths: multiplied by `times / per`, plus `count`.
    Scaled {
        times: usize,
        per: usize,
        count: isize,
    },
    /// The model wrote spaces, the file has tabs: `width` spaces are one tab, after adding `offset` spaces.
    ToTabs {
        width: usize,
        offset: isize,
    },
    /// The model wrote tabs, the file has spaces.
    ToSpaces {
        width: usize,
        offset: isize,
    },
    /// The file has this prefix before the quoted indentation.
    Prefixed(String),
    /// The quoted line has this prefix before the file's indentation.
    Stripped(String),
}

/// The indentation of a quoted line and of the matched line.
pub(crate) type LinePair<'a> = (&'a str, &'a str);

impl IndentShift {
    /// The shift that explains every pair, if any.
    pub(crate) fn of(pairs: &[LinePair<'_>]) -> Option<Self> {
        if pairs.iter().all(|(quoted, actual)| quoted == actual) {
            return Some(Self::None);
        }
        let only = |side: fn(&LinePair<'_>) -> usize, character: char| {
            pairs
                .iter()
                .all(|pair| [pair.0, pair.1][side(pair)].chars().all(|c| c == character))
        };
        let quoted = |_: &LinePair<'_>| 0;
        let actual = |_: &LinePair<'_>| 1;
        for character in [' ', '\t'] {
            if only(quoted, character) && only(actual, character) {
                let scaled = || if character == ' ' { Self::scaled(pairs) } else { None };
                return Self::by(pairs, character).or_else(scaled);
            }
        }
        if only(quoted, ' ') && pairs.iter().all(|(_, actual)| is_tabs_then_spaces(actual)) {
            return scaled(pairs).map(|(width, offset)| Self::ToTabs { width, offset });
        }
        if only(actual, ' ') && pairs.iter().all(|(quoted, _)| is_tabs_then_spaces(quoted)) {
            let swapped: Vec<LinePair<'_>> = pairs.iter().map(|(quoted, actual)| (*actual, *quoted)).collect();
            return scaled(&swapped).map(|(width, offset)| Self::ToSpaces { width, offset: -offset });
        }
        Self::prefix(pairs)
    }

    fn by(pairs: &[LinePair<'_>], character: char) -> Option<Self> {
        let mut counts = pairs
            .iter()
            .map(|(quoted, actual)| actual.len().cast_signed() - quoted.len().cast_signed());
        let count = counts.next()?;
        counts
            .all(|other| other == count)
            .then_some(Self::By { character, count })
    }

    fn scaled(pairs: &[LinePair<'_>]) -> Option<Self> {
        const RATIOS: [(usize, usize); 10] = [
            (2, 1),
            (1, 2),
            (4, 1),
            (1, 4),
            (3, 2),
            (2, 3),
            (4, 3),
            (3, 4),
            (8, 1),
            (1, 8),
        ];
        let offset = |(times, per): (usize, usize), (quoted, actual): &LinePair<'_>| {
            let scaled = quoted.len() * times;
            (scaled % per == 0).then(|| actual.len().cast_signed() - (scaled / per).cast_signed())
        };
        RATIOS.into_iter().find_map(|ratio| {
            let count = offset(ratio, pairs.first()?)?;
            let agree = pairs.iter().all(|pair| offset(ratio, pair) == Some(count));
            agree.then_some(Self::Scaled {
                times: ratio.0,
                per: ratio.1,
                count,
            })
        })
    }

    fn prefix(pairs: &[LinePair<'_>]) -> Option<Self> {
        let (quoted, actual) = pairs.first()?;
        if let Some(extra) = actual.strip_suffix(quoted)
            && pairs
                .iter()
                .all(|(quoted, actual)| actual.strip_suffix(quoted) == Some(extra))
        {
            return Some(Self::Prefixed(extra.to_owned()));
        }
        let extra = quoted.strip_suffix(actual)?;
        pairs
            .iter()
            .all(|(quoted, actual)| quoted.strip_suffix(actual) == Some(extra))
            .then(|| Self::Stripped(extra.to_owned()))
    }

    /// Whether lines keep their depth, possibly in other characters.
    pub(crate) fn is_plain(&self) -> bool {
        match self {
            Self::None => true,
            Self::ToTabs { offset, .. } | Self::ToSpaces { offset, .. } => *offset == 0,
            Self::By { .. } | Self::Scaled { .. } | Self::Prefixed(_) | Self::Stripped(_) => false,
        }
    }

    /// `line` with shifted indentation; blank lines are unchanged.
    pub(crate) fn apply(&self, line: &str) -> String {
        if is_blank(line) {
            return line.to_owned();
        }
        let indent = indent_of(line);
        let body = line.get(indent.len()..).unwrap_or_default();
        match self {
            Self::None => line.to_owned(),
            Self::By { character, count } => format!("{}{body}", grown(indent, *character, *count)),
            Self::Scaled { times, per, count } => {
                let columns = (indent.len() * times / per).saturating_add_signed(*count);
                format!("{}{body}", " ".repeat(columns))
            }
            Self::ToTabs { width, offset } => {
                if indent.contains('\t') {
                    return line.to_owned();
                }
                let columns = indent.len().saturating_add_signed(*offset);
                format!("{}{}{body}", "\t".repeat(columns / width), " ".repeat(columns % width))
            }
            Self::ToSpaces { width, offset } => {
                let columns = indent
                    .chars()
                    .map(|c| if c == '\t' { *width } else { 1 })
                    .sum::<usize>();
                format!("{}{body}", " ".repeat(columns.saturating_add_signed(*offset)))
            }
            Self::Prefixed(extra) => format!("{extra}{line}"),
            Self::Stripped(extra) => line.strip_prefix(extra.as_str()).unwrap_or(body).to_owned(),
        }
    }
}

/// Tabs, optionally followed by spaces for alignment.
fn is_tabs_then_spaces(indent: &str) -> bool {
    indent.trim_start_matches('\t').chars().all(|c| c == ' ')
}

/// Adds or removes `count` of `character` at the start of `indent`.
fn grown(indent: &str, character: char, count: isize) -> String {
    if count >= 0 {
        return format!("{}{indent}", character.to_string().repeat(count.unsigned_abs()));
    }
    let leading = indent.chars().take_while(|c| *c == character).count();
    indent.chars().skip(leading.min(count.unsigned_abs())).collect()
}

/// The tab width and offset consistent with all (spaces, tabs) pairs: preferably no offset, common widths first.
fn scaled(pairs: &[LinePair<'_>]) -> Option<(usize, isize)> {
    let columns = |width: usize, tabs: &str| tabs.chars().map(|c| if c == '\t' { width } else { 1 }).sum::<usize>();
    let offset =
        |width: usize, (spaces, tabs): &LinePair<'_>| columns(width, tabs).cast_signed() - spaces.len().cast_signed();
    let agreed = |width: usize| {
        let first = offset(width, pairs.first()?);
        pairs
            .iter()
            .all(|pair| offset(width, pair) == first)
            .then_some((width, first))
    };
    let widths = || [4, 2, 8, 3, 1].into_iter();
    widths()
        .find_map(|width| agreed(width).filter(|(_, offset)| *offset == 0))
        .or_else(|| widths().find_map(agreed))
}

/// The shift for each new line of one edit.
#[derive(Clone, Debug)]
pub(crate) struct Reindent {
    first: IndentShift,
    rest: IndentShift,
    /// Without a common shift: the shift of each quoted line, by index.
    each: Vec<(usize, IndentShift)>,
}

impl Reindent {
    pub(crate) fn none() -> Self {
        Self {
            first: IndentShift::None,
            rest: IndentShift::None,
            each: Vec::new(),
        }
    }

    /// `pairs` are the non-blank matched lines with their index among the quoted lines; `new` is all the new text.
    pub(crate) fn new(pairs: &[(usize, LinePair<'_>)], new: &[&str]) -> Self {
        let indents: Vec<LinePair<'_>> = pairs.iter().map(|(_, pair)| *pair).collect();
        let Some(((quoted, actual), others)) = indents.split_first() else {
            return Self::none();
        };
        if is_already_placed(quoted, actual, new) {
            return Self::none();
        }
        if let Some(all) = IndentShift::of(&indents) {
            return Self {
                first: all.clone(),
                rest: all,
                each: Vec::new(),
            };
        }
        let first = IndentShift::of(&indents[..1]).unwrap_or(IndentShift::None);
        if let Some(rest) = IndentShift::of(others) {
            // The first line was quoted without its indentation. If the new text does the same, everything shifts
            // equally.
            let outermost = others
                .iter()
                .map(|(_, actual)| actual.len())
                .min()
                .unwrap_or(0)
                .min(actual.len());
            let falls_out = new
                .iter()
                .skip(1)
                .any(|line| !is_blank(line) && indent_of(&rest.apply(line)).len() < outermost);
            let rest = if falls_out { first.clone() } else { rest };
            return Self {
                first,
                rest,
                each: Vec::new(),
            };
        }
        let each = pairs
            .iter()
            .filter_map(|(number, pair)| Some((*number, IndentShift::of(&[*pair])?)))
            .collect();
        Self {
            first: first.clone(),
            rest: first,
            each,
        }
    }

    /// The new line in place of quoted line `near`.
    pub(crate) fn apply(&self, line: &str, is_first: bool, near: usize) -> String {
        if !self.each.is_empty() {
            let at = self
                .each
                .partition_point(|(number, _)| *number <= near)
                .saturating_sub(1);
            return self.each[at].1.apply(line);
        }
        if is_first {
            self.first.apply(line)
        } else {
            self.rest.apply(line)
        }
    }
}

/// Whether the new text already has the file's indentation although the quoted text does not.
fn is_already_placed(quoted: &str, actual: &str, new: &[&str]) -> bool {
    let first = new.iter().find(|line| !is_blank(line)).map(|line| indent_of(line));
    quoted != actual && first == Some(actual)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: &[LinePair<'_>], new: &[&str], expected: &[&str]) {
        let numbered: Vec<(usize, LinePair<'_>)> = pairs.iter().copied().enumerate().collect();
        let reindent = Reindent::new(&numbered, new);
        let got: Vec<String> = new
            .iter()
            .enumerate()
            .map(|(i, line)| reindent.apply(line, i == 0, i))
            .collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn new_lines_move_with_the_match() {
        check(
            &[("", "    "), ("    ", "        ")],
            &["a", "    b", "", "c"],
            &["    a", "        b", "", "    c"],
        );
        check(
            &[("    ", ""), ("        ", "    ")],
            &["    a", "        b"],
            &["a", "    b"],
        );
        check(&[("", "\t"), ("\t", "\t\t")], &["a", "\tb"], &["\ta", "\t\tb"]);
    }

    #[test]
    fn spaces_become_the_files_tabs_and_tabs_its_spaces() {
        check(
            &[("    ", "\t"), ("        ", "\t\t")],
            &["    x", "        y"],
            &["\tx", "\t\ty"],
        );
        check(
            &[("  ", "\t"), ("    ", "\t\t")],
            &["  x", "      y"],
            &["\tx", "\t\t\ty"],
        );
        check(
            &[("\t", "    "), ("\t\t", "        ")],
            &["\tx", "\t\ty"],
            &["    x", "        y"],
        );
    }

    #[test]
    fn another_indentation_width_is_scaled() {
        check(
            &[("  ", "    "), ("    ", "        ")],
            &["  x", "      y"],
            &["    x", "            y"],
        );
        check(
            &[("    ", "        "), ("        ", "                ")],
            &["    x"],
            &["        x"],
        );
    }

    #[test]
    fn a_first_line_without_indentation_does_not_affect_the_rest() {
        check(
            &[("", "  "), ("    ", "    "), ("  ", "  ")],
            &["f {", "    x", "  }"],
            &["  f {", "    x", "  }"],
        );
        check(
            &[("", "  "), ("    ", "    "), ("  ", "  ")],
            &["f {", "  x", "}"],
            &["  f {", "    x", "  }"],
        );
    }

    #[test]
    fn new_text_that_is_already_in_place_stays() {
        check(&[("", "  ")], &["", "  g()"], &["", "  g()"]);
    }
}
