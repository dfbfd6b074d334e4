//! The approved actions of the running call.
//!
//! A tool resolves its paths once for approval and again when it runs. A command in the background may change a path in
//! between, so the tool compares the second result with the approved actions. They are bound to the task of the call, so
//! that a tool cannot forget to pass them on.

use policy::Action;
use std::path::Path;
use std::sync::Arc;

tokio::task_local! {
    static APPROVED: ApprovedActions;
}

/// The approved actions of a call.
#[derive(Debug, Clone, Default)]
pub struct ApprovedActions(Option<Arc<[Action]>>);

impl ApprovedActions {
    /// The actions of a call that was approved.
    pub(crate) fn of(actions: &[Action]) -> Self {
        ApprovedActions(Some(actions.into()))
    }

    /// The approved actions of the current task. Outside a call everything is approved.
    pub fn current() -> Self {
        APPROVED.try_with(Clone::clone).unwrap_or_default()
    }

    /// Runs blocking work of the same call, on another thread.
    pub fn scope<T>(self, work: impl FnOnce() -> T) -> T {
        APPROVED.sync_scope(self, work)
    }

    /// Runs the call.
    pub(crate) async fn scope_future<T>(self, call: impl Future<Output = T>) -> T {
        APPROVED.scope(self, call).await
    }

    /// Whether an action covers this path, or no action is about paths.
    pub fn cover(&self, path: &Path) -> bool {
        let Some(actions) = &self.0 else { return true };
        let mut paths = actions.iter().filter_map(|action| match action {
            Action::Read { path, .. } | Action::Write { path, .. } => Some(path),
            Action::Run { cwd, .. } | Action::Escalate { cwd, .. } => Some(cwd),
            Action::Fetch { .. } | Action::Mcp { .. } | Action::SwitchMode { .. } | Action::Subtask { .. } => None,
        });
        let mut is_about_paths = false;
        let covers = paths.any(|approved| {
            is_about_paths = true;
            path.starts_with(approved)
        });
        covers || !is_about_paths
    }
}
