//! Rendering of the approval prompt: action, reason, details, answers, and the effect of Enter.

use super::details::details;
use super::{ApprovalPrompt, DraftStart, answer_by_letter, answers_by_number, offered_answers};
use crate::conversation::describe;
use crate::keys::KeyAction;
use crate::row::{StyledRow, sanitise, wrap};
use crate::state::PendingQuestion;
use crate::view::ViewContext;
use policy::Action;
use serde_json::Value;
use session::QuestionSubject;

impl ApprovalPrompt {
    /// Renders the question in at most `most` rows; `line` is the text in the composer.
    pub(crate) fn rows(
        &self,
        pending: &PendingQuestion,
        line: &str,
        width: usize,
        most: usize,
        cx: &ViewContext<'_>,
    ) -> Vec<StyledRow> {
        let (head, body, foot) = match &pending.question.subject {
            QuestionSubject::Permission {
                action,
                reason: why,
                input,
                rules,
            } => (
                self.head(pending, action, why, cx),
                details(pending, action, input, width.saturating_sub(2), cx),
                self.answers(line, rules, input, cx),
            ),
            QuestionSubject::Inquiry {
                question,
                choices,
                multiple: several,
            } => {
                let picked = self.picked_answers(line, choices.len(), *several);
                let question = sanitise(question);
                (
                    question
                        .lines()
                        .map(|line| StyledRow::new(line, cx.theme.strong))
                        .collect(),
                    self.suggestions(choices, &picked, *several, width, cx),
                    vec![self.hint(line, choices, &picked, *several, cx)],
                )
            }
        };
        let bar = |row: StyledRow| row.prefix("▌ ", cx.theme.warn);
        let fit = |rows: Vec<StyledRow>| -> Vec<StyledRow> {
            let inner = width.saturating_sub(2);
            rows.iter()
                .flat_map(|row| wrap(row, inner, &StyledRow::new("  ", cx.theme.text)))
                .map(bar)
                .collect()
        };
        let (head, mut foot) = (fit(head), foot);
        // With little room, the details take precedence over hints.
        while foot.len() > 1 && head.len() + fit(foot.clone()).len() + body.len() > most {
            foot.pop();
        }
        let foot = fit(foot);
        let room = most.saturating_sub(head.len() + foot.len());
        let room = if self.show_all { room } else { room.min(16) };
        let mut middle: Vec<StyledRow> = body.into_iter().map(bar).collect();
        if middle.len() > room {
            let missing = middle.len() - room.saturating_sub(1);
            middle.truncate(room.saturating_sub(1));
            let hint = match self.show_all {
                true => String::new(),
                false => format!("; {} shows more", cx.keys.hint(KeyAction::ShowAll)),
            };
            middle.push(bar(StyledRow::new(
                format!("… {missing} more lines{hint}"),
                cx.theme.dim,
            )));
        }
        let mut rows = head;
        rows.extend(middle);
        rows.extend(foot);
        rows.truncate(most);
        rows
    }

    fn head(&self, pending: &PendingQuestion, action: &Action, why: &str, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let theme = cx.theme;
        let asker = if pending.asker.is_some() { "a subtask: " } else { "" };
        let first = StyledRow::new(format!("{asker}{} ", pending.question.tool), theme.strong)
            .push(format!("wants to {}", describe(action)), theme.text);
        let info = &cx.state.info;
        let mut second = sanitise(why).replace('\n', " ");
        if matches!(action, Action::Run { .. }) && !info.sandbox.is_empty() {
            second.push_str(&format!(" · sandbox: {}", info.sandbox));
        }
        if matches!(action, Action::Escalate { .. }) {
            second.push_str(" · no sandbox");
        }
        vec![first, StyledRow::new(second, theme.dim)]
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

    fn answers(&self, line: &str, rules: &[String], input: &Value, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let theme = cx.theme;
        let offered = offered_answers(input, cx.keys);
        let named = answer_by_letter(line, &offered, cx.keys);
        if let Some(row) = self.enter_hint(line, named.is_some(), "denies, with your text as the reason", cx) {
            return vec![row];
        }
        let chosen = named.or_else(|| self.chosen(&offered));
        let mut row = StyledRow::empty();
        for action in &offered {
            let (mark, word) = match chosen == Some(*action) {
                true => ("▸ ", theme.strong),
                false => ("  ", theme.text),
            };
            row = row
                .push(mark, theme.accent)
                .push(cx.keys.hint(*action), theme.accent)
                .push(format!(" {}", short_label(*action)), word)
                .push(" ", theme.text);
        }
        let mut rows = vec![row];
        let rule = rules.get(self.rule).map(|rule| sanitise(rule).replace('\n', " "));
        let another = match rules.len() {
            0 | 1 => String::new(),
            _ => format!(" ({} for another rule)", cx.keys.hint(KeyAction::NextRule)),
        };
        let enter = |action: KeyAction| {
            StyledRow::new(cx.keys.hint(KeyAction::Confirm), theme.accent)
                .push(format!(" {}", long_label(action)), theme.strong)
        };
        let is_sure = named.is_some() || self.chosen.is_some();
        match (chosen, rule) {
            (Some(action), Some(rule)) if saves_rule(action) => rows.push(
                enter(action)
                    .push(", saving ", theme.text)
                    .push(rule, theme.code)
                    .push(format!("{another} · esc back"), theme.dim),
            ),
            (Some(action), _) if is_sure => rows.push(enter(action).push(" · esc back", theme.dim)),
            (chosen, rule) => {
                if let Some(action) = chosen {
                    rows.push(enter(action).push(" · letter or ←→ to select · esc interrupts", theme.dim));
                }
                rows.push(StyledRow::new("or type what to do instead", theme.dim));
                let scopes = offered.iter().filter(|action| saves_rule(**action));
                let scopes: Vec<String> = scopes.map(|action| cx.keys.hint(*action)).collect();
                if let (Some(rule), false) = (rule, scopes.is_empty()) {
                    let remember = StyledRow::new(format!("{} save ", scopes.join(", ")), theme.dim);
                    rows.push(remember.push(rule, theme.code).push(another, theme.dim));
                }
            }
        }
        rows
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

/// Short label of an answer.
fn short_label(action: KeyAction) -> &'static str {
    match action {
        KeyAction::ApproveOnce => "allow once",
        KeyAction::ApproveSession => "session",
        KeyAction::ApproveProject => "project",
        KeyAction::ApproveAlways => "always",
        KeyAction::Modify => "edit",
        _ => "deny",
    }
}

/// Unambiguous label of an answer.
fn long_label(action: KeyAction) -> &'static str {
    match action {
        KeyAction::ApproveOnce => "allow once",
        KeyAction::ApproveSession => "allow for this session",
        KeyAction::ApproveProject => "allow always in this project",
        KeyAction::ApproveAlways => "allow always, in every project",
        KeyAction::Modify => "edit before it runs",
        _ => "deny; the agent continues without it",
    }
}
