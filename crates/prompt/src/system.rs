//! The system prompt: who hew is, where it works, and what the project asks of it.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

/// What the system prompt says about the place in which hew works.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Such as `linux x86_64`.
    pub platform: String,
    /// The project's folder.
    pub root: PathBuf,
    /// The git branch, where there is one.
    pub branch: Option<String>,
    /// Today, as `YYYY-MM-DD`.
    pub date: String,
    /// The mode's name.
    pub mode: String,
    /// What the project and the person ask for in rules files, most general first.
    pub rules: Vec<Rules>,
}

/// The text of a rules file.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Where it stands.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// A longer rules file is cut, and says so.
const RULES_BYTES: usize = 32 * 1024;

/// The system prompt, in sections from the most stable to the most volatile.
pub fn system(facts: &Facts) -> Vec<Arc<str>> {
    let mut sections: Vec<Arc<str>> = vec![include_str!("../templates/system.md").trim_end().into()];
    if !facts.rules.is_empty() {
        sections.push(rules(&facts.rules).into());
    }
    let mut place = format!(
        "# Where you work\nPlatform: {}\nProject folder (also the working folder of commands): {}\n",
        facts.platform,
        facts.root.display()
    );
    if let Some(branch) = &facts.branch {
        place.push_str(&format!("Git branch when the session began: {branch}\n"));
    }
    place.push_str(&format!("Date: {}\nMode: {}", facts.date, facts.mode));
    if facts.mode == "ask" {
        place.push_str(" (answer questions; files cannot be changed and commands cannot be run)");
    }
    sections.push(place.into());
    sections
}

fn rules(rules: &[Rules]) -> String {
    let mut text =
        String::from("# Rules of this project and person\nFollow them; a later one outweighs an earlier one.");
    for file in rules {
        let (kept, cut) = bound(&file.text, RULES_BYTES);
        text.push_str(&format!(
            "\n\n<rules path=\"{}\">\n{}\n</rules>",
            file.path.display(),
            kept.trim()
        ));
        if cut > 0 {
            // Writing to a string cannot fail.
            write!(
                text,
                "\n(The last {cut} bytes of this file are left out; read the file for the rest.)"
            )
            .ok();
        }
    }
    text
}

/// The beginning of a text, whole lines where possible, and how many bytes were left out.
fn bound(text: &str, bytes: usize) -> (&str, usize) {
    if text.len() <= bytes {
        return (text, 0);
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let end = text[..end].rfind('\n').unwrap_or(end);
    (&text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            platform: "linux x86_64".into(),
            root: "/home/me/project".into(),
            branch: Some("main".into()),
            date: "2026-11-16".into(),
            mode: "code".into(),
            rules: vec![Rules {
                path: "AGENTS.md".into(),
                text: "Use tabs.\n".into(),
            }],
        }
    }

    #[test]
    fn the_prompt_goes_from_stable_to_volatile_and_says_where_it_works() {
        let sections = system(&facts());
        assert_eq!(sections.len(), 3);
        assert!(sections[0].starts_with("You are hew"));
        assert!(
            sections[1].ends_with("<rules path=\"AGENTS.md\">\nUse tabs.\n</rules>"),
            "{}",
            sections[1]
        );
        assert!(sections[2].contains("/home/me/project") && sections[2].contains("2026-11-16"));
        assert_eq!(system(&facts()), sections);
    }

    #[test]
    fn a_long_rules_file_is_cut_at_a_line_and_says_so() {
        let text = "ä rule\n".repeat(10_000);
        let facts = Facts {
            rules: vec![Rules {
                path: "R".into(),
                text: text.clone(),
            }],
            ..facts()
        };
        let section = &system(&facts)[1];
        assert!(section.len() < RULES_BYTES + 400);
        assert!(section.contains("bytes of this file are left out"));
    }
}
