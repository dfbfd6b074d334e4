//! One word of a command, as far as it is known before the shell has run.

use std::fmt;

/// At most this many words come out of one word with braces.
const MOST_ALTERNATIVES: usize = 64;

/// One word of a command: quotes and escapes are resolved, what only the running shell knows is marked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    pub(crate) pieces: Vec<Piece>,
}

/// A stretch of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text without quotes, in which braces still mean something.
    Bare(String),
    /// Text as it is.
    Quoted(String),
    /// A pattern that the shell replaces by file names.
    Glob(String),
    /// A home folder: `~` or `~name`.
    Tilde(String),
    /// A variable.
    Variable {
        /// Its name.
        name: String,
        /// Whether it stays one word whatever it holds.
        quoted: bool,
    },
    /// Anything else that only the running shell knows.
    Unknown {
        /// Whether it stays one word whatever it becomes.
        quoted: bool,
    },
}

impl Word {
    /// A word that is exactly this text.
    pub fn text(text: impl Into<String>) -> Self {
        Word {
            pieces: vec![Piece::Quoted(text.into())],
        }
    }

    /// A word of which nothing is known but that it is one word.
    pub(crate) fn unknown() -> Self {
        Word {
            pieces: vec![Piece::Unknown { quoted: true }],
        }
    }

    /// The text of the word, unless the running shell decides about a part of it. A home folder reads `~`.
    pub fn plain(&self) -> Option<String> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Bare(part) | Piece::Quoted(part) | Piece::Tilde(part) => text.push_str(part),
                Piece::Glob(_) | Piece::Variable { .. } | Piece::Unknown { .. } => return None,
            }
        }
        Some(text)
    }

    /// Whether the word is exactly one word when the command runs.
    pub(crate) fn is_single(&self) -> bool {
        self.pieces.iter().all(|piece| match piece {
            Piece::Bare(_) | Piece::Quoted(_) | Piece::Tilde(_) => true,
            Piece::Variable { quoted, .. } | Piece::Unknown { quoted } => *quoted,
            Piece::Glob(_) => false,
        })
    }

    /// The text before the first part that only the running shell knows.
    pub(crate) fn known_start(&self) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Bare(part) | Piece::Quoted(part) | Piece::Tilde(part) => text.push_str(part),
                Piece::Glob(_) | Piece::Variable { .. } | Piece::Unknown { .. } => break,
            }
        }
        text
    }

    /// Whether the word may turn out to begin with a dash.
    pub(crate) fn may_be_flag(&self) -> bool {
        let start = self.known_start();
        if start.is_empty() {
            self.plain().is_none()
        } else {
            start.starts_with('-')
        }
    }

    /// Adds unquoted source text, in which backslashes, patterns and a leading tilde mean something.
    pub(crate) fn push_bare(&mut self, source: &str) {
        let mut chars = source.chars().peekable();
        if self.pieces.is_empty() && chars.peek() == Some(&'~') {
            let mut home = String::new();
            while let Some(&next) = chars.peek() {
                if next == '/' || next == '\\' {
                    break;
                }
                home.push(next);
                chars.next();
            }
            self.pieces.push(Piece::Tilde(home));
        }
        while let Some(next) = chars.next() {
            match next {
                '\\' => match chars.next() {
                    Some('\n') | None => {}
                    Some(escaped) => self.push_text(Piece::Quoted(escaped.into())),
                },
                '*' | '?' | '[' => self.push_text(Piece::Glob(next.into())),
                other => self.push_text(Piece::Bare(other.into())),
            }
        }
    }

    /// Adds a piece and joins it with the one before it where both are the same kind of text.
    pub(crate) fn push_text(&mut self, piece: Piece) {
        match (self.pieces.last_mut(), &piece) {
            (Some(Piece::Bare(last)), Piece::Bare(more))
            | (Some(Piece::Quoted(last)), Piece::Quoted(more))
            | (Some(Piece::Glob(last)), Piece::Glob(more)) => last.push_str(more),
            _ => self.pieces.push(piece),
        }
    }

    /// The words that brace expansion makes of this one.
    pub(crate) fn expand_braces(self) -> Vec<Word> {
        let mut done = Vec::new();
        let mut open = vec![flatten(&self.pieces)];
        while let Some(marks) = open.pop() {
            match alternatives(&marks) {
                _ if done.len() + open.len() > MOST_ALTERNATIVES => {
                    return vec![Word {
                        pieces: vec![Piece::Unknown { quoted: false }],
                    }];
                }
                None => done.push(join(marks)),
                Some(Braces::Range(start, end)) => {
                    let mut word = join(marks[..start].to_vec());
                    word.pieces.push(Piece::Unknown { quoted: false });
                    word.pieces.extend(join(marks[end + 1..].to_vec()).pieces);
                    done.push(word);
                }
                Some(Braces::List(words)) => open.extend(words.into_iter().rev()),
            }
        }
        done
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.pieces {
            match piece {
                Piece::Bare(text) | Piece::Quoted(text) | Piece::Glob(text) | Piece::Tilde(text) => {
                    f.write_str(text)?
                }
                Piece::Variable { name, .. } => write!(f, "${name}")?,
                Piece::Unknown { .. } => f.write_str("…")?,
            }
        }
        Ok(())
    }
}

/// A character in which braces may mean something, or a whole piece in which they do not.
#[derive(Debug, Clone)]
enum Mark {
    Char(char),
    Whole(Piece),
}

enum Braces {
    List(Vec<Vec<Mark>>),
    Range(usize, usize),
}

fn flatten(pieces: &[Piece]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Bare(text) => marks.extend(text.chars().map(Mark::Char)),
            other => marks.push(Mark::Whole(other.clone())),
        }
    }
    marks
}

fn join(marks: Vec<Mark>) -> Word {
    let mut word = Word::default();
    for mark in marks {
        match mark {
            Mark::Char(char) => word.push_text(Piece::Bare(char.into())),
            Mark::Whole(piece) => word.push_text(piece),
        }
    }
    // A tilde may come to stand first only now: `{~,x}`.
    if let Some(Piece::Bare(text)) = word.pieces.first()
        && text.starts_with('~')
    {
        let text = text.clone();
        let rest = word.pieces.split_off(1);
        word.pieces.clear();
        word.push_bare(&text.replace('\\', "\\\\"));
        word.pieces.extend(rest);
    }
    word
}

/// What the first brace expression makes of the word.
fn alternatives(marks: &[Mark]) -> Option<Braces> {
    for (start, mark) in marks.iter().enumerate() {
        if !matches!(mark, Mark::Char('{')) {
            continue;
        }
        let (mut depth, mut commas) = (0usize, Vec::new());
        for (at, mark) in marks.iter().enumerate().skip(start) {
            match mark {
                Mark::Char('{') => depth += 1,
                Mark::Char(',') if depth == 1 => commas.push(at),
                Mark::Char('}') => {
                    depth -= 1;
                    if depth > 0 {
                        continue;
                    }
                    if !commas.is_empty() {
                        return Some(Braces::List(split(marks, start, &commas, at)));
                    }
                    if is_range(&marks[start + 1..at]) {
                        return Some(Braces::Range(start, at));
                    }
                    break;
                }
                Mark::Char(_) | Mark::Whole(_) => {}
            }
        }
    }
    None
}

fn split(marks: &[Mark], start: usize, commas: &[usize], end: usize) -> Vec<Vec<Mark>> {
    let mut words = Vec::new();
    let mut from = start + 1;
    for &to in commas.iter().chain([&end]) {
        let mut word = marks[..start].to_vec();
        word.extend_from_slice(&marks[from..to]);
        word.extend_from_slice(&marks[end + 1..]);
        words.push(word);
        from = to + 1;
    }
    words
}

fn is_range(marks: &[Mark]) -> bool {
    marks
        .windows(2)
        .any(|pair| matches!(pair, [Mark::Char('.'), Mark::Char('.')]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(source: &str) -> Vec<String> {
        let mut word = Word::default();
        word.push_bare(source);
        word.expand_braces().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn braces_become_the_words_that_the_shell_would_make() {
        let cases: [(&str, &[&str]); 9] = [
            ("plain", &["plain"]),
            ("{a,b}", &["a", "b"]),
            ("x{a,b}y", &["xay", "xby"]),
            ("{a,{b,c}}", &["a", "b", "c"]),
            ("{a,b}{c,d}", &["ac", "ad", "bc", "bd"]),
            ("{}", &["{}"]),
            ("{a}", &["{a}"]),
            ("{1..3}", &["…"]),
            ("\\{a,b\\}", &["{a,b}"]),
        ];
        for (source, expected) in cases {
            assert_eq!(bare(source), expected, "{source}");
        }
    }

    #[test]
    fn a_tilde_means_home_only_where_the_shell_says_so() {
        let home = |source: &str| {
            let mut word = Word::default();
            word.push_bare(source);
            word.expand_braces()
                .iter()
                .any(|word| matches!(word.pieces.first(), Some(Piece::Tilde(_))))
        };
        assert!(home("~"));
        assert!(home("~/x"));
        assert!(home("{~,x}"));
        assert!(!home("\\~"));
        assert!(!home("a~"));
    }
}
