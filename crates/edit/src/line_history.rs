//! The versions of a file whose line numbers the author of an edit may use, and the translation of these numbers.

use std::cell::OnceCell;
use std::sync::Arc;

use similar::DiffTag;

use crate::document::TextDocument;
use crate::text_diff::compare;

/// The versions of a file that the author of an edit has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenVersions {
    /// What is known about the line numbers that the author uses.
    pub numbers: LineNumberBasis,
    /// Earlier versions, oldest first.
    pub earlier: Vec<Arc<str>>,
}

/// The version that line numbers refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineNumberBasis {
    /// Unknown.
    #[default]
    Unknown,
    /// The current version.
    Current,
    /// The earlier version with this index, or the current one.
    Earlier(usize),
}

/// A place among several equal ones is the one that a line number means only if it is at most this far away.
const NEAR: usize = 3;
/// The other places must be at least this far away, and this many times as far.
const FAR: usize = 20;
const TIMES: usize = 10;

/// Translates line numbers to the current version.
#[derive(Debug, Default)]
pub(crate) struct LineHistory {
    seen: SeenVersions,
    /// For each earlier version, the current line of each of its lines.
    maps: Vec<OnceCell<LineMap>>,
}

/// The current line (from 0) of each line of an earlier version.
type LineMap = Vec<Option<usize>>;

impl LineHistory {
    pub(crate) fn new(seen: SeenVersions) -> Self {
        let maps = seen.earlier.iter().map(|_| OnceCell::new()).collect();
        Self { seen, maps }
    }

    /// The place (lines from 0) that a line number refers to: one exactly at the number, in the version that was read or
    /// in the current one, or one that is clearly the nearest if no lines have moved.
    pub(crate) fn choose(&self, document: &TextDocument, places: &[usize], hint: usize) -> Option<usize> {
        let at = |line: usize| places.iter().position(|place| *place == line);
        match self.seen.numbers {
            LineNumberBasis::Unknown => at(hint),
            LineNumberBasis::Current => at(hint).or_else(|| clearly_nearest(places, hint)),
            LineNumberBasis::Earlier(version) => {
                let moved = self.translate(document, version, hint).and_then(at);
                match (at(hint), moved) {
                    (Some(now), Some(moved)) if now != moved => None,
                    (now, moved) => moved.or(now),
                }
            }
        }
    }

    /// The current lines that a line of the current or of an earlier version may be, if it has this content.
    pub(crate) fn places(
        &self,
        document: &TextDocument,
        line: usize,
        has_content: &dyn Fn(&str) -> bool,
    ) -> Vec<usize> {
        let now = (line < document.line_count() && has_content(document.line(line))).then_some(line);
        let mut places: Vec<usize> = now.into_iter().collect();
        for (version, text) in self.seen.earlier.iter().enumerate() {
            let was = text.lines().nth(line).is_some_and(has_content);
            if let Some(moved) = self.translate(document, version, line).filter(|_| was)
                && !places.contains(&moved)
            {
                places.push(moved);
            }
        }
        places
    }

    fn translate(&self, document: &TextDocument, version: usize, line: usize) -> Option<usize> {
        let text = self.seen.earlier.get(version)?;
        let map = self.maps.get(version)?.get_or_init(|| line_map(text, document));
        map.get(line).copied().flatten()
    }
}

fn line_map(earlier: &str, document: &TextDocument) -> LineMap {
    let earlier = TextDocument::parse(earlier);
    let old: Vec<&str> = earlier.lines().collect();
    let new: Vec<&str> = document.lines().collect();
    let mut map = vec![None; old.len()];
    for part in compare(&old, &new, None) {
        let (tag, before, after) = part.as_tag_tuple();
        if tag == DiffTag::Equal {
            for (from, to) in before.zip(after) {
                map[from] = Some(to);
            }
        }
    }
    map
}

fn clearly_nearest(places: &[usize], hint: usize) -> Option<usize> {
    let distance = |at: &usize| places[*at].abs_diff(hint);
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(distance);
    let (first, second) = (order.first()?, order.get(1)?);
    let (near, far) = (distance(first), distance(second));
    (near <= NEAR && far >= FAR && far >= near.saturating_mul(TIMES)).then_some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_number_selects_a_location_only_if_it_is_reliable() {
        let text: String = (0..100)
            .map(|n| if n % 40 == 4 { "same\n".into() } else { format!("{n}\n") })
            .collect();
        let document = TextDocument::parse(&text);
        let places = [4, 44, 84];
        let choose = |seen: SeenVersions, hint| LineHistory::new(seen).choose(&document, &places, hint);
        let seen = |numbers| SeenVersions {
            numbers,
            earlier: vec![Arc::from(format!("a\nb\nc\n{text}"))],
        };
        assert_eq!(choose(seen(LineNumberBasis::Unknown), 44), Some(1));
        assert_eq!(choose(seen(LineNumberBasis::Unknown), 45), None);
        assert_eq!(choose(seen(LineNumberBasis::Current), 46), Some(1));
        assert_eq!(choose(seen(LineNumberBasis::Current), 60), None);
        // Three lines were removed since.
        assert_eq!(choose(seen(LineNumberBasis::Earlier(0)), 47), Some(1));
        assert_eq!(choose(seen(LineNumberBasis::Earlier(0)), 44), Some(1));
        assert_eq!(choose(seen(LineNumberBasis::Earlier(0)), 46), None);
        // Exact in both versions, at different locations.
        let moved = SeenVersions {
            numbers: LineNumberBasis::Earlier(0),
            earlier: vec![Arc::from(format!("{}{text}", "x\n".repeat(40)))],
        };
        assert_eq!(choose(moved, 44), None);
    }
}
