//! Moves new lines to where the match found the old ones: the same shift, in the file's own tabs or spaces.

use crate::fold::{indent_of, is_blank};

/// How the indentation of quoted lines maps to that of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shift {
    None,
    /// Same character on both sides, so many more (or fewer) of it.
    By {
        character: char,
        count: isize,
    },
    /// Spaces on both sides, in steps of another width: `times / per` as many, then `count` more.
    Scaled {
        times: usize,
        per: usize,
        count: isize,
    },
    /// The model wrote spaces, the file has tabs: `width` spaces make a tab, after `offset` spaces are added.
    ToTabs {
        width: usize,
        offset: isize,
    },
    /// The model wrote tabs, the file has spaces.
    ToSpaces {
        width: usize,
        offset: isize,
    },
    /// The file has this before the quoted indentation.
    Prefixed(String),
    /// The quoted line has this before the file's indentation.
    Stripped(String),
}

/// A quoted line's indentation and the one of the file's line it matched.
pub(crate) type Pair<'a> = (&'a str, &'a str);

impl Shift {
    /// The one shift that explains every pair, if there is one.
    pub(crate) fn of(pairs: &[Pair<'_>]) -> Option<Self> {
        if pairs.iter().all(|(quoted, actual)| quoted == actual) {
            return Some(Self::None);
        }
        let only = |side: fn(&Pair<'_>) -> usize, character: char| {
            pairs
                .iter()
                .all(|pair| [pair.0, pair.1][side(pair)].chars().all(|c| c == character))
        };
        let quoted = |_: &Pair<'_>| 0;
        let actual = |_: &Pair<'_>| 1;
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
            let swapped: Vec<Pair<'_>> = pairs.iter().map(|(quoted, actual)| (*actual, *quoted)).collect();
            return scaled(&swapped).map(|(width, offset)| Self::ToSpaces { width, offset: -offset });
        }
        Self::prefix(pairs)
    }

    fn by(pairs: &[Pair<'_>], character: char) -> Option<Self> {
        let mut counts = pairs
            .iter()
            .map(|(quoted, actual)| actual.len().cast_signed() - quoted.len().cast_signed());
        let count = counts.next()?;
        counts
            .all(|other| other == count)
            .then_some(Self::By { character, count })
    }

    fn scaled(pairs: &[Pair<'_>]) -> Option<Self> {
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
        let offset = |(times, per): (usize, usize), (quoted, actual): &Pair<'_>| {
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

    fn prefix(pairs: &[Pair<'_>]) -> Option<Self> {
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

    /// Whether lines stay at their depth, if perhaps in other characters.
    pub(crate) fn is_plain(&self) -> bool {
        match self {
            Self::None => true,
            Self::ToTabs { offset, .. } | Self::ToSpaces { offset, .. } => *offset == 0,
            Self::By { .. } | Self::Scaled { .. } | Self::Prefixed(_) | Self::Stripped(_) => false,
        }
    }

    /// `line` with its indentation shifted; blank lines pass through.
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

/// Tabs, then perhaps a few spaces that align a comment.
fn is_tabs_then_spaces(indent: &str) -> bool {
    indent.trim_start_matches('\t').chars().all(|c| c == ' ')
}

/// Adds or takes away `count` of `character` at the front of `indent`, never below nothing.
fn grown(indent: &str, character: char, count: isize) -> String {
    if count >= 0 {
        return format!("{}{indent}", character.to_string().repeat(count.unsigned_abs()));
    }
    let leading = indent.chars().take_while(|c| *c == character).count();
    indent.chars().skip(leading.min(count.unsigned_abs())).collect()
}

/// The tab width and offset with which (spaces, tabs) pairs agree: no offset if possible, common widths first.
fn scaled(pairs: &[Pair<'_>]) -> Option<(usize, isize)> {
    let columns = |width: usize, tabs: &str| tabs.chars().map(|c| if c == '\t' { width } else { 1 }).sum::<usize>();
    let offset =
        |width: usize, (spaces, tabs): &Pair<'_>| columns(width, tabs).cast_signed() - spaces.len().cast_signed();
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

/// Decides the shift of every new line of one edit.
#[derive(Clone, Debug)]
pub(crate) struct Reindent {
    first: Shift,
    rest: Shift,
    /// Without one shift for all: each quoted line's own, by its number.
    each: Vec<(usize, Shift)>,
}

impl Reindent {
    pub(crate) fn none() -> Self {
        Self {
            first: Shift::None,
            rest: Shift::None,
            each: Vec::new(),
        }
    }

    /// `pairs` are the non-blank matched lines with their number among the quoted lines; `new` is all the new text.
    pub(crate) fn new(pairs: &[(usize, Pair<'_>)], new: &[&str]) -> Self {
        let indents: Vec<Pair<'_>> = pairs.iter().map(|(_, pair)| *pair).collect();
        let Some(((quoted, actual), others)) = indents.split_first() else {
            return Self::none();
        };
        if is_already_placed(quoted, actual, new) {
            return Self::none();
        }
        if let Some(all) = Shift::of(&indents) {
            return Self {
                first: all.clone(),
                rest: all,
                each: Vec::new(),
            };
        }
        let first = Shift::of(&indents[..1]).unwrap_or(Shift::None);
        if let Some(rest) = Shift::of(others) {
            // The first line was quoted without its indentation. If the new text follows it in that, it all moves alike.
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
            .filter_map(|(number, pair)| Some((*number, Shift::of(&[*pair])?)))
            .collect();
        Self {
            first: first.clone(),
            rest: first,
            each,
        }
    }

    /// The new line that stands where quoted line `near` stood.
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

/// Whether the new text already has the file's indentation although the quoted text had not.
fn is_already_placed(quoted: &str, actual: &str, new: &[&str]) -> bool {
    let first = new.iter().find(|line| !is_blank(line)).map(|line| indent_of(line));
    quoted != actual && first == Some(actual)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: &[Pair<'_>], new: &[&str], expected: &[&str]) {
        let numbered: Vec<(usize, Pair<'_>)> = pairs.iter().copied().enumerate().collect();
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
    fn a_first_line_without_its_indentation_does_not_drag_the_rest_along() {
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
