//! Finds the lines of a file most similar to quoted lines, for refusals.

use std::collections::HashMap;

use crate::fold::{is_blank, similarity, squash_key};
use crate::matcher::Haystack;
use crate::refusal::FileRegion;

const MAX_LINES: usize = 24;

/// The region most similar to `text`, with one line of context; `None` if nothing is similar.
pub(crate) fn region(haystack: &Haystack<'_>, text: &str) -> Option<FileRegion> {
    let quoted: Vec<&str> = text.lines().collect();
    let start = by_equal_lines(haystack, &quoted).or_else(|| by_similarity(haystack, &quoted))?;
    Some(region_at(haystack, start, quoted.len()))
}

/// `count` lines from `start` (from 0), with one more on each side.
pub(crate) fn region_at(haystack: &Haystack<'_>, start: usize, count: usize) -> FileRegion {
    let document = haystack.document;
    let from = start.saturating_sub(1);
    let to = (start + count + 1).min(document.line_count()).min(from + MAX_LINES);
    let lines = (from..to).map(|line| shortened(document.line(line))).collect();
    FileRegion { start: from + 1, lines }
}

/// For each place (lines from 1), the nearest line above or below that the other places do not have there.
pub(crate) fn distinguishing_neighbours(haystack: &Haystack<'_>, locations: &[usize]) -> Vec<(usize, String)> {
    const FARTHEST: isize = 12;
    const MAX_PLACES: usize = 8;
    let document = haystack.document;
    let line_at = |location: usize, offset: isize| {
        let line = location
            .checked_add_signed(offset)
            .filter(|line| *line > 0 && *line <= document.line_count())?;
        Some((line, document.line(line - 1).trim())).filter(|(_, text)| !text.is_empty())
    };
    let distinguishes = |location: usize, offset: isize| {
        let (line, text) = line_at(location, offset)?;
        let is_other =
            |other: &usize| *other == location || line_at(*other, offset).is_none_or(|(_, there)| there != text);
        locations
            .iter()
            .all(is_other)
            .then(|| (line, text.chars().take(80).collect()))
    };
    let offsets = || (1..=FARTHEST).flat_map(|distance| [-distance, distance]);
    let found = locations
        .iter()
        .take(MAX_PLACES)
        .map(|location| offsets().find_map(|offset| distinguishes(*location, offset)));
    found.flatten().collect()
}

fn shortened(line: &str) -> String {
    const MOST: usize = 400;
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// The position where most quoted lines occur at their relative distances; rare lines count more.
fn by_equal_lines(haystack: &Haystack<'_>, quoted: &[&str]) -> Option<usize> {
    const TOO_COMMON: usize = 64;
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (offset, line) in quoted.iter().enumerate().filter(|(_, line)| !is_blank(line)) {
        let locations = haystack.index.positions(squash_key(line));
        if locations.len() <= TOO_COMMON {
            for location in locations {
                let start = haystack.index.line(*location as usize).saturating_sub(offset);
                *votes.entry(start).or_default() += 1 + TOO_COMMON / locations.len();
            }
        }
    }
    votes
        .into_iter()
        .max_by_key(|(start, votes)| (*votes, std::cmp::Reverse(*start)))
        .map(|(start, _)| start)
}

/// The position of the line most similar to the longest quoted line.
fn by_similarity(haystack: &Haystack<'_>, quoted: &[&str]) -> Option<usize> {
    const MAX_COMPARED: usize = 20_000;
    const LONGEST: usize = 200;
    let (offset, sought) = quoted
        .iter()
        .map(|line| line.trim())
        .enumerate()
        .filter(|(_, line)| (4..=LONGEST).contains(&line.len()))
        .max_by_key(|(_, line)| line.len())?;
    let mut best = (0.5, None);
    for (number, line) in haystack.document.lines().enumerate().take(MAX_COMPARED) {
        let line = line.trim();
        if line.len() * 2 >= sought.len() && line.len() <= sought.len() * 2 {
            let likeness = similarity(sought, line);
            if likeness > best.0 {
                best = (likeness, Some(number));
            }
        }
    }
    best.1.map(|line| line.saturating_sub(offset))
}
