//! Programs that run another command: which one it is, as far as can be told.

mod options;

use super::word::Piece;
use super::{Simple, Unclear, Word, program};
use options::{ENV, WRAPPERS, Wrapper, XARGS, skip_options};

/// What a command runs besides itself.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    /// Whether the command itself matters, and not only what it runs.
    pub(crate) counts: bool,
    /// Commands given as words.
    pub(crate) commands: Vec<Simple>,
    /// Commands given as text.
    pub(crate) scripts: Vec<String>,
    /// What stays hidden.
    pub(crate) unclear: Vec<Unclear>,
}

const FIND_RUNS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];
const FD_RUNS: &[&str] = &["-x", "-X", "--exec", "--exec-batch"];

/// Finds what a command runs besides itself.
pub(crate) fn open(simple: &Simple) -> Opened {
    let Some(name) = simple.name() else {
        return counted();
    };
    if program::is_shell(&name) {
        return shell(simple, &name);
    }
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
        return plain(simple, wrapper);
    }
    match name.as_str() {
        "env" => env(simple),
        "xargs" => xargs(simple),
        "parallel" => Opened {
            unclear: vec![Unclear::Wrapper(name)],
            ..after_options(simple)
        },
        "eval" => joined(simple, 1, &name),
        "watch" | "coproc" => Opened {
            unclear: vec![Unclear::Wrapper(name.clone())],
            ..after_options(simple)
        },
        "trap" => trap(simple),
        "alias" => alias(simple),
        "su" | "script" | "flock" | "runuser" | "nix-shell" | "nix" => text_option(simple, &name),
        "find" | "gfind" => finder(simple, FIND_RUNS, &[";", "+"]),
        "fd" | "fdfind" => finder(simple, FD_RUNS, &[";"]),
        "git" => git(simple),
        _ if program::is_interpreter(&name) && reads_input(simple) => Opened {
            unclear: vec![Unclear::Input(name)],
            ..counted()
        },
        _ => counted(),
    }
}

fn counted() -> Opened {
    Opened {
        counts: true,
        ..Opened::default()
    }
}

fn hidden(name: &str) -> Opened {
    Opened {
        unclear: vec![Unclear::Wrapper(name.to_owned())],
        ..counted()
    }
}

/// The command that begins at a word of this one.
fn from(simple: &Simple, at: usize) -> Simple {
    Simple {
        words: simple.words[at..].to_vec(),
        ..simple.clone()
    }
}

fn plain(simple: &Simple, wrapper: &Wrapper) -> Opened {
    let text = simple.words.get(1).and_then(Word::plain).unwrap_or_default();
    if wrapper.name == "command" && matches!(text.as_str(), "-v" | "-V" | "-pv" | "-pV") {
        return counted();
    }
    match skip_options(simple, wrapper) {
        None => hidden(wrapper.name),
        Some(at) if at + wrapper.skip >= simple.words.len() => counted(),
        Some(at) => {
            let mut inner = from(simple, at + wrapper.skip);
            // `sudo` and `time` take assignments as `env` does.
            while (!wrapper.transparent || wrapper.name == "time")
                && let Some((name, value)) = inner.words.first().and_then(assignment)
                && inner.words.len() > 1
            {
                inner.env.push((name, value));
                inner.words.remove(0);
            }
            Opened {
                counts: !wrapper.transparent,
                commands: vec![inner],
                ..Opened::default()
            }
        }
    }
}

fn assignment(word: &Word) -> Option<(String, Word)> {
    let Some(Piece::Bare(text) | Piece::Quoted(text)) = word.pieces.first() else {
        return None;
    };
    let (name, value) = text.split_once('=')?;
    let mut letters = name.chars();
    let valid = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !valid {
        return None;
    }
    let mut rest = Word::text(value);
    rest.pieces.extend(word.pieces[1..].iter().cloned());
    Some((name.to_owned(), rest))
}

fn env(simple: &Simple) -> Opened {
    for (at, word) in simple.words.iter().enumerate().skip(1) {
        let Some(text) = word.plain() else { break };
        if text.starts_with("-S") || text.starts_with("--split-string") || text.starts_with("-vS") {
            let glued = text
                .trim_start_matches("--split-string")
                .trim_start_matches("-vS")
                .trim_start_matches("-S");
            let rest: Option<Vec<_>> = simple.words[at + 1..].iter().map(Word::plain).collect();
            return match rest {
                Some(rest) => Opened {
                    scripts: vec![format!("{} {}", glued.trim_start_matches('='), rest.join(" "))],
                    ..Opened::default()
                },
                None => hidden("env"),
            };
        }
    }
    let Some(mut at) = skip_options(simple, &ENV) else {
        return hidden("env");
    };
    let mut inner = simple.clone();
    while let Some((name, value)) = simple.words.get(at).and_then(assignment) {
        inner.env.push((name, value));
        at += 1;
    }
    if at >= simple.words.len() {
        return counted();
    }
    inner.words = simple.words[at..].to_vec();
    Opened {
        commands: vec![inner],
        ..Opened::default()
    }
}

fn xargs(simple: &Simple) -> Opened {
    let Some(at) = skip_options(simple, &XARGS) else {
        return hidden("xargs");
    };
    if at >= simple.words.len() {
        return counted();
    }
    let mut inner = from(simple, at);
    inner.open_ended = true;
    if inner.name().is_some_and(|name| program::is_shell(&name)) && inner.words.len() < 3 {
        return Opened {
            unclear: vec![Unclear::Dynamic("xargs".into())],
            commands: vec![inner],
            ..Opened::default()
        };
    }
    // With `-I` the placeholder stands for anything.
    for (at, word) in simple.words.iter().enumerate() {
        let Some(text) = word.plain() else { continue };
        let mark = match text.as_str() {
            "-I" | "-J" => simple.words.get(at + 1).and_then(Word::plain),
            "-i" | "--replace" => Some("{}".into()),
            glued if glued.starts_with("-I") => Some(glued[2..].to_owned()),
            _ => None,
        };
        if let Some(mark) = mark.filter(|mark| !mark.is_empty()) {
            replace(&mut inner.words, &mark);
        }
    }
    Opened {
        commands: vec![inner],
        ..Opened::default()
    }
}

/// Makes the words that hold a placeholder unknown from there on.
fn replace(words: &mut [Word], mark: &str) {
    for word in words {
        if let Some(text) = word.plain()
            && let Some((before, _)) = text.split_once(mark)
        {
            *word = Word::text(before);
            word.pieces.push(Piece::Unknown { quoted: true });
        }
    }
}

fn after_options(simple: &Simple) -> Opened {
    let at = simple
        .words
        .iter()
        .skip(1)
        .position(|word| !word.may_be_flag())
        .map_or(simple.words.len(), |at| at + 1);
    if at >= simple.words.len() {
        return counted();
    }
    let text = simple.words[at].plain().filter(|text| text.contains(' '));
    Opened {
        counts: true,
        scripts: text.into_iter().collect(),
        commands: vec![from(simple, at)],
        ..Opened::default()
    }
}

/// All words from a place on, run as one line.
fn joined(simple: &Simple, at: usize, name: &str) -> Opened {
    let words: Option<Vec<_>> = simple.words.iter().skip(at).map(Word::plain).collect();
    match words {
        Some(words) => Opened {
            scripts: vec![words.join(" ")],
            ..Opened::default()
        },
        None => Opened {
            unclear: vec![Unclear::Dynamic(name.to_owned())],
            ..counted()
        },
    }
}

fn shell(simple: &Simple, name: &str) -> Opened {
    let mut at = 1;
    let mut runs_text = false;
    while let Some(word) = simple.words.get(at) {
        let Some(text) = word.plain() else {
            return Opened {
                unclear: vec![Unclear::Dynamic(name.to_owned())],
                ..counted()
            };
        };
        match text.as_str() {
            "-o" | "+o" | "-O" | "+O" => at += 2,
            "--version" | "--help" => return counted(),
            "--rcfile" | "--init-file" => return hidden(name),
            "-s" | "-" => {
                return Opened {
                    unclear: vec![Unclear::Input(name.to_owned())],
                    ..counted()
                };
            }
            "--" => {
                at += 1;
                break;
            }
            "--login" | "--norc" | "--noprofile" | "--posix" | "--restricted" | "--verbose" => at += 1,
            _ if text.starts_with("--rcfile") || text.starts_with("--init-file") => return hidden(name),
            "--command" | "-Command" | "-c" => {
                runs_text = true;
                at += 1;
            }
            short if short.starts_with(['-', '+']) && !short.starts_with("--") => {
                runs_text |= short.starts_with('-') && short.contains('c');
                at += 1;
            }
            long if long.starts_with("--") => return hidden(name),
            _ => break,
        }
    }
    match (runs_text, simple.words.get(at)) {
        (true, Some(word)) => match word.plain() {
            Some(script) => Opened {
                scripts: vec![script],
                ..Opened::default()
            },
            None => Opened {
                unclear: vec![Unclear::Dynamic(name.to_owned())],
                ..counted()
            },
        },
        (true, None) | (false, None) => Opened {
            unclear: vec![Unclear::Input(name.to_owned())],
            ..counted()
        },
        (false, Some(word)) => {
            let from_device = word
                .plain()
                .is_none_or(|path| path.starts_with("/dev/") || path.starts_with("/proc/"));
            Opened {
                unclear: from_device
                    .then(|| Unclear::Input(name.to_owned()))
                    .into_iter()
                    .collect(),
                ..counted()
            }
        }
    }
}

fn trap(simple: &Simple) -> Opened {
    let Some(word) = simple.words.get(1) else {
        return counted();
    };
    match word.plain() {
        Some(text) if text.starts_with('-') || text.is_empty() => counted(),
        Some(text) => Opened {
            scripts: vec![text],
            ..counted()
        },
        None => Opened {
            unclear: vec![Unclear::Dynamic("trap".into())],
            ..counted()
        },
    }
}

fn alias(simple: &Simple) -> Opened {
    let mut opened = counted();
    for word in simple.words.iter().skip(1) {
        match word.plain() {
            Some(text) => opened
                .scripts
                .extend(text.split_once('=').map(|(_, run)| run.to_owned())),
            None => opened.unclear.push(Unclear::Dynamic("alias".into())),
        }
    }
    opened
}

/// Programs that run the text after `-c` or the like.
fn text_option(simple: &Simple, name: &str) -> Opened {
    let mut opened = counted();
    for (at, word) in simple.words.iter().enumerate().skip(1) {
        let Some(text) = word.plain() else {
            opened.unclear.push(Unclear::Wrapper(name.to_owned()));
            continue;
        };
        let run = match text.as_str() {
            "-c" | "--command" | "--run" | "-lc" | "-qc" | "-qec" => simple.words.get(at + 1).map(Word::plain),
            long => long.strip_prefix("--command=").map(|run| Some(run.to_owned())),
        };
        match run {
            Some(Some(script)) => opened.scripts.push(script),
            Some(None) => opened.unclear.push(Unclear::Dynamic(name.to_owned())),
            None => {}
        }
    }
    if name == "flock" && simple.words.len() > 2 {
        opened.commands.push(from(simple, 2));
    }
    if opened.scripts.is_empty() && opened.commands.is_empty() {
        opened.unclear.push(Unclear::Wrapper(name.to_owned()));
    }
    opened
}

fn finder(simple: &Simple, runs: &[&str], ends: &[&str]) -> Opened {
    let mut opened = counted();
    let mut at = 1;
    while at < simple.words.len() {
        let text = simple.words[at].plain();
        at += 1;
        if !text.is_some_and(|text| runs.contains(&text.as_str())) {
            continue;
        }
        let end = simple.words[at..]
            .iter()
            .position(|word| word.plain().is_some_and(|text| ends.contains(&text.as_str())))
            .map_or(simple.words.len(), |end| at + end);
        let mut inner = Simple {
            words: simple.words[at..end].to_vec(),
            open_ended: true,
            ..simple.clone()
        };
        for word in &mut inner.words {
            if word.plain().is_some_and(|text| text.contains("{}")) {
                *word = Word::unknown();
            }
        }
        if !inner.words.is_empty() {
            opened.commands.push(inner);
        }
        at = end;
    }
    opened
}

/// Subcommands of git that run a command they are given.
fn git(simple: &Simple) -> Opened {
    let mut opened = counted();
    let texts: Vec<_> = simple.words.iter().map(Word::plain).collect();
    let text = |at: usize| texts.get(at).and_then(Option::as_deref);
    for at in 1..texts.len() {
        match (text(at), text(at + 1)) {
            (Some("bisect"), Some("run")) if at + 2 < texts.len() => opened.commands.push(from(simple, at + 2)),
            (Some("foreach"), Some("--recursive" | "-q" | "--quiet")) => opened.scripts.extend(rest(&texts, at + 2)),
            (Some("foreach"), Some(_)) => opened.scripts.extend(rest(&texts, at + 1)),
            (Some("-x" | "--exec" | "--extcmd"), Some(run)) => opened.scripts.push(run.to_owned()),
            (Some(option), _) => {
                let run = option
                    .strip_prefix("--exec=")
                    .or_else(|| option.strip_prefix("--extcmd="));
                let alias = option
                    .split_once("=!")
                    .filter(|(name, _)| name.starts_with("alias."))
                    .map(|(_, run)| run);
                opened.scripts.extend(run.or(alias).map(str::to_owned));
            }
            (None, _) => {}
        }
    }
    opened
}

fn rest(texts: &[Option<String>], at: usize) -> Option<String> {
    let words: Option<Vec<_>> = texts.get(at..)?.iter().map(|text| text.as_deref()).collect();
    words.map(|words| words.join(" "))
}

/// Whether an interpreter was given nothing to run but its input.
fn reads_input(simple: &Simple) -> bool {
    simple.words.iter().skip(1).all(|word| {
        word.plain()
            .is_some_and(|text| text == "-" || text.starts_with("/dev/stdin"))
    })
}
