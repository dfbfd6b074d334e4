//! Application state and the effects of keys and events. Does not access the terminal.

mod goal;
mod questions;
mod results;
mod sessions;

pub(crate) use goal::PursuedGoal;
pub(crate) use sessions::SwitchNotice;

use crate::action::{AppAction, AppEffect, AsyncResult, KeyResponse};
use crate::approval::ApprovalPrompt;
use crate::backend::{Backend, ConflictChoice, OperationResult, RestoreRequest, SessionTarget, UserError};
use crate::composer::Composer;
use crate::input::Input;
use crate::keys::{KeyAction, KeyChord, KeyContext, KeyMap, KeyMatch};
use crate::screen::ColorDepth;
use crate::state::{AppState, LiveActivity, WaitingPrompt};
use crate::theme::Theme;
use crate::view::{ModalView, RedrawSignal, ViewContext};
use crate::views::{self, transcript::TranscriptView};
use crossterm::event::{KeyCode, KeyEvent};
use model::{Effort, Message};
use policy::ApprovalMode;
use session::{Command, Delivery, Event, NoticeLevel, TurnEnd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// All front-end state except the terminal.
pub(crate) struct App {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) state: AppState,
    pub(crate) composer: Composer,
    /// Open views; the last one receives keys.
    pub(crate) views: Vec<Box<dyn ModalView>>,
    pub(crate) theme: Theme,
    /// The terminal's colours.
    pub(crate) depth: ColorDepth,
    pub(crate) keys: KeyMap,
    pub(crate) redraw: RedrawSignal,
    /// State of the approval prompt that is shown.
    pub(crate) approval: Option<ApprovalPrompt>,
    /// Whether the quit key was pressed once.
    quit_requested: bool,
    /// Time of the last Esc that had nothing to interrupt.
    last_escape: Option<Instant>,
    /// The first key of an unfinished key sequence.
    pending_key: Option<KeyChord>,
    /// Time of the last user input.
    last_input: Option<Instant>,
    /// Queued prompts as last reported to the session.
    held_prompts: Vec<Message>,
    /// Notices to show when the session that is being opened is ready.
    pub(crate) switch_notice: Option<SwitchNotice>,
    /// The mode and the approval of changes that the user switched to.
    chosen_mode: Option<(&'static str, ApprovalMode)>,
}

/// State before a batch of events, to detect what needs the user's attention.
pub(crate) struct EventBaseline {
    questions: usize,
    turn_elapsed: Option<Duration>,
}

/// After a turn longer than this, the user is notified.
const LONG_TURN: Duration = Duration::from_secs(5);

/// A message in the status line disappears after this time.
const FLASH_TIME: Duration = Duration::from_secs(3);

/// Input within this time before a question arrives counts as typing.
const RECENT_INPUT: Duration = Duration::from_secs(1);

/// Two keys within this time are a double press.
const DOUBLE_PRESS: Duration = Duration::from_millis(1_500);

impl App {
    /// Creates an app without a session.
    pub(crate) fn new(backend: Arc<dyn Backend>, theme: Theme, keys: KeyMap, vim: bool) -> Self {
        let mut app = App {
            backend,
            state: AppState::default(),
            composer: Composer::default(),
            views: Vec::new(),
            theme,
            depth: ColorDepth::Basic,
            keys,
            redraw: RedrawSignal::default(),
            approval: None,
            quit_requested: false,
            last_escape: None,
            pending_key: None,
            last_input: None,
            held_prompts: Vec::new(),
            switch_notice: None,
            chosen_mode: None,
        };
        app.composer.set_vim(vim);
        app.with_composer(|composer, cx| composer.request_draft(cx));
        app
    }

    /// Returns the command that reports queued prompts to the session if they changed. The session stores them in case
    /// this process is killed.
    pub(crate) fn held_prompts_command(&mut self) -> Option<Command> {
        self.state.session?;
        let waiting = self
            .state
            .queue
            .iter()
            .filter(|queued| queued.delivery == Delivery::Queue);
        let messages: Vec<Message> = waiting.map(|queued| queued.message.clone()).collect();
        if messages == self.held_prompts {
            return None;
        }
        self.held_prompts.clone_from(&messages);
        Some(Command::HoldPrompts { messages })
    }

    /// Returns the shared context for drawing and key handling.
    pub(crate) fn cx(&self) -> ViewContext<'_> {
        ViewContext {
            backend: &self.backend,
            state: &self.state,
            theme: &self.theme,
            keys: &self.keys,
            redraw: &self.redraw,
        }
    }

    /// Returns the notification to send when the user is not looking: a new question, or the end of a long turn.
    pub(crate) fn attention_message(&self, before: &EventBaseline) -> Option<&'static str> {
        if self.state.questions.len() > before.questions {
            return Some("a question needs your answer");
        }
        let ended = before.turn_elapsed.is_some_and(|elapsed| elapsed >= LONG_TURN) && !self.state.is_working();
        ended.then_some("the turn has ended")
    }

    /// Updates what is not reported by events; returns whether something visible changed.
    pub(crate) fn refresh(&mut self) -> bool {
        let jobs = match self.state.session {
            Some(_) => self.backend.running_jobs(),
            None => 0,
        };
        let mut changed = std::mem::replace(&mut self.state.running_jobs, jobs) != jobs;
        let is_old = |since: Option<Instant>| since.is_none_or(|since| since.elapsed() >= FLASH_TIME);
        if self.state.flash.is_some() && is_old(self.last_input) {
            self.state.flash = None;
            self.quit_requested = false;
            self.last_escape = None;
            changed = true;
        }
        changed
    }

    /// Whether [`App::refresh`] is useful although no event arrives.
    pub(crate) fn needs_refresh(&self) -> bool {
        self.state.running_jobs > 0 || self.state.flash.is_some()
    }

    /// Whether there was user input within this time.
    fn typed_within(&self, within: Duration) -> bool {
        self.last_input.is_some_and(|time| time.elapsed() < within)
    }

    /// Whether the user is writing or has a view open.
    pub(crate) fn is_composing(&self) -> bool {
        !self.composer.is_empty() || !self.views.is_empty()
    }

    /// Captures the state before a batch of events.
    pub(crate) fn baseline(&self) -> EventBaseline {
        EventBaseline {
            questions: self.state.questions.len(),
            turn_elapsed: self.state.turn.as_ref().map(crate::state::RunningTurn::elapsed),
        }
    }

    /// Applies the results of background operations.
    pub(crate) fn apply_results(&mut self) -> Vec<AppEffect> {
        let actions = self.with_composer(|composer, cx| composer.apply_results(cx));
        actions
            .into_iter()
            .flat_map(|action| self.apply_action(action))
            .collect()
    }

    fn with_composer<T>(&mut self, act: impl FnOnce(&mut Composer, &ViewContext<'_>) -> T) -> T {
        let mut composer = std::mem::take(&mut self.composer);
        let answer = act(&mut composer, &self.cx());
        self.composer = composer;
        answer
    }

    /// Applies a session event.
    pub(crate) fn handle_event(&mut self, event: &Event) -> Vec<AppEffect> {
        self.state.handle_event(event);
        let mut views = std::mem::take(&mut self.views);
        for view in &mut views {
            view.handle_event(event, &self.cx());
        }
        self.views = views;
        self.show_next_question();
        match event {
            // The user interrupted the turn: prompts that were not delivered return to the composer.
            Event::TurnFinished {
                ending: TurnEnd::Interrupted,
                ..
            } => {
                let back = std::mem::take(&mut self.state.queue);
                back.iter()
                    .for_each(|queued| self.composer.restore_message(&queued.message));
                Vec::new()
            }
            Event::TurnFinished { ending, .. } => {
                let effects = self.send_queued();
                match effects.is_empty() {
                    true => self.pursue_goal(ending),
                    false => effects,
                }
            }
            _ => Vec::new(),
        }
    }

    /// Sends the first queued prompt after the turn has ended.
    fn send_queued(&mut self) -> Vec<AppEffect> {
        let next = self.state.deliver_queued();
        next.map(|message| self.prompt_effect(message, Delivery::Steer))
            .into_iter()
            .collect()
    }

    /// Returns the effect that sends a prompt. A prompt that begins with a slash may be an MCP prompt, which the server
    /// expands.
    fn prompt_effect(&self, message: Message, delivery: Delivery) -> AppEffect {
        let is_command = message.text().starts_with('/');
        let command = Command::Prompt { message, delivery };
        if is_command {
            AppEffect::later(self.backend.expand_prompt(command), AsyncResult::Command)
        } else {
            AppEffect::Send(command)
        }
    }

    /// Handles user input.
    pub(crate) fn handle_input(&mut self, input: Input) -> Vec<AppEffect> {
        let effects = self.dispatch_input(input);
        if let Some(approval) = &mut self.approval {
            approval.text_changed(&self.composer.text());
        }
        effects
    }

    fn dispatch_input(&mut self, input: Input) -> Vec<AppEffect> {
        match &input {
            Input::Key(_) | Input::Paste(_) => self.last_input = Some(Instant::now()),
            Input::Focus(_) => {}
        }
        self.state.flash = None;
        let quit_requested = std::mem::take(&mut self.quit_requested);
        if !matches!(&input, Input::Key(key) if key.code == KeyCode::Esc) {
            self.last_escape = None;
        }
        if let Some(effects) = self.handle_in_view(&input) {
            return effects;
        }
        if let Some(effects) = self.handle_in_approval(&input) {
            return effects;
        }
        if let (Input::Key(key), true) = (&input, self.pending_key.is_some()) {
            return match self.keys.lookup(KeyContext::Composer, *key, &mut self.pending_key) {
                KeyMatch::Action(action) => self.perform(action, quit_requested),
                KeyMatch::Prefix | KeyMatch::Unbound => Vec::new(),
            };
        }
        let response = self.with_composer(|composer, cx| composer.handle(input.clone(), cx));
        match (response, input) {
            (KeyResponse::Ignored, Input::Key(key)) => {
                match self.keys.lookup(KeyContext::Everywhere, key, &mut self.pending_key) {
                    KeyMatch::Action(action) => self.perform(action, quit_requested),
                    KeyMatch::Prefix => self.begin_key_sequence(key),
                    KeyMatch::Unbound => match self
                        .keys
                        .action(KeyContext::Conversation, key)
                        .and_then(TranscriptView::scrolled)
                    {
                        Some(transcript) => {
                            self.views.push(Box::new(transcript));
                            Vec::new()
                        }
                        None => self.begin_key_sequence(key),
                    },
                }
            }
            (KeyResponse::Action(action), _) => self.apply_action(action),
            (KeyResponse::Handled | KeyResponse::Ignored, _) => Vec::new(),
        }
    }

    /// Starts a key sequence of the composer.
    fn begin_key_sequence(&mut self, key: KeyEvent) -> Vec<AppEffect> {
        if self.pending_key.is_none() {
            // The composer has already handled single keys.
            self.keys.lookup(KeyContext::Composer, key, &mut self.pending_key);
        }
        Vec::new()
    }

    /// Passes the input to the top view. Returns `None` if the view ignores it.
    fn handle_in_view(&mut self, input: &Input) -> Option<Vec<AppEffect>> {
        let mut view = self.views.pop()?;
        let response = view.handle(input.clone(), &self.cx());
        self.views.push(view);
        self.apply_response(response)
    }

    /// Applies a component's response. Returns `None` if it ignored the input.
    fn apply_response(&mut self, response: KeyResponse) -> Option<Vec<AppEffect>> {
        match response {
            KeyResponse::Ignored => None,
            KeyResponse::Handled => Some(Vec::new()),
            KeyResponse::Action(action) => Some(self.apply_action(action)),
        }
    }

    /// Submits a prompt.
    pub(crate) fn submit_prompt(&mut self, message: Message, delivery: Delivery) -> Vec<AppEffect> {
        // Queued prompts stay here until the turn ends, so that they can be edited.
        let waits = delivery == Delivery::Queue && self.state.is_working();
        let delivery = if waits { Delivery::Queue } else { Delivery::Steer };
        self.state.queue.push_back(WaitingPrompt {
            message: message.clone(),
            delivery,
        });
        // Without a session, the prompt is sent when one is open.
        match self.state.session {
            Some(_) if !waits => vec![self.prompt_effect(message, delivery)],
            Some(_) | None => Vec::new(),
        }
    }

    fn perform(&mut self, action: KeyAction, quit_requested: bool) -> Vec<AppEffect> {
        match action {
            KeyAction::Interrupt if self.state.is_working() => vec![AppEffect::Send(Command::Interrupt)],
            KeyAction::Interrupt => self.handle_escape(),
            KeyAction::Cancel | KeyAction::Leave if quit_requested => vec![AppEffect::Quit],
            KeyAction::Cancel => self.cancel(),
            KeyAction::Leave if self.state.is_working() => {
                self.warn_before_quit("press again to quit and interrupt the turn")
            }
            KeyAction::Leave => match self.lost_by_quitting() {
                Some(text) => self.warn_before_quit(text),
                None => vec![AppEffect::Quit],
            },
            KeyAction::Background => self.move_to_background(),
            KeyAction::Suspend => vec![AppEffect::Suspend],
            KeyAction::Redraw => vec![AppEffect::Redraw],
            KeyAction::NewSession => vec![AppEffect::OpenSession(SessionTarget::New)],
            KeyAction::NextMode => self.next_mode(),
            KeyAction::Copy => self.copy_reply(),
            KeyAction::UndoTurn => self.restore_files(RestoreRequest::Undo, ConflictChoice::Ask),
            KeyAction::RedoTurn => self.restore_files(RestoreRequest::Redo, ConflictChoice::Ask),
            action => match views::open(action, self.composer.commands(), &self.cx()) {
                Some(view) => {
                    self.views.push(view);
                    Vec::new()
                }
                None => {
                    let response = self.with_composer(|composer, cx| composer.perform(action, cx));
                    self.apply_response(response).unwrap_or_default()
                }
            },
        }
    }

    /// Moves the running command to the background; without one, moves the caret.
    fn move_to_background(&mut self) -> Vec<AppEffect> {
        if self.state.is_working() && self.backend.move_to_background() {
            self.state.flash = Some("moved to the background · /jobs".into());
            return Vec::new();
        }
        let response = self.with_composer(|composer, cx| composer.perform(KeyAction::Left, cx));
        self.apply_response(response).unwrap_or_default()
    }

    /// The warning about what continues in the background and would end, if anything does.
    fn lost_by_quitting(&self) -> Option<&'static str> {
        let others = &self.state.others;
        if others.iter().any(|other| other.activity != LiveActivity::Idle) {
            Some("press again to quit and interrupt the other sessions · /sessions")
        } else if self.state.running_jobs > 0 || others.iter().any(|other| other.has_jobs) {
            Some("press again to quit and stop the background jobs · /jobs")
        } else {
            None
        }
    }

    /// Interrupts the turn, or clears the composer, or quits on the second press.
    fn cancel(&mut self) -> Vec<AppEffect> {
        match &mut self.state.turn {
            Some(turn) if turn.interrupted => self.warn_before_quit("interrupting the turn; press again to quit"),
            Some(turn) => {
                turn.interrupted = true;
                vec![AppEffect::Send(Command::Interrupt)]
            }
            None if self.composer.is_empty() => {
                self.warn_before_quit(self.lost_by_quitting().unwrap_or("press again to quit"))
            }
            None => {
                self.with_composer(|composer, cx| composer.clear(cx));
                Vec::new()
            }
        }
    }

    fn warn_before_quit(&mut self, text: &str) -> Vec<AppEffect> {
        self.quit_requested = true;
        self.state.flash = Some(text.into());
        Vec::new()
    }

    /// Handles Esc with nothing to interrupt: a double press clears the input, or opens rewind if there is none.
    fn handle_escape(&mut self) -> Vec<AppEffect> {
        let twice = self
            .last_escape
            .take()
            .is_some_and(|before| before.elapsed() < DOUBLE_PRESS);
        if !self.composer.is_empty() {
            match twice {
                true => self.with_composer(|composer, cx| composer.clear_text(cx)),
                false => {
                    self.last_escape = Some(Instant::now());
                    self.state.flash = Some("esc again to clear the input".into());
                }
            }
            return Vec::new();
        }
        if twice {
            return self.perform(KeyAction::Rewind, false);
        }
        if self.state.conversation.first_prompt().is_some() {
            self.last_escape = Some(Instant::now());
            self.state.flash = Some("esc again to rewind to an earlier prompt".into());
        }
        Vec::new()
    }

    /// Switches from asking before each change to accepting edits, then to planning, and back.
    fn next_mode(&mut self) -> Vec<AppEffect> {
        let info = &mut self.state.info;
        if info.permission == "read-only" {
            self.state.flash = Some("read-only: nothing is changed; `--permission workspace` allows changes".into());
            return Vec::new();
        }
        let (mode, approval) = match (info.mode.as_str(), info.edit_approval) {
            ("code", Some(ApprovalMode::Ask)) => ("code", ApprovalMode::Allow),
            ("code", Some(ApprovalMode::Allow) | None) => ("plan", ApprovalMode::Allow),
            ("plan", _) => ("code", ApprovalMode::Ask),
            (_, _) => ("code", ApprovalMode::Allow),
        };
        info.edit_approval = Some(approval);
        self.chosen_mode = Some((mode, approval));
        let mut effects = vec![AppEffect::Send(Command::SetEditApproval { mode: approval })];
        if info.mode != mode {
            effects.push(AppEffect::Send(Command::SetMode { name: mode.to_owned() }));
        }
        self.state.flash = Some(match (mode, approval) {
            ("plan", _) => "plan: hew plans and changes nothing".into(),
            (_, ApprovalMode::Ask) => "ask: hew asks before each change and command".into(),
            (_, ApprovalMode::Allow) => "accept edits: hew changes files in the project without asking".into(),
        });
        effects
    }

    fn copy_reply(&mut self) -> Vec<AppEffect> {
        let text = self.state.conversation.last_reply();
        if text.is_empty() {
            self.state.flash = Some("there is no reply to copy".into());
            return Vec::new();
        }
        self.state.flash = Some(format!("copied {} characters", text.chars().count()));
        vec![AppEffect::Copy(text)]
    }

    /// Checks whether a model is usable, then switches to it.
    fn choose_model(&mut self, name: String, effort: Option<Effort>) -> Vec<AppEffect> {
        let resolving = self.backend.resolve_model(name);
        vec![AppEffect::later(resolving, move |model| {
            AsyncResult::ModelUsable(model, effort)
        })]
    }

    /// Sends a command. A model change is sent only after the model was found usable.
    fn send_command(&mut self, command: Command) -> Vec<AppEffect> {
        match command {
            Command::SetModel { name } => self.choose_model(name, None),
            Command::SetMode { name } => {
                self.chosen_mode = match name.as_str() {
                    "plan" => Some(("plan", ApprovalMode::Allow)),
                    _ => self.chosen_mode.filter(|(_, approval)| *approval == ApprovalMode::Ask),
                };
                self.state.flash = Some(format!("mode: {name}"));
                vec![AppEffect::Send(Command::SetMode { name })]
            }
            command => vec![AppEffect::Send(command)],
        }
    }

    fn apply_action(&mut self, action: AppAction) -> Vec<AppEffect> {
        match action {
            AppAction::Key(action) => return self.perform(action, false),
            AppAction::CloseView => drop(self.views.pop()),
            AppAction::OpenView(view) => self.views.push(view),
            AppAction::Restore(request, choice) => return self.restore_files(request, choice),
            AppAction::Send(command) => return self.send_command(command),
            AppAction::Submit { message, delivery } => return self.submit(message, delivery),
            AppAction::Prompt(text) => return self.submit_prompt(Message::user(text), Delivery::Steer),
            AppAction::Answer(answer) => {
                self.with_composer(|composer, cx| composer.clear_text(cx));
                if let Some(question) = self.state.questions.front().cloned() {
                    return self.answer(&question, answer);
                }
            }
            AppAction::EditCall(text) => {
                if let Some(approval) = &mut self.approval {
                    approval.editing = Some(String::new());
                }
                self.composer.set_text(&text);
            }
            AppAction::EditQueued => self.edit_queued(),
            AppAction::SetInput(text) => self.composer.set_text(&text),
            AppAction::InsertInput(text) => self.composer.insert(&text),
            AppAction::ClearInput => self.with_composer(|composer, cx| composer.clear_text(cx)),
            AppAction::OpenEditor => return vec![AppEffect::OpenEditor],
            AppAction::EditFile(path) => return vec![AppEffect::EditFile(path)],
            AppAction::Goal(text) => return self.set_goal(&text),
            AppAction::ChooseModel { name, effort } => return self.choose_model(name, effort),
            AppAction::SetEffort(effort) => {
                let effort = effort.or(self.state.info.default_effort);
                let name = effort.map_or("default", views::effort::effort_name);
                self.state.flash = Some(format!("effort: {name}, for this session"));
                self.state.info.effort = effort.map_or_else(String::new, |_| name.to_owned());
                return vec![AppEffect::Send(Command::SetEffort { effort })];
            }
            AppAction::OpenSession(target) => return vec![AppEffect::OpenSession(target)],
            AppAction::RenameSession(session, title) => {
                let renaming = self.backend.rename_session(session, title.clone());
                let renamed = move |message| AsyncResult::Renamed {
                    session,
                    title,
                    message,
                };
                return vec![AppEffect::later(renaming, renamed)];
            }
            AppAction::AwaitOperation(operation) => {
                return vec![AppEffect::later(operation, AsyncResult::Operation)];
            }
            AppAction::SetTheme(name) => return self.set_theme(name),
            AppAction::SetVim(on) => self.composer.set_vim(on),
            AppAction::Copy(text) => return vec![AppEffect::Copy(text)],
            AppAction::Notice(text) => self.show_notice(NoticeLevel::Info, &text),
            AppAction::Flash(text) => self.state.flash = Some(text),
            AppAction::All(actions) => {
                return actions
                    .into_iter()
                    .flat_map(|action| self.apply_action(action))
                    .collect();
            }
            AppAction::Demo => return vec![AppEffect::Demo],
            AppAction::Quit => return vec![AppEffect::Quit],
        }
        Vec::new()
    }

    /// Submits the composer's text: as an answer if a question is pending, otherwise as a prompt.
    fn submit(&mut self, message: Message, delivery: Delivery) -> Vec<AppEffect> {
        match &self.approval {
            // Text begun before the question arrived, or queued for later, is not an answer.
            Some(approval) if !approval.is_unrelated_text() && delivery != Delivery::Queue => {
                self.answer_with_text(message.text())
            }
            Some(_) | None => self.submit_prompt(message, delivery),
        }
    }

    /// Returns the last queued prompt to the composer.
    fn edit_queued(&mut self) {
        let last = self
            .state
            .queue
            .iter()
            .rposition(|queued| queued.delivery == Delivery::Queue);
        if let Some(queued) = last.and_then(|last| self.state.queue.remove(last)) {
            self.composer.restore_message(&queued.message);
        }
    }

    /// Uses a theme, adapted to the terminal's colours.
    pub(crate) fn use_theme(&mut self, theme: Theme) {
        self.theme = theme.for_depth(self.depth);
    }

    /// Uses a theme and saves the choice.
    fn set_theme(&mut self, name: String) -> Vec<AppEffect> {
        match Theme::find(&name, &self.backend.user_themes()) {
            Ok(theme) => {
                self.use_theme(theme);
                let saving = self.backend.change_setting("tui.theme".into(), name.clone());
                let saved = move |saved: String| {
                    AsyncResult::Operation(OperationResult {
                        message: format!("theme: {name}; {saved}"),
                        log_entry: None,
                    })
                };
                vec![AppEffect::later(saving, saved)]
            }
            Err(error) => {
                self.state.flash = Some(error.to_string());
                Vec::new()
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn skip_grace_period(&mut self) {
        if let Some(approval) = &mut self.approval {
            approval.skip_grace_period();
        }
    }

    /// Shows a message in the status line for a short time.
    pub(crate) fn show_flash(&mut self, text: String) {
        self.state.flash = Some(text);
        self.last_input = Some(Instant::now());
    }

    /// Shows a notice that stays in the history.
    pub(crate) fn show_notice(&mut self, level: NoticeLevel, text: &str) {
        self.state.conversation.notice(level, text);
    }

    /// Shows an error as a notice.
    pub(crate) fn show_error(&mut self, error: &UserError) {
        self.show_notice(NoticeLevel::Warning, &error.with_hint());
    }
}
