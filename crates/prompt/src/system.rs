//! The system prompt: who hew is, where it works, and what the project asks of it.

use policy::{Group, Mode};
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
    /// What the agent is for at the moment.
    pub mode: Mode,
    /// What the project and the person ask for in this mode, most general first.
    pub mode_rules: Vec<Rules>,
    /// Modes that are not built in, with when to choose them.
    pub modes: Vec<(String, String)>,
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
    place.push_str(&format!("Date: {}", facts.date));
    sections.push(place.into());
    let mut mode = mode(&facts.mode, &facts.modes);
    quote(&mut mode, &facts.mode_rules);
    sections.push(mode.into());
    sections
}

/// A longer text of a mode is cut, and says so.
const MODE_BYTES: usize = 16 * 1024;

/// What the mode asks for and leaves out. Last, since it is what changes within a session.
fn mode(mode: &Mode, others: &[(String, String)]) -> String {
    let mut text = format!("# Mode: {}", mode.name);
    for said in [&mode.role, &mode.instructions] {
        if !said.trim().is_empty() {
            let (kept, cut) = bound(said.trim(), MODE_BYTES);
            text.push_str(&format!("\n{kept}"));
            if cut > 0 {
                text.push_str(&format!("\n({cut} bytes left out)"));
            }
        }
    }
    let missing: Vec<&str> = [
        Group::Read,
        Group::Edit,
        Group::Command,
        Group::Browser,
        Group::Mcp,
        Group::Modes,
    ]
    .into_iter()
    .filter(|group| !mode.includes(*group))
    .map(Group::doing)
    .collect();
    if !missing.is_empty() {
        text.push_str(&format!("\nNot part of this mode: {}.", missing.join(", ")));
    }
    for rule in mode.files.iter().filter(|rule| rule.group == Group::Edit) {
        text.push_str(&format!(
            "\nFiles can be changed only where their path matches `{}`.",
            rule.pattern
        ));
    }
    if let Some(files) = &mode.only {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        text.push_str(&format!("\nOnly these files can be changed: {}", names.join(", ")));
    }
    if mode.includes(Group::Modes) && !others.is_empty() {
        text.push_str("\nMore modes for switch_mode:");
        for (name, when) in others.iter().filter(|(name, _)| *name != mode.name) {
            text.push_str(&format!("\n- {name}: {}", bound(when.trim(), 400).0));
        }
    }
    text
}

fn rules(rules: &[Rules]) -> String {
    let mut text =
        String::from("# Rules of this project and person\nFollow them; a later one outweighs an earlier one.");
    quote(&mut text, rules);
    text
}

fn quote(text: &mut String, rules: &[Rules]) {
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
            mode: Mode::code(),
            mode_rules: Vec::new(),
            modes: vec![("release".into(), "To make a release.".into())],
            rules: vec![Rules {
                path: "AGENTS.md".into(),
                text: "Use tabs.\n".into(),
            }],
        }
    }

    #[test]
    fn the_prompt_goes_from_stable_to_volatile_and_says_where_it_works() {
        let sections = system(&facts());
        assert_eq!(sections.len(), 4);
        assert!(sections[0].starts_with("You are hew"));
        assert!(
            sections[1].ends_with("<rules path=\"AGENTS.md\">\nUse tabs.\n</rules>"),
            "{}",
            sections[1]
        );
        assert!(sections[2].contains("/home/me/project") && sections[2].contains("2026-11-16"));
        assert!(sections[3].starts_with("# Mode: code\nYou are"), "{}", sections[3]);
        assert!(
            sections[3].ends_with("- release: To make a release."),
            "{}",
            sections[3]
        );
        assert_eq!(system(&facts()), sections);
    }

    #[test]
    fn a_mode_says_what_it_leaves_out_and_only_its_own_section_changes_with_it() {
        let code = system(&facts());
        let ask = system(&Facts {
            mode: Mode::ask(),
            modes: Vec::new(),
            ..facts()
        });
        assert_eq!(code[..3], ask[..3]);
        assert!(
            ask[3].ends_with("Not part of this mode: changing files, running commands."),
            "{}",
            ask[3]
        );
        let edit = system(&Facts {
            mode: Mode::edit(vec!["src/a.rs".into()]),
            ..facts()
        });
        assert!(
            edit[3].ends_with("Only these files can be changed: src/a.rs"),
            "{}",
            edit[3]
        );
        let architect = system(&Facts {
            mode: Mode::architect(),
            modes: Vec::new(),
            ..facts()
        });
        assert!(
            architect[3].ends_with(r"where their path matches `\.md$`."),
            "{}",
            architect[3]
        );
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
