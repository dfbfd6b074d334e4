//! What a line deletes, moves or overwrites, and git commands that delete history for good.

use super::targets::{ResolvedTarget, removes_found};
use super::word::WordPiece;
use super::{FileTarget, GLOBAL_VALUES, Script, ShellWord, SimpleCommand, TargetSource};
use crate::paths::ProjectPaths;
use std::path::{Path, PathBuf};

/// A path that a line deletes, moves or overwrites.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DestroyedTarget {
    /// A path with everything below it.
    Path(PathBuf),
    /// The paths that match a pattern.
    Pattern {
        /// The folder that the pattern is relative to.
        folder: PathBuf,
        /// A pattern as of a shell.
        pattern: String,
    },
    /// The files below a folder that git ignores.
    IgnoredBelow(PathBuf),
    /// Files of the repository that git neither tracks nor ignores.
    Untracked,
    /// Changes of tracked files of the repository that are not committed.
    Uncommitted,
}

/// What a line that starts in `cwd` deletes, moves or overwrites, as far as its text shows.
pub fn destroyed_targets(script: &Script, cwd: &Path, project: &ProjectPaths) -> Vec<DestroyedTarget> {
    let mut all = Vec::new();
    for target in &script.writes {
        all.extend(destroyed(target, cwd, project));
    }
    for simple in &script.commands {
        match simple.name().as_deref() {
            Some("find" | "gfind") if removes_found(simple) || script.commands.iter().any(deletes_unknown) => {
                let roots = simple.words.iter().skip(1).take_while(|word| !word.may_be_flag());
                let roots: Vec<ShellWord> = roots.cloned().collect();
                let here = vec![ShellWord::text(".")];
                let roots = if roots.is_empty() { here } else { roots };
                for root in roots {
                    all.extend(destroyed(&target_of(simple, root), cwd, project));
                }
            }
            Some("git") => {
                let losses = git_losses(simple);
                if losses.ignored {
                    for target in destroyed(&target_of(simple, ShellWord::text(".")), cwd, project) {
                        if let DestroyedTarget::Path(folder) = target {
                            all.push(DestroyedTarget::IgnoredBelow(folder));
                        }
                    }
                }
                all.extend(losses.untracked.then_some(DestroyedTarget::Untracked));
                all.extend(losses.uncommitted.then_some(DestroyedTarget::Uncommitted));
            }
            Some(_) | None => {}
        }
    }
    all.sort();
    all.dedup();
    all
}

/// Whether a command deletes or moves files that are known only when it runs, such as those that `find` lists.
fn deletes_unknown(simple: &SimpleCommand) -> bool {
    let is_deletion = matches!(simple.name().as_deref(), Some("rm" | "unlink" | "shred" | "mv"));
    let is_unknown = |piece: &WordPiece| matches!(piece, WordPiece::Variable { .. } | WordPiece::Unknown { .. });
    is_deletion && (simple.open_ended || simple.words.iter().any(|word| word.pieces.iter().any(is_unknown)))
}

/// Whether a line deletes folders with everything in them.
pub fn deletes_folders(script: &Script) -> bool {
    script.commands.iter().any(|simple| {
        let mut words = simple.words.iter().skip(1).filter_map(ShellWord::plain);
        simple.name().as_deref() == Some("rm")
            && words
                .any(|word| is_option(&word, Some('r'), "--recursive") || is_option(&word, Some('R'), "--recursive"))
    })
}

fn target_of(simple: &SimpleCommand, path: ShellWord) -> FileTarget {
    FileTarget {
        path,
        folders: simple.folders.clone(),
        by: TargetSource::Program,
    }
}

fn destroyed(target: &FileTarget, cwd: &Path, project: &ProjectPaths) -> Vec<DestroyedTarget> {
    match target.resolve(cwd, project) {
        ResolvedTarget::Known(paths) => paths.into_iter().map(DestroyedTarget::Path).collect(),
        ResolvedTarget::Discarded => Vec::new(),
        ResolvedTarget::Unknown => {
            let Some((folder, pattern)) = split_pattern(&target.path) else {
                return Vec::new();
            };
            let folder = FileTarget {
                path: ShellWord::text(folder),
                ..target.clone()
            };
            match folder.resolve(cwd, project) {
                ResolvedTarget::Known(folders) => {
                    let pattern = |folder| DestroyedTarget::Pattern {
                        folder,
                        pattern: pattern.clone(),
                    };
                    folders.into_iter().map(pattern).collect()
                }
                ResolvedTarget::Discarded | ResolvedTarget::Unknown => Vec::new(),
            }
        }
    }
}

/// Splits a word with a pattern into the folder before it and the pattern; `None` if a part is unknown.
fn split_pattern(word: &ShellWord) -> Option<(String, String)> {
    let (mut text, mut pattern_start) = (String::new(), None);
    for piece in &word.pieces {
        match piece {
            WordPiece::Bare(part) | WordPiece::Quoted(part) => match pattern_start {
                None => text.push_str(part),
                Some(_) => part.chars().for_each(|c| match c {
                    '*' | '?' | '[' | ']' | '{' | '}' | '\\' => text.extend(['[', c, ']']),
                    c => text.push(c),
                }),
            },
            WordPiece::Glob(part) => {
                pattern_start.get_or_insert_with(|| text.rfind('/').map_or(0, |at| at + 1));
                text.push_str(part);
            }
            WordPiece::Tilde(_) | WordPiece::Variable { .. } | WordPiece::Unknown { .. } => return None,
        }
    }
    let pattern = text.split_off(pattern_start?);
    Some((if text.is_empty() { ".".into() } else { text }, pattern))
}

/// The words of a git command from its subcommand on.
fn git_words(simple: &SimpleCommand) -> Vec<String> {
    let valued = GLOBAL_VALUES.iter().find(|(name, _)| *name == "git");
    let valued = valued.map_or(&[][..], |(_, options)| *options);
    let words: Vec<String> = simple
        .words
        .iter()
        .skip(1)
        .map(|word| word.plain().unwrap_or_default())
        .collect();
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        at += if valued.contains(&word.as_str()) { 2 } else { 1 };
    }
    words.get(at..).unwrap_or_default().to_vec()
}

/// Whether a word is a short option with this letter or this long option, also abbreviated.
fn is_option(word: &str, short: Option<char>, long: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    let is_short = word.starts_with('-') && !word.starts_with("--");
    (name.len() > 3 && long.starts_with(name)) || (is_short && short.is_some_and(|short| word.contains(short)))
}

/// The files that a git command deletes or overwrites without a commit.
#[derive(Debug, Default)]
struct GitLosses {
    ignored: bool,
    untracked: bool,
    uncommitted: bool,
}

fn git_losses(simple: &SimpleCommand) -> GitLosses {
    let words = git_words(simple);
    let rest = words.get(1..).unwrap_or_default();
    let has = |short, long: &str| rest.iter().any(|word| is_option(word, short, long));
    let operand = rest.iter().find(|word| !word.starts_with('-')).map(String::as_str);
    // `git stash` with a leading option is `git stash push`.
    let second = rest.first().filter(|word| !word.starts_with('-')).map(String::as_str);
    match (words.first().map(String::as_str), second) {
        (Some("clean"), _) => GitLosses {
            ignored: has(Some('x'), "") || has(Some('X'), ""),
            untracked: !has(Some('n'), "--dry-run") && !has(Some('X'), ""),
            uncommitted: false,
        },
        (Some("stash"), None | Some("push" | "save")) => GitLosses {
            ignored: has(Some('a'), "--all"),
            untracked: has(Some('a'), "--all") || has(Some('u'), "--include-untracked"),
            uncommitted: true,
        },
        // With force, untracked files are overwritten by those of the commit.
        (Some("reset"), _) => GitLosses {
            untracked: has(None, "--hard") && operand.is_some_and(|commit| commit != "HEAD"),
            uncommitted: ["--hard", "--merge", "--keep"].iter().any(|mode| has(None, mode)),
            ..GitLosses::default()
        },
        (Some("switch"), _) => {
            let is_forced = has(Some('f'), "--force") || has(None, "--discard-changes");
            GitLosses {
                untracked: is_forced,
                uncommitted: is_forced,
                ..GitLosses::default()
            }
        }
        (Some("checkout"), _) if !simple.open_ended && only_creates_branch(rest) => GitLosses::default(),
        (Some("checkout"), _) => GitLosses {
            untracked: has(Some('f'), "--force") && operand.is_some_and(|commit| commit != "HEAD"),
            uncommitted: true,
            ..GitLosses::default()
        },
        (Some("read-tree"), _) => GitLosses {
            untracked: has(None, "--reset"),
            uncommitted: true,
            ..GitLosses::default()
        },
        (Some("checkout-index" | "restore" | "rm" | "apply"), _) => GitLosses {
            uncommitted: true,
            ..GitLosses::default()
        },
        (Some(_) | None, _) => GitLosses::default(),
    }
}

/// Whether the words after `git checkout` only create a branch at the current commit.
fn only_creates_branch(rest: &[String]) -> bool {
    let [option, name] = rest else { return false };
    // An unknown word is empty.
    matches!(option.as_str(), "-b" | "-B" | "--orphan") && !name.is_empty() && !name.starts_with('-')
}

/// Why a git command cannot be undone: it deletes commits, or the records by which they are found.
pub(super) fn history_loss(simple: &SimpleCommand) -> Option<String> {
    if simple.name()? != "git" {
        return None;
    }
    let words = git_words(simple);
    let rest = words.get(1..).unwrap_or_default();
    let has = |short, long: &str| rest.iter().any(|word| is_option(word, short, long));
    let second = rest.iter().find(|word| !word.starts_with('-')).map(String::as_str);
    let subcommand = words.first()?.as_str();
    let is_destroyed = match (subcommand, second) {
        ("reflog", Some("expire" | "delete")) | ("stash", Some("drop" | "clear")) => true,
        ("gc", _) => {
            let sets_expiry = |word: &ShellWord| {
                let text = word.plain().unwrap_or_default().to_lowercase();
                text.starts_with("gc.") && text.contains("expire")
            };
            has(None, "--prune") || has(None, "--cruft-expiration") || simple.words.iter().any(sets_expiry)
        }
        ("prune" | "filter-branch" | "filter-repo", _) => !has(Some('n'), "--dry-run"),
        ("repack", _) => {
            has(Some('A'), "--unpack-unreachable")
                || rest.iter().any(|word| is_bundle(word, 'a') && is_bundle(word, 'd'))
        }
        // Twice, it also deletes repositories in the folder.
        ("clean", _) => {
            let forced = rest.iter().filter(|word| is_option(word, None, "--force")).count();
            let letters = rest
                .iter()
                .filter(|word| word.starts_with('-') && !word.starts_with("--"));
            forced + letters.map(|word| word.matches('f').count()).sum::<usize>() > 1 && !has(Some('n'), "--dry-run")
        }
        ("branch", _) => has(Some('D'), "") || (has(Some('d'), "--delete") && has(Some('f'), "--force")),
        ("tag", _) => has(Some('d'), "--delete"),
        ("update-ref", _) => has(Some('d'), "--delete") || has(None, "--stdin"),
        ("worktree", Some("remove")) => has(Some('f'), "--force"),
        _ => false,
    };
    is_destroyed.then(|| format!("`git {subcommand}` deletes history that undo cannot restore"))
}

fn is_bundle(word: &str, letter: char) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn check(line: &str) -> Vec<String> {
        let project = ProjectPaths {
            root: "/p".into(),
            ..ProjectPaths::default()
        };
        let name = |target| match target {
            DestroyedTarget::Path(path) => path.display().to_string(),
            DestroyedTarget::Pattern { folder, pattern } => format!("{} : {pattern}", folder.display()),
            DestroyedTarget::IgnoredBelow(folder) => format!("ignored in {}", folder.display()),
            DestroyedTarget::Untracked => "untracked".to_owned(),
            DestroyedTarget::Uncommitted => "uncommitted".to_owned(),
        };
        let targets = destroyed_targets(&parse(line), Path::new("/p"), &project);
        targets.into_iter().map(name).collect()
    }

    #[test]
    fn destroyed_files_are_found_in_a_line() {
        let cases: &[(&str, &[&str])] = &[
            ("rm -rf data", &["/p/data"]),
            ("cd sub && rm -f a 'b c'", &["/p/sub/a", "/p/sub/b c"]),
            ("mv a b", &["/p/a", "/p/b"]),
            ("cp x y", &["/p/y"]),
            ("echo x > f; cat g | tee h", &["/p/f", "/p/h"]),
            ("sed -i s/a/b/ f", &["/p/f"]),
            ("truncate -s0 f", &["/p/f"]),
            ("dd if=a of=b", &["/p/b"]),
            ("shred -u f", &["/p/f"]),
            ("rsync -a --delete src/ dst/", &["/p/dst"]),
            ("rm -rf build/*.o *.log", &["/p : *.log", "/p/build : *.o"]),
            ("find data -name '*.tmp' -delete", &["/p/data"]),
            ("find . -type f", &[]),
            ("find data -type f -print0 | xargs -0 rm -f", &["/p/data"]),
            ("find data | xargs -I {} rm {}", &["/p/data"]),
            ("rm -f $(find data -name '*.tmp')", &["/p/data"]),
            ("find data -type f | while read f; do rm \"$f\"; done", &["/p/data"]),
            ("find data | xargs cat", &[]),
            ("git clean -fdx", &["ignored in /p", "untracked"]),
            ("git -C sub clean -fd", &["untracked"]),
            ("git clean -ffdX", &["ignored in /p"]),
            ("git clean -nd", &[]),
            ("git stash", &["uncommitted"]),
            ("git stash push -u -m x", &["untracked", "uncommitted"]),
            ("git stash -a", &["ignored in /p", "untracked", "uncommitted"]),
            ("git stash -m MSG", &["uncommitted"]),
            ("git stash -u -m wip", &["untracked", "uncommitted"]),
            ("git stash -a -m MSG", &["ignored in /p", "untracked", "uncommitted"]),
            ("git stash pop", &[]),
            ("git stash list -p", &[]),
            ("git reset --hard HEAD~1; git status", &["untracked", "uncommitted"]),
            ("git reset -q --hard $commit", &["untracked", "uncommitted"]),
            ("git reset --hard", &["uncommitted"]),
            ("git reset --hard HEAD", &["uncommitted"]),
            ("git reset --keep HEAD~1", &["uncommitted"]),
            ("git reset HEAD a", &[]),
            ("git checkout -- .", &["uncommitted"]),
            ("git checkout topic", &["uncommitted"]),
            ("git checkout -f topic", &["untracked", "uncommitted"]),
            ("git checkout -f", &["uncommitted"]),
            ("git checkout -b topic", &[]),
            ("git checkout -B topic", &[]),
            ("git checkout --orphan topic", &[]),
            ("git checkout -b $topic", &["uncommitted"]),
            ("git checkout -f -b topic", &["untracked", "uncommitted"]),
            ("git read-tree --reset -u topic", &["untracked", "uncommitted"]),
            ("git read-tree -u topic", &["uncommitted"]),
            ("git restore a", &["uncommitted"]),
            ("git switch topic", &[]),
            ("git switch -f topic", &["untracked", "uncommitted"]),
            ("git switch --discard-changes topic", &["untracked", "uncommitted"]),
            ("echo x > /dev/null", &[]),
            ("cargo test", &[]),
            ("env FOO=1 rm f", &["/p/f"]),
        ];
        for (line, expected) in cases {
            assert_eq!(check(line), *expected, "{line}");
        }
    }

    #[test]
    fn only_a_recursive_deletion_deletes_folders() {
        for (line, is_recursive) in [
            ("rm -rf a", true),
            ("cd x && sudo rm --recursive y", true),
            ("rm -fR a", true),
            ("rm -f a", false),
            ("cp -r a b", false),
        ] {
            assert_eq!(deletes_folders(&parse(line)), is_recursive, "{line}");
        }
    }

    #[test]
    fn git_commands_that_delete_history_are_recognised() {
        let cases = [
            ("git reflog expire --expire=now --all", true),
            ("git reflog", false),
            ("git gc --prune=now", true),
            ("git -c gc.pruneExpire=now gc", true),
            ("git gc --pr=now", true),
            ("git gc", false),
            ("git -c gc.auto=0 gc --prune=all", true),
            ("git branch -D topic", true),
            ("git branch -d topic", false),
            ("git branch -d -f topic", true),
            ("git branch --delete --force topic", true),
            ("git stash drop", true),
            ("git stash", false),
            ("git stash pop", false),
            ("git prune", true),
            ("git tag -d v1", true),
            ("git tag v1", false),
            ("git update-ref -d refs/heads/x", true),
            ("git commit -m drop", false),
            ("git clean -ffdx", true),
            ("git clean -f -d --force", true),
            ("git clean -fdx", false),
            ("git clean -ffdn", false),
        ];
        for (line, is_destroyed) in cases {
            let script = parse(line);
            let found = script.commands.iter().find_map(history_loss);
            assert_eq!(found.is_some(), is_destroyed, "{line}: {found:?}");
        }
    }
}
