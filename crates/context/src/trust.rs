//! Whether the user trusts a project.

/// Whether the user trusts a project. Settings of an untrusted project cannot replace the user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProjectTrust {
    /// The user trusts the folder or one above it.
    Trusted,
    /// The user declined.
    Declined,
    /// The user has not decided.
    #[default]
    Unknown,
}
