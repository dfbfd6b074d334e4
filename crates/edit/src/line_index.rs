//! An index of line positions, so that finding a block costs in proportion to the frequency of its rarest line.

use std::collections::HashMap;

use crate::document::TextDocument;
use crate::fold::{is_blank, squash_key};

/// The non-blank lines of a file, each with a key that ignores whitespace and look-alike characters.
#[derive(Debug)]
pub(crate) struct LineIndex {
    lines: Vec<u32>,
    keys: Vec<u64>,
    places: HashMap<u64, Vec<u32>>,
}

impl LineIndex {
    pub(crate) fn new(document: &TextDocument) -> Self {
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

    /// The number of non-blank lines.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn key(&self, at: usize) -> Option<u64> {
        self.keys.get(at).copied()
    }

    /// The positions of `key` among the non-blank lines.
    pub(crate) fn positions(&self, key: u64) -> &[u32] {
        self.places.get(&key).map_or(&[], Vec::as_slice)
    }

    /// All positions among the non-blank lines where `keys` occur consecutively.
    pub(crate) fn sequences(&self, keys: &[u64]) -> Vec<usize> {
        let rarest = keys
            .iter()
            .enumerate()
            .min_by_key(|(_, key)| self.positions(**key).len());
        let Some((offset, key)) = rarest else { return Vec::new() };
        self.positions(*key)
            .iter()
            .filter_map(|place| (*place as usize).checked_sub(offset))
            .filter(|start| self.keys.get(*start..start + keys.len()) == Some(keys))
            .collect()
    }
}
