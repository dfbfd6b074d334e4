//! Where each line occurs in a file, so that finding a block costs in proportion to how rare its rarest line is.

use std::collections::HashMap;

use crate::fold::{is_blank, squash_key};
use crate::text::Document;

/// The non-blank lines of a file, each with a key that is equal for lines equal but for whitespace and look-alikes.
#[derive(Debug)]
pub(crate) struct Index {
    lines: Vec<u32>,
    keys: Vec<u64>,
    places: HashMap<u64, Vec<u32>>,
}

impl Index {
    pub(crate) fn new(document: &Document) -> Self {
        let mut index = Self {
            lines: Vec::new(),
            keys: Vec::new(),
            places: HashMap::new(),
        };
        for (number, line) in document.lines().enumerate() {
            if !is_blank(line) {
                let key = squash_key(line);
                let at = u32::try_from(index.lines.len()).unwrap_or(u32::MAX);
                index.places.entry(key).or_default().push(at);
                index.lines.push(u32::try_from(number).unwrap_or(u32::MAX));
                index.keys.push(key);
            }
        }
        index
    }

    /// The line number of the `at`-th non-blank line.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.lines.get(at).map_or(usize::MAX, |line| *line as usize)
    }

    /// How many non-blank lines there are.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn key(&self, at: usize) -> Option<u64> {
        self.keys.get(at).copied()
    }

    /// Where among the non-blank lines `key` occurs.
    pub(crate) fn places(&self, key: u64) -> &[u32] {
        self.places.get(&key).map_or(&[], Vec::as_slice)
    }

    /// Every place among the non-blank lines where `keys` follow each other.
    pub(crate) fn sequences(&self, keys: &[u64]) -> Vec<usize> {
        let rarest = keys.iter().enumerate().min_by_key(|(_, key)| self.places(**key).len());
        let Some((offset, key)) = rarest else { return Vec::new() };
        self.places(*key)
            .iter()
            .filter_map(|place| (*place as usize).checked_sub(offset))
            .filter(|start| self.keys.get(*start..start + keys.len()) == Some(keys))
            .collect()
    }
}
