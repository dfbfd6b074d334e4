//! `cargo xtask shape`: figures about names, comments, functions and crates, as a measure of readability.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use crate::no_arguments;
use crate::tidy::names::{self, FREE_NAMES};
use crate::tidy::{File, read_files};

/// A function with more lines than this does not fit on one screen.
const LONG_FUNCTION: usize = 60;

/// Words and phrases that plain technical English avoids, in lower case.
const PHRASING: &[&str] = &[
    "said", "says", "told", "tells", "nobody", "somebody", "heed", "mend", "mends", "mended", "whose", "stands",
];

/// Prints the figures.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    no_arguments("shape", args)?;
    print!("{}", report(&read_files(root)?));
    Ok(())
}

fn report(files: &[File]) -> String {
    let types = names::definitions(files);
    let mut text = String::new();
    let counted = types.values().map(Vec::len).sum::<usize>();
    let shared: usize = types.values().filter(|places| places.len() > 1).map(Vec::len).sum();
    let within: usize = types.values().map(|places| names::within_one_crate(places)).sum();
    line(&mut text, "types", &counted.to_string());
    line(
        &mut text,
        "types that share their name",
        &format!("{} (without {})", percent(shared, counted), FREE_NAMES.join(", ")),
    );
    line(&mut text, "  within one crate", &percent(within, counted));
    let (words, phrases) = phrasing(files);
    let rate = phrases as f64 * 10_000.0 / words.max(1) as f64;
    line(&mut text, "phrasing per 10,000 comment words", &format!("{rate:.0}"));
    let functions = function_lengths(files);
    let long = functions.iter().filter(|length| **length > LONG_FUNCTION).count();
    line(
        &mut text,
        "functions over 60 lines",
        &format!("{long} of {} ({})", functions.len(), percent(long, functions.len())),
    );
    let strings: usize = product(files).map(|file| string_errors(&file.text)).sum();
    line(&mut text, "`Result<_, String>` and the like", &strings.to_string());
    let bodies = product(files).filter(|file| file.text.contains("Body::")).count();
    line(&mut text, "files that match on item kinds", &bodies.to_string());
    text.push_str("\nlines of code (src, without tests)\n");
    let mut total = 0;
    for (name, lines) in lines_per_crate(files) {
        total += lines;
        line(&mut text, &format!("  {name}"), &lines.to_string());
    }
    line(&mut text, "  all", &total.to_string());
    text
}

/// Results whose error is a `String`, outside tests.
fn string_errors(text: &str) -> usize {
    let lines = names::without_tests(text).lines();
    let lines = lines.map(|line| line.replace("Map<String, String>", ""));
    lines
        .filter(|line| line.contains("Result<") && line.contains(", String>"))
        .count()
}

fn line(text: &mut String, name: &str, value: &str) {
    text.push_str(&format!("{name:<36} {value}\n"));
}

fn percent(part: usize, whole: usize) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// The product's sources: no tests, no test support.
fn product(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| names::is_product(&file.path))
}

/// Words in comments, and how many of them are in [`PHRASING`].
fn phrasing(files: &[File]) -> (usize, usize) {
    let (mut words, mut phrases) = (0, 0);
    for file in product(files) {
        for comment in names::without_tests(&file.text).lines().filter_map(comment) {
            words += comment.split_whitespace().count();
            phrases += comment
                .to_lowercase()
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .filter(|word| PHRASING.contains(word))
                .count();
            phrases += comment.to_lowercase().matches("goes on").count();
        }
    }
    (words, phrases)
}

fn comment(line: &str) -> Option<&str> {
    let (_, comment) = line.split_once("//")?;
    Some(comment.trim_start_matches(['/', '!']))
}

/// The number of lines of each function, found by indentation: rustfmt closes a function in the column where it begins.
fn function_lengths(files: &[File]) -> Vec<usize> {
    let mut lengths = Vec::new();
    for file in product(files) {
        let mut open: Option<(usize, usize)> = None;
        for (number, line) in names::without_tests(&file.text).lines().enumerate() {
            let indent = line.len() - line.trim_start().len();
            match open {
                None if starts_function(line) => open = Some((indent, number)),
                Some((column, start)) if indent == column && line.trim_start().starts_with('}') => {
                    lengths.push(number - start + 1);
                    open = None;
                }
                None | Some(_) => {}
            }
            // A declaration without a body, or a body on the same line.
            if open.is_some_and(|(_, start)| start == number) && (line.ends_with(';') || line.ends_with('}')) {
                open = None;
            }
        }
    }
    lengths
}

fn starts_function(line: &str) -> bool {
    let words: Vec<&str> = line
        .split_whitespace()
        .take_while(|word| !word.contains("fn("))
        .collect();
    words
        .iter()
        .position(|word| *word == "fn")
        .is_some_and(|at| words[..at].iter().all(|word| is_modifier(word)))
}

fn is_modifier(word: &str) -> bool {
    word.starts_with("pub") || matches!(word, "async" | "const" | "unsafe" | "extern" | "in" | "crate)")
}

fn lines_per_crate(files: &[File]) -> BTreeMap<&str, usize> {
    let mut lines = BTreeMap::new();
    for file in product(files) {
        if let Some(name) = names::crate_name(&file.path) {
            *lines.entry(name).or_default() += names::without_tests(&file.text).lines().count();
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_counted_in_comments_only() {
        let text = "//! Nobody reads this.\n\nlet said = \"told\"; // It goes on.\n";
        assert_eq!(phrasing(&[File::new("crates/a/src/lib.rs", text)]), (6, 2));
    }

    #[test]
    fn a_function_is_as_long_as_its_lines() {
        let text = "//! A.\n\nfn a() {\n    b();\n}\n\nimpl C {\n    pub(crate) async fn d(&self) {\n        e();\n        f();\n    }\n}\n";
        assert_eq!(function_lengths(&[File::new("crates/a/src/lib.rs", text)]), [3, 4]);
    }

    #[test]
    fn results_with_a_string_as_error_are_counted_outside_tests() {
        let text = "fn a() -> Result<u8, String> {}\nlet b: BTreeMap<u8, String>;\n#[cfg(test)]\nmod tests {\n    fn c() -> Result<u8, String> {}\n}\n";
        assert_eq!(string_errors(text), 1);
    }

    #[test]
    fn the_report_names_shared_types() {
        let files = [
            File::new("crates/a/src/lib.rs", "//! A.\npub struct Shared;\nstruct Own;\n"),
            File::new("crates/b/src/lib.rs", "//! B.\nenum Shared {}\n"),
        ];
        assert!(report(&files).contains("66.7 %"), "{}", report(&files));
    }
}
