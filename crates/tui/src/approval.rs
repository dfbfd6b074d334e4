//! A question in its place above the composer. What is written below it is an answer in words, unless it is nothing but the
//! letter or the numbers of answers that are offered: no sentence can be taken for a yes.

mod details;
mod rows;

use crate::keys::{Context, Deed, Key, Keys};
use crate::state::Asked;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use policy::Scope;
use serde_json::Value;
use session::{Answer, QuestionId, Subject};
use std::time::{Duration, Instant};

/// Whoever was typing when the question came did not mean to answer it.
const GRACE: Duration = Duration::from_millis(600);
/// Nor did whoever pressed a key in the moment in which it came.
const MOMENT: Duration = Duration::from_millis(250);

/// The answers to a question for permission, in the order in which they are offered.
const OFFERED: [Deed; 6] = [
    Deed::ApproveOnce,
    Deed::ApproveSession,
    Deed::ApproveProject,
    Deed::ApproveAlways,
    Deed::Reject,
    Deed::Modify,
];

/// How far the person has come with a question.
#[derive(Debug)]
pub(crate) struct Approval {
    question: QuestionId,
    /// Until then keys are not answers: the person may have meant something else.
    grace: Option<Instant>,
    /// Which of the offered answers is chosen; absent before the person has moved.
    chosen: Option<usize>,
    /// Which of the offered rules would be remembered.
    rule: usize,
    /// Which suggested answers are ticked, where several may be.
    ticked: Vec<usize>,
    /// Whether everything is shown.
    whole: bool,
    /// Since when something is written in the composer; absent where nothing is.
    begun: Option<Begun>,
    /// What stood in the composer before the call was put there to be changed.
    pub(crate) editing: Option<String>,
}

/// When the person began to write what stands in the composer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    /// Before they can have read the question: it is not about it.
    Before,
    /// With the question before them.
    After,
}

/// What a key means to a question.
pub(crate) enum Taken {
    /// It was used.
    Used,
    /// It was used, and the composer is to be emptied.
    Back,
    /// The answer.
    Answer(Answer),
    /// The call is to be changed first: this is what can be changed.
    Edit(String),
    /// It was not for the question.
    Pass,
}

impl Approval {
    /// Nothing has been said to this question yet; `line` is what is written already.
    pub(crate) fn new(asked: &Asked, is_writing: bool, line: &str) -> Self {
        let grace = if is_writing { GRACE } else { MOMENT };
        Approval {
            question: asked.question.id,
            grace: Some(Instant::now() + grace),
            chosen: None,
            rule: 0,
            ticked: Vec::new(),
            whole: false,
            begun: (!line.is_empty()).then_some(Begun::Before),
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

    /// The person has written, or deleted, something.
    pub(crate) fn note(&mut self, line: &str) {
        self.begun = match (line.is_empty(), self.begun, self.waits()) {
            (true, ..) => None,
            (false, Some(begun), _) => Some(begun),
            (false, None, true) => Some(Begun::Before),
            (false, None, false) => Some(Begun::After),
        };
    }

    /// Whether what is written is meant for the model whatever it asks: it was begun before the question came.
    pub(crate) fn is_beside(&self) -> bool {
        self.editing.is_none() && self.begun == Some(Begun::Before)
    }

    /// Takes a key; `line` is what is written in the composer.
    pub(crate) fn take(&mut self, key: &KeyEvent, line: &str, asked: &Asked, keys: &Keys) -> Taken {
        let deed = keys.deed(Context::Approval, *key);
        let deed = deed.filter(|deed| deed.binding().context == Context::Approval);
        if deed == Some(Deed::ShowAll) && Key::from(*key).types().is_none() {
            self.whole = !self.whole;
            return Taken::Used;
        }
        if self.waits() || self.is_beside() {
            return Taken::Pass;
        }
        match &asked.question.subject {
            Subject::Permission { input, rules, .. } => {
                let offered = offered(input, keys);
                let named = named(line, &offered, keys);
                if !line.is_empty() && named.is_none() {
                    return Taken::Pass;
                }
                self.for_permission(key, deed, &offered, named, (input, rules))
            }
            Subject::Inquiry { choices, several, .. } => {
                let named = numbered(line, choices.len(), *several);
                if !line.is_empty() && named.is_empty() {
                    return Taken::Pass;
                }
                self.for_inquiry(key, deed, choices, named, *several)
            }
        }
    }

    /// A key while nothing is written, or no more than the letter of an answer.
    fn for_permission(
        &mut self,
        key: &KeyEvent,
        deed: Option<Deed>,
        offered: &[Deed],
        named: Option<Deed>,
        (input, rules): (&Value, &[String]),
    ) -> Taken {
        // What types a letter may be the beginning of a sentence: it goes to the line, and Enter decides.
        let deed = deed.filter(|_| Key::from(*key).types().is_none());
        match deed {
            Some(Deed::Confirm) => match named.or_else(|| self.chosen(offered)) {
                Some(deed) => self.permission(deed, input, rules),
                None => Taken::Pass,
            },
            Some(Deed::NextRule) if rules.len() > 1 => {
                self.rule = (self.rule + 1) % rules.len();
                Taken::Used
            }
            Some(deed @ (Deed::NextAnswer | Deed::PreviousAnswer)) if named.is_none() => {
                let now = self.chosen(offered).and_then(|deed| place(offered, deed));
                self.chosen = moved(now, offered.len(), deed == Deed::NextAnswer);
                Taken::Used
            }
            Some(deed) if named.is_none() && offered.contains(&deed) => self.permission(deed, input, rules),
            Some(_) | None => self.back(key, named.is_some()),
        }
    }

    /// The answer that Enter gives: a plain yes, before another one was chosen.
    fn chosen(&self, offered: &[Deed]) -> Option<Deed> {
        match self.chosen {
            Some(index) => offered.get(index).copied(),
            None => offered.iter().copied().find(|deed| *deed == Deed::ApproveOnce),
        }
    }

    fn permission(&self, deed: Deed, input: &Value, rules: &[String]) -> Taken {
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
            Deed::Modify => Taken::Edit(editable(input)),
            _ => Taken::Pass,
        }
    }

    fn for_inquiry(
        &mut self,
        key: &KeyEvent,
        deed: Option<Deed>,
        choices: &[(String, Option<String>)],
        named: Vec<usize>,
        several: bool,
    ) -> Taken {
        let is_written = !named.is_empty();
        match deed {
            Some(Deed::Confirm) => {
                let picked = match (is_written, self.ticked.is_empty()) {
                    (true, _) => named,
                    (false, false) => self.ticked.clone(),
                    (false, true) => self.chosen.into_iter().collect(),
                };
                let labels = picked.iter().filter_map(|index| choices.get(*index));
                let text = labels.map(|(label, _)| label.as_str()).collect::<Vec<_>>().join(", ");
                match text.is_empty() {
                    true => Taken::Pass,
                    false => Taken::Answer(Answer::Say { text }),
                }
            }
            Some(deed @ (Deed::NextAnswer | Deed::PreviousAnswer)) if !is_written && !choices.is_empty() => {
                self.chosen = moved(self.chosen, choices.len(), deed == Deed::NextAnswer);
                Taken::Used
            }
            Some(_) | None => match (key.code, self.chosen) {
                // A blank begins no sentence.
                (KeyCode::Char(' '), Some(index)) if several && !is_written => {
                    match self.ticked.iter().position(|ticked| *ticked == index) {
                        Some(at) => drop(self.ticked.remove(at)),
                        None => self.ticked.push(index),
                    }
                    Taken::Used
                }
                _ => self.back(key, is_written),
            },
        }
    }

    /// Esc goes back to where nothing was chosen; there, it is not for the question.
    fn back(&mut self, key: &KeyEvent, is_written: bool) -> Taken {
        if key.code != KeyCode::Esc || key.modifiers != KeyModifiers::NONE {
            return Taken::Pass;
        }
        let was_chosen = self.chosen.take().is_some();
        match (is_written, was_chosen) {
            (true, _) => Taken::Back,
            (false, true) => Taken::Used,
            (false, false) => Taken::Pass,
        }
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
}

/// The answers that are offered. One without a key is not.
fn offered(input: &Value, keys: &Keys) -> Vec<Deed> {
    let is_offered = |deed: &Deed| !keys.hint(*deed).is_empty() && (*deed != Deed::Modify || !input.is_null());
    OFFERED.into_iter().filter(is_offered).collect()
}

/// The answer whose letter is all that is written.
fn named(line: &str, offered: &[Deed], keys: &Keys) -> Option<Deed> {
    let mut letters = line.trim().chars();
    let (Some(letter), None) = (letters.next(), letters.next()) else {
        return None;
    };
    let of = |letter: char| {
        let deed = keys.deed(Context::Approval, Key::new(KeyCode::Char(letter), KeyModifiers::NONE))?;
        offered.contains(&deed).then_some(deed)
    };
    of(letter).or_else(|| of(letter.to_ascii_lowercase()))
}

/// The suggested answers whose numbers are all that is written: one, or several where several may be.
fn numbered(line: &str, count: usize, several: bool) -> Vec<usize> {
    let index = |word: &str| {
        word.parse::<usize>()
            .ok()?
            .checked_sub(1)
            .filter(|index| *index < count)
    };
    let words: Vec<&str> = line
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|word| !word.is_empty())
        .collect();
    let found: Option<Vec<usize>> = words.iter().map(|word| index(word)).collect();
    // Where there are few of them, `13` is the first and the third.
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
    match several || words.len() == 1 {
        true => found,
        false => Vec::new(),
    }
}

fn place(offered: &[Deed], deed: Deed) -> Option<usize> {
    offered.iter().position(|other| *other == deed)
}

/// The answer after, or before, this one: round and round.
fn moved(now: Option<usize>, count: usize, forward: bool) -> Option<usize> {
    let last = count.checked_sub(1)?;
    Some(match (now, forward) {
        (None, true) => 0,
        (None, false) => last,
        (Some(at), true) => (at + 1) % count,
        (Some(at), false) => at.checked_sub(1).unwrap_or(last),
    })
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
