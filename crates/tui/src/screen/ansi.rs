//! Encodes styles as escape sequences for the supported colours.

use super::images::{self, ImageProtocol};
use crate::format::is_active;
use crate::row::{StyledRow, StyledSpan};
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr as _;

/// The colours of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorDepth {
    /// None (`NO_COLOR`). Bold, dim and reversed text remain.
    Mono,
    /// 16 colours.
    Basic,
    /// 256 colours.
    Indexed,
    /// 24-bit colour.
    #[default]
    True,
}

/// Encodes styled text.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AnsiEncoder {
    pub(crate) depth: ColorDepth,
    pub(crate) images: ImageProtocol,
}

/// The text without characters that a terminal interprets: the last check before every output.
fn visible(text: &str) -> Cow<'_, str> {
    match text.chars().any(is_active) {
        true => text.chars().filter(|c| !is_active(*c)).collect(),
        false => text.into(),
    }
}

/// An encoded row and its width.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EncodedRow {
    pub(crate) text: String,
    pub(crate) width: u16,
}

impl AnsiEncoder {
    /// Encodes a row, including links.
    pub(crate) fn encode_row(&self, row: &StyledRow) -> String {
        let mut out = String::new();
        let mut now = Style::new();
        for StyledSpan { text, style, link } in &row.spans {
            self.switch_style(&mut out, &mut now, *style);
            match link {
                Some(link) => {
                    let (link, text) = (visible(link), visible(text));
                    out.push_str(&format!("\x1b]8;;{link}\x1b\\{text}\x1b]8;;\x1b\\"));
                }
                None => out.push_str(&visible(text)),
            }
        }
        self.switch_style(&mut out, &mut now, Style::new());
        if let Some(image) = row
            .image
            .as_ref()
            .and_then(|media| images::image_sequence(media, self.images))
        {
            out.push_str("\r\n");
            out.push_str(&image);
        }
        out
    }

    /// Encodes a row of a buffer without trailing blanks.
    pub(crate) fn encode_buffer_row(&self, buf: &Buffer, y: u16) -> EncodedRow {
        let mut out = String::new();
        let mut now = Style::new();
        let area = buf.area;
        let is_blank = |x: u16| {
            buf.cell((x, y)).is_none_or(|cell| {
                cell.symbol().trim().is_empty() && cell.bg == Color::Reset && !cell.modifier.intersects(VISIBLE)
            })
        };
        let end = (area.left()..area.right())
            .rev()
            .find(|x| !is_blank(*x))
            .map_or(area.left(), |x| x + 1);
        let mut x = area.left();
        let mut width = 0;
        while x < end {
            let Some(cell) = buf.cell((x, y)) else {
                break;
            };
            let symbol = cell.symbol();
            let columns = u16::try_from(symbol.width()).unwrap_or(1).max(1);
            self.switch_style(&mut out, &mut now, cell.style());
            let symbol = visible(symbol);
            out.push_str(if symbol.is_empty() { " " } else { &symbol });
            x += columns;
            width += columns;
        }
        self.switch_style(&mut out, &mut now, Style::new());
        EncodedRow { text: out, width }
    }

    /// Switches to another style.
    fn switch_style(&self, out: &mut String, now: &mut Style, to: Style) {
        let to = self.reduce_colors(to);
        if *now == to {
            return;
        }
        let mut codes: Vec<String> = Vec::new();
        if *now != Style::new() {
            codes.push("0".into());
        }
        for (modifier, code) in MODIFIERS {
            if to.add_modifier.contains(*modifier) {
                codes.push((*code).into());
            }
        }
        codes.extend(to.fg.and_then(|colour| code(colour, 30)));
        codes.extend(to.bg.and_then(|colour| code(colour, 40)));
        out.push_str(&format!("\x1b[{}m", codes.join(";")));
        *now = to;
    }

    /// Reduces a style to the supported colours.
    fn reduce_colors(&self, style: Style) -> Style {
        let reduce = |colour: Option<Color>| match colour {
            None | Some(Color::Reset) => None,
            Some(colour) => match self.depth {
                ColorDepth::Mono => None,
                ColorDepth::Basic => Some(basic(colour)),
                ColorDepth::Indexed => Some(indexed(colour)),
                ColorDepth::True => Some(colour),
            },
        };
        let has_background = !matches!(style.bg, None | Some(Color::Reset));
        let mut reduced = Style::new().add_modifier(style.add_modifier - Modifier::HIDDEN);
        reduced.fg = reduce(style.fg);
        // Bright black is the background of some palettes.
        if self.depth == ColorDepth::Basic && reduced.fg == Some(Color::DarkGray) {
            reduced.fg = None;
            reduced = reduced.add_modifier(Modifier::DIM);
        }
        reduced.bg = reduce(style.bg);
        // A background that cannot be shown is reversed instead.
        if has_background && self.depth == ColorDepth::Mono {
            reduced = reduced.add_modifier(Modifier::REVERSED);
        }
        reduced
    }
}

/// Modifiers that are visible on a blank.
const VISIBLE: Modifier = Modifier::REVERSED
    .union(Modifier::UNDERLINED)
    .union(Modifier::CROSSED_OUT);

const MODIFIERS: &[(Modifier, &str)] = &[
    (Modifier::BOLD, "1"),
    (Modifier::DIM, "2"),
    (Modifier::ITALIC, "3"),
    (Modifier::UNDERLINED, "4"),
    (Modifier::REVERSED, "7"),
    (Modifier::CROSSED_OUT, "9"),
];

/// The SGR code of a colour; `base` is 30 for the foreground and 40 for the background.
fn code(colour: Color, base: u8) -> Option<String> {
    Some(match colour {
        Color::Reset => return None,
        Color::Rgb(r, g, b) => format!("{};2;{r};{g};{b}", base + 8),
        Color::Indexed(index) => format!("{};5;{index}", base + 8),
        named => {
            let number = number(named)?;
            let number = if number < 8 {
                base + number
            } else {
                base + 60 + number - 8
            };
            number.to_string()
        }
    })
}

/// The number of one of the 16 colours.
fn number(colour: Color) -> Option<u8> {
    Some(match colour {
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
        Color::Reset | Color::Rgb(..) | Color::Indexed(_) => return None,
    })
}

/// The nearest of 256 colours.
fn indexed(colour: Color) -> Color {
    let Color::Rgb(r, g, b) = colour else {
        return colour;
    };
    let (low, high) = (r.min(g).min(b), r.max(g).max(b));
    if high - low < 12 {
        return match r {
            0..=7 => Color::Indexed(16),
            239..=255 => Color::Indexed(231),
            _ => Color::Indexed(232 + (r - 8) / 10),
        };
    }
    let step = |channel: u8| match channel {
        0..=47 => 0,
        48..=114 => 1,
        _ => (channel - 35) / 40,
    };
    Color::Indexed(16 + 36 * step(r) + 6 * step(g) + step(b))
}

/// The nearest of 16 colours by hue; users choose these to be readable on their background.
fn basic(colour: Color) -> Color {
    let Color::Rgb(r, g, b) = colour else {
        return colour;
    };
    let (low, high) = (r.min(g).min(b), r.max(g).max(b));
    if high - low < 40 {
        return match high {
            0..=63 => Color::Black,
            64..=160 => Color::DarkGray,
            161..=220 => Color::Gray,
            _ => Color::White,
        };
    }
    let near = |channel: u8| u16::from(channel - low) * 2 > u16::from(high - low);
    match (near(r), near(g), near(b)) {
        (true, true, _) => Color::Yellow,
        (true, false, true) => Color::Magenta,
        (true, false, false) => Color::Red,
        (false, true, true) => Color::Cyan,
        (false, true, false) => Color::Green,
        (false, false, _) => Color::Blue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;

    fn painted(depth: ColorDepth, style: Style) -> String {
        AnsiEncoder {
            depth,
            ..AnsiEncoder::default()
        }
        .encode_row(&StyledRow::new("x", style))
    }

    #[test]
    fn colours_are_reduced_to_the_terminals() {
        let red = Style::new().fg(Color::Rgb(247, 118, 142));
        assert_eq!(painted(ColorDepth::True, red), "\x1b[38;2;247;118;142mx\x1b[0m");
        assert_eq!(painted(ColorDepth::Indexed, red), "\x1b[38;5;210mx\x1b[0m");
        assert_eq!(painted(ColorDepth::Basic, red), "\x1b[31mx\x1b[0m");
        assert_eq!(painted(ColorDepth::Mono, red), "x");
        let bold = Style::new().fg(Color::Blue).add_modifier(Modifier::BOLD);
        assert_eq!(painted(ColorDepth::Mono, bold), "\x1b[1mx\x1b[0m");
        assert_eq!(painted(ColorDepth::Basic, bold), "\x1b[1;34mx\x1b[0m");
    }

    #[test]
    fn trailing_blanks_are_omitted_and_wide_characters_count_twice() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 10, 1));
        buf.set_string(0, 0, "漢 a", Style::new());
        let row = AnsiEncoder::default().encode_buffer_row(&buf, 0);
        assert_eq!((row.text.as_str(), row.width), ("漢 a", 4));
    }

    #[test]
    fn a_link_is_closed_after_its_text() {
        let row = StyledRow::from(vec![
            StyledSpan::new("x", Style::new()).with_link(Some("https://a.example".into())),
        ]);
        assert_eq!(
            AnsiEncoder::default().encode_row(&row),
            "\x1b]8;;https://a.example\x1b\\x\x1b]8;;\x1b\\"
        );
    }
}
