//! Scripts of `sed`, which can write files and run commands.

use super::targets::{operands, option_values};
use super::{ShellWord, SimpleCommand};
use std::iter::Peekable;
use std::str::Chars;

/// Returns the first script that runs a command or writes a file, or that is unknown.
pub(super) fn acting_script(simple: &SimpleCommand) -> Option<String> {
    let mut scripts = scripts_in_options(simple);
    if scripts.is_empty() {
        scripts.extend(operands(simple, &["-l"]).into_iter().next());
    }
    let acts = |script: &ShellWord| script.plain().is_none_or(|text| acts(&text));
    scripts
        .into_iter()
        .find(acts)
        .map(|script| script.plain().unwrap_or_else(|| script.to_string()))
}

/// The values of `-e`, also in a bundle such as `-ne`, and of shortened forms of `--expression`.
fn scripts_in_options(simple: &SimpleCommand) -> Vec<ShellWord> {
    let mut scripts = option_values(simple, &["--e", "--ex", "--exp", "--expr", "--expre", "--expres"]);
    scripts.extend(option_values(
        simple,
        &["--express", "--expressi", "--expressio", "--expression"],
    ));
    for (at, word) in simple.words.iter().enumerate().skip(1) {
        let start = word.known_start();
        let Some(bundle) = start.strip_prefix('-').filter(|bundle| !bundle.starts_with('-')) else {
            continue;
        };
        // The rest of a word after these options is their value.
        let Some((_, value)) = bundle
            .split_once(['e', 'f', 'i', 'l'])
            .filter(|(before, _)| bundle[before.len()..].starts_with('e'))
        else {
            continue;
        };
        match (value, word.plain()) {
            ("", Some(_)) => scripts.extend(simple.words.get(at + 1).cloned()),
            (value, Some(_)) => scripts.push(ShellWord::text(value)),
            (_, None) => scripts.push(ShellWord::unknown()),
        }
    }
    scripts
}

/// Whether a script contains the commands `e`, `w` or `W`, the flags `e` or `w`, or something unknown.
fn acts(script: &str) -> bool {
    // Versions of `sed` differ in whether a delimiter in brackets ends an expression.
    [Brackets::Ordinary, Brackets::Quote].into_iter().any(|brackets| {
        let chars = script.chars().peekable();
        SedScript { chars, brackets }.acts()
    })
}

/// A script that is being parsed as GNU `sed` does.
struct SedScript<'s> {
    chars: Peekable<Chars<'s>>,
    brackets: Brackets,
}

/// How brackets in regular expressions are parsed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brackets {
    /// Like other characters.
    Ordinary,
    /// A delimiter within brackets is an ordinary character.
    Quote,
}

/// What ends at a delimiter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SedPart {
    Expression,
    Text,
}

/// A script ends within a command, or contains something unknown.
struct Unparsed;

impl SedScript<'_> {
    fn acts(mut self) -> bool {
        loop {
            self.skip(|c| c.is_whitespace() || matches!(c, ';' | '{' | '}'));
            if self.chars.peek().is_none() {
                return false;
            }
            match self.addresses().and_then(|()| self.command()) {
                Ok(false) => {}
                Ok(true) | Err(Unparsed) => return true,
            }
        }
    }

    fn addresses(&mut self) -> Result<(), Unparsed> {
        loop {
            match self.chars.peek() {
                Some('/') => {
                    self.chars.next();
                    self.delimited('/', SedPart::Expression)?;
                    self.skip(|c| matches!(c, 'I' | 'M'));
                }
                Some('\\') => {
                    self.chars.next();
                    let delimiter = self.chars.next().ok_or(Unparsed)?;
                    self.delimited(delimiter, SedPart::Expression)?;
                    self.skip(|c| matches!(c, 'I' | 'M'));
                }
                Some(c) if c.is_ascii_digit() || c.is_whitespace() || matches!(c, '$' | ',' | '~' | '+' | '!') => {
                    self.chars.next();
                }
                Some(_) => return Ok(()),
                None => return Err(Unparsed),
            }
        }
    }

    /// Whether the next command acts.
    fn command(&mut self) -> Result<bool, Unparsed> {
        match self.chars.next().ok_or(Unparsed)? {
            '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {}
            'l' | 'L' | 'q' | 'Q' => self.skip(|c| c.is_ascii_digit() || c == ' '),
            '#' | 'r' | 'R' => self.skip(|c| c != '\n'),
            ':' | 'b' | 't' | 'T' | 'v' => {
                self.skip(|c| c == ' ');
                self.skip(|c| !c.is_whitespace() && !matches!(c, ';' | '}'));
            }
            'a' | 'i' | 'c' => self.text(),
            'y' => {
                let delimiter = self.chars.next().ok_or(Unparsed)?;
                self.delimited(delimiter, SedPart::Text)?;
                self.delimited(delimiter, SedPart::Text)?;
            }
            's' => {
                let delimiter = self.chars.next().ok_or(Unparsed)?;
                self.delimited(delimiter, SedPart::Expression)?;
                self.delimited(delimiter, SedPart::Text)?;
                self.skip(|c| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M'));
                return Ok(matches!(self.chars.peek(), Some('e' | 'w')));
            }
            _ => return Ok(true),
        }
        Ok(false)
    }

    /// Skips a text up to its end, which is a delimiter without a backslash.
    fn delimited(&mut self, delimiter: char, part: SedPart) -> Result<(), Unparsed> {
        if matches!(delimiter, '\n' | '\\') {
            return Err(Unparsed);
        }
        while let Some(next) = self.chars.next() {
            match next {
                '\\' => drop(self.chars.next()),
                next if next == delimiter => return Ok(()),
                '[' if part == SedPart::Expression && self.brackets == Brackets::Quote => {
                    self.chars.next_if_eq(&'^');
                    self.chars.next_if_eq(&']');
                    self.skip(|c| c != ']');
                }
                _ => {}
            }
        }
        Err(Unparsed)
    }

    /// Skips the text of `a`, `i` and `c`, up to a line break without a backslash.
    fn text(&mut self) {
        while let Some(next) = self.chars.next() {
            match next {
                '\\' => drop(self.chars.next()),
                '\n' => return,
                _ => {}
            }
        }
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        while self.chars.next_if(|c| is_skipped(*c)).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::parse;

    #[test]
    fn scripts_that_act_are_found() {
        for script in [
            "e",
            "1e canary",
            "1ecanary",
            "$!N;1e canary",
            "s/a/b/e",
            "s@a@b@e",
            "s a b e",
            "s/a/b/gpw f",
            "s,a\\,b,c,e",
            "/x/{p;e canary\n}",
            "\\,x,e canary",
            "\\xcxe canary",
            "1~2e x",
            "0,/c/e x",
            "2q;e x",
            "y/a/b/;w f",
            ": a;e x",
            "a text\ne x",
            "a\\\ntext\ne x",
            "r f\ne x",
            "# c\ne x",
            "1,+3W f",
            "s/a/b",
            "k",
            "s/[/]e/b/e",
            "s/[]/]/x/e",
            "/a/I,/b/Me x",
            "bx;e y",
            "l 5;e x",
            "y/a\\/b/cde/;e",
        ] {
            assert!(acts(script), "{script}");
        }
        for script in [
            "p",
            "s/a/b/",
            "s/e/w/g",
            "1,40p",
            "/needle/d",
            "s|/w/e|e/w|2g",
            "$!N;P;D",
            "y/ew/we/",
            ":e;s/a/w/;te",
            "a we\n1d",
            "a\\\nw e\\\nmore",
            "/we/,/e/{s/x/y/;p}",
            "1i\\ e",
            "r we",
            "# e",
            "\\,w,d",
            "s/\\/e/w/",
            "1!G;h;$!d",
            "l 70",
            "q5",
        ] {
            assert!(!acts(script), "{script}");
        }
    }

    #[test]
    fn scripts_are_found_in_all_forms_of_the_option() {
        for line in [
            "sed -e '1e x' f",
            "sed -ne '1e x'",
            "sed -n -e p -e'1e x'",
            "sed -Ene '1e x'",
            "sed --expr='1e x' f",
            "sed --e '1e x' f",
            "sed --expression '1e x'",
            "sed -l 5 '1e x' f",
            "sed -e \"$X\" f",
        ] {
            assert!(acting_script(&parse(line).commands[0]).is_some(), "{line}");
        }
        for line in ["sed -e p e", "sed -i.e p f", "sed -n 1p e", "sed -fe p"] {
            assert_eq!(acting_script(&parse(line).commands[0]), None, "{line}");
        }
    }
}
