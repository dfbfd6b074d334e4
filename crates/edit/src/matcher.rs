//! Finds quoted lines in a file, strictest equality first. Never guesses between two locations.

use crate::document::TextDocument;
use crate::fold::{collapse, indent_of, is_blank, is_typo, squash, squash_key};
use crate::indent::IndentShift;
use crate::line_history::LineHistory;
use crate::line_index::LineIndex;

/// A quoted line. Patch context may or may not have its leading space, so there are two readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QuotedLine {
    pub(crate) text: String,
    pub(crate) or: Option<String>,
    /// Whether it is a patch line without a sign.
    pub(crate) is_bare: bool,
}

impl QuotedLine {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            or: None,
            is_bare: false,
        }
    }

    /// The reading most similar to `actual`.
    pub(crate) fn nearest<'a>(&'a self, actual: &str) -> &'a str {
        match &self.or {
            _ if self.text == actual => &self.text,
            Some(other) if other.trim_end() == actual.trim_end() => other,
            Some(other) if indent_of(other) == indent_of(actual) && indent_of(&self.text) != indent_of(actual) => other,
            _ => &self.text,
        }
    }
}

/// How closely the lines of a match agree, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MatchLevel {
    Exact,
    TrailingSpace,
    Indent,
    UnevenIndent,
    Spacing,
    Squeezed,
    Slips,
}

/// Whether blank lines agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BlankLineMatch {
    Same,
    /// Quoted blank lines at the start or end of the match are not in the file.
    EdgesDiffer,
    Differ,
}

/// One location that fits the quoted lines.
#[derive(Clone, Debug)]
pub(crate) struct MatchCandidate {
    /// The file's line (from 0) for each quoted line; quoted blank lines may have none.
    pub(crate) pairs: Vec<Option<usize>>,
    pub(crate) level: MatchLevel,
    pub(crate) blanks: BlankLineMatch,
}

impl MatchCandidate {
    pub(crate) fn first(&self) -> usize {
        self.pairs.iter().flatten().copied().min().unwrap_or(0)
    }

    /// The line after the last matched one.
    pub(crate) fn end(&self) -> usize {
        self.pairs.iter().flatten().copied().max().map_or(0, |last| last + 1)
    }

    pub(crate) fn rank(&self) -> (MatchLevel, BlankLineMatch) {
        (self.level, self.blanks)
    }
}

/// A file prepared for many searches.
#[derive(Debug)]
pub(crate) struct Haystack<'d> {
    pub(crate) document: &'d TextDocument,
    pub(crate) index: &'d LineIndex,
    /// Translates line numbers.
    pub(crate) history: &'d LineHistory,
}

impl Haystack<'_> {
    /// The best locations for `quoted`.
    pub(crate) fn best(&self, quoted: &[QuotedLine]) -> Vec<MatchCandidate> {
        best(self.all(quoted))
    }

    /// All locations where the non-blank lines agree, ignoring whitespace and look-alike characters.
    pub(crate) fn all(&self, quoted: &[QuotedLine]) -> Vec<MatchCandidate> {
        let solid = solid_lines(quoted);
        let keys: Vec<u64> = solid.iter().map(|at| squash_key(&quoted[*at].text)).collect();
        self.index
            .sequences(&keys)
            .into_iter()
            .map(|start| self.candidate(quoted, &solid, start))
            .filter(|candidate| candidate.level < MatchLevel::Slips)
            .collect()
    }

    /// Locations where most lines agree and the others differ only by typos. Every non-blank line has a counterpart, so
    /// none can be lost.
    pub(crate) fn typo_candidates(&self, quoted: &[QuotedLine]) -> Vec<MatchCandidate> {
        const TOO_COMMON: usize = 64;
        let solid = solid_lines(quoted);
        if solid.len() < 3 {
            return Vec::new();
        }
        let keys: Vec<u64> = solid.iter().map(|at| squash_key(&quoted[*at].text)).collect();
        let mut starts: Vec<usize> = Vec::new();
        for (offset, key) in keys.iter().enumerate() {
            let places = self.index.positions(*key);
            if places.len() <= TOO_COMMON {
                starts.extend(places.iter().filter_map(|place| (*place as usize).checked_sub(offset)));
            }
        }
        starts.sort_unstable();
        starts.dedup();
        starts
            .into_iter()
            .filter(|start| self.is_close(quoted, &solid, &keys, *start))
            .map(|start| self.candidate(quoted, &solid, start))
            .collect()
    }

    fn is_close(&self, quoted: &[QuotedLine], solid: &[usize], keys: &[u64], start: usize) -> bool {
        if start + keys.len() > self.index.len() {
            return false;
        }
        let differing: Vec<usize> = (0..keys.len())
            .filter(|offset| self.index.key(start + offset) != Some(keys[*offset]))
            .collect();
        let is_distinctive =
            (0..keys.len()).any(|offset| !differing.contains(&offset) && self.index.positions(keys[offset]).len() == 1);
        is_distinctive
            && differing.len() * 3 <= keys.len()
            && differing.iter().all(|offset| {
                is_typo(
                    &quoted[solid[*offset]].text,
                    self.document.line(self.index.line(start + offset)),
                )
            })
    }

    /// Locations where one non-blank line of the file is missing between two quoted ones, each with the index of the
    /// quoted line before it.
    pub(crate) fn with_omitted_line(&self, quoted: &[QuotedLine]) -> Vec<(MatchCandidate, usize)> {
        const TOO_COMMON: usize = 64;
        let solid = solid_lines(quoted);
        let keys: Vec<u64> = solid.iter().map(|at| squash_key(&quoted[*at].text)).collect();
        let distinctive = solid
            .iter()
            .filter(|at| quoted[**at].text.chars().any(char::is_alphanumeric))
            .count();
        if keys.len() < 3 || distinctive < 2 {
            return Vec::new();
        }
        let mut starts: Vec<usize> = Vec::new();
        for (offset, key) in keys.iter().enumerate() {
            let places = self.index.positions(*key);
            if places.len() <= TOO_COMMON {
                let before = |skip: usize| move |place: &u32| (*place as usize).checked_sub(offset + skip);
                starts.extend(places.iter().filter_map(before(0)));
                starts.extend(places.iter().filter_map(before(1)));
            }
        }
        starts.sort_unstable();
        starts.dedup();
        let fits = |from: usize, keys: &[u64]| {
            keys.iter()
                .enumerate()
                .all(|(step, key)| self.index.key(from + step) == Some(*key))
        };
        let mut found = Vec::new();
        for start in starts {
            let equal = (0..keys.len())
                .take_while(|at| self.index.key(start + at) == Some(keys[*at]))
                .count();
            for cut in (1..=equal.min(keys.len() - 1)).filter(|cut| fits(start + cut + 1, &keys[*cut..])) {
                let mut pairs = vec![None; quoted.len()];
                for (offset, at) in solid.iter().enumerate() {
                    pairs[*at] = Some(self.index.line(start + offset + usize::from(offset >= cut)));
                }
                for window in solid.windows(2) {
                    self.pair_blanks_between((window[0], window[1]), &mut pairs);
                }
                found.push((self.candidate_of(quoted, pairs), solid[cut - 1]));
            }
        }
        found
    }

    /// Pairs the quoted blank lines between two non-blank ones with blank lines of the file, from both ends.
    fn pair_blanks_between(&self, (above, below): (usize, usize), pairs: &mut [Option<usize>]) {
        let (Some(from), Some(to)) = (pairs[above], pairs[below]) else {
            return;
        };
        let free = |line: &usize| *line > from && *line < to && self.is_blank(*line);
        let mut next = above + 1;
        while next < below && free(&(from + next - above)) {
            pairs[next] = Some(from + next - above);
            next += 1;
        }
        let used = from + next - above - 1;
        for at in (next..below).rev() {
            pairs[at] = to.checked_sub(below - at).filter(free).filter(|line| *line > used);
            if pairs[at].is_none() {
                break;
            }
        }
    }

    /// A location with the given counterpart of each quoted line.
    pub(crate) fn candidate_of(&self, quoted: &[QuotedLine], pairs: Vec<Option<usize>>) -> MatchCandidate {
        let level = self.level(quoted, &pairs);
        MatchCandidate {
            pairs,
            level,
            blanks: BlankLineMatch::Same,
        }
    }

    /// Pairs the lines, including blank ones, and ranks their agreement.
    fn candidate(&self, quoted: &[QuotedLine], solid: &[usize], start: usize) -> MatchCandidate {
        let mut pairs = vec![None; quoted.len()];
        for (offset, at) in solid.iter().enumerate() {
            pairs[*at] = Some(self.index.line(start + offset));
        }
        let blanks = self.pair_blanks(quoted, solid, &mut pairs);
        let level = self.level(quoted, &pairs);
        MatchCandidate { pairs, level, blanks }
    }

    fn pair_blanks(&self, quoted: &[QuotedLine], solid: &[usize], pairs: &mut [Option<usize>]) -> BlankLineMatch {
        let (Some(first), Some(last)) = (solid.first().copied(), solid.last().copied()) else {
            return BlankLineMatch::Differ;
        };
        let mut blanks = BlankLineMatch::Same;
        for window in solid.windows(2) {
            let (Some(from), Some(to)) = (pairs[window[0]], pairs[window[1]]) else {
                continue;
            };
            let (asked, there) = (window[1] - window[0] - 1, to - from - 1);
            for step in 1..=asked.min(there) {
                pairs[window[0] + step] = Some(from + step);
            }
            if asked != there {
                blanks = BlankLineMatch::Differ;
            }
        }
        let mut edges = BlankLineMatch::Same;
        for step in 1..=first {
            let above = pairs[first]
                .and_then(|line| line.checked_sub(step))
                .filter(|line| self.is_blank(*line));
            if above.is_none() {
                edges = BlankLineMatch::EdgesDiffer;
                break;
            }
            pairs[first - step] = above;
        }
        for step in 1..quoted.len() - last {
            let below = pairs[last].map(|line| line + step).filter(|line| self.is_blank(*line));
            if below.is_none() {
                edges = BlankLineMatch::EdgesDiffer;
                break;
            }
            pairs[last + step] = below;
        }
        blanks.max(edges)
    }

    fn is_blank(&self, line: usize) -> bool {
        line < self.document.line_count() && is_blank(self.document.line(line))
    }

    fn level(&self, quoted: &[QuotedLine], pairs: &[Option<usize>]) -> MatchLevel {
        let texts = texts(self.document, quoted, pairs);
        let level = texts
            .iter()
            .map(|(_, text, actual)| line_level(text, actual))
            .max()
            .unwrap_or(MatchLevel::Exact);
        let indents: Vec<_> = texts
            .iter()
            .map(|(_, text, actual)| (indent_of(text), indent_of(actual)))
            .collect();
        if level == MatchLevel::Indent && IndentShift::of(&indents).is_none() {
            // If the other lines have their indentation, a bracket with another indentation is another bracket.
            let is_patch = quoted.iter().any(|line| line.is_bare || line.or.is_some());
            let is_placed = indents.iter().any(|(text, actual)| !text.is_empty() && text == actual);
            let is_other = |at: usize| {
                let (text, actual) = indents[at];
                let is_covered = is_patch && actual.len() == text.len() + 1 && actual.ends_with(text);
                text != actual && !is_covered && (at > 0 || !text.is_empty()) && is_short_line(texts[at].1)
            };
            match is_placed && (0..texts.len()).any(is_other) {
                true => MatchLevel::Slips,
                false => MatchLevel::UnevenIndent,
            }
        } else {
            level
        }
    }
}

/// The matched non-blank lines: index, quoted text and file text. If context lines have two readings, each uses the
/// more similar one, unless all of them fit better with the other.
pub(crate) fn texts<'a>(
    document: &'a TextDocument,
    quoted: &'a [QuotedLine],
    pairs: &[Option<usize>],
) -> Vec<(usize, &'a str, &'a str)> {
    let read = |pick: fn(&'a QuotedLine, &str) -> &'a str| -> Vec<(usize, &'a str, &'a str)> {
        let lines = quoted.iter().zip(pairs).enumerate();
        lines
            .filter_map(|(number, (line, pair))| {
                let actual = document.line((*pair)?);
                Some((number, pick(line, actual), actual)).filter(|(_, text, _)| !is_blank(text))
            })
            .collect()
    };
    let shift = |texts: &[(usize, &str, &str)]| {
        let indents: Vec<_> = texts
            .iter()
            .map(|(_, text, actual)| (indent_of(text), indent_of(actual)))
            .collect();
        IndentShift::of(&indents)
    };
    let nearest = read(QuotedLine::nearest);
    if shift(&nearest).is_some_and(|shift| shift.is_plain()) {
        return nearest;
    }
    let other = read(|line, _| line.or.as_ref().unwrap_or(&line.text));
    let found = shift(&nearest);
    if shift(&other).is_some_and(|shift| shift.is_plain() || found.is_none()) {
        return other;
    }
    let plain = read(|line, _| &line.text);
    if found.is_none() && shift(&plain).is_some() {
        plain
    } else {
        nearest
    }
}

fn line_level(text: &str, actual: &str) -> MatchLevel {
    if text == actual {
        MatchLevel::Exact
    } else if text.trim_end() == actual.trim_end() {
        MatchLevel::TrailingSpace
    } else if text.trim() == actual.trim() {
        MatchLevel::Indent
    } else if collapse(text) == collapse(actual) {
        MatchLevel::Spacing
    } else if squash(text) == squash(actual) && words(text).eq(words(actual)) {
        MatchLevel::Squeezed
    } else {
        MatchLevel::Slips
    }
}

/// The words of a line. A space between two words may not be missing: `SomeName` is not `Some Name`.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// The indices of the non-blank quoted lines.
pub(crate) fn solid_lines(quoted: &[QuotedLine]) -> Vec<usize> {
    (0..quoted.len()).filter(|at| !is_blank(&quoted[*at].text)).collect()
}

/// The candidates that are not dominated by another: closer lines with different blank lines and looser lines with the
/// same ones are not comparable.
pub(crate) fn best(all: Vec<MatchCandidate>) -> Vec<MatchCandidate> {
    let mut ranks: Vec<(MatchLevel, BlankLineMatch)> = all.iter().map(MatchCandidate::rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let beats = |one: (MatchLevel, BlankLineMatch), other: (MatchLevel, BlankLineMatch)| {
        one != other && one.0 <= other.0 && one.1 <= other.1
    };
    let unbeaten: Vec<(MatchLevel, BlankLineMatch)> = ranks
        .iter()
        .copied()
        .filter(|rank| !ranks.iter().any(|other| beats(*other, *rank)))
        .collect();
    all.into_iter()
        .filter(|candidate| unbeaten.contains(&candidate.rank()))
        .collect()
}

/// The decision about the candidates of one search.
#[derive(Debug)]
pub(crate) enum MatchPick {
    None,
    One(MatchCandidate),
    /// The first lines (from 0) of every candidate.
    Many(Vec<usize>),
}

impl Haystack<'_> {
    /// The only candidate, or the one selected by a line hint (from 0).
    pub(crate) fn pick(&self, mut candidates: Vec<MatchCandidate>, hint: Option<usize>) -> MatchPick {
        match candidates.len() {
            0 => MatchPick::None,
            1 => MatchPick::One(candidates.remove(0)),
            _ => {
                let lines: Vec<usize> = candidates.iter().map(MatchCandidate::first).collect();
                match hint.and_then(|hint| self.nearest(&lines, hint)) {
                    Some(at) => MatchPick::One(candidates.swap_remove(at)),
                    None => MatchPick::Many(lines),
                }
            }
        }
    }

    /// The line that the hint refers to. A hint that is only near one of several equal places may be stale, so it
    /// decides only if the history of the file allows it.
    pub(crate) fn nearest(&self, lines: &[usize], hint: usize) -> Option<usize> {
        self.history.choose(self.document, lines, hint)
    }
}

/// Whether a line only opens or closes a block.
fn is_short_line(line: &str) -> bool {
    const WORDS: [&str; 8] = ["end", "else", "done", "endif", "begin", "do", "fi", "try"];
    !line.chars().any(char::is_alphanumeric) || WORDS.contains(&line.trim().trim_end_matches([';', ')', ',', ':']))
}

/// Whether the quoted lines contain only common characters such as brackets.
pub(crate) fn is_trivial(quoted: &[QuotedLine]) -> bool {
    !quoted.iter().any(|line| line.text.chars().any(char::is_alphanumeric))
}

/// Whether another candidate has the indentation of the quoted lines and the chosen one has not.
pub(crate) fn is_beaten(all: &[MatchCandidate], chosen: &MatchCandidate) -> bool {
    let has_indent = |candidate: &MatchCandidate| candidate.level <= MatchLevel::TrailingSpace;
    !has_indent(chosen) && all.iter().any(has_indent)
}

/// The two lines if a looser match is nearer to the hint than the chosen one, because hint and text contradict each
/// other.
pub(crate) fn contradicts_hint(
    all: &[MatchCandidate],
    chosen: &MatchCandidate,
    hint: Option<usize>,
) -> Option<Vec<usize>> {
    let distance = |candidate: &MatchCandidate| hint.map(|hint| candidate.first().abs_diff(hint));
    let is_only_one = all.iter().filter(|other| other.rank() <= chosen.rank()).count() == 1;
    let other = all.iter().min_by_key(|other| distance(other))?;
    let contradicts = distance(other) < distance(chosen) && (!is_only_one || distance(other) == Some(0));
    contradicts.then(|| vec![other.first(), chosen.first()])
}

/// The line exactly at the hint.
pub(crate) fn nearest(lines: &[usize], hint: usize) -> Option<usize> {
    lines.iter().position(|line| *line == hint)
}
