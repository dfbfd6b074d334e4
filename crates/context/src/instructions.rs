//! Instructions for certain files: Markdown files with `applyTo` in their front matter.

use crate::origin::FileOrigin;
use crate::rules::{RuleSources, settings_files};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use policy::project_files::INSTRUCTION_FOLDERS;
use prompt::{FrontMatter, RulesFile};
use std::path::{Path, PathBuf};

/// Folder in the user's configuration.
const USER_FOLDER: &str = "instructions";
/// Maximum bytes read from a file.
const MAX_BYTES: u64 = 256 * 1024;

/// Instructions and the files they apply to.
#[derive(Debug, Clone)]
pub(crate) struct InstructionFile {
    /// Their path and text.
    pub(crate) rules: RulesFile,
    pub(crate) scope: InstructionScope,
    /// When the model should read them, if nothing else includes them.
    pub(crate) description: Option<String>,
    /// The folder that patterns are relative to; `None` for the user's, which apply in every folder of the project.
    root: Option<PathBuf>,
}

/// The files that instructions apply to.
#[derive(Debug, Clone)]
pub(crate) enum InstructionScope {
    /// All files.
    Always,
    /// Matching files.
    Matching(GlobSet),
    /// No files: included only when mentioned.
    OnMention,
}

/// All instructions, the user's first, then the project's.
pub(crate) fn find_instructions(sources: &RuleSources) -> Vec<InstructionFile> {
    let mut all = Vec::new();
    for (folder, origin) in sources.settings_folders(USER_FOLDER, INSTRUCTION_FOLDERS) {
        for path in settings_files(&folder, origin) {
            all.extend(read(sources, &path, origin));
        }
    }
    all
}

fn read(sources: &RuleSources, path: &Path, origin: FileOrigin<'_>) -> Option<InstructionFile> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let in_github = path.components().any(|part| part.as_os_str() == ".github");
    let is_meant = match in_github {
        true => name.ends_with(".instructions.md"),
        false => name.ends_with(".md") || name.ends_with(".mdc"),
    };
    let bytes = is_meant.then(|| origin.read(path, MAX_BYTES).ok()).flatten()?;
    let text = String::from_utf8_lossy(&bytes);
    let (front, body) = FrontMatter::split(&text);
    if body.trim().is_empty() {
        return None;
    }
    let files = front.get(&["applyTo", "apply_to", "globs", "paths"]);
    // Claude Code's rules apply to all files unless they name some.
    let in_claude = path.components().any(|part| part.as_os_str() == ".claude");
    let scope = match (front.get(&["trigger"]), front.flag("alwaysApply"), files) {
        (Some("always_on"), ..) | (_, Some(true), _) => InstructionScope::Always,
        (Some("manual" | "model_decision"), ..) => InstructionScope::OnMention,
        (_, _, Some(files)) => scope(files),
        (_, _, None) if in_claude => InstructionScope::Always,
        (_, _, None) => InstructionScope::OnMention,
    };
    let is_offered = matches!(scope, InstructionScope::OnMention) && front.get(&["trigger"]) != Some("manual");
    let description = front.get(&["description"]).filter(|_| is_offered);
    Some(InstructionFile {
        description: description.map(str::to_owned),
        rules: RulesFile {
            path: sources.display_path(path),
            text: body.trim().to_owned(),
        },
        scope,
        root: match origin {
            FileOrigin::User => None,
            FileOrigin::Project { workspace, .. } => Some(workspace.root().to_owned()),
        },
    })
}

impl InstructionFile {
    /// Whether they apply to this file of the project.
    pub(crate) fn applies_to(&self, path: &Path, sources: &RuleSources) -> bool {
        let InstructionScope::Matching(globs) = &self.scope else {
            return false;
        };
        let root = match &self.root {
            Some(root) => path.starts_with(root).then_some(root.as_path()),
            None => sources
                .projects()
                .map(|(root, _)| root)
                .find(|root| path.starts_with(root)),
        };
        let below = root.and_then(|root| path.strip_prefix(root).ok());
        below.is_some_and(|below| globs.is_match(below))
    }
}

/// Parses patterns, separated by commas outside of braces. A pattern without a leading `/` matches at any depth. Matching
/// ignores case.
fn scope(apply_to: &str) -> InstructionScope {
    let patterns = split(apply_to);
    if patterns.iter().any(|pattern| matches!(*pattern, "**" | "**/*" | "*")) {
        return InstructionScope::Always;
    }
    let mut globs = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = match pattern.strip_prefix('/') {
            Some(anchored) => anchored.to_owned(),
            None if pattern.starts_with("**/") => pattern.to_owned(),
            None => format!("**/{}", pattern.trim_start_matches("./")),
        };
        let glob = policy::is_bounded_pattern(&pattern).then(|| {
            GlobBuilder::new(&pattern)
                .literal_separator(true)
                .case_insensitive(true)
                .build()
        });
        // An invalid pattern matches nothing.
        if let Some(Ok(glob)) = glob {
            globs.add(glob);
        }
    }
    globs
        .build()
        .map_or(InstructionScope::OnMention, InstructionScope::Matching)
}

fn split(patterns: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in patterns.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&patterns[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&patterns[start..]);
    let parts = parts.into_iter().map(|part| part.trim().trim_matches(['"', '\'']));
    parts.filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use workspace::Workspace;

    #[test]
    fn apply_to_patterns_match_at_any_depth_and_keep_braces_together() {
        let cases = [
            ("*.rs", "src/deep/a.rs", true),
            ("*.RS", "a.rs", true),
            ("src/*.{ts,tsx}, docs/**", "app/src/x.tsx", true),
            ("src/*.{ts,tsx}, docs/**", "docs/a/b.md", true),
            ("src/*.{ts,tsx}, docs/**", "src/deep/x.ts", false),
            ("/src/*.ts", "app/src/x.ts", false),
            ("'**/*.py'", "x.py", true),
            ("[", "x", false),
        ];
        for (patterns, path, expected) in cases {
            let holds = matches!(scope(patterns), InstructionScope::Matching(globs) if globs.is_match(path));
            assert_eq!(holds, expected, "{patterns} {path}");
        }
        for always in ["**", "**/*", "*", "*.rs, **"] {
            assert!(matches!(scope(always), InstructionScope::Always), "{always}");
        }
    }

    #[test]
    fn instructions_are_found_and_apply_to_matching_files() {
        let temp = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("home/instructions/mine.md", "---\napplyTo: '*.py'\n---\nMine."),
            (
                "repo/.github/instructions/web.instructions.md",
                "---\napplyTo: \"web/**\"\n---\nWeb.",
            ),
            (
                "repo/.github/instructions/notes.md",
                "---\napplyTo: \"**\"\n---\nNot this one.",
            ),
            (
                "repo/.cursor/rules/a.mdc",
                "---\nglobs:\nalwaysApply: true\n---\nCursor.",
            ),
            ("repo/.claude/rules/any.md", "Claude."),
            ("repo/.claude/rules/some.md", "---\npaths:\n  - '*.py'\n---\nPython."),
            ("repo/.windsurf/rules/a.md", "---\ntrigger: always_on\n---\nWindsurf."),
            (
                "repo/.windsurf/rules/b.md",
                "---\ntrigger: glob\nglobs: *.go,*.py\n---\nGo.",
            ),
            (
                "repo/.windsurf/rules/c.md",
                "---\ntrigger: manual\nglobs: *.py\n---\nManual.",
            ),
            ("repo/.hew/instructions/all.md", "---\napplyTo: '**'\n---\nAll."),
            ("repo/.hew/instructions/asked.md", "Asked."),
            ("repo/.hew/instructions/empty.md", "---\napplyTo: '**'\n---\n"),
        ] {
            let path = temp.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let workspace = Workspace::open(&temp.path().join("repo")).unwrap();
        let sources = RuleSources::new(&workspace, Some(temp.path().join("home")));
        let found = find_instructions(&sources);
        let texts: Vec<&str> = found.iter().map(|file| file.rules.text.as_str()).collect();
        let expected = "Mine. Claude. Python. Cursor. Windsurf. Go. Manual. Web. All. Asked.";
        assert_eq!(texts.join(" "), expected);
        let for_file = |file: &str| {
            let path = sources.root().join(file);
            let found = found.iter().filter(|file| file.applies_to(&path, &sources));
            found.map(|file| file.rules.text.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(for_file("web/x.py"), ["Mine.", "Python.", "Go.", "Web."]);
        assert_eq!(for_file("x.rs"), Vec::<&str>::new());
        let always = found
            .iter()
            .filter(|file| matches!(file.scope, InstructionScope::Always));
        let always: Vec<&str> = always.map(|file| file.rules.text.as_str()).collect();
        assert_eq!(always, ["Claude.", "Cursor.", "Windsurf.", "All."]);
    }
}
