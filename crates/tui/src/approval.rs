//! A question in its place above the composer: what, why, exactly what, and one key for each answer.

use crate::conversation::describe;
use crate::keys::{Context, Deed, Keys};
use crate::row::{Row, tame, wrap};
use crate::state::Asked;
use crate::view::Cx;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use policy::{Action, Scope};
use serde_json::Value;
use session::{Answer, QuestionId, Subject};
use std::time::{Duration, Instant};

/// Whoever was typing when the question came did not mean to answer it.
const GRACE: Duration = Duration::from_millis(600);

/// How far the person has come with a question.
#[derive(Debug)]
pub(crate) struct Approval {
    question: QuestionId,
    /// Until then keys are not answers: the person was writing when the question came.
    grace: Option<Instant>,
    /// Which of the offered rules would be remembered.
    rule: usize,
    /// Which suggested answers are ticked, where several may be.
    ticked: Vec<usize>,
    /// Whether everything is shown.
    whole: bool,
    /// What stood in the composer before the call was put there to be changed.
    pub(crate) editing: Option<String>,
}

/// What a key means to a question.
pub(crate) enum Taken {
    /// It was used.
    Used,
    /// The answer.
    Answer(Answer),
    /// The call is to be changed first: this is what can be changed.
    Edit(String),
    /// It was not for the question.
    Pass,
}

impl Approval {
    /// Nothing has been said to this question yet.
    pub(crate) fn new(asked: &Asked, is_writing: bool) -> Self {
        Approval {
            question: asked.question.id,
            grace: is_writing.then(|| Instant::now() + GRACE),
            rule: 0,
            ticked: Vec::new(),
            whole: false,
            editing: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn forgo_grace(&mut self) {
        self.grace = None;
    }

    /// Whether keys are not answers yet.
    fn waits(&self) -> bool {
        self.grace.is_some_and(|until| Instant::now() < until)
    }

    /// Whether it is about this question.
    pub(crate) fn is_about(&self, asked: &Asked) -> bool {
        self.question == asked.question.id
    }

    /// Takes a key that was pressed while nothing is written in the composer.
    pub(crate) fn take(&mut self, key: &KeyEvent, asked: &Asked, keys: &Keys) -> Taken {
        match &asked.question.subject {
            Subject::Permission { input, rules, .. } => match keys.deed(Context::Approval, *key) {
                Some(deed) if deed.binding().context == Context::Approval && !self.waits() => {
                    self.permission(deed, input, rules)
                }
                Some(_) | None => Taken::Pass,
            },
            Subject::Inquiry { choices, several, .. } => {
                let held = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
                if held || self.waits() {
                    return Taken::Pass;
                }
                self.inquiry(key, choices, *several)
            }
        }
    }

    fn permission(&mut self, deed: Deed, input: &Value, rules: &[String]) -> Taken {
        let approve = |scope| {
            Taken::Answer(Answer::Approve {
                scope,
                rule: rules.get(self.rule).filter(|_| self.rule > 0).cloned(),
            })
        };
        match deed {
            Deed::ApproveOnce => Taken::Answer(Answer::once()),
            Deed::ApproveSession => approve(Scope::Session),
            Deed::ApproveProject => approve(Scope::Project),
            Deed::ApproveAlways => approve(Scope::Always),
            Deed::Reject => Taken::Answer(Answer::Reject { reason: None }),
            Deed::Modify if !input.is_null() => Taken::Edit(editable(input)),
            Deed::ShowAll => {
                self.whole = !self.whole;
                Taken::Used
            }
            Deed::NextRule if rules.len() > 1 => {
                self.rule = (self.rule + 1) % rules.len();
                Taken::Used
            }
            _ => Taken::Pass,
        }
    }

    fn inquiry(&mut self, key: &KeyEvent, choices: &[(String, Option<String>)], several: bool) -> Taken {
        let KeyCode::Char(c) = key.code else {
            let is_ready = key.code == KeyCode::Enter && !self.ticked.is_empty();
            let labels = self
                .ticked
                .iter()
                .filter_map(|index| choices.get(*index))
                .map(|(label, _)| label.as_str());
            let text = labels.collect::<Vec<_>>().join(", ");
            return if is_ready {
                Taken::Answer(Answer::Say { text })
            } else {
                Taken::Pass
            };
        };
        let chosen = c
            .to_digit(10)
            .and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1));
        let Some((index, (label, _))) = chosen.and_then(|index| Some((index, choices.get(index)?))) else {
            return Taken::Pass;
        };
        if !several {
            return Taken::Answer(Answer::Say { text: label.clone() });
        }
        match self.ticked.iter().position(|ticked| *ticked == index) {
            Some(at) => drop(self.ticked.remove(at)),
            None => self.ticked.push(index),
        }
        Taken::Used
    }

    /// The answer that words are: to a question of the model what it wanted to know, else why not.
    pub(crate) fn words(&self, asked: &Asked, text: String) -> Result<Answer, String> {
        match &asked.question.subject {
            Subject::Inquiry { .. } => Ok(Answer::Say { text }),
            Subject::Permission { input, .. } if self.editing.is_some() => {
                changed(input, &text).map(|input| Answer::Modify { input })
            }
            Subject::Permission { .. } => Ok(Answer::Reject { reason: Some(text) }),
        }
    }

    /// The question as rows, at most so many.
    pub(crate) fn rows(&self, asked: &Asked, width: usize, most: usize, cx: &Cx<'_>) -> Vec<Row> {
        let (head, body, foot) = match &asked.question.subject {
            Subject::Permission {
                action,
                why,
                input,
                rules,
            } => (
                self.head(asked, action, why, cx),
                details(asked, action, input, width.saturating_sub(2), cx),
                self.keys(rules, input, cx),
            ),
            Subject::Inquiry {
                question,
                choices,
                several,
            } => self.inquiry_rows(question, choices, *several, width, cx),
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

    fn keys(&self, rules: &[String], input: &Value, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        if self.editing.is_some() {
            return vec![Row::of("change it below; Enter runs it, Esc goes back", theme.accent)];
        }
        // Keys are offered when they count.
        if self.waits() {
            return vec![Row::of("…", theme.dim)];
        }
        let key = |row: Row, deed: Deed, word: &str| match cx.keys.hint(deed) {
            // An answer without a key is not offered.
            key if key.is_empty() => row,
            key => row.and(key, theme.accent).and(format!(" {word}   "), theme.text),
        };
        let mut row = key(Row::empty(), Deed::ApproveOnce, "yes, once");
        row = key(row, Deed::ApproveSession, "session");
        row = key(row, Deed::ApproveProject, "project");
        row = key(row, Deed::ApproveAlways, "always");
        row = key(row, Deed::Reject, "no");
        if !input.is_null() {
            row = key(row, Deed::Modify, "edit");
        }
        let mut rows = vec![row];
        if let Some(rule) = rules.get(self.rule) {
            let hint = match rules.len() {
                0 | 1 => String::new(),
                _ => format!("  ({}: another)", cx.keys.hint(Deed::NextRule)),
            };
            let scopes =
                [Deed::ApproveSession, Deed::ApproveProject, Deed::ApproveAlways].map(|deed| cx.keys.hint(deed));
            rows.push(
                Row::of(format!("{} remember ", scopes.join(", ")), theme.dim)
                    .and(tame(rule).replace('\n', " "), theme.code)
                    .and(hint, theme.dim),
            );
        }
        rows.push(Row::of("or write what to do instead", theme.dim));
        rows
    }

    fn inquiry_rows(
        &self,
        question: &str,
        choices: &[(String, Option<String>)],
        several: bool,
        width: usize,
        cx: &Cx<'_>,
    ) -> (Vec<Row>, Vec<Row>, Vec<Row>) {
        let theme = cx.theme;
        let question = tame(question);
        let head = question.lines().map(|line| Row::of(line, theme.strong)).collect();
        let mut body = Vec::new();
        for (index, (label, meaning)) in choices.iter().enumerate() {
            let tick = match (several, self.ticked.contains(&index)) {
                (false, _) => "",
                (true, true) => "☑ ",
                (true, false) => "☐ ",
            };
            let mut row =
                Row::of(format!("{} ", index + 1), theme.accent).and(format!("{tick}{}", tame(label)), theme.text);
            if let Some(meaning) = meaning {
                row = row.and(format!(" — {}", tame(meaning)), theme.dim);
            }
            body.extend(wrap(&row, width.saturating_sub(2), &Row::of("  ", theme.text)));
        }
        let hint = match (choices.is_empty(), several) {
            (true, _) => "write your answer below",
            (false, false) => "a number, or write your own answer below",
            (false, true) => "numbers to tick, Enter to send, or write your own answer below",
        };
        (head, body, vec![Row::of(hint, theme.dim)])
    }
}

/// Exactly what would happen.
fn details(asked: &Asked, action: &Action, input: &Value, width: usize, cx: &Cx<'_>) -> Vec<Row> {
    let theme = cx.theme;
    match action {
        Action::Run { command, cwd } | Action::Escalate { command, cwd } => {
            let command = tame(command);
            let lines = command
                .lines()
                .enumerate()
                .map(|(index, line)| Row::of(if index == 0 { "$ " } else { "  " }, theme.accent).and(line, theme.code));
            let mut rows: Vec<Row> = lines
                .flat_map(|row| wrap(&row, width, &Row::of("    ", theme.text)))
                .collect();
            if *cwd != cx.state.facts.root {
                rows.push(Row::of(format!("in {}", cwd.display()), theme.dim).cut(width));
            }
            rows
        }
        Action::Write { .. } | Action::Mcp { .. } => {
            let card = asked
                .question
                .call
                .as_ref()
                .and_then(|call| cx.state.conversation.card_of(call));
            match card.and_then(|card| card.growth(cx)).filter(|diff| !diff.is_empty()) {
                Some(diff) => diff.rows(width, usize::MAX, theme),
                None => fields(input, width, cx),
            }
        }
        Action::Read { .. } | Action::Fetch { .. } | Action::SwitchMode { .. } | Action::Subtask { .. } => Vec::new(),
    }
}

/// The fields of an input, each with its text.
fn fields(input: &Value, width: usize, cx: &Cx<'_>) -> Vec<Row> {
    let Value::Object(fields) = input else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for (name, value) in fields {
        let text = value.as_str().map_or_else(|| value.to_string(), String::from);
        rows.push(Row::of(format!("{}:", tame(name)), cx.theme.dim));
        for line in tame(&text).lines() {
            rows.push(Row::of("  ", cx.theme.text).and(line, cx.theme.text).cut(width));
        }
    }
    rows
}

/// What a person can change of a call: a command as it is, anything else as JSON.
fn editable(input: &Value) -> String {
    match input.get("command").and_then(Value::as_str) {
        Some(command) => command.into(),
        None => serde_json::to_string_pretty(input).unwrap_or_default(),
    }
}

/// The call as the person has changed it.
fn changed(input: &Value, text: &str) -> Result<Value, String> {
    if input.get("command").and_then(Value::as_str).is_some() {
        let mut new = input.clone();
        new["command"] = Value::String(text.trim().into());
        return Ok(new);
    }
    match serde_json::from_str::<Value>(text) {
        Ok(new @ Value::Object(_)) => Ok(new),
        Ok(_) => Err("it must be a JSON object".into()),
        Err(error) => Err(format!("that is not JSON: {error}")),
    }
}
