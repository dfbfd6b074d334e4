//! Parses styles: `bold red`, `#ff8800 on black`, `dim`.

use ratatui::style::{Color, Modifier, Style};

const MODIFIERS: &[(&str, Modifier)] = &[
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underline", Modifier::UNDERLINED),
    ("reverse", Modifier::REVERSED),
    ("strike", Modifier::CROSSED_OUT),
];

/// Parses a style. Returns `None` if a word is unknown.
pub(super) fn parse_style(text: &str) -> Option<Style> {
    let mut style = Style::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        if let Some((_, modifier)) = MODIFIERS.iter().find(|(name, _)| *name == word) {
            style = style.add_modifier(*modifier);
        } else if word == "on" {
            style = style.bg(parse_color(words.next()?)?);
        } else if word != "default" {
            style = style.fg(parse_color(word)?);
        }
    }
    Some(style)
}

/// One of the terminal's 16 colours by name (`red`, `bright-red`, `gray`), one of 256 by number, or `#rrggbb`.
fn parse_color(word: &str) -> Option<Color> {
    if let Some(hex) = word.strip_prefix('#') {
        let number = (hex.len() == 6).then(|| u32::from_str_radix(hex, 16).ok()).flatten()?;
        return Some(Color::from_u32(number));
    }
    if let Ok(number) = word.parse::<u8>() {
        return Some(Color::Indexed(number));
    }
    Some(match word {
        "black" => Color::Black,
        "red" => Color::Red,
        "green" => Color::Green,
        "yellow" => Color::Yellow,
        "blue" => Color::Blue,
        "magenta" => Color::Magenta,
        "cyan" => Color::Cyan,
        "gray" | "grey" => Color::Gray,
        "dark-gray" | "dark-grey" | "bright-black" => Color::DarkGray,
        "bright-red" => Color::LightRed,
        "bright-green" => Color::LightGreen,
        "bright-yellow" => Color::LightYellow,
        "bright-blue" => Color::LightBlue,
        "bright-magenta" => Color::LightMagenta,
        "bright-cyan" => Color::LightCyan,
        "white" => Color::White,
        "terminal" => Color::Reset,
        _ => return None,
    })
}
