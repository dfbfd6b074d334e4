//! Themes: styles by role.

mod built_in;
mod style_parser;

pub use built_in::NAMES;

use crate::backend::SyntaxToken;
use crate::screen::ColorDepth;
use crate::slash::nearest;
use ratatui::style::{Color, Style};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Why a theme is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An unknown theme.
    #[error("unknown theme `{0}`; {hint}", hint = suggestion(.0))]
    Unknown(String),
    /// An unknown role.
    #[error("unknown theme role `{0}`")]
    Role(String),
    /// An invalid style.
    #[error("invalid style `{0}`; use the form `bold red`, `#ff8800 on black` or `dim`")]
    Style(String),
}

/// The built-in theme that is probably meant, or the most used ones.
fn suggestion(name: &str) -> String {
    match nearest(name, NAMES.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "built-in themes include `dark`, `light` and `plain`".into(),
    }
}

/// A theme file: a base theme and its overrides.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ThemeSpec {
    /// The base theme; `dark` by default.
    pub base: Option<String>,
    /// Styles by role, such as `accent = "bold #ff8800"`.
    pub styles: BTreeMap<String, String>,
}

macro_rules! roles {
    ($($field:ident $name:literal $description:literal;)*) => {
        /// Styles by role.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Theme {
            /// The name.
            pub name: String,
            $(
                #[doc = $description]
                pub $field: Style,
            )*
        }

        /// All roles with their names in theme files and descriptions.
        pub const ROLES: &[(&str, &str)] = &[$(($name, $description),)*];

        impl Theme {
            /// A theme without styles.
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
    dim "dim" "Less important text: hints, times, line numbers.";
    strong "strong" "Important text.";
    accent "accent" "The accent colour: markers and keys.";
    title "title" "The title of a view.";
    border "border" "Borders and separators.";
    chosen "chosen" "The selected row.";
    found "found" "Matched letters of a search.";
    person "person" "User prompts.";
    quiet "quiet" "The model's thinking; quotes.";
    tool "tool" "The name of a tool.";
    good "good" "Success.";
    warn "warn" "Warnings.";
    bad "bad" "Errors.";
    mode "mode" "The mode in the status line.";
    status "status" "The rest of the status line.";
    added "added" "Added lines of a diff.";
    removed "removed" "Removed lines of a diff.";
    added_words "added-words" "Added words inside a changed line.";
    removed_words "removed-words" "Removed words inside a changed line.";
    hunk "hunk" "The heading of a hunk.";
    heading "heading" "Headings of Markdown.";
    code "code" "Inline code.";
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

    /// A theme by name: user-defined or built-in.
    pub fn find(name: &str, own: &BTreeMap<String, ThemeSpec>) -> Result<Theme, Error> {
        let Some(spec) = own.get(name) else {
            return Theme::built_in(name).ok_or_else(|| Error::Unknown(name.to_owned()));
        };
        let base = spec.base.as_deref().unwrap_or("dark");
        let mut theme = Theme::built_in(base).ok_or_else(|| Error::Unknown(base.to_owned()))?;
        for (role, style) in &spec.styles {
            let parsed = style_parser::parse_style(style).ok_or_else(|| Error::Style(style.clone()))?;
            *theme.role(role).ok_or_else(|| Error::Role(role.clone()))? = parsed;
        }
        theme.name = name.to_owned();
        Ok(theme)
    }

    /// The theme for a terminal with these colours: changed lines are tinted if possible.
    pub(crate) fn for_depth(self, depth: ColorDepth) -> Theme {
        let mut theme = built_in::fixed(&self.name, depth).unwrap_or(self);
        theme.tint(depth);
        theme
    }

    fn tint(&mut self, depth: ColorDepth) {
        if let Some(tints) = built_in::diff_tints(&self.name, depth) {
            let styles = [
                &mut self.added,
                &mut self.removed,
                &mut self.added_words,
                &mut self.removed_words,
            ];
            for (style, tint) in styles.into_iter().zip(tints) {
                *style = style_parser::parse_style(tint).unwrap_or(*style);
            }
        }
    }

    /// The background of the selected row. Only the background of [`Theme::chosen`], so that the text keeps its
    /// colours.
    pub(crate) fn selected_background(&self) -> Style {
        Style {
            bg: self.chosen.bg,
            ..Style::new()
        }
    }

    /// The colour of a syntax token on a tinted line of a diff.
    pub(crate) fn on_tint(&self, color: Option<Color>) -> Option<Color> {
        color.map(|color| built_in::tinted_color(&self.name, color))
    }

    /// The style of a syntax token.
    pub(crate) fn token_style(&self, token: SyntaxToken) -> Style {
        match token {
            SyntaxToken::Comment => self.comment,
            SyntaxToken::Keyword => self.keyword,
            SyntaxToken::String => self.string,
            SyntaxToken::Number | SyntaxToken::Constant => self.number,
            SyntaxToken::Type => self.kind,
            SyntaxToken::Function => self.function,
            SyntaxToken::Property => self.property,
            SyntaxToken::Tag => self.tag,
            SyntaxToken::Variable | SyntaxToken::Operator | SyntaxToken::Punctuation => self.text,
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
    use ratatui::style::Modifier;

    #[test]
    fn every_built_in_theme_is_valid_and_distinguishes_important_roles() {
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
    fn the_documentation_lists_every_theme_and_style() {
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
    fn a_user_theme_overrides_the_styles_it_names() {
        let spec = ThemeSpec {
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
    fn theme_errors_name_the_problem() {
        let of = |base: &str, role: &str, style: &str| {
            let styles = BTreeMap::from([(role.to_owned(), style.to_owned())]);
            let own = BTreeMap::from([(
                "mine".to_owned(),
                ThemeSpec {
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

    /// Background and foreground of well-known palettes, and their bright black.
    const PALETTES: [(&str, [u32; 3]); 6] = [
        ("Solarized Dark", [0x00_2b36, 0x83_9496, 0x00_2b36]),
        ("Solarized Light", [0xfd_f6e3, 0x65_7b83, 0x00_2b36]),
        ("Dracula", [0x28_2a36, 0xf8_f8f2, 0x62_72a4]),
        ("Gruvbox Dark", [0x28_2828, 0xeb_dbb2, 0x92_8374]),
        ("Nord", [0x2e_3440, 0xd8_dee9, 0x4c_566a]),
        ("One Dark", [0x28_2c34, 0xab_b2bf, 0x5c_6370]),
    ];

    fn channels(color: u32) -> [f64; 3] {
        [16, 8, 0].map(|shift| f64::from((color >> shift) & 0xff) / 255.0)
    }

    /// The WCAG contrast ratio of two colours.
    fn contrast(one: [f64; 3], two: [f64; 3]) -> f64 {
        let luminance = |color: [f64; 3]| {
            let linear = color.map(|channel| match channel <= 0.04045 {
                true => channel / 12.92,
                false => ((channel + 0.055) / 1.055).powf(2.4),
            });
            0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        };
        let (one, two) = (luminance(one) + 0.05, luminance(two) + 0.05);
        one.max(two) / one.min(two)
    }

    #[test]
    fn dim_text_is_readable_on_well_known_palettes() {
        for name in ["dark", "light", "colour-blind"] {
            let theme = Theme::built_in(name).unwrap();
            for style in [theme.dim, theme.quiet, theme.status, theme.comment, theme.border] {
                // The terminal dims its own foreground, by a third in most terminals.
                assert!(
                    style.fg.is_none() && style.add_modifier.contains(Modifier::DIM),
                    "{name}: {style:?}"
                );
            }
        }
        for (palette, [background, foreground, bright_black]) in PALETTES {
            let (background, foreground) = (channels(background), channels(foreground));
            let faint: Vec<f64> = foreground
                .iter()
                .zip(background)
                .map(|(fg, bg)| fg * 2.0 / 3.0 + bg / 3.0)
                .collect();
            let faint = contrast([faint[0], faint[1], faint[2]], background);
            assert!(faint >= 2.3, "{palette}: {faint}");
            // The colour that was used before is invisible on some palettes.
            let before = contrast(channels(bright_black), background);
            assert!(faint > before || before > 2.3, "{palette}: {faint} {before}");
        }
    }

    fn rgb(color: Option<Color>) -> [f64; 3] {
        match color {
            Some(Color::Rgb(red, green, blue)) => [red, green, blue].map(|channel| f64::from(channel) / 255.0),
            Some(Color::Indexed(at @ 16..=231)) => [36, 6, 1].map(|step| match (at - 16) / step % 6 {
                0 => 0.0,
                level => (55.0 + 40.0 * f64::from(level)) / 255.0,
            }),
            Some(Color::Indexed(at @ 232..)) => [(8.0 + 10.0 * f64::from(at - 232)) / 255.0; 3],
            color => panic!("{color:?} depends on the terminal's palette"),
        }
    }

    #[test]
    fn changed_lines_are_readable_on_any_palette() {
        for (name, depth) in [
            ("dark", ColorDepth::True),
            ("dark", ColorDepth::Indexed),
            ("light", ColorDepth::True),
            ("light", ColorDepth::Indexed),
            ("colour-blind", ColorDepth::True),
        ] {
            let theme = Theme::built_in(name).unwrap().for_depth(depth);
            for words in [theme.added_words, theme.removed_words] {
                let ratio = contrast(rgb(words.fg), rgb(words.bg));
                assert!(ratio >= 4.5, "{name} {depth:?} {words:?}: {ratio}");
            }
            let tokens = [
                theme.keyword,
                theme.string,
                theme.number,
                theme.function,
                theme.tag,
                theme.kind,
            ];
            for line in [theme.added, theme.removed] {
                let colors = tokens.iter().filter_map(|token| theme.on_tint(token.fg)).map(Some);
                for color in colors.chain([line.fg]) {
                    let ratio = contrast(rgb(color), rgb(line.bg));
                    assert!(ratio >= 3.5, "{name} {depth:?} {color:?} on {line:?}: {ratio}");
                }
            }
        }
    }

    #[test]
    fn colours_are_readable_on_light_backgrounds() {
        // White, Solarized, Gruvbox, One, GitHub and Catppuccin.
        let light = [0xff_ffff, 0xfd_f6e3, 0xfb_f1c7, 0xfa_fafa, 0xf6_f8fa, 0xef_f1f5];
        let dark = [0x00_0000, 0x1e_1e1e, 0x00_2b36, 0x28_2828, 0x28_2c34, 0x1a_1b26];
        for (name, depth, backgrounds, least) in [
            ("light", ColorDepth::True, &light, 4.5),
            ("light", ColorDepth::Indexed, &light, 4.5),
            ("colour-blind", ColorDepth::True, &light, 3.2),
            ("colour-blind", ColorDepth::True, &dark, 3.2),
        ] {
            let theme = Theme::built_in(name).unwrap().for_depth(depth);
            for style in [theme.accent, theme.good, theme.warn, theme.bad, theme.tool, theme.code] {
                for background in backgrounds {
                    let ratio = contrast(rgb(style.fg), channels(*background));
                    assert!(ratio >= least, "{name} {depth:?} {style:?} on {background:x}: {ratio}");
                }
            }
        }
    }

    #[test]
    fn themes_with_their_own_colours_are_readable_on_their_background() {
        for (name, background) in [
            ("midnight", 0x1a_1b26),
            ("paper", 0xfa_f8f2),
            ("nord", 0x2e_3440),
            ("gruvbox", 0x28_2828),
            ("solarized-dark", 0x00_2b36),
            ("solarized-light", 0xfd_f6e3),
        ] {
            let theme = Theme::built_in(name).unwrap();
            for style in [theme.text, theme.dim, theme.status] {
                let ratio = contrast(rgb(style.fg), channels(background));
                assert!(ratio >= 3.0, "{name} {style:?}: {ratio}");
            }
        }
    }
}
