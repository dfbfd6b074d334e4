//! What makes git run programs: its configuration, what that refers to, and prepared rebases.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

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

/// The files and directories in the working tree that a repository's configuration refers to, such as the directory of
/// its hooks.
pub(crate) fn referenced_paths(top: &Path, git: &Path, user_configs: &[PathBuf]) -> Vec<PathBuf> {
    let own = [git.join("config"), git.join("config.worktree")];
    let mut paths = BTreeSet::new();
    for file in own.iter().chain(user_configs) {
        for (key, value) in entries(&read(file)) {
            if is_harmless(&key) || key == "core.worktree" || key.ends_with(".url") {
                continue;
            }
            let base = match key.starts_with("include") {
                true => file.parent().unwrap_or(top),
                false => top,
            };
            let words = value
                .split_whitespace()
                .map(|word| word.trim_matches(['!', '"', '\'', ';', '(', ')']));
            for path in words.filter(|word| !word.is_empty()).map(|word| base.join(word)) {
                let Ok(real) = path.canonicalize() else { continue };
                // All of the working tree, or the git directory, would be read-only.
                let is_part = real.starts_with(top) && !top.starts_with(&real) && !git.starts_with(&real);
                if is_part && !real.starts_with(git) {
                    paths.insert(path);
                }
            }
        }
    }
    paths.into_iter().collect()
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
    let config = git.join("config");
    let is_armed = |file: &Path| entries(&read(file)).iter().any(|(key, _)| !is_harmless(key));
    if config.is_symlink() || is_armed(&config) {
        changed.extend(block(&config).then(|| config.clone()));
        drop(std::fs::write(&config, PLAIN_CONFIG));
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
    changed
}

/// The commands of a prepared rebase.
pub(crate) fn rebase_commands(git: &Path) -> BTreeSet<String> {
    let text = read(&git.join("rebase-merge/git-rebase-todo"));
    text.lines().filter(|line| is_exec(line)).map(str::to_owned).collect()
}

/// Disables the commands of a prepared rebase, except those that were there before. Returns whether there were any.
pub(crate) fn disarm_rebase(git: &Path, before: &BTreeSet<String>) -> bool {
    let file = git.join("rebase-merge/git-rebase-todo");
    let text = read(&file);
    let is_new = |line: &str| is_exec(line) && !before.contains(line);
    if !text.lines().any(is_new) {
        return false;
    }
    let lines = text.lines().map(|line| match is_new(line) {
        true => format!("# blocked: {line}\n"),
        false => format!("{line}\n"),
    });
    std::fs::write(&file, lines.collect::<String>()).is_ok()
}

fn is_exec(line: &str) -> bool {
    matches!(line.split_whitespace().next(), Some("exec" | "x"))
}

/// Renames a path so that it has no effect.
fn block(path: &Path) -> bool {
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
        let before = rebase_commands(git);
        assert!(!disarm_rebase(git, &before));
        fs::write(&todo, "pick a\nexec mine\nx evil\n").unwrap();
        assert!(disarm_rebase(git, &before));
        assert_eq!(
            fs::read_to_string(&todo).unwrap(),
            "pick a\nexec mine\n# blocked: x evil\n"
        );
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
            [include]\n\tpath = ../extra\n[alias]\n\ta = log .\n";
        fs::write(git.join("config"), config).unwrap();
        let found: Vec<PathBuf> = referenced_paths(&top, &git, &[]);
        let real: Vec<PathBuf> = found.iter().map(|path| path.canonicalize().unwrap()).collect();
        assert_eq!(
            real.iter().collect::<BTreeSet<_>>(),
            [".githooks", "extra", "tools/clean.sh"]
                .map(|name| top.join(name))
                .iter()
                .collect()
        );
    }
}
