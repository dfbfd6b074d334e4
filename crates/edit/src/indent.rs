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
    /// Spaces on both sides with different widths: `per` spaces are `times` in the file.
    Scaled {
        times: usize,
        per: usize,
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

    /// A shift to the left that ends at the margin: lines at the margin are shifted by less.
    fn clamped(pairs: &[LinePair<'_>]) -> Option<Self> {
        let inner: Vec<LinePair<'_>> = pairs.iter().copied().filter(|pair| !pair.0.is_empty()).collect();
        let shift = Self::of(&inner).filter(|_| !inner.is_empty())?;
        let most = match &shift {
            Self::By { count, .. } if *count > 0 => count.unsigned_abs(),
            Self::Prefixed(extra) => extra.len(),
            _ => return None,
        };
        pairs
            .iter()
            .all(|pair| !pair.0.is_empty() || pair.1.len() <= most)
            .then_some(shift)
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

    /// Another width of levels.
    fn scaled(pairs: &[LinePair<'_>]) -> Option<Self> {
        Self::scales(pairs).first().map(|(per, times)| Self::Scaled {
            times: *times,
            per: *per,
        })
    }

    /// The widths of a level in the edit and in the file that fit all pairs.
    fn scales(pairs: &[LinePair<'_>]) -> Vec<(usize, usize)> {
        const WIDTHS: [usize; 4] = [2, 4, 8, 3];
        let widths = WIDTHS
            .iter()
            .flat_map(|per| WIDTHS.iter().map(move |times| (*per, *times)));
        let fits = |(per, times): &(usize, usize)| {
            let is_scaled =
                |(quoted, actual): &LinePair<'_>| scaled_columns(quoted.len(), *per, *times) == actual.len();
            let outer = pairs
                .iter()
                .map(|pair| pair.0.len())
                .filter(|columns| *columns > 0)
                .min();
            per != times && outer.is_some_and(|outer| outer.is_multiple_of(*per)) && pairs.iter().all(is_scaled)
        };
        widths.filter(fits).collect()
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

    /// The shifted indentation.
    fn shifted(&self, indent: &str) -> Option<String> {
        let shifted = self.apply(&format!("{indent}x"));
        shifted.strip_suffix('x').map(str::to_owned)
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
            Self::Scaled { times, per } => {
                format!("{}{body}", " ".repeat(scaled_columns(indent.len(), *per, *times)))
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

/// Columns with levels of another width; the rest is alignment.
fn scaled_columns(columns: usize, per: usize, times: usize) -> usize {
    columns / per * times + columns % per
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
    let widths = || [4, 2, 8, 3].into_iter();
    widths()
        .find_map(|width| agreed(width).filter(|(_, offset)| *offset == 0))
        .or_else(|| widths().find_map(agreed))
}

/// A matched line: its index among the quoted lines and both indentations.
pub(crate) type NumberedPair<'a> = (usize, LinePair<'a>);

/// Lines added at one position of the quoted text.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddedGroup<'a> {
    /// The quoted lines that they replace.
    pub(crate) removed: Vec<usize>,
    pub(crate) added: Vec<&'a str>,
    /// The kept quoted lines directly before and after, and whether the one before opens a block.
    pub(crate) previous: Option<usize>,
    pub(crate) previous_opens: bool,
    pub(crate) next: Option<usize>,
    /// Whether each added line replaces the removed line at the same position.
    pub(crate) is_line_by_line: bool,
}

/// Derives the indentation of new lines from the matched lines.
#[derive(Clone, Debug)]
pub(crate) struct Reindent<'a> {
    pairs: Vec<NumberedPair<'a>>,
    /// The only shift of all lines, if any.
    uniform: Option<IndentShift>,
    /// One level of indentation in the file and in the edit.
    file_unit: String,
    edit_unit: Option<usize>,
}

impl<'a> Reindent<'a> {
    /// `new` is all the new text.
    pub(crate) fn new(pairs: Vec<NumberedPair<'a>>, new: &[&str], file_unit: String) -> Self {
        let indents: Vec<LinePair<'_>> = pairs.iter().map(|(_, pair)| *pair).collect();
        let mut columns: Vec<usize> = indents.iter().map(|(quoted, _)| quoted.len()).collect();
        columns.extend(
            new.iter()
                .filter(|line| !is_blank(line))
                .map(|line| indent_of(line).len()),
        );
        columns.sort_unstable();
        columns.dedup();
        // One more column is the alignment of a comment.
        let aligned: Vec<usize> = columns.iter().map(|column| column + 1).collect();
        columns.retain(|column| !aligned.contains(column));
        Self {
            uniform: IndentShift::of(&indents).or_else(|| IndentShift::clamped(&indents)),
            edit_unit: columns
                .windows(2)
                .map(|pair| pair[1] - pair[0])
                .filter(|width| [2, 3, 4, 8].contains(width))
                .min(),
            pairs,
            file_unit,
        }
    }

    /// Whether all quoted lines are shifted equally.
    pub(crate) fn is_uniform(&self) -> bool {
        self.uniform.is_some()
    }

    /// Whether the quoted lines have the file's indentation.
    pub(crate) fn is_none(&self) -> bool {
        self.uniform == Some(IndentShift::None)
    }

    /// The lines of `group` with the file's indentation; `None` if the quoted lines do not determine it.
    pub(crate) fn apply(&self, group: &AddedGroup<'_>) -> Option<Vec<String>> {
        let is_indented = |(_, pair): &NumberedPair<'_>| !pair.0.is_empty();
        if self.is_none() && self.pairs.iter().any(is_indented) && self.has_style_of_quoted(group) {
            return Some(group.added.iter().map(|line| (*line).to_owned()).collect());
        }
        let mut out = Vec::with_capacity(group.added.len());
        for (at, line) in group.added.iter().enumerate() {
            if is_blank(line) {
                let is_short = self
                    .pairs
                    .iter()
                    .all(|(_, pair)| pair.0 != pair.1 && pair.0.ends_with(pair.1));
                out.push(if is_short { String::new() } else { (*line).to_owned() });
                continue;
            }
            let quoted = indent_of(line);
            let indent = match &self.uniform {
                Some(shift) if !self.is_clamped(quoted) => {
                    let indent = self.known(quoted).or_else(|| self.extrapolated(shift, group, quoted))?;
                    if self.leaves_levels(quoted, &indent) {
                        return None;
                    }
                    indent
                }
                Some(_) | None => self.local(group, at, quoted)?,
            };
            out.push(format!("{indent}{}", line.trim_start()));
        }
        (self.is_none() || !self.is_flattened(group) && !self.skips_levels(group)).then_some(out)
    }

    /// Whether a shift by one column takes an added line off a level, while all matched lines are on one.
    fn leaves_levels(&self, quoted: &str, indent: &str) -> bool {
        let is_level = |indent: &str| indent.len().is_multiple_of(self.file_unit.len().max(1));
        let has_spaces = |indent: &str| indent.chars().all(|c| c == ' ');
        has_spaces(&self.file_unit)
            && has_spaces(indent)
            && has_spaces(quoted)
            && quoted.len().abs_diff(indent.len()) == 1
            && is_level(quoted)
            && self.pairs.iter().all(|(_, pair)| is_level(pair.1))
    }

    /// Whether the added lines are indented with the characters of the quoted ones.
    fn has_style_of_quoted(&self, group: &AddedGroup<'_>) -> bool {
        let has = |character: char| self.pairs.iter().any(|(_, pair)| pair.0.contains(character));
        let mut indents = group.added.iter().flat_map(|line| indent_of(line).chars());
        indents.all(has)
    }

    /// Whether an added line is more than one level deeper than the line that opens its block, by the levels of a scaled edit.
    fn skips_levels(&self, group: &AddedGroup<'_>) -> bool {
        let Some(IndentShift::Scaled { per, .. }) = self.uniform else {
            return false;
        };
        let solid: Vec<&&str> = group.added.iter().filter(|line| !is_blank(line)).collect();
        solid
            .windows(2)
            .any(|pair| opens_block(pair[0]) && indent_of(pair[1]).len() > indent_of(pair[0]).len() + per)
    }

    /// The indentation of the quoted lines with this indentation, if all have the same in the file.
    fn known(&self, quoted: &str) -> Option<String> {
        let mut actual = self
            .pairs
            .iter()
            .filter(|(_, pair)| pair.0 == quoted)
            .map(|(_, pair)| pair.1);
        let first = actual.next()?;
        actual.all(|other| other == first).then(|| first.to_owned())
    }

    /// The lines of `group`: those with the indentation of quoted lines have that of the file, the others are unchanged.
    pub(crate) fn known_or_written(&self, group: &AddedGroup<'_>) -> Vec<String> {
        let place = |line: &&str| match self.known(indent_of(line)) {
            Some(indent) if !is_blank(line) => format!("{indent}{}", line.trim_start()),
            Some(_) | None => (*line).to_owned(),
        };
        group.added.iter().map(place).collect()
    }

    /// Whether the indentation may have been cut off at the margin by different amounts.
    fn is_clamped(&self, quoted: &str) -> bool {
        let shift = |pair: &LinePair<'_>| pair.1.len().cast_signed() - pair.0.len().cast_signed();
        let is_dedented = self.pairs.iter().any(|(_, pair)| shift(pair) > 0 && !pair.0.is_empty());
        quoted.is_empty() && is_dedented
    }

    /// An indentation that no quoted line has. One level of the edit must be one level of the file.
    fn extrapolated(&self, shift: &IndentShift, group: &AddedGroup<'_>, quoted: &str) -> Option<String> {
        if let IndentShift::Stripped(extra) = shift
            && let Some(rest) = quoted.strip_prefix(extra.as_str())
        {
            return Some(rest.to_owned());
        }
        let distance =
            |(number, pair): &&NumberedPair<'_>| (!group.removed.contains(number), pair.0.len().abs_diff(quoted.len()));
        // Below a line that opens a block, the depth is relative to that line.
        let is_opener = |(number, _): &&NumberedPair<'_>| Some(*number) == group.previous;
        let opener = self.pairs.iter().find(is_opener);
        let opener = opener.filter(|_| group.previous_opens && group.removed.is_empty());
        let (_, (reference, actual)) = opener.or_else(|| self.pairs.iter().min_by_key(distance))?;
        let is_tab_file = self.file_unit.starts_with('\t');
        let has_tabs = |indent: &str| indent.contains('\t');
        let is_scaled = matches!(shift, IndentShift::Scaled { .. });
        if let Some(more) = quoted
            .strip_prefix(reference)
            .filter(|more| *more == self.file_unit && !is_scaled)
        {
            return Some(format!("{actual}{more}"));
        }
        let is_proven = self
            .pairs
            .iter()
            .any(|(_, pair)| pair.0.len().abs_diff(reference.len()) > usize::from(!has_tabs(pair.0)));
        let same_style =
            has_tabs(quoted) == is_tab_file && (reference.is_empty() || has_tabs(reference) == is_tab_file);
        if is_proven || (same_style && is_tab_file) {
            let pairs: Vec<LinePair<'_>> = self.pairs.iter().map(|(_, pair)| *pair).collect();
            let is_level = |indent: &String| {
                !is_scaled
                    || IndentShift::scales(&pairs)
                        .iter()
                        .all(|(per, times)| scaled_columns(quoted.len(), *per, *times) == indent.len())
            };
            return shift
                .shifted(quoted)
                .filter(|indent| is_tab_file || !has_tabs(indent))
                .filter(is_level);
        }
        if let Some(more) = quoted.strip_prefix(reference).filter(|_| !is_tab_file && !is_scaled)
            && [more, actual]
                .iter()
                .all(|indent| !indent.is_empty() && indent.chars().all(|c| c == '\t'))
        {
            return Some(format!("{actual}{more}"));
        }
        if has_tabs(quoted) != has_tabs(reference) && !quoted.is_empty() && !reference.is_empty() {
            return None;
        }
        let difference = quoted.len().cast_signed() - reference.len().cast_signed();
        if !is_tab_file
            && !has_tabs(quoted)
            && !has_tabs(reference)
            && difference.unsigned_abs() == self.file_unit.len()
        {
            return moved(actual, difference.signum(), &self.file_unit);
        }
        // More tabs than levels of the file: a tab is not a level.
        let tabs = reference.matches('\t').count();
        if !is_tab_file && tabs > actual.len() / self.file_unit.len().max(1) {
            return None;
        }
        let unit = match has_tabs(quoted) || has_tabs(reference) {
            true => 1,
            false => self.edit_unit?,
        };
        let is_ambiguous = !is_tab_file && unit != self.file_unit.len() && unit % self.file_unit.len() == 0;
        let is_on_level = reference.len().is_multiple_of(unit);
        if difference % unit.cast_signed() != 0 || is_ambiguous || !is_on_level {
            return None;
        }
        moved(actual, difference / unit.cast_signed(), &self.file_unit)
    }

    /// Without a common shift: the indentation of the replaced line, or of the neighbours if they agree.
    fn local(&self, group: &AddedGroup<'_>, at: usize, quoted: &str) -> Option<String> {
        let pair = |number: usize| {
            self.pairs
                .iter()
                .find(|(other, _)| *other == number)
                .map(|(_, pair)| *pair)
        };
        let removed: Vec<LinePair<'_>> = group.removed.iter().filter_map(|number| pair(*number)).collect();
        if let Some(first) = removed.first() {
            let counterpart = self.counterpart(group, at);
            if let Some((_, actual)) = counterpart.filter(|pair| pair.0 == quoted || pair.1 == quoted) {
                return Some(actual.to_owned());
            }
            let mut same = removed.iter().filter(|pair| pair.0 == quoted).map(|pair| pair.1);
            if let Some(actual) = same.next() {
                // More lines than were removed may belong to a neighbour with another indentation.
                let neighbours = [group.previous, group.next].into_iter().flatten().filter_map(pair);
                let is_disputed = group.added.len() > removed.len()
                    && neighbours.into_iter().any(|pair| pair.0 == quoted && pair.1 != actual);
                return (same.all(|other| other == actual) && !is_disputed).then(|| actual.to_owned());
            }
            let start = group
                .added
                .iter()
                .find(|line| !is_blank(line))
                .map(|line| indent_of(line))?;
            let is_deeper = at > 0 && start == first.0 && quoted.len() > start.len();
            return is_deeper
                .then(|| moved(first.1, 1, &self.file_unit))
                .flatten()
                .filter(|_| {
                    let levels = group
                        .added
                        .iter()
                        .filter(|line| !is_blank(line))
                        .map(|line| indent_of(line).len());
                    levels
                        .filter(|columns| *columns != start.len())
                        .all(|columns| columns == quoted.len())
                });
        }
        let (previous, next) = (group.previous.and_then(pair), group.next.and_then(pair));
        let fits = |pair: Option<LinePair<'_>>| pair.filter(|pair| pair.0 == quoted).map(|pair| pair.1.to_owned());
        match (fits(previous), fits(next)) {
            (Some(one), Some(other)) => (one == other).then_some(one),
            (Some(one), None) if next.is_some() && !quoted.is_empty() => Some(one),
            (None, Some(other)) if previous.is_some() && !quoted.is_empty() => Some(other),
            _ => self.known(quoted),
        }
    }

    /// The line that added line `at` replaces, if the group replaces each line by a similar one.
    fn counterpart(&self, group: &AddedGroup<'_>, at: usize) -> Option<LinePair<'a>> {
        if !group.is_line_by_line {
            return None;
        }
        let number = *group.removed.get(at)?;
        self.pairs
            .iter()
            .find(|(other, _)| *other == number)
            .map(|(_, pair)| *pair)
    }

    /// Whether a line that opens a block is followed by one that is not deeper: the edit has lost its indentation.
    fn is_flattened(&self, group: &AddedGroup<'_>) -> bool {
        let before = group.removed.is_empty().then_some(group.previous).flatten();
        let mut above = before.and_then(|number| {
            let (_, pair) = self.pairs.iter().find(|(other, _)| *other == number)?;
            Some((pair.0.len(), group.previous_opens))
        });
        let next = group
            .next
            .and_then(|number| self.pairs.iter().find(|(other, _)| *other == number));
        let last = group.added.iter().rev().find(|line| !is_blank(line));
        let is_open = last.is_some_and(|line| {
            opens_block(line) && next.is_some_and(|(_, pair)| pair.0.len() <= indent_of(line).len())
        });
        is_open || is_flat(&group.added, &mut above)
    }
}

/// Whether a line that opens a block is followed by one that is not deeper. `above` is the indentation of the line
/// before and whether it opens a block.
pub(crate) fn is_flat(lines: &[&str], above: &mut Option<(usize, bool)>) -> bool {
    for line in lines.iter().filter(|line| !is_blank(line)) {
        let columns = indent_of(line).len();
        if above.is_some_and(|(outer, opens)| opens && columns <= outer) && !starts_with_closer(line) {
            return true;
        }
        *above = Some((columns, opens_block(line)));
    }
    false
}

/// Whether the block that a line opens continues below it.
pub(crate) fn opens_block(line: &str) -> bool {
    let line = line.trim_end();
    if ["//", "*", "/*", "# ", "--"]
        .iter()
        .any(|mark| line.trim_start().starts_with(mark))
    {
        return false;
    }
    line.ends_with(['{', '(', '[', ':'])
        || ["do", "then", "else", "begin"]
            .iter()
            .any(|word| line.trim_start() == *word || line.ends_with(&format!(" {word}")))
}

fn starts_with_closer(line: &str) -> bool {
    line.trim_start().starts_with(['}', ')', ']']) || line.trim() == "end"
}

/// `indent` with `levels` more or fewer levels.
fn moved(indent: &str, levels: isize, unit: &str) -> Option<String> {
    if levels >= 0 {
        return Some(format!("{indent}{}", unit.repeat(levels.unsigned_abs())));
    }
    let shorter = unit.repeat(levels.unsigned_abs());
    indent.strip_suffix(shorter.as_str()).map(str::to_owned)
}

/// The most frequent increase of indentation from one line to the next; four spaces if there is none.
pub(crate) fn indent_unit<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    const MOST: usize = 2_000;
    const WIDEST: usize = 8;
    let mut counts: Vec<(&str, usize)> = Vec::new();
    let mut above: Option<&str> = None;
    for line in lines.filter(|line| !is_blank(line)).take(MOST) {
        let indent = indent_of(line);
        if let Some(more) = above
            .and_then(|above| indent.strip_prefix(above))
            .filter(|more| (1..=WIDEST).contains(&more.len()))
        {
            match counts.iter_mut().find(|(unit, _)| *unit == more) {
                Some((_, count)) => *count += 1,
                None => counts.push((more, 1)),
            }
        }
        above = Some(indent);
    }
    // One space is the alignment of a comment, not a level.
    let best = counts.into_iter().max_by_key(|(unit, count)| (*unit != " ", *count));
    best.map_or_else(|| "    ".to_owned(), |(unit, _)| unit.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: &[LinePair<'_>], new: &[&str], expected: &[&str]) {
        let numbered: Vec<NumberedPair<'_>> = pairs.iter().copied().enumerate().collect();
        let unit = indent_unit(pairs.iter().map(|pair| pair.1));
        let reindent = Reindent::new(numbered, new, unit_of(pairs).unwrap_or(unit));
        let group = AddedGroup {
            removed: (0..pairs.len()).collect(),
            added: new.to_vec(),
            ..AddedGroup::default()
        };
        let expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
        assert_eq!(reindent.apply(&group), Some(expected));
    }

    fn unit_of(pairs: &[LinePair<'_>]) -> Option<String> {
        pairs
            .windows(2)
            .find_map(|pair| pair[1].1.strip_prefix(pair[0].1).filter(|more| !more.is_empty()))
            .map(str::to_owned)
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
}
