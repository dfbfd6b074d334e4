//! The indentation of added lines, derived from the quoted lines that were found and, in patches, from their signs.

use crate::document::TextDocument;
use crate::fold::{indent_of, is_blank, similarity};
use crate::indent::{AddedGroup, NumberedPair, Reindent, indent_unit, is_flat, opens_block};
use crate::matcher::{MatchCandidate, MatchLevel, QuotedLine, texts};
use crate::refusal::RefusalReason;
use crate::resolve::look_alikes::{look_alikes, with_plain_characters};
use crate::resolve::{LineOp, OpSource, new_lines};

/// The added lines of `ops` with the file's indentation, by index of their operation.
pub(crate) fn indented_additions(
    document: &TextDocument,
    quoted: &[QuotedLine],
    candidate: &MatchCandidate,
    ops: &[LineOp],
    source: OpSource,
) -> Result<Vec<Option<String>>, RefusalReason> {
    let groups = added_groups(document, ops, quoted, candidate);
    let lines: Vec<&AddedGroup<'_>> = groups.iter().map(|(group, _)| group).collect();
    let placed = match source {
        OpSource::Replacement if candidate.level <= MatchLevel::TrailingSpace => None,
        OpSource::Replacement => Some(replaced(document, quoted, candidate, ops, &lines)?),
        OpSource::Patch => patched(document, quoted, candidate, ops, &lines)?,
    };
    if source == OpSource::Patch && placed.is_none() && is_column_missing(document, &lines) {
        return Err(RefusalReason::Indentation);
    }
    let mut out: Vec<Option<String>> = ops
        .iter()
        .map(|op| match op {
            LineOp::Add(line) => Some(line.clone()),
            LineOp::Keep(_) | LineOp::Remove(_) => None,
        })
        .collect();
    for ((_, places), lines) in groups.iter().zip(placed.into_iter().flatten()) {
        for (place, line) in places.iter().zip(lines) {
            out[*place] = Some(line);
        }
    }
    let look_alikes = look_alikes(document, quoted, candidate);
    for line in out.iter_mut().flatten().filter(|line| !line.is_ascii()) {
        *line = with_plain_characters(line, &look_alikes);
    }
    Ok(out)
}

/// Whether every indented line lacks one column to a level, as no line of the file does: the sign may cover it.
fn is_column_missing(document: &TextDocument, groups: &[&AddedGroup<'_>]) -> bool {
    let unit = indent_unit(document.lines());
    let is_short = |line: &str| {
        let columns = indent_of(line).len();
        columns > 0 && (columns + 1).is_multiple_of(unit.len())
    };
    let added = groups.iter().flat_map(|group| group.added.iter().copied());
    let mut indented = added
        .filter(|line| !is_blank(line) && !indent_of(line).is_empty())
        .peekable();
    unit.len() > 1
        && unit.chars().all(|c| c == ' ')
        && indented.peek().is_some()
        && indented.all(is_short)
        && !document.lines().any(|line| !is_blank(line) && is_short(line))
}

type PlacedGroups = Vec<Vec<String>>;

/// The added lines between kept ones, and the indices of their operations.
fn added_groups<'a>(
    document: &TextDocument,
    ops: &'a [LineOp],
    quoted: &[QuotedLine],
    candidate: &MatchCandidate,
) -> Vec<(AddedGroup<'a>, Vec<usize>)> {
    let mut groups = Vec::new();
    let mut current: (AddedGroup<'a>, Vec<usize>) = Default::default();
    for (at, op) in ops.iter().enumerate() {
        match op {
            LineOp::Keep(number) if candidate.pairs[*number].is_some() => {
                current.0.next = Some(*number);
                groups.push(std::mem::take(&mut current));
                current.0.previous = Some(*number);
                let at = candidate.pairs[*number];
                current.0.previous_opens =
                    opens_block(&quoted[*number].text) || at.is_some_and(|at| is_above_deeper_line(document, at));
            }
            LineOp::Keep(_) => {}
            LineOp::Remove(number) => current.0.removed.push(*number),
            LineOp::Add(line) => {
                current.0.added.push(line);
                current.1.push(at);
            }
        }
    }
    groups.push(current);
    groups.retain(|(group, _)| !group.added.is_empty());
    for (group, _) in &mut groups {
        let is_like = |(number, added): (&usize, &&str)| similarity(quoted[*number].text.trim(), added.trim()) >= 0.5;
        let is_whole = group.previous.is_none() && group.next.is_none();
        group.is_line_by_line = group.removed.len() == group.added.len()
            && (is_whole || group.removed.iter().zip(&group.added).all(is_like));
    }
    groups
}

/// Whether the next non-blank line is deeper.
fn is_above_deeper_line(document: &TextDocument, at: usize) -> bool {
    let width = |at: usize| indent_of(document.line(at)).len();
    let next = (at + 1..document.line_count()).find(|at| !is_blank(document.line(*at)));
    next.is_some_and(|next| width(next) > width(at) + 1)
}

fn numbered_pairs<'a>(
    document: &'a TextDocument,
    quoted: &'a [QuotedLine],
    candidate: &MatchCandidate,
) -> Vec<NumberedPair<'a>> {
    texts(document, quoted, &candidate.pairs)
        .into_iter()
        .map(|(number, text, actual)| (number, (indent_of(text), indent_of(actual))))
        .collect()
}

fn replaced(
    document: &TextDocument,
    quoted: &[QuotedLine],
    candidate: &MatchCandidate,
    ops: &[LineOp],
    groups: &[&AddedGroup<'_>],
) -> Result<PlacedGroups, RefusalReason> {
    let pairs = numbered_pairs(document, quoted, candidate);
    let new = new_lines(quoted, ops);
    let as_written = || groups.iter().map(|group| owned(&group.added)).collect();
    if is_already_placed(&pairs, ops, &new) {
        return Ok(as_written());
    }
    let unit = indent_unit(document.lines());
    if let Some((_, (cut, actual))) = first_line_is_cut(&pairs) {
        return without_first_indent(&pairs, (cut, actual), &new, groups, unit);
    }
    let reindent = Reindent::new(pairs, &new, unit);
    apply_all(&reindent, groups)
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

fn apply_all(reindent: &Reindent<'_>, groups: &[&AddedGroup<'_>]) -> Result<PlacedGroups, RefusalReason> {
    groups
        .iter()
        .map(|group| reindent.apply(group).ok_or(RefusalReason::Indentation))
        .collect()
}

/// Whether the new text already has the file's indentation although the quoted text does not.
fn is_already_placed(pairs: &[NumberedPair<'_>], ops: &[LineOp], new: &[&str]) -> bool {
    let Some((_, (quoted, actual))) = pairs.first() else {
        return false;
    };
    let first = new.iter().find(|line| !is_blank(line)).map(|line| indent_of(line));
    let keeps_shifted = ops.iter().any(|op| match op {
        LineOp::Keep(number) => pairs
            .iter()
            .any(|(other, (quoted, actual))| other == number && quoted != actual),
        LineOp::Remove(_) | LineOp::Add(_) => false,
    });
    // The outermost indentation of the quoted text rather than that of the file: the new text is shifted, too.
    let outermost = |side: fn(&NumberedPair<'_>) -> usize| pairs.iter().map(side).min();
    let new_outermost = new
        .iter()
        .filter(|line| !is_blank(line))
        .map(|line| indent_of(line).len())
        .min();
    let is_shifted =
        new_outermost == outermost(|pair| pair.1.0.len()) && new_outermost != outermost(|pair| pair.1.1.len());
    quoted != actual && first == Some(*actual) && !keeps_shifted && !is_shifted
}

/// The first pair, if only its line lacks indentation.
fn first_line_is_cut<'a>(pairs: &[NumberedPair<'a>]) -> Option<NumberedPair<'a>> {
    let (first, others) = pairs.split_first()?;
    let is_cut = first.1.0.is_empty() && !first.1.1.is_empty();
    let is_exact = others.iter().all(|(_, (quoted, actual))| quoted == actual);
    let is_indented = others.iter().any(|(_, (quoted, _))| !quoted.is_empty());
    (is_cut && is_exact && is_indented).then_some(*first)
}

/// The quoted text starts inside a line. If the new text does too, its first line gets the missing indentation; if all of
/// it is shifted by as much, every line does.
fn without_first_indent(
    pairs: &[NumberedPair<'_>],
    (cut, actual): (&str, &str),
    new: &[&str],
    groups: &[&AddedGroup<'_>],
    unit: String,
) -> Result<PlacedGroups, RefusalReason> {
    let outermost = pairs.iter().map(|(_, (_, actual))| actual.len()).min().unwrap_or(0);
    let solid: Vec<&&str> = new.iter().filter(|line| !is_blank(line)).collect();
    let falls_out = solid.iter().skip(1).any(|line| indent_of(line).len() < outermost);
    if falls_out {
        let first = pairs.first().map_or(0, |(number, _)| *number);
        return apply_all(&Reindent::new(vec![(first, (cut, actual))], new, unit), groups);
    }
    let mut is_first = true;
    let mut out = Vec::with_capacity(groups.len());
    for group in groups {
        let mut lines = owned(&group.added);
        if std::mem::take(&mut is_first)
            && let (Some(line), Some(top)) = (lines.iter_mut().find(|line| !is_blank(line)), solid.first())
            && line == **top
            && indent_of(line).is_empty()
        {
            line.insert_str(0, actual);
        }
        out.push(lines);
    }
    Ok(out)
}

/// The added lines of a patch; `None` if they are right as written.
fn patched(
    document: &TextDocument,
    quoted: &[QuotedLine],
    candidate: &MatchCandidate,
    ops: &[LineOp],
    groups: &[&AddedGroup<'_>],
) -> Result<Option<PlacedGroups>, RefusalReason> {
    if groups.is_empty() {
        return Ok(None);
    }
    let pairs = numbered_pairs(document, quoted, candidate);
    let is_removed = |number: usize| {
        ops.iter()
            .any(|op| matches!(op, LineOp::Remove(other) if *other == number))
    };
    let (removed, kept): (Vec<NumberedPair<'_>>, Vec<NumberedPair<'_>>) =
        pairs.iter().copied().partition(|(number, _)| is_removed(*number));
    match removed_evidence(&removed, quoted, groups) {
        (0, _) => {}
        (_, 0) => return Ok(None),
        (_, _) => return Err(RefusalReason::Indentation),
    }
    let new = new_lines(quoted, ops);
    let is_informative = |(_, (quoted, actual)): &&NumberedPair<'_>| !quoted.is_empty() || !actual.is_empty();
    let mut informative = removed.iter().filter(is_informative).peekable();
    if informative.peek().is_some() {
        let unit = indent_unit(document.lines());
        let all = Reindent::new(pairs.clone(), &new, unit.clone());
        if informative.all(|(_, (quoted, actual))| quoted == actual) && (all.is_none() || !all.is_uniform()) {
            let known = || groups.iter().map(|group| all.known_or_written(group)).collect();
            return Ok((!all.is_none()).then(known));
        }
        // The sign of removed and added lines covers the first column of their indentation.
        let is_covered = |(_, (quoted, actual)): &NumberedPair<'_>| {
            actual.len() == quoted.len() + 1 && actual.ends_with(quoted) || actual.is_empty()
        };
        let is_kept_exact = kept.iter().all(|(_, (quoted, actual))| quoted == actual);
        let is_sign = removed.iter().all(is_covered) && is_kept_exact;
        let moved = match is_kept_exact && !kept.is_empty() {
            true => moved_column(&removed, &kept, groups, &unit),
            false => None,
        };
        if let Some(placed) = moved {
            return Ok(Some(placed));
        }
        // Lines at the margin that replace nothing may be right there.
        let is_margin = |indent: &str| kept.iter().any(|(_, pair)| *pair == (indent, indent));
        let is_loose = |group: &&AddedGroup<'_>| group.removed.is_empty() && first_indent(group) == Some("");
        let has_lost = removed.iter().any(|(_, pair)| pair.0.is_empty() && !pair.1.is_empty());
        if is_kept_exact && has_lost && is_margin("") && groups.iter().any(is_loose) {
            return Err(RefusalReason::Indentation);
        }
        // Kept lines at the margin may have lost their indentation or not.
        let at_margin: Vec<&str> = kept
            .iter()
            .filter(|(_, pair)| pair.0.is_empty())
            .map(|(_, pair)| pair.1)
            .collect();
        let is_unclear = at_margin.iter().any(|actual| at_margin.first() != Some(actual));
        let is_from_removed = is_sign || is_kept_exact || kept.iter().all(is_covered) && !is_unclear;
        let only_removed = removed.clone();
        let reindent = if all.is_uniform() && !is_sign || !is_from_removed {
            all
        } else {
            Reindent::new(removed, &new, unit.clone())
        };
        let placed = apply_all(&reindent, groups).or_else(|why| match is_sign || !kept.iter().all(is_covered) {
            true => Err(why),
            false => apply_all(&Reindent::new(only_removed, &new, unit), groups),
        });
        return match placed {
            // There are no lines with which the new lines could be compared.
            Err(_) if kept.is_empty() && candidate.first() == 0 && candidate.end() >= document.line_count() => Ok(None),
            placed => placed.map(Some),
        };
    }
    // Lines that replace lines at the margin are right there.
    let is_at_margin = |group: &&AddedGroup<'_>| {
        !group.removed.is_empty()
            && group.added.iter().all(|line| indent_of(line).is_empty())
            && !is_flat(&group.added, &mut None)
    };
    if !removed.is_empty() && groups.iter().all(is_at_margin) {
        return Ok(None);
    }
    let site = AdditionSite {
        document,
        candidate,
        unit: indent_unit(document.lines()),
    };
    let is_spaced = |(_, (quoted, actual)): &NumberedPair<'_>| quoted.strip_prefix(' ') == Some(*actual);
    if !kept.is_empty() && kept.iter().all(is_spaced) {
        return site.beside_spaced_lines(groups);
    }
    if kept.iter().any(|(_, (quoted, actual))| quoted != actual) {
        let reindent = Reindent::new(pairs, &new, indent_unit(document.lines()));
        return apply_all(&reindent, groups).map(Some);
    }
    match signs(document, quoted, candidate) {
        (Some(false), Some(true)) => Err(RefusalReason::Indentation),
        (Some(false), _) | (None, Some(false)) => site.with_covered_column(groups),
        (Some(true), _) | (None, _) if site.lacks_a_column(groups) => Err(RefusalReason::Indentation),
        (Some(true), _) | (None, _) => site.without_extra_space(groups),
    }
}

/// The number of added lines that show that the additions have the indentation of the file, and of those that have the
/// other indentation of the removed lines: copies of removed lines, and the outermost lines in place of others.
fn removed_evidence(removed: &[NumberedPair<'_>], quoted: &[QuotedLine], groups: &[&AddedGroup<'_>]) -> (usize, usize) {
    let (mut placed, mut as_quoted) = (0, 0);
    let mut count = |indent: &str, (quoted, actual): (&str, &str)| {
        placed += usize::from(quoted != actual && indent == actual);
        as_quoted += usize::from(quoted != actual && indent == quoted);
    };
    for group in groups {
        let pairs = || removed.iter().filter(|(number, _)| group.removed.contains(number));
        let outermost = pairs().min_by_key(|(_, (_, actual))| actual.len());
        let added = group.added.iter().filter(|line| !is_blank(line));
        let added_outermost = added
            .clone()
            .map(|line| indent_of(line))
            .min_by_key(|indent| indent.len());
        if let Some(((_, pair), indent)) = outermost.zip(added_outermost) {
            count(indent, *pair);
        }
        for line in added {
            let copy = pairs().find(|(number, _)| quoted[*number].text.trim() == line.trim());
            if let Some((_, pair)) = copy {
                count(indent_of(line), *pair);
            }
        }
    }
    (placed, as_quoted)
}

/// The added lines if the signs of removed and added lines cover one column of their indentation, or are followed by a
/// space, while all kept lines are right.
fn moved_column(
    removed: &[NumberedPair<'_>],
    kept: &[NumberedPair<'_>],
    groups: &[&AddedGroup<'_>],
    unit: &str,
) -> Option<PlacedGroups> {
    let is_covered = |(_, (quoted, actual)): &NumberedPair<'_>| {
        !quoted.is_empty() && actual.strip_prefix([' ', '\t']) == Some(*quoted)
            || quoted.is_empty() && actual.is_empty()
    };
    let is_spaced = |(_, (quoted, actual)): &NumberedPair<'_>| quoted.strip_prefix(' ') == Some(*actual);
    let place: fn(&str) -> Option<String> = if removed.iter().all(is_covered) {
        |line| {
            let first = indent_of(line).chars().next();
            Some(first.map_or_else(|| line.to_owned(), |first| format!("{first}{line}")))
        }
    } else if removed.iter().all(is_spaced) {
        |line| line.strip_prefix(' ').map(str::to_owned)
    } else {
        return None;
    };
    // At the margin, the covered column may have been a tab or the space before a comment.
    let has_column = unit.starts_with('\t') || kept.iter().any(|(_, (_, actual))| *actual == " ");
    let is_open = |line: &&str| has_column && indent_of(line).is_empty() && !is_blank(line);
    if groups.iter().any(|group| group.added.iter().any(is_open)) {
        return None;
    }
    let is_level = |line: &str| indent_of(line).len().is_multiple_of(unit.len().max(1));
    let is_on_level = unit.starts_with(' ') && removed.iter().chain(kept).all(|(_, pair)| is_level(pair.1));
    let place = |line: &&str| match is_blank(line) {
        true => Some((*line).to_owned()),
        false => place(line).filter(|placed| !is_on_level || !is_level(line) || is_level(placed)),
    };
    groups
        .iter()
        .map(|group| group.added.iter().map(place).collect())
        .collect()
}

/// Whether indented context lines and those at the margin have their sign; `None` if none can tell. Without a sign, the
/// first column of the indentation is read as one, and a line at the margin has none.
fn signs(document: &TextDocument, quoted: &[QuotedLine], candidate: &MatchCandidate) -> (Option<bool>, Option<bool>) {
    let (mut indented, mut at_margin) = (None, None);
    for (line, pair) in quoted.iter().zip(&candidate.pairs) {
        let Some(actual) = pair.map(|at| document.line(at)).filter(|actual| !is_blank(actual)) else {
            continue;
        };
        let known = if indent_of(actual).is_empty() {
            &mut at_margin
        } else {
            &mut indented
        };
        match &line.or {
            Some(other) if line.text.trim_end() != actual.trim_end() && other.trim_end() == actual.trim_end() => {
                *known = known.or(Some(false));
            }
            Some(_) => *known = Some(true),
            None if line.is_bare => *known = known.or(Some(false)),
            None => {}
        }
    }
    (indented, at_margin)
}

/// Where the lines of a patch without removed lines are added.
struct AdditionSite<'a> {
    document: &'a TextDocument,
    candidate: &'a MatchCandidate,
    unit: String,
}

impl AdditionSite<'_> {
    /// Context lines have a space after their sign. The added lines may have one, too: their neighbours decide, or the
    /// width of a level.
    fn beside_spaced_lines(&self, groups: &[&AddedGroup<'_>]) -> Result<Option<PlacedGroups>, RefusalReason> {
        let indents = || groups.iter().filter_map(|group| Some((*group, first_indent(group)?)));
        let stripped = |indent: &str| indent.strip_prefix(' ').map(str::to_owned);
        let is_on_unit = |indent: &str| indent.len().is_multiple_of(self.unit.len().max(1));
        let fits = |fit: &dyn Fn(&AddedGroup<'_>, &str) -> bool| {
            let as_written = indents().all(|(group, indent)| fit(group, indent));
            let as_stripped =
                indents().all(|(group, indent)| stripped(indent).is_some_and(|indent| fit(group, &indent)));
            (as_written, as_stripped)
        };
        let by_neighbours = fits(&|group, indent| self.is_plausible(group, indent));
        let by_unit = fits(&|group, indent| {
            let above = self.neighbours(group).0.map_or("", indent_of);
            is_on_unit(indent) && is_on_unit(above)
        });
        match if by_neighbours == (false, false) {
            by_unit
        } else {
            by_neighbours
        } {
            (true, false) => Ok(None),
            (false, true) => Ok(Some(without_first_space(groups))),
            (true, true) | (false, false) => Err(RefusalReason::Indentation),
        }
    }

    /// Whether the sign of the added lines may cover the first column of their indentation: with one more column, each
    /// has the depth of a level and the first of each group that of its place.
    fn lacks_a_column(&self, groups: &[&AddedGroup<'_>]) -> bool {
        let is_short = |line: &&&str| {
            let columns = indent_of(line).len();
            columns > 0 && (columns + 1).is_multiple_of(self.unit.len())
        };
        let fits = |group: &&AddedGroup<'_>| {
            first_indent(group).is_some_and(|indent| {
                !self.is_plausible(group, indent) && self.is_plausible(group, &format!(" {indent}"))
            })
        };
        let mut solid = groups
            .iter()
            .flat_map(|group| &group.added)
            .filter(|line| !is_blank(line));
        self.unit.len() > 1
            && !self.unit.starts_with('\t')
            && solid.all(|line| is_short(&line))
            && groups.iter().all(fits)
    }

    /// Removes a space after the sign that no neighbour has.
    fn without_extra_space(&self, groups: &[&AddedGroup<'_>]) -> Result<Option<PlacedGroups>, RefusalReason> {
        let solid = || {
            groups
                .iter()
                .flat_map(|group| &group.added)
                .filter(|line| !is_blank(line))
        };
        let is_tab_file = self.unit.starts_with('\t');
        let is_off = |line: &str| match is_tab_file {
            true => indent_of(line).starts_with(' ') && (indent_of(line).len() == 1 || indent_of(line).contains('\t')),
            false => self.unit.len() > 1 && indent_of(line).len() % self.unit.len() == 1,
        };
        let fits = |group: &&AddedGroup<'_>| {
            let Some(indent) = first_indent(group) else { return true };
            let stripped = indent.strip_prefix(' ');
            if is_tab_file && stripped.is_some_and(|stripped| stripped.starts_with('\t')) {
                return true;
            }
            !self.is_plausible(group, indent) && stripped.is_some_and(|stripped| self.is_plausible(group, stripped))
        };
        // The file may have lines with that column.
        let is_usual = |group: &&AddedGroup<'_>| {
            first_indent(group).is_some_and(|indent| self.document.lines().any(|line| indent_of(line) == indent))
        };
        if groups.iter().all(is_usual) {
            return Ok(None);
        }
        let is_spaced_blank = |line: &&str| *line == " ";
        let has_spaced_blank = groups.iter().flat_map(|group| &group.added).any(is_spaced_blank);
        if has_spaced_blank && solid().next().is_some() && solid().all(|line| is_off(line)) {
            return Ok(Some(without_first_space(groups)));
        }
        // A column that no line nearby has.
        let is_thin = |group: &&AddedGroup<'_>| {
            first_indent(group) == Some(" ") && self.unit.len() > 1 && !self.is_plausible(group, " ")
        };
        if solid().next().is_none() || !groups.iter().all(fits) {
            return match groups.iter().any(is_thin) {
                true => Err(RefusalReason::Indentation),
                false => Ok(None),
            };
        }
        if solid().all(|line| is_off(line)) {
            return Ok(Some(without_first_space(groups)));
        }
        let is_on_unit = |line: &&&str| !is_tab_file && indent_of(line).len().is_multiple_of(self.unit.len().max(1));
        if solid().all(|line| is_on_unit(&line)) {
            Ok(None)
        } else {
            Err(RefusalReason::Indentation)
        }
    }

    /// Context lines have no sign, so the sign of an added line may cover the first column of its indentation.
    fn with_covered_column(&self, groups: &[&AddedGroup<'_>]) -> Result<Option<PlacedGroups>, RefusalReason> {
        let has_tab = |line: Option<&str>| line.is_some_and(|line| line.starts_with('\t'));
        let is_tab_file = self.unit.starts_with('\t')
            || groups
                .iter()
                .any(|group| has_tab(self.neighbours(group).0) || has_tab(self.neighbours(group).1));
        let solid = || {
            groups
                .iter()
                .flat_map(|group| &group.added)
                .filter(|line| !is_blank(line))
        };
        // A comment may be at the margin anywhere.
        if solid().all(|line| indent_of(line).is_empty() && is_comment(line)) {
            return Ok(None);
        }
        if groups.iter().any(|group| is_flat(&group.added, &mut None)) {
            return Err(RefusalReason::Indentation);
        }
        let margin = || {
            groups
                .iter()
                .filter(|group| first_indent(group) == Some("") && group.removed.is_empty())
        };
        let has_neighbour = |indent: &str| {
            margin().any(|group| {
                let (above, below) = self.neighbours(group);
                above.map(indent_of) == Some(indent) || below.map(indent_of) == Some(indent)
            })
        };
        let has_thin_neighbour = has_neighbour(" ");
        if has_thin_neighbour && has_neighbour("") {
            return Err(RefusalReason::Indentation);
        }
        let uncovered = |indent: &str| match indent.chars().next() {
            Some(first) => format!("{first}{indent}"),
            None if is_tab_file => "\t".to_owned(),
            None if has_thin_neighbour => " ".to_owned(),
            None => String::new(),
        };
        let on_unit = |columns: usize| is_tab_file || columns.is_multiple_of(self.unit.len().max(1));
        let all = |fits: &dyn Fn(&AddedGroup<'_>, &str) -> bool| {
            groups
                .iter()
                .all(|group| first_indent(group).is_none_or(|indent| fits(group, indent)))
        };
        if has_thin_neighbour && solid().all(|line| indent_of(line).is_empty()) {
            let place = |line: &&str| {
                if is_blank(line) {
                    (*line).to_owned()
                } else {
                    format!(" {line}")
                }
            };
            return Ok(Some(
                groups
                    .iter()
                    .map(|group| group.added.iter().map(place).collect())
                    .collect(),
            ));
        }
        let is_same = !is_tab_file && solid().all(|line| indent_of(line).is_empty());
        let by_neighbours = (
            all(&|group, indent| self.is_plausible(group, indent)),
            all(&|group, indent| self.is_plausible(group, &uncovered(indent))),
        );
        let by_unit = (
            solid().all(|line| on_unit(indent_of(line).len())),
            solid().all(|line| indent_of(line).is_empty() || on_unit(indent_of(line).len() + 1)),
        );
        let is_beside = |group: &AddedGroup<'_>, indent: &str| {
            let (above, below) = self.neighbours(group);
            [above, below]
                .into_iter()
                .flatten()
                .any(|line| indent_of(line) == indent)
        };
        if by_neighbours == (false, false) && !is_same && all(&|group, indent| is_beside(group, &uncovered(indent))) {
            return Err(RefusalReason::Indentation);
        }
        match if by_neighbours == (false, false) {
            by_unit
        } else {
            by_neighbours
        } {
            (true, false) => Ok(None),
            (_, _) if is_same => Ok(None),
            (false, true) => {
                let place = |line: &&str| match is_blank(line) {
                    true => (*line).to_owned(),
                    false => format!("{}{}", uncovered(indent_of(line)), line.trim_start()),
                };
                Ok(Some(
                    groups
                        .iter()
                        .map(|group| group.added.iter().map(place).collect())
                        .collect(),
                ))
            }
            (true, true) | (false, false) => Err(RefusalReason::Indentation),
        }
    }

    /// The non-blank lines of the file above and below.
    fn neighbours(&self, group: &AddedGroup<'_>) -> (Option<&str>, Option<&str>) {
        let document = self.document;
        let line = |number: Option<usize>| number.and_then(|number| self.candidate.pairs[number]);
        let above = line(group.previous).map_or(self.candidate.first(), |at| at + 1);
        let below = line(group.next).unwrap_or(self.candidate.end());
        let above = (0..above)
            .rev()
            .map(|at| document.line(at))
            .find(|line| !is_blank(line));
        let below = (below..document.line_count())
            .map(|at| document.line(at))
            .find(|line| !is_blank(line));
        (above, below)
    }

    /// Whether a neighbouring line has this indentation, or opens a block of that depth.
    fn is_plausible(&self, group: &AddedGroup<'_>, indent: &str) -> bool {
        let (above, below) = self.neighbours(group);
        let below = below.map(indent_of);
        match above {
            Some(above) if opens_block(above) => {
                let inner = below.filter(|below| below.len() > indent_of(above).len());
                inner == Some(indent) || format!("{}{}", indent_of(above), self.unit) == indent
            }
            Some(above) => indent_of(above) == indent || below == Some(indent),
            None => indent.is_empty() || below == Some(indent),
        }
    }
}

fn without_first_space(groups: &[&AddedGroup<'_>]) -> PlacedGroups {
    let strip = |line: &&str| line.strip_prefix(' ').unwrap_or(line).to_owned();
    groups
        .iter()
        .map(|group| group.added.iter().map(strip).collect())
        .collect()
}

fn is_comment(line: &str) -> bool {
    ["//", "#", "/*", "--", "<!--"]
        .iter()
        .any(|mark| line.trim_start().starts_with(mark))
}

fn first_indent<'a>(group: &AddedGroup<'a>) -> Option<&'a str> {
    group
        .added
        .iter()
        .find(|line| !is_blank(line))
        .map(|line| indent_of(line))
}
