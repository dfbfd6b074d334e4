//! Colours and emphasis by what they mean, in themes that are data.

mod built_in;
mod words;

pub use built_in::NAMES;

use crate::house::Token;
use ratatui::style::Style;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Why a theme cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A name that no theme has.
    #[error("there is no theme `{0}`; `dark`, `light` and `plain` always exist")]
    Unknown(String),
    /// A role that themes do not have.
    #[error("themes have no `{0}`")]
    Role(String),
    /// A style that cannot be read.
    #[error("`{0}` is not a style; write it as `bold red`, `#ff8800 on black` or `dim`")]
    Style(String),
}

/// A theme as it stands in a file: another theme and what differs from it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// The theme that it begins with; `dark` unless said.
    pub base: Option<String>,
    /// Styles by role, such as `accent = "bold #ff8800"`.
    pub styles: BTreeMap<String, String>,
}

macro_rules! roles {
    ($($field:ident $name:literal $says:literal;)*) => {
        /// How things look, by what they are.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Theme {
            /// Its name.
            pub name: String,
            $(
                #[doc = $says]
                pub $field: Style,
            )*
        }

        /// Every role with its name in a theme file and what it is for.
        pub const ROLES: &[(&str, &str)] = &[$(($name, $says),)*];

        impl Theme {
            /// A theme in which nothing is set off.
            pub(crate) fn bare(name: &str) -> Theme {
                Theme { name: name.to_owned(), $($field: Style::new(),)* }
            }

            fn role(&mut self, name: &str) -> Option<&mut Style> {
                match name {
                    $($name => Some(&mut self.$field),)*
                    _ => None,
                }
            }
        }
    };
}

roles! {
    text "text" "Ordinary text.";
    dim "dim" "What matters less: hints, times, line numbers.";
    strong "strong" "What matters more.";
    accent "accent" "hew's own colour: marks, the caret's line, what is chosen.";
    title "title" "The title of a view.";
    border "border" "Lines around and between things.";
    chosen "chosen" "The row that a key acts on.";
    found "found" "The letters that a search found.";
    person "person" "What the person said.";
    quiet "quiet" "What the model thinks; quotes.";
    tool "tool" "The name of a tool.";
    good "good" "What went well.";
    warn "warn" "What needs a look.";
    bad "bad" "What went wrong.";
    mode "mode" "The mode in the status line.";
    status "status" "The rest of the status line.";
    added "added" "Added lines of a diff.";
    removed "removed" "Removed lines of a diff.";
    added_words "added-words" "Added words inside a changed line.";
    removed_words "removed-words" "Removed words inside a changed line.";
    hunk "hunk" "The heading of a hunk.";
    heading "heading" "Headings of Markdown.";
    code "code" "Code in a sentence.";
    link "link" "Links.";
    chip "chip" "Attachments in the prompt.";
    keyword "keyword" "Keywords of a language.";
    string "string" "Strings.";
    number "number" "Numbers and constants.";
    comment "comment" "Comments.";
    function "function" "Names of functions.";
    kind "type" "Names of types.";
    property "property" "Fields, keys and attributes.";
    tag "tag" "Tags of a markup language.";
}

impl Theme {
    /// A built-in theme.
    pub fn built_in(name: &str) -> Option<Theme> {
        built_in::find(name)
    }

    /// A theme by name: one of the person's own, or a built-in one.
    pub fn find(name: &str, own: &BTreeMap<String, Spec>) -> Result<Theme, Error> {
        let Some(spec) = own.get(name) else {
            return Theme::built_in(name).ok_or_else(|| Error::Unknown(name.to_owned()));
        };
        let base = spec.base.as_deref().unwrap_or("dark");
        let mut theme = Theme::built_in(base).ok_or_else(|| Error::Unknown(base.to_owned()))?;
        for (role, style) in &spec.styles {
            let parsed = words::style(style).ok_or_else(|| Error::Style(style.clone()))?;
            *theme.role(role).ok_or_else(|| Error::Role(role.clone()))? = parsed;
        }
        theme.name = name.to_owned();
        Ok(theme)
    }

    /// What lies behind the chosen row: only the background of [`Theme::chosen`], so that its words keep their own colours.
    pub(crate) fn behind_chosen(&self) -> Style {
        Style {
            bg: self.chosen.bg,
            ..Style::new()
        }
    }

    /// The style of a piece of source text.
    pub(crate) fn token(&self, token: Token) -> Style {
        match token {
            Token::Comment => self.comment,
            Token::Keyword => self.keyword,
            Token::String => self.string,
            Token::Number | Token::Constant => self.number,
            Token::Type => self.kind,
            Token::Function => self.function,
            Token::Property => self.property,
            Token::Tag => self.tag,
            Token::Variable | Token::Operator | Token::Punctuation => self.text,
        }
    }
}

impl Default for Theme {
    fn default() -> Self {
        Theme::built_in("dark").unwrap_or_else(|| Theme::bare("plain"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::{Color, Modifier};

    #[test]
    fn every_built_in_theme_can_be_read_and_sets_the_important_roles_apart() {
        for name in NAMES {
            let theme = Theme::built_in(name).unwrap();
            assert_eq!(theme.name, *name);
            let pairs = [
                (theme.added, theme.removed),
                (theme.chosen, theme.text),
                (theme.dim, theme.text),
                (theme.bad, theme.text),
            ];
            for (one, two) in pairs {
                assert_ne!(one, two, "{name}");
            }
        }
    }

    #[test]
    fn the_book_lists_every_theme_and_every_style() {
        let page = include_str!("../../../docs/tui.md");
        for name in NAMES {
            assert!(page.contains(&format!("`{name}`")), "docs/tui.md lacks {name}");
        }
        for (role, says) in ROLES {
            assert!(
                page.contains(&format!("| `{role}` | {says} |")),
                "docs/tui.md lacks {role}"
            );
        }
    }

    #[test]
    fn a_theme_of_ones_own_changes_what_it_names() {
        let spec = Spec {
            base: Some("light".into()),
            styles: BTreeMap::from([("accent".into(), "bold #ff8800 on black".into())]),
        };
        let own = BTreeMap::from([("mine".to_owned(), spec)]);
        let theme = Theme::find("mine", &own).unwrap();
        let expected = Style::new()
            .fg(Color::Rgb(255, 136, 0))
            .bg(Color::Black)
            .add_modifier(Modifier::BOLD);
        assert_eq!(theme.accent, expected);
        assert_eq!(theme.bad, Theme::built_in("light").unwrap().bad);
    }

    #[test]
    fn mistakes_in_a_theme_are_named() {
        let of = |base: &str, role: &str, style: &str| {
            let styles = BTreeMap::from([(role.to_owned(), style.to_owned())]);
            let own = BTreeMap::from([(
                "mine".to_owned(),
                Spec {
                    base: Some(base.into()),
                    styles,
                },
            )]);
            Theme::find("mine", &own).unwrap_err()
        };
        assert_eq!(of("nope", "text", "red"), Error::Unknown("nope".into()));
        assert_eq!(of("dark", "textt", "red"), Error::Role("textt".into()));
        assert_eq!(of("dark", "text", "reddish"), Error::Style("reddish".into()));
    }
}
