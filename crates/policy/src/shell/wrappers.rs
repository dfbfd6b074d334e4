//! Programs that run another command, and which one.

mod options;

use super::targets::{operands, option_values};
use super::word::WordPiece;
use super::{ShellWord, SimpleCommand, UnclearReason, programs};
use options::{ENV, WATCH, WRAPPERS, WrapperSpec, XARGS, skip_options};

/// The commands that a command runs.
#[derive(Debug, Default)]
pub(crate) struct WrappedCommands {
    /// Whether the command itself matters, and not only what it runs.
    pub(crate) counts: bool,
    /// Commands given as words.
    pub(crate) commands: Vec<SimpleCommand>,
    /// Commands given as text.
    pub(crate) scripts: Vec<String>,
    /// What is not visible.
    pub(crate) unclear: Vec<UnclearReason>,
}

const FIND_RUNS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];
const FD_RUNS: &[&str] = &["-x", "-X", "--exec", "--exec-batch"];

/// Programs that run a command among their arguments.
#[rustfmt::skip]
const RUN_ARGUMENTS: &[&str] = &[
    "aa-exec", "abduco", "bwrap", "capsh", "catchsegv", "cgexec", "choom", "chpst", "chronic", "cpulimit", "cross-env",
    "daemonize", "dbus-launch", "dtach", "dumb-init", "eatmydata", "envdir", "envuidgid", "faketime", "fakechroot", "gdb",
    "gosu", "hyperfine", "i386", "ifne", "linux32", "linux64", "multitime", "nsjail", "numactl", "perf", "prlimit", "proot",
    "retry", "rr", "run-parts", "runcon", "s6-setuidgid", "schroot", "sem", "setarch", "setpriv", "setuidgid", "softlimit",
    "sshpass", "ssh-agent", "start-stop-daemon", "su-exec", "systemd-cat", "systemd-inhibit", "tini", "torify", "trickle",
    "tsocks", "watchexec", "x86_64",
];

/// Returns the commands that a command runs.
pub(crate) fn wrapped_commands(simple: &SimpleCommand) -> WrappedCommands {
    let Some(name) = simple.name() else {
        return only_itself();
    };
    if programs::is_shell(&name) {
        return shell(simple, &name);
    }
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
        return plain(simple, wrapper);
    }
    match name.as_str() {
        "env" => env(simple),
        "xargs" => xargs(simple),
        "parallel" => WrappedCommands {
            unclear: vec![UnclearReason::Wrapper(name)],
            ..after_options(simple)
        },
        "eval" => joined(simple, 1, &name),
        "watch" => watch(simple),
        "coproc" | "tmux" | "screen" => WrappedCommands {
            unclear: vec![UnclearReason::Wrapper(name.clone())],
            ..after_options(simple)
        },
        "trap" => trap(simple),
        // Their input is run later.
        "at" | "batch" | "crontab" if !has_word(simple, "-l") => runs_input(&name),
        "ed" | "red" | "ex" | "ftp" | "telnet" => runs_input(&name),
        "sqlite3" if operands(simple, &["-cmd", "-separator", "-nullvalue"]).len() < 2 => runs_input(&name),
        "psql" if !has_option(simple, &['c', 'l'], &["--command", "--list"]) => runs_input(&name),
        "mysql" | "mariadb" if !has_option(simple, &['e'], &["--execute"]) => runs_input(&name),
        "make" | "gmake" if reads_makefile_from_input(simple) => runs_input(&name),
        "source" | "." if !simple.words.get(1).is_some_and(is_file) => runs_input(&name),
        "alias" => alias(simple),
        "newgrp" | "sg" => runs_input(&name),
        _ if RUN_ARGUMENTS.contains(&name.as_str()) && simple.words.len() > 1 => hidden(&name),
        "su" | "script" | "flock" | "runuser" | "nix-shell" | "nix" => text_option(simple, &name),
        "find" | "gfind" => finder(simple, FIND_RUNS, &[";", "+"]),
        "fd" | "fdfind" => finder(simple, FD_RUNS, &[";"]),
        "git" => git(simple),
        _ if programs::is_interpreter(&name) && reads_input(simple) => WrappedCommands {
            unclear: vec![UnclearReason::Input(name)],
            ..only_itself()
        },
        _ => only_itself(),
    }
}

fn only_itself() -> WrappedCommands {
    WrappedCommands {
        counts: true,
        ..WrappedCommands::default()
    }
}

fn hidden(name: &str) -> WrappedCommands {
    WrappedCommands {
        unclear: vec![UnclearReason::Wrapper(name.to_owned())],
        ..only_itself()
    }
}

fn runs_input(name: &str) -> WrappedCommands {
    WrappedCommands {
        unclear: vec![UnclearReason::Input(name.to_owned())],
        ..only_itself()
    }
}

fn has_word(simple: &SimpleCommand, wanted: &str) -> bool {
    simple.words.iter().any(|word| word.plain().as_deref() == Some(wanted))
}

/// Whether a command has one of these short options, also in a bundle, or long ones.
fn has_option(simple: &SimpleCommand, short: &[char], long: &[&str]) -> bool {
    simple.words.iter().skip(1).any(|word| {
        let start = word.known_start();
        match start.strip_prefix("--") {
            Some(_) => long.iter().any(|long| start.starts_with(long)),
            None => start.starts_with('-') && start.contains(short),
        }
    })
}

/// `make -f-`, `make -sf -` and `make --file=/dev/stdin`.
fn reads_makefile_from_input(simple: &SimpleCommand) -> bool {
    let mut values = option_values(simple, &["--file", "--makefile"]);
    for (at, word) in simple.words.iter().enumerate().skip(1) {
        let start = word.known_start();
        let Some(bundle) = start.strip_prefix('-').filter(|bundle| !bundle.starts_with('-')) else {
            continue;
        };
        // The value of another option may contain the letter.
        match bundle.find(['C', 'I', 'W', 'f', 'j', 'l', 'o']) {
            Some(end) if !bundle[end..].starts_with('f') => {}
            Some(end) if end + 1 == bundle.len() => values.extend(simple.words.get(at + 1).cloned()),
            Some(end) => values.push(ShellWord::text(&bundle[end + 1..])),
            None => {}
        }
    }
    values
        .iter()
        .any(|value| !is_file(value) || value.plain().as_deref() == Some("-"))
}

/// Whether a word is the name of a file, and not of an open descriptor.
fn is_file(word: &ShellWord) -> bool {
    let is_descriptor = |path: &String| path.starts_with("/dev/") || path.starts_with("/proc/");
    word.plain().is_some_and(|path| !is_descriptor(&path))
}

/// The command that begins at this word.
fn from(simple: &SimpleCommand, at: usize) -> SimpleCommand {
    SimpleCommand {
        words: simple.words[at..].to_vec(),
        ..simple.clone()
    }
}

fn plain(simple: &SimpleCommand, wrapper: &WrapperSpec) -> WrappedCommands {
    let text = simple.words.get(1).and_then(ShellWord::plain).unwrap_or_default();
    if wrapper.name == "command" && matches!(text.as_str(), "-v" | "-V" | "-pv" | "-pV") {
        return only_itself();
    }
    match skip_options(simple, wrapper) {
        None => hidden(wrapper.name),
        // `xargs nice` runs its input.
        Some(at) if at + wrapper.skip >= simple.words.len() && simple.open_ended => hidden(wrapper.name),
        Some(at) if at + wrapper.skip >= simple.words.len() => only_itself(),
        Some(at) => {
            let mut inner = from(simple, at + wrapper.skip);
            // `sudo` and `time` accept assignments like `env`.
            while (!wrapper.transparent || wrapper.name == "time")
                && let Some((name, value)) = inner.words.first().and_then(assignment)
                && inner.words.len() > 1
            {
                inner.env.push((name, value));
                inner.words.remove(0);
            }
            WrappedCommands {
                counts: !wrapper.transparent,
                commands: vec![inner],
                ..WrappedCommands::default()
            }
        }
    }
}

pub(super) fn assignment(word: &ShellWord) -> Option<(String, ShellWord)> {
    let Some(WordPiece::Bare(text) | WordPiece::Quoted(text)) = word.pieces.first() else {
        return None;
    };
    let (name, value) = text.split_once('=')?;
    let mut letters = name.chars();
    let valid = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !valid {
        return None;
    }
    let mut rest = ShellWord::text(value);
    rest.pieces.extend(word.pieces[1..].iter().cloned());
    Some((name.to_owned(), rest))
}

fn env(simple: &SimpleCommand) -> WrappedCommands {
    for (at, word) in simple.words.iter().enumerate().skip(1) {
        let Some(text) = word.plain() else { break };
        if text.starts_with("-S") || text.starts_with("--split-string") || text.starts_with("-vS") {
            let glued = text
                .trim_start_matches("--split-string")
                .trim_start_matches("-vS")
                .trim_start_matches("-S");
            let rest: Option<Vec<_>> = simple.words[at + 1..].iter().map(ShellWord::plain).collect();
            // `env` has escapes, variables and comments of its own.
            let text = Some(glued).filter(|text| !text.is_empty()).map(str::to_owned);
            let text = text.or_else(|| rest.as_ref()?.first().cloned()).unwrap_or_default();
            let is_unlike_shell = text.contains(['\\', '$', '#']);
            return match rest {
                Some(rest) => WrappedCommands {
                    scripts: vec![format!("{} {}", glued.trim_start_matches('='), rest.join(" "))],
                    unclear: is_unlike_shell
                        .then(|| UnclearReason::Wrapper("env".into()))
                        .into_iter()
                        .collect(),
                    ..WrappedCommands::default()
                },
                None => hidden("env"),
            };
        }
    }
    let Some(mut at) = skip_options(simple, &ENV) else {
        return hidden("env");
    };
    let mut inner = simple.clone();
    let mut unclear = Vec::new();
    while let Some(word) = simple.words.get(at) {
        match assignment(word) {
            Some((name, value)) => inner.env.push((name, value)),
            // `env` accepts any name, such as `BASH_FUNC_ls%%`.
            None if word.known_start().contains('=') => unclear.push(UnclearReason::Variable(word.to_string())),
            None => break,
        }
        at += 1;
    }
    if at >= simple.words.len() {
        unclear.extend(simple.open_ended.then(|| UnclearReason::Dynamic("env".into())));
        return WrappedCommands {
            unclear,
            ..only_itself()
        };
    }
    inner.words = simple.words[at..].to_vec();
    WrappedCommands {
        commands: vec![inner],
        unclear,
        ..WrappedCommands::default()
    }
}

fn xargs(simple: &SimpleCommand) -> WrappedCommands {
    let Some(at) = skip_options(simple, &XARGS) else {
        return hidden("xargs");
    };
    if at >= simple.words.len() {
        return only_itself();
    }
    let mut inner = from(simple, at);
    inner.open_ended = true;
    if inner.name().is_some_and(|name| programs::is_shell(&name)) && inner.words.len() < 3 {
        return WrappedCommands {
            unclear: vec![UnclearReason::Dynamic("xargs".into())],
            commands: vec![inner],
            ..WrappedCommands::default()
        };
    }
    // The placeholder may be anything.
    for (option, word) in simple.words.iter().enumerate().take(at).skip(1) {
        let next = simple.words.get(option + 1).and_then(ShellWord::plain);
        if let Some(placeholder) = word.plain().and_then(|text| placeholder(&text, next)) {
            replace(&mut inner.words, &placeholder);
        }
    }
    WrappedCommands {
        commands: vec![inner],
        ..WrappedCommands::default()
    }
}

/// The placeholder that an option of `xargs` defines, in this word or the next.
fn placeholder(option: &str, next: Option<String>) -> Option<String> {
    let non_empty = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    if let Some(long) = option.strip_prefix("--") {
        let (name, value) = long.split_once('=').unwrap_or((long, ""));
        let is_replace = !name.is_empty() && "replace".starts_with(name);
        return is_replace.then(|| non_empty(value).unwrap_or_else(|| "{}".into()));
    }
    let bundle = option.strip_prefix('-')?;
    let (before, value) = bundle.split_once(['I', 'J', 'i'])?;
    match bundle[before.len()..].starts_with('i') {
        true => non_empty(value).or_else(|| Some("{}".into())),
        false => non_empty(value).or(next),
    }
}

/// Makes words with a placeholder unknown from there on.
fn replace(words: &mut [ShellWord], placeholder: &str) {
    for word in words {
        if let Some(text) = word.plain()
            && let Some((before, _)) = text.split_once(placeholder)
        {
            *word = ShellWord::text(before);
            word.pieces.push(WordPiece::Unknown { quoted: true });
        }
    }
}

fn after_options(simple: &SimpleCommand) -> WrappedCommands {
    let at = simple
        .words
        .iter()
        .skip(1)
        .position(|word| !word.may_be_flag())
        .map_or(simple.words.len(), |at| at + 1);
    if at >= simple.words.len() {
        return only_itself();
    }
    let text = simple.words[at].plain().filter(|text| text.contains(' '));
    WrappedCommands {
        counts: true,
        scripts: text.into_iter().collect(),
        commands: vec![from(simple, at)],
        ..WrappedCommands::default()
    }
}

/// `watch` runs its words as one line.
fn watch(simple: &SimpleCommand) -> WrappedCommands {
    match skip_options(simple, &WATCH) {
        Some(at) if at < simple.words.len() && !simple.open_ended => WrappedCommands {
            counts: true,
            ..joined(simple, at, "watch")
        },
        _ => WrappedCommands {
            unclear: vec![UnclearReason::Wrapper("watch".into())],
            ..after_options(simple)
        },
    }
}

/// All words from this one on, run as one line.
fn joined(simple: &SimpleCommand, at: usize, name: &str) -> WrappedCommands {
    let words: Option<Vec<_>> = simple.words.iter().skip(at).map(ShellWord::plain).collect();
    match words {
        Some(words) => WrappedCommands {
            scripts: vec![words.join(" ")],
            ..WrappedCommands::default()
        },
        None => WrappedCommands {
            unclear: vec![UnclearReason::Dynamic(name.to_owned())],
            ..only_itself()
        },
    }
}

fn shell(simple: &SimpleCommand, name: &str) -> WrappedCommands {
    let mut at = 1;
    let mut runs_text = false;
    while let Some(word) = simple.words.get(at) {
        let Some(text) = word.plain() else {
            return WrappedCommands {
                unclear: vec![UnclearReason::Dynamic(name.to_owned())],
                ..only_itself()
            };
        };
        match text.as_str() {
            "-o" | "+o" | "-O" | "+O" => at += 2,
            "--version" | "--help" => return only_itself(),
            "--rcfile" | "--init-file" => return hidden(name),
            "-s" | "-" => {
                return WrappedCommands {
                    unclear: vec![UnclearReason::Input(name.to_owned())],
                    ..only_itself()
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
            // `pwsh -EncodedCommand`
            long if long.len() > 2 && long.starts_with('-') && matches!(name, "pwsh" | "powershell") => {
                return hidden(name);
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
            Some(script) => WrappedCommands {
                scripts: vec![script],
                ..WrappedCommands::default()
            },
            None => WrappedCommands {
                unclear: vec![UnclearReason::Dynamic(name.to_owned())],
                ..only_itself()
            },
        },
        (true, None) | (false, None) => WrappedCommands {
            unclear: vec![UnclearReason::Input(name.to_owned())],
            ..only_itself()
        },
        (false, Some(word)) => {
            let from_device = word
                .plain()
                .is_none_or(|path| path.starts_with("/dev/") || path.starts_with("/proc/"));
            WrappedCommands {
                unclear: from_device
                    .then(|| UnclearReason::Input(name.to_owned()))
                    .into_iter()
                    .collect(),
                ..only_itself()
            }
        }
    }
}

fn trap(simple: &SimpleCommand) -> WrappedCommands {
    let first = if has_word(simple, "--") { 2 } else { 1 };
    let Some(word) = simple.words.get(first) else {
        return only_itself();
    };
    match word.plain() {
        Some(text) if text.starts_with('-') || text.is_empty() => only_itself(),
        Some(text) => WrappedCommands {
            scripts: vec![text],
            ..only_itself()
        },
        None => WrappedCommands {
            unclear: vec![UnclearReason::Dynamic("trap".into())],
            ..only_itself()
        },
    }
}

/// An alias is replaced before the shell parses the line, so it can change what any later command means.
fn alias(simple: &SimpleCommand) -> WrappedCommands {
    let mut wrapped = only_itself();
    for word in simple.words.iter().skip(1) {
        match word.plain() {
            Some(text) => {
                let Some((_, run)) = text.split_once('=') else { continue };
                wrapped.scripts.push(run.to_owned());
                wrapped.unclear.push(UnclearReason::Wrapper("alias".into()));
            }
            None => wrapped.unclear.push(UnclearReason::Dynamic("alias".into())),
        }
    }
    wrapped
}

/// Programs that run the text after `-c` or similar.
fn text_option(simple: &SimpleCommand, name: &str) -> WrappedCommands {
    let mut wrapped = only_itself();
    for (at, word) in simple.words.iter().enumerate().skip(1) {
        let Some(text) = word.plain() else {
            wrapped.unclear.push(UnclearReason::Wrapper(name.to_owned()));
            continue;
        };
        let run = match text.as_str() {
            "-c" | "--command" | "--run" | "-lc" | "-qc" | "-qec" => simple.words.get(at + 1).map(ShellWord::plain),
            long => long.strip_prefix("--command=").map(|run| Some(run.to_owned())),
        };
        match run {
            Some(Some(script)) => wrapped.scripts.push(script),
            Some(None) => wrapped.unclear.push(UnclearReason::Dynamic(name.to_owned())),
            None => {}
        }
    }
    if name == "flock" && simple.words.len() > 2 {
        wrapped.commands.push(from(simple, 2));
    }
    if wrapped.scripts.is_empty() && wrapped.commands.is_empty() {
        wrapped.unclear.push(UnclearReason::Wrapper(name.to_owned()));
    }
    wrapped
}

fn finder(simple: &SimpleCommand, runs: &[&str], ends: &[&str]) -> WrappedCommands {
    let mut wrapped = only_itself();
    let mut at = 1;
    while at < simple.words.len() {
        let text = simple.words[at].plain().unwrap_or_default();
        at += 1;
        // `fd -HxCMD` and `fd --exec=CMD`.
        let glued = (runs == FD_RUNS).then(|| fd_command(&text)).flatten();
        if !runs.contains(&text.as_str()) && glued.is_none() {
            continue;
        }
        let end = simple.words[at..]
            .iter()
            .position(|word| word.plain().is_some_and(|text| ends.contains(&text.as_str())))
            .map_or(simple.words.len(), |end| at + end);
        let mut inner = SimpleCommand {
            words: glued
                .filter(|program| !program.is_empty())
                .map(ShellWord::text)
                .into_iter()
                .chain(simple.words[at..end].iter().cloned())
                .collect(),
            open_ended: true,
            ..simple.clone()
        };
        for word in &mut inner.words {
            if word.plain().is_some_and(|text| text.contains("{}")) {
                *word = ShellWord::unknown();
            }
        }
        if !inner.words.is_empty() {
            wrapped.commands.push(inner);
        } else if simple.open_ended {
            wrapped.unclear.push(UnclearReason::Dynamic("find".into()));
        }
        at = end;
    }
    wrapped
}

/// The program in an option of `fd`, empty if it is the next word.
fn fd_command(option: &str) -> Option<String> {
    if option.starts_with("--") {
        let (name, program) = option.split_once('=')?;
        return matches!(name, "--exec" | "--exec-batch").then(|| program.to_owned());
    }
    let (before, program) = option.strip_prefix('-')?.split_once(['x', 'X'])?;
    // The value of another option may contain the letter.
    (!before.contains(['d', 'e', 'E', 't', 'S', 'o', 'c', 'j'])).then(|| program.to_owned())
}

/// Git subcommands that run a given command.
fn git(simple: &SimpleCommand) -> WrappedCommands {
    let mut wrapped = only_itself();
    let texts: Vec<_> = simple.words.iter().map(ShellWord::plain).collect();
    let text = |at: usize| texts.get(at).and_then(Option::as_deref);
    for at in 1..texts.len() {
        match (text(at), text(at + 1)) {
            (Some("bisect"), Some("run")) if at + 2 < texts.len() => wrapped.commands.push(from(simple, at + 2)),
            (Some("foreach"), Some("--recursive" | "-q" | "--quiet")) => wrapped.scripts.extend(rest(&texts, at + 2)),
            (Some("foreach"), Some(_)) => wrapped.scripts.extend(rest(&texts, at + 1)),
            (Some("-x" | "--exec" | "--extcmd"), Some(run)) => wrapped.scripts.push(run.to_owned()),
            (Some("-c"), Some(setting)) => match alias_of(setting) {
                Some((_, run)) if run.starts_with('!') => wrapped.scripts.push(run[1..].to_owned()),
                Some((name, run)) => wrapped.commands.extend(expand_alias(simple, name, run)),
                None => {}
            },
            (Some(option), _) => {
                let run = option
                    .strip_prefix("--exec=")
                    .or_else(|| option.strip_prefix("--extcmd="));
                // `-xCMD`, and `-yxCMD` of `git difftool`.
                let glued = option
                    .strip_prefix('-')
                    .filter(|option| !option.starts_with('-'))
                    .and_then(|option| option.split_once('x'))
                    .map(|(_, run)| run)
                    .filter(|run| !run.is_empty() && runs_commands(text(1)));
                wrapped.scripts.extend(run.or(glued).map(str::to_owned));
            }
            (None, _) => {}
        }
    }
    wrapped
}

/// Git subcommands with an option `-x` for a command.
fn runs_commands(subcommand: Option<&str>) -> bool {
    matches!(subcommand, Some("rebase" | "difftool"))
}

/// The name and value of a setting such as `alias.p=push`.
fn alias_of(setting: &str) -> Option<(&str, &str)> {
    let (key, run) = setting.split_once('=')?;
    let name = key.get(..6).filter(|section| section.eq_ignore_ascii_case("alias."));
    name.map(|_| (&key[6..], run))
}

/// The command that an alias stands for: `git -c alias.p=push p x` is `git push x`.
fn expand_alias(simple: &SimpleCommand, name: &str, run: &str) -> Option<SimpleCommand> {
    let used = |word: &ShellWord| word.plain().is_some_and(|text| text.eq_ignore_ascii_case(name));
    let at = simple.words.iter().rposition(used)?;
    let alias = run
        .split_whitespace()
        .map(|word| ShellWord::text(word.trim_matches(['"', '\''])));
    let words = [ShellWord::text("git")].into_iter().chain(alias);
    Some(SimpleCommand {
        words: words.chain(simple.words[at + 1..].iter().cloned()).collect(),
        ..simple.clone()
    })
}

fn rest(texts: &[Option<String>], at: usize) -> Option<String> {
    let words: Option<Vec<_>> = texts.get(at..)?.iter().map(|text| text.as_deref()).collect();
    words.map(|words| words.join(" "))
}

/// Whether an interpreter runs its input, because it gets neither a script nor code.
fn reads_input(simple: &SimpleCommand) -> bool {
    let texts: Vec<String> = simple.words.iter().skip(1).filter_map(ShellWord::plain).collect();
    let is_input = |text: &str| text == "-" || text.starts_with("/dev/stdin") || text.starts_with("/dev/fd/");
    let is_help = |text: &String| matches!(text.as_str(), "-V" | "-v" | "--version" | "-h" | "--help");
    let has_code = has_option(
        simple,
        &['c', 'e', 'E', 'm', 'p'],
        &["--eval", "--print", "--run", "--test", "--check"],
    );
    let scripts = operands(
        simple,
        &["-W", "-X", "-r", "--require", "--import", "--loader", "-I", "-C"],
    );
    !has_code
        && !texts.iter().any(is_help)
        && scripts
            .iter()
            .all(|script| script.plain().is_some_and(|text| is_input(&text)))
}
