//! What everything around a session needs to know: the environment, the project, the person's flags.

use crate::args::Global;
use crate::commands::load_silently;
use crate::config::Loaded;
use crate::environment::Environment;
use crate::failure::{Failure, Result};
use futures::future::{BoxFuture, FutureExt as _};
use std::path::PathBuf;
use tui::{Later, Remedy, Trouble};

/// The environment, the project and the person's flags.
#[derive(Clone)]
pub(super) struct Here {
    /// The environment.
    pub(super) env: Environment,
    /// The flags for every command.
    pub(super) global: Global,
    /// The project's folder.
    pub(super) root: PathBuf,
}

impl Here {
    /// The configuration in force.
    pub(super) fn config(&self) -> Result<Loaded> {
        load_silently(self.root.clone(), &self.global, &self.env, Vec::new())
    }
}

/// An answer that a thread of its own finds.
pub(super) fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Later<T> {
    async move {
        match tokio::task::spawn_blocking(work).await {
            Ok(answer) => answer.map_err(trouble),
            Err(error) => Err(Trouble::new(error.to_string())),
        }
    }
    .boxed()
}

/// An answer that is waited for.
pub(super) fn later<T: Send + 'static>(work: BoxFuture<'static, Result<T>>) -> Later<T> {
    work.map(|answer| answer.map_err(trouble)).boxed()
}

/// What went wrong, for the front end.
pub(super) fn trouble(failure: Failure) -> Trouble {
    Trouble {
        what: failure.what,
        hint: failure.hint,
        remedy: match failure.remedy {
            crate::failure::Remedy::Unknown => Remedy::Unknown,
            crate::failure::Remedy::Setup => Remedy::Setup,
        },
    }
}
