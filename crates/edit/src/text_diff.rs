//! Differences between sequences of lines, words or characters.
//!
//! Everything is compared as numbers, so that the large algorithm is compiled once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write as _;
use std::hash::Hash;
use std::time::Instant;

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::udiff::UnifiedHunkHeader;
use similar::{DiffOp, DiffTag, group_diff_ops};

/// The operations that turn `old` into `new`. After the deadline they may not be minimal.
pub fn compare<T: Eq + Hash>(old: &[T], new: &[T], deadline: Option<Instant>) -> Vec<DiffOp> {
    let mut numbers = HashMap::with_capacity(old.len());
    let mut number = |item| {
        let next = numbers.len() as u32;
        match numbers.entry(item) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => *free.insert(next),
        }
    };
    let old: Vec<u32> = old.iter().map(&mut number).collect();
    let new: Vec<u32> = new.iter().map(&mut number).collect();
    compare_numbers(&old, &new, deadline)
}

/// The same for numbers.
pub(crate) fn compare_numbers(old: &[u32], new: &[u32], deadline: Option<Instant>) -> Vec<DiffOp> {
    let mut hook = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = myers::diff_deadline(&mut hook, old, 0..old.len(), new, 0..new.len(), deadline);
    hook.into_inner().into_inner().into_ops()
}

/// Splits text into words and the text between them.
pub fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_space = first.is_whitespace();
        let end = rest.find(|c: char| c.is_whitespace() != is_space).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

/// A difference in the format of `diff -u`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnifiedDiff {
    /// Its hunks, without the file header.
    pub text: String,
    /// The number of added lines.
    pub added: usize,
    /// The number of removed lines.
    pub removed: usize,
}

/// The difference between two texts, with this many context lines.
pub fn unified_diff(old: &str, new: &str, context: usize) -> UnifiedDiff {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let mut unified = UnifiedDiff {
        text: String::new(),
        added: 0,
        removed: 0,
    };
    for hunk in group_diff_ops(compare(&old, &new, None), context) {
        if hunk.is_empty() {
            continue;
        }
        // Writing to a string does not fail.
        writeln!(unified.text, "{}", UnifiedHunkHeader::new(&hunk)).ok();
        for op in hunk {
            let (tag, before, after) = op.as_tag_tuple();
            if tag == DiffTag::Equal {
                unified.lines(' ', &old[before]);
                continue;
            }
            unified.removed += before.len();
            unified.added += after.len();
            unified.lines('-', &old[before]);
            unified.lines('+', &new[after]);
        }
    }
    unified
}

impl UnifiedDiff {
    fn lines(&mut self, sign: char, lines: &[&str]) {
        for line in lines {
            self.text.push(sign);
            self.text.push_str(line);
            if !line.ends_with('\n') {
                self.text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_into_words_and_spaces() {
        for (text, expected) in [
            ("", &[][..]),
            ("let x  = größe;\n", &["let", " ", "x", "  ", "=", " ", "größe;", "\n"]),
            ("\t a", &["\t ", "a"]),
        ] {
            assert_eq!(words(text), expected);
        }
    }

    #[test]
    fn a_unified_diff_groups_changes_and_marks_a_missing_final_newline() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\ntwo\n3\n4\n5\n6\n7\n8\n9";
        let diff = unified_diff(old, new, 1);
        assert_eq!(
            diff.text,
            "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n@@ -8,2 +8,2 @@\n 8\n-9\n+9\n\\ No newline at end of file\n"
        );
        assert_eq!((diff.added, diff.removed), (2, 2));
        assert_eq!(unified_diff("", "a\n", 3).text, "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(unified_diff(old, old, 3).text, "");
    }
}
