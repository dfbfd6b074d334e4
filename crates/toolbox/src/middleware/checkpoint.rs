//! Records what a call changes on disk, so that it can be reverted.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use policy::{Action, shell};
use tool::{CallContext, CallInput, DynTool, Error, Output, ToolEffect, UnsavedVersion};
use workspace::checkpoint::{Checkpointer, CommandChanges, PendingCheckpoint};

use crate::middleware::{Middleware, WrappedTool, wrap};

/// Takes checkpoints before and after each call of a tool that cannot report its own changes.
pub(crate) struct Checkpointed(pub(crate) Checkpointer);

impl Middleware for Checkpointed {
    fn run(
        wrapped: Arc<WrappedTool<Self>>,
        input: CallInput,
        context: CallContext,
    ) -> BoxFuture<'static, Result<Output, Error>> {
        async move {
            if is_read_only_command(&wrapped.tool, &input) {
                return Arc::clone(&wrapped.tool).run(input, context).await;
            }
            let checkpoints = wrapped.middleware.0.clone();
            let Ok(before) = tokio::task::spawn_blocking(move || checkpoints.before()).await else {
                // A failed checkpoint must not prevent the call.
                return Arc::clone(&wrapped.tool).run(input, context).await;
            };
            let mut watch = CheckpointGuard {
                before: Some(before),
                context: context.clone(),
            };
            let outcome = Arc::clone(&wrapped.tool).run(input, context).await;
            let found = watch.finish().await;
            match outcome {
                Ok(mut output) => {
                    output.changes.extend(
                        found
                            .changes
                            .into_iter()
                            .map(|change| change.map(UnsavedVersion::Stored)),
                    );
                    if let Some(note) = found.note {
                        let summary = output.summary.take();
                        output.summary = Some(summary.map_or(note.clone(), |summary| format!("{summary}; {note}")));
                    }
                    Ok(output)
                }
                Err(error) => {
                    watch.report(found);
                    Err(error)
                }
            }
        }
        .boxed()
    }
}

/// Adds checkpoints to a tool that cannot report its own changes, if checkpoints are enabled.
pub(crate) fn with_checkpoints(tool: Arc<dyn DynTool>, checkpoints: Option<&Checkpointer>) -> Arc<dyn DynTool> {
    match checkpoints {
        Some(checkpoints) if tool.effect() == ToolEffect::Mutating => wrap(tool, Checkpointed(checkpoints.clone())),
        Some(_) | None => tool,
    }
}

/// Whether a call only runs read-only commands, determined by its actions.
fn is_read_only_command(tool: &Arc<dyn DynTool>, input: &CallInput) -> bool {
    let Ok(actions) = tool.actions(input) else {
        return true;
    };
    let looks = |action: &Action| {
        let Action::Run { command, .. } = action else {
            return false;
        };
        shell::parse(command).is_read_only()
    };
    !actions.is_empty() && actions.iter().all(looks)
}

/// A running call. If it is cancelled, its changes so far are reported on drop.
struct CheckpointGuard {
    before: Option<PendingCheckpoint>,
    context: CallContext,
}

impl CheckpointGuard {
    async fn finish(&mut self) -> CommandChanges {
        let Some(before) = self.before.take() else {
            return CommandChanges::default();
        };
        tokio::task::spawn_blocking(move || before.after())
            .await
            .unwrap_or_default()
    }

    fn report(&self, found: CommandChanges) {
        if !found.changes.is_empty() {
            let changes = found
                .changes
                .into_iter()
                .map(|change| change.map(UnsavedVersion::Stored))
                .collect();
            self.context.changes.report(&self.context.call, changes);
        }
    }
}

impl Drop for CheckpointGuard {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            self.report(before.after());
        }
    }
}
