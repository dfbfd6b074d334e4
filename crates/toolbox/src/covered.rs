//! Notes what a command changes on disk, so that it can be taken back.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use policy::{Action, shell};
use serde_json::Value;
use session::Kind;
use tool::{Change, Content, Context, DynTool, Error, Output, Version};
use workspace::checkpoint::{Before, Checkpoints, Found};

use crate::around::{Around, Wrap};

/// For a tool that does not say itself what it changes: the project is looked at before and after each call.
pub(crate) struct Covered(pub(crate) Checkpoints);

impl Wrap for Covered {
    fn run(around: Arc<Around<Self>>, input: Value, context: Context) -> BoxFuture<'static, Result<Output, Error>> {
        async move {
            if only_looks(&around.tool, &input) {
                return Arc::clone(&around.tool).run(input, context).await;
            }
            let checkpoints = around.wrap.0.clone();
            let Ok(before) = tokio::task::spawn_blocking(move || checkpoints.before()).await else {
                // Whatever broke the picture must not keep the command from running.
                return Arc::clone(&around.tool).run(input, context).await;
            };
            let mut watch = Watch {
                before: Some(before),
                context: context.clone(),
            };
            let outcome = Arc::clone(&around.tool).run(input, context).await;
            let found = watch.finish().await;
            match outcome {
                Ok(mut output) => {
                    output.changes.extend(found.changes.into_iter().map(told));
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

/// Whether a call runs commands that change nothing, by what it asks to be approved.
fn only_looks(tool: &Arc<dyn DynTool>, input: &Value) -> bool {
    let Ok(actions) = tool.actions(input) else {
        return true;
    };
    let looks = |action: &Action| {
        let Action::Run { command, .. } = action else {
            return false;
        };
        shell::parse(command).only_looks()
    };
    !actions.is_empty() && actions.iter().all(looks)
}

/// A call that runs. When it is stopped, what it has changed so far is told all the same.
struct Watch {
    before: Option<Before>,
    context: Context,
}

impl Watch {
    async fn finish(&mut self) -> Found {
        let Some(before) = self.before.take() else {
            return Found::default();
        };
        tokio::task::spawn_blocking(move || before.after())
            .await
            .unwrap_or_default()
    }

    fn report(&self, found: Found) {
        if !found.changes.is_empty() {
            let changes = found.changes.into_iter().map(told).collect();
            self.context.changes.report(&self.context.call, changes);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            self.report(before.after());
        }
    }
}

fn told(change: session::Change) -> Change {
    let version = |version: session::Version| Version {
        kind: match version.kind {
            Kind::File { mode } => tool::Kind::File { mode },
            Kind::Link => tool::Kind::Link,
            Kind::Folder { mode } => tool::Kind::Folder { mode },
        },
        content: match (version.content, version.kept) {
            (Some(id), true) => Content::Kept(id.0),
            (Some(id), false) => Content::Lost(id.0),
            (None, _) => Content::None,
        },
    };
    Change {
        path: change.path,
        before: change.before.map(version),
        after: change.after.map(version),
    }
}
