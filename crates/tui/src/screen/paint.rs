//! Styles become escape sequences, in as many colours as the terminal has.

use super::picture::{self, Pictures};
use crate::row::{Piece, Row};
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};
use unicode_width::UnicodeWidthStr as _;

/// How many colours a terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// None: `NO_COLOR`. Bold, dim and reversed text remain.
    Mono,
    /// Sixteen.
    Basic,
    /// 256.
    Indexed,
    /// All of them.
    #[default]
    True,
}

/// Turns styled text into bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Painter {
    /// How many colours there are.
    pub(crate) depth: Depth,
    /// How images are shown.
    pub(crate) pictures: Pictures,
}

/// A row as it is written, and how many columns it takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Painted {
    pub(crate) text: String,
    pub(crate) width: u16,
}

impl Painter {
    /// A row of styled text as it is written, links included.
    pub(crate) fn row(&self, row: &Row) -> String {
        let mut out = String::new();
        let mut now = Style::new();
        for Piece { text, style, link } in &row.pieces {
            self.turn(&mut out, &mut now, *style);
            match link {
                Some(link) => {
                    let link: String = link.chars().filter(|c| !c.is_control()).collect();
                    out.push_str(&format!("\x1b]8;;{link}\x1b\\{text}\x1b]8;;\x1b\\"));
                }
                None => out.push_str(text),
            }
        }
        self.turn(&mut out, &mut now, Style::new());
        if let Some(image) = row
            .picture
            .as_ref()
            .and_then(|media| picture::shown(media, self.pictures))
        {
            out.push_str("\r\n");
            out.push_str(&image);
        }
        out
    }

    /// A row of a buffer as it is written; blanks at its end are left out.
    pub(crate) fn buffer_row(&self, buf: &Buffer, y: u16) -> Painted {
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
            self.turn(&mut out, &mut now, cell.style());
            out.push_str(if symbol.is_empty() { " " } else { symbol });
            x += columns;
            width += columns;
        }
        self.turn(&mut out, &mut now, Style::new());
        Painted { text: out, width }
    }

    /// Goes over from one style to another.
    fn turn(&self, out: &mut String, now: &mut Style, to: Style) {
        let to = self.reduced(to);
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

    /// A style with as many colours as there are.
    fn reduced(&self, style: Style) -> Style {
        let reduce = |colour: Option<Color>| match colour {
            None | Some(Color::Reset) => None,
            Some(colour) => match self.depth {
                Depth::Mono => None,
                Depth::Basic => Some(basic(colour)),
                Depth::Indexed => Some(indexed(colour)),
                Depth::True => Some(colour),
            },
        };
        let has_background = !matches!(style.bg, None | Some(Color::Reset));
        let mut reduced = Style::new().add_modifier(style.add_modifier - Modifier::HIDDEN);
        reduced.fg = reduce(style.fg);
        reduced.bg = reduce(style.bg);
        // A background that cannot be shown still has to be seen.
        if has_background && self.depth == Depth::Mono {
            reduced = reduced.add_modifier(Modifier::REVERSED);
        }
        reduced
    }
}

/// Modifiers that can be seen on a blank.
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

/// The code of a colour; `base` is 30 for the text and 40 for what is behind it.
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

/// The number of one of the sixteen.
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

/// The nearest of sixteen colours, by hue: people choose those sixteen to be read on their background.
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

    fn painted(depth: Depth, style: Style) -> String {
        Painter {
            depth,
            ..Painter::default()
        }
        .row(&Row::of("x", style))
    }

    #[test]
    fn colours_become_what_the_terminal_has() {
        let red = Style::new().fg(Color::Rgb(247, 118, 142));
        assert_eq!(painted(Depth::True, red), "\x1b[38;2;247;118;142mx\x1b[0m");
        assert_eq!(painted(Depth::Indexed, red), "\x1b[38;5;210mx\x1b[0m");
        assert_eq!(painted(Depth::Basic, red), "\x1b[31mx\x1b[0m");
        assert_eq!(painted(Depth::Mono, red), "x");
        let bold = Style::new().fg(Color::Blue).add_modifier(Modifier::BOLD);
        assert_eq!(painted(Depth::Mono, bold), "\x1b[1mx\x1b[0m");
        assert_eq!(painted(Depth::Basic, bold), "\x1b[1;34mx\x1b[0m");
    }

    #[test]
    fn blanks_at_the_end_are_not_written_and_wide_characters_count_twice() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 10, 1));
        buf.set_string(0, 0, "漢 a", Style::new());
        let row = Painter::default().buffer_row(&buf, 0);
        assert_eq!((row.text.as_str(), row.width), ("漢 a", 4));
    }

    #[test]
    fn a_link_is_closed_behind_its_text() {
        let row = Row::from(vec![
            Piece::new("x", Style::new()).leading(Some("https://a.example".into())),
        ]);
        assert_eq!(
            Painter::default().row(&row),
            "\x1b]8;;https://a.example\x1b\\x\x1b]8;;\x1b\\"
        );
    }
}
