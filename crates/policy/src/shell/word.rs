//! A word of a command, as far as it is known before the shell runs.

use std::fmt;

/// Maximum number of words from one brace expansion.
const MAX_ALTERNATIVES: usize = 64;

/// A word of a command: quotes and escapes are resolved, parts known only at run time are marked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShellWord {
    pub(crate) pieces: Vec<WordPiece>,
}

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WordPiece {
    /// Unquoted text, in which braces are significant.
    Bare(String),
    /// Literal text.
    Quoted(String),
    /// A glob that the shell replaces with file names.
    Glob(String),
    /// A home directory: `~` or `~name`.
    Tilde(String),
    /// A variable.
    Variable {
        /// Its name.
        name: String,
        /// Whether it is always a single word.
        quoted: bool,
    },
    /// Anything else that is only known at run time.
    Unknown {
        /// Whether it is always a single word.
        quoted: bool,
    },
}

impl ShellWord {
    /// A word with exactly this text.
    pub fn text(text: impl Into<String>) -> Self {
        ShellWord {
            pieces: vec![WordPiece::Quoted(text.into())],
        }
    }

    /// A single word with unknown content.
    pub(crate) fn unknown() -> Self {
        ShellWord {
            pieces: vec![WordPiece::Unknown { quoted: true }],
        }
    }

    /// The text of the word, unless a part is only known at run time. A home directory is written `~`.
    pub fn plain(&self) -> Option<String> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                WordPiece::Bare(part) | WordPiece::Quoted(part) | WordPiece::Tilde(part) => text.push_str(part),
                WordPiece::Glob(_) | WordPiece::Variable { .. } | WordPiece::Unknown { .. } => return None,
            }
        }
        Some(text)
    }

    /// Whether the word is exactly one word at run time.
    pub(crate) fn is_single(&self) -> bool {
        self.pieces.iter().all(|piece| match piece {
            WordPiece::Bare(_) | WordPiece::Quoted(_) | WordPiece::Tilde(_) => true,
            WordPiece::Variable { quoted, .. } | WordPiece::Unknown { quoted } => *quoted,
            WordPiece::Glob(_) => false,
        })
    }

    /// The text before the first unknown part.
    pub(crate) fn known_start(&self) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                WordPiece::Bare(part) | WordPiece::Quoted(part) | WordPiece::Tilde(part) => text.push_str(part),
                WordPiece::Glob(_) | WordPiece::Variable { .. } | WordPiece::Unknown { .. } => break,
            }
        }
        text
    }

    /// Whether the word may begin with a dash.
    pub(crate) fn may_be_flag(&self) -> bool {
        let start = self.known_start();
        if start.is_empty() {
            self.plain().is_none()
        } else {
            start.starts_with('-')
        }
    }

    /// Adds unquoted source text, in which backslashes, globs and a leading tilde are significant.
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
            self.pieces.push(WordPiece::Tilde(home));
        }
        while let Some(next) = chars.next() {
            match next {
                '\\' => match chars.next() {
                    Some('\n') | None => {}
                    Some(escaped) => self.push_text(WordPiece::Quoted(escaped.into())),
                },
                '*' | '?' | '[' => self.push_text(WordPiece::Glob(next.into())),
                other => self.push_text(WordPiece::Bare(other.into())),
            }
        }
    }

    /// Adds a piece, merged with the previous one if both are the same kind of text.
    pub(crate) fn push_text(&mut self, piece: WordPiece) {
        match (self.pieces.last_mut(), &piece) {
            (Some(WordPiece::Bare(last)), WordPiece::Bare(more))
            | (Some(WordPiece::Quoted(last)), WordPiece::Quoted(more))
            | (Some(WordPiece::Glob(last)), WordPiece::Glob(more)) => last.push_str(more),
            _ => self.pieces.push(piece),
        }
    }

    /// The words that brace expansion produces.
    pub(crate) fn expand_braces(self) -> Vec<ShellWord> {
        let mut done = Vec::new();
        let mut open = vec![flatten(&self.pieces)];
        while let Some(tokens) = open.pop() {
            match alternatives(&tokens) {
                _ if done.len() + open.len() > MAX_ALTERNATIVES => {
                    return vec![ShellWord {
                        pieces: vec![WordPiece::Unknown { quoted: false }],
                    }];
                }
                // The shell drops a word that is empty without quotes: `{,x}` is only `x`.
                None if tokens.is_empty() => {}
                None => done.push(join(tokens)),
                Some(BraceExpansion::Range(start, end)) => {
                    let mut word = join(tokens[..start].to_vec());
                    word.pieces.push(WordPiece::Unknown { quoted: false });
                    word.pieces.extend(join(tokens[end + 1..].to_vec()).pieces);
                    done.push(word);
                }
                Some(BraceExpansion::List(words)) => open.extend(words.into_iter().rev()),
            }
        }
        done
    }
}

impl fmt::Display for ShellWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.pieces {
            match piece {
                WordPiece::Bare(text) | WordPiece::Quoted(text) | WordPiece::Glob(text) | WordPiece::Tilde(text) => {
                    f.write_str(text)?
                }
                WordPiece::Variable { name, .. } => write!(f, "${name}")?,
                WordPiece::Unknown { .. } => f.write_str("…")?,
            }
        }
        Ok(())
    }
}

/// A character in which braces are significant, or a piece in which they are not.
#[derive(Debug, Clone)]
enum BraceToken {
    Char(char),
    Whole(WordPiece),
}

enum BraceExpansion {
    List(Vec<Vec<BraceToken>>),
    Range(usize, usize),
}

fn flatten(pieces: &[WordPiece]) -> Vec<BraceToken> {
    let mut tokens = Vec::new();
    for piece in pieces {
        match piece {
            WordPiece::Bare(text) => tokens.extend(text.chars().map(BraceToken::Char)),
            other => tokens.push(BraceToken::Whole(other.clone())),
        }
    }
    tokens
}

fn join(tokens: Vec<BraceToken>) -> ShellWord {
    let mut word = ShellWord::default();
    for token in tokens {
        match token {
            BraceToken::Char(char) => word.push_text(WordPiece::Bare(char.into())),
            BraceToken::Whole(piece) => word.push_text(piece),
        }
    }
    // A tilde may become the first character only now: `{~,x}`.
    if let Some(WordPiece::Bare(text)) = word.pieces.first()
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

/// The result of the first brace expression.
fn alternatives(tokens: &[BraceToken]) -> Option<BraceExpansion> {
    for (start, token) in tokens.iter().enumerate() {
        if !matches!(token, BraceToken::Char('{')) {
            continue;
        }
        let (mut depth, mut commas) = (0usize, Vec::new());
        for (at, token) in tokens.iter().enumerate().skip(start) {
            match token {
                BraceToken::Char('{') => depth += 1,
                BraceToken::Char(',') if depth == 1 => commas.push(at),
                BraceToken::Char('}') => {
                    depth -= 1;
                    if depth > 0 {
                        continue;
                    }
                    if !commas.is_empty() {
                        return Some(BraceExpansion::List(split(tokens, start, &commas, at)));
                    }
                    if is_range(&tokens[start + 1..at]) {
                        return Some(BraceExpansion::Range(start, at));
                    }
                    break;
                }
                BraceToken::Char(_) | BraceToken::Whole(_) => {}
            }
        }
    }
    None
}

fn split(tokens: &[BraceToken], start: usize, commas: &[usize], end: usize) -> Vec<Vec<BraceToken>> {
    let mut words = Vec::new();
    let mut from = start + 1;
    for &to in commas.iter().chain([&end]) {
        let mut word = tokens[..start].to_vec();
        word.extend_from_slice(&tokens[from..to]);
        word.extend_from_slice(&tokens[end + 1..]);
        words.push(word);
        from = to + 1;
    }
    words
}

fn is_range(tokens: &[BraceToken]) -> bool {
    tokens
        .windows(2)
        .any(|pair| matches!(pair, [BraceToken::Char('.'), BraceToken::Char('.')]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(source: &str) -> Vec<String> {
        let mut word = ShellWord::default();
        word.push_bare(source);
        word.expand_braces().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn braces_expand_as_in_the_shell() {
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
    fn a_tilde_is_home_only_where_the_shell_expands_it() {
        let home = |source: &str| {
            let mut word = ShellWord::default();
            word.push_bare(source);
            word.expand_braces()
                .iter()
                .any(|word| matches!(word.pieces.first(), Some(WordPiece::Tilde(_))))
        };
        assert!(home("~"));
        assert!(home("~/x"));
        assert!(home("{~,x}"));
        assert!(!home("\\~"));
        assert!(!home("a~"));
    }
}
