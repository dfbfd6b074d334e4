//! Rewind to an earlier prompt. Later items stay in the log but leave the conversation.

use super::list::{ListItems, ListResponse, ListSource};
use crate::action::AppAction;
use crate::backend::SessionTarget;
use crate::format::{age, first_line, now};
use crate::keys::KeyAction;
use crate::row::StyledRow;
use crate::view::{ViewContext, ViewPlacement};
use session::{Body, Change, ChangeCount, Command, Item, ItemId, Time};
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
    /// Files changed since.
    changed: ChangeCount,
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
        let files = match prompt.changed.is_empty() {
            true => String::new(),
            false => format!("{} changed since  ", prompt.changed),
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
        match prompt.before {
            // The text returns to the composer for editing.
            Some(to) => ListResponse::close_and(AppAction::All(vec![
                AppAction::Send(Command::Rewind { to }),
                AppAction::Notice(format!(
                    "rewound to before “{}”; files are unchanged, /undo reverts them",
                    first_line(&prompt.text)
                )),
                AppAction::SetInput(prompt.text.clone()),
            ])),
            None => ListResponse::close_and(AppAction::All(vec![
                AppAction::OpenSession(SessionTarget::New),
                AppAction::SetInput(prompt.text.clone()),
            ])),
        }
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
                changed: ChangeCount::of(changes.iter().rev().copied()),
            }),
            _ => {}
        }
    }
    prompts
}
