//! Storage for grants that outlive a session.

use policy::Grant;
use std::sync::Arc;

/// Why a grant could not be stored: a message for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GrantStoreError(pub String);

/// Stores grants with project or global scope.
pub trait GrantStore: Send + Sync {
    /// The current grants. Called before every decision, so that a grant revoked elsewhere has no effect any more;
    /// returns the same `Arc` if nothing has changed.
    fn current(&self) -> Arc<Vec<Grant>>;

    /// Stores a grant.
    fn save(&self, grant: &Grant) -> Result<(), GrantStoreError>;
}
