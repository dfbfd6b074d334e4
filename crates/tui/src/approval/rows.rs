//! What a question looks like: what, why, exactly what, the answers, and what Enter does.

use super::details::details;
use super::{Approval, Begun, named, numbered, offered};
use crate::conversation::describe;
use crate::keys::Deed;
use crate::row::{Row, tame, wrap};
use crate::state::Asked;
use crate::view::Cx;
use policy::Action;
use serde_json::Value;
use session::Subject;

impl Approval {
    /// The question as rows, at most so many; `line` is what is written in the composer.
    pub(crate) fn rows(&self, asked: &Asked, line: &str, width: usize, most: usize, cx: &Cx<'_>) -> Vec<Row> {
        let (head, body, foot) = match &asked.question.subject {
            Subject::Permission {
                action,
                why,
                input,
                rules,
            } => (
                self.head(asked, action, why, cx),
                details(asked, action, input, width.saturating_sub(2), cx),
                self.answers(line, rules, input, cx),
            ),
            Subject::Inquiry {
                question,
                choices,
                several,
            } => {
                let picked = self.picked(line, choices.len(), *several);
                let question = tame(question);
                (
                    question.lines().map(|line| Row::of(line, cx.theme.strong)).collect(),
                    self.suggestions(choices, &picked, *several, width, cx),
                    vec![self.hint(line, choices, &picked, *several, cx)],
                )
            }
        };
        let bar = |row: Row| row.after("▌ ", cx.theme.warn);
        let fit = |rows: Vec<Row>| -> Vec<Row> {
            let inner = width.saturating_sub(2);
            rows.iter()
                .flat_map(|row| wrap(row, inner, &Row::of("  ", cx.theme.text)))
                .map(bar)
                .collect()
        };
        let (head, mut foot) = (fit(head), foot);
        // Where there is little room, exactly what would happen comes before advice.
        while foot.len() > 1 && head.len() + fit(foot.clone()).len() + body.len() > most {
            foot.pop();
        }
        let foot = fit(foot);
        let room = most.saturating_sub(head.len() + foot.len());
        let room = if self.whole { room } else { room.min(16) };
        let mut middle: Vec<Row> = body.into_iter().map(bar).collect();
        if middle.len() > room {
            let missing = middle.len() - room.saturating_sub(1);
            middle.truncate(room.saturating_sub(1));
            let hint = match self.whole {
                true => String::new(),
                false => format!("; {} shows more", cx.keys.hint(Deed::ShowAll)),
            };
            middle.push(bar(Row::of(format!("… {missing} more lines{hint}"), cx.theme.dim)));
        }
        let mut rows = head;
        rows.extend(middle);
        rows.extend(foot);
        rows.truncate(most);
        rows
    }

    fn head(&self, asked: &Asked, action: &Action, why: &str, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let asker = if asked.asker.is_some() { "a subtask: " } else { "" };
        let first = Row::of(format!("{asker}{} ", asked.question.tool), theme.strong)
            .and(format!("wants to {}", describe(action)), theme.text);
        let facts = &cx.state.facts;
        let mut second = tame(why).replace('\n', " ");
        if matches!(action, Action::Run { .. }) && !facts.sandbox.is_empty() {
            second.push_str(&format!(" · sandbox: {}", facts.sandbox));
        }
        if matches!(action, Action::Escalate { .. }) {
            second.push_str(" · no sandbox");
        }
        vec![first, Row::of(second, theme.dim)]
    }

    /// What Enter does with what is written, where that is no choice among the answers.
    fn words_row(&self, line: &str, names_one: bool, does: &str, cx: &Cx<'_>) -> Option<Row> {
        let theme = cx.theme;
        if self.editing.is_some() {
            return Some(Row::of("change it below; Enter runs it, Esc goes back", theme.accent));
        }
        match self.begun {
            Some(Begun::Before) if !line.is_empty() => Some(
                Row::of("Enter", theme.accent)
                    .and(" sends your line to the agent, and the question stays", theme.text)
                    .and(" · empty the line to answer", theme.dim),
            ),
            // Answers are offered when they count.
            _ if self.waits() => Some(Row::of("…", theme.dim)),
            _ if line.is_empty() || names_one => None,
            _ => Some(Row::of("Enter", theme.accent).and(format!(" {does}"), theme.text)),
        }
    }

    fn answers(&self, line: &str, rules: &[String], input: &Value, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let offered = offered(input, cx.keys);
        let named = named(line, &offered, cx.keys);
        if let Some(row) = self.words_row(line, named.is_some(), "says no, with your words as the reason", cx) {
            return vec![row];
        }
        let chosen = named.or_else(|| self.chosen(&offered));
        let mut row = Row::empty();
        for deed in &offered {
            let (mark, word) = match chosen == Some(*deed) {
                true => ("▸ ", theme.strong),
                false => ("  ", theme.text),
            };
            row = row
                .and(mark, theme.accent)
                .and(cx.keys.hint(*deed), theme.accent)
                .and(format!(" {}", short(*deed)), word)
                .and(" ", theme.text);
        }
        let mut rows = vec![row];
        let rule = rules.get(self.rule).map(|rule| tame(rule).replace('\n', " "));
        let another = match rules.len() {
            0 | 1 => String::new(),
            _ => format!(" ({}: another)", cx.keys.hint(Deed::NextRule)),
        };
        let enter = |deed: Deed| {
            Row::of(cx.keys.hint(Deed::Confirm), theme.accent).and(format!(" {}", long(deed)), theme.strong)
        };
        let is_sure = named.is_some() || self.chosen.is_some();
        match (chosen, rule) {
            (Some(deed), Some(rule)) if widens(deed) => rows.push(
                enter(deed)
                    .and(", remembering ", theme.text)
                    .and(rule, theme.code)
                    .and(format!("{another} · esc back"), theme.dim),
            ),
            (Some(deed), _) if is_sure => rows.push(enter(deed).and(" · esc back", theme.dim)),
            (chosen, rule) => {
                if let Some(deed) = chosen {
                    rows.push(enter(deed).and(" · a letter or ←→ chooses · esc stops the turn", theme.dim));
                }
                rows.push(Row::of("or write what to do instead", theme.dim));
                let scopes = offered.iter().filter(|deed| widens(**deed));
                let scopes: Vec<String> = scopes.map(|deed| cx.keys.hint(*deed)).collect();
                if let (Some(rule), false) = (rule, scopes.is_empty()) {
                    let remember = Row::of(format!("{} remember ", scopes.join(", ")), theme.dim);
                    rows.push(remember.and(rule, theme.code).and(another, theme.dim));
                }
            }
        }
        rows
    }

    /// The suggested answers that Enter would give.
    fn picked(&self, line: &str, count: usize, several: bool) -> Vec<usize> {
        let named = match self.begun {
            Some(Begun::After) => numbered(line, count, several),
            Some(Begun::Before) | None => Vec::new(),
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
        cx: &Cx<'_>,
    ) -> Vec<Row> {
        let theme = cx.theme;
        let mut rows = Vec::new();
        for (index, (label, meaning)) in choices.iter().enumerate() {
            let is_at = match several {
                true => self.chosen == Some(index),
                false => picked.contains(&index),
            };
            let tick = match (several, self.ticked.contains(&index) || picked.contains(&index)) {
                (false, _) => "",
                // Where the person stands is not ticked yet.
                (true, true) if self.ticked.contains(&index) || self.begun.is_some() => "☑ ",
                (true, _) => "☐ ",
            };
            let (mark, style) = match is_at {
                true => ("▸ ", theme.strong),
                false => ("  ", theme.text),
            };
            let mut row = Row::of(mark, theme.accent)
                .and(format!("{} ", index + 1), theme.accent)
                .and(format!("{tick}{}", tame(label)), style);
            if let Some(meaning) = meaning {
                row = row.and(format!(" — {}", tame(meaning)), theme.dim);
            }
            rows.extend(wrap(&row, width.saturating_sub(2), &Row::of("    ", theme.text)));
        }
        rows
    }

    fn hint(
        &self,
        line: &str,
        choices: &[(String, Option<String>)],
        picked: &[usize],
        several: bool,
        cx: &Cx<'_>,
    ) -> Row {
        let theme = cx.theme;
        if let Some(row) = self.words_row(line, !picked.is_empty(), "sends your answer", cx) {
            return row;
        }
        let labels = picked.iter().filter_map(|index| choices.get(*index));
        let labels: Vec<String> = labels.map(|(label, _)| tame(label).replace('\n', " ")).collect();
        if !labels.is_empty() {
            let space = if several { " · space ticks" } else { "" };
            return Row::of(cx.keys.hint(Deed::Confirm), theme.accent)
                .and(format!(" {}", labels.join(", ")), theme.strong)
                .and(format!("{space} · esc back"), theme.dim);
        }
        let hint = match (choices.is_empty(), several) {
            (true, _) => "write your answer below",
            (false, false) => "a number or ↑↓, then Enter; or write your own answer below",
            (false, true) => "numbers or ↑↓ and space, then Enter; or write your own answer below",
        };
        Row::of(hint, theme.dim)
    }
}

/// Whether an answer allows more than what was asked.
fn widens(deed: Deed) -> bool {
    matches!(deed, Deed::ApproveSession | Deed::ApproveProject | Deed::ApproveAlways)
}

/// An answer in a word or two.
fn short(deed: Deed) -> &'static str {
    match deed {
        Deed::ApproveOnce => "yes, once",
        Deed::ApproveSession => "session",
        Deed::ApproveProject => "project",
        Deed::ApproveAlways => "always",
        Deed::Modify => "edit",
        _ => "no",
    }
}

/// An answer so that nobody mistakes it.
fn long(deed: Deed) -> &'static str {
    match deed {
        Deed::ApproveOnce => "yes, this once",
        Deed::ApproveSession => "yes, for this session",
        Deed::ApproveProject => "yes, always in this project",
        Deed::ApproveAlways => "yes, always and everywhere",
        Deed::Modify => "edits it before it runs",
        _ => "no; the agent goes on without it",
    }
}
