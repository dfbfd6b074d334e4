//! How things look: a style for each role, never a colour at the place where something is drawn.

use crate::house::Token;
use ratatui::style::{Color, Modifier, Style};

/// A style for each role.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Theme {
    /// What it is called.
    pub(crate) name: String,
    /// Usual text.
    pub(crate) text: Style,
    /// What matters less.
    pub(crate) dim: Style,
    /// What the eye should find first.
    pub(crate) accent: Style,
    /// What the person said.
    pub(crate) person: Style,
    /// Titles in Markdown.
    pub(crate) heading: Style,
    /// Emphasised words.
    pub(crate) strong: Style,
    /// Code within text.
    pub(crate) code: Style,
    /// Links.
    pub(crate) link: Style,
    /// Quotes, thinking.
    pub(crate) quiet: Style,
    /// It went well.
    pub(crate) good: Style,
    /// Somebody should look.
    pub(crate) warn: Style,
    /// It went wrong.
    pub(crate) bad: Style,
    /// Lines and frames.
    pub(crate) border: Style,
    /// The chosen row.
    pub(crate) chosen: Style,
    /// Found text.
    pub(crate) found: Style,
    /// A line that came.
    pub(crate) added: Style,
    /// A line that went.
    pub(crate) removed: Style,
    /// Words that came, within a line.
    pub(crate) added_words: Style,
    /// Words that went, within a line.
    pub(crate) removed_words: Style,
    /// Source text by what it is.
    pub(crate) tokens: Tokens,
}

/// Styles of source text.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Tokens {
    pub(crate) comment: Style,
    pub(crate) keyword: Style,
    pub(crate) string: Style,
    pub(crate) number: Style,
    pub(crate) r#type: Style,
    pub(crate) function: Style,
    pub(crate) property: Style,
    pub(crate) tag: Style,
}

impl Theme {
    /// The theme for a dark terminal.
    pub(crate) fn dark() -> Self {
        let plain = Style::new();
        let fg = |r, g, b| Style::new().fg(Color::Rgb(r, g, b));
        Theme {
            name: "dark".into(),
            text: plain,
            dim: fg(128, 132, 142),
            accent: fg(122, 162, 247),
            person: fg(158, 206, 106),
            heading: fg(122, 162, 247).add_modifier(Modifier::BOLD),
            strong: plain.add_modifier(Modifier::BOLD),
            code: fg(224, 175, 104),
            link: fg(125, 207, 255).add_modifier(Modifier::UNDERLINED),
            quiet: fg(128, 132, 142).add_modifier(Modifier::ITALIC),
            good: fg(158, 206, 106),
            warn: fg(224, 175, 104),
            bad: fg(247, 118, 142),
            border: fg(68, 72, 88),
            chosen: plain.add_modifier(Modifier::REVERSED),
            found: Style::new().fg(Color::Black).bg(Color::Yellow),
            added: fg(158, 206, 106),
            removed: fg(247, 118, 142),
            added_words: fg(200, 240, 150).bg(Color::Rgb(32, 64, 32)),
            removed_words: fg(255, 170, 185).bg(Color::Rgb(80, 28, 36)),
            tokens: Tokens {
                comment: fg(120, 126, 145).add_modifier(Modifier::ITALIC),
                keyword: fg(187, 154, 247),
                string: fg(158, 206, 106),
                number: fg(255, 158, 100),
                r#type: fg(42, 195, 222),
                function: fg(122, 162, 247),
                property: fg(115, 218, 202),
                tag: fg(247, 118, 142),
            },
        }
    }

    /// The style of a piece of source text.
    pub(crate) fn token(&self, token: Token) -> Style {
        let tokens = &self.tokens;
        match token {
            Token::Comment => tokens.comment,
            Token::Keyword => tokens.keyword,
            Token::String => tokens.string,
            Token::Number | Token::Constant => tokens.number,
            Token::Type => tokens.r#type,
            Token::Function => tokens.function,
            Token::Property => tokens.property,
            Token::Tag => tokens.tag,
            Token::Variable | Token::Operator | Token::Punctuation => self.text,
        }
    }
}
