//! What projects and people ask of agents in rules files.
//!
//! From the most general to the most particular, because a later rule outweighs an earlier one: the person's own, then for
//! each folder from the top of the repository down its rules file, then `.roo/rules` and `.hew/rules`, last those of the mode.

use super::source::{self, Source};
use crate::environment::Environment;
use crate::places;
use prompt::Rules;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use workspace::Workspace;

/// Names of rules files; the first that a folder has counts.
const NAMES: &[&str] = &[
    ".rules",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".github/copilot-instructions.md",
    "CLAUDE.md",
    "AGENT.md",
    "AGENTS.md",
    "GEMINI.md",
];
/// Folders in a project that hold folders of rules, the weaker first.
const HOMES: &[&str] = &[".roo", ".hew"];
/// More than any that is worth sending; what is too long is cut where the prompt is made.
const MOST: u64 = 256 * 1024;
/// As many files of a folder of rules are read.
const MOST_FILES: usize = 100;
/// As deep as folders of rules are looked into.
const DEEPEST: usize = 5;
/// What editors and systems leave behind.
const LITTER: &[&str] = &[
    ".DS_Store",
    ".bak",
    ".cache",
    ".db",
    ".lock",
    ".log",
    ".old",
    ".orig",
    ".part",
    ".pyc",
    ".rej",
    ".swo",
    ".swp",
    ".temp",
    ".tmp",
    "Thumbs.db",
    "~",
];

/// The rules for a project, the most general first.
pub(super) fn find(workspace: &Workspace, env: &Environment) -> Vec<Rules> {
    let (root, top, own) = (workspace.root(), &source::top(workspace), own(env));
    let project = Source::Project { workspace, top };
    let first = own.as_deref().and_then(|own| first_of(own, Source::Person));
    let mut found: Vec<Rules> = first.into_iter().collect();
    found.extend(own.iter().flat_map(|own| folder(&own.join("rules"), Source::Person)));
    let mut folders: Vec<&Path> = root.ancestors().take_while(|folder| folder.starts_with(top)).collect();
    folders.reverse();
    found.extend(folders.into_iter().filter_map(|folder| first_of(folder, project)));
    let homes = HOMES.iter().map(|home| root.join(home).join("rules"));
    found.extend(homes.flat_map(|home| folder(&home, project)));
    found
}

/// The rules for a mode, the most general first.
pub(super) fn of_mode(workspace: &Workspace, mode: &str, env: &Environment) -> Vec<Rules> {
    // The name of a mode may come from a file of the project's.
    if mode.contains(['/', '\\']) {
        return Vec::new();
    }
    let name = format!("rules-{mode}");
    let top = &source::top(workspace);
    let own = own(env).into_iter().map(|own| (own, Source::Person));
    let project = Source::Project { workspace, top };
    let homes = HOMES.iter().map(|home| (workspace.root().join(home), project));
    let homes = own.chain(homes);
    homes
        .flat_map(|(home, source)| folder(&home.join(&name), source))
        .collect()
}

/// The folder of the person's own configuration.
fn own(env: &Environment) -> Option<PathBuf> {
    let file = places::user_config(env).ok()?;
    file.parent().map(Path::to_path_buf)
}

fn first_of(folder: &Path, source: Source<'_>) -> Option<Rules> {
    NAMES.iter().find_map(|name| read(folder.join(name), source))
}

fn read(path: PathBuf, source: Source<'_>) -> Option<Rules> {
    let bytes = source.read(&path, MOST).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.trim().is_empty()).then_some(Rules { path, text })
}

/// All rules in a folder, by the names of their files.
fn folder(folder: &Path, source: Source<'_>) -> Vec<Rules> {
    let (mut paths, mut seen) = (Vec::new(), BTreeSet::new());
    gather(folder, source, DEEPEST, &mut seen, &mut paths);
    paths.sort_by_cached_key(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        (name, path.clone())
    });
    paths.truncate(MOST_FILES);
    paths.into_iter().filter_map(|path| read(path, source)).collect()
}

fn gather(folder: &Path, source: Source<'_>, depth: usize, seen: &mut BTreeSet<PathBuf>, paths: &mut Vec<PathBuf>) {
    // Links are followed, but not in circles.
    let is_new = source.folder(folder).is_some_and(|real| seen.insert(real));
    let Ok(entries) = fs::read_dir(folder) else { return };
    if !is_new {
        return;
    }
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if LITTER.iter().any(|litter| name.ends_with(litter)) || paths.len() > 10 * MOST_FILES {
            continue;
        }
        match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() && depth > 1 => gather(&path, source, depth - 1, seen, paths),
            Ok(meta) if meta.is_file() => paths.push(path),
            Ok(_) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Story {
        temp: tempfile::TempDir,
    }

    impl Story {
        fn new(files: &[(&str, &str)]) -> Self {
            let temp = tempfile::tempdir().unwrap();
            for (path, text) in files {
                let path = temp.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Story { temp }
        }

        fn find(&self, root: &str, mode: &str) -> Vec<String> {
            let config = self.temp.path().join("home/config.toml").display().to_string();
            let env = Environment::from([("HEW_CONFIG", config.as_str())]);
            fs::create_dir_all(self.temp.path().join("repo/.git")).unwrap();
            fs::write(self.temp.path().join("repo/.git/HEAD"), "ref: refs/heads/main").unwrap();
            let workspace = Workspace::open(&self.temp.path().join(root)).unwrap();
            let found = find(&workspace, &env);
            let found = found.into_iter().chain(of_mode(&workspace, mode, &env));
            found.map(|rules| rules.text).collect()
        }
    }

    #[test]
    fn rules_go_from_the_person_to_the_folder_at_hand() {
        let story = Story::new(&[
            ("home/AGENTS.md", "mine"),
            ("home/rules/b.md", "my second"),
            ("home/rules/A.md", "my first"),
            ("repo/AGENTS.md", "top"),
            ("repo/a/AGENTS.md", " \n"),
            ("repo/a/b/GEMINI.md", "deep"),
        ]);
        assert_eq!(
            story.find("repo/a/b", "code"),
            ["mine", "my first", "my second", "top", "deep"]
        );
    }

    #[test]
    fn zeds_order_of_rules_files_decides_which_one_of_a_folder_counts() {
        let mut files: Vec<(String, &str)> = NAMES.iter().map(|name| (format!("repo/{name}"), *name)).collect();
        while !files.is_empty() {
            let story: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
            assert_eq!(Story::new(&story).find("repo", "code"), [files[0].1]);
            files.remove(0);
        }
    }

    #[test]
    fn folders_of_rules_count_after_the_file_and_those_of_the_mode_last() {
        let story = Story::new(&[
            ("repo/.rules", "file"),
            ("repo/.roo/rules/z.md", "roo"),
            ("repo/.hew/rules/deep/a.md", "hew"),
            ("repo/.hew/rules/b.md.swp", "litter"),
            ("repo/.hew/rules-architect/m.md", "for architects"),
            ("repo/.clinerules/x.md", "a folder is no rules file"),
        ]);
        assert_eq!(story.find("repo", "code"), ["file", "roo", "hew"]);
        assert_eq!(
            story.find("repo", "architect"),
            ["file", "roo", "hew", "for architects"]
        );
    }

    #[cfg(unix)]
    #[test]
    fn rules_are_not_read_through_links_that_leave_the_repository() {
        use std::os::unix::fs::symlink;
        let story = Story::new(&[
            ("secret/key", "a key"),
            ("mine/long.md", "mine"),
            ("home/config.toml", ""),
            ("repo/docs/house.md", "house"),
            ("repo/.hew/rules/a.md", "a"),
            ("repo/.hew/rules-code/c.md", "c"),
        ]);
        let place = |name: &str| story.temp.path().join(name);
        symlink("../mine/long.md", place("home/AGENTS.md")).unwrap();
        symlink("../secret/key", place("repo/.rules")).unwrap();
        symlink("/dev/zero", place("repo/.cursorrules")).unwrap();
        symlink("docs/house.md", place("repo/AGENTS.md")).unwrap();
        symlink(place("secret"), place("repo/.hew/rules/b")).unwrap();
        symlink(".", place("repo/.hew/rules/again")).unwrap();
        symlink(place("secret/key"), place("repo/.hew/rules-code/d.md")).unwrap();
        assert_eq!(story.find("repo", "code"), ["mine", "house", "a", "c"]);
    }
}
