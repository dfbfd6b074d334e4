//! A goal: work continues after each turn until its check passes, the agent reports it as reached, or a limit is reached.

use super::App;
use crate::action::{AppEffect, AsyncResult};
use crate::backend::GoalCheck;
use model::Message;
use session::{Delivery, NoticeLevel, TurnEnd};

/// Maximum turns for a goal.
const MAX_TURNS: u32 = 20;
/// Maximum bytes of a check's output that are sent.
const MAX_OUTPUT: usize = 4_000;
/// What the agent writes when a goal without a check is reached.
const REACHED: &str = "GOAL REACHED";

/// A goal that the agent pursues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PursuedGoal {
    text: String,
    /// The command that succeeds when the goal is reached.
    check: Option<String>,
    /// Number of turns so far.
    turns: u32,
}

impl PursuedGoal {
    /// `goal 2/20`
    pub(crate) fn status(&self) -> String {
        format!("goal {}/{MAX_TURNS}", self.turns)
    }
}

impl App {
    /// Sets the goal from `TEXT [--check COMMAND]`; without text, shows or clears it.
    pub(super) fn set_goal(&mut self, arguments: &str) -> Vec<AppEffect> {
        match (arguments, &self.state.goal) {
            ("", None) => {
                self.show_notice(NoticeLevel::Info, "no goal is set; usage: /goal TEXT [--check COMMAND]");
                return Vec::new();
            }
            ("", Some(goal)) => {
                let check = match &goal.check {
                    Some(check) => format!("until `{check}` succeeds"),
                    None => "until the agent reports it as reached".into(),
                };
                let text = format!(
                    "goal: {} ({check}; turn {} of {MAX_TURNS}); /goal clear ends it",
                    goal.text, goal.turns
                );
                self.show_notice(NoticeLevel::Info, &text);
                return Vec::new();
            }
            ("clear" | "stop" | "off", _) => {
                self.end_goal("the goal was cleared");
                return Vec::new();
            }
            _ => {}
        }
        let (text, check) = parse_goal(arguments);
        let end = match &check {
            Some(check) => format!("The command `{check}` must succeed; it is run after each turn."),
            None => format!("When it is reached, end your reply with the line {REACHED}."),
        };
        self.state.goal = Some(PursuedGoal {
            text: text.to_owned(),
            check,
            turns: 1,
        });
        let prompt = format!("Work on this goal until it is reached: {text}\n\n{end}");
        self.submit_prompt(Message::user(prompt), Delivery::Steer)
    }

    /// Continues with the goal after a turn.
    pub(super) fn pursue_goal(&mut self, ending: &TurnEnd) -> Vec<AppEffect> {
        let Some(goal) = self.state.goal.clone() else {
            return Vec::new();
        };
        if *ending != TurnEnd::Completed {
            self.end_goal("the goal is no longer pursued, because the turn did not complete");
            return Vec::new();
        }
        match goal.check {
            Some(check) => vec![AppEffect::later(
                self.backend.run_check(check),
                AsyncResult::GoalChecked,
            )],
            None if self.state.conversation.last_reply().contains(REACHED) => {
                self.end_goal("goal reached");
                Vec::new()
            }
            None => {
                let prompt = format!(
                    "The goal is not reported as reached: {}\nContinue. When it is reached, end your reply with the line {REACHED}.",
                    goal.text
                );
                self.next_goal_turn(prompt)
            }
        }
    }

    /// Ends the goal if its check passed; otherwise continues with the output.
    pub(super) fn goal_checked(&mut self, check: &GoalCheck) -> Vec<AppEffect> {
        let command = self.state.goal.as_ref().and_then(|goal| goal.check.clone());
        let Some(command) = command else {
            return Vec::new();
        };
        if check.passed {
            self.end_goal(&format!("goal reached: `{command}` succeeded"));
            return Vec::new();
        }
        let output = check.output.trim();
        let from = output.ceil_char_boundary(output.len().saturating_sub(MAX_OUTPUT));
        let output = output.get(from..).unwrap_or_default();
        self.next_goal_turn(format!(
            "The goal is not reached: `{command}` failed.\n\n{output}\n\nContinue."
        ))
    }

    fn next_goal_turn(&mut self, prompt: String) -> Vec<AppEffect> {
        match &mut self.state.goal {
            Some(goal) if goal.turns < MAX_TURNS => {
                goal.turns += 1;
                self.submit_prompt(Message::user(prompt), Delivery::Steer)
            }
            Some(_) | None => {
                self.end_goal(&format!("the goal was not reached in {MAX_TURNS} turns"));
                Vec::new()
            }
        }
    }

    fn end_goal(&mut self, text: &str) {
        if self.state.goal.take().is_some() {
            self.show_notice(NoticeLevel::Info, text);
        }
    }
}

/// The text and the check of a goal. Quotes around the check or the text are removed, as a shell would do.
fn parse_goal(arguments: &str) -> (&str, Option<String>) {
    let (text, check) = match arguments.split_once("--check") {
        Some((text, check)) => (text, check.strip_prefix('=').unwrap_or(check)),
        None => (arguments, ""),
    };
    let check = Some(unquoted(check).to_owned());
    (unquoted(text), check.filter(|check| !check.is_empty()))
}

/// The text without one pair of quotes around all of it.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inner = |quote: char| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(quote)).then_some(inner)
    };
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::parse_goal;

    #[test]
    fn the_check_of_a_goal_may_be_quoted() {
        for (arguments, text, check) in [
            ("make it pass", "make it pass", None),
            ("make it pass --check cargo test", "make it pass", Some("cargo test")),
            (
                "make it pass --check \"cargo test\"",
                "make it pass",
                Some("cargo test"),
            ),
            (
                "\"make it pass\" --check='cargo test'",
                "make it pass",
                Some("cargo test"),
            ),
            (
                "go --check \"./a b\" && test \"$X\"",
                "go",
                Some("\"./a b\" && test \"$X\""),
            ),
            ("go --check", "go", None),
        ] {
            assert_eq!(parse_goal(arguments), (text, check.map(String::from)), "{arguments}");
        }
    }
}
