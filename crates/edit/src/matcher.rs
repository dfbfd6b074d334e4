//! The one matcher: finds where quoted lines stand in a file, strictest equality first, and never guesses between two places.

use crate::fold::{collapse, indent_of, is_blank, is_slip, squash, squash_key};
use crate::indent::Shift;
use crate::index::Index;
use crate::text::Document;

/// A line as the model quoted it. Patch context may or may not carry its leading space, hence two readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quoted {
    pub(crate) text: String,
    pub(crate) or: Option<String>,
}

impl Quoted {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            or: None,
        }
    }

    /// The reading that comes nearest to `actual`.
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
pub(crate) enum Level {
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
pub(crate) enum Blanks {
    Same,
    /// Quoted blank lines before or after the match are not in the file.
    EdgesDiffer,
    Differ,
}

/// One place where the quoted lines fit.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// For each quoted line the file's line (from 0); quoted blank lines may have none.
    pub(crate) pairs: Vec<Option<usize>>,
    pub(crate) level: Level,
    pub(crate) blanks: Blanks,
}

impl Candidate {
    pub(crate) fn first(&self) -> usize {
        self.pairs.iter().flatten().copied().min().unwrap_or(0)
    }

    /// The line after the last matched one.
    pub(crate) fn end(&self) -> usize {
        self.pairs.iter().flatten().copied().max().map_or(0, |last| last + 1)
    }

    pub(crate) fn rank(&self) -> (Level, Blanks) {
        (self.level, self.blanks)
    }
}

/// A file made ready for many searches.
#[derive(Debug)]
pub(crate) struct Haystack<'d> {
    pub(crate) document: &'d Document,
    pub(crate) index: &'d Index,
}

impl Haystack<'_> {
    /// The best places for `quoted`.
    pub(crate) fn best(&self, quoted: &[Quoted]) -> Vec<Candidate> {
        best(self.all(quoted))
    }

    /// Every place where all non-blank lines agree but for whitespace and look-alikes.
    pub(crate) fn all(&self, quoted: &[Quoted]) -> Vec<Candidate> {
        let solid = solid_lines(quoted);
        let keys: Vec<u64> = solid.iter().map(|at| squash_key(&quoted[*at].text)).collect();
        self.index
            .sequences(&keys)
            .into_iter()
            .map(|start| self.candidate(quoted, &solid, start))
            .filter(|candidate| candidate.level < Level::Slips)
            .collect()
    }

    /// Places where most lines agree and the others differ by slips only. Every non-blank line has its counterpart, so none can vanish.
    pub(crate) fn slips(&self, quoted: &[Quoted]) -> Vec<Candidate> {
        const TOO_COMMON: usize = 64;
        let solid = solid_lines(quoted);
        if solid.len() < 3 {
            return Vec::new();
        }
        let keys: Vec<u64> = solid.iter().map(|at| squash_key(&quoted[*at].text)).collect();
        let mut starts: Vec<usize> = Vec::new();
        for (offset, key) in keys.iter().enumerate() {
            let places = self.index.places(*key);
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

    fn is_close(&self, quoted: &[Quoted], solid: &[usize], keys: &[u64], start: usize) -> bool {
        if start + keys.len() > self.index.len() {
            return false;
        }
        let differing: Vec<usize> = (0..keys.len())
            .filter(|offset| self.index.key(start + offset) != Some(keys[*offset]))
            .collect();
        let is_distinctive =
            (0..keys.len()).any(|offset| !differing.contains(&offset) && self.index.places(keys[offset]).len() == 1);
        is_distinctive
            && differing.len() * 3 <= keys.len()
            && differing.iter().all(|offset| {
                is_slip(
                    &quoted[solid[*offset]].text,
                    self.document.line(self.index.line(start + offset)),
                )
            })
    }

    /// Pairs up the lines, blank ones too, and ranks how well they agree.
    fn candidate(&self, quoted: &[Quoted], solid: &[usize], start: usize) -> Candidate {
        let mut pairs = vec![None; quoted.len()];
        for (offset, at) in solid.iter().enumerate() {
            pairs[*at] = Some(self.index.line(start + offset));
        }
        let blanks = self.pair_blanks(quoted, solid, &mut pairs);
        let level = self.level(quoted, &pairs);
        Candidate { pairs, level, blanks }
    }

    fn pair_blanks(&self, quoted: &[Quoted], solid: &[usize], pairs: &mut [Option<usize>]) -> Blanks {
        let (Some(first), Some(last)) = (solid.first().copied(), solid.last().copied()) else {
            return Blanks::Differ;
        };
        let mut blanks = Blanks::Same;
        for window in solid.windows(2) {
            let (Some(from), Some(to)) = (pairs[window[0]], pairs[window[1]]) else {
                continue;
            };
            let (asked, there) = (window[1] - window[0] - 1, to - from - 1);
            for step in 1..=asked.min(there) {
                pairs[window[0] + step] = Some(from + step);
            }
            if asked != there {
                blanks = Blanks::Differ;
            }
        }
        let mut edges = Blanks::Same;
        for step in 1..=first {
            let above = pairs[first]
                .and_then(|line| line.checked_sub(step))
                .filter(|line| self.is_blank(*line));
            if above.is_none() {
                edges = Blanks::EdgesDiffer;
                break;
            }
            pairs[first - step] = above;
        }
        for step in 1..quoted.len() - last {
            let below = pairs[last].map(|line| line + step).filter(|line| self.is_blank(*line));
            if below.is_none() {
                edges = Blanks::EdgesDiffer;
                break;
            }
            pairs[last + step] = below;
        }
        blanks.max(edges)
    }

    fn is_blank(&self, line: usize) -> bool {
        line < self.document.line_count() && is_blank(self.document.line(line))
    }

    fn level(&self, quoted: &[Quoted], pairs: &[Option<usize>]) -> Level {
        let texts = texts(self.document, quoted, pairs);
        let level = texts
            .iter()
            .map(|(_, text, actual)| line_level(text, actual))
            .max()
            .unwrap_or(Level::Exact);
        let indents: Vec<_> = texts
            .iter()
            .map(|(_, text, actual)| (indent_of(text), indent_of(actual)))
            .collect();
        if level == Level::Indent && Shift::of(&indents).is_none() {
            Level::UnevenIndent
        } else {
            level
        }
    }
}

/// The matched lines that are not blank: their number, the quoted text and the file's. Where context lines have two readings, each takes
/// the nearer one, unless all of them make more sense with the other.
pub(crate) fn texts<'a>(
    document: &'a Document,
    quoted: &'a [Quoted],
    pairs: &[Option<usize>],
) -> Vec<(usize, &'a str, &'a str)> {
    let read = |pick: fn(&'a Quoted, &str) -> &'a str| -> Vec<(usize, &'a str, &'a str)> {
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
        Shift::of(&indents)
    };
    let nearest = read(Quoted::nearest);
    match shift(&nearest) {
        Some(shift) if shift.is_plain() => nearest,
        found => {
            let other = read(|line, _| line.or.as_ref().unwrap_or(&line.text));
            let is_better = shift(&other).is_some_and(|shift| shift.is_plain() || found.is_none());
            if is_better { other } else { nearest }
        }
    }
}

fn line_level(text: &str, actual: &str) -> Level {
    if text == actual {
        Level::Exact
    } else if text.trim_end() == actual.trim_end() {
        Level::TrailingSpace
    } else if text.trim() == actual.trim() {
        Level::Indent
    } else if collapse(text) == collapse(actual) {
        Level::Spacing
    } else if squash(text) == squash(actual) {
        Level::Squeezed
    } else {
        Level::Slips
    }
}

/// The numbers of the quoted lines that are not blank.
pub(crate) fn solid_lines(quoted: &[Quoted]) -> Vec<usize> {
    (0..quoted.len()).filter(|at| !is_blank(&quoted[*at].text)).collect()
}

/// The candidates that no other one beats: closer lines with different blank lines and looser lines with the same ones do not compare.
pub(crate) fn best(all: Vec<Candidate>) -> Vec<Candidate> {
    let mut ranks: Vec<(Level, Blanks)> = all.iter().map(Candidate::rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let beats = |one: (Level, Blanks), other: (Level, Blanks)| one != other && one.0 <= other.0 && one.1 <= other.1;
    let unbeaten: Vec<(Level, Blanks)> = ranks
        .iter()
        .copied()
        .filter(|rank| !ranks.iter().any(|other| beats(*other, *rank)))
        .collect();
    all.into_iter()
        .filter(|candidate| unbeaten.contains(&candidate.rank()))
        .collect()
}

/// What to do with the candidates of one search.
#[derive(Debug)]
pub(crate) enum Pick {
    None,
    One(Candidate),
    /// The first lines (from 0) of every candidate.
    Many(Vec<usize>),
}

/// One candidate, or the one that a line hint (from 0) singles out.
pub(crate) fn pick(mut candidates: Vec<Candidate>, hint: Option<usize>) -> Pick {
    match candidates.len() {
        0 => Pick::None,
        1 => Pick::One(candidates.remove(0)),
        _ => {
            let lines: Vec<usize> = candidates.iter().map(Candidate::first).collect();
            match hint.and_then(|hint| nearest(&lines, hint)) {
                Some(at) => Pick::One(candidates.swap_remove(at)),
                None => Pick::Many(lines),
            }
        }
    }
}

/// Whether the quoted lines are nothing but brackets and the like, which are everywhere.
pub(crate) fn is_trivial(quoted: &[Quoted]) -> bool {
    !quoted.iter().any(|line| line.text.chars().any(char::is_alphanumeric))
}

/// Where a looser fit stands nearer to the line that was named than the one chosen: hint and text contradict each other.
pub(crate) fn against_hint(all: &[Candidate], chosen: &Candidate, hint: Option<usize>) -> Option<Vec<usize>> {
    let distance = |candidate: &Candidate| hint.map(|hint| candidate.first().abs_diff(hint));
    let is_only_one = all.iter().filter(|other| other.rank() <= chosen.rank()).count() == 1;
    let other = all.iter().min_by_key(|other| distance(other))?;
    let contradicts = distance(other) < distance(chosen) && (!is_only_one || distance(other) == Some(0));
    contradicts.then(|| vec![other.first(), chosen.first()])
}

/// Which of `lines` the hint means: clearly nearer than every other one, and not far away.
pub(crate) fn nearest(lines: &[usize], hint: usize) -> Option<usize> {
    const FAR: usize = 20;
    let distance = |at: &usize| lines[*at].abs_diff(hint);
    let best = (0..lines.len()).min_by_key(distance)?;
    let second = (0..lines.len()).filter(|at| *at != best).map(|at| distance(&at)).min();
    let near = distance(&best);
    let is_clear = second.is_none_or(|second| near == 0 && second > 0 || second >= 4 * near + 8);
    (near <= FAR && is_clear).then_some(best)
}
