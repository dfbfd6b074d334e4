//! Previews of calls whose input is still streaming. They have no effect on the call.

use session::PreviewUpdate;

/// Previews one call from its streaming input.
pub trait CallPreview: Send {
    /// Adds a piece of the input, as raw JSON text, and returns what it reveals.
    fn push(&mut self, json: &str) -> Vec<PreviewUpdate>;
}
