//! The approval prompt above the composer. Text typed below it is a free-form answer, unless it is exactly `yes`, `no`, the
//! letter or the numbers of offered answers, so that no sentence is taken for approval.

mod details;
mod rows;

use crate::action::{AppAction, KeyResponse};
use crate::backend::SessionInfo;
use crate::keys::{KeyAction, KeyChord, KeyContext, KeyMap};
use crate::state::PendingQuestion;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use policy::{Action, ApprovalMode, GrantScope, PathArea};
use serde_json::Value;
use session::{Answer, QuestionId, QuestionSubject};
use std::time::{Duration, Instant};

/// Keys are ignored for this time if the user was typing when the question arrived.
const TYPING_GRACE: Duration = Duration::from_millis(600);
/// Keys are ignored for this time otherwise.
const SHORT_GRACE: Duration = Duration::from_millis(250);

/// Answers to a permission question, in display order.
const ANSWERS: [KeyAction; 8] = [
    KeyAction::ApproveOnce,
    KeyAction::ApproveNetwork,
    KeyAction::ApproveSession,
    // Accepts all changes in the project.
    KeyAction::NextMode,
    KeyAction::ApproveProject,
    KeyAction::ApproveAlways,
    KeyAction::Reject,
    KeyAction::Modify,
];

/// State of the prompt for one question.
#[derive(Debug)]
pub(crate) struct ApprovalPrompt {
    question: QuestionId,
    change_mode: ChangeMode,
    /// Keys before this time are not answers.
    grace: Option<Instant>,
    /// Index of the selected answer; `None` until the user moves the selection.
    chosen: Option<usize>,
    /// Index of the rule that would be saved.
    rule: usize,
    /// Indices of ticked answers of a multiple-choice question.
    ticked: Vec<usize>,
    /// The first visible row of the details on the full screen; `None` while the prompt is inline.
    full_screen: Option<usize>,
    /// Rows by which a page key scrolls.
    page: usize,
    /// When the text in the composer was begun; `None` if it is empty.
    draft_start: Option<DraftStart>,
    /// The composer's text before it was replaced by the call to edit.
    pub(crate) editing: Option<String>,
}

/// When the user began the text in the composer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DraftStart {
    /// Before the question could be read; the text is not an answer.
    BeforeQuestion,
    /// While the question was visible.
    AfterQuestion,
}

/// Whether the session asks before each change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeMode {
    /// It does, until the user switches to accepting changes.
    Asks,
    /// It does not, or a change of the mode would not change that.
    Other,
}

impl ChangeMode {
    /// The mode of a session.
    pub(crate) fn of(info: &SessionInfo) -> Self {
        let asks = info.mode == "code" && info.edit_approval == Some(ApprovalMode::Ask);
        match asks && info.permission != "read-only" {
            true => ChangeMode::Asks,
            false => ChangeMode::Other,
        }
    }
}

impl ApprovalPrompt {
    /// Creates the prompt for a question; `line` is the text in the composer.
    pub(crate) fn new(pending: &PendingQuestion, change_mode: ChangeMode, is_writing: bool, line: &str) -> Self {
        let grace = if is_writing { TYPING_GRACE } else { SHORT_GRACE };
        ApprovalPrompt {
            question: pending.question.id,
            change_mode,
            grace: Some(Instant::now() + grace),
            chosen: None,
            rule: 0,
            ticked: Vec::new(),
            full_screen: None,
            page: 1,
            draft_start: (!line.is_empty()).then_some(DraftStart::BeforeQuestion),
            editing: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn skip_grace_period(&mut self) {
        self.grace = None;
    }

    /// Whether keys are not answers yet.
    fn in_grace_period(&self) -> bool {
        self.grace.is_some_and(|until| Instant::now() < until)
    }

    /// Whether the prompt belongs to this question.
    pub(crate) fn is_about(&self, pending: &PendingQuestion) -> bool {
        self.question == pending.question.id
    }

    /// Notes that the composer's text changed.
    pub(crate) fn text_changed(&mut self, line: &str) {
        self.draft_start = match (line.is_empty(), self.draft_start, self.in_grace_period()) {
            (true, ..) => None,
            (false, Some(begun), _) => Some(begun),
            (false, None, true) => Some(DraftStart::BeforeQuestion),
            (false, None, false) => Some(DraftStart::AfterQuestion),
        };
    }

    /// Whether the composer's text is a message to the model rather than an answer, because it was begun before the
    /// question arrived.
    pub(crate) fn is_unrelated_text(&self) -> bool {
        self.editing.is_none() && self.draft_start == Some(DraftStart::BeforeQuestion)
    }

    /// Handles a key; `line` is the text in the composer.
    pub(crate) fn handle_key(
        &mut self,
        key: &KeyEvent,
        line: &str,
        pending: &PendingQuestion,
        keys: &KeyMap,
    ) -> KeyResponse {
        let action = keys.action(KeyContext::Approval, *key);
        let action = action.filter(|action| action.binding().context == KeyContext::Approval);
        if action == Some(KeyAction::ShowAll) && KeyChord::from(*key).types().is_none() {
            self.full_screen = match self.full_screen {
                Some(_) => None,
                None => Some(0),
            };
            return KeyResponse::Handled;
        }
        if let Some(response) = self.full_screen_key(key, line, keys) {
            return response;
        }
        if self.in_grace_period() || self.is_unrelated_text() {
            return KeyResponse::Ignored;
        }
        match &pending.question.subject {
            QuestionSubject::Permission {
                action: asked,
                input,
                rules,
                ..
            } => {
                let offered = self.offered_answers(asked, input, keys);
                let named = answer_by_text(line, &offered, keys);
                if !line.is_empty() && named.is_none() {
                    return match (action, self.commented_answer(&offered)) {
                        (Some(KeyAction::Confirm), Some(answer)) => self.answer_with_comment(answer, line, rules),
                        _ => KeyResponse::Ignored,
                    };
                }
                self.permission_key(key, action, &offered, named, (input, rules))
            }
            QuestionSubject::Inquiry {
                choices,
                multiple: several,
                ..
            } => {
                let named = answers_by_number(line, choices.len(), *several);
                if !line.is_empty() && named.is_empty() {
                    return KeyResponse::Ignored;
                }
                self.inquiry_key(key, action, choices, named, *several)
            }
        }
    }

    /// Handles a key that scrolls the full screen or closes it.
    fn full_screen_key(&mut self, key: &KeyEvent, line: &str, keys: &KeyMap) -> Option<KeyResponse> {
        let page = self.page;
        let top = self.full_screen.as_mut()?;
        match (keys.action(KeyContext::Conversation, *key), key.code) {
            (Some(KeyAction::ScrollUp), _) | (_, KeyCode::Up) => *top = top.saturating_sub(1),
            (Some(KeyAction::ScrollDown), _) | (_, KeyCode::Down) => *top += 1,
            (Some(KeyAction::PageUp), _) => *top = top.saturating_sub(page),
            (Some(KeyAction::PageDown), _) => *top += page,
            (Some(KeyAction::Top), _) | (_, KeyCode::Home) => *top = 0,
            // Limited to the last page when it is drawn.
            (Some(KeyAction::Bottom), _) | (_, KeyCode::End) => *top = usize::MAX / 2,
            (_, KeyCode::Esc) if line.is_empty() && self.chosen.is_none() => self.full_screen = None,
            _ => return None,
        }
        Some(KeyResponse::Handled)
    }

    /// The selected answer that allows the action, which text then comments.
    fn commented_answer(&self, offered: &[KeyAction]) -> Option<KeyAction> {
        let chosen = offered.get(self.chosen?).copied()?;
        matches!(
            chosen,
            KeyAction::ApproveOnce
                | KeyAction::ApproveNetwork
                | KeyAction::ApproveSession
                | KeyAction::ApproveProject
                | KeyAction::ApproveAlways
        )
        .then_some(chosen)
    }

    /// Allows the action and sends the text to the agent.
    fn answer_with_comment(&self, answer: KeyAction, line: &str, rules: &[String]) -> KeyResponse {
        match self.permission_answer(answer, &Value::Null, rules) {
            KeyResponse::Action(answer) => {
                KeyResponse::Action(AppAction::All(vec![answer, AppAction::Prompt(line.trim().to_owned())]))
            }
            response => response,
        }
    }

    /// Handles a key while the composer is empty or contains only the letter of an answer.
    fn permission_key(
        &mut self,
        key: &KeyEvent,
        action: Option<KeyAction>,
        offered: &[KeyAction],
        named: Option<KeyAction>,
        (input, rules): (&Value, &[String]),
    ) -> KeyResponse {
        // A letter may begin a sentence, so it goes to the composer and Enter decides.
        let action = action.filter(|_| KeyChord::from(*key).types().is_none());
        match action {
            Some(KeyAction::Confirm) => match named.or_else(|| self.chosen(offered)) {
                Some(action) => self.permission_answer(action, input, rules),
                None => KeyResponse::Ignored,
            },
            Some(KeyAction::NextRule) if rules.len() > 1 => {
                self.rule = (self.rule + 1) % rules.len();
                KeyResponse::Handled
            }
            Some(action @ (KeyAction::NextAnswer | KeyAction::PreviousAnswer)) if named.is_none() => {
                let now = self.chosen(offered).and_then(|action| index_of(offered, action));
                self.chosen = next_index(now, offered.len(), action == KeyAction::NextAnswer);
                KeyResponse::Handled
            }
            Some(action) if named.is_none() && offered.contains(&action) => {
                self.permission_answer(action, input, rules)
            }
            Some(_) | None => self.escape(key, named.is_some()),
        }
    }

    /// The answer that Enter gives: allow once unless another is selected.
    fn chosen(&self, offered: &[KeyAction]) -> Option<KeyAction> {
        match self.chosen {
            Some(index) => offered.get(index).copied(),
            None => offered.iter().copied().find(|action| *action == KeyAction::ApproveOnce),
        }
    }

    /// The offered answers. Answers without a key are not offered.
    fn offered_answers(&self, asked: &Action, input: &Value, keys: &KeyMap) -> Vec<KeyAction> {
        let is_offered = |action: &KeyAction| {
            let applies = match action {
                KeyAction::Modify => !input.is_null(),
                KeyAction::ApproveNetwork => matches!(asked, Action::Escalate { .. }),
                KeyAction::NextMode => {
                    let is_project_file = matches!(
                        asked,
                        Action::Write {
                            place: PathArea::Inside,
                            ..
                        }
                    );
                    is_project_file && self.change_mode == ChangeMode::Asks
                }
                _ => true,
            };
            applies && !keys.hint(*action).is_empty()
        };
        ANSWERS.into_iter().filter(is_offered).collect()
    }

    fn permission_answer(&self, action: KeyAction, input: &Value, rules: &[String]) -> KeyResponse {
        let approve = |scope| {
            KeyResponse::Action(AppAction::Answer(Answer::Approve {
                scope,
                rule: rules.get(self.rule).filter(|_| self.rule > 0).cloned(),
            }))
        };
        match action {
            KeyAction::ApproveOnce => KeyResponse::Action(AppAction::Answer(Answer::once())),
            KeyAction::ApproveNetwork => KeyResponse::Action(AppAction::Answer(Answer::ApproveNetwork)),
            // The session approves the change when it no longer asks.
            KeyAction::NextMode => KeyResponse::Action(AppAction::Key(KeyAction::NextMode)),
            KeyAction::ApproveSession => approve(GrantScope::Session),
            KeyAction::ApproveProject => approve(GrantScope::Project),
            KeyAction::ApproveAlways => approve(GrantScope::Always),
            KeyAction::Reject => KeyResponse::Action(AppAction::Answer(Answer::Reject { reason: None })),
            KeyAction::Modify => KeyResponse::Action(AppAction::EditCall(editable_text(input))),
            _ => KeyResponse::Ignored,
        }
    }

    fn inquiry_key(
        &mut self,
        key: &KeyEvent,
        action: Option<KeyAction>,
        choices: &[(String, Option<String>)],
        named: Vec<usize>,
        several: bool,
    ) -> KeyResponse {
        let is_written = !named.is_empty();
        match action {
            Some(KeyAction::Confirm) => {
                let picked = match (is_written, self.ticked.is_empty()) {
                    (true, _) => named,
                    (false, false) => self.ticked.clone(),
                    (false, true) => self.chosen.into_iter().collect(),
                };
                let labels = picked.iter().filter_map(|index| choices.get(*index));
                let text = labels.map(|(label, _)| label.as_str()).collect::<Vec<_>>().join(", ");
                match text.is_empty() {
                    true => KeyResponse::Ignored,
                    false => KeyResponse::Action(AppAction::Answer(Answer::Text { text })),
                }
            }
            Some(action @ (KeyAction::NextAnswer | KeyAction::PreviousAnswer))
                if !is_written && !choices.is_empty() =>
            {
                self.chosen = next_index(self.chosen, choices.len(), action == KeyAction::NextAnswer);
                KeyResponse::Handled
            }
            Some(_) | None => match (key.code, self.chosen) {
                // A space does not begin a sentence.
                (KeyCode::Char(' '), Some(index)) if several && !is_written => {
                    match self.ticked.iter().position(|ticked| *ticked == index) {
                        Some(at) => drop(self.ticked.remove(at)),
                        None => self.ticked.push(index),
                    }
                    KeyResponse::Handled
                }
                _ => self.escape(key, is_written),
            },
        }
    }

    /// Esc clears the selection; without one it is not handled.
    fn escape(&mut self, key: &KeyEvent, is_written: bool) -> KeyResponse {
        if key.code != KeyCode::Esc || key.modifiers != KeyModifiers::NONE {
            return KeyResponse::Ignored;
        }
        let was_chosen = self.chosen.take().is_some();
        match (is_written, was_chosen) {
            (true, _) => KeyResponse::Action(AppAction::ClearInput),
            (false, true) => KeyResponse::Handled,
            (false, false) => KeyResponse::Ignored,
        }
    }

    /// The answer that free text gives: the reply to a question, the edited call, or the reason for a rejection.
    pub(crate) fn text_answer(&self, pending: &PendingQuestion, text: String) -> Result<Answer, InvalidInput> {
        match &pending.question.subject {
            QuestionSubject::Inquiry { .. } => Ok(Answer::Text { text }),
            QuestionSubject::Permission { input, .. } if self.editing.is_some() => {
                apply_edit(input, &text).map(|input| Answer::Modify { input })
            }
            QuestionSubject::Permission { .. } => Ok(Answer::Reject { reason: Some(text) }),
        }
    }
}

/// The answer if its letter, `yes` or `no` is the whole text.
fn answer_by_text(line: &str, offered: &[KeyAction], keys: &KeyMap) -> Option<KeyAction> {
    let word = match line.trim().to_lowercase().as_str() {
        "yes" => Some(KeyAction::ApproveOnce),
        "no" => Some(KeyAction::Reject),
        _ => None,
    };
    if let Some(word) = word.filter(|word| offered.contains(word)) {
        return Some(word);
    }
    let mut letters = line.trim().chars();
    let (Some(letter), None) = (letters.next(), letters.next()) else {
        return None;
    };
    let of = |letter: char| {
        let action = keys.action(
            KeyContext::Approval,
            KeyChord::new(KeyCode::Char(letter), KeyModifiers::NONE),
        )?;
        offered.contains(&action).then_some(action)
    };
    of(letter).or_else(|| of(letter.to_ascii_lowercase()))
}

/// The suggested answers if their numbers are the whole text: one, or several if the question allows it.
fn answers_by_number(line: &str, count: usize, several: bool) -> Vec<usize> {
    let index = |word: &str| {
        word.parse::<usize>()
            .ok()?
            .checked_sub(1)
            .filter(|index| *index < count)
    };
    let numbers: Vec<&str> = line
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|word| !word.is_empty())
        .collect();
    let found: Option<Vec<usize>> = numbers.iter().map(|word| index(word)).collect();
    // With few choices, `13` means the first and the third.
    let digits = || {
        line.trim()
            .chars()
            .map(|digit| index(digit.encode_utf8(&mut [0; 4])))
            .collect()
    };
    let found = found.or_else(|| if several { digits() } else { None });
    let mut found = found.unwrap_or_default();
    found.sort_unstable();
    found.dedup();
    match several || numbers.len() == 1 {
        true => found,
        false => Vec::new(),
    }
}

fn index_of(offered: &[KeyAction], action: KeyAction) -> Option<usize> {
    offered.iter().position(|other| *other == action)
}

/// The next or previous answer, with wrap-around.
fn next_index(now: Option<usize>, count: usize, forward: bool) -> Option<usize> {
    let last = count.checked_sub(1)?;
    Some(match (now, forward) {
        (None, true) => 0,
        (None, false) => last,
        (Some(at), true) => (at + 1) % count,
        (Some(at), false) => at.checked_sub(1).unwrap_or(last),
    })
}

/// The editable text of a call: a command as it is, anything else as JSON.
fn editable_text(input: &Value) -> String {
    match input.get("command").and_then(Value::as_str) {
        Some(command) => command.into(),
        None => serde_json::to_string_pretty(input).unwrap_or_default(),
    }
}

/// Why an edited call cannot be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InvalidInput {
    #[error("must be a JSON object")]
    NotAnObject,
    #[error("invalid JSON: {0}")]
    Json(serde_json::Error),
}

/// The call with the user's edits.
fn apply_edit(input: &Value, text: &str) -> Result<Value, InvalidInput> {
    if input.get("command").and_then(Value::as_str).is_some() {
        let mut new = input.clone();
        new["command"] = Value::String(text.trim().into());
        return Ok(new);
    }
    match serde_json::from_str::<Value>(text) {
        Ok(new @ Value::Object(_)) => Ok(new),
        Ok(_) => Err(InvalidInput::NotAnObject),
        Err(error) => Err(InvalidInput::Json(error)),
    }
}
