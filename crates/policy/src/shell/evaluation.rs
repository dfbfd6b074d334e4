//! Text that bash evaluates a second time: arithmetic, variable names with an index, and arguments of builtins.
//!
//! Arithmetic runs substitutions in the values of its variables: `x='a[$(id)]'; echo $((x))` runs `id`. A line is
//! uncertain if its arithmetic uses a variable with a value that is not known to be a number or a name.

use super::word::WordPiece;
use super::{ShellWord, SimpleCommand};
use std::collections::BTreeSet;

/// Variables that evaluate the assigned text as arithmetic.
#[rustfmt::skip]
const EVALUATED_VARIABLES: &[&str] = &[
    "BASHPID", "BASH_ARGV0", "BASH_MONOSECONDS", "BASH_SUBSHELL", "COLUMNS", "COMP_CWORD", "COMP_POINT", "DIRSTACK",
    "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "FUNCNEST", "HISTCMD", "HISTFILESIZE", "HISTSIZE", "LINENO", "LINES",
    "MAILCHECK", "OPTERR", "OPTIND", "PPID", "RANDOM", "SECONDS", "SHLVL", "SRANDOM", "TMOUT", "UID",
];

/// Variables with a value from the line or its input.
#[rustfmt::skip]
const SHELL_SET_VARIABLES: &[&str] = &[
    "BASH_ARGV", "BASH_COMMAND", "BASH_EXECUTION_STRING", "BASH_REMATCH", "FUNCNAME", "MAPFILE", "OLDPWD", "OPTARG",
    "PWD", "REPLY", "_",
];

/// Builtins that evaluate an argument as a name with an index, or as arithmetic.
#[rustfmt::skip]
const EVALUATING_BUILTINS: &[&str] = &[
    "[", "declare", "export", "getopts", "let", "local", "mapfile", "printf", "read", "readarray", "readonly", "test",
    "typeset", "unset", "wait",
];

/// Builtins that run or load something that is not visible as a command.
const HIDDEN_BUILTINS: &[&str] = &["bind", "compgen", "complete", "compopt", "enable", "fc"];

/// Arithmetic of a line, and the values of its variables.
#[derive(Debug, Default)]
pub(super) struct Evaluation {
    /// Variables in arithmetic.
    calculated: BTreeSet<String>,
    /// Variables with an unknown value, or one that contains a substitution or an index.
    unknown: BTreeSet<String>,
    /// Variables with a value that may be the name of another variable.
    named: BTreeSet<String>,
    /// Arrays.
    arrays: BTreeSet<String>,
    /// Variables that a builtin sets to an unknown value, which is run as code if the variable is an array.
    declared: BTreeSet<String>,
    /// Whether arithmetic contains text that is only known at run time.
    is_unknown: bool,
}

/// What a builtin evaluates and sets.
#[derive(Debug, Default)]
pub(super) struct BuiltinEffects {
    /// Whether it evaluates an argument.
    pub(super) calculates: bool,
    /// Arithmetic.
    pub(super) arithmetic: Vec<String>,
    /// Variables that it sets.
    pub(super) variables: Vec<(String, ShellWord)>,
    /// Variables that it sets to an unknown value that may be a list of elements.
    pub(super) declared: Vec<String>,
    /// Whether it runs something that is not visible.
    pub(super) is_hidden: bool,
}

impl Evaluation {
    pub(super) fn is_uncertain(&self) -> bool {
        let uses = |names: &BTreeSet<String>| self.calculated.intersection(names).next().is_some();
        let is_set_by_shell = |name: &String| SHELL_SET_VARIABLES.contains(&name.as_str());
        self.is_unknown
            || uses(&self.unknown)
            || (uses(&self.named) && !self.unknown.is_empty())
            || self.calculated.iter().any(is_set_by_shell)
            || self.arrays.intersection(&self.declared).next().is_some()
    }

    /// Records an array: `declare "x=$y"` evaluates the elements in a value such as `($(id))`.
    pub(super) fn set_array(&mut self, name: &str) {
        self.arrays.insert(name.trim_end_matches('+').to_owned());
    }

    /// Records a variable that a builtin sets to an unknown value.
    pub(super) fn declare(&mut self, name: String) {
        self.declared.insert(name);
    }

    /// Records a variable and its value.
    pub(super) fn set(&mut self, name: &str, value: &ShellWord) {
        let (name, index) = split_index(name);
        if let Some(index) = index {
            self.calculate(index);
        }
        let kind = value_kind(value);
        if EVALUATED_VARIABLES.contains(&name) {
            self.calculated.insert(name.to_owned());
            // The value is evaluated immediately, before any later assignment.
            self.is_unknown |= kind == ValueKind::Unknown;
            if let Some(text) = value.plain() {
                self.calculate(&text);
            }
        }
        match kind {
            ValueKind::Number => {}
            ValueKind::Name => {
                self.named.insert(name.to_owned());
            }
            ValueKind::Unknown => {
                self.unknown.insert(name.to_owned());
            }
        }
    }

    /// Records a variable with a number as its value.
    pub(super) fn set_number(&mut self, name: &str) {
        let (_, index) = split_index(name);
        if let Some(index) = index {
            self.calculate(index);
        }
    }

    /// Records arithmetic.
    pub(super) fn calculate(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let rest = &text[at..];
            if rest.starts_with("$((") {
                at += 3;
            } else if rest.starts_with("$(")
                || rest.starts_with('`')
                || rest.starts_with('<') && rest[1..].starts_with('(')
            {
                self.is_unknown = true;
                at += 1;
            } else if rest.starts_with("${#") || rest.starts_with("$#") {
                // A length is a number.
                at += rest[2..]
                    .find(|c: char| !is_name_char(c))
                    .map_or(rest.len(), |end| end + 2)
                    .max(2);
            } else if let Some(name) = rest.strip_prefix('$') {
                at += 1;
                let name = name.trim_start_matches('{');
                self.is_unknown |= name.starts_with(|c: char| c.is_ascii_digit() || "@*!-".contains(c));
            } else if bytes[at].is_ascii_alphabetic() || bytes[at] == b'_' {
                let end = rest.find(|c: char| !is_name_char(c)).unwrap_or(rest.len());
                self.calculated.insert(rest[..end].to_owned());
                at += end;
            } else if bytes[at].is_ascii_digit() {
                // Also `0x1f` and `16#ff`.
                at += rest.find(|c: char| !is_name_char(c) && c != '#').unwrap_or(rest.len());
            } else {
                at += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
    }

    /// Records a `[ … ]` or `[[ … ]]` test.
    pub(super) fn test(&mut self, text: &str) {
        const NUMERIC: [&str; 7] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v"];
        let is_numeric = text.split_whitespace().any(|word| NUMERIC.contains(&word));
        match text.starts_with("[[") {
            true if is_numeric => {
                self.calculate_references(text, Quoting::Any);
                // Operands are names of variables, too: `[[ 1 -lt x ]]`.
                let names = text.split(|c: char| !is_name_char(c)).filter(|name| is_name(name));
                self.calculated.extend(names.map(str::to_owned));
            }
            true => {}
            // Unquoted variables may become several words, and with them operators.
            false if text.split_whitespace().any(|word| word == "-v") => self.calculate_references(text, Quoting::Any),
            false => self.calculate_references(text, Quoting::Unquoted),
        }
    }

    /// Records the variables that a text refers to with `$`.
    fn calculate_references(&mut self, text: &str, quoting: Quoting) {
        let mut is_quoted = false;
        for (at, char) in text.char_indices() {
            match char {
                '"' => is_quoted = !is_quoted,
                '$' if quoting == Quoting::Any || !is_quoted => {
                    let name = text[at + 1..].trim_start_matches('{');
                    if name.starts_with(['(', '@', '*']) {
                        self.is_unknown |= quoting == Quoting::Any;
                        continue;
                    }
                    let end = name.find(|c: char| !is_name_char(c)).unwrap_or(name.len());
                    self.calculated.insert(name[..end].to_owned());
                }
                _ => {}
            }
        }
    }
}

/// Which references of a text count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    Any,
    Unquoted,
}

/// What arithmetic makes of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Number,
    Name,
    Unknown,
}

fn value_kind(value: &ShellWord) -> ValueKind {
    if let [WordPiece::Variable { name, .. }] = &value.pieces[..]
        && matches!(name.as_str(), "?" | "#" | "$")
    {
        return ValueKind::Number;
    }
    match value.plain() {
        Some(text) if text.contains(['[', '$', '`', '\\']) => ValueKind::Unknown,
        Some(text) if text.contains(|c: char| c.is_alphabetic() || c == '_') => ValueKind::Name,
        Some(_) => ValueKind::Number,
        None => ValueKind::Unknown,
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(is_name_char)
}

fn split_index(name: &str) -> (&str, Option<&str>) {
    match name.trim_end_matches('+').split_once('[') {
        Some((name, index)) => (name, Some(index)),
        None => (name.trim_end_matches('+'), None),
    }
}

/// What a builtin evaluates and sets.
pub(super) fn builtin_effects(simple: &SimpleCommand, name: &str) -> BuiltinEffects {
    let mut effects = BuiltinEffects {
        calculates: EVALUATING_BUILTINS.contains(&name),
        is_hidden: HIDDEN_BUILTINS.contains(&name),
        ..BuiltinEffects::default()
    };
    let texts: Vec<Option<String>> = simple.words.iter().skip(1).map(ShellWord::plain).collect();
    let has_option = |letter: char| {
        let is_option = |text: &String| text.len() > 1 && text.starts_with(['-', '+']) && !text.starts_with("--");
        texts
            .iter()
            .flatten()
            .any(|text| is_option(text) && text.contains(letter))
    };
    let has_unknown = texts.iter().any(Option::is_none);
    match name {
        "hash" => effects.is_hidden = has_option('p') || has_unknown,
        "jobs" => effects.is_hidden = has_option('x'),
        "mapfile" | "readarray" => {
            effects.is_hidden = has_option('C') || has_unknown;
            effects.set_names(&texts);
        }
        "wait" if has_option('p') => {
            effects.is_hidden = has_unknown;
            effects.set_names(&texts);
        }
        "let" => {
            effects.is_hidden = has_unknown;
            effects.arithmetic.extend(texts.into_iter().flatten());
        }
        "declare" | "typeset" | "local" | "readonly" | "export" => {
            effects.is_hidden = has_option('n') || (has_option('i') && has_unknown);
            for (word, text) in simple.words.iter().skip(1).zip(&texts) {
                let start = word.known_start();
                match start.split_once('=') {
                    // The value may still be quoted, so its text is not used.
                    Some((variable, value)) if !start.starts_with(['-', '+']) => {
                        let value = match text {
                            Some(_) if !value.contains(['\'', '"']) => ShellWord::text(value),
                            _ => ShellWord::unknown(),
                        };
                        if has_option('i') {
                            // Later values are arithmetic too.
                            effects.arithmetic.push(variable.to_owned());
                            effects.arithmetic.push(value.plain().unwrap_or_else(|| "$(…)".into()));
                        }
                        let is_list = text.is_some() && start.contains("=(");
                        if value_kind(&value) == ValueKind::Unknown && !is_list && name != "export" {
                            effects.is_hidden |= has_option('a') || has_option('A');
                            effects.declared.push(variable.trim_end_matches('+').to_owned());
                        }
                        effects.variables.push((variable.to_owned(), value));
                    }
                    _ if text.is_none() => effects.is_hidden = true,
                    _ if has_option('i') && !start.starts_with(['-', '+']) => effects.arithmetic.push(start),
                    _ => {}
                }
            }
        }
        "unset" => {
            effects.arithmetic.extend(indexes(&texts));
            // Without `PATH`, bash runs programs of the current directory. `$HOME` and `$PWD` are known in paths.
            effects.is_hidden = texts.iter().any(Option::is_none);
            let names = texts.into_iter().flatten();
            let unset = names.filter(|name| matches!(name.as_str(), "PATH" | "HOME" | "PWD"));
            effects.variables.extend(unset.map(|name| (name, ShellWord::text(""))));
        }
        "test" | "[" => {
            effects.arithmetic.extend(indexes(&texts));
            let operator = texts.iter().position(|text| text.as_deref() == Some("-v"));
            effects.is_hidden = operator.is_some_and(|at| texts.get(at + 1).is_some_and(Option::is_none))
                || simple
                    .words
                    .iter()
                    .skip(1)
                    .any(|word| !word.is_single() && is_substitution(word))
                || (texts.len() == 2 && texts[0].is_none());
        }
        "printf" => {
            for (at, text) in texts.iter().enumerate() {
                match (text.as_deref(), texts.get(at + 1)) {
                    (Some("-v"), Some(Some(variable))) => effects.set_name(variable),
                    (Some("-v"), Some(None)) => effects.is_hidden = true,
                    (Some(glued), _) if at == 0 && glued.len() > 2 && glued.starts_with("-v") => {
                        effects.set_name(&glued[2..]);
                    }
                    _ => {}
                }
            }
        }
        "read" | "getopts" => {
            effects.set_names(&texts);
            // A prompt or a limit may be unknown, a name may not.
            let is_value = |at: usize| at > 0 && texts[at - 1].as_deref().is_some_and(|text| text.starts_with('-'));
            effects.is_hidden = (0..texts.len()).any(|at| texts[at].is_none() && !is_value(at));
        }
        _ => {}
    }
    effects
}

impl BuiltinEffects {
    fn set_names(&mut self, texts: &[Option<String>]) {
        for text in texts.iter().flatten() {
            self.set_name(text);
        }
    }

    fn set_name(&mut self, text: &str) {
        let (name, index) = split_index(text);
        self.arithmetic.extend(index.map(str::to_owned));
        if is_name(name) {
            self.variables.push((text.to_owned(), ShellWord::unknown()));
        }
    }
}

/// The indexes of names such as `a[i]`.
fn indexes(texts: &[Option<String>]) -> Vec<String> {
    let texts = texts.iter().flatten();
    texts
        .filter_map(|text| split_index(text).1.map(str::to_owned))
        .collect()
}

fn is_substitution(word: &ShellWord) -> bool {
    let pieces = word.pieces.iter();
    pieces
        .into_iter()
        .any(|piece| matches!(piece, WordPiece::Unknown { .. }))
}
