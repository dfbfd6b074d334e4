//! Rule: ARCHITECTURE.md is a short map with one entry per crate, each with its invariant.

use super::Problem;

const PLACE: &str = "ARCHITECTURE.md";
const SECTION: &str = "Code map";
const WORD_LIMIT: usize = 2_000;

/// Compares the `###` headings of the code map with the crates that exist.
pub(super) fn check(text: &str, crates: &[&str]) -> Vec<Problem> {
    let mut problems = Vec::new();
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

/// One crate's part of the code map.
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
        check(text, crates).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn a_map_with_every_crate_once_is_fine() {
        assert_eq!(messages(GOOD, &["model", "tool"]), Vec::<String>::new());
    }

    #[test]
    fn a_crate_without_a_heading_is_missed() {
        assert_eq!(
            messages(GOOD, &["model", "tool", "store"]),
            ["no heading \"### `store`\" under \"## Code map\""]
        );
    }

    #[test]
    fn a_heading_that_outlived_its_crate_is_found() {
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
    fn a_map_that_grew_too_long_is_found() {
        let text = format!("{GOOD}{}", "word ".repeat(WORD_LIMIT));
        assert!(messages(&text, &["model", "tool"])[0].contains("keep it at 2000"));
    }

    #[test]
    fn a_missing_map_misses_every_crate() {
        assert_eq!(messages("", &["model", "tool"]).len(), 2);
    }
}
