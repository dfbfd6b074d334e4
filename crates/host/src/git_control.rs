//! What makes git run programs: its configuration, what that refers to, and prepared rebases.

use crate::git_config::entries;
use crate::git_remotes::{RemoteKey, is_safe_remote, remote_key};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// The maximum number of configuration files that include each other.
const MAX_CONFIGS: usize = 100;
/// What separates paths from other text in a command line.
const SEPARATORS: [char; 16] = [
    ' ', '\t', '!', '"', '\'', ';', '(', ')', '{', '}', '&', '|', '<', '>', '=', '$',
];
/// Larger files are not configurations.
const MAX_BYTES: u64 = 1024 * 1024;
/// The extension of files that a command must not have created.
const BLOCKED: &str = "blocked";
/// Keys of a configuration that run no program and read no other file; `*` matches the rest of a section.
const HARMLESS_KEYS: [&str; 25] = [
    "advice.*",
    "branch.*",
    "color.*",
    "commit.verbose",
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.precomposeunicode",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.safecrlf",
    "core.symlinks",
    "extensions.objectformat",
    "extensions.refstorage",
    "fetch.prune",
    "init.defaultbranch",
    "merge.conflictstyle",
    "pull.*",
    "push.default",
    "remote.*",
    "user.*",
];
/// The merge strategies of git.
const MERGE_STRATEGIES: [&str; 7] = ["", "octopus", "ort", "ours", "recursive", "resolve", "subtree"];
/// Where git stores the merge strategy of an interrupted rebase, cherry-pick or revert.
const STRATEGY_FILES: [(&str, &str); 3] = [
    ("rebase-merge", "strategy"),
    ("rebase-apply", "strategy"),
    ("sequencer", "opts"),
];
/// Keys in harmless sections that run programs.
const HARMFUL_ENDINGS: [&str; 7] = [
    ".uploadpack",
    ".receivepack",
    ".vcs",
    ".signingkey",
    ".mergeoptions",
    ".twohead",
    ".octopus",
];
/// A configuration without programs.
const PLAIN_CONFIG: &str =
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";

/// The state of a repository before a command, to detect changes that would run programs.
#[derive(Debug, Clone, Default)]
pub(crate) struct RepositoryState {
    /// The commands of prepared rebases.
    commands: BTreeSet<String>,
    /// The directories of linked worktrees.
    worktrees: BTreeSet<PathBuf>,
    /// Whether a command has created it, so that nothing in it is the user's.
    is_new: bool,
}

/// The files and directories in the working tree that a repository's configuration refers to, such as the directory of
/// its hooks. Missing ones are included if they are certainly paths.
pub(crate) fn referenced_paths(top: &Path, git: &Path, user_configs: &[PathBuf], home: Option<&Path>) -> Vec<PathBuf> {
    let mut pending = vec![git.join("config"), git.join("config.worktree")];
    pending.extend_from_slice(user_configs);
    let (mut seen, mut paths) = (BTreeSet::new(), BTreeSet::new());
    while let Some(file) = pending.pop() {
        if seen.len() >= MAX_CONFIGS || !seen.insert(file.clone()) {
            continue;
        }
        for (key, value) in entries(&read(&file)) {
            if is_harmless(&key) || key == "core.worktree" || key.ends_with(".url") {
                continue;
            }
            let is_include = key.starts_with("include");
            let is_path = is_include || key == "core.hookspath";
            let base = match is_include {
                true => file.parent().unwrap_or(top),
                false => top,
            };
            let words: Vec<&str> = match is_path {
                true => vec![value.trim_matches('"')],
                false => value.split(SEPARATORS).collect(),
            };
            for word in words.into_iter().filter(|word| !word.is_empty()) {
                let path = match is_path {
                    true => configured_path(word, base, home),
                    false => word_path(word, base, home),
                };
                let Some(path) = path.and_then(|path| resolve(&path)) else {
                    continue;
                };
                let real = path.canonicalize().ok();
                if let Some(real) = real.as_ref().filter(|_| is_include) {
                    pending.push(real.clone());
                }
                let is_certain = real.is_some() || is_path || word.trim_start_matches('/').contains('/');
                // All of the working tree, or the git directory, would be read-only.
                let is_part = |path: &PathBuf| {
                    path.starts_with(top) && !top.starts_with(path) && !git.starts_with(path) && !path.starts_with(git)
                };
                let found = [Some(path), real].into_iter().flatten();
                paths.extend(found.filter(|path| is_certain && is_part(path)));
            }
        }
    }
    paths.into_iter().collect()
}

/// The path that a value of a configuration denotes.
fn configured_path(value: &str, base: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match value.strip_prefix("~/") {
        Some(rest) => Some(home?.join(rest)),
        None => Some(base.join(value)),
    }
}

/// The path that a word of a command in a configuration denotes.
fn word_path(word: &str, base: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let path = Path::new(word);
    match path.is_absolute() && !path.exists() && !path.starts_with(base) {
        // The rest of something like `$(git rev-parse --show-toplevel)/x`.
        true => Some(base.join(word.trim_start_matches('/'))),
        false => configured_path(word, base, home),
    }
}

/// The path with a canonical parent. The last components need not exist.
pub(crate) fn resolve(path: &Path) -> Option<PathBuf> {
    let mut missing = Vec::new();
    for above in path.ancestors().skip(1) {
        missing.push(path.strip_prefix(above).ok()?.iter().next()?);
        if let Ok(mut real) = above.canonicalize() {
            real.extend(missing.iter().rev());
            return Some(real);
        }
    }
    None
}

/// Disarms a repository that a command has created: its hooks and a configuration that runs programs get another name,
/// and so does a file or link that names a git directory elsewhere, unless that is part of a known one. Returns the
/// changed paths. A remote must not be a directory that commands may write, except a known repository: its hooks run when
/// the user pushes to it.
pub(crate) fn disarm(git: &Path, known: &[&PathBuf], writable: &[PathBuf]) -> Vec<PathBuf> {
    let mut changed = Vec::new();
    if git.is_symlink() || !git.is_dir() {
        let text = read(git);
        let target = text
            .strip_prefix("gitdir: ")
            .map(|path| git.with_file_name(without_newlines(path)));
        let target = target
            .and_then(|path| path.canonicalize().ok())
            .filter(|_| !git.is_symlink());
        // The user's are protected, and those of other repositories are disarmed.
        let is_part = |target: &PathBuf| {
            known.iter().any(|known| {
                target.parent() == Some(&known.join("worktrees")) || target.starts_with(known.join("modules"))
            })
        };
        changed.extend((!target.is_some_and(|target| is_part(&target)) && block(git)).then(|| git.to_owned()));
        return changed;
    }
    let accepts = |remote: &str| is_safe_remote(remote, git, known, writable);
    disarm_directory(git, &accepts, &mut changed);
    changed.extend(RepositoryState::created().disarm_additions(git));
    // The repositories of submodules, which can be in any directory there.
    let mut pending = folders(&git.join("modules"));
    while let Some(folder) = pending.pop() {
        pending.extend(folders(&folder));
        if folder.join("HEAD").symlink_metadata().is_ok() {
            disarm_directory(&folder, &accepts, &mut changed);
            changed.extend(RepositoryState::created().disarm_additions(&folder));
        }
    }
    changed
}

/// Whether a working tree refers back to this git directory, as those of submodules do.
fn is_own_tree(git: &Path, tree: &str) -> bool {
    let link = git.join(tree).join(".git");
    let text = match link.is_symlink() {
        true => return false,
        false => read(&link),
    };
    let target = text
        .strip_prefix("gitdir: ")
        .map(|path| link.with_file_name(without_newlines(path)));
    target.is_some_and(|target| target.canonicalize().ok() == git.canonicalize().ok())
}

/// Disarms a git directory.
fn disarm_directory(git: &Path, accepts_remote: &dyn Fn(&str) -> bool, changed: &mut Vec<PathBuf>) {
    let config = git.join("config");
    let is_armed = |text: String| {
        let entries = entries(&text);
        let names = entries
            .iter()
            .filter_map(|(key, _)| key.strip_prefix("remote.")?.strip_suffix(".url"));
        let names: BTreeSet<&str> = names.collect();
        entries.iter().any(|(key, value)| match remote_key(key) {
            Some(RemoteKey::Address) => !accepts_remote(value),
            Some(RemoteKey::Name) => !names.contains(value.as_str()) && !accepts_remote(value),
            None if key == "core.worktree" => !is_own_tree(git, value),
            None => !is_harmless(key),
        })
    };
    if config.is_symlink() || read_all(&config).is_none_or(is_armed) {
        let plain = match git.ends_with(".git") {
            true => PLAIN_CONFIG.to_owned(),
            false => PLAIN_CONFIG.replace("bare = false", "bare = true"),
        };
        if workspace::replace_file(&config, plain.as_bytes(), BLOCKED).is_ok() {
            changed.push(config);
        }
    }
    for name in ["config.worktree", "commondir"] {
        let file = git.join(name);
        if file.symlink_metadata().is_ok() && block(&file) {
            changed.push(file);
        }
    }
    for name in ["hooks", "branches", "remotes"] {
        let folder = git.join(name);
        let is_link = folder.is_symlink() && block(&folder);
        changed.extend(is_link.then(|| folder.clone()));
        let armed = listed(&folder).into_iter();
        let armed = armed.filter(|path| {
            path.extension()
                .is_none_or(|extension| extension != "sample" && extension != BLOCKED)
        });
        changed.extend(armed.filter(|path| block(path)));
    }
}

/// Disarms linked worktrees: each must refer to its repository, and have no settings of its own unless it is known.
fn disarm_worktrees(git: &Path, known: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut changed = Vec::new();
    // Git does not create links here, and their targets can be replaced.
    let folder = git.join("worktrees");
    let links = [folder.clone()].into_iter().chain(listed(&folder));
    let links = links.filter(|path| path.is_symlink() && workspace::remove_link(path).is_ok());
    changed.extend(links);
    for tree in worktrees(git) {
        let common = tree.join("commondir");
        let target = (!common.is_symlink()).then(|| tree.join(without_newlines(&read(&common))));
        let is_own = target.is_some_and(|target| target.canonicalize().ok() == git.canonicalize().ok());
        if !is_own {
            // Without it, git does not accept the directory under any name.
            let head = tree.join("HEAD");
            changed.extend((head.symlink_metadata().is_ok() && block(&head)).then_some(head));
        } else if !known.contains(&tree) {
            let settings = ["config.worktree", "modules"].map(|name| tree.join(name));
            changed.extend(settings.into_iter().filter(|path| block(path)));
        }
    }
    changed
}

/// The paths in a directory. Git executes hooks also in one that cannot be listed.
fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => workspace::open_up(folder).and_then(|()| std::fs::read_dir(folder)),
        _ => Err(error),
    });
    let entries = entries.into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The directories in a directory, without links.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let is_folder = |path: &PathBuf| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    listed(folder).into_iter().filter(is_folder).collect()
}

/// The git directory, and those of its linked worktrees.
fn working_places(git: &Path) -> impl Iterator<Item = PathBuf> {
    [git.to_owned()].into_iter().chain(worktrees(git))
}

/// The git directories of linked worktrees.
fn worktrees(git: &Path) -> Vec<PathBuf> {
    let folder = git.join("worktrees");
    match folder.is_symlink() {
        true => Vec::new(),
        false => folders(&folder),
    }
}

/// The files with prepared rebases: of the repository and its linked worktrees.
fn rebase_files(git: &Path) -> impl Iterator<Item = PathBuf> {
    working_places(git).map(|place| place.join("rebase-merge/git-rebase-todo"))
}

/// Blocks prepared rebases, cherry-picks and reverts with an unknown merge strategy, which git executes as a program,
/// also one in the working tree. Returns the changed paths.
fn disarm_strategies(git: &Path) -> Vec<PathBuf> {
    let mut changed = Vec::new();
    for (folder, name) in STRATEGY_FILES {
        for folder in working_places(git).map(|place| place.join(folder)) {
            let file = folder.join(name);
            if file.symlink_metadata().is_err() {
                continue;
            }
            let is_known = read_all(&file).is_some_and(|text| match name {
                "opts" => entries(&text)
                    .iter()
                    .all(|(key, value)| key != "options.strategy" || MERGE_STRATEGIES.contains(&value.as_str())),
                _ => MERGE_STRATEGIES.contains(&text.trim()),
            });
            let is_link = folder.is_symlink() || file.is_symlink();
            let armed = if folder.is_symlink() { folder } else { file };
            if (is_link || !is_known) && block(&armed) {
                changed.push(armed);
            }
        }
    }
    changed
}

impl RepositoryState {
    /// The state of a repository now.
    pub(crate) fn new(git: &Path) -> Self {
        let texts = rebase_files(git).map(|file| read(&file));
        let commands = texts.flat_map(|text| {
            let commands = text.lines().filter(|line| is_exec(line)).map(str::to_owned);
            commands.collect::<Vec<String>>()
        });
        Self {
            commands: commands.collect(),
            worktrees: worktrees(git).into_iter().collect(),
            is_new: false,
        }
    }

    /// The state of a repository that a command has created.
    pub(crate) fn created() -> Self {
        Self {
            is_new: true,
            ..Self::default()
        }
    }

    /// Whether a command has created the repository.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }

    /// Disarms what was added to the repository since: linked worktrees and commands of prepared rebases. Returns the
    /// changed paths.
    pub(crate) fn disarm_additions(&self, git: &Path) -> Vec<PathBuf> {
        let mut changed = disarm_worktrees(git, &self.worktrees);
        changed.extend(rebase_files(git).filter(|file| self.disarm_rebase(file)));
        changed.extend(disarm_strategies(git));
        changed
    }

    /// Disables the commands of a prepared rebase, except those that were there before. Returns whether there were any.
    fn disarm_rebase(&self, file: &Path) -> bool {
        // A link may lead out of the project.
        if let Some(folder) = file.parent().filter(|folder| folder.is_symlink()) {
            return block(folder);
        }
        let Some(text) = read_all(file) else { return block(file) };
        let is_new = |line: &str| is_exec(line) && !self.commands.contains(line);
        if !text.lines().any(is_new) {
            return false;
        }
        let lines = text.lines().map(|line| match is_new(line) {
            true => format!("# blocked: {line}\n"),
            false => format!("{line}\n"),
        });
        let lines: String = lines.collect();
        workspace::replace_file(file, lines.as_bytes(), BLOCKED).is_ok()
    }
}

fn is_exec(line: &str) -> bool {
    matches!(line.split_whitespace().next(), Some("exec" | "x"))
}

/// Renames a path so that it has no effect.
pub(crate) fn block(path: &Path) -> bool {
    workspace::set_aside(path, BLOCKED).is_ok()
}

fn is_harmless(key: &str) -> bool {
    let matches = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(section) => key.starts_with(section),
        None => key == *pattern,
    };
    HARMLESS_KEYS.iter().any(matches) && !HARMFUL_ENDINGS.iter().any(|end| key.ends_with(end))
}

fn read(file: &Path) -> String {
    read_all(file).unwrap_or_default()
}

/// The path in a file, as git reads it: spaces are part of it.
fn without_newlines(text: &str) -> &str {
    text.trim_end_matches(['\r', '\n'])
}

/// The text of a file, which is empty if the file is missing; `None` if it is too large or cannot be read, which may
/// change later.
fn read_all(file: &Path) -> Option<String> {
    match workspace::read_regular_file(file, MAX_BYTES) {
        Ok(bytes) if (bytes.len() as u64) < MAX_BYTES => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Ok(_) => None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(String::new()),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn configurations_that_run_programs_are_recognized() {
        for (text, is_accepted) in [
            (PLAIN_CONFIG, true),
            (
                "[remote \"origin\"]\n\turl = https://example.org/x.git\n[branch \"main\"]\n\tmerge = refs/heads/main\n",
                true,
            ),
            (
                "[user]\n\tname = A\n\temail = a@b\n[init] defaultBranch = main # text\n",
                true,
            ),
            ("[core]\n\tfsmonitor = ./x\n", false),
            ("[CORE] FSMonitor=./x\n", false),
            ("[core]\n\thooks\\\nPath = x\n", false),
            ("[alias]\n\ts = !evil\n", false),
            ("[include]\n\tpath = ../x\n", false),
            ("[includeIf \"gitdir:x\"]\n\tpath = ../x\n", false),
            ("[remote \"origin\"]\n\tuploadpack = evil\n", false),
            ("[user]\n\tsigningkey = x\n", false),
            ("[filter \"x\"] clean = evil\n", false),
            ("[core\nfsmonitor=x\n", false),
        ] {
            assert_eq!(
                entries(text).iter().all(|(key, _)| is_harmless(key)),
                is_accepted,
                "{text}"
            );
        }
    }

    #[test]
    fn a_new_repository_is_disarmed() {
        let temp = tempfile::tempdir().unwrap();
        let git = temp.path().join(".git");
        fs::create_dir_all(git.join("hooks")).unwrap();
        fs::write(git.join("config"), "[core]\n\tfsmonitor = ./evil\n").unwrap();
        fs::write(git.join("hooks/pre-commit"), "evil").unwrap();
        fs::write(git.join("hooks/pre-push.sample"), "").unwrap();
        assert_eq!(
            disarm(&git, &[], &[]),
            [git.join("config"), git.join("hooks/pre-commit")]
        );
        assert_eq!(fs::read_to_string(git.join("config")).unwrap(), PLAIN_CONFIG);
        assert!(git.join("hooks/pre-commit.blocked").exists() && git.join("hooks/pre-push.sample").exists());
        assert_eq!(disarm(&git, &[], &[]), [""; 0].map(PathBuf::from));
        // A worktree of a known repository, and a link to another directory.
        fs::create_dir_all(git.join("worktrees/w")).unwrap();
        for (target, is_accepted) in [(".git/worktrees/w", true), ("other", false)] {
            let link = temp.path().join("w.git");
            fs::write(&link, format!("gitdir: {target}\n")).unwrap();
            assert_eq!(
                disarm(&link, &[&git.canonicalize().unwrap()], &[]).is_empty(),
                is_accepted,
                "{target}"
            );
        }
    }

    #[test]
    fn remotes_of_a_new_repository_are_elsewhere_or_known() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        for folder in ["new/.git", "bare.git", "own/.git", "outside/x.git"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        let (git, known) = (top.join("new/.git"), top.join("own/.git"));
        let writable = ["new", "bare.git", "own"].map(|name| top.join(name));
        let outside = top.join("outside/x.git").display().to_string();
        let bare = top.join("bare.git").display().to_string();
        for (text, is_accepted) in [
            ("[remote \"o\"]\n\turl = https://example.org/x.git", true),
            ("[remote \"o\"]\n\turl = git@example.org:x/y.git", true),
            ("[remote \"o\"]\n\turl = ../own", true),
            ("[remote \"o\"]\n\turl = ../own/.git", true),
            (&format!("[remote \"o\"]\n\turl = {outside}"), true),
            (&format!("[remote \"o\"]\n\turl = {bare}"), false),
            (&format!("[remote \"o\"]\n\turl = file://{bare}"), false),
            (
                &format!("[remote \"o\"]\n\turl = https://x/y\n\tpushurl = {bare}"),
                false,
            ),
            ("[remote \"o\"]\n\turl = ../bare", false),
            ("[remote \"o\"]\n\turl = later", false),
            ("[remote \"o\"]\n\turl = ext::sh -c evil", false),
            ("[remote \"o\"]\n\turl = evil://x", false),
            ("[remote]\n\tpushDefault = ../bare.git", false),
            ("[branch \"main\"]\n\tremote = ../bare.git", false),
            ("[branch \"main\"]\n\tpushRemote = ../bare.git", false),
            ("[branch \"main\"]\n\tremote = .\n\tmerge = refs/heads/a", true),
            (
                "[branch \"main\"]\n\tremote = o\n[remote \"o\"]\n\turl = https://x/y",
                true,
            ),
        ] {
            fs::write(git.join("config"), text).unwrap();
            assert_eq!(disarm(&git, &[&known], &writable).is_empty(), is_accepted, "{text}");
        }
        // The working tree of a submodule.
        fs::create_dir_all(top.join("new/.git/modules/s")).unwrap();
        fs::create_dir(top.join("new/s")).unwrap();
        fs::write(top.join("new/.git/modules/s/HEAD"), "").unwrap();
        for (link, is_accepted) in [
            ("gitdir: ../.git/modules/s\n", true),
            ("gitdir: ../../own/.git\n", false),
        ] {
            fs::write(git.join("config"), "").unwrap();
            fs::write(git.join("modules/s/config"), "[core]\n\tworktree = ../../../s\n").unwrap();
            fs::write(top.join("new/s/.git"), link).unwrap();
            assert_eq!(disarm(&git, &[&known], &writable).is_empty(), is_accepted, "{link}");
        }
    }

    #[test]
    fn new_commands_of_a_rebase_are_disabled() {
        let temp = tempfile::tempdir().unwrap();
        let (git, todo) = (temp.path(), temp.path().join("rebase-merge/git-rebase-todo"));
        fs::create_dir_all(todo.parent().unwrap()).unwrap();
        fs::write(&todo, "pick a\nexec mine\n").unwrap();
        let before = RepositoryState::new(git);
        assert!(before.disarm_additions(git).is_empty());
        fs::write(&todo, format!("{}exec evil\n", "# text\n".repeat(200_000))).unwrap();
        assert_eq!(before.disarm_additions(git), std::slice::from_ref(&todo));
        assert!(!todo.exists());
        fs::write(&todo, "pick a\nexec mine\nx evil\n").unwrap();
        assert_eq!(before.disarm_additions(git), std::slice::from_ref(&todo));
        assert_eq!(
            fs::read_to_string(&todo).unwrap(),
            "pick a\nexec mine\n# blocked: x evil\n"
        );
    }

    #[test]
    fn unknown_merge_strategies_are_blocked() {
        for (name, text, is_accepted) in [
            ("rebase-merge/strategy", "ort\n", true),
            ("rebase-merge/strategy", "x/evil", false),
            ("rebase-apply/strategy", "evil", false),
            (
                "sequencer/opts",
                "[options]\n\tno-commit = true\n\tstrategy = ours\n",
                true,
            ),
            ("sequencer/opts", "[options] Strategy = \"x/evil\"\n", false),
            ("worktrees/w/sequencer/opts", "[options]\nstrategy=x/evil\n", false),
        ] {
            let temp = tempfile::tempdir().unwrap();
            let git = temp.path().canonicalize().unwrap();
            fs::create_dir_all(git.join(name).parent().unwrap()).unwrap();
            fs::write(git.join(name), text).unwrap();
            drop(RepositoryState::new(&git).disarm_additions(&git));
            assert_eq!(git.join(name).exists(), is_accepted, "{name}: {text}");
        }
    }

    #[test]
    fn new_worktrees_must_refer_to_their_repository() {
        let temp = tempfile::tempdir().unwrap();
        let git = temp.path();
        let before = RepositoryState::new(git);
        for (name, common) in [
            ("own", "../..\n"),
            ("other", "/elsewhere"),
            ("space", "../.. "),
            ("none", ""),
        ] {
            fs::create_dir_all(git.join("worktrees").join(name)).unwrap();
            fs::write(git.join("worktrees").join(name).join("HEAD"), "").unwrap();
            if !common.is_empty() {
                fs::write(git.join("worktrees").join(name).join("commondir"), common).unwrap();
            }
        }
        let mut changed = before.disarm_additions(git);
        changed.sort();
        assert_eq!(
            changed,
            ["none/HEAD", "other/HEAD", "space/HEAD"].map(|name| git.join("worktrees").join(name))
        );
        assert!(before.disarm_additions(git).is_empty());
        // What was blocked does not become the user's.
        fs::rename(git.join("worktrees/other"), git.join("worktrees/other.blocked")).unwrap();
        let later = RepositoryState::new(git);
        fs::write(git.join("worktrees/other.blocked/HEAD"), "").unwrap();
        assert_eq!(later.disarm_additions(git), [git.join("worktrees/other.blocked/HEAD")]);
        // A link can lead elsewhere later.
        std::os::unix::fs::symlink("own", git.join("worktrees/link")).unwrap();
        assert_eq!(later.disarm_additions(git), [git.join("worktrees/link")]);
        fs::rename(git.join("worktrees"), git.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", git.join("worktrees")).unwrap();
        assert_eq!(later.disarm_additions(git), [git.join("worktrees")]);
    }

    #[test]
    fn paths_in_the_configuration_are_found() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let git = top.join(".git");
        for folder in [".git/x", ".githooks", "tools"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        fs::write(top.join("tools/clean.sh"), "").unwrap();
        fs::write(top.join("extra"), "").unwrap();
        let config = "[core]\n\thooksPath = .githooks\n\tworktree = ..\n[filter \"x\"]\n\tclean = \"tools/clean.sh --x\"\n\
            [include]\n\tpath = ../extra\n[alias]\n\ta = log .\n\tst = status\n\tx = !sh $(pwd)/later/x.sh\n";
        fs::write(git.join("config"), config).unwrap();
        fs::write(top.join("extra"), "[include]\n\tpath = missing/more\n").unwrap();
        // The user's own configuration, elsewhere.
        let user = tempfile::tempdir().unwrap();
        let user = user.path().join("config");
        fs::write(&user, format!("[include]\n\tpath = {}/absolute\n", top.display())).unwrap();
        let found = referenced_paths(&top, &git, &[user], None);
        let expected = [
            ".githooks",
            "absolute",
            "extra",
            "later/x.sh",
            "missing/more",
            "tools/clean.sh",
        ];
        assert_eq!(found, expected.map(|name| top.join(name)));
    }
}
