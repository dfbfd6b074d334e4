//! Prompts on their way into the conversation: queued, checked by hooks, expanded with commands, mentions and notes.
//!
//! A prompt is stored when it arrives, so that a crash does not lose it.

use crate::hooks::{self, HookObjection};
use crate::mentions;
use crate::session::{Environment, Session};
use crate::small_model_files;
use model::{Message, Part, PartOrigin};
use prompt::{CommandLookup, CommandOwner, ExpandedCommand, SlashCommand};
use session::{Body, Error, ItemId, NoticeLevel, QueuedPrompt, QueuedPromptId};
use std::sync::Arc;

/// A prompt that is not part of the conversation yet.
#[derive(Debug, Clone)]
pub(crate) struct PendingPrompt {
    pub(crate) message: Message,
    /// The id of the stored copy.
    queued: Option<QueuedPromptId>,
}

/// The result of submitting a prompt.
#[derive(Debug)]
pub(crate) enum SubmitResult {
    Appended,
    Refused(PromptRefusal),
}

/// The reason why a prompt is not sent.
#[derive(Debug)]
pub(crate) enum PromptRefusal {
    /// A hook blocked it.
    Hook(String),
    /// It calls an unknown command.
    UnknownCommand { name: String, similar: Vec<String> },
}

/// The command that a prompt calls.
pub(crate) struct PromptCommand {
    pub(crate) expanded: ExpandedCommand,
    pub(crate) owner: CommandOwner,
}

/// The reason why a command is not expanded.
enum CommandError {
    Refused(PromptRefusal),
    Store(Error),
}

/// The stored copies of prompts that the front end holds back.
#[derive(Debug, Default)]
pub(crate) struct HeldPrompts(Vec<QueuedPromptId>);

impl PendingPrompt {
    /// Stores a prompt until it becomes an item. The write is not awaited.
    pub(crate) fn queue(env: &Environment, message: Message) -> Self {
        let id = QueuedPromptId::new();
        let queued = QueuedPrompt {
            id,
            message: message.clone(),
        };
        drop(env.config.store.queue_prompt(env.session, queued));
        PendingPrompt {
            message,
            queued: Some(id),
        }
    }

    /// Removes the stored copy of a prompt that will not be sent.
    pub(crate) fn discard(&self, env: &Environment) {
        if let Some(id) = self.queued {
            drop(env.config.store.remove_queued(env.session, id));
        }
    }
}

impl From<QueuedPrompt> for PendingPrompt {
    fn from(prompt: QueuedPrompt) -> Self {
        PendingPrompt {
            message: prompt.message,
            queued: Some(prompt.id),
        }
    }
}

impl HeldPrompts {
    /// Replaces the stored prompts.
    pub(crate) fn set(&mut self, env: &Environment, messages: Vec<Message>) {
        let store = &env.config.store;
        for id in self.0.drain(..) {
            drop(store.remove_queued(env.session, id));
        }
        for message in messages {
            let id = QueuedPromptId::new();
            drop(store.queue_prompt(env.session, QueuedPrompt { id, message }));
            self.0.push(id);
        }
    }
}

impl PromptRefusal {
    /// The error message and a hint for the user.
    pub(crate) fn message(&self) -> (String, String) {
        match self {
            PromptRefusal::Hook(why) => (
                format!("a hook blocked the prompt: {why}"),
                "rephrase the prompt, or change the hook in your configuration".into(),
            ),
            PromptRefusal::UnknownCommand { name, similar } => {
                let hint = match similar.is_empty() {
                    true => {
                        "run `hew commands` for a list; to send it to the model, put a space before the slash".into()
                    }
                    false => format!("did you mean {}? Run `hew commands` for a list", similar.join(" or ")),
                };
                (format!("there is no command /{name}"), hint)
            }
        }
    }

    /// The notice for the user if the turn continues without the prompt.
    pub(crate) fn notice(&self) -> String {
        match self {
            PromptRefusal::Hook(why) => format!("a hook blocked your prompt: {why}"),
            PromptRefusal::UnknownCommand { .. } => {
                let (error, hint) = self.message();
                format!("not sent: {error}; {hint}")
            }
        }
    }
}

/// Appends the oldest steering prompt of the inbox, unless it is refused; `None` if there is none.
///
/// Hooks run first, so that nothing is looked up for a prompt they block. The prompt stays in the inbox until it is an
/// item, so that an interruption does not lose it.
pub(crate) async fn submit_next(session: &mut Session) -> Result<Option<SubmitResult>, Error> {
    let Some(PendingPrompt { message, queued }) = session.env.inbox.first_steering() else {
        return Ok(None);
    };
    let text = message.text();
    let hook_context = match hooks::run_prompt_hooks(&session.env, text.clone()).await {
        Ok(context) => context,
        Err(HookObjection(why)) => return Ok(Some(refuse(&session.env, PromptRefusal::Hook(why)))),
    };
    let command = match expand_command(session, &message).await {
        Ok(command) => command,
        Err(CommandError::Store(error)) => return Err(error),
        Err(CommandError::Refused(refusal)) => return Ok(Some(refuse(&session.env, refusal))),
    };
    let (shown, read) = small_model_files::collect(session, &text).await;
    let (mut message, mut touched) = mentions::resolve(session, message, command).await;
    touched.extend(read);
    if let Some(note) = prompt::shown_files_note(&shown) {
        // Before the task: a small model continues what it reads last.
        message.parts.insert(0, Part::with_origin(note, PartOrigin::Mention));
    }
    session.turn.shown_files = shown;
    let notes = session.notes_with_prompt(touched).await;
    session.record_mode().await?;
    drop(session.env.inbox.next_steering());
    message.parts.extend(notes);
    let context = std::mem::take(&mut session.conversation.hook_context);
    for text in context.into_iter().chain(hook_context) {
        let text = format!("<hook>\n{text}\n</hook>");
        message.parts.push(Part::with_origin(text, PartOrigin::Hook));
    }
    let Session { env, conversation, .. } = session;
    let message = Arc::new(message);
    conversation
        .append_queued(env, ItemId::new(), Body::Prompt { message }, queued)
        .await?;
    conversation.title.begin(env, text);
    Ok(Some(SubmitResult::Appended))
}

/// Removes the oldest steering prompt.
fn refuse(env: &Environment, refusal: PromptRefusal) -> SubmitResult {
    if let Some(prompt) = env.inbox.next_steering() {
        prompt.discard(env);
    }
    SubmitResult::Refused(refusal)
}

/// Expands the command that a prompt calls and applies its mode and model.
async fn expand_command(session: &mut Session, message: &Message) -> Result<Option<PromptCommand>, CommandError> {
    let text = match message.parts.first() {
        Some(Part::Text { text, .. }) if session.env.depth == 0 => text.clone(),
        Some(_) | None => return Ok(None),
    };
    let Some(call) = prompt::parse_invocation(&text) else {
        return Ok(None);
    };
    let name = call.name.to_owned();
    let command = match session
        .env
        .read_context(move |context| context.find_command(&name))
        .await
    {
        Some(CommandLookup::Command(command)) => command,
        Some(CommandLookup::Unknown { similar }) => {
            let name = call.name.to_owned();
            return Err(CommandError::Refused(PromptRefusal::UnknownCommand { name, similar }));
        }
        Some(CommandLookup::NotACommand) | None => return Ok(None),
    };
    let expanded = command.expand(call.arguments);
    for text in &expanded.notices {
        session.env.notice(NoticeLevel::Info, text.clone()).await;
    }
    apply_command_choices(session, &command)
        .await
        .map_err(CommandError::Store)?;
    Ok(Some(PromptCommand {
        expanded,
        owner: command.owner,
    }))
}

/// Applies the mode and the model that a command selects.
async fn apply_command_choices(session: &mut Session, command: &SlashCommand) -> Result<(), Error> {
    if command.owner == CommandOwner::Project && (command.mode.is_some() || command.model.is_some()) {
        let text = format!(
            "/{} cannot select a mode or a model, because you have not trusted this directory",
            command.name
        );
        session.env.notice(NoticeLevel::Info, text).await;
        return Ok(());
    }
    if let Some(mode) = &command.mode {
        session.switch_mode(mode).await?;
    }
    match command.model.as_deref().map(|name| (session.env.config.models)(name)) {
        Some(Ok(model)) => {
            let previous = std::mem::replace(&mut session.turn.model, model);
            session.turn.overridden_model.get_or_insert(previous);
        }
        Some(Err(why)) => {
            let model = session.turn.model.info().name();
            let text = format!("/{} continues with {model}: {why}", command.name);
            session.env.notice(NoticeLevel::Warning, text).await;
        }
        None => {}
    }
    Ok(())
}

/// Notifies the user of the prompts that were queued when an earlier process ended.
pub(crate) async fn report_queued(env: &Environment, prompts: &[QueuedPrompt]) {
    for prompt in prompts {
        let text = format!(
            "this prompt was queued when hew ended; it will be sent with the next turn: {}",
            prompt.message.text()
        );
        env.notice(NoticeLevel::Info, text).await;
    }
}
