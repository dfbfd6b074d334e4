//! Converts a screen with escape sequences to SVG.

/// The width and the height of a character.
const CELL: (f64, f64) = (8.4, 18.0);
const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d7dae0";

/// The style of a piece of text.
#[derive(Debug, Clone, Default, PartialEq)]
struct Look {
    fg: Option<String>,
    bg: Option<String>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    reverse: bool,
}

/// Renders a screen of this size.
pub(super) fn draw(screen: &str, (columns, lines): (usize, usize)) -> String {
    let rows: Vec<Vec<(usize, String, Look)>> = rows(screen);
    let (width, height) = (columns as f64 * CELL.0 + 24.0, lines as f64 * CELL.1 + 24.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n\
         <g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, monospace\" font-size=\"14\">\n"
    );
    for (number, row) in rows.iter().enumerate() {
        let y = 12.0 + number as f64 * CELL.1;
        for (at, text, look) in row {
            svg.push_str(&piece(12.0 + *at as f64 * CELL.0, y, text, look));
        }
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn piece(x: f64, y: f64, text: &str, look: &Look) -> String {
    let (mut fg, mut bg) = (look.fg.clone().unwrap_or_else(|| FOREGROUND.into()), look.bg.clone());
    if look.reverse {
        let old = std::mem::replace(&mut fg, bg.unwrap_or_else(|| BACKGROUND.into()));
        bg = Some(old);
    }
    let mut svg = String::new();
    let width = text.chars().map(columns_of).sum::<usize>() as f64 * CELL.0;
    if let Some(bg) = bg {
        svg.push_str(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{bg}\"/>\n",
            CELL.1
        ));
    }
    if text.trim().is_empty() {
        return svg;
    }
    let mut style = String::new();
    if look.bold {
        style.push_str(" font-weight=\"bold\"");
    }
    if look.dim {
        style.push_str(" opacity=\"0.6\"");
    }
    if look.italic {
        style.push_str(" font-style=\"italic\"");
    }
    if look.underline {
        style.push_str(" text-decoration=\"underline\"");
    }
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // SVG collapses consecutive blanks.
    let text = text.replace(' ', "\u{a0}");
    svg.push_str(&format!(
        "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{fg}\"{style}>{text}</text>\n",
        y + 13.5
    ));
    svg
}

/// The columns of a character, for the characters in the screenshots.
fn columns_of(c: char) -> usize {
    match c {
        '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{ff00}'..='\u{ff60}' => 2,
        '\u{1f300}'..='\u{1faff}' => 2,
        _ => 1,
    }
}

/// Each row as pieces of one style, with the column in which each begins.
fn rows(screen: &str) -> Vec<Vec<(usize, String, Look)>> {
    let mut look = Look::default();
    let lines = screen.trim_end_matches('\n').split('\n');
    lines
        .map(|line| {
            let mut pieces: Vec<(usize, String, Look)> = Vec::new();
            let mut column = 0;
            let mut chars = line.chars();
            while let Some(c) = chars.next() {
                if c == '\u{1b}' {
                    let sequence: String = chars
                        .by_ref()
                        .skip(1)
                        .take_while(|c| !c.is_ascii_alphabetic())
                        .collect();
                    turn(&mut look, &sequence);
                    continue;
                }
                match pieces.last_mut() {
                    Some((_, text, last)) if *last == look => text.push(c),
                    Some(_) | None => pieces.push((column, c.to_string(), look.clone())),
                }
                column += columns_of(c);
            }
            pieces
        })
        .collect()
}

/// Applies the parameters of an SGR sequence.
fn turn(look: &mut Look, sequence: &str) {
    let mut numbers = sequence.split(';').map(|number| number.parse::<u16>().unwrap_or(0));
    while let Some(number) = numbers.next() {
        match number {
            0 => *look = Look::default(),
            1 => look.bold = true,
            2 => look.dim = true,
            3 => look.italic = true,
            4 => look.underline = true,
            7 => look.reverse = true,
            22 => (look.bold, look.dim) = (false, false),
            23 => look.italic = false,
            24 => look.underline = false,
            27 => look.reverse = false,
            30..=37 => look.fg = Some(indexed(number - 30)),
            90..=97 => look.fg = Some(indexed(number - 82)),
            40..=47 => look.bg = Some(indexed(number - 40)),
            100..=107 => look.bg = Some(indexed(number - 92)),
            38 => look.fg = colour(&mut numbers),
            48 => look.bg = colour(&mut numbers),
            39 => look.fg = None,
            49 => look.bg = None,
            _ => {}
        }
    }
}

fn colour(numbers: &mut impl Iterator<Item = u16>) -> Option<String> {
    match numbers.next()? {
        5 => Some(indexed(numbers.next()?)),
        2 => Some(format!(
            "#{:02x}{:02x}{:02x}",
            numbers.next()?,
            numbers.next()?,
            numbers.next()?
        )),
        _ => None,
    }
}

fn indexed(number: u16) -> String {
    const SIXTEEN: [&str; 16] = [
        "#2b2f38", "#f7768e", "#9ece6a", "#e0af68", "#7aa2f7", "#bb9af7", "#7dcfff", "#c0c5d0", "#6b7280", "#ff9aa8",
        "#b9f27c", "#ffc777", "#9ab8ff", "#d2b4ff", "#a4e4ff", "#ffffff",
    ];
    if let Some(known) = SIXTEEN.get(usize::from(number)) {
        return (*known).into();
    }
    if number >= 232 {
        let gray = 8 + (number - 232) * 10;
        return format!("#{gray:02x}{gray:02x}{gray:02x}");
    }
    let level = |step: u16| if step == 0 { 0 } else { 55 + step * 40 };
    let cube = number - 16;
    format!(
        "#{:02x}{:02x}{:02x}",
        level(cube / 36),
        level(cube / 6 % 6),
        level(cube % 6)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_emphasis_are_drawn_and_signs_escaped() {
        let svg = draw(
            "\u{1b}[1;31mred\u{1b}[0m <ok>\n\u{1b}[48;2;1;2;3mbg\u{1b}[49m",
            (80, 24),
        );
        assert!(
            svg.contains("fill=\"#f7768e\" font-weight=\"bold\">red</text>"),
            "{svg}"
        );
        assert!(svg.contains(">\u{a0}&lt;ok&gt;</text>"), "{svg}");
        assert!(svg.contains("fill=\"#010203\""), "{svg}");
    }
}
