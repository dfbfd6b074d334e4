//! Views of an item, so that its readers need not match on every kind.

use crate::{Body, Change, CommandExit, Item, Todo, user_text};
use model::{CallId, Message, Part, Stop, ToolOutcome};
use std::path::PathBuf;
use std::sync::Arc;

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemKind {
    /// A prompt of the user.
    Prompt,
    /// A reply of the model.
    Reply,
    /// The result of a tool call.
    Result,
    /// A summary that replaces preceding items.
    Summary,
    /// A message for the user.
    Notice,
    /// A message from background work.
    Notification,
    /// A change of the mode.
    Mode,
    /// A change of the todo list.
    Todos,
    /// Panels for the model.
    Panels,
    /// A review of changes by the user.
    Review,
    /// Files restored by the user.
    Restored,
}

impl ItemKind {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ItemKind::Prompt => "prompt",
            ItemKind::Reply => "reply",
            ItemKind::Result => "result",
            ItemKind::Summary => "summary",
            ItemKind::Notice => "notice",
            ItemKind::Notification => "notification",
            ItemKind::Mode => "mode",
            ItemKind::Todos => "todos",
            ItemKind::Panels => "panels",
            ItemKind::Review => "review",
            ItemKind::Restored => "restored",
        }
    }

    /// Whether such an item starts a turn.
    pub fn starts_turn(self) -> bool {
        matches!(self, ItemKind::Prompt | ItemKind::Notification)
    }

    /// Whether such an item is part of the exchange between user, model and tools.
    pub fn is_exchange(self) -> bool {
        match self {
            ItemKind::Prompt | ItemKind::Reply | ItemKind::Result | ItemKind::Summary | ItemKind::Notification => true,
            ItemKind::Notice
            | ItemKind::Mode
            | ItemKind::Todos
            | ItemKind::Panels
            | ItemKind::Review
            | ItemKind::Restored => false,
        }
    }
}

impl Item {
    /// The kind of the item.
    pub fn kind(&self) -> ItemKind {
        match &self.body {
            Body::Prompt { .. } => ItemKind::Prompt,
            Body::Reply { .. } => ItemKind::Reply,
            Body::Result { .. } => ItemKind::Result,
            Body::Summary { .. } => ItemKind::Summary,
            Body::Notice { .. } => ItemKind::Notice,
            Body::Notification { .. } => ItemKind::Notification,
            Body::Mode { .. } => ItemKind::Mode,
            Body::Todos { .. } => ItemKind::Todos,
            Body::Panels { .. } => ItemKind::Panels,
            Body::Review { .. } => ItemKind::Review,
            Body::Restored { .. } => ItemKind::Restored,
        }
    }

    /// The message that the model sees.
    pub fn message(&self) -> Option<&Arc<Message>> {
        match &self.body {
            Body::Prompt { message }
            | Body::Reply { message, .. }
            | Body::Result { message, .. }
            | Body::Restored { message, .. }
            | Body::Summary { message, .. }
            | Body::Notification { message, .. }
            | Body::Review {
                message: Some(message), ..
            } => Some(message),
            Body::Notice { .. }
            | Body::Mode { .. }
            | Body::Todos { .. }
            | Body::Panels { .. }
            | Body::Review { message: None, .. } => None,
        }
    }

    /// The message that the model sees, to be replaced in a view of the conversation.
    pub fn message_mut(&mut self) -> Option<&mut Arc<Message>> {
        match &mut self.body {
            Body::Prompt { message }
            | Body::Reply { message, .. }
            | Body::Result { message, .. }
            | Body::Restored { message, .. }
            | Body::Summary { message, .. }
            | Body::Notification { message, .. }
            | Body::Review {
                message: Some(message), ..
            } => Some(message),
            Body::Notice { .. }
            | Body::Mode { .. }
            | Body::Todos { .. }
            | Body::Panels { .. }
            | Body::Review { message: None, .. } => None,
        }
    }

    /// All messages that the model sees, including panels.
    pub fn messages(&self) -> &[Arc<Message>] {
        match &self.body {
            Body::Panels { messages, .. } => messages,
            _ => self.message().map_or(&[], std::slice::from_ref),
        }
    }

    /// The user's own text, if this is a prompt.
    pub fn prompt_text(&self) -> Option<String> {
        match &self.body {
            Body::Prompt { message } => Some(user_text(message)),
            _ => None,
        }
    }

    /// The text of the reply, if this is one.
    pub fn reply_text(&self) -> Option<String> {
        match &self.body {
            Body::Reply { message, .. } => Some(message.text()),
            _ => None,
        }
    }

    /// The tool calls of a reply; none for other items.
    pub fn tool_calls(&self) -> impl Iterator<Item = (&CallId, &str)> {
        let message = match &self.body {
            Body::Reply { message, .. } => Some(message),
            _ => None,
        };
        let parts = message.into_iter().flat_map(|message| &message.parts);
        parts.filter_map(|part| match part {
            Part::ToolCall { id, name, .. } => Some((id, name.as_str())),
            _ => None,
        })
    }

    /// Whether this is a reply in which the model finished its work: it calls no tool.
    pub fn is_final_reply(&self) -> bool {
        let is_finished = matches!(
            &self.body,
            Body::Reply {
                end: crate::ReplyEnd::Finished(Stop::End),
                ..
            }
        );
        is_finished && self.tool_calls().next().is_none()
    }

    /// The model of a reply, as `provider/id`.
    pub fn model(&self) -> Option<&str> {
        match &self.body {
            Body::Reply { model, .. } => Some(model),
            _ => None,
        }
    }

    /// The call of a result.
    pub fn call(&self) -> Option<&CallId> {
        match &self.body {
            Body::Result { call, .. } => Some(call),
            _ => None,
        }
    }

    /// Whether this is the result of a failed call: the tool returned an error, or its command failed.
    pub fn has_failed(&self) -> bool {
        let Body::Result { message, exit, .. } = &self.body else {
            return false;
        };
        let is_error = |part: &Part| {
            matches!(
                part,
                Part::ToolResult {
                    outcome: ToolOutcome::Error,
                    ..
                }
            )
        };
        message.parts.iter().any(is_error) || exit.is_some_and(CommandExit::is_failure)
    }

    /// The changes that a tool or a restore made.
    pub fn changes(&self) -> &[Change] {
        match &self.body {
            Body::Result { changes, .. } | Body::Restored { changes, .. } => changes,
            _ => &[],
        }
    }

    /// The todo list, if this item changes it.
    pub fn todos(&self) -> Option<&[Todo]> {
        match &self.body {
            Body::Todos { list } => Some(list),
            _ => None,
        }
    }

    /// The name of the mode and the only files that may be changed in it, if this item changes the mode.
    pub fn mode(&self) -> Option<(&str, &[PathBuf])> {
        match &self.body {
            Body::Mode { name, files, .. } => Some((name, files)),
            _ => None,
        }
    }

    /// Whether the user approves changes from this item on, if it records the user's choice.
    pub fn edit_approval(&self) -> Option<policy::ApprovalMode> {
        match &self.body {
            Body::Mode { edit_approval, .. } => *edit_approval,
            _ => None,
        }
    }
}
