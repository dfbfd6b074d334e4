//! A session of an editor: its turn, questions and options.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acp::Peer;
use acp::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, ClientCapabilities, ConfigOptionUpdate,
    ContentBlock, ContentChunk, CurrentModeUpdate, Error, Notice, NoticeSeverity, SessionNotification, SessionUpdate,
    StopReason, UnstructuredCommandInput,
};
use model::Message;
use serde_json::Value;
use session::{Command, Delivery, NoticeLevel, SessionId, TurnEnd};
use tokio::sync::{mpsc, oneshot};

use super::editor_view::EditorReport;
use super::options::SessionOptions;
use super::{AcpSessions, AcpSharing, prompt_content};

/// The compaction command.
const COMPACT: &str = "compact";

/// A session of an editor.
pub(super) struct EditorSession {
    pub(super) id: SessionId,
    /// The id as a string.
    pub(super) name: String,
    pub(super) root: PathBuf,
    pub(super) peer: Peer,
    pub(super) backend: Arc<dyn AcpSessions>,
    pub(super) client: ClientCapabilities,
    pub(super) sharing: AcpSharing,
    commands: mpsc::Sender<Command>,
    state: Mutex<EditorSessionState>,
}

struct EditorSessionState {
    offer: SessionOptions,
    /// The prompts that wait for the end of a turn, in order.
    turns: Vec<PendingTurn>,
    /// Texts of this editor's prompts that are not part of the conversation yet.
    sent: Vec<String>,
    /// Whether a turn is running, including autonomous ones.
    running: bool,
    /// Number of prompts being parsed.
    arriving: usize,
    /// Whether the editor has cancelled a prompt that is being parsed.
    stopped: bool,
}

/// A prompt that has arrived: a cancellation applies to it from now on.
pub(super) struct PromptArrival(Arc<EditorSession>);

impl Drop for PromptArrival {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.arriving = state.arriving.saturating_sub(1);
        state.stopped = state.stopped && state.arriving > 0;
    }
}

/// A prompt that waits for the end of its turn.
struct PendingTurn {
    done: oneshot::Sender<Result<StopReason, Error>>,
    /// Whether the next end of a turn is the end of its turn, even if it was not accepted.
    begun: bool,
    /// Whether it is part of the conversation.
    accepted: bool,
    cancelled: bool,
    kind: TurnKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TurnKind {
    Prompt,
    /// A compaction, which is not a turn of the session.
    Compact,
}

/// Parameters of an editor session.
pub(super) struct EditorSessionParams {
    pub(super) id: SessionId,
    pub(super) root: PathBuf,
    pub(super) peer: Peer,
    pub(super) backend: Arc<dyn AcpSessions>,
    pub(super) client: ClientCapabilities,
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) offer: SessionOptions,
    pub(super) sharing: AcpSharing,
}

impl EditorSession {
    pub(super) fn new(birth: EditorSessionParams) -> Self {
        EditorSession {
            name: birth.id.to_string(),
            id: birth.id,
            root: birth.root,
            peer: birth.peer,
            backend: birth.backend,
            client: birth.client,
            sharing: birth.sharing,
            commands: birth.commands,
            state: Mutex::new(EditorSessionState {
                offer: birth.offer,
                turns: Vec::new(),
                sent: Vec::new(),
                running: false,
                arriving: 0,
                stopped: false,
            }),
        }
    }

    /// Registers a prompt before it is processed.
    pub(super) fn prompt_arrived(self: &Arc<Self>) -> PromptArrival {
        self.lock().arriving += 1;
        PromptArrival(Arc::clone(self))
    }

    /// Processes a prompt until its turn ends. A prompt that arrives during a turn becomes part of it.
    pub(super) async fn prompt(&self, blocks: Vec<ContentBlock>) -> Result<StopReason, Error> {
        let message = prompt_content::prompt_message(blocks, &self.root)?;
        let (kind, command) = match compact_instructions(&message) {
            Some(instructions) => (TurnKind::Compact, Command::Compact { instructions }),
            None => {
                let delivery = match self.is_busy() {
                    true => Delivery::Steer,
                    false => Delivery::Queue,
                };
                let prompt = Command::Prompt { message, delivery };
                let meant = self.backend.resolve_command(self.id, prompt).await;
                let meant = meant.map_err(|trouble| Error::invalid_params().data(Value::from(trouble.to_string())))?;
                (TurnKind::Prompt, meant)
            }
        };
        let (done, ended) = oneshot::channel();
        {
            let mut state = self.lock();
            if state.stopped {
                return Ok(StopReason::Cancelled);
            }
            if kind == TurnKind::Compact && !state.turns.is_empty() {
                let why = "a turn is running in this session; cancel it first, or wait for its end";
                return Err(Error::invalid_request().data(Value::from(why)));
            }
            if let Command::Prompt { message, .. } = &command {
                state.sent.push(session::user_text(message));
            }
            let begun = state.turns.is_empty() && !state.running;
            state.turns.push(PendingTurn {
                done,
                begun,
                accepted: false,
                cancelled: false,
                kind,
            });
        }
        let sent = self.commands.send(command).await;
        sent.map_err(|_| session_ended())?;
        ended.await.unwrap_or_else(|_| Err(session_ended()))
    }

    /// Informs the session of what the editor shows.
    pub(super) async fn show_view(&self, report: &EditorReport) {
        let view = report.view(&self.root);
        self.command(Command::Editor { view }).await;
    }

    /// Stops running work.
    pub(super) async fn cancel(&self) {
        {
            let mut state = self.lock();
            let arriving = state.arriving > 0;
            state.stopped = arriving && state.turns.is_empty();
            state.turns.iter_mut().for_each(|turn| turn.cancelled = true);
        }
        self.command(Command::Interrupt).await;
    }

    /// Sends a command. A session that has ended reports it by its events.
    pub(super) async fn command(&self, command: Command) {
        drop(self.commands.send(command).await);
    }

    /// Whether the editor has cancelled the running turn.
    pub(super) fn is_cancelled(&self) -> bool {
        self.lock().turns.iter().any(|turn| turn.cancelled)
    }

    /// Whether a turn is running, or a prompt waits for one.
    fn is_busy(&self) -> bool {
        let state = self.lock();
        state.running || !state.turns.is_empty()
    }

    /// A turn has started.
    pub(super) fn turn_started(&self) {
        self.lock().running = true;
    }

    /// A prompt was accepted. If it is one of this editor, the next end of a turn belongs to the oldest waiting one, and the
    /// result is true.
    pub(super) fn prompt_accepted(&self, message: &Message) -> bool {
        let text = session::user_text(message);
        let mut state = self.lock();
        match state.sent.iter().position(|sent| *sent == text) {
            Some(at) => drop(state.sent.remove(at)),
            None if self.sharing == AcpSharing::Shared => return false,
            None => {}
        }
        if let Some(turn) = state.turns.iter_mut().find(|turn| !turn.accepted) {
            turn.accepted = true;
        }
        true
    }

    /// A notice was sent, possibly because a waiting prompt was refused: no waiting prompt outlives the running turn.
    fn prompt_may_be_refused(&self) {
        self.lock().turns.iter_mut().for_each(|turn| turn.begun = true);
    }

    /// A turn has ended.
    pub(super) fn turn_finished(&self, ending: &TurnEnd) {
        let mut state = self.lock();
        state.running = false;
        let ends =
            |turn: &mut PendingTurn| turn.kind == TurnKind::Prompt && (turn.begun || turn.accepted || turn.cancelled);
        for turn in state.turns.extract_if(.., ends) {
            let answer = match turn.cancelled {
                true => Ok(StopReason::Cancelled),
                false => stop_reason(ending),
            };
            // A cancelled request needs no response.
            drop(turn.done.send(answer));
        }
    }

    /// A compaction has ended.
    pub(super) fn compacted(&self) {
        let mut state = self.lock();
        let compactions = state.turns.extract_if(.., |turn| turn.kind == TurnKind::Compact);
        for turn in compactions {
            let reason = match turn.cancelled {
                true => StopReason::Cancelled,
                false => StopReason::EndTurn,
            };
            drop(turn.done.send(Ok(reason)));
        }
    }

    /// The options and their current values.
    pub(super) fn offer(&self) -> SessionOptions {
        self.lock().offer.clone()
    }

    /// Selects an option.
    pub(super) async fn choose(&self, option: &str, value: &str) -> Result<(), Error> {
        let command = self.lock().offer.select(option, value)?;
        self.command(command).await;
        Ok(())
    }

    /// The mode has changed.
    pub(super) async fn mode_changed(&self, name: &str) {
        let offer = {
            let mut state = self.lock();
            state.offer.modes.current = name.to_owned();
            state.offer.clone()
        };
        self.update(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(
            name.to_owned(),
        )))
        .await;
        self.update(SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(
            offer.options(),
        )))
        .await;
    }

    /// Sends the available commands.
    pub(super) async fn send_commands(&self) {
        let mut commands = vec![
            AvailableCommand::new(COMPACT, "Summarize the conversation to free context").input(
                AvailableCommandInput::Unstructured(UnstructuredCommandInput::new("additional instructions")),
            ),
        ];
        for choice in self.backend.commands(self.id).await.unwrap_or_default() {
            let input = UnstructuredCommandInput::new("arguments");
            commands.push(
                AvailableCommand::new(choice.name, choice.description)
                    .input(AvailableCommandInput::Unstructured(input)),
            );
        }
        self.update(SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(
            commands,
        )))
        .await;
    }

    /// Shows a notice outside the conversation, as far as the editor supports it.
    pub(super) async fn notice(&self, level: NoticeLevel, text: String) {
        self.prompt_may_be_refused();
        let can = self
            .client
            .session
            .as_ref()
            .is_some_and(|session| session.notices.is_some());
        let update = match can {
            true => {
                let severity = match level {
                    NoticeLevel::Info => NoticeSeverity::Info,
                    NoticeLevel::Warning => NoticeSeverity::Warning,
                };
                SessionUpdate::Notice(Notice::new(severity, text))
            }
            false => SessionUpdate::AgentThoughtChunk(ContentChunk::new(format!("{text}\n\n").into())),
        };
        self.update(update).await;
    }

    /// Sends a session update. Ignored if the editor has disconnected.
    pub(super) async fn update(&self, update: SessionUpdate) {
        let update = SessionNotification::new(self.name.clone(), update);
        drop(self.peer.notify("session/update", &update).await);
    }

    fn lock(&self) -> MutexGuard<'_, EditorSessionState> {
        // Operations under this lock are atomic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The instructions of a compaction command.
fn compact_instructions(message: &Message) -> Option<Option<String>> {
    let text = message.text();
    let rest = text.trim().strip_prefix('/')?.strip_prefix(COMPACT)?;
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return None;
    }
    Some(Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty()))
}

/// The stop reason of the protocol.
fn stop_reason(ending: &TurnEnd) -> Result<StopReason, Error> {
    Ok(match ending {
        TurnEnd::Completed => StopReason::EndTurn,
        TurnEnd::MaxTokens => StopReason::MaxTokens,
        TurnEnd::Refused { .. } => StopReason::Refusal,
        TurnEnd::Interrupted => StopReason::Cancelled,
        TurnEnd::Limit(_) | TurnEnd::Loop { .. } => StopReason::MaxTurnRequests,
        TurnEnd::Failed { error, hint } => {
            let text = match hint.is_empty() {
                true => error.clone(),
                false => format!("{error}; {hint}"),
            };
            return Err(Error::new(-32603, text));
        }
    })
}

fn session_ended() -> Error {
    Error::internal_error().data(Value::from(
        "the session failed; its log is intact, load it again to continue",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compact_command_is_distinguished_from_similar_text() {
        for (text, expected) in [
            ("/compact", Some(None)),
            (" /compact keep the names ", Some(Some("keep the names".to_owned()))),
            ("/compactor", None),
            ("compact", None),
        ] {
            assert_eq!(compact_instructions(&Message::user(text)), expected, "{text}");
        }
    }
}
