//! What makes git run programs: its configuration, what that refers to, and prepared rebases.

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
/// Keys in harmless sections that run programs.
const HARMFUL_ENDINGS: [&str; 4] = [".uploadpack", ".receivepack", ".vcs", ".signingkey"];
/// A configuration without programs.
const PLAIN_CONFIG: &str =
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";

/// What a command may change in a repository only so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct RepositoryState {
    /// The commands of prepared rebases.
    commands: BTreeSet<String>,
    /// The directories of linked worktrees.
    worktrees: BTreeSet<PathBuf>,
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
                let Some(path) = word_path(word, base, home).and_then(|path| resolve(&path)) else {
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

/// The path that a word of a configuration denotes.
fn word_path(word: &str, base: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if let Some(rest) = word.strip_prefix("~/") {
        return Some(home?.join(rest));
    }
    let path = Path::new(word);
    match path.is_absolute() && !path.exists() && !path.starts_with(base) {
        // The rest of something like `$(git rev-parse --show-toplevel)/x`.
        true => Some(base.join(word.trim_start_matches('/'))),
        false => Some(base.join(path)),
    }
}

/// The path with a canonical parent. The last components need not exist.
fn resolve(path: &Path) -> Option<PathBuf> {
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
/// changed paths.
pub(crate) fn disarm<'a>(git: &Path, mut known: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let mut changed = Vec::new();
    if git.is_symlink() || !git.is_dir() {
        let text = read(git);
        let target = text.strip_prefix("gitdir:").map(|path| git.with_file_name(path.trim()));
        let target = target
            .and_then(|path| path.canonicalize().ok())
            .filter(|_| !git.is_symlink());
        let mut is_part = |target: &PathBuf| {
            known.any(|known| {
                ["worktrees", "modules"]
                    .iter()
                    .any(|part| target.starts_with(known.join(part)))
            })
        };
        changed.extend((!target.is_some_and(|target| is_part(&target)) && block(git)).then(|| git.to_owned()));
        return changed;
    }
    disarm_directory(git, &mut changed);
    changed.extend(disarm_worktrees(git, &BTreeSet::new()));
    // The repositories of submodules.
    let mut pending = folders(&git.join("modules"));
    while let Some(folder) = pending.pop() {
        let is_repository = folder.join("HEAD").symlink_metadata().is_ok();
        pending.extend(folders(&folder).into_iter().filter(|_| !is_repository));
        if is_repository {
            disarm_directory(&folder, &mut changed);
            pending.extend(folders(&folder.join("modules")));
        }
    }
    changed
}

/// Disarms a git directory.
fn disarm_directory(git: &Path, changed: &mut Vec<PathBuf>) {
    let config = git.join("config");
    let is_armed = |file: &Path| entries(&read(file)).iter().any(|(key, _)| !is_harmless(key));
    if config.is_symlink() || is_armed(&config) {
        changed.extend(block(&config).then(|| config.clone()));
        let plain = match git.ends_with(".git") {
            true => PLAIN_CONFIG.to_owned(),
            false => PLAIN_CONFIG.replace("bare = false", "bare = true"),
        };
        drop(std::fs::write(&config, plain));
    }
    for name in ["config.worktree", "commondir"] {
        let file = git.join(name);
        if file.symlink_metadata().is_ok() && block(&file) {
            changed.push(file);
        }
    }
    let hooks = git.join("hooks");
    let is_link = hooks.is_symlink() && block(&hooks);
    changed.extend(is_link.then(|| hooks.clone()));
    let entries = std::fs::read_dir(&hooks).into_iter().flatten().flatten();
    let armed = entries.map(|entry| entry.path());
    let armed = armed.filter(|path| {
        path.extension()
            .is_none_or(|extension| extension != "sample" && extension != BLOCKED)
    });
    changed.extend(armed.filter(|path| block(path)));
}

/// Disarms linked worktrees, except known ones: each must refer to its repository and have no settings of its own.
fn disarm_worktrees(git: &Path, known: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut changed = Vec::new();
    for tree in folders(&git.join("worktrees")) {
        if known.contains(&tree) || tree.extension().is_some_and(|extension| extension == BLOCKED) {
            continue;
        }
        let common = tree.join("commondir");
        let target = (!common.is_symlink()).then(|| tree.join(read(&common).trim()));
        let is_own = target.is_some_and(|target| target.canonicalize().ok() == git.canonicalize().ok());
        if !is_own && block(&tree) {
            changed.push(tree);
            continue;
        }
        let settings = ["config.worktree", "modules"].map(|name| tree.join(name));
        changed.extend(settings.into_iter().filter(|path| block(path)));
    }
    changed
}

/// The directories in a directory, without links.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

/// The files with prepared rebases: of the repository and its linked worktrees.
fn rebase_files(git: &Path) -> impl Iterator<Item = PathBuf> {
    let trees = folders(&git.join("worktrees"));
    let places = [git.to_owned()].into_iter().chain(trees);
    places.map(|place| place.join("rebase-merge/git-rebase-todo"))
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
            worktrees: folders(&git.join("worktrees")).into_iter().collect(),
        }
    }

    /// Disarms what was added to the repository since: linked worktrees and commands of prepared rebases. Returns the
    /// changed paths.
    pub(crate) fn disarm_additions(&self, git: &Path) -> Vec<PathBuf> {
        let mut changed = disarm_worktrees(git, &self.worktrees);
        changed.extend(rebase_files(git).filter(|file| self.disarm_rebase(file)));
        changed
    }

    /// Disables the commands of a prepared rebase, except those that were there before. Returns whether there were any.
    fn disarm_rebase(&self, file: &Path) -> bool {
        // A link may lead out of the project.
        if let Some(folder) = file.parent().filter(|folder| folder.is_symlink()) {
            return block(folder);
        }
        let text = read(file);
        let is_new = |line: &str| is_exec(line) && !self.commands.contains(line);
        if !text.lines().any(is_new) {
            return false;
        }
        let lines = text.lines().map(|line| match is_new(line) {
            true => format!("# blocked: {line}\n"),
            false => format!("{line}\n"),
        });
        let lines: String = lines.collect();
        // A link would redirect the write.
        block(file) && std::fs::write(file, lines).is_ok()
    }
}

fn is_exec(line: &str) -> bool {
    matches!(line.split_whitespace().next(), Some("exec" | "x"))
}

/// Renames a path so that it has no effect.
pub(crate) fn block(path: &Path) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(BLOCKED);
    std::fs::rename(path, PathBuf::from(name)).is_ok()
}

fn is_harmless(key: &str) -> bool {
    let matches = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(section) => key.starts_with(section),
        None => key == *pattern,
    };
    HARMLESS_KEYS.iter().any(matches) && !HARMFUL_ENDINGS.iter().any(|end| key.ends_with(end))
}

fn read(file: &Path) -> String {
    let bytes: io::Result<Vec<u8>> = workspace::read_regular_file(file, MAX_BYTES);
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

/// The keys and values of a configuration, keys in lower case. A line that cannot be parsed is a key of its own, so that
/// it does not count as harmless.
fn entries(text: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut found = Vec::new();
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    for line in joined.lines().map(str::trim) {
        let mut rest = line;
        if rest.starts_with(['#', ';']) || rest.is_empty() {
            continue;
        }
        if let Some(header) = rest.strip_prefix('[') {
            let Some((name, after)) = header.rsplit_once(']') else {
                found.push((line.to_owned(), String::new()));
                continue;
            };
            section = name.split(['"', ' ', '\t']).next().unwrap_or_default().to_lowercase();
            if name.contains('"') {
                section.push_str(".x");
            }
            rest = after.trim();
            if rest.is_empty() || rest.starts_with(['#', ';']) {
                continue;
            }
        }
        let (key, value) = rest.split_once('=').unwrap_or((rest, "true"));
        found.push((
            format!("{section}.{}", key.trim().to_lowercase()),
            value.trim().to_owned(),
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn configurations_that_run_programs_are_recognized() {
        for (text, is_fine) in [
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
            assert_eq!(entries(text).iter().all(|(key, _)| is_harmless(key)), is_fine, "{text}");
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
            disarm(&git, [].iter()),
            [git.join("config"), git.join("hooks/pre-commit")]
        );
        assert_eq!(fs::read_to_string(git.join("config")).unwrap(), PLAIN_CONFIG);
        assert!(git.join("hooks/pre-commit.blocked").exists() && git.join("hooks/pre-push.sample").exists());
        assert_eq!(disarm(&git, [].iter()), [""; 0].map(PathBuf::from));
        // A worktree of a known repository, and a link to another directory.
        fs::create_dir_all(git.join("worktrees/w")).unwrap();
        for (target, is_fine) in [(".git/worktrees/w", true), ("elsewhere", false)] {
            let link = temp.path().join("w.git");
            fs::write(&link, format!("gitdir: {target}\n")).unwrap();
            assert_eq!(
                disarm(&link, [git.canonicalize().unwrap()].iter()).is_empty(),
                is_fine,
                "{target}"
            );
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
        fs::write(&todo, "pick a\nexec mine\nx evil\n").unwrap();
        assert_eq!(before.disarm_additions(git), std::slice::from_ref(&todo));
        assert_eq!(
            fs::read_to_string(&todo).unwrap(),
            "pick a\nexec mine\n# blocked: x evil\n"
        );
    }

    #[test]
    fn new_worktrees_must_refer_to_their_repository() {
        let temp = tempfile::tempdir().unwrap();
        let git = temp.path();
        let before = RepositoryState::new(git);
        for (name, common) in [("own", "../.."), ("other", "/elsewhere"), ("none", "")] {
            fs::create_dir_all(git.join("worktrees").join(name)).unwrap();
            if !common.is_empty() {
                fs::write(git.join("worktrees").join(name).join("commondir"), common).unwrap();
            }
        }
        let mut changed = before.disarm_additions(git);
        changed.sort();
        assert_eq!(changed, ["none", "other"].map(|name| git.join("worktrees").join(name)));
        assert!(before.disarm_additions(git).is_empty());
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
        let found = referenced_paths(&top, &git, &[], None);
        assert_eq!(
            found,
            [".githooks", "extra", "later/x.sh", "missing/more", "tools/clean.sh"].map(|name| top.join(name))
        );
    }
}
