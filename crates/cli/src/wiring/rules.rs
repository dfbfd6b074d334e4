//! What projects and people ask of agents in rules files.
//!
//! From the most general to the most particular, because a later rule outweighs an earlier one: the person's own, then for
//! each folder of the project its rules file, from the top of the repository down, then its `.roo/rules` and `.hew/rules`, last
//! those of the mode. What lies deeper is told when a file there is touched.

use super::source::{self, Source};
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
/// All rules together: what goes beyond it is only named.
const MOST_TOGETHER: usize = 128 * 1024;
/// How far files may bring in others.
const IMPORTS: usize = 3;
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

/// Where rules are looked for.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    /// The folder of the person's own configuration.
    pub(super) own: Option<PathBuf>,
    /// The folders of the project, the main one first, each with the top folder of the repository around it.
    roots: Vec<(Workspace, PathBuf)>,
}

impl Ground {
    pub(super) fn new(workspace: &Workspace, own: Option<PathBuf>) -> Self {
        let more = workspace.more().iter().filter_map(|root| {
            let other = Workspace::open(root).ok()?;
            let hides = workspace.clone();
            Some(other.hiding(move |path| hides.hides(path)))
        });
        let roots = [workspace.clone()].into_iter().chain(more);
        let roots = roots.map(|root| {
            let top = source::top(&root);
            (root, top)
        });
        Ground {
            own,
            roots: roots.collect(),
        }
    }

    /// The main folder of the project.
    pub(super) fn root(&self) -> &Path {
        self.roots.first().map_or(Path::new("/"), |(root, _)| root.root())
    }

    /// The folders of the project and whose their files are.
    pub(super) fn projects(&self) -> impl Iterator<Item = (&Path, Source<'_>)> {
        self.roots
            .iter()
            .map(|(workspace, top)| (workspace.root(), Source::Project { workspace, top }))
    }

    /// All folders that may hold some folder of settings, the weakest first: the person's own, then those of the projects.
    pub(super) fn homes<'a>(&'a self, own: &'a str, project: &'a [&str]) -> Vec<(PathBuf, Source<'a>)> {
        let mine = self.own.iter().map(move |home| (home.join(own), Source::Person));
        let theirs = self
            .projects()
            .flat_map(move |(root, source)| project.iter().map(move |folder| (root.join(folder), source)));
        mine.chain(theirs).collect()
    }

    /// A path as the model is told: from the main folder of the project where it lies in it.
    pub(super) fn shown(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.root()).unwrap_or(path).to_owned()
    }

    /// The rules that always hold, the most general first.
    pub(super) fn rules(&self) -> Vec<Rules> {
        let own = self.own.as_deref();
        let mut found: Vec<Rules> = own
            .and_then(|own| self.first_of(own, Source::Person))
            .into_iter()
            .collect();
        found.extend(
            own.iter()
                .flat_map(|own| self.folder(&own.join("rules"), Source::Person)),
        );
        for ((root, source), (_, top)) in self.projects().zip(&self.roots) {
            let folders = folders(root, top).into_iter();
            found.extend(folders.filter_map(|folder| self.first_of(folder, source)));
            let homes = HOMES.iter().map(|home| root.join(home).join("rules"));
            found.extend(homes.flat_map(|home| self.folder(&home, source)));
        }
        // Two folders of a project may lie in one repository.
        let mut seen = BTreeSet::new();
        found.retain(|rules| seen.insert(rules.path.clone()));
        found
    }

    /// What to tell of rules files that nobody reads because another one beside them counts and says something else.
    pub(super) fn unread(&self) -> Vec<String> {
        let mut told = Vec::new();
        for ((root, source), (_, top)) in self.projects().zip(&self.roots) {
            for folder in folders(root, top) {
                let mut found = NAMES.iter().filter_map(|name| self.read(&folder.join(name), source));
                let Some(first) = found.next() else { continue };
                let others = found.filter(|other| !first.text.contains(other.text.trim()));
                told.extend(others.map(|other| {
                    let (first, other) = (first.path.display(), other.path.display());
                    format!("{first} counts, so {other} is not read; a line `@FILE` in a rules file brings in another")
                }));
            }
        }
        told.dedup();
        told
    }

    /// The rules for a mode, the most general first.
    pub(super) fn of_mode(&self, mode: &str) -> Vec<Rules> {
        // The name of a mode may come from a file of the project's.
        if mode.contains(['/', '\\']) {
            return Vec::new();
        }
        let name = format!("rules-{mode}");
        let homes: Vec<String> = HOMES.iter().map(|home| format!("{home}/{name}")).collect();
        let homes: Vec<&str> = homes.iter().map(String::as_str).collect();
        let folders = self.homes(&name, &homes);
        folders
            .into_iter()
            .flat_map(|(home, source)| self.folder(&home, source))
            .collect()
    }

    /// The folders below a folder of the project in which rules for this path may lie, the outermost first. Those of the
    /// folder itself always hold.
    pub(super) fn folders_of<'a>(&self, path: &'a Path) -> Vec<&'a Path> {
        let root = self
            .projects()
            .map(|(root, _)| root)
            .find(|root| path.starts_with(root));
        let Some(root) = root else { return Vec::new() };
        let above = path.ancestors().take_while(|folder| *folder != root);
        let mut folders: Vec<&Path> = above.collect();
        folders.reverse();
        folders
    }

    /// The rules file of a folder of the project.
    pub(super) fn nested(&self, folder: &Path) -> Option<Rules> {
        let (_, source) = self.projects().find(|(root, _)| folder.starts_with(root))?;
        self.first_of(folder, source)
    }

    /// A rules file as it is now, by the path that the model was told.
    pub(super) fn again(&self, shown: &str) -> Option<Rules> {
        let path = self.root().join(shown);
        let is_rules = NAMES.iter().any(|name| path.ends_with(name));
        let (_, source) = self.projects().find(|(root, _)| path.starts_with(root))?;
        if is_rules { self.read(&path, source) } else { None }
    }

    fn first_of(&self, folder: &Path, source: Source<'_>) -> Option<Rules> {
        NAMES.iter().find_map(|name| self.read(&folder.join(name), source))
    }

    pub(super) fn read(&self, path: &Path, source: Source<'_>) -> Option<Rules> {
        let text = imported(path, source, IMPORTS)?;
        (!text.trim().is_empty()).then(|| Rules {
            path: self.shown(path),
            text,
        })
    }

    /// All rules in a folder, by the names of their files.
    pub(super) fn folder(&self, folder: &Path, source: Source<'_>) -> Vec<Rules> {
        let paths = files(folder, source);
        paths.into_iter().filter_map(|path| self.read(&path, source)).collect()
    }
}

/// The folders that may hold a rules file which always counts, the outermost first.
fn folders<'a>(root: &'a Path, top: &Path) -> Vec<&'a Path> {
    let mut folders: Vec<&Path> = root.ancestors().take_while(|folder| folder.starts_with(top)).collect();
    folders.reverse();
    folders
}

/// The rules that have room together; of those that have none only the path is left.
pub(super) fn fitting(rules: Vec<Rules>) -> Vec<Rules> {
    let mut left = MOST_TOGETHER;
    let fit = rules.into_iter().map(|rules| match left.checked_sub(rules.text.len()) {
        Some(rest) => {
            left = rest;
            rules
        }
        None => Rules {
            text: "(There is no room left for these rules; read the file before you change anything that they may be about.)"
                .into(),
            ..rules
        },
    });
    fit.collect()
}

/// The text of a file. A line that is only `@path` stands for that file, as other agents have it.
fn imported(path: &Path, source: Source<'_>, depth: usize) -> Option<String> {
    let bytes = source.read(path, MOST).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let is_import = |line: &str| line.starts_with('@') && line.len() > 1 && !line.contains(char::is_whitespace);
    if depth == 0 || !text.lines().any(|line| is_import(line.trim())) {
        return Some(text);
    }
    let lines = text.lines().map(|line| {
        let named = line.trim();
        let other = is_import(named).then(|| path.with_file_name(&named[1..]));
        let other = other.filter(|other| other != path);
        let text = other.and_then(|other| imported(&other, source, depth - 1));
        text.unwrap_or_else(|| line.to_owned())
    });
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// The files in a folder of settings and below it, by their names.
pub(super) fn files(folder: &Path, source: Source<'_>) -> Vec<PathBuf> {
    let (mut paths, mut seen) = (Vec::new(), BTreeSet::new());
    gather(folder, source, DEEPEST, &mut seen, &mut paths);
    paths.sort_by_cached_key(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        (name, path.clone())
    });
    paths.truncate(MOST_FILES);
    paths
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
            let ground = self.ground(root, &[]);
            let found = ground.rules().into_iter().chain(ground.of_mode(mode));
            found.map(|rules| rules.text).collect()
        }

        fn ground(&self, root: &str, more: &[&str]) -> Ground {
            fs::create_dir_all(self.temp.path().join(root)).unwrap();
            fs::create_dir_all(self.temp.path().join("repo/.git")).unwrap();
            fs::write(self.temp.path().join("repo/.git/HEAD"), "ref: refs/heads/main").unwrap();
            let more: Vec<PathBuf> = more.iter().map(|root| self.temp.path().join(root)).collect();
            let workspace = Workspace::open(&self.temp.path().join(root)).unwrap();
            Ground::new(&workspace.with(&more).unwrap(), Some(self.temp.path().join("home")))
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
    fn a_rules_file_that_another_one_hides_is_told_unless_it_says_nothing_new() {
        let told = |files: &[(&str, &str)]| Story::new(files).ground("repo/a", &[]).unread();
        let hidden = told(&[
            ("repo/CLAUDE.md", "one"),
            ("repo/AGENTS.md", "two"),
            ("repo/a/.rules", "three"),
        ]);
        assert_eq!(hidden.len(), 1, "{hidden:?}");
        assert!(hidden[0].contains("CLAUDE.md counts, so "), "{hidden:?}");
        assert!(hidden[0].contains("AGENTS.md is not read"), "{hidden:?}");
        assert_eq!(told(&[("repo/CLAUDE.md", "one"), ("repo/AGENTS.md", "one\n")]), [""; 0]);
        assert_eq!(
            told(&[("repo/CLAUDE.md", "@AGENTS.md"), ("repo/AGENTS.md", "two")]),
            [""; 0]
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

    #[test]
    fn each_folder_of_a_project_has_its_own_first_file_and_its_own_folders_of_rules() {
        let story = Story::new(&[
            ("repo/AGENTS.md", "main"),
            ("other/CLAUDE.md", "other"),
            ("other/AGENTS.md", "not this one"),
            ("other/.hew/rules/a.md", "other rule"),
            ("other/.hew/rules-ask/m.md", "other mode"),
        ]);
        let ground = story.ground("repo", &["other"]);
        let texts = |rules: Vec<Rules>| rules.into_iter().map(|rules| rules.text).collect::<Vec<_>>();
        assert_eq!(texts(ground.rules()), ["main", "other", "other rule"]);
        assert_eq!(texts(ground.of_mode("ask")), ["other mode"]);
        let paths: Vec<PathBuf> = ground.rules().into_iter().map(|rules| rules.path).collect();
        assert_eq!(paths[0], Path::new("AGENTS.md"));
        assert!(paths[1].is_absolute() && paths[1].ends_with("other/CLAUDE.md"));
    }

    #[test]
    fn what_lies_deeper_is_found_for_a_path_below_it() {
        let story = Story::new(&[
            ("repo/AGENTS.md", "top"),
            ("repo/a/CLAUDE.md", "a"),
            ("repo/a/AGENTS.md", "not this one"),
            ("repo/a/b/AGENTS.md", "b"),
            ("repo/a/b/x.rs", ""),
        ]);
        let ground = story.ground("repo", &[]);
        let file = ground.root().join("a/b/x.rs");
        let found = ground
            .folders_of(&file)
            .into_iter()
            .filter_map(|folder| ground.nested(folder));
        assert_eq!(found.map(|rules| rules.text).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(ground.folders_of(Path::new("/elsewhere/x")), Vec::<&Path>::new());
        assert_eq!(
            ground.again("a/CLAUDE.md").map(|rules| rules.text).as_deref(),
            Some("a")
        );
        assert_eq!(ground.again("a/b/x.rs"), None, "only rules files are read again");
    }

    #[test]
    fn a_file_may_stand_for_another_but_not_for_one_outside() {
        let story = Story::new(&[
            ("secret.md", "secret"),
            (
                "repo/CLAUDE.md",
                "first\n@AGENTS.md\n@../secret.md\n@CLAUDE.md\nmail @me now",
            ),
            ("repo/AGENTS.md", "the rules\n@CLAUDE.md"),
        ]);
        let text = story.find("repo", "code").remove(0);
        assert!(
            text.starts_with("first\nthe rules\n") && text.ends_with("mail @me now"),
            "{text}"
        );
        assert!(
            text.contains("\n@../secret.md\n") && !text.contains("\nsecret"),
            "{text}"
        );
        assert!(text.len() < 500, "{text}");
    }

    #[test]
    fn rules_beyond_the_bound_for_all_together_are_only_named() {
        let rules = |name: &str, bytes| Rules {
            path: name.into(),
            text: "x".repeat(bytes),
        };
        let fit = fitting(vec![rules("a", 100_000), rules("b", 100_000), rules("c", 10)]);
        assert_eq!((fit[0].text.len(), fit[2].text.len()), (100_000, 10));
        assert!(fit[1].text.contains("no room left"), "{}", fit[1].text);
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
