//! The syntax of git's configuration files, as git parses it.

use std::iter::Peekable;
use std::str::Chars;

/// The key of text that cannot be parsed, so that it equals no known one.
const INVALID_KEY: &str = "invalid";

/// The keys and values of a configuration; sections and names in lower case. Git rejects a file with text that it cannot
/// parse; that text is an entry with an unknown key.
pub(crate) fn entries(text: &str) -> Vec<(String, String)> {
    let mut parser = ConfigParser {
        rest: text.strip_prefix('\u{feff}').unwrap_or(text).chars().peekable(),
        section: String::new(),
    };
    let mut found = Vec::new();
    loop {
        match parser.next_entry() {
            Ok(Some(entry)) => found.push(entry),
            Ok(None) => return found,
            Err(InvalidConfig) => {
                found.push((INVALID_KEY.to_owned(), String::new()));
                return found;
            }
        }
    }
}

struct InvalidConfig;

struct ConfigParser<'a> {
    rest: Peekable<Chars<'a>>,
    section: String,
}

impl ConfigParser<'_> {
    fn next_entry(&mut self) -> Result<Option<(String, String)>, InvalidConfig> {
        while let Some(next) = self.next() {
            match next {
                '#' | ';' => self.skip_comment(),
                '[' => self.section = self.section_name()?,
                next if next.is_ascii_alphabetic() => return self.entry(next).map(Some),
                next if is_space(next) => {}
                _ => return Err(InvalidConfig),
            }
        }
        Ok(None)
    }

    /// The next character; the end of a line is `\n`.
    fn next(&mut self) -> Option<char> {
        let next = self.rest.next()?;
        match next == '\r' && self.rest.peek() == Some(&'\n') {
            true => self.rest.next(),
            false => Some(next),
        }
    }

    fn skip_comment(&mut self) {
        while self.next().is_some_and(|next| next != '\n') {}
    }

    /// The name of a section, after its bracket.
    fn section_name(&mut self) -> Result<String, InvalidConfig> {
        let mut name = String::new();
        loop {
            match self.next().ok_or(InvalidConfig)? {
                ']' => return Ok(name),
                next if is_space(next) => {
                    name.push('.');
                    name.push_str(&self.subsection(next)?);
                    return Ok(name);
                }
                next if is_key(next) || next == '.' => name.push(next.to_ascii_lowercase()),
                _ => return Err(InvalidConfig),
            }
        }
    }

    /// The quoted name of a subsection and the bracket after it.
    fn subsection(&mut self, mut next: char) -> Result<String, InvalidConfig> {
        while is_space(next) {
            if next == '\n' {
                return Err(InvalidConfig);
            }
            next = self.next().ok_or(InvalidConfig)?;
        }
        if next != '"' {
            return Err(InvalidConfig);
        }
        let mut name = String::new();
        loop {
            let next = match self.next().ok_or(InvalidConfig)? {
                '"' => break,
                '\\' => self.next().ok_or(InvalidConfig)?,
                next => next,
            };
            if next == '\n' {
                return Err(InvalidConfig);
            }
            name.push(next);
        }
        match self.next() {
            Some(']') => Ok(name),
            Some(_) | None => Err(InvalidConfig),
        }
    }

    /// A key that begins with this character, and its value.
    fn entry(&mut self, first: char) -> Result<(String, String), InvalidConfig> {
        let mut key = match self.section.as_str() {
            "" => String::new(),
            section => format!("{section}."),
        };
        key.push(first.to_ascii_lowercase());
        let mut next = self.next();
        while let Some(part) = next.filter(|next| is_key(*next)) {
            key.push(part.to_ascii_lowercase());
            next = self.next();
        }
        while matches!(next, Some(' ' | '\t')) {
            next = self.next();
        }
        let value = match next {
            Some('=') => self.value()?,
            Some('\n') | None => "true".to_owned(),
            Some(_) => return Err(InvalidConfig),
        };
        Ok((key, value))
    }

    fn value(&mut self) -> Result<String, InvalidConfig> {
        let mut value = String::new();
        // Spaces at the end are not part of it, except quoted ones.
        let (mut length, mut is_quoted) = (0, false);
        loop {
            match self.next() {
                Some('\n') | None if is_quoted => return Err(InvalidConfig),
                Some('\n') | None => break,
                Some('#' | ';') if !is_quoted => {
                    self.skip_comment();
                    break;
                }
                Some(next) if is_space(next) && !is_quoted => {
                    if !value.is_empty() {
                        value.push(next);
                    }
                    continue;
                }
                Some('"') => is_quoted = !is_quoted,
                Some('\\') => match self.next() {
                    Some('\n') | None => {}
                    Some('t') => value.push('\t'),
                    Some('n') => value.push('\n'),
                    Some('b') => value.push('\u{8}'),
                    Some(next @ ('\\' | '"')) => value.push(next),
                    Some(_) => return Err(InvalidConfig),
                },
                Some(next) => value.push(next),
            }
            length = value.len();
        }
        value.truncate(length);
        Ok(value)
    }
}

fn is_space(next: char) -> bool {
    matches!(next, ' ' | '\t' | '\n' | '\r')
}

fn is_key(next: char) -> bool {
    next.is_ascii_alphanumeric() || next == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words from which random configurations are built.
    const WORDS: [&str; 30] = [
        "[core]",
        "[user]",
        "[user \"x\"]",
        "[remote \"a\\\"]b\"]",
        "[a.b]",
        "[core",
        "]",
        "\"",
        "\\",
        "\\\\",
        "\\\n",
        "\\\r\n",
        "\n",
        "\n",
        "\r\n",
        "\r",
        "#",
        ";",
        "=",
        " ",
        "\t",
        "fsmonitor",
        "name",
        "fsmonitor = x\n",
        "\nname = y",
        "\\n",
        "\\x",
        "[Core]FSMonitor=z",
        "é",
        "-1",
    ];

    /// Whatever git reads from a file is found, so that no program in it is overlooked.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "compares with the real git")]
    fn git_reads_the_same_entries() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("config");
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut random = |bound: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).unwrap_or_default() % bound
        };
        let fixed = [
            "[core] fsmonitor = ./evil #]\n",
            "# x \\\n[core] fsmonitor = ./evil\n",
            "[core]\n bare = false # \\\n fsmonitor = ./evil\n",
            "[user]\n name = a\\\\\n[core]\n fsmonitor = ./evil\n",
            "[user \"x\"] [core] fsmonitor = ./evil\n",
            "\u{feff}[core]fsmonitor",
            "[core]\n\tx = \" a \" b  # c\n",
        ];
        let texts = (0..400).map(|_| (0..=random(12)).map(|_| WORDS[random(WORDS.len())]).collect::<String>());
        let texts: Vec<String> = fixed.iter().map(|text| (*text).to_owned()).chain(texts).collect();
        println!("attack: tried {}", texts.len());
        for text in texts {
            std::fs::write(&file, &text).unwrap();
            let read = std::process::Command::new("git")
                .args(["config", "--list", "-z", "--file"])
                .arg(&file)
                .output()
                .unwrap();
            let own = entries(&text);
            if !read.status.success() {
                assert!(own.iter().any(|(key, _)| key == INVALID_KEY), "{text:?} {own:?}");
                continue;
            }
            let read = String::from_utf8(read.stdout).unwrap();
            let read = read.split_terminator('\0').map(|entry| {
                let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
                (key.to_owned(), value.to_owned())
            });
            assert_eq!(own, read.collect::<Vec<_>>(), "{text:?}");
        }
    }
}
