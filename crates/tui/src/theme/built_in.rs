//! Built-in themes as palettes.

use super::{Theme, style_parser};
use crate::screen::ColorDepth;
use ratatui::style::Color;

/// Names of the built-in themes. `dark`, `light` and `plain` use the terminal's colours.
pub const NAMES: &[&str] = &[
    "dark",
    "light",
    "plain",
    "colour-blind",
    "midnight",
    "paper",
    "nord",
    "gruvbox",
    "solarized-dark",
    "solarized-light",
];

/// The colours of a theme.
struct ThemePalette {
    text: &'static str,
    faint: &'static str,
    accent: &'static str,
    good: &'static str,
    warning: &'static str,
    bad: &'static str,
    /// A second accent colour.
    second: &'static str,
    /// Background of the selected row.
    selected: &'static str,
    added: &'static str,
    removed: &'static str,
    added_word: &'static str,
    removed_word: &'static str,
}

/// The terminal's colours, which users make readable on their background.
const DARK: ThemePalette = ThemePalette {
    text: "default",
    // Bright black is the background of some palettes, such as Solarized.
    faint: "dim",
    accent: "cyan",
    good: "green",
    warning: "yellow",
    bad: "red",
    second: "magenta",
    selected: "bold reverse",
    added: "green",
    removed: "red",
    added_word: "bold black on green",
    removed_word: "bold black on red",
};

const LIGHT: ThemePalette = ThemePalette {
    accent: "blue",
    // Yellow is invisible on most light backgrounds.
    warning: "magenta",
    added_word: "bold white on green",
    removed_word: "bold white on red",
    ..DARK
};

/// Fixed colours for light backgrounds: those of palettes are often too bright on them.
const LIGHT_TRUE: ThemePalette = ThemePalette {
    accent: "#0550ae",
    good: "#116329",
    warning: "#7d4e00",
    bad: "#a40e26",
    second: "#6639ba",
    ..LIGHT
};

/// The same for 256 colours.
const LIGHT_INDEXED: ThemePalette = ThemePalette {
    accent: "25",
    good: "22",
    warning: "94",
    bad: "124",
    second: "54",
    ..LIGHT
};

/// Readable on dark and light backgrounds.
const COLOUR_BLIND: ThemePalette = ThemePalette {
    accent: "#b8770a",
    good: "#2f86c4",
    warning: "#9a7d00",
    bad: "#d55e00",
    second: "#b5628f",
    added: "#2f86c4",
    removed: "#b8770a",
    added_word: "bold black on #56b4e9",
    removed_word: "bold black on #e69f00",
    ..DARK
};

const MIDNIGHT: ThemePalette = ThemePalette {
    text: "#d7dae0",
    faint: "#6b7280",
    accent: "#7aa2f7",
    good: "#9ece6a",
    warning: "#e0af68",
    bad: "#f7768e",
    second: "#bb9af7",
    selected: "#ffffff on #2f3b5c",
    added: "#b9e6a0 on #1d2b1f",
    removed: "#f3a6b3 on #321c24",
    added_word: "bold #e4ffd6 on #2f5a33",
    removed_word: "bold #ffe1e6 on #6b2b3b",
};

const PAPER: ThemePalette = ThemePalette {
    text: "#2b2b2b",
    faint: "#7d7869",
    accent: "#1f5fae",
    good: "#3b7a2a",
    warning: "#9a6700",
    bad: "#b42318",
    second: "#7c3aa0",
    selected: "#1a1a1a on #d9e4f2",
    added: "#205c12 on #e5f4df",
    removed: "#8f1d14 on #fbe6e3",
    added_word: "bold #123d08 on #b6e0a6",
    removed_word: "bold #6a0f08 on #f3b6ae",
};

const NORD: ThemePalette = ThemePalette {
    text: "#d8dee9",
    faint: "#7f8ba3",
    accent: "#88c0d0",
    good: "#a3be8c",
    warning: "#ebcb8b",
    bad: "#bf616a",
    second: "#b48ead",
    selected: "#eceff4 on #434c5e",
    added: "#a3be8c on #2c362f",
    removed: "#d08a90 on #3b2e35",
    added_word: "bold #eceff4 on #4c6343",
    removed_word: "bold #eceff4 on #7a424a",
};

const GRUVBOX: ThemePalette = ThemePalette {
    text: "#ebdbb2",
    faint: "#928374",
    accent: "#fabd2f",
    good: "#b8bb26",
    warning: "#fe8019",
    bad: "#fb4934",
    second: "#d3869b",
    selected: "#fbf1c7 on #504945",
    added: "#b8bb26 on #32361a",
    removed: "#fb8a7a on #3c1f1e",
    added_word: "bold #fbf1c7 on #626a1d",
    removed_word: "bold #fbf1c7 on #8a2a22",
};

const SOLARIZED_DARK: ThemePalette = ThemePalette {
    text: "#93a1a1",
    faint: "#75898f",
    accent: "#268bd2",
    good: "#859900",
    warning: "#b58900",
    bad: "#dc322f",
    second: "#6c71c4",
    selected: "#eee8d5 on #0f4d5e",
    added: "#a9bd2c on #0b3a2e",
    removed: "#e8716c on #2d2a30",
    added_word: "bold #fdf6e3 on #4f6300",
    removed_word: "bold #fdf6e3 on #8a2624",
};

const SOLARIZED_LIGHT: ThemePalette = ThemePalette {
    text: "#586e75",
    faint: "#748588",
    selected: "#073642 on #dcd5bf",
    added: "#4f6300 on #eef0cf",
    removed: "#a32320 on #fbe3d5",
    added_word: "bold #fdf6e3 on #859900",
    removed_word: "bold #fdf6e3 on #dc322f",
    ..SOLARIZED_DARK
};

pub(super) fn find(name: &str) -> Option<Theme> {
    let palette = match name {
        "plain" => return Some(plain()),
        "dark" => &DARK,
        "light" => &LIGHT,
        "colour-blind" => &COLOUR_BLIND,
        "midnight" => &MIDNIGHT,
        "paper" => &PAPER,
        "nord" => &NORD,
        "gruvbox" => &GRUVBOX,
        "solarized-dark" => &SOLARIZED_DARK,
        "solarized-light" => &SOLARIZED_LIGHT,
        _ => return None,
    };
    Some(paint(name, palette))
}

/// The fixed colours of a theme for this number of colours; `None` if it uses those of the palette.
pub(super) fn fixed(name: &str, depth: ColorDepth) -> Option<Theme> {
    match (name, depth) {
        ("light", ColorDepth::True) => Some(paint(name, &LIGHT_TRUE)),
        ("light", ColorDepth::Indexed) => Some(paint(name, &LIGHT_INDEXED)),
        (_, ColorDepth::Mono | ColorDepth::Basic | ColorDepth::Indexed | ColorDepth::True) => None,
    }
}

/// Tinted backgrounds of changed lines and words: added, removed, added words, removed words.
type DiffTints = [&'static str; 4];

/// The tints of a theme that uses the terminal's colours; `None` if its colours are sufficient or the terminal has only 16.
pub(super) fn diff_tints(name: &str, depth: ColorDepth) -> Option<DiffTints> {
    match (name, depth) {
        ("dark", ColorDepth::True) => Some([
            "#e6edf3 on #12351f",
            "#e6edf3 on #43191d",
            "bold #ffffff on #1f6b36",
            "bold #ffffff on #8a2a33",
        ]),
        ("dark", ColorDepth::Indexed) => Some(["255 on 22", "255 on 52", "bold 231 on 28", "bold 231 on 88"]),
        ("light", ColorDepth::True) => Some([
            "#1f2328 on #dafbe1",
            "#1f2328 on #ffebe9",
            "bold #000000 on #aceebb",
            "bold #000000 on #ffcecb",
        ]),
        ("light", ColorDepth::Indexed) => Some(["235 on 194", "235 on 224", "bold 16 on 157", "bold 16 on 217"]),
        ("colour-blind", ColorDepth::True) => Some([
            "#e6edf3 on #0d3350",
            "#e6edf3 on #4a3200",
            "bold #ffffff on #1a5c8f",
            "bold #ffffff on #7a5200",
        ]),
        (_, ColorDepth::Mono | ColorDepth::Basic | ColorDepth::Indexed | ColorDepth::True) => None,
    }
}

/// A colour of the terminal's palette as a fixed one that is readable on the tints of a theme. The palette's own colours may be
/// as dark as the tint.
pub(super) fn tinted_color(theme: &str, color: Color) -> Color {
    let of = |dark: u32, light: u32| Color::from_u32(if theme == "light" { light } else { dark });
    match color {
        // Its colours are in the middle between black and white, its tints are dark.
        Color::Rgb(red, green, blue) if theme == "colour-blind" => {
            let [red, green, blue] = [red, green, blue].map(|channel| channel / 2 + 127);
            Color::Rgb(red, green, blue)
        }
        Color::Red => of(0xff_a198, 0x82_071e),
        Color::Green => of(0x7e_e787, 0x11_6329),
        Color::Yellow => of(0xe3_b341, 0x6f_4400),
        Color::Blue | Color::Cyan => of(0x79_c0ff, 0x05_50ae),
        Color::Magenta => of(0xd2_a8ff, 0x66_39ba),
        color => color,
    }
}

fn paint(name: &str, palette: &ThemePalette) -> Theme {
    let of = |text: &str| style_parser::parse_style(text).unwrap_or_default();
    let bold = |text: &str| of(&format!("bold {text}"));
    Theme {
        name: name.to_owned(),
        text: of(palette.text),
        dim: of(palette.faint),
        strong: bold(palette.text),
        accent: of(palette.accent),
        title: bold(palette.accent),
        border: of(palette.faint),
        chosen: of(palette.selected),
        found: of(&format!("bold underline {}", palette.accent)),
        person: bold(palette.accent),
        quiet: of(&format!("italic {}", palette.faint)),
        tool: bold(palette.second),
        good: of(palette.good),
        warn: of(palette.warning),
        bad: of(palette.bad),
        mode: bold(palette.second),
        status: of(palette.faint),
        added: of(palette.added),
        removed: of(palette.removed),
        added_words: of(palette.added_word),
        removed_words: of(palette.removed_word),
        hunk: of(palette.accent),
        heading: bold(palette.accent),
        code: of(palette.warning),
        link: of(&format!("underline {}", palette.accent)),
        chip: of(&format!("reverse {}", palette.accent)),
        keyword: of(palette.second),
        string: of(palette.good),
        number: of(palette.warning),
        comment: of(&format!("italic {}", palette.faint)),
        function: of(palette.accent),
        kind: of(palette.warning),
        property: of(palette.text),
        tag: of(palette.accent),
    }
}

/// No colours, only text attributes.
fn plain() -> Theme {
    let of = |text: &str| style_parser::parse_style(text).unwrap_or_default();
    let (bold, dim) = (of("bold"), of("dim"));
    let mut theme = Theme::bare("plain");
    for style in [
        &mut theme.strong,
        &mut theme.title,
        &mut theme.person,
        &mut theme.tool,
        &mut theme.mode,
    ] {
        *style = bold;
    }
    for style in [
        &mut theme.dim,
        &mut theme.border,
        &mut theme.status,
        &mut theme.comment,
        &mut theme.removed,
    ] {
        *style = dim;
    }
    for style in [
        &mut theme.added,
        &mut theme.accent,
        &mut theme.bad,
        &mut theme.warn,
        &mut theme.heading,
    ] {
        *style = bold;
    }
    theme.quiet = of("italic dim");
    theme.link = of("underline");
    theme.found = of("bold underline");
    theme.added_words = of("bold underline");
    theme.removed_words = of("dim strike");
    theme.chosen = of("reverse");
    theme.chip = of("reverse");
    theme
}
