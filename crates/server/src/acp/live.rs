//! One session that an editor has open: its turn, its questions, and what it may choose.

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
use session::{Command, Delivery, Ending, Level, SessionId};
use tokio::sync::{mpsc, oneshot};

use super::offer::Offer;
use super::{House, say};

/// The command that makes room in the conversation.
const COMPACT: &str = "compact";

/// One session that an editor has open.
pub(super) struct Live {
    pub(super) id: SessionId,
    /// The id, as the editor writes it.
    pub(super) name: String,
    pub(super) root: PathBuf,
    pub(super) peer: Peer,
    pub(super) house: Arc<dyn House>,
    pub(super) client: ClientCapabilities,
    commands: mpsc::Sender<Command>,
    state: Mutex<State>,
}

struct State {
    offer: Offer,
    turn: Option<Turn>,
    /// Whether a turn runs, be it one that nobody asked for.
    running: bool,
    /// Prompts that are being read.
    arriving: usize,
    /// Whether the editor has cancelled what is being read.
    stopped: bool,
}

/// A prompt that has arrived: what is cancelled from now on is this.
pub(super) struct Arrival(Arc<Live>);

impl Drop for Arrival {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.arriving = state.arriving.saturating_sub(1);
        state.stopped = state.stopped && state.arriving > 0;
    }
}

/// A prompt that waits for the end of its turn.
struct Turn {
    done: oneshot::Sender<Result<StopReason, Error>>,
    /// Whether its turn has begun: another one may have been running.
    begun: bool,
    cancelled: bool,
    kind: TurnKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TurnKind {
    Prompt,
    /// Room is made, which is no turn to the session.
    Compact,
}

/// How a session is introduced.
pub(super) struct Birth {
    pub(super) id: SessionId,
    pub(super) root: PathBuf,
    pub(super) peer: Peer,
    pub(super) house: Arc<dyn House>,
    pub(super) client: ClientCapabilities,
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) offer: Offer,
}

impl Live {
    pub(super) fn new(birth: Birth) -> Self {
        Live {
            name: birth.id.to_string(),
            id: birth.id,
            root: birth.root,
            peer: birth.peer,
            house: birth.house,
            client: birth.client,
            commands: birth.commands,
            state: Mutex::new(State {
                offer: birth.offer,
                turn: None,
                running: false,
                arriving: 0,
                stopped: false,
            }),
        }
    }

    /// A prompt has arrived that will be worked on.
    pub(super) fn arrive(self: &Arc<Self>) -> Arrival {
        self.lock().arriving += 1;
        Arrival(Arc::clone(self))
    }

    /// Works on a prompt until its turn is over.
    pub(super) async fn prompt(&self, blocks: Vec<ContentBlock>) -> Result<StopReason, Error> {
        let message = say::message(blocks, &self.root)?;
        let (kind, command) = match compacting(&message) {
            Some(instructions) => (TurnKind::Compact, Command::Compact { instructions }),
            None => {
                let prompt = Command::Prompt {
                    message,
                    delivery: Delivery::Queue,
                };
                let meant = self.house.meant(self.id, prompt).await;
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
            if state.turn.is_some() {
                let why = "a turn is running in this session; cancel it first, or wait for its end";
                return Err(Error::invalid_request().data(Value::from(why)));
            }
            state.turn = Some(Turn {
                done,
                begun: !state.running,
                cancelled: false,
                kind,
            });
        }
        let sent = self.commands.send(command).await;
        sent.map_err(|_| broken())?;
        ended.await.unwrap_or_else(|_| Err(broken()))
    }

    /// Stops what runs.
    pub(super) async fn cancel(&self) {
        {
            let mut state = self.lock();
            let arriving = state.arriving > 0;
            match state.turn.as_mut() {
                Some(turn) => turn.cancelled = true,
                None => state.stopped = arriving,
            }
        }
        self.command(Command::Interrupt).await;
    }

    /// Passes a command on. A session that is gone says so by its events.
    pub(super) async fn command(&self, command: Command) {
        drop(self.commands.send(command).await);
    }

    /// Whether the editor has asked for the end of the running turn.
    pub(super) fn is_cancelled(&self) -> bool {
        self.lock().turn.as_ref().is_some_and(|turn| turn.cancelled)
    }

    /// A turn begins, asked for or not.
    pub(super) fn turn_started(&self) {
        self.lock().running = true;
    }

    /// What the person said has been heard: the next end of a turn is the end of theirs.
    pub(super) fn heard(&self) {
        if let Some(turn) = self.lock().turn.as_mut() {
            turn.begun = true;
        }
    }

    /// A turn is over.
    pub(super) fn turn_finished(&self, ending: &Ending) {
        let mut state = self.lock();
        state.running = false;
        let Some(turn) = state
            .turn
            .take_if(|turn| turn.kind == TurnKind::Prompt && (turn.begun || turn.cancelled))
        else {
            return;
        };
        let answer = match turn.cancelled {
            true => Ok(StopReason::Cancelled),
            false => reason(ending),
        };
        // An editor that took its question back needs no answer.
        drop(turn.done.send(answer));
    }

    /// Room has been made, or cannot be.
    pub(super) fn compacted(&self) {
        let turn = self.lock().turn.take_if(|turn| turn.kind == TurnKind::Compact);
        if let Some(turn) = turn {
            let reason = match turn.cancelled {
                true => StopReason::Cancelled,
                false => StopReason::EndTurn,
            };
            drop(turn.done.send(Ok(reason)));
        }
    }

    /// What can be chosen, and what is.
    pub(super) fn offer(&self) -> Offer {
        self.lock().offer.clone()
    }

    /// Chooses something.
    pub(super) async fn choose(&self, option: &str, value: &str) -> Result<(), Error> {
        let command = self.lock().offer.choose(option, value)?;
        self.command(command).await;
        Ok(())
    }

    /// The session went on in another mode.
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

    /// Tells the editor which commands there are.
    pub(super) async fn tell_commands(&self) {
        let mut commands = vec![
            AvailableCommand::new(COMPACT, "Sum up the conversation so far, to make room").input(
                AvailableCommandInput::Unstructured(UnstructuredCommandInput::new("what to keep in mind")),
            ),
        ];
        for choice in self.house.commands(self.id).await.unwrap_or_default() {
            let input = UnstructuredCommandInput::new("arguments");
            commands.push(
                AvailableCommand::new(choice.name, choice.about).input(AvailableCommandInput::Unstructured(input)),
            );
        }
        self.update(SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(
            commands,
        )))
        .await;
    }

    /// Tells the person something beside the conversation, in the way their editor can show it.
    pub(super) async fn notice(&self, level: Level, text: String) {
        let can = self
            .client
            .session
            .as_ref()
            .is_some_and(|session| session.notices.is_some());
        let update = match can {
            true => {
                let severity = match level {
                    Level::Info => NoticeSeverity::Info,
                    Level::Warning => NoticeSeverity::Warning,
                };
                SessionUpdate::Notice(Notice::new(severity, text))
            }
            false => SessionUpdate::AgentThoughtChunk(ContentChunk::new(format!("{text}\n\n").into())),
        };
        self.update(update).await;
    }

    /// Tells the editor something about the session. One that is gone does not hear it.
    pub(super) async fn update(&self, update: SessionUpdate) {
        let update = SessionNotification::new(self.name.clone(), update);
        drop(self.peer.tell("session/update", &update).await);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under this lock can be left half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The instructions of a prompt that is the command to make room.
fn compacting(message: &Message) -> Option<Option<String>> {
    let text = message.text();
    let rest = text.trim().strip_prefix('/')?.strip_prefix(COMPACT)?;
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return None;
    }
    Some(Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty()))
}

/// Why a turn ended, in the protocol's words.
fn reason(ending: &Ending) -> Result<StopReason, Error> {
    Ok(match ending {
        Ending::Completed => StopReason::EndTurn,
        Ending::MaxTokens => StopReason::MaxTokens,
        Ending::Refused { .. } => StopReason::Refusal,
        Ending::Interrupted => StopReason::Cancelled,
        Ending::Limit(_) | Ending::Loop { .. } => StopReason::MaxTurnRequests,
        Ending::Failed { error, hint } => {
            let text = match hint.is_empty() {
                true => error.clone(),
                false => format!("{error}; {hint}"),
            };
            return Err(Error::new(-32603, text));
        }
    })
}

fn broken() -> Error {
    Error::internal_error().data(Value::from(
        "the session broke down; its log is whole, and it can be loaded again",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_to_make_room_is_told_from_words_that_look_like_it() {
        for (text, expected) in [
            ("/compact", Some(None)),
            (" /compact keep the names ", Some(Some("keep the names".to_owned()))),
            ("/compactor", None),
            ("compact", None),
        ] {
            assert_eq!(compacting(&Message::user(text)), expected, "{text}");
        }
    }
}
