//! Opening, switching and closing sessions. A session that is still working when the user opens another one continues in
//! the background.

use super::{CLOSE_TIMEOUT, EVENT_BATCH, EventLoop};
use crate::backend::{OpenedSession, SessionTarget, UserError};
use crate::state::{AppState, LiveActivity, LiveSession};
use model::Message;
use session::{Command, Delivery, Event, NoticeLevel, SessionId, TurnEnd};
use std::future::poll_fn;
use std::io::{self, Write};
use std::task::Poll;
use tokio::sync::mpsc;

/// Channels of an open session.
pub(super) struct SessionChannels {
    pub(super) id: SessionId,
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) events: mpsc::Receiver<Event>,
}

/// A session that continues while another one is shown.
pub(super) struct BackgroundSession {
    state: AppState,
    channels: SessionChannels,
}

/// What a background session needs from the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BackgroundNews {
    None,
    Question,
    TurnEnded,
}

impl BackgroundSession {
    fn row(&self) -> LiveSession {
        let activity = match (self.state.questions.is_empty(), self.state.is_working()) {
            (false, _) => LiveActivity::WaitsForUser,
            (true, true) => LiveActivity::Works,
            (true, false) => LiveActivity::Idle,
        };
        LiveSession {
            id: self.channels.id,
            title: self.state.title(),
            activity,
            has_jobs: self.state.running_jobs > 0,
        }
    }

    /// Applies an event; sends the next queued prompt when a turn has ended.
    async fn handle_event(&mut self, event: &Event) -> BackgroundNews {
        let questions = self.state.questions.len();
        self.state.handle_event(event);
        if let Event::TurnFinished { ending, .. } = event {
            if *ending != TurnEnd::Interrupted
                && let Some(message) = self.state.deliver_queued()
            {
                self.send(message).await;
                return BackgroundNews::None;
            }
            return BackgroundNews::TurnEnded;
        }
        match self.state.questions.len() > questions {
            true => BackgroundNews::Question,
            false => BackgroundNews::None,
        }
    }

    async fn send(&self, message: Message) {
        let delivery = Delivery::Steer;
        // A closed session is reported through its events.
        drop(self.channels.commands.send(Command::Prompt { message, delivery }).await);
    }
}

/// Receives events of the background sessions; never completes without one. Returns the index of the session.
pub(super) async fn receive_background(sessions: &mut [BackgroundSession], events: &mut Vec<Event>) -> usize {
    poll_fn(|cx| {
        for (index, session) in sessions.iter_mut().enumerate() {
            let received = session.channels.events.poll_recv_many(cx, events, EVENT_BATCH);
            if received.is_ready() {
                return Poll::Ready(index);
            }
        }
        Poll::Pending
    })
    .await
}

impl<W: Write> EventLoop<W> {
    /// Processes events of a background session; without events, the session has ended.
    pub(super) async fn process_background(&mut self, index: usize, events: &mut Vec<Event>) -> io::Result<()> {
        let Some(session) = self.background.get_mut(index) else {
            return Ok(());
        };
        if events.is_empty() {
            let ended = self.background.remove(index);
            self.app.backend.close(ended.channels.id).await;
            self.list_background();
            return Ok(());
        }
        let mut news = BackgroundNews::None;
        for event in events.drain(..) {
            match session.handle_event(&event).await {
                BackgroundNews::None => {}
                found => news = found,
            }
        }
        let title = session.row().title;
        let text = match news {
            BackgroundNews::None => None,
            BackgroundNews::Question => Some(format!("“{title}” needs your answer · /sessions")),
            BackgroundNews::TurnEnded => Some(format!("“{title}” has ended its turn · /sessions")),
        };
        self.list_background();
        if let Some(text) = text {
            self.notify_user(&text)?;
            self.app.show_flash(text);
            self.dirty = true;
        }
        Ok(())
    }

    /// Updates the list of background sessions for the screen.
    fn list_background(&mut self) {
        let rows: Vec<LiveSession> = self.background.iter().map(BackgroundSession::row).collect();
        if self.app.state.others != rows {
            self.app.state.others = rows;
            self.dirty = true;
        }
    }

    /// Leaves the open session and opens another one.
    pub(super) async fn switch_session(&mut self, target: SessionTarget) {
        // An empty session is not stored; a new one replaces it.
        let has_content = self.app.state.conversation.has_content();
        self.previous = self.app.state.session.map(|id| match has_content {
            true => SessionTarget::Named(id.to_string()),
            false => SessionTarget::New,
        });
        if self.app.state.is_working() || self.app.state.running_jobs > 0 {
            self.send_to_background().await;
        } else {
            self.app.leave_session(&target);
            if let Some(command) = self.app.held_prompts_command() {
                self.send(command).await;
            }
            self.close_session().await;
            self.app.state.session = None;
        }
        self.open_session(target).await;
    }

    /// Keeps the open session running in the background.
    async fn send_to_background(&mut self) {
        if let Some(command) = self.app.held_prompts_command() {
            self.send(command).await;
        }
        let state = self.app.detach_session();
        if let Some(channels) = self.channels.take() {
            self.background.push(BackgroundSession { state, channels });
        }
        self.list_background();
    }

    /// Opens a session, or shows it again if it runs in the background.
    pub(super) async fn open_session(&mut self, target: SessionTarget) {
        let running = self.background.iter().position(|session| match &target {
            SessionTarget::Named(id) => session.channels.id.to_string() == *id,
            SessionTarget::New | SessionTarget::Newest | SessionTarget::Fork { .. } => false,
        });
        let Some(index) = running else {
            self.opening = Some(self.app.backend.open(target));
            return;
        };
        let BackgroundSession { state, channels } = self.background.remove(index);
        self.app.backend.activate(channels.id);
        self.channels = Some(channels);
        self.previous = None;
        let effects = self.app.attach_session(state);
        self.list_background();
        // These effects do not access the terminal.
        drop(Box::pin(self.apply_effects(effects)).await);
        self.branch = Some(self.app.backend.git_branch());
        self.dirty = true;
    }

    pub(super) async fn session_opened(&mut self, opened: Result<OpenedSession, UserError>) {
        let effects = match opened {
            Ok(mut opened) => {
                let failed = self.open_error.take().map(|error| error.with_hint());
                opened.notices.extend(failed.filter(|_| self.previous.is_some()));
                self.previous = None;
                let effects = self.app.session_opened(&opened);
                let OpenedSession {
                    id, commands, events, ..
                } = opened;
                self.channels = Some(SessionChannels { id, commands, events });
                effects
            }
            Err(error) => {
                // Return to the previous session and report the error.
                if let (Some(left), None) = (self.previous.clone(), &self.open_error) {
                    self.app.switch_notice = None;
                    self.open_session(left).await;
                    match self.opening {
                        Some(_) => self.open_error = Some(error),
                        // The session was still running.
                        None => self.app.show_notice(NoticeLevel::Warning, &error.with_hint()),
                    }
                    return;
                }
                let effects = self.app.open_failed(&error);
                self.open_error = Some(error);
                effects
            }
        };
        // These effects do not access the terminal.
        drop(Box::pin(self.apply_effects(effects)).await);
        match (
            std::mem::take(&mut self.continue_turn),
            self.app.state.info.has_unfinished_turn,
        ) {
            (true, true) => self.send(Command::Continue).await,
            (false, true) => {
                let text = "the last turn was not finished; /continue continues it";
                self.app.show_notice(NoticeLevel::Warning, text);
            }
            (_, false) => {}
        }
        self.branch = Some(self.app.backend.git_branch());
    }

    /// Closes the open session, waiting a limited time for it to stop.
    pub(super) async fn close_session(&mut self) {
        if let Some(channels) = self.channels.take() {
            self.close_channels(channels).await;
        }
    }

    /// Closes all sessions.
    pub(super) async fn close_all(&mut self) {
        self.close_session().await;
        for session in std::mem::take(&mut self.background) {
            self.close_channels(session.channels).await;
        }
    }

    async fn close_channels(&self, channels: SessionChannels) {
        let SessionChannels {
            id,
            commands,
            mut events,
        } = channels;
        drop(commands.send(Command::Interrupt).await);
        drop(commands.send(Command::Close).await);
        drop(commands);
        let drain = async { while events.recv().await.is_some() {} };
        // Sessions that do not stop by then end with the process.
        drop(tokio::time::timeout(CLOSE_TIMEOUT, drain).await);
        self.app.backend.close(id).await;
    }
}
