//! Rendering of the approval prompt: action, reason, details, answers, and the effect of Enter.

use super::details::details;
use super::{ApprovalPrompt, DraftStart, answer_by_text, answers_by_number};
use crate::conversation::{ToolCard, describe, relative_paths};
use crate::format::{hidden_lines, tool_label};
use crate::keys::KeyAction;
use crate::row::{StyledRow, sanitise, wrap};
use crate::state::PendingQuestion;
use crate::view::ViewContext;
use policy::Action;
use serde_json::Value;
use session::QuestionSubject;
use std::path::Path;

/// Visible rows of the details above the composer.
const INLINE_DETAILS: usize = 16;

/// Visible characters of a rule for one action.
const MAX_EXACT_RULE: usize = 60;

/// The parts of the prompt.
struct PromptRows {
    head: Vec<StyledRow>,
    details: Vec<StyledRow>,
    /// What Enter does, and other keys.
    hint: StyledRow,
    answers: AnswerRows,
}

/// The answers of a prompt in two forms.
struct AnswerRows {
    /// One row for each.
    sentences: Vec<StyledRow>,
    /// All in one row.
    short: Option<StyledRow>,
}

impl ApprovalPrompt {
    /// Whether the prompt takes the whole screen.
    pub(crate) fn is_full_screen(&self) -> bool {
        self.full_screen.is_some()
    }

    /// Renders the question in at most `most` rows; `line` is the text in the composer.
    pub(crate) fn rows(
        &self,
        pending: &PendingQuestion,
        line: &str,
        width: usize,
        most: usize,
        cx: &ViewContext<'_>,
    ) -> Vec<StyledRow> {
        let parts = self.parts(pending, line, width, cx);
        let head = self.framed(parts.head, width, cx);
        let hint = self.framed(vec![parts.hint], width, cx);
        let sentences = self.framed(parts.answers.sentences, width, cx);
        let wanted = parts.details.len().min(3);
        // With little room, the answers take one row.
        let mut hint = hint;
        let answers = match parts.answers.short {
            Some(short) if head.len() + wanted + sentences.len() + hint.len() > most => {
                hint.truncate(1);
                self.framed(vec![short], width, cx)
            }
            Some(_) | None => sentences,
        };
        let room = most.saturating_sub(head.len() + answers.len() + hint.len());
        let details = self.shortened(parts.details, room.min(INLINE_DETAILS), width, cx);
        let mut rows = head;
        rows.extend(details);
        rows.extend(answers);
        // What Enter does stays visible.
        rows.truncate(most.saturating_sub(hint.len()));
        rows.extend(hint);
        rows.truncate(most);
        rows
    }

    /// Renders the question on the whole screen, with scrolled details.
    pub(crate) fn full_rows(
        &mut self,
        pending: &PendingQuestion,
        line: &str,
        width: usize,
        height: usize,
        cx: &ViewContext<'_>,
    ) -> Vec<StyledRow> {
        let parts = self.parts(pending, line, width, cx);
        let mut rows = self.framed(parts.head, width, cx);
        let mut details = Vec::new();
        // On a low screen the explanation scrolls with the details.
        if rows.len() > (height / 5).max(1) {
            details = rows.split_off(1);
        }
        details.extend(parts.details.into_iter().map(|row| bar(row, cx)));
        let hint = self.framed(vec![parts.hint], width, cx);
        let sentences = self.framed(parts.answers.sentences, width, cx);
        let answers = match parts.answers.short {
            Some(short) if rows.len() + sentences.len() + hint.len() > height / 2 => {
                self.framed(vec![short], width, cx)
            }
            Some(_) | None => sentences,
        };
        let room = height
            .saturating_sub(rows.len() + answers.len() + hint.len() + 1)
            .max(1);
        let count = details.len();
        let top = self.full_screen.unwrap_or_default().min(count.saturating_sub(room));
        self.full_screen = Some(top);
        self.page = room.saturating_sub(1).max(1);
        rows.extend(details.into_iter().skip(top).take(room));
        let end = (top + room).min(count);
        rows.resize(rows.len() + room - (end - top), StyledRow::empty());
        let key = cx.keys.hint(KeyAction::ShowAll);
        let place = match count > room {
            true => format!("lines {}–{end} of {count} · ↑↓ and PgUp/PgDn scroll · ", top + 1),
            false => String::new(),
        };
        let back = StyledRow::new(format!("{place}{key} closes this view"), cx.theme.dim);
        let short = format!("{}–{end} of {count} · ↑↓ scroll · {key} back", top + 1);
        rows.push(match back.width() <= width {
            true => back,
            false => StyledRow::new(short, cx.theme.dim).truncate(width),
        });
        rows.extend(answers);
        rows.extend(hint);
        rows.truncate(height);
        rows
    }

    fn parts(&self, pending: &PendingQuestion, line: &str, width: usize, cx: &ViewContext<'_>) -> PromptRows {
        match &pending.question.subject {
            QuestionSubject::Permission {
                action,
                reason: why,
                input,
                rules,
            } => {
                let (answers, hint) = self.answers(line, rules, (action, input), cx);
                PromptRows {
                    head: self.head(pending, action, why, cx),
                    details: details(pending, action, input, width.saturating_sub(2), cx),
                    hint,
                    answers,
                }
            }
            QuestionSubject::Inquiry {
                question,
                choices,
                multiple: several,
            } => {
                let picked = self.picked_answers(line, choices.len(), *several);
                let question = sanitise(question);
                PromptRows {
                    head: question
                        .lines()
                        .map(|line| StyledRow::new(line, cx.theme.strong))
                        .collect(),
                    details: self.suggestions(choices, &picked, *several, width, cx),
                    hint: self.hint(line, choices, &picked, *several, cx),
                    answers: AnswerRows {
                        sentences: Vec::new(),
                        short: None,
                    },
                }
            }
        }
    }

    /// Rows after a bar, wrapped.
    fn framed(&self, rows: Vec<StyledRow>, width: usize, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let inner = width.saturating_sub(2);
        rows.iter()
            .flat_map(|row| wrap(row, inner, &StyledRow::new("  ", cx.theme.text)))
            .map(|row| bar(row, cx))
            .collect()
    }

    /// The first rows of the details, and the number of the others.
    fn shortened(&self, rows: Vec<StyledRow>, room: usize, width: usize, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let missing = match rows.len() > room {
            true => rows.len() - room.saturating_sub(1),
            false => 0,
        };
        let mut shown: Vec<StyledRow> = rows.into_iter().map(|row| bar(row, cx)).collect();
        if missing > 0 && room > 0 {
            shown.truncate(room - 1);
            let text = hidden_lines(missing, &cx.keys.hint(KeyAction::ShowAll));
            shown.push(bar(StyledRow::new(text, cx.theme.warn), cx).truncate(width));
        }
        shown.truncate(room);
        shown
    }

    fn head(&self, pending: &PendingQuestion, action: &Action, why: &str, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let (theme, info) = (cx.theme, &cx.state.info);
        let asker = if pending.asker.is_some() { "a subtask " } else { "hew " };
        let call = pending.question.call.as_ref();
        let card = call.and_then(|call| cx.state.conversation.find_card(call));
        let does = match (action, card.map(ToolCard::tool_and_title)) {
            (Action::Write { .. }, Some((tool @ ("delete_path" | "move_path" | "copy_path"), title)))
                if !title.is_empty() =>
            {
                format!(
                    "{} {}",
                    lower_first(tool_label(tool)),
                    relative_paths(title, &info.root)
                )
            }
            (Action::Write { .. }, _) if card.is_some_and(|card| card.creates_file(cx)) => {
                describe(action, &info.root).replacen("change", "create", 1)
            }
            _ => describe(action, &info.root),
        };
        let mut first = StyledRow::new(asker, theme.strong).push(format!("wants to {does}"), theme.strong);
        if let Action::Write { .. } = action
            && let Some([(_, diff)]) = card.and_then(|card| card.planned_changes(cx))
        {
            first = first.push("  ", theme.strong);
            first.spans.extend(diff.counts(theme));
        }
        let mut second = sanitise(why).replace('\n', " ");
        if matches!(action, Action::Run { .. }) && !info.sandbox.is_empty() {
            second.push_str(&format!(" · sandbox: {}", info.sandbox));
        }
        let mut rows = vec![first, StyledRow::new(second, theme.dim)];
        if matches!(action, Action::Escalate { .. }) {
            let text = "The command already ran once in the sandbox, which blocked it; it would run again without the sandbox.";
            rows.push(StyledRow::new(text, theme.warn));
        }
        rows
    }

    /// The row that explains what Enter does with the text, unless the text selects an answer.
    fn enter_hint(&self, line: &str, names_one: bool, does: &str, cx: &ViewContext<'_>) -> Option<StyledRow> {
        let theme = cx.theme;
        if self.editing.is_some() {
            return Some(StyledRow::new(
                "edit it below; Enter runs it, Esc cancels",
                theme.accent,
            ));
        }
        match self.draft_start {
            Some(DraftStart::BeforeQuestion) if !line.is_empty() => Some(
                StyledRow::new("Enter", theme.accent)
                    .push(" sends your text to the agent and keeps the question open", theme.text)
                    .push(" · clear the input to answer", theme.dim),
            ),
            // Answers are shown once keys count.
            _ if self.in_grace_period() => Some(StyledRow::new("…", theme.dim)),
            _ if line.is_empty() || names_one => None,
            _ => Some(StyledRow::new("Enter", theme.accent).push(format!(" {does}"), theme.text)),
        }
    }

    fn answers(
        &self,
        line: &str,
        rules: &[String],
        (asked, input): (&Action, &Value),
        cx: &ViewContext<'_>,
    ) -> (AnswerRows, StyledRow) {
        let theme = cx.theme;
        let offered = self.offered_answers(asked, input, cx.keys);
        let named = answer_by_text(line, &offered, cx.keys);
        let with_text = match self.commented_answer(&offered) {
            Some(answer) => format!("gives the answer “{}”, with your text as a comment", label(answer)),
            None => "denies, with your text as the reason".into(),
        };
        let hint = self.enter_hint(line, named.is_some(), &with_text, cx);
        // Answers are offered while keys give them.
        if let (Some(row), None) = (&hint, self.commented_answer(&offered)) {
            let none = AnswerRows {
                sentences: Vec::new(),
                short: None,
            };
            return (none, row.clone());
        }
        let chosen = named.or_else(|| self.chosen(&offered));
        let rule = rules.get(self.rule).map(|rule| sanitise(rule).replace('\n', " "));
        // The details above show the exact action in full.
        let rule = rule.map(|rule| match self.rule {
            0 => shortened_rule(&rule),
            _ => rule,
        });
        let mut short = StyledRow::empty();
        let mut sentences = Vec::new();
        for action in &offered {
            let (mark, word) = match chosen == Some(*action) {
                true => ("▸ ", theme.strong),
                false => ("  ", theme.text),
            };
            let key = StyledRow::new(mark, theme.accent).push(cx.keys.hint(*action), theme.accent);
            let mut sentence = key.clone().push(format!("  {}", label(*action)), word);
            if let (true, Some(rule)) = (saves_rule(*action), &rule) {
                let rule = shown_rule(rule, *action, &cx.state.info.root);
                sentence = sentence.push(": ", word).push(rule, theme.code);
            }
            sentences.push(sentence);
            short
                .spans
                .extend(key.push(format!(" {} ", short_label(*action)), word).spans);
        }
        let hint = hint.unwrap_or_else(|| {
            let enter = chosen.map(|action| {
                StyledRow::new(cx.keys.hint(KeyAction::Confirm), theme.accent)
                    .push(format!(" {}", lower_first(label(action))), theme.strong)
            });
            let mut enter = enter.unwrap_or_else(StyledRow::empty);
            if let (Some(action), Some(rule)) = (chosen.filter(|action| saves_rule(*action)), &rule) {
                let rule = shown_rule(rule, action, &cx.state.info.root);
                enter = enter.push(", saving ", theme.text).push(rule, theme.code);
            }
            if rules.len() > 1 {
                let key = cx.keys.hint(KeyAction::NextRule);
                enter = enter.push(format!(" · {key} another rule"), theme.dim);
            }
            match named.is_some() || self.chosen.is_some() {
                true => enter.push(" · type to add a comment · esc back", theme.dim),
                // On the full screen ↑ and ↓ scroll.
                false if self.is_full_screen() => {
                    enter.push(" · letter or ←→ to select · or type what to do instead", theme.dim)
                }
                false => enter.push(" · letter or ↑↓ to select · or type what to do instead", theme.dim),
            }
        });
        let answers = AnswerRows {
            sentences,
            short: Some(short),
        };
        (answers, hint)
    }

    /// The suggested answers that Enter would give.
    fn picked_answers(&self, line: &str, count: usize, several: bool) -> Vec<usize> {
        let named = match self.draft_start {
            Some(DraftStart::AfterQuestion) => answers_by_number(line, count, several),
            Some(DraftStart::BeforeQuestion) | None => Vec::new(),
        };
        match (named.is_empty(), self.ticked.is_empty(), line.is_empty()) {
            (false, ..) => named,
            (true, false, true) => self.ticked.clone(),
            (true, true, true) => self.chosen.into_iter().collect(),
            (true, _, false) => Vec::new(),
        }
    }

    fn suggestions(
        &self,
        choices: &[(String, Option<String>)],
        picked: &[usize],
        several: bool,
        width: usize,
        cx: &ViewContext<'_>,
    ) -> Vec<StyledRow> {
        let theme = cx.theme;
        let mut rows = Vec::new();
        for (index, (label, meaning)) in choices.iter().enumerate() {
            let is_at = match several {
                true => self.chosen == Some(index),
                false => picked.contains(&index),
            };
            let tick = match (several, self.ticked.contains(&index) || picked.contains(&index)) {
                (false, _) => "",
                // The selected answer is not ticked yet.
                (true, true) if self.ticked.contains(&index) || self.draft_start.is_some() => "☑ ",
                (true, _) => "☐ ",
            };
            let (mark, style) = match is_at {
                true => ("▸ ", theme.strong),
                false => ("  ", theme.text),
            };
            let mut row = StyledRow::new(mark, theme.accent)
                .push(format!("{} ", index + 1), theme.accent)
                .push(format!("{tick}{}", sanitise(label)), style);
            if let Some(meaning) = meaning {
                row = row.push(format!(" — {}", sanitise(meaning)), theme.dim);
            }
            rows.extend(wrap(&row, width.saturating_sub(2), &StyledRow::new("    ", theme.text)));
        }
        rows
    }

    fn hint(
        &self,
        line: &str,
        choices: &[(String, Option<String>)],
        picked: &[usize],
        several: bool,
        cx: &ViewContext<'_>,
    ) -> StyledRow {
        let theme = cx.theme;
        if let Some(row) = self.enter_hint(line, !picked.is_empty(), "sends your answer", cx) {
            return row;
        }
        let labels = picked.iter().filter_map(|index| choices.get(*index));
        let labels: Vec<String> = labels.map(|(label, _)| sanitise(label).replace('\n', " ")).collect();
        if !labels.is_empty() {
            let space = if several { " · space toggles" } else { "" };
            return StyledRow::new(cx.keys.hint(KeyAction::Confirm), theme.accent)
                .push(format!(" {}", labels.join(", ")), theme.strong)
                .push(format!("{space} · esc back"), theme.dim);
        }
        let hint = match (choices.is_empty(), several) {
            (true, _) => "type your answer below",
            (false, false) => "number or ↑↓, then Enter; or type your own answer below",
            (false, true) => "numbers or ↑↓ and space, then Enter; or type your own answer below",
        };
        StyledRow::new(hint, theme.dim)
    }
}

/// Whether an answer allows more than the requested action.
fn saves_rule(action: KeyAction) -> bool {
    matches!(
        action,
        KeyAction::ApproveSession | KeyAction::ApproveProject | KeyAction::ApproveAlways
    )
}

/// A rule that applies to the project, with paths relative to it.
fn shown_rule(rule: &str, answer: KeyAction, root: &Path) -> String {
    match answer {
        KeyAction::ApproveAlways => rule.to_owned(),
        _ => rule.replacen(&format!("(={}/", root.display()), "(=", 1),
    }
}

/// A rule for one action, which the details show if it is long.
fn shortened_rule(rule: &str) -> String {
    match rule.char_indices().nth(MAX_EXACT_RULE) {
        Some(_) => "exactly this action".into(),
        None => rule.to_owned(),
    }
}

/// A row after the bar of the prompt.
fn bar(row: StyledRow, cx: &ViewContext<'_>) -> StyledRow {
    row.prefix("▌ ", cx.theme.warn)
}

/// Short label of an answer.
fn short_label(action: KeyAction) -> &'static str {
    match action {
        KeyAction::ApproveOnce => "once",
        KeyAction::ApproveNetwork => "network only",
        KeyAction::NextMode => "all changes",
        KeyAction::ApproveSession => "session",
        KeyAction::ApproveProject => "project",
        KeyAction::ApproveAlways => "everywhere",
        KeyAction::Modify => "edit",
        _ => "no",
    }
}

/// Unambiguous label of an answer.
fn label(action: KeyAction) -> &'static str {
    match action {
        KeyAction::ApproveOnce => "Allow once",
        KeyAction::ApproveNetwork => "Allow network access only, once",
        KeyAction::NextMode => "Allow all changes in the project (accept edits)",
        KeyAction::ApproveSession => "Allow for this session",
        KeyAction::ApproveProject => "Allow in this project",
        KeyAction::ApproveAlways => "Allow everywhere",
        KeyAction::Modify => "Edit before it runs",
        _ => "No, continue without it",
    }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}
