//! Code that was found by meaning, with its text.

use super::list::{ListItems, ListResponse, ListSource};
use crate::action::AppAction;
use crate::backend::CodeMatch;
use crate::conversation::render_context;
use crate::keys::KeyAction;
use crate::markdown::code_rows;
use crate::row::{StyledRow, sanitise};
use crate::view::{ViewContext, ViewPlacement};

/// What was found for some words, best first.
pub(crate) struct CodeMatchPicker {
    words: String,
}

impl CodeMatchPicker {
    pub(crate) fn new(words: String) -> Self {
        Self { words }
    }
}

impl ListSource for CodeMatchPicker {
    type Item = CodeMatch;

    fn title(&self) -> String {
        format!("Code about: {}", sanitise(&self.words))
    }

    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Full
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<CodeMatch> {
        ListItems::Pending(cx.start(cx.backend.search_code(self.words.clone())))
    }

    /// The file first: a list is narrower than most paths.
    fn name(&self, found: &CodeMatch) -> String {
        let (folder, file) = found.path.rsplit_once('/').unwrap_or(("", &found.path));
        sanitise(&format!("{file}#L{} {folder}", found.lines))
    }

    fn detail(&self, found: &CodeMatch, width: u16, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let context = render_context(cx);
        let mut rows = vec![
            StyledRow::new(sanitise(&format!("{}#L{}", found.path, found.lines)), cx.theme.accent),
            StyledRow::new(sanitise(&found.symbol), cx.theme.text).push(format!("  {}", found.reasons), cx.theme.dim),
            StyledRow::empty(),
        ];
        rows.extend(code_rows(&found.path, "", &found.text, usize::from(width), context));
        rows
    }

    fn choose(&mut self, found: &CodeMatch, _: &ViewContext<'_>) -> ListResponse {
        let mention = format!("@{}#L{} ", found.path, found.lines);
        ListResponse::close_and(AppAction::InsertInput(mention))
    }

    fn choose_label(&self) -> &'static str {
        "mention"
    }

    fn key_hints(&self) -> &'static [KeyAction] {
        &[KeyAction::Close, KeyAction::Choose]
    }

    fn empty_text(&self) -> &'static str {
        "no results"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_begins_with_the_file_name() {
        let found = |path: &str| CodeMatch {
            path: path.into(),
            lines: "3-9".into(),
            symbol: String::new(),
            reasons: String::new(),
            text: String::new(),
        };
        let picker = CodeMatchPicker::new("cookies".into());
        assert_eq!(picker.name(&found("src/net/socket.rs")), "socket.rs#L3-9 src/net");
        assert_eq!(picker.name(&found("Makefile")).trim_end(), "Makefile#L3-9");
    }
}
