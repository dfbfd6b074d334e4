//! Storage for grants that outlive a session.

use policy::Grant;
use std::sync::Arc;

/// Stores grants with project or global scope.
pub trait GrantStore: Send + Sync {
    /// The current grants. Called before every decision, so that a grant revoked elsewhere has no effect any more;
    /// returns the same `Arc` if nothing has changed.
    fn current(&self) -> Arc<Vec<Grant>>;

    /// Stores a grant. The error is a message for the user.
    fn save(&self, grant: &Grant) -> Result<(), String>;
}
