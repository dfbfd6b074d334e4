//! Results of background operations: notices, commands, and restored files.

use super::App;
use crate::action::{AppAction, AppEffect, AsyncResult};
use crate::backend::{
    ConflictChoice, FileRestoreResult, OperationResult, RestoreRequest, RewindScope, SessionTarget, UsableModel,
};
use crate::views::conflicts::ConflictPicker;
use crate::views::effort::effort_name;
use crate::views::list::ListView;
use session::{Command, NoticeLevel};

impl App {
    /// Applies the result of a background operation.
    pub(crate) fn apply_async_result(&mut self, result: AsyncResult) -> Vec<AppEffect> {
        let command = match result {
            AsyncResult::Operation(OperationResult { message, log_entry }) => {
                if !message.is_empty() {
                    self.show_notice(NoticeLevel::Info, &message);
                }
                log_entry.map(|body| Command::Record { body: Box::new(body) })
            }
            AsyncResult::Restored(request, outcome) => return self.files_restored(request, outcome),
            AsyncResult::GoalChecked(check) => return self.goal_checked(&check),
            AsyncResult::Command(command) => Some(command),
            AsyncResult::ModelUsable(
                UsableModel {
                    name,
                    context_window,
                    default_effort,
                },
                chosen,
            ) => {
                let info = &mut self.state.info;
                info.model.clone_from(&name);
                info.context_window = context_window;
                // An effort that the user chose is kept.
                let has_default = info.effort == info.default_effort.map_or("", effort_name);
                info.default_effort = default_effort;
                let effort = (has_default || chosen.is_some()).then(|| self.apply_action(AppAction::SetEffort(chosen)));
                self.state.flash = Some(format!("model: {name}, also for new sessions"));
                // The choice applies to later sessions too.
                let saving = self.backend.change_setting("model".into(), name.clone());
                let saved = |_| AsyncResult::Operation(OperationResult::default());
                let mut effects = vec![
                    AppEffect::Send(Command::SetModel { name }),
                    AppEffect::later(saving, saved),
                ];
                effects.extend(effort.into_iter().flatten());
                return effects;
            }
            AsyncResult::Renamed {
                session,
                title,
                message,
            } => {
                if self.state.session == Some(session) {
                    self.state.info.title = Some(title);
                }
                self.show_notice(NoticeLevel::Info, &message);
                None
            }
        };
        command.map(AppEffect::Send).into_iter().collect()
    }

    /// Restores files, but only between turns, because a running turn may still change them.
    pub(super) fn restore_files(&mut self, request: RestoreRequest, choice: ConflictChoice) -> Vec<AppEffect> {
        if self.state.is_working() {
            self.state.flash = Some("interrupt the turn first (esc)".into());
            return Vec::new();
        }
        // A session without a prompt is not stored.
        if self.state.conversation.first_prompt().is_none() {
            let verb = if request == RestoreRequest::Redo {
                "redo"
            } else {
                "undo"
            };
            self.state.flash = Some(format!("there is nothing to {verb}"));
            return Vec::new();
        }
        let restoring = self.backend.restore(request.clone(), choice);
        vec![AppEffect::later(restoring, |outcome| {
            AsyncResult::Restored(request, outcome)
        })]
    }

    /// Records restored files and rewinds the conversation, or asks about files that were changed outside the session.
    fn files_restored(&mut self, request: RestoreRequest, outcome: FileRestoreResult) -> Vec<AppEffect> {
        let (message, head, log_entry) = match outcome {
            FileRestoreResult::Done {
                message,
                head,
                log_entry,
            } => (message, head, log_entry),
            FileRestoreResult::Conflicts(paths) => {
                let picker = ConflictPicker::new(request, paths);
                self.views.push(Box::new(ListView::new(picker)));
                return Vec::new();
            }
        };
        self.show_notice(NoticeLevel::Info, &message);
        let rewind = head.map(|to| AppEffect::Send(Command::Rewind { to }));
        let record = log_entry.map(|body| AppEffect::Send(Command::Record { body: Box::new(body) }));
        let mut effects: Vec<AppEffect> = rewind.into_iter().chain(record).collect();
        if let RestoreRequest::Rewind { text, scope, .. } = request
            && scope != RewindScope::Files
        {
            // Before the first prompt there is no item to rewind to.
            if head.is_none() {
                effects.push(AppEffect::OpenSession(SessionTarget::New));
            }
            // The text returns to the composer for editing.
            self.composer.set_text(&text);
        }
        effects
    }
}
