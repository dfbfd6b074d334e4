//! Locates and reads rules files.
//!
//! Rules are ordered from general to specific, because a later rule outweighs an earlier one: the user's own rules, then for
//! each folder of the project its rules files, from the repository root down, then its `.roo/rules` and `.hew/rules`, then those
//! of the mode. Rules in deeper folders are added when a file there is read or changed.

use crate::origin::{FileOrigin, repository_root};
use policy::project_files::{AGENT_RULES, LOCAL_RULES, RULES_FOLDERS, SHARED_RULES};
use prompt::{MAX_RULES_FILE_BYTES, RulesFile};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use workspace::Workspace;

/// Roo Code's rules file, which it uses only without rules folders.
const ROO_FILE: &str = ".roorules";
/// Cline's rules file or folder.
const CLINE_NAME: &str = ".clinerules";
/// Subfolders of `.clinerules` that contain no rules.
const CLINE_OTHERS: &[&str] = &["workflows", "hooks", "skills"];
/// Maximum bytes read from a file; the prompt truncates long rules further.
const MAX_BYTES: u64 = 256 * 1024;
/// Maximum bytes of all rules together; only the paths of the others are included.
pub(crate) const MAX_TOTAL_BYTES: usize = 128 * 1024;
/// Maximum depth of imports.
const MAX_IMPORTS: usize = 3;
/// Maximum number of files read from a rules folder.
const MAX_FILES: usize = 100;
/// Maximum depth of a rules folder.
const MAX_DEPTH: usize = 5;
/// Suffixes of temporary files, which are ignored.
const TEMPORARY_SUFFIXES: &[&str] = &[
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

/// The rules files of a folder that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RulesFileSelection {
    /// The first shared one and the first other one.
    First,
    /// All of them.
    All,
}

/// The locations of rules.
#[derive(Debug, Clone)]
pub struct RuleSources {
    /// The user's configuration folder.
    pub user_config: Option<PathBuf>,
    /// The user's home folder, for the rules of Roo Code.
    home: Option<PathBuf>,
    selection: RulesFileSelection,
    /// The folders of the project, the main one first, each with the root of its repository.
    roots: Vec<(Workspace, PathBuf)>,
}

impl RuleSources {
    /// The locations for a workspace; `user_config` is the user's configuration folder.
    pub fn new(workspace: &Workspace, user_config: Option<PathBuf>) -> Self {
        let more = workspace.more().iter().filter_map(|root| {
            let other = Workspace::open(root).ok()?;
            let hides = workspace.clone();
            Some(other.hiding_paths(move |path| hides.is_hidden(path)))
        });
        let roots = [workspace.clone()].into_iter().chain(more);
        let roots = roots.map(|root| {
            let top = repository_root(&root);
            (root, top)
        });
        RuleSources {
            user_config,
            home: None,
            selection: RulesFileSelection::First,
            roots: roots.collect(),
        }
    }

    /// Adds the rules in the user's home folder.
    pub fn with_home(self, home: Option<PathBuf>) -> Self {
        RuleSources { home, ..self }
    }

    /// Selects the rules files of each folder.
    pub fn with_selection(self, selection: RulesFileSelection) -> Self {
        RuleSources { selection, ..self }
    }

    /// The main folder of the project.
    pub fn root(&self) -> &Path {
        self.roots.first().map_or(Path::new("/"), |(root, _)| root.root())
    }

    /// The folders of the project with the origin of their files.
    pub fn projects(&self) -> impl Iterator<Item = (&Path, FileOrigin<'_>)> {
        self.roots
            .iter()
            .map(|(workspace, top)| (workspace.root(), FileOrigin::Project { workspace, top }))
    }

    /// The candidate folders for some kind of settings, in increasing precedence: the user's, then the project's.
    pub fn settings_folders<'a>(&'a self, own: &'a str, project: &'a [&str]) -> Vec<(PathBuf, FileOrigin<'a>)> {
        let user_folders = self
            .user_config
            .iter()
            .map(move |home| (home.join(own), FileOrigin::User));
        let project_folders = self
            .projects()
            .flat_map(move |(root, origin)| project.iter().map(move |folder| (root.join(folder), origin)));
        user_folders.chain(project_folders).collect()
    }

    /// A path as shown to the model: relative to the main folder of the project if inside it.
    pub fn display_path(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.root()).unwrap_or(path).to_owned()
    }

    /// The rules that always apply, the most general first.
    pub fn rules(&self) -> Vec<RulesFile> {
        let own = self.user_config.as_deref();
        let mut found: Vec<RulesFile> = own
            .map(|own| self.rules_files(own, FileOrigin::User, self.selection))
            .unwrap_or_default();
        found.extend(self.user_folders("rules"));
        for ((root, origin), (_, top)) in self.projects().zip(&self.roots) {
            let folders = folders(root, top).into_iter();
            found.extend(folders.flat_map(|folder| self.rules_files(folder, origin, self.selection)));
            let homes = RULES_FOLDERS.iter().map(|home| root.join(home).join("rules"));
            found.extend(homes.flat_map(|home| self.folder(&home, origin)));
        }
        // Two folders of a project may be in one repository.
        let mut seen = BTreeSet::new();
        found.retain(|rules| seen.insert(rules.path.clone()));
        found
    }

    /// Warnings about rules files that are ignored because another one in the same folder is used and has other content.
    pub fn shadowed_rules(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for ((root, origin), (_, top)) in self.projects().zip(&self.roots) {
            for folder in folders(root, top) {
                let used = self.rules_files(folder, origin, self.selection);
                let mut others = self.rules_files(folder, origin, RulesFileSelection::All);
                others.retain(|other| !used.iter().any(|used| has_lines(&used.text, &other.text)));
                let used: Vec<String> = used.iter().map(|used| used.path.display().to_string()).collect();
                let verb = if used.len() == 1 { "is" } else { "are" };
                warnings.extend(others.iter().map(|other| {
                    format!(
                        "{} {verb} used and {} is ignored; `rules = \"all\"` in the configuration uses all rules files",
                        used.join(" and "),
                        other.path.display()
                    )
                }));
            }
        }
        warnings.dedup();
        warnings
    }

    /// The rules for a mode, the most general first. The mode `agent`, the default of headless runs, works like `code` and has
    /// its rules, too.
    pub fn mode_rules(&self, mode: &str) -> Vec<RulesFile> {
        let base = (mode == "agent").then_some("code");
        let modes = base.into_iter().chain([mode]);
        modes.flat_map(|mode| self.rules_of_mode(mode)).collect()
    }

    fn rules_of_mode(&self, mode: &str) -> Vec<RulesFile> {
        // The name of a mode may come from the project.
        if mode.contains(['/', '\\']) {
            return Vec::new();
        }
        let name = format!("rules-{mode}");
        let mut found = self.user_folders(&name);
        for (root, origin) in self.projects() {
            let [roo, hew] = RULES_FOLDERS.map(|home| self.folder(&root.join(home).join(&name), origin));
            if roo.is_empty() {
                let single = [ROO_FILE, CLINE_NAME].map(|file| root.join(format!("{file}-{mode}")));
                let mut single = single.iter().map(|path| self.file_or_folder(path, origin));
                found.extend(single.find(|rules| !rules.is_empty()).unwrap_or_default());
            }
            found.extend(roo.into_iter().chain(hew));
        }
        found
    }

    /// The rules in the user's folders of this name.
    fn user_folders(&self, name: &str) -> Vec<RulesFile> {
        let roo = self.home.as_ref().map(|home| home.join(".roo").join(name));
        let own = self.user_config.as_ref().map(|own| own.join(name));
        let folders = roo.into_iter().chain(own);
        folders
            .flat_map(|folder| self.folder(&folder, FileOrigin::User))
            .collect()
    }

    /// The folders below a folder of the project that may contain rules for this path, the outermost first. The rules of the
    /// project folder itself always apply.
    pub fn nested_folders<'a>(&self, path: &'a Path) -> Vec<&'a Path> {
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

    /// The rules files of a folder of the project.
    pub fn folder_rules(&self, folder: &Path) -> Vec<RulesFile> {
        let project = self.projects().find(|(root, _)| folder.starts_with(root));
        project.map_or_else(Vec::new, |(_, origin)| self.rules_files(folder, origin, self.selection))
    }

    /// Reads a rules file again, by the path shown to the model, if its folder still uses it.
    pub fn reread(&self, path: &str) -> Option<RulesFile> {
        let file = self.root().join(path);
        let folders = file.ancestors().skip(1).take_while(|folder| *folder != Path::new("/"));
        let mut rules = folders.flat_map(|folder| self.folder_rules(folder));
        rules.find(|rules| rules.path == Path::new(path))
    }

    /// The rules files of a folder, without those that are part of another one.
    fn rules_files(&self, folder: &Path, origin: FileOrigin<'_>, selection: RulesFileSelection) -> Vec<RulesFile> {
        let has_roo_rules = || !settings_files(&folder.join(".roo/rules"), origin).is_empty();
        let read = |name: &&str| match *name == ROO_FILE && has_roo_rules() {
            true => Vec::new(),
            false => self.file_or_folder(&folder.join(name), origin),
        };
        let mut found: Vec<RulesFile> = Vec::new();
        for names in [SHARED_RULES, AGENT_RULES] {
            let mut present = names.iter().map(read).filter(|rules| !rules.is_empty());
            match selection {
                RulesFileSelection::First => found.extend(present.next().into_iter().flatten()),
                RulesFileSelection::All => found.extend(present.flatten()),
            }
        }
        found.extend(LOCAL_RULES.iter().flat_map(read));
        let is_repeated = |at: usize| {
            let text = found[at].text.trim();
            let mut others = found.iter().enumerate().filter(|(other, _)| *other != at);
            others.any(|(other, rules)| has_lines(&rules.text, text) && (other < at || rules.text.trim() != text))
        };
        let repeated: Vec<bool> = (0..found.len()).map(is_repeated).collect();
        let all = found.into_iter().zip(repeated);
        all.filter(|(_, repeated)| !repeated).map(|(rules, _)| rules).collect()
    }

    fn file_or_folder(&self, path: &Path, origin: FileOrigin<'_>) -> Vec<RulesFile> {
        match path.is_dir() {
            true => self.folder(path, origin),
            false => self.read(path, origin).into_iter().collect(),
        }
    }

    fn read(&self, path: &Path, origin: FileOrigin<'_>) -> Option<RulesFile> {
        let text = read_with_imports(path, origin, MAX_IMPORTS)?;
        (!text.trim().is_empty()).then(|| RulesFile {
            path: self.display_path(path),
            text,
        })
    }

    /// All rules in a folder, sorted by file name.
    fn folder(&self, folder: &Path, origin: FileOrigin<'_>) -> Vec<RulesFile> {
        let has_others = folder.ends_with(CLINE_NAME);
        let is_other =
            |path: &PathBuf| has_others && CLINE_OTHERS.iter().any(|other| path.starts_with(folder.join(other)));
        let paths = settings_files(folder, origin).into_iter();
        paths
            .filter(|path| !is_other(path))
            .filter_map(|path| self.read(&path, origin))
            .collect()
    }
}

/// Whether the lines of `part` are part of a text.
fn has_lines(text: &str, part: &str) -> bool {
    format!("\n{}\n", text.trim()).contains(&format!("\n{}\n", part.trim()))
}

/// The folders with rules files that always apply, the outermost first.
fn folders<'a>(root: &'a Path, top: &Path) -> Vec<&'a Path> {
    let mut folders: Vec<&Path> = root.ancestors().take_while(|folder| folder.starts_with(top)).collect();
    folders.reverse();
    folders
}

/// Replaces the text of rules that exceed the total limit by a note.
pub(crate) fn within_limit(rules: Vec<RulesFile>, limit: usize) -> Vec<RulesFile> {
    let mut left = limit;
    let fit = rules.into_iter().map(|rules| match left.checked_sub(sent_bytes(&rules)) {
        Some(rest) => {
            left = rest;
            rules
        }
        None => RulesFile {
            text: "(Omitted: all rules together exceed the size limit. Read this file before you change anything that it may apply to.)"
                .into(),
            ..rules
        },
    });
    fit.collect()
}

/// The bytes of a rules file in the prompt.
pub(crate) fn sent_bytes(rules: &RulesFile) -> usize {
    rules.text.len().min(MAX_RULES_FILE_BYTES)
}

/// Reads a file. A line with only `@path` includes that file, as in other agents.
fn read_with_imports(path: &Path, origin: FileOrigin<'_>, depth: usize) -> Option<String> {
    let bytes = origin.read(path, MAX_BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let is_import = |line: &str| line.starts_with('@') && line.len() > 1 && !line.contains(char::is_whitespace);
    if depth == 0 || !text.lines().any(|line| is_import(line.trim())) {
        return Some(text);
    }
    let lines = text.lines().map(|line| {
        let named = line.trim();
        let other = is_import(named).then(|| path.with_file_name(&named[1..]));
        let other = other.filter(|other| other != path);
        let text = other.and_then(|other| read_with_imports(&other, origin, depth - 1));
        text.unwrap_or_else(|| line.to_owned())
    });
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// The files in and below a settings folder, sorted by name.
pub(crate) fn settings_files(folder: &Path, origin: FileOrigin<'_>) -> Vec<PathBuf> {
    let (mut paths, mut seen) = (Vec::new(), BTreeSet::new());
    collect_files(folder, origin, MAX_DEPTH, &mut seen, &mut paths);
    paths.sort_by_cached_key(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        (name, path.clone())
    });
    paths.truncate(MAX_FILES);
    paths
}

fn collect_files(
    folder: &Path,
    origin: FileOrigin<'_>,
    depth: usize,
    seen: &mut BTreeSet<PathBuf>,
    paths: &mut Vec<PathBuf>,
) {
    // Follow symbolic links, but not in cycles.
    let is_new = origin.folder(folder).is_some_and(|real| seen.insert(real));
    let Ok(entries) = fs::read_dir(folder) else { return };
    if !is_new {
        return;
    }
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if TEMPORARY_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) || paths.len() > 10 * MAX_FILES {
            continue;
        }
        match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() && depth > 1 => collect_files(&path, origin, depth - 1, seen, paths),
            Ok(meta) if meta.is_file() => paths.push(path),
            Ok(_) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture {
        temp: tempfile::TempDir,
    }

    impl Fixture {
        fn new(files: &[(&str, &str)]) -> Self {
            let temp = tempfile::tempdir().unwrap();
            for (path, text) in files {
                let path = temp.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Fixture { temp }
        }

        fn find(&self, root: &str, mode: &str) -> Vec<String> {
            let sources = self.sources(root, &[]);
            let found = sources.rules().into_iter().chain(sources.mode_rules(mode));
            found.map(|rules| rules.text).collect()
        }

        fn sources(&self, root: &str, more: &[&str]) -> RuleSources {
            fs::create_dir_all(self.temp.path().join(root)).unwrap();
            fs::create_dir_all(self.temp.path().join("repo/.git")).unwrap();
            fs::write(self.temp.path().join("repo/.git/HEAD"), "ref: refs/heads/main").unwrap();
            let more: Vec<PathBuf> = more.iter().map(|root| self.temp.path().join(root)).collect();
            let workspace = Workspace::open(&self.temp.path().join(root)).unwrap();
            RuleSources::new(&workspace.with(&more).unwrap(), Some(self.temp.path().join("home")))
                .with_home(Some(self.temp.path().join("user")))
        }
    }

    #[test]
    fn rules_are_ordered_from_the_users_to_the_current_folder() {
        let fixture = Fixture::new(&[
            ("home/AGENTS.md", "mine"),
            ("home/rules/b.md", "my second"),
            ("home/rules/A.md", "my first"),
            ("repo/AGENTS.md", "top"),
            ("repo/a/AGENTS.md", " \n"),
            ("repo/a/b/GEMINI.md", "deep"),
        ]);
        assert_eq!(
            fixture.find("repo/a/b", "code"),
            ["mine", "my first", "my second", "top", "deep"]
        );
    }

    #[test]
    fn an_ignored_rules_file_is_reported_unless_it_adds_nothing() {
        let shadowed = |files: &[(&str, &str)]| Fixture::new(files).sources("repo/a", &[]).shadowed_rules();
        let hidden = shadowed(&[
            ("repo/CLAUDE.md", "one"),
            ("repo/AGENTS.md", "two"),
            ("repo/GEMINI.md", "three"),
            ("repo/a/.rules", "four"),
        ]);
        assert_eq!(hidden.len(), 1, "{hidden:?}");
        assert!(hidden[0].contains("AGENTS.md and "), "{hidden:?}");
        assert!(hidden[0].contains("CLAUDE.md are used and "), "{hidden:?}");
        assert!(hidden[0].contains("GEMINI.md is ignored"), "{hidden:?}");
        assert_eq!(
            shadowed(&[("repo/CLAUDE.md", "one"), ("repo/GEMINI.md", "one\n")]),
            [""; 0]
        );
        assert_eq!(
            shadowed(&[("repo/CLAUDE.md", "@GEMINI.md"), ("repo/GEMINI.md", "two")]),
            [""; 0]
        );
    }

    #[test]
    fn the_shared_rules_file_and_the_first_other_one_are_used_or_all() {
        let mut names: Vec<&str> = AGENT_RULES.to_vec();
        while !names.is_empty() {
            let mut files: Vec<(String, &str)> = names.iter().map(|name| (format!("repo/{name}"), *name)).collect();
            files.push(("repo/AGENT.md".into(), "agent"));
            files.push(("repo/AGENTS.md".into(), "agents"));
            files.push(("repo/AGENTS.local.md".into(), "mine"));
            let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
            let fixture = Fixture::new(&files);
            assert_eq!(fixture.find("repo", "code"), ["agents", names[0], "mine"]);
            let all = fixture.sources("repo", &[]).with_selection(RulesFileSelection::All);
            let all: Vec<String> = all.rules().into_iter().map(|rules| rules.text).collect();
            let expected: Vec<&str> = ["agents", "agent"]
                .into_iter()
                .chain(names.iter().copied())
                .chain(["mine"])
                .collect();
            assert_eq!(all, expected);
            names.remove(0);
        }
    }

    #[test]
    fn rules_files_with_the_same_text_are_used_once() {
        for (claude, expected) in [
            ("the rules\n", vec!["the rules"]),
            ("before\n@AGENTS.md", vec!["before\nthe rules"]),
            ("other", vec!["the rules", "other"]),
        ] {
            let fixture = Fixture::new(&[("repo/AGENTS.md", "the rules"), ("repo/CLAUDE.md", claude)]);
            assert_eq!(fixture.find("repo", "code"), expected, "{claude}");
        }
    }

    #[test]
    fn the_rules_of_roo_code_and_cline_are_found() {
        // The files, and the rules in the mode `code`.
        type Files<'a> = &'a [(&'a str, &'a str)];
        let cases: [(Files<'_>, &[&str]); 8] = [
            (&[(".roorules", "roo"), (".clinerules", "cline")], &["roo"]),
            (
                &[
                    (".roorules", "legacy"),
                    (".roo/rules/a.md", "roo"),
                    (".clinerules", "cline"),
                ],
                &["cline", "roo"],
            ),
            (
                &[
                    (".clinerules/02-b.md", "b"),
                    (".clinerules/01-a.md", "a"),
                    (".clinerules/workflows/w.md", "workflow"),
                    ("AGENTS.md", "agents"),
                ],
                &["agents", "a", "b"],
            ),
            (
                &[
                    (".roorules-code", "roo"),
                    (".clinerules-code", "cline"),
                    (".roorules-ask", "no"),
                ],
                &["roo"],
            ),
            (&[(".clinerules-code", "cline"), (".roorules-code", " ")], &["cline"]),
            (&[(".clinerules-code/x.md", "cline")], &["cline"]),
            (
                &[(".roorules-code", "legacy"), (".roo/rules-code/x.md", "roo")],
                &["roo"],
            ),
            (
                &[
                    ("../user/.roo/rules/u.md", "user"),
                    ("../user/.roo/rules-code/m.md", "user mode"),
                    ("../home/rules-code/h.md", "hew mode"),
                    ("rules.md", "file"),
                ],
                &["user", "file", "user mode", "hew mode"],
            ),
        ];
        for (files, expected) in cases {
            let files: Vec<(String, &str)> = files
                .iter()
                .map(|(path, text)| match path.strip_prefix("../") {
                    Some(path) => (path.to_owned(), *text),
                    None => (format!("repo/{path}"), *text),
                })
                .collect();
            let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
            assert_eq!(Fixture::new(&files).find("repo", "code"), expected, "{files:?}");
        }
    }

    #[test]
    fn rules_folders_come_after_the_rules_file_and_those_of_the_mode_last() {
        let fixture = Fixture::new(&[
            ("repo/.rules", "file"),
            ("repo/.roo/rules/z.md", "roo"),
            ("repo/.hew/rules/deep/a.md", "hew"),
            ("repo/.hew/rules/b.md.swp", "suffix"),
            ("repo/.hew/rules-architect/m.md", "for architects"),
        ]);
        assert_eq!(fixture.find("repo", "code"), ["file", "roo", "hew"]);
        assert_eq!(
            fixture.find("repo", "architect"),
            ["file", "roo", "hew", "for architects"]
        );
    }

    #[test]
    fn each_folder_of_a_project_has_its_own_rules_file_and_rules_folders() {
        let fixture = Fixture::new(&[
            ("repo/AGENTS.md", "main"),
            ("other/CLAUDE.md", "other"),
            ("other/GEMINI.md", "not this one"),
            ("other/.hew/rules/a.md", "other rule"),
            ("other/.hew/rules-ask/m.md", "other mode"),
            ("other/.hew/rules-code/m.md", "code mode"),
        ]);
        let sources = fixture.sources("repo", &["other"]);
        let texts = |rules: Vec<RulesFile>| rules.into_iter().map(|rules| rules.text).collect::<Vec<_>>();
        assert_eq!(texts(sources.rules()), ["main", "other", "other rule"]);
        assert_eq!(texts(sources.mode_rules("ask")), ["other mode"]);
        assert_eq!(texts(sources.mode_rules("agent")), ["code mode"]);
        let paths: Vec<PathBuf> = sources.rules().into_iter().map(|rules| rules.path).collect();
        assert_eq!(paths[0], Path::new("AGENTS.md"));
        assert!(paths[1].is_absolute() && paths[1].ends_with("other/CLAUDE.md"));
    }

    #[test]
    fn rules_in_deeper_folders_are_found_for_paths_below_them() {
        let fixture = Fixture::new(&[
            ("repo/AGENTS.md", "top"),
            ("repo/a/CLAUDE.md", "a"),
            ("repo/a/GEMINI.md", "not this one"),
            ("repo/a/b/AGENTS.md", "b"),
            ("repo/a/b/x.rs", ""),
        ]);
        let sources = fixture.sources("repo", &[]);
        let file = sources.root().join("a/b/x.rs");
        let found = sources
            .nested_folders(&file)
            .into_iter()
            .flat_map(|folder| sources.folder_rules(folder));
        assert_eq!(found.map(|rules| rules.text).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(sources.nested_folders(Path::new("/other/x")), Vec::<&Path>::new());
        assert_eq!(
            sources.reread("a/CLAUDE.md").map(|rules| rules.text).as_deref(),
            Some("a")
        );
        assert_eq!(sources.reread("a/b/x.rs"), None, "only rules files are reread");
    }

    #[test]
    fn a_rules_file_includes_others_but_none_outside_the_repository() {
        let fixture = Fixture::new(&[
            ("secret.md", "secret"),
            (
                "repo/CLAUDE.md",
                "first\n@shared.md\n@../secret.md\n@CLAUDE.md\nmail @me now",
            ),
            ("repo/shared.md", "the rules\n@CLAUDE.md"),
        ]);
        let text = fixture.find("repo", "code").remove(0);
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
    fn rules_beyond_the_total_limit_are_omitted() {
        let rules = |name: &str, bytes| RulesFile {
            path: name.into(),
            text: "x".repeat(bytes),
        };
        // The prompt cuts each file to 32 KiB, so three large ones fit.
        let large = ["a", "b", "c"].map(|name| rules(name, 200_000));
        let all = large
            .into_iter()
            .chain([rules("d", 32_758), rules("e", 11), rules("f", 10)]);
        let fit = within_limit(all.collect(), MAX_TOTAL_BYTES);
        let sizes: Vec<usize> = fit.iter().map(|rules| rules.text.len()).collect();
        assert_eq!((&sizes[..4], sizes[5]), (&[200_000, 200_000, 200_000, 32_758][..], 10));
        assert!(fit[4].text.contains("exceed the size limit"), "{}", fit[4].text);
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_links_out_of_the_repository_are_not_followed() {
        use std::os::unix::fs::symlink;
        let fixture = Fixture::new(&[
            ("secret/key", "a key"),
            ("mine/long.md", "mine"),
            ("home/config.toml", ""),
            ("repo/docs/shared.md", "shared"),
            ("repo/.hew/rules/a.md", "a"),
            ("repo/.hew/rules-code/c.md", "c"),
        ]);
        let path = |name: &str| fixture.temp.path().join(name);
        symlink("../mine/long.md", path("home/AGENTS.md")).unwrap();
        symlink("../secret/key", path("repo/.rules")).unwrap();
        symlink("/dev/zero", path("repo/.cursorrules")).unwrap();
        symlink("docs/shared.md", path("repo/AGENTS.md")).unwrap();
        symlink(path("secret"), path("repo/.hew/rules/b")).unwrap();
        symlink(".", path("repo/.hew/rules/again")).unwrap();
        symlink(path("secret/key"), path("repo/.hew/rules-code/d.md")).unwrap();
        assert_eq!(fixture.find("repo", "code"), ["mine", "shared", "a", "c"]);
    }
}
