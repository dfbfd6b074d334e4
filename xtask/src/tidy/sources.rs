//! Rule: a source file states its purpose in the first line and stays short; crates have specific names.

use super::{File, Problem};

const LINE_LIMIT: usize = 700;
const VAGUE_NAMES: &[&str] = &["common", "core", "helpers", "misc", "shared", "util", "utils"];

/// Checks crate names and the sources of the product and the tasks.
pub(super) fn check(files: &[File], crates: &[&str]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for name in crates.iter().filter(|name| VAGUE_NAMES.contains(name)) {
        problems.push(Problem::new(
            format!("crates/{name}"),
            "this name is vague; name the crate after its content",
        ));
    }
    for file in files.iter().filter(|file| is_source(&file.path)) {
        problems.extend(check_file(file));
    }
    problems
}

/// `crates/*/src/**.rs` and `xtask/src/**.rs`.
fn is_source(path: &str) -> bool {
    let inside = match path.strip_prefix("crates/") {
        Some(rest) => rest.split_once('/').map(|(_, rest)| rest),
        None => path.strip_prefix("xtask/"),
    };
    path.ends_with(".rs") && inside.is_some_and(|rest| rest.starts_with("src/"))
}

fn check_file(file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    let first = file.text.lines().next().unwrap_or_default();
    if first.strip_prefix("//!").is_none_or(|rest| rest.trim().is_empty()) {
        problems.push(Problem::new(
            &file.path,
            "the first line must be `//! ` and the file's purpose",
        ));
    }
    let lines = file.text.lines().count();
    if lines > LINE_LIMIT {
        problems.push(Problem::new(
            &file.path,
            format!("{lines} lines; split it at {LINE_LIMIT} or before"),
        ));
    }
    if file.path.ends_with("/mod.rs") {
        problems.push(Problem::new(
            &file.path,
            "name it `foo.rs` next to `foo/`, not `foo/mod.rs`",
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(files: &[File], crates: &[&str]) -> Vec<String> {
        check(files, crates).into_iter().map(|problem| problem.place).collect()
    }

    #[test]
    fn a_short_file_with_a_purpose_passes() {
        let files = [File::new(
            "crates/model/src/chunk.rs",
            "//! A piece of an answer.\n\npub struct Chunk;\n",
        )];
        assert_eq!(places(&files, &["model"]), Vec::<String>::new());
    }

    #[test]
    fn a_file_without_a_purpose_is_reported() {
        for text in [
            "",
            "use std::fs;\n",
            "//!\n//! Late.\n",
            "// Not a doc comment.\n",
            "\n//! Second line.\n",
        ] {
            assert_eq!(
                places(&[File::new("crates/model/src/lib.rs", text)], &[]),
                ["crates/model/src/lib.rs"],
                "{text:?}"
            );
        }
        assert_eq!(
            places(&[File::new("xtask/src/main.rs", "fn main() {}\n")], &[]),
            ["xtask/src/main.rs"]
        );
    }

    #[test]
    fn the_line_limit_is_seven_hundred() {
        let text = format!("//! Long.\n{}", "\n".repeat(LINE_LIMIT - 1));
        assert_eq!(
            places(&[File::new("crates/a/src/lib.rs", &text)], &[]),
            Vec::<String>::new()
        );
        assert_eq!(
            places(&[File::new("crates/a/src/lib.rs", &format!("{text}\n"))], &[]).len(),
            1
        );
    }

    #[test]
    fn a_mod_rs_is_reported() {
        assert_eq!(
            places(&[File::new("crates/a/src/b/mod.rs", "//! B.\n")], &[]),
            ["crates/a/src/b/mod.rs"]
        );
    }

    #[test]
    fn tests_and_data_are_exempt() {
        let files = [
            File::new("crates/a/tests/turn.rs", "use a::b;\n"),
            File::new("crates/a/src/table.txt", "x\n"),
        ];
        assert_eq!(places(&files, &["a"]), Vec::<String>::new());
    }

    #[test]
    fn a_vague_crate_name_is_reported() {
        assert_eq!(
            places(&[], &["core", "model", "common", "utils"]),
            ["crates/core", "crates/common", "crates/utils"]
        );
    }
}
