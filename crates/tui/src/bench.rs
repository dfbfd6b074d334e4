//! What the benchmarks reach: searches as the completion list makes them, and a prompt laid out as each key lays it out.

use crate::composer::Editor;
use crate::fuzzy::Fuzzy;
use std::sync::Arc;

/// Names of files as a large project has them.
pub fn names(count: usize) -> Arc<Vec<String>> {
    let parts = ["src", "crates", "composer", "tests", "views", "docs", "vendor"];
    let name = |n: usize| {
        let folder = |by: usize| parts[n / by % parts.len()];
        format!("{}/{}/{}{n}.rs", folder(7), folder(91), folder(1))
    };
    Arc::new((0..count).map(name).collect())
}

/// Searches for a query, in at most so many steps; how many names fit.
pub fn search(names: &Arc<Vec<String>>, query: &str, steps: usize) -> usize {
    let mut fuzzy = Fuzzy::paths(Arc::clone(names));
    fuzzy.seek(query);
    let mut done = 1;
    while fuzzy.is_working() && done < steps {
        fuzzy.step();
        done += 1;
    }
    fuzzy.count()
}

/// Searches as a person types, letter by letter; how many names fit at last.
pub fn type_out(names: &Arc<Vec<String>>, query: &str) -> usize {
    let mut fuzzy = Fuzzy::paths(Arc::clone(names));
    for (end, c) in query.char_indices() {
        fuzzy.seek(&query[..end + c.len_utf8()]);
        while fuzzy.is_working() {
            fuzzy.step();
        }
    }
    fuzzy.count()
}

/// A prompt of so many lines, some of them long.
pub fn prompt(lines: usize) -> String {
    let line = |n: usize| "the quick brown fox ".repeat(n % 8 + 1) + "\n";
    (0..lines).map(line).collect()
}

/// Lays a prompt out; how many rows it takes.
pub fn lay_out(text: &str, width: u16) -> usize {
    let mut editor = Editor::default();
    editor.set(text);
    editor.fit(width).rows().len()
}
