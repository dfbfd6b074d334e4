//! Commands that are always refused: removing `/`, the home directory, the project or a parent of it, and overwriting
//! disks.

use super::destruction::history_loss;
use super::targets::{absolute, operands};
use super::word::WordPiece;
use super::{Script, ShellWord, SimpleCommand, WorkingDir};
use crate::paths::{ProjectPaths, normalize};
use std::path::{Path, PathBuf};

/// Why a command must not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandDanger {
    /// It would remove something essential.
    Refused(String),
    /// What it would remove is unknown from its text, or cannot be restored.
    Uncertain(String),
}

const REMOVERS: &[&str] = &[
    "rm", "grm", "rmdir", "unlink", "shred", "srm", "rimraf", "trash", "wipe",
];

/// Directories directly under `/` that a system needs.
#[rustfmt::skip]
const SYSTEM: &[&str] = &[
    "applications", "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "library", "opt", "private", "proc",
    "root", "sbin", "sys", "system", "users", "usr", "var", "volumes",
];

#[rustfmt::skip]
const DISKS: &[&str] = &[
    "/dev/sd", "/dev/hd", "/dev/vd", "/dev/xvd", "/dev/nvme", "/dev/mmcblk", "/dev/disk", "/dev/rdisk",
    "/dev/mapper/", "/dev/md", "/dev/dm-", "/dev/mem", "/dev/kmem", "/dev/port", "/dev/loop",
];

/// Placeholder for an unknown home directory.
const SOME_HOME: &str = "/home/~";

/// Whether a line is always refused, or removes something unknown.
pub fn command_danger(script: &Script, cwd: &Path, project: &ProjectPaths) -> Option<CommandDanger> {
    let mut doubt = None;
    for simple in &script.commands {
        match danger(simple, cwd, project) {
            Some(CommandDanger::Refused(why)) => return Some(CommandDanger::Refused(why)),
            Some(CommandDanger::Uncertain(why)) => doubt = doubt.or(Some(CommandDanger::Uncertain(why))),
            None => {}
        }
    }
    for target in &script.writes {
        let path = target.path.known_start();
        if DISKS.iter().any(|disk| path.starts_with(disk)) {
            return Some(CommandDanger::Refused(format!("it would overwrite the device {path}")));
        }
    }
    doubt
}

fn danger(simple: &SimpleCommand, cwd: &Path, project: &ProjectPaths) -> Option<CommandDanger> {
    let name = simple.name()?.to_lowercase();
    let site = RemovalContext { simple, cwd, project };
    match name.as_str() {
        remover if REMOVERS.contains(&remover) => removal_danger(&site, &name),
        "find" | "gfind" => find_danger(&site),
        "chmod" | "chown" | "chgrp" if site.has_flag('R', "--recursive") => site.first_protected(
            &operands(simple, &["--reference", "--from"])[..],
            ProtectionScope::Machine,
            &name,
        ),
        "mv" => {
            let files = operands(simple, &["-S", "--suffix", "-t", "--target-directory"]);
            let sources = files.len().saturating_sub(1).max(1).min(files.len());
            removed_device(&files[..sources])
                .or_else(|| site.first_protected(&files[..sources], ProtectionScope::Project, &name))
        }
        "rsync"
            if simple
                .words
                .iter()
                .filter_map(ShellWord::plain)
                .any(|w| w.starts_with("--del")) =>
        {
            let files = operands(simple, &["-e", "--rsh", "--exclude", "--include", "--filter", "-f"]);
            site.first_protected(&files[files.len().saturating_sub(1)..], ProtectionScope::Project, &name)
        }
        "git" => history_loss(simple).map(CommandDanger::Uncertain),
        "wipefs" | "mke2fs" | "mkswap" => Some(CommandDanger::Refused(format!("`{name}` erases a disk"))),
        format if format.starts_with("mkfs") => Some(CommandDanger::Refused(format!("`{name}` erases a disk"))),
        _ => None,
    }
}

/// A device among files that are removed.
fn removed_device(files: &[ShellWord]) -> Option<CommandDanger> {
    let mut starts = files.iter().map(ShellWord::known_start);
    let path = starts.find(|path| {
        let below = path
            .trim_start_matches('/')
            .strip_prefix("dev/")
            .filter(|_| path.starts_with('/'));
        // Programs have files there.
        below.is_some_and(|name| !name.contains("..") && !name.starts_with("shm/") && !name.starts_with("mqueue/"))
    })?;
    Some(CommandDanger::Refused(format!("it would remove the device {path}")))
}

fn removal_danger(site: &RemovalContext<'_>, name: &str) -> Option<CommandDanger> {
    let words = &site.simple.words;
    if words
        .iter()
        .filter_map(ShellWord::plain)
        .any(|w| w.starts_with("--no-pres") || w == "-no-preserve-root")
    {
        return Some(CommandDanger::Refused("`--no-preserve-root` is never needed".into()));
    }
    let files = operands(site.simple, &[]);
    if let Some(danger) = removed_device(&files) {
        return Some(danger);
    }
    if let Some(danger) = site.first_protected(&files, ProtectionScope::Project, name) {
        return Some(danger);
    }
    let recursive = name == "rimraf" || site.has_flag('r', "--recursive") || site.has_flag('R', "--recursive");
    if !recursive {
        return None;
    }
    if site.simple.open_ended {
        return Some(CommandDanger::Uncertain(format!(
            "what `{name}` removes is only known at run time"
        )));
    }
    let unclear = files.iter().find(|word| site.is_doubtful(word))?;
    Some(CommandDanger::Uncertain(format!(
        "what `{name}` removes through `{unclear}` is only known at run time"
    )))
}

/// `find` with deletion: refused on protected directories, and on the project without a filter.
fn find_danger(site: &RemovalContext<'_>) -> Option<CommandDanger> {
    let texts: Vec<_> = site.simple.words.iter().map(ShellWord::plain).collect();
    let has = |wanted: &[&str]| texts.iter().flatten().any(|text| wanted.contains(&text.as_str()));
    let removes = has(&["-delete"])
        || texts
            .windows(2)
            .any(|pair| matches!(pair, [Some(run), Some(name)] if run.starts_with("-exec") && REMOVERS.contains(&super::basename(name))));
    if !removes {
        return None;
    }
    let narrowed = has(&[
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-regex",
        "-iregex",
        "-mtime",
        "-mmin",
        "-newer",
        "-size",
        "-empty",
        "-samefile",
        "-inum",
        "-ctime",
        "-atime",
        "-user",
    ]);
    let scope = if narrowed {
        ProtectionScope::Machine
    } else {
        ProtectionScope::Project
    };
    let roots: Vec<ShellWord> = site
        .simple
        .words
        .iter()
        .skip(1)
        .take_while(|word| !word.may_be_flag() || word.plain().is_none())
        .cloned()
        .collect();
    let here = [ShellWord::text(".")];
    site.first_protected(if roots.is_empty() { &here } else { &roots }, scope, "find")
}

/// Which directories are protected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProtectionScope {
    /// The system and the home directory.
    Machine,
    /// Also the project and the working directory.
    Project,
}

struct RemovalContext<'a> {
    simple: &'a SimpleCommand,
    cwd: &'a Path,
    project: &'a ProjectPaths,
}

impl RemovalContext<'_> {
    fn has_flag(&self, short: char, long: &str) -> bool {
        self.simple
            .words
            .iter()
            .skip(1)
            .filter_map(ShellWord::plain)
            .any(|text| {
                text == long
                    || (text.len() > 3 && text.starts_with("--") && long.starts_with(&text))
                    || (text.starts_with('-') && !text.starts_with("--") && text.contains(short))
            })
    }

    fn first_protected(&self, words: &[ShellWord], scope: ProtectionScope, name: &str) -> Option<CommandDanger> {
        let word = words.iter().find(|word| self.is_protected(word, scope))?;
        Some(CommandDanger::Refused(format!("`{name}` must not be used on `{word}`")))
    }

    fn is_protected(&self, word: &ShellWord, scope: ProtectionScope) -> bool {
        let home = self.home();
        let folders = &self.simple.folders;
        folders.iter().any(|folder| {
            let Some((path, spread)) = self.resolve_word(word, folder) else {
                return false;
            };
            if path == Path::new("/") || home.starts_with(&path) || is_system(&path) {
                return true;
            }
            // The complete content of a directory is protected like the directory; a narrower pattern only directly
            // under `/`.
            let holds = match spread {
                PathSpread::Itself | PathSpread::AllInside => true,
                PathSpread::SomeInside => false,
            };
            scope == ProtectionScope::Project
                && holds
                && (self.project.root.starts_with(&path)
                    || self.cwd.starts_with(&path)
                    || self.project.more.iter().any(|root| root.starts_with(&path)))
                && !(self.project.root.as_os_str().is_empty() && self.cwd.as_os_str().is_empty())
        })
    }

    fn home(&self) -> PathBuf {
        self.project.home.clone().unwrap_or_else(|| SOME_HOME.into())
    }

    /// The directory that a word denotes, and whether it denotes the directory or its content.
    fn resolve_word(&self, word: &ShellWord, folder: &WorkingDir) -> Option<(PathBuf, PathSpread)> {
        let mut text = String::new();
        let tilde = matches!(word.pieces.first(), Some(WordPiece::Tilde(_)));
        let mut spread = PathSpread::Itself;
        for (at, piece) in word.pieces.iter().enumerate() {
            match piece {
                WordPiece::Bare(part) | WordPiece::Quoted(part) | WordPiece::Tilde(part) => text.push_str(part),
                WordPiece::Variable { name, .. } if name == "HOME" && text.is_empty() => {
                    text.push_str(&self.home().to_string_lossy());
                }
                WordPiece::Variable { name, .. } if name == "PWD" && text.is_empty() => text.push('.'),
                WordPiece::Glob(_) => {
                    spread = spread_of(&text, &word.pieces[at..]);
                    if spread == PathSpread::Itself {
                        return None;
                    }
                    break;
                }
                WordPiece::Variable { .. } | WordPiece::Unknown { .. } => return None,
            }
        }
        if spread != PathSpread::Itself {
            let cut = text.rfind('/').map_or(0, |at| at + 1);
            text.truncate(cut);
        }
        let tilde_user = tilde && !text.starts_with("~/") && text != "~" && text.len() > 1;
        if tilde_user {
            // The home directory of another user, or of the same user by name.
            let only_home = !text.trim_end_matches('/').contains('/');
            return only_home.then(|| (self.home(), spread));
        }
        if text.is_empty() {
            text.push('.');
        }
        let project = ProjectPaths {
            home: Some(self.home()),
            ..self.project.clone()
        };
        let path = absolute(&text, tilde, folder, self.cwd, &project)
            // In an unknown directory, the directory itself and its parents are still protected.
            .or_else(|| normalize(Path::new(&text)).starts_with("..").then(|| PathBuf::from("/")))
            .or_else(|| (normalize(Path::new(&text)).as_os_str().is_empty()).then(|| PathBuf::from("/")))?;
        // A pattern directly under `/` affects the system, however narrow.
        if spread == PathSpread::SomeInside && path != Path::new("/") {
            return None;
        }
        Some((path, spread))
    }

    /// Whether a recursive removal may affect anything.
    fn is_doubtful(&self, word: &ShellWord) -> bool {
        if word.plain().is_some() {
            let relative = !word.known_start().starts_with(['/', '~']);
            return relative && self.simple.folders.contains(&WorkingDir::Unknown);
        }
        let start = word.known_start();
        let unknown = word
            .pieces
            .iter()
            .any(|piece| matches!(piece, WordPiece::Variable { .. } | WordPiece::Unknown { .. }));
        let starts_at_home = matches!(word.pieces.first(), Some(WordPiece::Variable { name, .. }) if name == "HOME");
        // A known leading directory contains the rest.
        let in_folder = start.trim_start_matches("./").contains('/') && !start.trim_matches(['/', '.']).is_empty();
        unknown && !starts_at_home && !in_folder
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PathSpread {
    Itself,
    AllInside,
    SomeInside,
}

/// Whether a pattern matches everything in its directory, given the text before it and the following pieces.
fn spread_of(before: &str, pieces: &[WordPiece]) -> PathSpread {
    let component = before.rsplit('/').next().unwrap_or(before);
    let mut all = component.chars().all(|c| c == '.');
    for piece in pieces {
        let text = match piece {
            WordPiece::Bare(text) | WordPiece::Quoted(text) | WordPiece::Glob(text) => text,
            WordPiece::Tilde(_) | WordPiece::Variable { .. } | WordPiece::Unknown { .. } => {
                return PathSpread::SomeInside;
            }
        };
        all &= text
            .chars()
            .all(|c| matches!(c, '*' | '?' | '.' | '[' | ']' | '!' | '^' | '/'));
    }
    if all {
        PathSpread::AllInside
    } else {
        PathSpread::SomeInside
    }
}

fn is_system(path: &Path) -> bool {
    let mut parts = path.components().skip(1);
    let first = parts
        .next()
        .map(|part| part.as_os_str().to_string_lossy().to_lowercase());
    parts.next().is_none() && first.is_some_and(|first| SYSTEM.contains(&first.as_str()))
}
