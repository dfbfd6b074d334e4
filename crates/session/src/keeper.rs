//! Answers that outlive a session, and where they are kept.

use policy::Grant;
use std::sync::Arc;

/// Keeps answers that count beyond a session: for a project, or always.
pub trait Keeper: Send + Sync {
    /// The answers that are kept, as they stand now. It is asked before every decision, so that an answer that was taken back
    /// elsewhere is gone at once; the same `Arc` again says that nothing has changed.
    fn current(&self) -> Arc<Vec<Grant>>;

    /// Keeps an answer. The error is a sentence for the person.
    fn keep(&self, grant: &Grant) -> Result<(), String>;
}
