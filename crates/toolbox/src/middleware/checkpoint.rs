//! Records what a call changes on disk, so that it can be reverted.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use policy::shell::{self, DestroyedTarget};
use policy::{AccessLevel, Action, ProjectPaths};
use std::path::Path;
use tool::{
    AnswerChoice, CallContext, CallInput, ChoiceLimit, DynTool, Error, Output, ToolEffect, UnsavedVersion, UserQuestion,
};
use workspace::checkpoint::{
    Checkpointer, CommandChanges, EndangeredPaths, PendingCheckpoint, UncoveredPaths, list_paths,
};

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
            let actions = wrapped.tool.actions(&input).unwrap_or_default();
            let (session, call) = (context.session.clone(), context.call.clone());
            let before = tokio::task::spawn_blocking(move || {
                let endangered = endangered_paths(&actions, checkpoints.root());
                checkpoints.before(&endangered, (&session, call.as_str()))
            });
            let Ok(before) = before.await else {
                // A failed checkpoint must not prevent the call.
                return Arc::clone(&wrapped.tool).run(input, context).await;
            };
            let uncovered = before.uncovered().clone();
            report_uncovered(&context, &uncovered).await?;
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

/// What the commands of a call delete, move or overwrite, as far as their text shows.
fn endangered_paths(actions: &[Action], root: &Path) -> EndangeredPaths {
    let project = ProjectPaths {
        root: root.to_owned(),
        ..ProjectPaths::default()
    };
    let mut endangered = EndangeredPaths::default();
    for action in actions {
        let (Action::Run { command, cwd } | Action::Escalate { command, cwd }) = action else {
            continue;
        };
        let script = shell::parse(command);
        if shell::deletes_folders(&script) {
            endangered.delete_folders();
        }
        for target in shell::destroyed_targets(&script, &root.join(cwd), &project) {
            match target {
                DestroyedTarget::Path(path) => endangered.add(path),
                DestroyedTarget::Pattern { folder, pattern } => endangered.add_matches(&folder, &pattern),
                DestroyedTarget::IgnoredBelow(folder) => endangered.add_ignored_below(folder),
                DestroyedTarget::Untracked => endangered.add_untracked(),
                DestroyedTarget::Uncommitted => endangered.add_uncommitted(),
            }
        }
    }
    endangered
}

/// The answers to the question whether a command may change files that cannot be restored.
const DO_NOT_RUN: &str = "Do not run it";
const RUN_ANYWAY: &str = "Run it anyway";

/// Lists what undo cannot restore before the command runs, and asks if the command is known to change some of it.
/// Ignored files are only listed.
async fn report_uncovered(context: &CallContext, uncovered: &UncoveredPaths) -> Result<(), Error> {
    let UncoveredPaths {
        endangered,
        ignored,
        others,
    } = uncovered;
    let listed = [ignored.as_slice(), others.as_slice()].concat();
    if !listed.is_empty() {
        context
            .warn(format!("undo does not cover {}", list_paths(&listed)))
            .await;
    }
    if endangered.is_empty() {
        return Ok(());
    }
    let what = format!("undo cannot restore {}", list_paths(endangered));
    if context.level == AccessLevel::Full {
        context.warn(what).await;
        return Ok(());
    }
    let choice = |label: &str| AnswerChoice {
        label: label.into(),
        description: None,
    };
    let question = UserQuestion {
        question: format!("This command changes files, and {what}. Run it?"),
        choices: vec![choice(DO_NOT_RUN), choice(RUN_ANYWAY)],
        limit: ChoiceLimit::One,
    };
    match context.ask(question).await {
        Ok(answer) if answer == RUN_ANYWAY || answer == "yes" => Ok(()),
        Ok(_) => Err(Error::Failed("The user denied this call.".into())),
        Err(_) => Err(Error::Failed(format!(
            "Not run: {what} (version control, or more than `checkpoints.max_file` or `checkpoints.quota`), and the user \
             cannot be asked. Move them out of the way, or leave them to the user."
        ))),
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
