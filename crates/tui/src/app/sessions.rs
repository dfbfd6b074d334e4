//! Opening sessions, and switching between those that run.

use super::App;
use crate::action::AppEffect;
use crate::backend::{ErrorRecovery, OpenedSession, SessionTarget, UserError};
use crate::state::AppState;
use crate::views::setup::SetupView;
use policy::ApprovalMode;
use session::{Command, Delivery, NoticeLevel, TurnEnd};

/// Notices about the session that was open before.
pub(crate) struct SwitchNotice {
    notices: Vec<String>,
    /// Whether the new session continues the old one, so that its history is already on screen.
    is_continuation: bool,
}

impl App {
    /// Initialises the state for an opened session.
    pub(crate) fn session_opened(&mut self, opened: &OpenedSession) -> Vec<AppEffect> {
        self.state.reset_for(opened);
        self.held_prompts.clear();
        if let Some(switch) = self.switch_notice.take() {
            match switch.is_continuation {
                true => self.state.conversation.mark_all_printed(),
                false => self.state.conversation.separate(),
            }
            for notice in switch.notices {
                self.show_notice(NoticeLevel::Info, &notice);
            }
        }
        self.with_composer(|composer, cx| composer.request_commands(cx));
        let mut effects = self.keep_chosen_mode(opened.items.is_empty());
        let waiting = self.state.queue.iter();
        effects.extend(waiting.map(|queued| self.prompt_effect(queued.message.clone(), Delivery::Queue)));
        effects
    }

    /// Continues to ask before changes, or to plan in a new session, if the user chose that in this window. Another session
    /// is never allowed more than its configuration.
    fn keep_chosen_mode(&mut self, is_new: bool) -> Vec<AppEffect> {
        let info = &mut self.state.info;
        match self.chosen_mode {
            Some((_, mode @ ApprovalMode::Ask)) if info.edit_approval != Some(mode) => {
                info.edit_approval = Some(mode);
                vec![AppEffect::Send(Command::SetEditApproval { mode })]
            }
            Some(("plan", _)) if is_new && info.mode != "plan" => {
                let name = "plan".to_owned();
                vec![AppEffect::Send(Command::SetMode { name })]
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// Handles a session that could not be opened: shows setup if a key is missing, otherwise quits.
    pub(crate) fn open_failed(&mut self, error: &UserError) -> Vec<AppEffect> {
        match error.recovery {
            // Prompts entered meanwhile are sent after setup.
            ErrorRecovery::Setup => {
                self.views.push(Box::new(SetupView::without_session(&error.message)));
                Vec::new()
            }
            ErrorRecovery::Unknown => {
                for queued in std::mem::take(&mut self.state.queue) {
                    self.composer.restore_message(&queued.message);
                }
                vec![AppEffect::Quit]
            }
        }
    }

    /// Prepares for opening another session. Queued prompts were meant for the old session, so they return to the
    /// composer.
    pub(crate) fn leave_session(&mut self, target: &SessionTarget) {
        let Some(session) = self.state.session else { return };
        let mut notices = Vec::new();
        let waiting = std::mem::take(&mut self.state.queue);
        waiting
            .iter()
            .for_each(|queued| self.composer.restore_message(&queued.message));
        if !waiting.is_empty() {
            notices.push("queued prompts were moved back to the input".to_owned());
        }
        let copied = match target {
            SessionTarget::Fork { session, upto } => Some((*session, upto.is_none())),
            SessionTarget::New | SessionTarget::Newest | SessionTarget::Named(_) => None,
        };
        if copied.is_some() {
            notices.push("this is a fork; the original session is unchanged".to_owned());
        }
        self.switch_notice = Some(SwitchNotice {
            notices,
            is_continuation: copied == Some((session, true)),
        });
    }

    /// Takes the state of the open session, which continues in the background with its queued prompts.
    pub(crate) fn detach_session(&mut self) -> AppState {
        if let Some(text) = self.approval.take().and_then(|approval| approval.editing) {
            self.composer.set_text(&text);
        }
        let mut state = std::mem::take(&mut self.state);
        self.state.branch.clone_from(&state.branch);
        self.state.others = std::mem::take(&mut state.others);
        self.held_prompts.clear();
        self.switch_notice = Some(SwitchNotice {
            notices: vec!["the other session continues in the background; /sessions switches to it".to_owned()],
            is_continuation: false,
        });
        state
    }

    /// Shows a session again that continued in the background.
    pub(crate) fn attach_session(&mut self, mut state: AppState) -> Vec<AppEffect> {
        state.others = std::mem::take(&mut self.state.others);
        state.flash = None;
        state.conversation.print_again();
        state.conversation.separate();
        let heading = vec![format!("session: {}", state.title())];
        state.conversation.set_heading(heading);
        // Prompts that were entered while no session was open.
        let entered = std::mem::take(&mut self.state.queue);
        self.state = state;
        self.switch_notice = None;
        let held = self
            .state
            .queue
            .iter()
            .filter(|queued| queued.delivery == Delivery::Queue);
        self.held_prompts = held.map(|queued| queued.message.clone()).collect();
        entered
            .iter()
            .for_each(|queued| self.composer.restore_message(&queued.message));
        self.show_next_question();
        self.with_composer(|composer, cx| composer.request_commands(cx));
        match self.state.goal.is_some() && !self.state.is_working() {
            true => self.pursue_goal(&TurnEnd::Completed),
            false => Vec::new(),
        }
    }
}
