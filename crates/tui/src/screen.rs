//! What is written to the terminal, as few bytes as it takes.

mod full;
mod inline;
mod paint;
mod picture;
mod whole;

pub(crate) use full::{ENTER, Full, LEAVE};
pub use inline::Reflow;
pub(crate) use inline::{Drawn, Found, HOW_WIDE, Inline, Rest, Search, painted};
pub use paint::Depth;
pub(crate) use paint::Painter;
pub(crate) use picture::ASK_KITTY;
pub use picture::Pictures;
pub(crate) use whole::Whole;

/// The terminal shows nothing until the whole frame is there.
pub(crate) const BEGIN: &str = "\x1b[?2026h";
/// The frame is there.
pub(crate) const END: &str = "\x1b[?2026l";
