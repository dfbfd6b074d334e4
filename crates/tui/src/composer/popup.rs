//! The completion list: what fits the word that is being typed behind `@`, `#` or `/`.

use crate::fuzzy::Fuzzy;
use crate::row::{Piece, Row};
use crate::theme::Theme;
use crate::views::scroll::Scroll;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// The most rows that the list takes.
pub(crate) const ROWS: u16 = 8;

/// What can be completed: names, and what each is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pool {
    names: Arc<Vec<String>>,
    about: Arc<Vec<String>>,
}

impl Pool {
    /// Names without more to be said.
    pub(crate) fn new(names: Arc<Vec<String>>) -> Pool {
        Pool {
            names,
            about: Arc::default(),
        }
    }

    /// Names with what each of them is.
    pub(crate) fn described(pairs: impl IntoIterator<Item = (String, String)>) -> Pool {
        let (names, about) = pairs.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        Pool {
            names: Arc::new(names),
            about: Arc::new(about),
        }
    }

    /// Files and the folders they are in, with what else can be mentioned.
    pub(crate) fn files(files: &[String]) -> Pool {
        let mut names: Vec<String> = vec!["diff".into(), "diagnostics".into()];
        let mut folders = BTreeSet::new();
        for file in files {
            let mut rest = file.as_str();
            while let Some((folder, _)) = rest.rsplit_once('/') {
                if !folders.insert(format!("{folder}/")) {
                    break;
                }
                rest = folder;
            }
        }
        names.extend(folders);
        names.extend(files.iter().cloned());
        Pool::new(Arc::new(names))
    }
}

/// The word that is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// `@`, `#` or `/`.
    pub(crate) sigil: char,
    /// Where it stands, its sign included.
    pub(crate) range: Range<usize>,
    /// What is typed behind the sign.
    pub(crate) query: String,
}

/// The word with a sign that ends at the caret.
pub(crate) fn word(text: &str, caret: usize) -> Option<Word> {
    let before = &text[..caret];
    let quoted = before.rfind("@\"").filter(|at| !before[at + 2..].contains(['"', '\n']));
    let after_space = before.rfind(char::is_whitespace).map_or(0, |at| at + width(before, at));
    let bare = before[after_space..].trim_start_matches(['(', '[', '{', '\'', '"', ',']);
    let start = quoted.unwrap_or(before.len() - bare.len());
    let sigil = before[start..].chars().next()?;
    let fits = match sigil {
        '@' | '#' => true,
        '/' => start == 0,
        _ => false,
    };
    let query = before[start + sigil.len_utf8()..].trim_start_matches('"').to_owned();
    fits.then_some(Word {
        sigil,
        range: start..caret,
        query,
    })
}

/// The list that is open.
pub(crate) struct Popup {
    /// The word that it completes.
    pub(crate) word: Word,
    pool: Pool,
    fuzzy: Fuzzy,
    scroll: Scroll,
}

impl Popup {
    /// A list for a word.
    pub(crate) fn open(word: Word, pool: Pool) -> Popup {
        let names = Arc::clone(&pool.names);
        let mut fuzzy = if word.sigil == '@' {
            Fuzzy::paths(names)
        } else {
            Fuzzy::names(names)
        };
        fuzzy.seek(&word.query);
        Popup {
            word,
            pool,
            fuzzy,
            scroll: Scroll::default(),
        }
    }

    /// The word goes on.
    pub(crate) fn seek(&mut self, word: Word) {
        if self.fuzzy.query() != word.query {
            self.fuzzy.seek(&word.query);
            self.scroll = Scroll::default();
        }
        self.word = word;
    }

    /// Looks at more names where some are left; whether some are left after that.
    pub(crate) fn step(&mut self) -> bool {
        if self.fuzzy.is_working() {
            self.fuzzy.step();
        }
        self.fuzzy.is_working()
    }

    /// Whether nothing fits.
    pub(crate) fn is_empty(&self) -> bool {
        self.fuzzy.count() == 0
    }

    /// How many rows it takes.
    pub(crate) fn rows(&self) -> u16 {
        u16::try_from(self.fuzzy.count()).unwrap_or(u16::MAX).min(ROWS)
    }

    /// To the row above or below, around the ends.
    pub(crate) fn turn(&mut self, down: bool) {
        self.scroll.turn(down, self.fuzzy.count());
    }

    /// The name that is chosen.
    pub(crate) fn chosen(&self) -> Option<&str> {
        let index = self.fuzzy.found().nth(self.scroll.chosen())?;
        self.pool.names.get(index).map(String::as_str)
    }

    /// What is put in place of the word.
    pub(crate) fn replacement(&self) -> Option<String> {
        let name = self.chosen()?;
        let sigil = self.word.sigil;
        let quoted = name.contains(char::is_whitespace);
        Some(match (quoted, name.ends_with('/')) {
            (true, true) => format!("{sigil}\"{name}"),
            (true, false) => format!("{sigil}\"{name}\" "),
            (false, true) => format!("{sigil}{name}"),
            (false, false) => format!("{sigil}{name} "),
        })
    }

    /// Draws it.
    pub(crate) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme) {
        let range = self.scroll.window(self.fuzzy.count(), area.height.into());
        let shown: Vec<usize> = self.fuzzy.found().skip(range.start).take(range.len()).collect();
        let names = Arc::clone(&self.pool.names);
        let widest = shown
            .iter()
            .map(|index| names[*index].chars().count())
            .max()
            .unwrap_or(0)
            .min(40);
        for (offset, (index, y)) in shown.into_iter().zip(area.top()..area.bottom()).enumerate() {
            let is_chosen = range.start + offset == self.scroll.chosen();
            let name = &names[index];
            let mut row = marked(name, &self.fuzzy.marks(name), theme, is_chosen);
            row = row.after(if is_chosen { "› " } else { "  " }, theme.accent);
            if let Some(about) = self.pool.about.get(index) {
                let gap = (widest + 2).saturating_sub(name.chars().count()).max(2);
                row = row.and(format!("{}{about}", " ".repeat(gap)), theme.dim);
            }
            row.cut(area.width.into()).draw(area.x, y, area.width, buf);
        }
    }
}

/// A name with the letters that were found set off.
pub(crate) fn marked(name: &str, marks: &[usize], theme: &Theme, is_chosen: bool) -> Row {
    let plain = if is_chosen { theme.strong } else { theme.text };
    let mut pieces: Vec<Piece> = Vec::new();
    let mut marks = marks.iter().peekable();
    for (number, c) in name.chars().enumerate() {
        let is_marked = marks.next_if(|mark| **mark == number).is_some();
        let style = if is_marked { theme.found } else { plain };
        match pieces.last_mut() {
            Some(last) if last.style == style => last.text.push(c),
            Some(_) | None => pieces.push(Piece::new(c, style)),
        }
    }
    Row::from(pieces)
}

fn width(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(0, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_a_sign_is_completed_where_a_word_may_begin() {
        let cases = [
            ("see @src/ma", Some(('@', "src/ma", 4))),
            ("see (@src", Some(('@', "src", 5))),
            ("mail me@home", None),
            ("#Sess", Some(('#', "Sess", 0))),
            ("/mod", Some(('/', "mod", 0))),
            ("run /mod", None),
            ("/model x", None),
            ("see @\"my fi", Some(('@', "my fi", 4))),
            ("see @\"my file\" and", None),
            ("plain", None),
        ];
        for (text, expected) in cases {
            let found = word(text, text.len()).map(|word| (word.sigil, word.query, word.range.start));
            let expected = expected.map(|(sigil, query, start)| (sigil, query.to_owned(), start));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn folders_can_be_chosen_and_names_with_spaces_are_quoted() {
        let pool = Pool::files(&["src/a.rs".into(), "my docs/read me.md".into()]);
        let take = |query: &str| {
            let text = format!("@{query}");
            let word = word(&text, text.len()).unwrap();
            Popup::open(word, pool.clone()).replacement()
        };
        assert_eq!(take("src").as_deref(), Some("@src/"));
        assert_eq!(take("a.rs").as_deref(), Some("@src/a.rs "));
        assert_eq!(take("readme").as_deref(), Some("@\"my docs/read me.md\" "));
        assert_eq!(take("nowhere"), None);
    }
}
