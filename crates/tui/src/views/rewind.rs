//! Rewind to an earlier prompt. Later items stay in the log but leave the conversation.

use super::list::{ListItems, ListResponse, ListSource, ListView};
use crate::action::AppAction;
use crate::backend::{ConflictChoice, FileVersions, RestoreRequest, RewindScope, SessionTarget};
use crate::diff::LineDiff;
use crate::format::{age, first_line, now};
use crate::keys::KeyAction;
use crate::row::{StyledRow, sanitise};
use crate::view::{ViewContext, ViewPlacement};
use session::{Body, Change, ChangeCount, Item, ItemId, Time, net_changes};
use std::sync::Arc;

/// The session's prompts, newest first.
pub(crate) struct RewindPicker {
    now: Time,
}

/// A prompt to rewind to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RewindPrompt {
    text: String,
    at: Time,
    /// The item before it, which becomes the head; `None` for the first prompt.
    before: Option<ItemId>,
    /// The prompt's item.
    id: ItemId,
    /// Files changed since.
    changed: ChangeCount,
    /// The net changes since.
    changes: Vec<Change>,
}

impl Default for RewindPicker {
    fn default() -> Self {
        RewindPicker { now: now() }
    }
}

impl RewindPicker {
    #[cfg(test)]
    pub(crate) fn at(now: Time) -> Self {
        RewindPicker { now }
    }
}

impl ListSource for RewindPicker {
    type Item = RewindPrompt;

    fn title(&self) -> String {
        "Rewind to before".into()
    }

    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Inline(14)
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<RewindPrompt> {
        let Some(session) = cx.state.session else {
            return ListItems::Ready(Vec::new());
        };
        let items = cx.backend.session_items(session);
        ListItems::Pending(cx.start(Box::pin(async move { Ok(prompts(&items.await?)) })))
    }

    fn name(&self, prompt: &RewindPrompt) -> String {
        first_line(&prompt.text)
    }

    fn columns(&self, prompt: &RewindPrompt, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        let files = match prompt.changes.as_slice() {
            _ if prompt.changed.is_empty() => String::new(),
            [one] => {
                let name = one.path.file_name().unwrap_or(one.path.as_os_str());
                format!("{} changed after it  ", sanitise(&name.to_string_lossy()))
            }
            _ => format!("{} changed after it  ", prompt.changed),
        };
        let right = StyledRow::new(files, cx.theme.warn).push(age(prompt.at, self.now), cx.theme.dim);
        (StyledRow::empty(), right)
    }

    fn choose_label(&self) -> &'static str {
        "rewind"
    }

    fn choose(&mut self, prompt: &RewindPrompt, cx: &ViewContext<'_>) -> ListResponse {
        if cx.state.is_working() {
            return ListResponse::Act(AppAction::Flash("interrupt the turn first (esc)".into()));
        }
        let scopes = RewindScopePicker { prompt: prompt.clone() };
        ListResponse::close_and(AppAction::OpenView(Box::new(ListView::new(scopes))))
    }

    fn perform(&mut self, action: KeyAction, prompt: &RewindPrompt, cx: &ViewContext<'_>) -> Option<ListResponse> {
        match (action, cx.state.session, prompt.before) {
            (KeyAction::Fork, Some(session), Some(before)) => Some(ListResponse::close_and(AppAction::All(vec![
                AppAction::OpenSession(SessionTarget::Fork {
                    session,
                    upto: Some(before),
                }),
                AppAction::SetInput(prompt.text.clone()),
            ]))),
            _ => None,
        }
    }

    fn key_hints(&self) -> &'static [KeyAction] {
        &[KeyAction::Close, KeyAction::Choose, KeyAction::Fork]
    }

    fn empty_text(&self) -> &'static str {
        "no prompts yet"
    }
}

/// What to rewind: the files, the conversation or both.
struct RewindScopePicker {
    prompt: RewindPrompt,
}

/// A scope and what it does to the files.
struct ScopeRow {
    scope: RewindScope,
    description: String,
}

impl ListSource for RewindScopePicker {
    type Item = ScopeRow;

    fn title(&self) -> String {
        format!("Rewind to before \"{}\"", first_line(&self.prompt.text))
    }

    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Inline(6)
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<ScopeRow> {
        let versions = cx.backend.file_versions(self.prompt.changes.clone());
        let changed = self.prompt.changed;
        ListItems::Pending(cx.start(Box::pin(async move {
            let (mut added, mut removed) = (0, 0);
            for FileVersions { before, after, .. } in versions.await.unwrap_or_default() {
                let diff = LineDiff::between(&after.unwrap_or_default(), &before.unwrap_or_default(), 1);
                (added, removed) = (added + diff.added, removed + diff.removed);
            }
            let files = match changed.is_empty() {
                true => "no file was changed since".to_owned(),
                false => format!("{changed}: +{added} −{removed} lines"),
            };
            Ok(vec![
                ScopeRow {
                    scope: RewindScope::Both,
                    description: files.clone(),
                },
                ScopeRow {
                    scope: RewindScope::Conversation,
                    description: "files stay as they are".into(),
                },
                ScopeRow {
                    scope: RewindScope::Files,
                    description: files,
                },
            ])
        })))
    }

    fn name(&self, row: &ScopeRow) -> String {
        match row.scope {
            RewindScope::Both => "Code and conversation".into(),
            RewindScope::Conversation => "Conversation only".into(),
            RewindScope::Files => "Code only".into(),
        }
    }

    fn columns(&self, row: &ScopeRow, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        (StyledRow::new(&*row.description, cx.theme.dim), StyledRow::empty())
    }

    fn choose_label(&self) -> &'static str {
        "rewind"
    }

    fn choose(&mut self, row: &ScopeRow, _: &ViewContext<'_>) -> ListResponse {
        let request = RestoreRequest::Rewind {
            prompt: self.prompt.id,
            text: self.prompt.text.clone(),
            scope: row.scope,
        };
        ListResponse::close_and(AppAction::Restore(request, ConflictChoice::Ask))
    }
}

/// The prompts, newest first, each with the files changed since.
fn prompts(items: &[Arc<Item>]) -> Vec<RewindPrompt> {
    let mut changes: Vec<&Change> = Vec::new();
    let mut prompts = Vec::new();
    for (index, item) in items.iter().enumerate().rev() {
        match &item.body {
            Body::Result { changes: made, .. } | Body::Restored { changes: made, .. } => {
                changes.extend(made.iter().rev());
            }
            Body::Prompt { message } => prompts.push(RewindPrompt {
                text: session::user_text(message),
                at: item.at,
                before: index
                    .checked_sub(1)
                    .and_then(|before| items.get(before))
                    .map(|item| item.id),
                id: item.id,
                changed: ChangeCount::of(changes.iter().rev().copied()),
                changes: net_changes(changes.iter().rev().copied())
                    .into_iter()
                    .map(|(path, (before, after))| Change {
                        path: path.to_owned(),
                        before: before.cloned(),
                        after: after.cloned(),
                    })
                    .collect(),
            }),
            _ => {}
        }
    }
    prompts
}
