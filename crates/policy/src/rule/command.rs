//! Patterns for commands: words that a command must begin with.
//!
//! `git log` fits `git log --oneline` but neither `git logs` nor `git -c x=y log`. `*` stands for any text within one word, a
//! word `**` for any number of words. Read widely, options may stand anywhere and in any form, so that `rm -rf` also fits
//! `/bin/rm --force -vr x`.

use super::{Match, Reading, glob};
use crate::Error;
use crate::shell::{GLOBAL_VALUES, Simple, Word, basename, carries_no_command, harmless_variable, hazard, is_standard};
use globset::GlobMatcher;

/// A pattern for commands.
#[derive(Debug, Clone)]
pub(super) enum CommandPattern {
    /// Exactly this line.
    Line(String),
    /// Commands that begin with these words.
    Words(Vec<Token>),
}

#[derive(Debug, Clone)]
pub(super) enum Token {
    Word(String),
    Glob(String, GlobMatcher),
    Any,
}

/// The same option, long and short.
const SAME: &[(&str, &str, &str)] = &[
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
                "**" if !quoted => Token::Any,
                _ if !quoted && word.contains(['*', '?']) => {
                    // Within a word, a slash is a letter like any other.
                    let matcher = glob(&word.replace('*', "**"), Reading::Narrow)?;
                    Token::Glob(word, matcher)
                }
                _ => Token::Word(word),
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

    pub(super) fn matches(&self, simple: &Simple, reading: Reading) -> Match {
        let CommandPattern::Words(tokens) = self else {
            return Match::No;
        };
        match reading {
            Reading::Narrow => narrow(tokens, simple),
            Reading::Wide => wide(tokens, simple),
        }
    }
}

fn narrow(tokens: &[Token], simple: &Simple) -> Match {
    let mut tokens = tokens;
    for (name, value) in &simple.env {
        let set = value.plain().map(|value| format!("{name}={value}"));
        match (tokens.first(), set) {
            (Some(token), Some(set)) if token.spells_assignment() && token.fits(&set) => tokens = &tokens[1..],
            (_, Some(_)) if harmless_variable(name) => {}
            _ => return Match::No,
        }
    }
    // A program that the project brings along is not the one that the rule means.
    let Some(program) = simple.program() else {
        return Match::Maybe;
    };
    let mut words: Vec<Word> = simple.words.clone();
    let spelled_out = matches!(tokens.first(), Some(Token::Word(word)) if word.contains('/'));
    if !spelled_out {
        if !is_standard(&program) {
            return Match::No;
        }
        words[0] = Word::text(basename(&program));
    }
    let found = prefix(tokens, &words, simple.open_ended);
    match hazard(simple) {
        Some(option) if found == Match::Yes && !names(tokens, &option) => Match::Maybe,
        _ => found,
    }
}

/// Whether a pattern names an option in so many words.
fn names(tokens: &[Token], option: &str) -> bool {
    tokens.iter().any(|token| match token {
        Token::Word(word) => word == option || option.split('=').next() == Some(word),
        Token::Glob(text, matcher) => text.starts_with('-') && matcher.is_match(option),
        Token::Any => false,
    })
}

/// Whether words begin as the tokens say.
fn prefix(tokens: &[Token], words: &[Word], open_ended: bool) -> Match {
    let Some((token, later)) = tokens.split_first() else {
        return Match::Yes;
    };
    if let Token::Any = token {
        return (0..=words.len())
            .map(|skip| prefix(later, &words[skip..], open_ended))
            .max()
            .unwrap_or(Match::No);
    }
    let Some((word, rest)) = words.split_first() else {
        return if open_ended { Match::Maybe } else { Match::No };
    };
    let one = match word.plain() {
        Some(text) if token.fits(&text) => Match::Yes,
        Some(_) => return Match::No,
        None if token.fits_all() && word.is_single() => Match::Yes,
        None => Match::Maybe,
    };
    // A word that may become several, or none, makes all that follows uncertain.
    match word.is_single() {
        true => one.min(prefix(later, rest, open_ended)),
        false => Match::Maybe,
    }
}

fn wide(tokens: &[Token], simple: &Simple) -> Match {
    let whole = loosely(tokens, &simple.words, simple.open_ended);
    if whole == Match::Yes {
        return whole;
    }
    let name = simple.name().unwrap_or_default();
    if carries_no_command(&name) {
        return whole;
    }
    // Any other program may run what stands in its arguments.
    let inside = (1..simple.words.len()).any(|at| {
        simple.words[at].plain().is_some() && loosely(tokens, &simple.words[at..], simple.open_ended) == Match::Yes
    });
    if inside { whole.max(Match::Maybe) } else { whole }
}

/// Whether words mean what the tokens say, whatever the order and form of options.
fn loosely(tokens: &[Token], words: &[Word], open_ended: bool) -> Match {
    let tokens: Vec<&Token> = tokens.iter().filter(|token| !token.spells_assignment()).collect();
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
        Token::Any => true,
        token => {
            token.fits(&text)
                || token.fits(basename(&text))
                || token.fits(&name)
                || token.fits(name.trim_end_matches(".exe"))
        }
    };
    if !begins {
        return Match::No;
    }
    let (options, operands): (Vec<&Token>, Vec<&Token>) = tokens.iter().partition(|token| token.is_option());
    let rest = without_globals(&name, &words[1..]);
    let uncertain = open_ended || rest.iter().any(|word| word.plain().is_none());
    let mut found = ordered(&operands, &operand_words(&rest), open_ended);
    for option in options {
        if !rest
            .iter()
            .filter_map(Word::plain)
            .any(|word| has_option(&name, option, &word, &rest))
        {
            found = found.min(if uncertain { Match::Maybe } else { Match::No });
        }
    }
    found
}

/// Drops the options in front of a subcommand together with their values.
fn without_globals(name: &str, words: &[Word]) -> Vec<Word> {
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
            kept.push(word.clone());
            at += 1;
        }
    }
    kept.extend(words.iter().skip(at).cloned());
    kept
}

fn operand_words(words: &[Word]) -> Vec<&Word> {
    let flag = |word: &&Word| word.plain().is_some_and(|text| text.len() > 1 && text.starts_with('-'));
    words.iter().filter(|word| !flag(word)).collect()
}

/// Whether operands begin as the tokens say; `**` skips any number of them.
fn ordered(tokens: &[&Token], words: &[&Word], open_ended: bool) -> Match {
    let Some((token, later)) = tokens.split_first() else {
        return Match::Yes;
    };
    if let Token::Any = token {
        return (0..=words.len())
            .map(|skip| ordered(later, &words[skip..], open_ended))
            .max()
            .unwrap_or(Match::No);
    }
    let Some((word, rest)) = words.split_first() else {
        return if open_ended { Match::Maybe } else { Match::No };
    };
    match word.plain() {
        Some(text) if token.fits(&text) => ordered(later, rest, open_ended),
        Some(_) => Match::No,
        None => Match::Maybe,
    }
}

fn has_option(name: &str, token: &Token, word: &str, all: &[Word]) -> bool {
    if token.fits(word) || word.split_once('=').is_some_and(|(option, _)| token.fits(option)) {
        return true;
    }
    let Token::Word(option) = token else {
        return false;
    };
    if option.starts_with("--") {
        let shortened =
            word.len() >= 4 && option.starts_with(word.split('=').next().unwrap_or(word)) && word.starts_with("--");
        return shortened || same(name, option).any(|other| short_letters(other, word));
    }
    // Several letters in one option may come as several options: `-rf` as `-f -r`.
    option.chars().skip(1).all(|letter| {
        let short = format!("-{letter}");
        all.iter().filter_map(Word::plain).any(|word| {
            short_letters(&short, &word) || same(name, &short).any(|other| word == other || short_letters(other, &word))
        })
    })
}

fn same<'a>(name: &'a str, option: &'a str) -> impl Iterator<Item = &'static str> + 'a {
    SAME.iter()
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

/// Whether a bundle of short options holds a short option.
fn short_letters(short: &str, word: &str) -> bool {
    short.len() == 2
        && !short.starts_with("--")
        && word.starts_with('-')
        && !word.starts_with("--")
        && short.chars().nth(1).is_some_and(|letter| word.contains(letter))
}

impl Token {
    fn fits(&self, text: &str) -> bool {
        match self {
            Token::Word(word) => word == text,
            Token::Glob(_, matcher) => matcher.is_match(text),
            Token::Any => true,
        }
    }

    fn fits_all(&self) -> bool {
        match self {
            Token::Word(_) => false,
            Token::Glob(text, _) => text == "*",
            Token::Any => true,
        }
    }

    fn text(&self) -> &str {
        match self {
            Token::Word(text) | Token::Glob(text, _) => text,
            Token::Any => "",
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

/// Splits text into words; quotes keep spaces, and are told.
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
