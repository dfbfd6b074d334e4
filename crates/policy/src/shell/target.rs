//! Files that a command writes, and where they lie.

use super::{By, Folder, Script, Simple, Target, Word, program};
use crate::places::{Places, normalise};
use crate::shell::word::Piece;
use std::path::{Path, PathBuf};

/// Where a target lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// At one of these paths, depending on where the line has changed folder to.
    Known(Vec<PathBuf>),
    /// A device that keeps nothing, such as `/dev/null`.
    Nowhere,
    /// It cannot be told from the text.
    Unknown,
}

impl Target {
    /// Where the target lies when the line starts in `cwd`.
    pub fn reach(&self, cwd: &Path, places: &Places) -> Reach {
        let Some(path) = self.resolved(places) else {
            return Reach::Unknown;
        };
        if is_sink(&path) {
            return Reach::Nowhere;
        }
        let tilde = matches!(self.path.pieces.first(), Some(Piece::Tilde(_)));
        let mut paths = Vec::new();
        for folder in &self.folders {
            match absolute(&path, tilde, folder, cwd, places) {
                Some(path) => paths.push(path),
                None => return Reach::Unknown,
            }
        }
        paths.dedup();
        Reach::Known(paths)
    }

    /// The path, with the variables filled in that are known before the line runs.
    fn resolved(&self, places: &Places) -> Option<String> {
        match self.path.pieces.first() {
            Some(Piece::Quoted(empty)) if empty.is_empty() => {}
            Some(Piece::Variable { .. }) => {}
            _ => return self.path.plain(),
        }
        let mut pieces = self
            .path
            .pieces
            .iter()
            .filter(|piece| **piece != Piece::Quoted(String::new()));
        let start = match pieces.next() {
            Some(Piece::Variable { name, .. }) if name == "HOME" => places.home.as_ref()?.to_str()?.to_owned(),
            Some(Piece::Variable { name, .. }) if name == "PWD" => ".".to_owned(),
            _ => return self.path.plain(),
        };
        let rest = Word {
            pieces: pieces.cloned().collect(),
        };
        Some(start + &rest.plain()?)
    }
}

/// The absolute path of a text, seen from a folder; nothing when it cannot be told.
pub(crate) fn absolute(path: &str, tilde: bool, folder: &Folder, cwd: &Path, places: &Places) -> Option<PathBuf> {
    if tilde {
        return at_home(path, places);
    }
    if path.starts_with('/') {
        return Some(normalise(Path::new(path)));
    }
    match folder {
        Folder::Unknown => None,
        Folder::At(folder) if folder.starts_with('~') => Some(normalise(&at_home(folder, places)?.join(path))),
        Folder::At(folder) => Some(normalise(&cwd.join(folder).join(path))),
    }
}

fn at_home(path: &str, places: &Places) -> Option<PathBuf> {
    let rest = path.strip_prefix('~')?;
    match rest.strip_prefix('/') {
        Some(rest) => Some(normalise(&places.home.as_ref()?.join(rest.trim_start_matches('/')))),
        None if rest.is_empty() => places.home.clone(),
        None if rest == "+" => Some(places.root.clone()),
        None => None,
    }
}

fn is_sink(path: &str) -> bool {
    matches!(
        path,
        "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/zero" | "/dev/full" | "NUL"
    ) || path.starts_with("/dev/fd/")
}

/// How a program names the files that it writes.
enum Writes {
    /// All words that are no options, but not the first so many.
    All(usize),
    /// The last word, or the folder after `-t`.
    Last,
}

/// Which files a program writes; options with a value in the next word.
const WRITERS: &[(&str, Writes, &[&str])] = &[
    ("tee", Writes::All(0), &[]),
    (
        "touch",
        Writes::All(0),
        &["-d", "-r", "-t", "--date", "--reference", "--time"],
    ),
    ("truncate", Writes::All(0), &["-s", "-r", "--size", "--reference"]),
    ("mkdir", Writes::All(0), &["-m", "--mode"]),
    ("rm", Writes::All(0), &[]),
    ("rmdir", Writes::All(0), &[]),
    ("unlink", Writes::All(0), &[]),
    ("shred", Writes::All(0), &["-n", "-s", "--iterations", "--size"]),
    ("chmod", Writes::All(1), &["--reference"]),
    ("chown", Writes::All(1), &["--reference", "--from"]),
    ("chgrp", Writes::All(1), &["--reference"]),
    ("mv", Writes::All(0), &["-S", "--suffix"]),
    ("mkfifo", Writes::All(0), &["-m"]),
    ("cp", Writes::Last, &["-S", "--suffix"]),
    ("ln", Writes::Last, &["-S", "--suffix"]),
    (
        "install",
        Writes::Last,
        &["-m", "-o", "-g", "-S", "--mode", "--owner", "--group"],
    ),
    (
        "rsync",
        Writes::Last,
        &["-e", "--rsh", "--exclude", "--include", "--filter", "-f"],
    ),
];

/// Options after which a program names a file that it writes.
const OUTPUTS: &[(&str, &[&str])] = &[
    ("sort", &["-o", "--output"]),
    ("curl", &["-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar"]),
    (
        "wget",
        &[
            "-O",
            "--output-document",
            "-o",
            "--output-file",
            "-P",
            "--directory-prefix",
        ],
    ),
    ("git", &["--output"]),
    ("tree", &["-o"]),
    ("find", &["-fprint", "-fprint0", "-fls", "-fprintf"]),
    ("openssl", &["-out"]),
    ("gcc", &["-o"]),
    ("clang", &["-o"]),
    ("rustc", &["-o"]),
];

/// The files that a command is known to write.
pub(crate) fn written(simple: &Simple, name: &str) -> Vec<Target> {
    let mut words: Vec<Word> = Vec::new();
    if let Some((_, writes, valued)) = WRITERS.iter().find(|(writer, ..)| *writer == name) {
        let files = operands(simple, valued);
        match writes {
            Writes::All(skip) => words.extend(files.into_iter().skip(*skip)),
            Writes::Last => {
                words.extend(option_values(simple, &["-t", "--target-directory"]));
                if words.is_empty() && files.len() > 1 {
                    words.extend(files.last().cloned());
                }
            }
        }
    }
    if let Some((_, options)) = OUTPUTS.iter().find(|(writer, _)| *writer == name) {
        words.extend(option_values(simple, options));
    }
    if name == "dd" {
        words.extend(simple.words.iter().filter_map(|word| {
            let rest = word.plain()?.strip_prefix("of=")?.to_owned();
            Some(Word::text(rest))
        }));
    }
    if name == "sed" && edits_in_place(simple) {
        let scripts_in_options = !option_values(simple, &["-e", "--expression", "-f", "--file"]).is_empty();
        words.extend(
            operands(simple, &["-e", "-f", "-l", "--expression", "--file"])
                .into_iter()
                .skip(usize::from(!scripts_in_options)),
        );
    }
    words
        .into_iter()
        .map(|path| Target {
            path,
            folders: simple.folders.clone(),
            by: By::Program,
        })
        .collect()
}

/// Whether `sed` writes to the files it reads.
pub(crate) fn edits_in_place(simple: &Simple) -> bool {
    simple.words.iter().skip(1).filter_map(Word::plain).any(|text| {
        text.starts_with("--in-p")
            || text == "--in"
            || (text.starts_with('-')
                && !text.starts_with("--")
                && text[1..]
                    .split(['e', 'f'])
                    .next()
                    .is_some_and(|flags| flags.contains('i')))
    })
}

/// The words that are no options and no values of options.
pub(crate) fn operands(simple: &Simple, valued: &[&str]) -> Vec<Word> {
    let mut words = Vec::new();
    let (mut at, mut options) = (1, true);
    while let Some(word) = simple.words.get(at) {
        at += 1;
        match word.plain() {
            Some(text) if options && text == "--" => options = false,
            Some(text) if options && valued.contains(&text.as_str()) => at += 1,
            Some(text) if options && text.len() > 1 && text.starts_with('-') => {}
            Some(_) | None => words.push(word.clone()),
        }
    }
    words
}

/// The values of options, in the same word or in the next.
pub(crate) fn option_values(simple: &Simple, options: &[&str]) -> Vec<Word> {
    let mut words = Vec::new();
    for (at, word) in simple.words.iter().enumerate().skip(1) {
        let start = word.known_start();
        for option in options {
            if start == *option && word.plain().is_some() {
                words.extend(simple.words.get(at + 1).cloned());
            } else if let Some(rest) = start.strip_prefix(option) {
                let long = option.starts_with("--") || option.len() > 2;
                let value = if long { rest.strip_prefix('=') } else { Some(rest) };
                if let Some(value) = value {
                    words.push(match word.plain() {
                        Some(_) => Word::text(value),
                        None => Word::unknown(),
                    });
                }
            }
        }
    }
    words
}

/// A file whose content a command line may show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) path: PathBuf,
    /// Whether the path may be a folder that is read as a whole.
    pub(crate) whole: bool,
}

impl Script {
    /// The files whose content the line may show, by redirection or by naming them, as far as its text tells.
    pub(crate) fn shown(&self, cwd: &Path, places: &Places) -> Vec<Shown> {
        let mut shown = Vec::new();
        for simple in &self.commands {
            let Some(name) = simple.name() else { continue };
            if program::shows_no_content(&name) {
                continue;
            }
            let whole = program::reads_files(&name);
            // `npm run build` does not mean the folder `build`.
            let named = named_paths(simple)
                .into_iter()
                .filter(|path| !path.is_empty() && (whole || path.contains('/')));
            for path in named {
                for folder in &simple.folders {
                    let folder = match folder {
                        Folder::Unknown => &Folder::At(String::new()),
                        known => known,
                    };
                    let path = absolute(&path, path.starts_with('~'), folder, cwd, places);
                    shown.extend(path.map(|path| Shown { path, whole }));
                }
            }
        }
        for target in &self.reads {
            if let Reach::Known(paths) = target.reach(cwd, places) {
                shown.extend(paths.into_iter().map(|path| Shown { path, whole: false }));
            }
        }
        shown
    }
}

/// The paths that the words of a command may name.
fn named_paths(simple: &Simple) -> Vec<String> {
    let mut paths = Vec::new();
    for word in simple.words.iter().skip(1) {
        let Some(text) = word.plain() else { continue };
        if text.starts_with('-') && !text.contains('=') {
            continue;
        }
        if let Some((_, value)) = text.split_once('=') {
            paths.push(value.to_owned());
        }
        // `git show HEAD:path` and `scp host:path`.
        if let Some((_, path)) = text.split_once(':') {
            paths.push(path.to_owned());
        }
        paths.push(text.trim_start_matches('@').to_owned());
    }
    paths
}

/// Where `cd` leads.
pub(crate) fn cd_target(simple: &Simple) -> Option<Target> {
    let to = operands(simple, &[]).into_iter().next()?;
    Some(Target {
        path: to,
        folders: simple.folders.clone(),
        by: By::Program,
    })
}
