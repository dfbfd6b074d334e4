//! Minimal terminal output.

mod ansi;
mod full_screen;
mod images;
mod live_region;
mod stdout;

pub(crate) use ansi::AnsiEncoder;
pub use ansi::ColorDepth;
pub(crate) use full_screen::{ENTER_FULL_SCREEN, FullScreen, LEAVE_FULL_SCREEN};
pub use images::ImageProtocol;
pub(crate) use images::QUERY_KITTY;
pub use live_region::Reflow;
pub(crate) use live_region::{
    CursorRest, CursorSearch, CursorSearchResult, DrawTiming, LiveRegion, QUERY_SIZE, encode_rows,
};
pub(crate) use stdout::UnbufferedStdout;

/// Begins a synchronised update.
pub(crate) const BEGIN_UPDATE: &str = "\x1b[?2026h";
/// Ends a synchronised update.
pub(crate) const END_UPDATE: &str = "\x1b[?2026l";
