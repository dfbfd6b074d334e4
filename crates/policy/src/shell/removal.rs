//! Commands that are refused whatever the rules say, because nobody means them: removing `/`, the home folder, the
//! project or what contains it, and overwriting disks.

use super::target::{absolute, operands};
use super::word::Piece;
use super::{Folder, Script, Simple, Word};
use crate::places::{Places, normalise};
use std::path::{Path, PathBuf};

/// Why a command must not run as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Danger {
    /// It would remove what nobody means to remove.
    Refused(String),
    /// What it would remove cannot be told from its text.
    Doubtful(String),
}

const REMOVERS: &[&str] = &[
    "rm", "grm", "rmdir", "unlink", "shred", "srm", "rimraf", "trash", "wipe",
];

/// Folders right under `/` without which a system does not work.
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

/// Stands for the home folder when nobody has said where it is.
const SOME_HOME: &str = "/home/~";

/// Whether a line is refused whatever the rules say, or removes something that its text does not tell.
pub fn refusal(script: &Script, cwd: &Path, places: &Places) -> Option<Danger> {
    let mut doubt = None;
    for simple in &script.commands {
        match danger(simple, cwd, places) {
            Some(Danger::Refused(why)) => return Some(Danger::Refused(why)),
            Some(Danger::Doubtful(why)) => doubt = doubt.or(Some(Danger::Doubtful(why))),
            None => {}
        }
    }
    for target in &script.writes {
        let path = target.path.known_start();
        if DISKS.iter().any(|disk| path.starts_with(disk)) {
            return Some(Danger::Refused(format!("it would overwrite the device {path}")));
        }
    }
    doubt
}

fn danger(simple: &Simple, cwd: &Path, places: &Places) -> Option<Danger> {
    let name = simple.name()?.to_lowercase();
    let site = Site { simple, cwd, places };
    match name.as_str() {
        remover if REMOVERS.contains(&remover) => removal(&site, &name),
        "find" | "gfind" => search(&site),
        "chmod" | "chown" | "chgrp" if site.has_flag('R', "--recursive") => {
            site.first_vital(&operands(simple, &["--reference", "--from"])[..], Scope::Machine, &name)
        }
        "mv" => {
            let files = operands(simple, &["-S", "--suffix", "-t", "--target-directory"]);
            let sources = files.len().saturating_sub(1).max(1).min(files.len());
            site.first_vital(&files[..sources], Scope::Project, &name)
        }
        "rsync"
            if simple
                .words
                .iter()
                .filter_map(Word::plain)
                .any(|w| w.starts_with("--del")) =>
        {
            let files = operands(simple, &["-e", "--rsh", "--exclude", "--include", "--filter", "-f"]);
            site.first_vital(&files[files.len().saturating_sub(1)..], Scope::Project, &name)
        }
        "wipefs" | "mke2fs" | "mkswap" => Some(Danger::Refused(format!("`{name}` erases a disk"))),
        format if format.starts_with("mkfs") => Some(Danger::Refused(format!("`{name}` erases a disk"))),
        _ => None,
    }
}

fn removal(site: &Site<'_>, name: &str) -> Option<Danger> {
    let words = &site.simple.words;
    if words
        .iter()
        .filter_map(Word::plain)
        .any(|w| w.starts_with("--no-pres") || w == "-no-preserve-root")
    {
        return Some(Danger::Refused("`--no-preserve-root` is never needed".into()));
    }
    let files = operands(site.simple, &[]);
    if let Some(danger) = site.first_vital(&files, Scope::Project, name) {
        return Some(danger);
    }
    let recursive = name == "rimraf" || site.has_flag('r', "--recursive") || site.has_flag('R', "--recursive");
    if !recursive {
        return None;
    }
    if site.simple.open_ended {
        return Some(Danger::Doubtful(format!(
            "what `{name}` removes shows only when it runs"
        )));
    }
    let unclear = files.iter().find(|word| site.is_doubtful(word))?;
    Some(Danger::Doubtful(format!(
        "what `{name}` removes by `{unclear}` shows only when it runs"
    )))
}

/// `find` that deletes: refused on vital folders, and on the project when nothing narrows it down.
fn search(site: &Site<'_>) -> Option<Danger> {
    let texts: Vec<_> = site.simple.words.iter().map(Word::plain).collect();
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
    let scope = if narrowed { Scope::Machine } else { Scope::Project };
    let roots: Vec<Word> = site
        .simple
        .words
        .iter()
        .skip(1)
        .take_while(|word| !word.may_be_flag() || word.plain().is_none())
        .cloned()
        .collect();
    let here = [Word::text(".")];
    site.first_vital(if roots.is_empty() { &here } else { &roots }, scope, "find")
}

/// What counts as vital.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The system and the home folder.
    Machine,
    /// Also the project and the folder in which the line runs.
    Project,
}

struct Site<'a> {
    simple: &'a Simple,
    cwd: &'a Path,
    places: &'a Places,
}

impl Site<'_> {
    fn has_flag(&self, short: char, long: &str) -> bool {
        self.simple.words.iter().skip(1).filter_map(Word::plain).any(|text| {
            text == long
                || (text.len() > 3 && text.starts_with("--") && long.starts_with(&text))
                || (text.starts_with('-') && !text.starts_with("--") && text.contains(short))
        })
    }

    fn first_vital(&self, words: &[Word], scope: Scope, name: &str) -> Option<Danger> {
        let word = words.iter().find(|word| self.is_vital(word, scope))?;
        Some(Danger::Refused(format!("`{name}` must not be used on `{word}`")))
    }

    fn is_vital(&self, word: &Word, scope: Scope) -> bool {
        let home = self.home();
        let folders = &self.simple.folders;
        folders.iter().any(|folder| {
            let Some((path, spread)) = self.denotes(word, folder) else {
                return false;
            };
            if path == Path::new("/") || home.starts_with(&path) || is_system(&path) {
                return true;
            }
            // All that a folder holds is as vital as the folder; a narrower pattern is only so right under `/`.
            let holds = match spread {
                Spread::Itself | Spread::AllInside => true,
                Spread::SomeInside => false,
            };
            scope == Scope::Project
                && holds
                && (self.places.root.starts_with(&path)
                    || self.cwd.starts_with(&path)
                    || self.places.more.iter().any(|root| root.starts_with(&path)))
                && !(self.places.root.as_os_str().is_empty() && self.cwd.as_os_str().is_empty())
        })
    }

    fn home(&self) -> PathBuf {
        self.places.home.clone().unwrap_or_else(|| SOME_HOME.into())
    }

    /// The folder that a word means, and whether it means the folder or what is in it.
    fn denotes(&self, word: &Word, folder: &Folder) -> Option<(PathBuf, Spread)> {
        let mut text = String::new();
        let tilde = matches!(word.pieces.first(), Some(Piece::Tilde(_)));
        let mut spread = Spread::Itself;
        for (at, piece) in word.pieces.iter().enumerate() {
            match piece {
                Piece::Bare(part) | Piece::Quoted(part) | Piece::Tilde(part) => text.push_str(part),
                Piece::Variable { name, .. } if name == "HOME" && text.is_empty() => {
                    text.push_str(&self.home().to_string_lossy());
                }
                Piece::Variable { name, .. } if name == "PWD" && text.is_empty() => text.push('.'),
                Piece::Glob(_) => {
                    spread = spread_of(&text, &word.pieces[at..]);
                    if spread == Spread::Itself {
                        return None;
                    }
                    break;
                }
                Piece::Variable { .. } | Piece::Unknown { .. } => return None,
            }
        }
        if spread != Spread::Itself {
            let cut = text.rfind('/').map_or(0, |at| at + 1);
            text.truncate(cut);
        }
        let tilde_user = tilde && !text.starts_with("~/") && text != "~" && text.len() > 1;
        if tilde_user {
            // The home of somebody else, or of the same person by name.
            let only_home = !text.trim_end_matches('/').contains('/');
            return only_home.then(|| (self.home(), spread));
        }
        if text.is_empty() {
            text.push('.');
        }
        let places = Places {
            home: Some(self.home()),
            ..self.places.clone()
        };
        let path = absolute(&text, tilde, folder, self.cwd, &places)
            // In an unknown folder, the folder itself and those above it are still vital.
            .or_else(|| normalise(Path::new(&text)).starts_with("..").then(|| PathBuf::from("/")))
            .or_else(|| (normalise(Path::new(&text)).as_os_str().is_empty()).then(|| PathBuf::from("/")))?;
        // A pattern right under `/` reaches the system, however narrow it is.
        if spread == Spread::SomeInside && path != Path::new("/") {
            return None;
        }
        Some((path, spread))
    }

    /// Whether a recursive removal may reach anywhere.
    fn is_doubtful(&self, word: &Word) -> bool {
        if word.plain().is_some() {
            let relative = !word.known_start().starts_with(['/', '~']);
            return relative && self.simple.folders.contains(&Folder::Unknown);
        }
        let start = word.known_start();
        let unknown = word
            .pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Variable { .. } | Piece::Unknown { .. }));
        let starts_at_home = matches!(word.pieces.first(), Some(Piece::Variable { name, .. }) if name == "HOME");
        // A known folder in front keeps the rest in it.
        let in_folder = start.trim_start_matches("./").contains('/') && !start.trim_matches(['/', '.']).is_empty();
        unknown && !starts_at_home && !in_folder
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spread {
    Itself,
    AllInside,
    SomeInside,
}

/// Whether a pattern takes everything in its folder, given the text before it and the pieces from it on.
fn spread_of(before: &str, pieces: &[Piece]) -> Spread {
    let component = before.rsplit('/').next().unwrap_or(before);
    let mut all = component.chars().all(|c| c == '.');
    for piece in pieces {
        let text = match piece {
            Piece::Bare(text) | Piece::Quoted(text) | Piece::Glob(text) => text,
            Piece::Tilde(_) | Piece::Variable { .. } | Piece::Unknown { .. } => return Spread::SomeInside,
        };
        all &= text
            .chars()
            .all(|c| matches!(c, '*' | '?' | '.' | '[' | ']' | '!' | '^' | '/'));
    }
    if all { Spread::AllInside } else { Spread::SomeInside }
}

fn is_system(path: &Path) -> bool {
    let mut parts = path.components().skip(1);
    let first = parts
        .next()
        .map(|part| part.as_os_str().to_string_lossy().to_lowercase());
    parts.next().is_none() && first.is_some_and(|first| SYSTEM.contains(&first.as_str()))
}
