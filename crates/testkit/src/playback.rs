//! Selects the reply to a request: turn, fault and usage figures.

use std::collections::HashMap;

use crate::cache::{CacheCounts, PrefixCache, tokens};
use crate::check;
use crate::fault::{Fault, PlannedFault, Times};
use crate::pace::Pace;
use crate::parsed_request::ParsedRequest;
use crate::record::RequestOutcome;
use crate::refusal::Refusal;
use crate::script::{Script, Stop, Turn, TurnOrder};
use crate::signatures::{self, SignatureRegistry};
use crate::wire::{ScriptedCall, ScriptedReply, ScriptedThinking, TokenCounts, Wire};

/// The state of a running script.
#[derive(Debug)]
pub(crate) struct Playback {
    script: Script,
    attempts: HashMap<usize, u32>,
    /// The next turn in sequential order.
    position: usize,
    cache: PrefixCache,
    seals: SignatureRegistry,
}

/// The selected reply.
#[derive(Debug)]
pub(crate) enum Decision {
    Refuse {
        refusal: Refusal,
        outcome: RequestOutcome,
    },
    Answer {
        answer: ScriptedReply,
        fault: Option<Fault>,
        outcome: RequestOutcome,
    },
}

impl Playback {
    pub(crate) fn new(script: Script) -> Self {
        let mut seals = SignatureRegistry::default();
        let thoughts = script.turns.iter().filter_map(|turn| turn.thinking.as_ref());
        thoughts
            .filter(|thought| thought.signature.is_some())
            .for_each(|thought| seals.register(thought, std::iter::empty()));
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

    /// Selects the reply. Sets the turn in `seen`.
    pub(crate) fn decide(&mut self, seen: &mut ParsedRequest, serial: usize) -> Decision {
        if let Some(refusal) = self.refusal(seen) {
            let outcome = RequestOutcome::Refused {
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
                outcome: RequestOutcome::Side,
            };
        }
        seen.turn = match self.script.order {
            TurnOrder::Progress => seen.progress(&self.script.turns),
            TurnOrder::Sequence => self.position,
        };
        let asked = self.attempts.entry(seen.turn).or_default();
        seen.attempt = *asked;
        *asked += 1;
        let Some(turn) = self.script.next_turn(seen) else {
            let answer = self.answer(seen, &Turn::text("The script is over."), None, counted, serial);
            return Decision::Answer {
                answer,
                fault: None,
                outcome: RequestOutcome::Over,
            };
        };
        let planned = active_fault(&turn.faults, seen.attempt);
        if planned.is_none_or(|planned| planned.times == Times::Always) {
            self.position = seen.turn + 1;
        }
        let fault = planned.map(|planned| planned.fault.clone());
        let outcome = match &fault {
            Some(fault) => RequestOutcome::Fault {
                turn: seen.turn,
                fault: fault.clone(),
            },
            None => RequestOutcome::Turn { turn: seen.turn },
        };
        let answer = self.answer(seen, &turn, fault.as_ref(), counted, serial);
        Decision::Answer { answer, fault, outcome }
    }

    fn refusal(&self, seen: &ParsedRequest) -> Option<Refusal> {
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

    fn answer(
        &mut self,
        seen: &ParsedRequest,
        turn: &Turn,
        fault: Option<&Fault>,
        counted: CacheCounts,
        serial: usize,
    ) -> ScriptedReply {
        let calls = calls(seen, turn, fault);
        // Anthropic sends thinking only on request; the other vendors decide themselves.
        let silent = matches!(seen.wire, Wire::Anthropic | Wire::Bedrock | Wire::Vertex) && !seen.thinking;
        let thinking = turn.thinking.as_ref().filter(|_| !silent);
        if let Some(thinking) = thinking {
            self.seals.register(thinking, calls.iter().map(|call| call.id.clone()));
        }
        let thought = thinking.map(|thinking| ScriptedThinking {
            text: thinking.text.clone(),
            signature: signatures::signature(thinking),
            redacted: thinking.redacted,
        });
        let stop = turn
            .stop
            .unwrap_or(if calls.is_empty() { Stop::End } else { Stop::ToolUse });
        let pace: Pace = turn.pace.unwrap_or(self.script.pace);
        let figures = figures(turn, thought.as_ref(), &calls, counted);
        let reports = fault != Some(&Fault::MissingUsage);
        ScriptedReply {
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

/// The fault for this attempt.
fn active_fault(faults: &[PlannedFault], attempt: u32) -> Option<&PlannedFault> {
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

fn calls(seen: &ParsedRequest, turn: &Turn, fault: Option<&Fault>) -> Vec<ScriptedCall> {
    let made = |(at, call): (usize, &crate::script::Call)| ScriptedCall {
        id: match (fault, &call.id) {
            (Some(Fault::EmptyIds), _) => String::new(),
            (Some(Fault::DuplicateIds), _) => format!("call_step{}_0", seen.turn),
            (_, Some(id)) => id.clone(),
            (_, None) => format!("call_step{}_{at}", seen.turn),
        },
        name: call.name.clone(),
        arguments: call.raw.clone().unwrap_or_else(|| call.input.to_string()),
    };
    let mut calls: Vec<ScriptedCall> = turn.calls.iter().enumerate().map(made).collect();
    if let (Some(Fault::TruncatedArguments), Some(last)) = (fault, calls.last_mut()) {
        let mut half = last.arguments.len() / 2;
        while !last.arguments.is_char_boundary(half) {
            half += 1;
        }
        last.arguments.truncate(half.max(1));
    }
    calls
}

fn figures(
    turn: &Turn,
    thought: Option<&ScriptedThinking>,
    calls: &[ScriptedCall],
    counted: CacheCounts,
) -> TokenCounts {
    let bytes = |text: &str| text.len() as u64;
    let reasoning = tokens(thought.map_or(0, |thought| bytes(&thought.text)));
    let spoken = bytes(&turn.text)
        + calls
            .iter()
            .map(|call| bytes(&call.name) + bytes(&call.arguments))
            .sum::<u64>();
    let usage = turn.usage;
    let reasoning = usage.reasoning.unwrap_or(reasoning);
    TokenCounts {
        input: usage.input.unwrap_or(counted.input),
        read: usage.cache_read.unwrap_or(counted.read),
        write: usage.cache_write.unwrap_or(counted.write),
        output: usage.output.unwrap_or(reasoning + tokens(spoken).max(1)),
        reasoning,
    }
}
