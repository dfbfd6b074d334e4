//! Instructions that hold for some files only: Markdown files whose front matter says for which, with `applyTo`.

use super::rules::{Ground, files};
use super::source::Source;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use prompt::{Front, Rules};
use std::path::{Path, PathBuf};

/// Where a project keeps them, the weaker first.
const FOLDERS: &[&str] = &[".github/instructions", ".hew/instructions"];
/// Where the person keeps their own.
const OWN: &str = "instructions";
/// A longer file is cut.
const MOST: u64 = 256 * 1024;

/// Instructions and what they are for.
#[derive(Debug, Clone)]
pub(super) struct Instructions {
    /// What they say.
    pub(super) rules: Rules,
    pub(super) scope: Scope,
    /// The folder that patterns are relative to; the person's hold in every folder of the project.
    root: Option<PathBuf>,
}

/// What instructions are for.
#[derive(Debug, Clone)]
pub(super) enum Scope {
    /// All files.
    Always,
    /// The files that match.
    Some(GlobSet),
    /// No files: only for who mentions them.
    Asked,
}

/// All instructions of the person and the project, the person's first.
pub(super) fn find(ground: &Ground) -> Vec<Instructions> {
    let mut found = Vec::new();
    for (folder, source) in ground.homes(OWN, FOLDERS) {
        for path in files(&folder, source) {
            found.extend(read(ground, &path, source));
        }
    }
    found
}

fn read(ground: &Ground, path: &Path, source: Source<'_>) -> Option<Instructions> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let in_github = path.components().any(|part| part.as_os_str() == ".github");
    let is_meant = match in_github {
        true => name.ends_with(".instructions.md"),
        false => name.ends_with(".md"),
    };
    let bytes = is_meant.then(|| source.read(path, MOST).ok()).flatten()?;
    let text = String::from_utf8_lossy(&bytes);
    let (front, body) = Front::split(&text);
    if body.trim().is_empty() {
        return None;
    }
    let scope = front.get(&["applyTo", "apply_to", "globs"]).map_or(Scope::Asked, scope);
    Some(Instructions {
        rules: Rules {
            path: ground.shown(path),
            text: body.trim().to_owned(),
        },
        scope,
        root: match source {
            Source::Person => None,
            Source::Project { workspace, .. } => Some(workspace.root().to_owned()),
        },
    })
}

impl Instructions {
    /// Whether they hold for this file of the project.
    pub(super) fn hold_for(&self, path: &Path, ground: &Ground) -> bool {
        let Scope::Some(globs) = &self.scope else { return false };
        let root = match &self.root {
            Some(root) => path.starts_with(root).then_some(root.as_path()),
            None => ground
                .projects()
                .map(|(root, _)| root)
                .find(|root| path.starts_with(root)),
        };
        let below = root.and_then(|root| path.strip_prefix(root).ok());
        below.is_some_and(|below| globs.is_match(below))
    }
}

/// What patterns say, which are separated by commas outside of braces. One that does not begin with `/` holds at any depth;
/// letters count the same in upper and lower case.
fn scope(said: &str) -> Scope {
    let patterns = split(said);
    if patterns.iter().any(|pattern| matches!(*pattern, "**" | "**/*" | "*")) {
        return Scope::Always;
    }
    let mut globs = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = match pattern.strip_prefix('/') {
            Some(anchored) => anchored.to_owned(),
            None if pattern.starts_with("**/") => pattern.to_owned(),
            None => format!("**/{}", pattern.trim_start_matches("./")),
        };
        let glob = GlobBuilder::new(&pattern)
            .literal_separator(true)
            .case_insensitive(true)
            .build();
        // A pattern that cannot be read matches nothing.
        if let Ok(glob) = glob {
            globs.add(glob);
        }
    }
    globs.build().map_or(Scope::Asked, Scope::Some)
}

fn split(said: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in said.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&said[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&said[start..]);
    let parts = parts.into_iter().map(|part| part.trim().trim_matches(['"', '\'']));
    parts.filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use workspace::Workspace;

    #[test]
    fn copilots_apply_to_patterns_hold_at_any_depth_and_braces_hold_together() {
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
            let holds = matches!(scope(patterns), Scope::Some(globs) if globs.is_match(path));
            assert_eq!(holds, expected, "{patterns} {path}");
        }
        for always in ["**", "**/*", "*", "*.rs, **"] {
            assert!(matches!(scope(always), Scope::Always), "{always}");
        }
    }

    #[test]
    fn instructions_are_found_in_their_folders_and_hold_for_what_they_say() {
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
            ("repo/.hew/instructions/all.md", "---\napplyTo: '**'\n---\nAll."),
            ("repo/.hew/instructions/asked.md", "Asked."),
            ("repo/.hew/instructions/empty.md", "---\napplyTo: '**'\n---\n"),
        ] {
            let path = temp.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let workspace = Workspace::open(&temp.path().join("repo")).unwrap();
        let ground = Ground::new(&workspace, Some(temp.path().join("home")));
        let found = find(&ground);
        let texts: Vec<&str> = found.iter().map(|found| found.rules.text.as_str()).collect();
        assert_eq!(texts, ["Mine.", "Web.", "All.", "Asked."]);
        let for_file = |file: &str| {
            let path = ground.root().join(file);
            let found = found.iter().filter(|found| found.hold_for(&path, &ground));
            found.map(|found| found.rules.text.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(for_file("web/x.py"), ["Mine.", "Web."]);
        assert_eq!(for_file("x.rs"), Vec::<&str>::new());
        assert!(matches!(found[2].scope, Scope::Always) && matches!(found[3].scope, Scope::Asked));
    }
}
