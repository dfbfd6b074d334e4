//! Entry points for the benchmarks: completion search and prompt layout.

use crate::composer::TextEditor;
use crate::fuzzy::FuzzySearch;
use std::sync::Arc;

/// File names of a large project.
pub fn names(count: usize) -> Arc<Vec<String>> {
    let parts = ["src", "crates", "composer", "tests", "views", "docs", "vendor"];
    let name = |n: usize| {
        let folder = |by: usize| parts[n / by % parts.len()];
        format!("{}/{}/{}{n}.rs", folder(7), folder(91), folder(1))
    };
    Arc::new((0..count).map(name).collect())
}

/// Searches in at most `steps` steps; returns the number of matches.
pub fn search(names: &Arc<Vec<String>>, query: &str, steps: usize) -> usize {
    let mut fuzzy = FuzzySearch::paths(Arc::clone(names));
    fuzzy.set_query(query);
    let mut done = 1;
    while fuzzy.is_working() && done < steps {
        fuzzy.step();
        done += 1;
    }
    fuzzy.count()
}

/// Searches after each typed letter; returns the number of final matches.
pub fn type_out(names: &Arc<Vec<String>>, query: &str) -> usize {
    let mut fuzzy = FuzzySearch::paths(Arc::clone(names));
    for (end, c) in query.char_indices() {
        fuzzy.set_query(&query[..end + c.len_utf8()]);
        while fuzzy.is_working() {
            fuzzy.step();
        }
    }
    fuzzy.count()
}

/// A prompt with this number of lines, some of them long.
pub fn prompt(lines: usize) -> String {
    let line = |n: usize| "the quick brown fox ".repeat(n % 8 + 1) + "\n";
    (0..lines).map(line).collect()
}

/// Lays out a prompt; returns the number of rows.
pub fn lay_out(text: &str, width: u16) -> usize {
    let mut editor = TextEditor::default();
    editor.set(text);
    editor.layout_for(width).rows().len()
}
