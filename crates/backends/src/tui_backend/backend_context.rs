//! The environment, the project and the flags of the back end.

use crate::config::LoadedConfig;
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use futures::future::{BoxFuture, FutureExt as _};
use host::SessionFlags;
use search::CodeIndex;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tui::{BackendFuture, ErrorRecovery, UserError};

/// The environment, the project and the flags.
#[derive(Clone)]
pub(super) struct BackendContext {
    /// The environment.
    pub(super) env: ProcessEnv,
    /// The flags of the front end.
    pub(super) flags: SessionFlags,
    /// The project directory.
    pub(super) root: PathBuf,
    /// The index of the project's code, after the first search.
    pub(super) code: Arc<OnceLock<CodeIndex>>,
}

impl BackendContext {
    pub(super) fn new(root: PathBuf, flags: SessionFlags, env: ProcessEnv) -> Self {
        Self {
            env,
            flags,
            root,
            code: Arc::default(),
        }
    }

    /// Loads the configuration.
    pub(super) fn config(&self) -> Result<LoadedConfig> {
        self.flags.load_config(&self.root, &self.env)
    }
}

/// Runs blocking work on another thread.
pub(super) fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> BackendFuture<T> {
    async move {
        match tokio::task::spawn_blocking(work).await {
            Ok(answer) => answer.map_err(user_error),
            Err(error) => Err(UserError::new(error.to_string())),
        }
    }
    .boxed()
}

/// Converts the error of a future.
pub(super) fn boxed<T: Send + 'static>(work: BoxFuture<'static, Result<T>>) -> BackendFuture<T> {
    work.map(|answer| answer.map_err(user_error)).boxed()
}

/// Converts an error for the front end.
pub(super) fn user_error(failure: Failure) -> UserError {
    UserError {
        message: failure.message,
        hint: failure.hint,
        recovery: match failure.recovery {
            crate::failure::RecoveryAction::None => ErrorRecovery::Unknown,
            crate::failure::RecoveryAction::Setup => ErrorRecovery::Setup,
        },
    }
}
