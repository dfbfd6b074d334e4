//! Pending questions: showing them and answering them by key or by text.

use super::{App, RECENT_INPUT};
use crate::action::{AppEffect, KeyResponse};
use crate::approval::{ApprovalPrompt, ChangeMode};
use crate::input::Input;
use crate::keys::{KeyAction, KeyContext};
use crate::state::PendingQuestion;
use crossterm::event::{KeyCode, KeyEvent};
use session::Answer;

impl App {
    /// Shows the first pending question.
    pub(super) fn show_next_question(&mut self) {
        let first = self.state.questions.front();
        let is_same = match (&self.approval, first) {
            (Some(approval), Some(question)) => approval.is_about(question),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if is_same {
            return;
        }
        if let Some(text) = self.approval.take().and_then(|approval| approval.editing) {
            self.composer.set_text(&text);
        }
        let (is_typing, line) = (self.typed_within(RECENT_INPUT), self.composer.text());
        let mode = ChangeMode::of(&self.state.info);
        self.approval = first.map(|question| ApprovalPrompt::new(question, mode, is_typing, &line));
    }

    /// Passes a key to the approval prompt. Returns `None` if the prompt ignores it.
    pub(super) fn handle_in_approval(&mut self, input: &Input) -> Option<Vec<AppEffect>> {
        let (Input::Key(key), Some(approval)) = (input, &mut self.approval) else {
            return None;
        };
        let question = self.state.questions.front()?.clone();
        // The second key of a sequence and keys for the completion list are not answers.
        if self.pending_key.is_some() || self.composer.is_choosing() {
            return None;
        }
        if approval.editing.is_some() {
            return self.handle_call_edit(*key);
        }
        let line = self.composer.text();
        let response = approval.handle_key(key, &line, &question, &self.keys);
        let is_unrelated = approval.is_unrelated_text();
        let queues = self.keys.action(KeyContext::Composer, *key) == Some(KeyAction::Queue);
        match response {
            // Text below a question is its answer; it is not queued as a prompt.
            KeyResponse::Ignored if queues && !is_unrelated => {
                self.state.flash = (!line.is_empty()).then(|| "enter answers the question; esc clears".to_owned());
                Some(Vec::new())
            }
            response => self.apply_response(response),
        }
    }

    /// Handles a key while a tool call is edited. The text is submitted as it is, whatever it begins with.
    fn handle_call_edit(&mut self, key: KeyEvent) -> Option<Vec<AppEffect>> {
        if key.code == KeyCode::Esc {
            let before = self.approval.as_mut().and_then(|approval| approval.editing.take());
            self.composer.set_text(before.unwrap_or_default());
            return Some(Vec::new());
        }
        let sends = self.keys.action(KeyContext::Composer, key) == Some(KeyAction::Send);
        let text = self.composer.text();
        if !sends || text.trim().is_empty() {
            return None;
        }
        self.with_composer(|composer, cx| composer.clear_text(cx));
        Some(self.answer_with_text(text))
    }

    /// Answers a question and shows the next one.
    pub(super) fn answer(&mut self, question: &PendingQuestion, answer: Answer) -> Vec<AppEffect> {
        self.state
            .questions
            .retain(|other| other.question.id != question.question.id);
        if let Some(call) = &question.question.call {
            self.state.conversation.restart_clock(call);
        }
        self.show_next_question();
        vec![AppEffect::Send(question.answer_command(answer))]
    }

    /// Submits the composer's text as the answer to the question.
    pub(super) fn answer_with_text(&mut self, text: String) -> Vec<AppEffect> {
        let (Some(approval), Some(question)) = (&self.approval, self.state.questions.front().cloned()) else {
            return Vec::new();
        };
        match approval.text_answer(&question, text.clone()) {
            Ok(answer) => self.answer(&question, answer),
            Err(error) => {
                self.composer.set_text(text);
                self.state.flash = Some(error.to_string());
                Vec::new()
            }
        }
    }
}
