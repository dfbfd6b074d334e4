//! Decides what a request gets: which turn, which fault, which figures.

use std::collections::HashMap;

use crate::cache::{Counted, PrefixCache, tokens};
use crate::check;
use crate::fault::{Fault, Planned, Times};
use crate::pace::Pace;
use crate::record::Outcome;
use crate::refusal::Refusal;
use crate::script::{Order, Script, Stop, Turn};
use crate::seal::{self, Seals};
use crate::seen::Seen;
use crate::wire::{Answer, Called, Figures, Thought, Wire};

/// A script in the middle of being played.
#[derive(Debug)]
pub(crate) struct Play {
    script: Script,
    attempts: HashMap<usize, u32>,
    /// The next turn when turns go in sequence.
    position: usize,
    cache: PrefixCache,
    seals: Seals,
}

/// What a request gets.
#[derive(Debug)]
pub(crate) enum Decision {
    Refuse {
        refusal: Refusal,
        outcome: Outcome,
    },
    Answer {
        answer: Answer,
        fault: Option<Fault>,
        outcome: Outcome,
    },
}

impl Play {
    pub(crate) fn new(script: Script) -> Self {
        let mut seals = Seals::default();
        let thoughts = script.turns.iter().filter_map(|turn| turn.thinking.as_ref());
        thoughts
            .filter(|thought| thought.signature.is_some())
            .for_each(|thought| seals.give(thought, std::iter::empty()));
        Self {
            cache: PrefixCache::new(script.counting),
            script,
            attempts: HashMap::new(),
            position: 0,
            seals,
        }
    }

    pub(crate) fn script(&self) -> &Script {
        &self.script
    }

    /// What this request gets. Completes `seen` with the turn it is due.
    pub(crate) fn decide(&mut self, seen: &mut Seen, serial: usize) -> Decision {
        if let Some(refusal) = self.refusal(seen) {
            let outcome = Outcome::Refused {
                message: refusal.message(seen.wire),
            };
            return Decision::Refuse { refusal, outcome };
        }
        let counted = self.cache.count(seen);
        if let (true, Some(text)) = (seen.tools.is_empty(), &self.script.side) {
            let turn = Turn::text(text.clone());
            let answer = self.answer(seen, &turn, None, counted, serial);
            return Decision::Answer {
                answer,
                fault: None,
                outcome: Outcome::Side,
            };
        }
        seen.turn = match self.script.order {
            Order::Progress => seen.progress(&self.script.turns),
            Order::Sequence => self.position,
        };
        let asked = self.attempts.entry(seen.turn).or_default();
        seen.attempt = *asked;
        *asked += 1;
        let Some(turn) = self.script.due(seen) else {
            let answer = self.answer(seen, &Turn::text("The script is over."), None, counted, serial);
            return Decision::Answer {
                answer,
                fault: None,
                outcome: Outcome::Over,
            };
        };
        let planned = striking(&turn.faults, seen.attempt);
        if planned.is_none_or(|planned| planned.times == Times::Always) {
            self.position = seen.turn + 1;
        }
        let fault = planned.map(|planned| planned.fault.clone());
        let outcome = match &fault {
            Some(fault) => Outcome::Fault {
                turn: seen.turn,
                fault: fault.clone(),
            },
            None => Outcome::Turn { turn: seen.turn },
        };
        let answer = self.answer(seen, &turn, fault.as_ref(), counted, serial);
        Decision::Answer { answer, fault, outcome }
    }

    fn refusal(&self, seen: &Seen) -> Option<Refusal> {
        if self.script.key.as_ref().is_some_and(|key| !check::carries(seen, key)) {
            return Some(Refusal::Unauthorized);
        }
        if self.script.strict
            && let Err(refusal) = check::request(seen, &self.seals)
        {
            return Some(refusal);
        }
        let length = tokens(seen.prompt_bytes());
        let window = self.script.window.filter(|window| length > *window)?;
        Some(Refusal::TooLong { tokens: length, window })
    }

    fn answer(&mut self, seen: &Seen, turn: &Turn, fault: Option<&Fault>, counted: Counted, serial: usize) -> Answer {
        let calls = calls(seen, turn, fault);
        // Anthropic sends thinking only to those who ask; the others decide by themselves what they show of it.
        let silent = matches!(seen.wire, Wire::Anthropic | Wire::Bedrock | Wire::Vertex) && !seen.thinking;
        let thinking = turn.thinking.as_ref().filter(|_| !silent);
        if let Some(thinking) = thinking {
            self.seals.give(thinking, calls.iter().map(|call| call.id.clone()));
        }
        let thought = thinking.map(|thinking| Thought {
            text: thinking.text.clone(),
            signature: seal::signature(thinking),
            redacted: thinking.redacted,
        });
        let stop = turn
            .stop
            .unwrap_or(if calls.is_empty() { Stop::End } else { Stop::ToolUse });
        let pace: Pace = turn.pace.unwrap_or(self.script.pace);
        let figures = figures(turn, thought.as_ref(), &calls, counted);
        let reports = fault != Some(&Fault::MissingUsage);
        Answer {
            serial,
            thought,
            text: turn.text.clone(),
            calls,
            stop,
            figures,
            reports,
            pace,
        }
    }
}

/// The fault that strikes at this attempt.
fn striking(faults: &[Planned], attempt: u32) -> Option<&Planned> {
    let mut left = attempt;
    faults.iter().find(|planned| match planned.times {
        Times::Always => true,
        Times::Count(times) if left < times => true,
        Times::Count(times) => {
            left -= times;
            false
        }
    })
}

fn calls(seen: &Seen, turn: &Turn, fault: Option<&Fault>) -> Vec<Called> {
    let made = |(at, call): (usize, &crate::script::Call)| Called {
        id: match (fault, &call.id) {
            (Some(Fault::EmptyIds), _) => String::new(),
            (Some(Fault::DuplicateIds), _) => format!("call_step{}_0", seen.turn),
            (_, Some(id)) => id.clone(),
            (_, None) => format!("call_step{}_{at}", seen.turn),
        },
        name: call.name.clone(),
        arguments: call.raw.clone().unwrap_or_else(|| call.input.to_string()),
    };
    let mut calls: Vec<Called> = turn.calls.iter().enumerate().map(made).collect();
    if let (Some(Fault::TruncatedArguments), Some(last)) = (fault, calls.last_mut()) {
        let mut half = last.arguments.len() / 2;
        while !last.arguments.is_char_boundary(half) {
            half += 1;
        }
        last.arguments.truncate(half.max(1));
    }
    calls
}

fn figures(turn: &Turn, thought: Option<&Thought>, calls: &[Called], counted: Counted) -> Figures {
    let bytes = |text: &str| text.len() as u64;
    let reasoning = tokens(thought.map_or(0, |thought| bytes(&thought.text)));
    let spoken = bytes(&turn.text)
        + calls
            .iter()
            .map(|call| bytes(&call.name) + bytes(&call.arguments))
            .sum::<u64>();
    let told = turn.usage;
    let reasoning = told.reasoning.unwrap_or(reasoning);
    Figures {
        input: told.input.unwrap_or(counted.input),
        read: told.cache_read.unwrap_or(counted.read),
        write: told.cache_write.unwrap_or(counted.write),
        output: told.output.unwrap_or(reasoning + tokens(spoken).max(1)),
        reasoning,
    }
}
