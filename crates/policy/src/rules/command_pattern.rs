//! Command patterns: words that a command must begin with.
//!
//! `git log` matches `git log --oneline` but neither `git logs` nor `git -c x=y log`. `*` matches any text within one
//! word, a word `**` any number of words. In wide mode, options may be anywhere and in any form, so that `rm -rf` also
//! matches `/bin/rm --force -vr x`.

use super::rule::{Match, MatchMode, glob};
use crate::Error;
use crate::shell::{
    GLOBAL_VALUES, ShellWord, SimpleCommand, WorkingDir, basename, carries_no_command, dashed_subcommand,
    harmless_variable, hazardous_option, is_git_subcommand, is_interpreter, is_standard, join, redirects_programs,
    running_option, shows_no_content,
};
use globset::GlobMatcher;

/// A command pattern.
#[derive(Debug, Clone)]
pub(super) enum CommandPattern {
    /// Exactly this line.
    Line(String),
    /// Commands that begin with these words.
    Words(Vec<PatternToken>),
}

#[derive(Debug, Clone)]
pub(super) enum PatternToken {
    Word(String),
    Glob(String, GlobMatcher),
    Any,
}

/// Other names of subcommands.
const SUBCOMMAND_ALIASES: &[(&str, &str, &[&str])] = &[
    ("cargo", "build", &["b"]),
    ("cargo", "check", &["c"]),
    ("cargo", "doc", &["d"]),
    ("cargo", "remove", &["rm"]),
    ("cargo", "run", &["r"]),
    ("cargo", "test", &["t"]),
    ("helm", "uninstall", &["del", "delete", "un"]),
    ("npm", "ci", &["clean-install", "ic", "install-clean", "isntall-clean"]),
    ("npm", "exec", &["x"]),
    (
        "npm",
        "install",
        &["add", "i", "in", "isnt", "isnta", "isntal", "isntall"],
    ),
    ("npm", "run", &["rum", "run-script", "urn"]),
    ("npm", "test", &["t", "tst"]),
    ("npm", "uninstall", &["r", "remove", "rm", "un", "unlink"]),
    ("npm", "update", &["u", "udpate", "up", "upgrade"]),
    ("pnpm", "add", &["i", "install"]),
    ("pnpm", "remove", &["rm", "un", "uninstall"]),
];

/// Other names of programs.
const PROGRAM_ALIASES: &[(&str, &str)] = &[("apt", "apt-get"), ("make", "gmake"), ("node", "nodejs"), ("rm", "grm")];

/// Words before a subcommand that do not change its meaning.
const GROUP_WORDS: &[(&str, &[&str])] = &[("docker", &["container", "image"]), ("gcloud", &["alpha", "beta"])];

/// Programs that accept the beginning of a subcommand.
const SHORTENS_SUBCOMMANDS: &[&str] = &["npm"];

/// Programs that show or compare a program without copying it.
const EXAMINES_PROGRAMS: &[&str] = &[
    "b2sum",
    "cmp",
    "diff",
    "dpkg",
    "du",
    "file",
    "ldd",
    "md5sum",
    "nm",
    "objdump",
    "readelf",
    "readlink",
    "rpm",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "strings",
    "type",
    "wc",
    "whereis",
];

/// Git's subcommands that push, besides `push`, with the word after them.
const PUSHING_SUBCOMMANDS: &[(&str, &str)] = &[("lfs", "push"), ("p4", "submit"), ("svn", "dcommit")];

/// Equivalent options of a program.
const EQUIVALENT_OPTIONS: &[(&str, &str, &str)] = &[
    ("rm", "-r", "--recursive"),
    ("rm", "-R", "--recursive"),
    ("rm", "-R", "-r"),
    ("rm", "-f", "--force"),
    ("rm", "-d", "--dir"),
    ("cp", "-r", "--recursive"),
    ("cp", "-f", "--force"),
    ("chmod", "-R", "--recursive"),
    ("chown", "-R", "--recursive"),
    ("git", "-f", "--force"),
    ("git", "-a", "--all"),
    ("git", "-A", "--all"),
    ("git", "-d", "--delete"),
    ("git", "-m", "--message"),
    ("git", "-n", "--no-verify"),
    ("sed", "-i", "--in-place"),
    ("curl", "-o", "--output"),
    ("curl", "-X", "--request"),
    ("curl", "-d", "--data"),
    ("gh", "-X", "--method"),
    ("npm", "-g", "--global"),
    ("docker", "-v", "--volume"),
];

impl CommandPattern {
    pub(super) fn new(pattern: &str, rule: &str) -> Result<Self, Error> {
        if let Some(line) = pattern.strip_prefix('=') {
            return Ok(CommandPattern::Line(line.trim().to_owned()));
        }
        let words = split_words(pattern).ok_or_else(|| Error::Malformed { rule: rule.to_owned() })?;
        let mut tokens = Vec::new();
        for (word, quoted) in words {
            tokens.push(match word.as_str() {
                "**" if !quoted => PatternToken::Any,
                _ if !quoted && word.contains(['*', '?']) => {
                    // Within a word, a slash is an ordinary character.
                    let matcher = glob(&word.replace('*', "**"), MatchMode::Narrow)?;
                    PatternToken::Glob(word, matcher)
                }
                _ => PatternToken::Word(word),
            });
        }
        Ok(CommandPattern::Words(tokens))
    }

    pub(super) fn is_line(&self, command: &str) -> bool {
        match self {
            CommandPattern::Line(line) => line == command.trim(),
            CommandPattern::Words(_) => false,
        }
    }

    pub(super) fn matches(&self, simple: &SimpleCommand, mode: MatchMode) -> Match {
        let CommandPattern::Words(tokens) = self else {
            return Match::No;
        };
        match mode {
            MatchMode::Narrow => narrow(tokens, simple),
            MatchMode::Wide => wide(tokens, simple),
        }
    }
}

fn narrow(tokens: &[PatternToken], simple: &SimpleCommand) -> Match {
    let mut tokens = tokens;
    for (name, value) in &simple.env {
        let set = value.plain().map(|value| format!("{name}={value}"));
        match (tokens.first(), set) {
            (Some(token), Some(set)) if token.spells_assignment() && token.matches(&set) => tokens = &tokens[1..],
            (_, Some(_)) if harmless_variable(name) => {}
            _ => return Match::No,
        }
    }
    // A program provided by the project is not the one that the rule means.
    let Some(program) = simple.program() else {
        return Match::Maybe;
    };
    let mut words: Vec<ShellWord> = simple.words.clone();
    let spelled_out = matches!(tokens.first(), Some(PatternToken::Word(word)) if word.contains('/'));
    if !spelled_out {
        if !is_standard(&program) {
            return Match::No;
        }
        words[0] = ShellWord::text(basename(&program));
    }
    let found = prefix(tokens, &words, simple.open_ended);
    match hazardous_option(simple) {
        Some(option) if found == Match::Yes && !names(tokens, &option) => Match::Maybe,
        _ => found,
    }
}

/// Whether a pattern names an option explicitly.
fn names(tokens: &[PatternToken], option: &str) -> bool {
    tokens.iter().any(|token| match token {
        PatternToken::Word(word) => word == option || option.split('=').next() == Some(word),
        PatternToken::Glob(text, matcher) => text.starts_with('-') && matcher.is_match(option),
        PatternToken::Any => false,
    })
}

/// Whether words begin with the pattern.
fn prefix(tokens: &[PatternToken], words: &[ShellWord], open_ended: bool) -> Match {
    let Some((token, later)) = tokens.split_first() else {
        return Match::Yes;
    };
    if let PatternToken::Any = token {
        return (0..=words.len())
            .map(|skip| prefix(later, &words[skip..], open_ended))
            .max()
            .unwrap_or(Match::No);
    }
    let Some((word, rest)) = words.split_first() else {
        return if open_ended { Match::Maybe } else { Match::No };
    };
    let one = match word.plain() {
        Some(text) if token.matches(&text) => Match::Yes,
        Some(_) => return Match::No,
        None if token.matches_everything() && word.is_single() => Match::Yes,
        None => Match::Maybe,
    };
    // A word that may expand to several or none makes the rest uncertain.
    match word.is_single() {
        true => one.min(prefix(later, rest, open_ended)),
        false => Match::Maybe,
    }
}

fn wide(tokens: &[PatternToken], simple: &SimpleCommand) -> Match {
    let name = simple.name().unwrap_or_default();
    let spelled = dashed_words(&name, &simple.words).unwrap_or_else(|| simple.words.clone());
    let whole = pushing_words(&spelled)
        .into_iter()
        .chain([spelled, simple.words.clone()])
        .map(|words| matches_loosely(tokens, &words, simple.open_ended))
        .max()
        .unwrap_or(Match::No);
    if whole == Match::Yes {
        return whole;
    }
    // Git reads aliases from the home folder.
    let configures = |variable: &str| name == "git" && matches!(variable, "HOME" | "XDG_CONFIG_HOME");
    let redirects = |variable: &str| redirects_programs(variable) || configures(variable);
    let runs_more = running_option(simple).is_some() || simple.env.iter().any(|(name, _)| redirects(name));
    if runs_more || runs_unknown_script(simple, &name) || copies_program(tokens, simple, &name) {
        return Match::Maybe;
    }
    if may_be_git_alias(tokens, simple, &name) {
        return whole.max(Match::Maybe);
    }
    if carries_no_command(&name) || only_searches(simple, &name) {
        return whole;
    }
    // Any other program may run its arguments.
    let inside = (1..simple.words.len()).any(|at| {
        simple.words[at].plain().is_some_and(|text| mentions(tokens, &text))
            || matches_loosely(tokens, &simple.words[at..], simple.open_ended) == Match::Yes
    });
    if inside { whole.max(Match::Maybe) } else { whole }
}

/// Whether an interpreter runs a script that is only known at run time.
fn runs_unknown_script(simple: &SimpleCommand, name: &str) -> bool {
    let script = simple
        .words
        .iter()
        .skip(1)
        .find(|word| word.plain().is_none_or(|text| !text.starts_with('-')));
    is_interpreter(name) && script.is_some_and(|script| script.plain().is_none())
}

/// Whether a command may copy or link the program of a pattern, as in `ln -s /usr/bin/git g` and `cd /bin; cp git g`.
fn copies_program(tokens: &[PatternToken], simple: &SimpleCommand, name: &str) -> bool {
    if shows_no_content(name) || EXAMINES_PROGRAMS.contains(&name) {
        return false;
    }
    let program = tokens.iter().find(|token| !token.spells_assignment());
    let is_program = |path: &str| {
        path.starts_with('/') && is_standard(path) && program.is_some_and(|token| token.matches(basename(path)))
    };
    let folders = || simple.folders.iter().filter_map(WorkingDir::known);
    let words = simple.words.iter().skip(1).filter_map(ShellWord::plain);
    // `dd if=/bin/rm`
    words.into_iter().any(|text| {
        let path = text.split_once('=').map_or(text.as_str(), |(_, path)| path);
        is_program(path) || folders().any(|folder| is_program(&join(folder, path)))
    })
}

/// Whether a subcommand of git is none of its own, so that an alias may stand for that of a pattern.
fn may_be_git_alias(tokens: &[PatternToken], simple: &SimpleCommand, name: &str) -> bool {
    let mut tokens = tokens.iter().filter(|token| !token.spells_assignment());
    let is_about_git = tokens.next().is_some_and(|token| token.matches("git")) && tokens.next().is_some();
    let words = || {
        without_globals("git", &simple.words[1..])
            .into_iter()
            .map(|word| word.plain())
    };
    let subcommand = words().find(|text| text.as_ref().is_none_or(|text| !text.starts_with('-')));
    let is_own = subcommand.is_none_or(|text| text.is_none_or(|text| is_git_subcommand(&text)));
    name == "git" && is_about_git && !is_own
}

/// Whether a command is a search without a command that it runs, or asks for the path of a program.
fn only_searches(simple: &SimpleCommand, name: &str) -> bool {
    let words: Option<Vec<String>> = simple.words.iter().skip(1).map(ShellWord::plain).collect();
    match (name, words) {
        ("find" | "gfind", Some(words)) => !words
            .iter()
            .any(|word| word.starts_with("-exec") || word.starts_with("-ok")),
        ("command", Some(words)) => words.first().is_some_and(|word| matches!(word.as_str(), "-v" | "-V")),
        _ => false,
    }
}

/// The words of `git-push origin` as `git push origin`.
fn dashed_words(name: &str, words: &[ShellWord]) -> Option<Vec<ShellWord>> {
    let (program, subcommand) = dashed_subcommand(name)?;
    let first = [ShellWord::text(program), ShellWord::text(subcommand)];
    Some(first.into_iter().chain(words.iter().skip(1).cloned()).collect())
}

/// The words of git's other subcommands that push, as `git push`.
fn pushing_words(words: &[ShellWord]) -> Option<Vec<ShellWord>> {
    let texts: Vec<Option<String>> = words.iter().map(ShellWord::plain).collect();
    let is = |at: usize, names: &[&str]| {
        texts
            .get(at)
            .and_then(Option::as_deref)
            .is_some_and(|text| names.contains(&text))
    };
    let is_pair = |at: usize| {
        PUSHING_SUBCOMMANDS
            .iter()
            .any(|(first, second)| is(at, &[first]) && is(at + 1, &[second]))
    };
    let pushes = |at: &usize| {
        is(*at, &["send-pack", "http-push"])
            || is_pair(*at)
            || (is(*at, &["subtree"]) && (at + 1..words.len()).any(|later| is(later, &["push"])))
    };
    let at = (1..words.len()).find(pushes)?;
    let program = words.first().and_then(ShellWord::plain)?;
    if basename(&program) != "git" {
        return None;
    }
    let mut words = words.to_vec();
    words[at] = ShellWord::text("push");
    Some(words)
}

/// Whether an argument is code that names the program of a pattern.
fn mentions(tokens: &[PatternToken], text: &str) -> bool {
    let Some(PatternToken::Word(program)) = tokens.iter().find(|token| !token.spells_assignment()) else {
        return false;
    };
    let mut parts = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
    let is_code = text.contains(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')));
    is_code && parts.any(|part| part == program)
}

/// Whether words match the pattern, regardless of the order and form of options.
fn matches_loosely(tokens: &[PatternToken], words: &[ShellWord], open_ended: bool) -> Match {
    let tokens: Vec<&PatternToken> = tokens.iter().filter(|token| !token.spells_assignment()).collect();
    let Some((program, tokens)) = tokens.split_first() else {
        return Match::Yes;
    };
    let Some(first) = words.first() else {
        return Match::No;
    };
    let Some(text) = first.plain() else {
        return Match::Maybe;
    };
    let name = basename(&text).to_lowercase();
    let begins = match program {
        PatternToken::Any => true,
        token => {
            let endings = ["", ".exe", ".cmd", ".js", "-cli.js"];
            let names = endings.iter().filter_map(|ending| name.strip_suffix(ending));
            token.matches(&text)
                || token.matches(basename(&text))
                || names
                    .into_iter()
                    .any(|name| token.matches(name) || token.is_same_program(name))
        }
    };
    if !begins {
        return Match::No;
    }
    let (options, operands): (Vec<&PatternToken>, Vec<&PatternToken>) =
        tokens.iter().partition(|token| token.is_option());
    let rest = without_globals(&name, &words[1..]);
    let uncertain = open_ended || rest.iter().any(|word| word.plain().is_none());
    let mut found = match ordered(&name, &operands, &operand_words(&rest), open_ended) {
        Match::No if ordered_without_values(&name, &operands, &rest) => Match::Maybe,
        found => found,
    };
    for option in options {
        if !rest
            .iter()
            .filter_map(ShellWord::plain)
            .any(|word| has_option(&name, option, &word, &rest))
        {
            found = found.min(if uncertain { Match::Maybe } else { Match::No });
        }
    }
    found
}

/// Removes options before a subcommand, with their values.
fn without_globals(name: &str, words: &[ShellWord]) -> Vec<ShellWord> {
    let valued = GLOBAL_VALUES
        .iter()
        .find(|(program, _)| *program == name)
        .map_or(&[][..], |(_, valued)| valued);
    let (mut kept, mut at) = (Vec::new(), 0);
    while let Some(word) = words.get(at) {
        let text = word.plain().unwrap_or_default();
        if !text.starts_with(['-', '+']) {
            break;
        }
        if valued.contains(&text.as_str()) {
            at += 2;
        } else {
            // `cargo +nightly publish`
            if !text.starts_with('+') {
                kept.push(word.clone());
            }
            at += 1;
        }
    }
    let groups = GROUP_WORDS
        .iter()
        .find(|(program, _)| *program == name)
        .map_or(&[][..], |(_, groups)| groups);
    let is_group = |word: &ShellWord| word.plain().is_some_and(|text| groups.contains(&text.as_str()));
    at += usize::from(words.get(at).is_some_and(is_group));
    kept.extend(words.iter().skip(at).cloned());
    kept
}

fn operand_words(words: &[ShellWord]) -> Vec<&ShellWord> {
    let flag = |word: &&ShellWord| word.plain().is_some_and(|text| text.len() > 1 && text.starts_with('-'));
    words.iter().filter(|word| !flag(word)).collect()
}

/// Whether operands begin with the pattern if words after options may be their values, or variables and other targets of
/// `make` come first.
fn ordered_without_values(name: &str, tokens: &[&PatternToken], words: &[ShellWord]) -> bool {
    let Some((token, later)) = tokens.split_first() else {
        return true;
    };
    let is_option = |text: &str| text.len() > 1 && text.starts_with('-');
    let mut may_skip = false;
    for (at, word) in words.iter().enumerate() {
        let Some(text) = word.plain() else { return true };
        if is_option(&text) {
            may_skip = !text.contains('=');
            continue;
        }
        let found = token.matches_subcommand(name, &text) || matches!(token, PatternToken::Any);
        if found && ordered_without_values(name, later, &words[at + 1..]) {
            return true;
        }
        if !std::mem::take(&mut may_skip) && !matches!(name, "make" | "gmake") {
            return false;
        }
    }
    false
}

/// Whether operands begin with the pattern; `**` skips any number of them.
fn ordered(name: &str, tokens: &[&PatternToken], words: &[&ShellWord], open_ended: bool) -> Match {
    let Some((token, later)) = tokens.split_first() else {
        return Match::Yes;
    };
    if let PatternToken::Any = token {
        return (0..=words.len())
            .map(|skip| ordered(name, later, &words[skip..], open_ended))
            .max()
            .unwrap_or(Match::No);
    }
    let Some((word, rest)) = words.split_first() else {
        return if open_ended { Match::Maybe } else { Match::No };
    };
    match word.plain() {
        Some(text) if token.matches_subcommand(name, &text) => ordered(name, later, rest, open_ended),
        Some(_) => Match::No,
        None => Match::Maybe,
    }
}

fn has_option(name: &str, token: &PatternToken, word: &str, all: &[ShellWord]) -> bool {
    if token.matches(word) || word.split_once('=').is_some_and(|(option, _)| token.matches(option)) {
        return true;
    }
    let PatternToken::Word(option) = token else {
        return false;
    };
    if option.starts_with("--") {
        let shortened =
            word.len() >= 4 && option.starts_with(word.split('=').next().unwrap_or(word)) && word.starts_with("--");
        return shortened || equivalents(name, option).any(|other| short_letters(other, word));
    }
    // Bundled letters may be separate options: `-rf` as `-f -r`.
    option.chars().skip(1).all(|letter| {
        let short = format!("-{letter}");
        all.iter().filter_map(ShellWord::plain).any(|word| {
            short_letters(&short, &word)
                || equivalents(name, &short).any(|other| word == other || short_letters(other, &word))
        })
    })
}

fn equivalents<'a>(name: &'a str, option: &'a str) -> impl Iterator<Item = &'static str> + 'a {
    EQUIVALENT_OPTIONS
        .iter()
        .filter(move |(program, ..)| *program == name)
        .filter_map(move |(_, a, b)| {
            if *a == option {
                Some(*b)
            } else if *b == option {
                Some(*a)
            } else {
                None
            }
        })
}

/// Whether a bundle of short options contains an option.
fn short_letters(short: &str, word: &str) -> bool {
    short.len() == 2
        && !short.starts_with("--")
        && word.starts_with('-')
        && !word.starts_with("--")
        && short.chars().nth(1).is_some_and(|letter| word.contains(letter))
}

impl PatternToken {
    fn matches(&self, text: &str) -> bool {
        match self {
            PatternToken::Word(word) => word == text,
            PatternToken::Glob(_, matcher) => matcher.is_match(text),
            PatternToken::Any => true,
        }
    }

    /// Whether a word is this subcommand or another name of it.
    fn matches_subcommand(&self, program: &str, text: &str) -> bool {
        let PatternToken::Word(word) = self else {
            return self.matches(text);
        };
        let is_alias = |(name, command, aliases): &(&str, &str, &[&str])| {
            *name == program && command == word && aliases.contains(&text)
        };
        let is_short = SHORTENS_SUBCOMMANDS.contains(&program) && text.len() >= 3 && word.starts_with(text);
        word == text || is_short || SUBCOMMAND_ALIASES.iter().any(is_alias)
    }

    /// Whether a name is another one of this program, also with a version: `pip3.11` for `pip`.
    fn is_same_program(&self, name: &str) -> bool {
        let PatternToken::Word(word) = self else { return false };
        if PROGRAM_ALIASES.contains(&(word, name)) {
            return true;
        }
        let version = name.strip_prefix(word.as_str());
        version.is_some_and(|version| !version.is_empty() && version.chars().all(|c| c.is_ascii_digit() || c == '.'))
    }

    fn matches_everything(&self) -> bool {
        match self {
            PatternToken::Word(_) => false,
            PatternToken::Glob(text, _) => text == "*",
            PatternToken::Any => true,
        }
    }

    fn text(&self) -> &str {
        match self {
            PatternToken::Word(text) | PatternToken::Glob(text, _) => text,
            PatternToken::Any => "",
        }
    }

    fn is_option(&self) -> bool {
        self.text().starts_with('-') && self.text().len() > 1
    }

    fn spells_assignment(&self) -> bool {
        self.text().split_once('=').is_some_and(|(name, _)| {
            name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    }
}

/// Splits text into words, and reports which were quoted.
fn split_words(text: &str) -> Option<Vec<(String, bool)>> {
    let mut words = Vec::new();
    let mut word: Option<(String, bool)> = None;
    let mut chars = text.chars();
    while let Some(next) = chars.next() {
        match next {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' | '"' => {
                let current = word.get_or_insert_default();
                current.1 = true;
                loop {
                    match chars.next()? {
                        end if end == next => break,
                        other => current.0.push(other),
                    }
                }
            }
            other => word.get_or_insert_default().0.push(other),
        }
    }
    words.extend(word);
    Some(words)
}
