//! What a terminal can do, by the variables that it sets.

use crate::environment::ProcessEnv;
use tui::{ImageProtocol, Reflow};

/// The image protocol of the terminal, by its name. Multiplexers such as tmux may not forward it.
pub fn image_protocol(env: &ProcessEnv) -> ImageProtocol {
    let term = env.get("TERM").unwrap_or_default();
    let within = env.get("TMUX").is_some() || env.get("STY").is_some() || term.starts_with("screen");
    let program = env.get("TERM_PROGRAM").or(env.get("LC_TERMINAL")).unwrap_or_default();
    match program {
        _ if within => ImageProtocol::None,
        "iTerm.app" | "iTerm2" | "WezTerm" | "mintty" => ImageProtocol::Iterm,
        "ghostty" => ImageProtocol::Kitty,
        _ if env.get("KITTY_WINDOW_ID").is_some() || env.get("KONSOLE_VERSION").is_some() => ImageProtocol::Kitty,
        _ if term.contains("kitty") || term.contains("ghostty") => ImageProtocol::Kitty,
        _ => ImageProtocol::None,
    }
}

/// How the terminal handles long rows on resize, by its name.
pub fn reflow(env: &ProcessEnv) -> Reflow {
    let term = env.get("TERM").unwrap_or_default();
    let within = [
        "TMUX",
        "TERM_PROGRAM",
        "VTE_VERSION",
        "KITTY_WINDOW_ID",
        "WT_SESSION",
        "KONSOLE_VERSION",
        "ALACRITTY_WINDOW_ID",
    ];
    let is_known = within.iter().any(|name| env.get(name).is_some());
    let cuts = ["xterm", "linux", "rxvt", "screen", "st-", "vt"];
    // Many terminals call themselves xterm; xterm itself sets a variable.
    let is_xterm = env.get("XTERM_VERSION").is_some();
    match is_xterm || (!is_known && !term.starts_with("xterm") && cuts.iter().any(|name| term.starts_with(name))) {
        true => Reflow::Cuts,
        false => Reflow::Wraps,
    }
}
