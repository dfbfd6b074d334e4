//! Rule: ARCHITECTURE.md is short, has one entry per crate with its invariant, and names files that exist.

use super::{File, Problem};

const PLACE: &str = "ARCHITECTURE.md";
const SECTION: &str = "Code map";
const WORD_LIMIT: usize = 2_300;

/// Compares the `###` headings of the code map with the crates that exist.
pub(super) fn check(text: &str, crates: &[&str], files: &[File]) -> Vec<Problem> {
    let mut problems = missing_files(text, crates, files);
    let words = text.split_whitespace().count();
    if words > WORD_LIMIT {
        problems.push(Problem::new(
            PLACE,
            format!("{words} words; keep it at {WORD_LIMIT} or fewer"),
        ));
    }
    let entries = entries(text);
    for name in crates {
        match entries.iter().filter(|entry| entry.name == *name).count() {
            0 => problems.push(Problem::new(
                PLACE,
                format!("no heading \"### `{name}`\" under \"## {SECTION}\""),
            )),
            1 => {}
            count => problems.push(Problem::new(PLACE, format!("{count} headings for `{name}`"))),
        }
    }
    for entry in &entries {
        if !crates.contains(&entry.name) {
            problems.push(Problem::new(
                PLACE,
                format!("a heading for `{}`, which is not a crate", entry.name),
            ));
        } else if entry.body.matches("*Invariant:*").count() != 1 {
            problems.push(Problem::new(
                PLACE,
                format!("`{}` needs exactly one sentence marked *Invariant:*", entry.name),
            ));
        }
    }
    problems
}

/// Reports source files that the text names and that do not exist. `agent/turn.rs` is `crates/agent/src/turn.rs`.
fn missing_files(text: &str, crates: &[&str], files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for name in text.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs")) {
        let path = match name.split_once('/') {
            Some((first, rest)) if crates.contains(&first) => format!("crates/{first}/src/{rest}"),
            Some(("crates" | "xtask", _)) => name.to_owned(),
            // A file of the crate that the paragraph describes.
            Some(_) | None => continue,
        };
        if !files.iter().any(|file| file.path == path) {
            problems.push(Problem::new(PLACE, format!("names `{name}`, which does not exist")));
        }
    }
    problems
}

/// The entry of a crate in the code map.
struct Entry<'a> {
    name: &'a str,
    body: String,
}

fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            inside = title.trim() == SECTION;
        } else if let Some(title) = line.strip_prefix("### ").filter(|_| inside) {
            entries.push(Entry {
                name: title.trim().trim_matches('`'),
                body: String::new(),
            });
        } else if let Some(entry) = entries.last_mut().filter(|_| inside) {
            entry.body.push_str(line);
            entry.body.push('\n');
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# Map\n\n## Start\n\n### not a crate\n\n## Code map\n\n### `model`\n\nWords. *Invariant:* a.\n\n\
                        ### `tool`\n\n*Invariant:* b.\n\n## After\n\n### also no crate\n";

    fn messages(text: &str, crates: &[&str]) -> Vec<String> {
        check(text, crates, &[File::new("crates/model/src/lib.rs", "")])
            .into_iter()
            .map(|problem| problem.message)
            .collect()
    }

    #[test]
    fn a_map_with_every_crate_once_passes() {
        assert_eq!(messages(GOOD, &["model", "tool"]), Vec::<String>::new());
    }

    #[test]
    fn a_crate_without_a_heading_is_reported() {
        assert_eq!(
            messages(GOOD, &["model", "tool", "store"]),
            ["no heading \"### `store`\" under \"## Code map\""]
        );
    }

    #[test]
    fn a_heading_without_a_crate_is_found() {
        assert_eq!(
            messages(GOOD, &["model"]),
            ["a heading for `tool`, which is not a crate"]
        );
    }

    #[test]
    fn a_crate_described_twice_is_found() {
        let text = GOOD.replace("### `tool`", "### `model`");
        assert_eq!(messages(&text, &["model"]), ["2 headings for `model`"]);
    }

    #[test]
    fn a_crate_without_an_invariant_or_with_two_is_found() {
        for text in [
            GOOD.replace("*Invariant:* b.", "b."),
            GOOD.replace("*Invariant:* b.", "*Invariant:* b. *Invariant:* c."),
        ] {
            assert_eq!(
                messages(&text, &["model", "tool"]),
                ["`tool` needs exactly one sentence marked *Invariant:*"]
            );
        }
    }

    #[test]
    fn a_map_that_is_too_long_is_found() {
        let text = format!("{GOOD}{}", "word ".repeat(WORD_LIMIT));
        assert!(messages(&text, &["model", "tool"])[0].contains("keep it at 2300"));
    }

    #[test]
    fn a_file_that_does_not_exist_is_reported() {
        let text = format!("{GOOD}`model/lib.rs`, `model/gone.rs`, `other.rs` and `crates/model/src/lib.rs`\n");
        assert_eq!(
            messages(&text, &["model", "tool"]),
            ["names `model/gone.rs`, which does not exist"]
        );
    }

    #[test]
    fn without_a_map_every_crate_is_reported() {
        assert_eq!(messages("", &["model", "tool"]).len(), 2);
    }
}
