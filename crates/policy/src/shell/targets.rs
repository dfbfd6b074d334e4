//! Files that a command writes, and their paths.

use super::{FileTarget, Script, ShellWord, SimpleCommand, TargetSource, WorkingDir, programs};
use crate::paths::{ProjectPaths, normalize};
use crate::shell::word::WordPiece;
use std::path::{Path, PathBuf};

/// The location of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolvedTarget {
    /// One of these paths, depending on directory changes in the line.
    Known(Vec<PathBuf>),
    /// A device that discards data, such as `/dev/null`.
    Discarded,
    /// Unknown from the text.
    Unknown,
}

impl FileTarget {
    /// Resolves the target for a line that starts in `cwd`.
    pub fn resolve(&self, cwd: &Path, project: &ProjectPaths) -> ResolvedTarget {
        let Some(path) = self.expanded_path(project) else {
            return ResolvedTarget::Unknown;
        };
        if is_sink(&path) {
            return ResolvedTarget::Discarded;
        }
        let tilde = matches!(self.path.pieces.first(), Some(WordPiece::Tilde(_)));
        let mut paths = Vec::new();
        for folder in &self.folders {
            match absolute(&path, tilde, folder, cwd, project) {
                Some(path) => paths.push(path),
                None => return ResolvedTarget::Unknown,
            }
        }
        paths.dedup();
        ResolvedTarget::Known(paths)
    }

    /// The path with known variables replaced.
    fn expanded_path(&self, project: &ProjectPaths) -> Option<String> {
        match self.path.pieces.first() {
            Some(WordPiece::Quoted(empty)) if empty.is_empty() => {}
            Some(WordPiece::Variable { .. }) => {}
            _ => return self.path.plain(),
        }
        let mut pieces = self
            .path
            .pieces
            .iter()
            .filter(|piece| **piece != WordPiece::Quoted(String::new()));
        let start = match pieces.next() {
            Some(WordPiece::Variable { name, .. }) if name == "HOME" => project.home.as_ref()?.to_str()?.to_owned(),
            Some(WordPiece::Variable { name, .. }) if name == "PWD" => ".".to_owned(),
            _ => return self.path.plain(),
        };
        let rest = ShellWord {
            pieces: pieces.cloned().collect(),
        };
        Some(start + &rest.plain()?)
    }
}

/// The absolute path of a text relative to a directory; `None` if unknown.
pub(crate) fn absolute(
    path: &str,
    tilde: bool,
    folder: &WorkingDir,
    cwd: &Path,
    project: &ProjectPaths,
) -> Option<PathBuf> {
    if tilde {
        return at_home(path, project);
    }
    if path.starts_with('/') {
        return Some(normalize(Path::new(path)));
    }
    match folder {
        WorkingDir::Unknown => None,
        WorkingDir::At(folder) if folder.starts_with('~') => Some(normalize(&at_home(folder, project)?.join(path))),
        WorkingDir::At(folder) => Some(normalize(&cwd.join(folder).join(path))),
    }
}

fn at_home(path: &str, project: &ProjectPaths) -> Option<PathBuf> {
    let rest = path.strip_prefix('~')?;
    match rest.strip_prefix('/') {
        Some(rest) => Some(normalize(&project.home.as_ref()?.join(rest.trim_start_matches('/')))),
        None if rest.is_empty() => project.home.clone(),
        None if rest == "+" => Some(project.root.clone()),
        None => None,
    }
}

fn is_sink(path: &str) -> bool {
    matches!(
        path,
        "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/zero" | "/dev/full" | "NUL"
    ) || path.starts_with("/dev/fd/")
}

/// Which operands of a program are files that it writes.
enum WriteOperands {
    /// All operands after the first n.
    All(usize),
    /// The last operand, or the directory after `-t`.
    Last,
}

/// The files that programs write, and their options with a separate value.
const WRITERS: &[(&str, WriteOperands, &[&str])] = &[
    ("tee", WriteOperands::All(0), &[]),
    (
        "touch",
        WriteOperands::All(0),
        &["-d", "-r", "-t", "--date", "--reference", "--time"],
    ),
    (
        "truncate",
        WriteOperands::All(0),
        &["-s", "-r", "--size", "--reference"],
    ),
    ("mkdir", WriteOperands::All(0), &["-m", "--mode"]),
    ("rm", WriteOperands::All(0), &[]),
    ("rmdir", WriteOperands::All(0), &[]),
    ("unlink", WriteOperands::All(0), &[]),
    ("shred", WriteOperands::All(0), &["-n", "-s", "--iterations", "--size"]),
    ("chmod", WriteOperands::All(1), &["--reference"]),
    ("chown", WriteOperands::All(1), &["--reference", "--from"]),
    ("chgrp", WriteOperands::All(1), &["--reference"]),
    ("mv", WriteOperands::All(0), &["-S", "--suffix"]),
    ("mkfifo", WriteOperands::All(0), &["-m"]),
    ("cp", WriteOperands::Last, &["-S", "--suffix"]),
    ("ln", WriteOperands::Last, &["-S", "--suffix"]),
    (
        "install",
        WriteOperands::Last,
        &["-m", "-o", "-g", "-S", "--mode", "--owner", "--group"],
    ),
    (
        "rsync",
        WriteOperands::Last,
        &["-e", "--rsh", "--exclude", "--include", "--filter", "-f"],
    ),
];

/// Options that name a file written by the program.
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
pub(crate) fn written_targets(simple: &SimpleCommand, name: &str) -> Vec<FileTarget> {
    let mut words: Vec<ShellWord> = Vec::new();
    if let Some((_, writes, valued)) = WRITERS.iter().find(|(writer, ..)| *writer == name) {
        let files = operands(simple, valued);
        match writes {
            WriteOperands::All(skip) => words.extend(files.into_iter().skip(*skip)),
            WriteOperands::Last => {
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
            Some(ShellWord::text(rest))
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
    // Deletions by `find` elsewhere can be undone.
    if matches!(name, "find" | "gfind") && removes_found(simple) {
        let roots = simple.words.iter().skip(1).take_while(|word| !word.may_be_flag());
        words.extend(roots.filter(|word| is_in_git_dir(word)).cloned());
    }
    words
        .into_iter()
        .map(|path| FileTarget {
            path,
            folders: simple.folders.clone(),
            by: TargetSource::Program,
        })
        .collect()
}

/// Whether `find` deletes what it finds, or passes it to a command.
pub(super) fn removes_found(simple: &SimpleCommand) -> bool {
    let mut words = simple.words.iter().filter_map(ShellWord::plain);
    words.any(|text| matches!(text.as_str(), "-delete" | "-exec" | "-execdir" | "-ok" | "-okdir"))
}

fn is_in_git_dir(word: &ShellWord) -> bool {
    let path = word.plain().unwrap_or_default();
    path.split('/').any(|part| part == ".git")
}

/// Whether `sed` edits its input files.
pub(crate) fn edits_in_place(simple: &SimpleCommand) -> bool {
    simple.words.iter().skip(1).filter_map(ShellWord::plain).any(|text| {
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

/// The words that are neither options nor their values.
pub(crate) fn operands(simple: &SimpleCommand, valued: &[&str]) -> Vec<ShellWord> {
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

/// The values of options, in the same word or the next.
pub(crate) fn option_values(simple: &SimpleCommand, options: &[&str]) -> Vec<ShellWord> {
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
                        Some(_) => ShellWord::text(value),
                        None => ShellWord::unknown(),
                    });
                }
            }
        }
    }
    words
}

/// A file with content that a command line may disclose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DisclosedPath {
    pub(crate) path: PathBuf,
    /// Whether the path may be a directory that is read as a whole.
    pub(crate) whole: bool,
}

impl Script {
    /// The files with content that the line may disclose, by redirection or by name, as far as its text shows.
    pub(crate) fn disclosed_paths(&self, cwd: &Path, project: &ProjectPaths) -> Vec<DisclosedPath> {
        let mut shown = Vec::new();
        for simple in &self.commands {
            let Some(name) = simple.name() else { continue };
            if programs::shows_no_content(&name) {
                continue;
            }
            let whole = programs::reads_files(&name);
            // `npm run build` does not refer to the directory `build`.
            let named = named_paths(simple)
                .into_iter()
                .filter(|path| !path.is_empty() && (whole || path.contains('/')));
            for path in named {
                for folder in &simple.folders {
                    let folder = match folder {
                        WorkingDir::Unknown => &WorkingDir::At(String::new()),
                        known => known,
                    };
                    let path = absolute(&path, path.starts_with('~'), folder, cwd, project);
                    shown.extend(path.map(|path| DisclosedPath { path, whole }));
                }
            }
        }
        for target in &self.reads {
            if let ResolvedTarget::Known(paths) = target.resolve(cwd, project) {
                shown.extend(paths.into_iter().map(|path| DisclosedPath { path, whole: false }));
            }
        }
        shown
    }
}

/// The paths that the words of a command may refer to.
fn named_paths(simple: &SimpleCommand) -> Vec<String> {
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

/// The target of `cd`.
pub(crate) fn cd_target(simple: &SimpleCommand) -> Option<FileTarget> {
    let to = operands(simple, &[]).into_iter().next()?;
    Some(FileTarget {
        path: to,
        folders: simple.folders.clone(),
        by: TargetSource::Program,
    })
}
