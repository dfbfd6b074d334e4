//! The completion list for the word after `@`, `#` or `/`, and for the argument of a slash command.

use crate::fuzzy::FuzzySearch;
use crate::row::{StyledRow, StyledSpan};
use crate::slash::{self, ArgumentKind};
use crate::theme::Theme;
use crate::views::scroll::ScrollState;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Maximum rows of the list.
pub(crate) const ROWS: u16 = 10;

/// Completion candidates: names and optional descriptions.
#[derive(Debug, Clone, Default)]
pub(crate) struct CompletionSource {
    names: Arc<Vec<String>>,
    descriptions: Arc<Vec<String>>,
}

impl CompletionSource {
    /// Candidates without descriptions.
    pub(crate) fn new(names: Arc<Vec<String>>) -> CompletionSource {
        CompletionSource {
            names,
            descriptions: Arc::default(),
        }
    }

    /// Candidates with descriptions.
    pub(crate) fn described(pairs: impl IntoIterator<Item = (String, String)>) -> CompletionSource {
        let (names, about) = pairs.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        CompletionSource {
            names: Arc::new(names),
            descriptions: Arc::new(about),
        }
    }

    /// Whether there are no candidates.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Files, their folders, and other mentionable names.
    pub(crate) fn files(files: &[String]) -> CompletionSource {
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
        CompletionSource::new(Arc::new(names))
    }
}

/// The word that is completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompletionWord {
    /// `@`, `#` or `/`; a space for an argument.
    pub(crate) sigil: char,
    /// The kind of the argument.
    pub(crate) argument: Option<ArgumentKind>,
    /// The range in the text, including the sigil if it is not a space.
    pub(crate) range: Range<usize>,
    /// The text after the sigil.
    pub(crate) query: String,
}

/// The word with a sigil that ends at the caret.
pub(crate) fn word_at_caret(text: &str, caret: usize) -> Option<CompletionWord> {
    let before = &text[..caret];
    if let Some(word) = argument_at_caret(before) {
        return Some(word);
    }
    let quoted = before.rfind("@\"").filter(|at| !before[at + 2..].contains(['"', '\n']));
    let after_space = before
        .rfind(char::is_whitespace)
        .map_or(0, |at| at + char_width(before, at));
    let bare = before[after_space..].trim_start_matches(['(', '[', '{', '\'', '"', ',']);
    let start = quoted.unwrap_or(before.len() - bare.len());
    let sigil = before[start..].chars().next()?;
    let fits = match sigil {
        '@' | '#' => true,
        '/' => start == 0,
        _ => false,
    };
    let query = before[start + sigil.len_utf8()..].trim_start_matches('"').to_owned();
    fits.then_some(CompletionWord {
        sigil,
        argument: None,
        range: start..caret,
        query,
    })
}

/// The first argument of a slash command, if its possible values are known.
fn argument_at_caret(before: &str) -> Option<CompletionWord> {
    let (name, argument) = before.strip_prefix('/')?.split_once(' ')?;
    let kind = slash::find(name)?.argument_kind()?;
    (!argument.contains(char::is_whitespace)).then(|| CompletionWord {
        sigil: ' ',
        argument: Some(kind),
        range: before.len() - argument.len()..before.len(),
        query: argument.to_owned(),
    })
}

/// The open completion list.
pub(crate) struct CompletionPopup {
    /// The word that is completed.
    pub(crate) word: CompletionWord,
    source: CompletionSource,
    fuzzy: FuzzySearch,
    scroll: ScrollState,
    /// Whether the user selected a row.
    is_selected: bool,
}

impl CompletionPopup {
    /// Opens a list for a word.
    pub(crate) fn open(word: CompletionWord, pool: CompletionSource) -> CompletionPopup {
        let names = Arc::clone(&pool.names);
        let mut fuzzy = match word.sigil {
            '@' => FuzzySearch::paths(names),
            '#' => FuzzySearch::symbols(names),
            _ => FuzzySearch::names(names),
        };
        fuzzy.set_query(&word.query);
        CompletionPopup {
            word,
            source: pool,
            fuzzy,
            scroll: ScrollState::default(),
            is_selected: false,
        }
    }

    /// Updates the word.
    pub(crate) fn update_word(&mut self, word: CompletionWord) {
        if self.fuzzy.query() != word.query {
            self.fuzzy.set_query(&word.query);
            self.scroll = ScrollState::default();
            self.is_selected = false;
        }
        self.word = word;
    }

    /// Searches more names; returns whether some remain.
    pub(crate) fn step(&mut self) -> bool {
        if self.fuzzy.is_working() {
            self.fuzzy.step();
        }
        self.fuzzy.is_working()
    }

    /// Whether nothing matches.
    pub(crate) fn is_empty(&self) -> bool {
        self.fuzzy.count() == 0
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> u16 {
        let count = u16::try_from(self.fuzzy.count()).unwrap_or(u16::MAX);
        // One more row counts the others.
        if count > ROWS { ROWS + 1 } else { count }
    }

    /// Selects the previous or next row, with wrap-around.
    pub(crate) fn select_next(&mut self, down: bool) {
        self.scroll.select_next(down, self.fuzzy.count());
        self.is_selected = true;
    }

    /// Whether nothing was typed or selected for an argument, so that the command is run without it.
    pub(crate) fn is_untouched_argument(&self) -> bool {
        self.word.argument.is_some() && self.word.query.is_empty() && !self.is_selected
    }

    /// The selected name.
    pub(crate) fn selected(&self) -> Option<&str> {
        let index = self.fuzzy.matches().nth(self.scroll.selected())?;
        self.source.names.get(index).map(String::as_str)
    }

    /// The replacement for the word.
    pub(crate) fn replacement(&self) -> Option<String> {
        let name = self.selected()?;
        if self.word.argument.is_some() {
            return Some(format!("{name} "));
        }
        let sigil = self.word.sigil;
        let quoted = name.contains(char::is_whitespace);
        Some(match (quoted, name.ends_with('/')) {
            (true, true) => format!("{sigil}\"{name}"),
            (true, false) => format!("{sigil}\"{name}\" "),
            (false, true) => format!("{sigil}{name}"),
            (false, false) => format!("{sigil}{name} "),
        })
    }

    /// Draws the list.
    pub(crate) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme) {
        let count = self.fuzzy.count();
        let height = match count > area.height.into() && area.height > 1 {
            true => area.height - 1,
            false => area.height,
        };
        let range = self.scroll.visible(count, height.into());
        if height < area.height {
            let (above, below) = (range.start, count - range.end);
            let text = match (above, below) {
                (0, below) => format!("  ↓ {below} more"),
                (above, 0) => format!("  ↑ {above} more"),
                (above, below) => format!("  ↑ {above} · ↓ {below} more"),
            };
            StyledRow::new(text, theme.dim).draw(area.x, area.bottom() - 1, area.width, buf);
        }
        let area = Rect { height, ..area };
        let shown: Vec<usize> = self.fuzzy.matches().skip(range.start).take(range.len()).collect();
        let names = Arc::clone(&self.source.names);
        let widest = shown
            .iter()
            .map(|index| names[*index].chars().count())
            .max()
            .unwrap_or(0)
            .min(40);
        for (offset, (index, y)) in shown.into_iter().zip(area.top()..area.bottom()).enumerate() {
            let is_chosen = range.start + offset == self.scroll.selected();
            let name = &names[index];
            let mut row = highlight_matches(name, &self.fuzzy.matched_chars(name), theme, is_chosen);
            if self.word.sigil == '/' {
                row = row.prefix("/", if is_chosen { theme.strong } else { theme.text });
            }
            row = row.prefix(if is_chosen { "› " } else { "  " }, theme.accent);
            if let Some(about) = self.source.descriptions.get(index) {
                let gap = (widest + 2).saturating_sub(name.chars().count()).max(2);
                row = row.push(format!("{}{about}", " ".repeat(gap)), theme.dim);
            }
            row.truncate(area.width.into()).draw(area.x, y, area.width, buf);
        }
    }
}

/// A name with the matched letters highlighted.
pub(crate) fn highlight_matches(name: &str, marks: &[usize], theme: &Theme, is_chosen: bool) -> StyledRow {
    let plain = if is_chosen { theme.strong } else { theme.text };
    let mut pieces: Vec<StyledSpan> = Vec::new();
    let mut marks = marks.iter().peekable();
    for (number, c) in name.chars().enumerate() {
        let is_marked = marks.next_if(|mark| **mark == number).is_some();
        let style = if is_marked { theme.found } else { plain };
        match pieces.last_mut() {
            Some(last) if last.style == style => last.text.push(c),
            Some(_) | None => pieces.push(StyledSpan::new(c, style)),
        }
    }
    StyledRow::from(pieces)
}

fn char_width(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(0, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_a_sigil_is_completed_at_word_starts() {
        let cases = [
            ("see @src/ma", Some(('@', "src/ma", 4))),
            ("see (@src", Some(('@', "src", 5))),
            ("mail me@home", None),
            ("#Sess", Some(('#', "Sess", 0))),
            ("/mod", Some(('/', "mod", 0))),
            ("run /mod", None),
            ("/model x", Some((' ', "x", 7))),
            ("/models ", Some((' ', "", 8))),
            ("/model x y", None),
            ("/undo x", None),
            ("a /model x", None),
            ("see @\"my fi", Some(('@', "my fi", 4))),
            ("see @\"my file\" and", None),
            ("plain", None),
        ];
        for (text, expected) in cases {
            let found = word_at_caret(text, text.len()).map(|word| (word.sigil, word.query, word.range.start));
            let expected = expected.map(|(sigil, query, start)| (sigil, query.to_owned(), start));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn folders_can_be_completed_and_names_with_spaces_are_quoted() {
        let pool = CompletionSource::files(&["src/a.rs".into(), "my docs/read me.md".into()]);
        let take = |query: &str| {
            let text = format!("@{query}");
            let word = word_at_caret(&text, text.len()).unwrap();
            CompletionPopup::open(word, pool.clone()).replacement()
        };
        assert_eq!(take("src").as_deref(), Some("@src/"));
        assert_eq!(take("a.rs").as_deref(), Some("@src/a.rs "));
        assert_eq!(take("readme").as_deref(), Some("@\"my docs/read me.md\" "));
        assert_eq!(take("nowhere"), None);
    }
}
