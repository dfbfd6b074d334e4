//! The script of a model: a list of turns, or a function that creates them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;
use crate::fault::{Fault, PlannedFault, Times};
use crate::pace::Pace;
use crate::parsed_request::ParsedRequest;

/// A script for a model, in Rust or JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// The turns, in order.
    pub turns: Vec<Turn>,
    /// How the turn for a request is selected.
    pub order: TurnOrder,
    /// The reply to a request without tools, such as for a title. If absent, such requests take turns too.
    pub side: Option<String>,
    /// The default pace of the turns.
    pub pace: Pace,
    /// The model names that discovery reports.
    pub models: Vec<String>,
    /// Whether discovery reports that the models have no tool calls.
    pub without_tools: bool,
    /// The required API key. If absent, any key or none is accepted.
    pub key: Option<String>,
    /// The context window in tokens; longer prompts are refused with the vendor's message.
    pub window: Option<u64>,
    /// How prompts are counted.
    pub counting: TokenCounting,
    /// Whether requests are validated as strictly as by the vendors.
    pub strict: bool,
    #[serde(skip)]
    reply: Option<Reply>,
}

#[derive(Clone)]
struct Reply(Arc<dyn Fn(&ParsedRequest) -> Turn + Send + Sync>);

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fn(&Seen) -> Turn")
    }
}

impl Default for Script {
    fn default() -> Self {
        Self {
            turns: Vec::new(),
            order: TurnOrder::default(),
            side: Some("A scripted session".to_owned()),
            pace: Pace::default(),
            models: vec!["scripted".to_owned()],
            without_tools: false,
            key: None,
            window: None,
            counting: TokenCounting::default(),
            strict: true,
            reply: None,
        }
    }
}

impl Script {
    /// An empty script.
    pub fn new() -> Self {
        Self::default()
    }

    /// A script that creates its turns on request.
    pub fn dynamic(reply: impl Fn(&ParsedRequest) -> Turn + Send + Sync + 'static) -> Self {
        Self {
            reply: Some(Reply(Arc::new(reply))),
            ..Self::default()
        }
    }

    /// Parses the JSON form. Unknown fields are errors.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(Error::Script)
    }

    /// Adds a turn.
    pub fn turn(mut self, turn: Turn) -> Self {
        self.turns.push(turn);
        self
    }

    /// Adds many turns.
    pub fn turns(mut self, turns: impl IntoIterator<Item = Turn>) -> Self {
        self.turns.extend(turns);
        self
    }

    /// Sets how the turn for a request is selected.
    pub fn order(mut self, order: TurnOrder) -> Self {
        self.order = order;
        self
    }

    /// Sets the reply to requests without tools.
    pub fn side_reply(mut self, text: impl Into<String>) -> Self {
        self.side = Some(text.into());
        self
    }

    /// Makes requests without tools take turns like others.
    pub fn without_side_reply(mut self) -> Self {
        self.side = None;
        self
    }

    /// Sets the default pace of the turns.
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Requires an API key.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Refuses prompts with more tokens than this.
    pub fn window(mut self, tokens: u64) -> Self {
        self.window = Some(tokens);
        self
    }

    /// Sets how prompts are counted.
    pub fn counting(mut self, counting: TokenCounting) -> Self {
        self.counting = counting;
        self
    }

    /// Sets the model names that discovery reports.
    pub fn models<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.models = names.into_iter().map(Into::into).collect();
        self
    }

    /// Lets discovery report that the models have no tool calls.
    pub fn without_tools(mut self) -> Self {
        self.without_tools = true;
        self
    }

    /// Accepts any request without validation.
    pub fn lenient(mut self) -> Self {
        self.strict = false;
        self
    }

    /// The turn for a request; `None` when the script is over.
    pub(crate) fn next_turn(&self, seen: &ParsedRequest) -> Option<Turn> {
        match &self.reply {
            Some(reply) => Some((reply.0)(seen)),
            None => self.turns.get(seen.turn).cloned(),
        }
    }
}

/// How prompts are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenCounting {
    /// Like vendors: read and written tokens add up, and caches have a minimum size and granularity.
    #[default]
    Tokens,
    /// Like servers without a tokenizer: one token per four bytes of a plain rendering. Tokens read, written and
    /// uncached are rounded up separately and need not add up; automatic caches accept any prefix.
    Bytes,
}

/// How the turn for a request is selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOrder {
    /// By the content of the request, so that a retried or resumed request gets the same turn again: the turn after the
    /// last `call_step{n}_{i}` in it, plus the assistant turns since; without such a call, the number of assistant
    /// turns. Text alone does not complete a turn that should have called a tool.
    #[default]
    Progress,
    /// One turn after the other, regardless of the request. A turn is consumed by its real reply or by a permanent
    /// fault.
    Sequence,
}

/// One reply of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    /// Its thinking. Sent only if the request enables thinking, as by the vendors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// Its text.
    pub text: String,
    /// The tool calls after the text.
    pub calls: Vec<Call>,
    /// The stop reason; by default `ToolUse` with calls and `End` without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Figures that override the counted ones.
    pub usage: Usage,
    /// Its pace; defaults to the script's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// Faults before the real reply, in order.
    pub faults: Vec<PlannedFault>,
}

impl Turn {
    /// A turn with text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A turn with one tool call and no text.
    pub fn calls(name: impl Into<String>, input: Value) -> Self {
        Self::default().call(name, input)
    }

    /// Adds a tool call.
    pub fn call(mut self, name: impl Into<String>, input: Value) -> Self {
        self.calls.push(Call {
            name: name.into(),
            input,
            id: None,
            raw: None,
        });
        self
    }

    /// Adds a tool call with an explicit id.
    pub fn call_with_id(mut self, id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        self.calls.push(Call {
            name: name.into(),
            input,
            id: Some(id.into()),
            raw: None,
        });
        self
    }

    /// Adds a tool call with raw arguments, JSON or not.
    pub fn raw_call(mut self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.calls.push(Call {
            name: name.into(),
            input: Value::Null,
            id: None,
            raw: Some(arguments.into()),
        });
        self
    }

    /// Adds thinking before the text.
    pub fn thinking(mut self, text: impl Into<String>) -> Self {
        self.thinking = Some(Thinking {
            text: text.into(),
            ..Thinking::default()
        });
        self
    }

    /// Sets the stop reason.
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Sets the usage figures.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Sets the pace.
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = Some(pace);
        self
    }

    /// Adds a fault that occurs this many times before the real reply (or the next fault).
    pub fn with_fault(mut self, fault: Fault, times: u32) -> Self {
        self.faults.push(PlannedFault {
            fault,
            times: Times::Count(times),
        });
        self
    }

    /// Whether the reply must contain tool calls.
    pub(crate) fn must_call(&self) -> bool {
        !self.calls.is_empty() && matches!(self.stop, None | Some(Stop::ToolUse))
    }

    /// Adds a fault that occurs every time.
    pub fn with_permanent_fault(mut self, fault: Fault) -> Self {
        self.faults.push(PlannedFault {
            fault,
            times: Times::Always,
        });
        self
    }
}

/// Thinking and the data that the client must send back with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thinking {
    /// The text.
    pub text: String,
    /// The signature (Anthropic, Gemini) or encrypted content (Responses); derived from the text by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Anthropic only: send it as an opaque `redacted_thinking` block.
    pub redacted: bool,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its input.
    #[serde(default)]
    pub input: Value,
    /// Its id; `call_step{turn}_{position}` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The raw arguments, if different from `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// Why the model stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The reply is finished.
    End,
    /// It waits for tool results.
    ToolUse,
    /// The output limit was reached.
    MaxTokens,
    /// The model refuses.
    Refusal,
}

/// Token figures that override the counted ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// All input tokens, including cached ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// All output tokens, including thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Input tokens read from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Input tokens written to the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// Output tokens spent on thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_script_reads_back_from_its_own_json() {
        let script = Script::new()
            .turn(
                Turn::text("Look.")
                    .thinking("Hm.")
                    .call("read_file", json!({"path": "a"}))
                    .with_fault(Fault::overloaded(), 2),
            )
            .turn(
                Turn::text("Done.")
                    .stop(Stop::MaxTokens)
                    .with_permanent_fault(Fault::Hangup),
            );
        let text = serde_json::to_string(&script).expect("scripts serialise");
        assert_eq!(Script::from_json(&text).expect("reads back").turns, script.turns);
    }

    #[test]
    fn a_misspelt_field_is_an_error() {
        assert!(Script::from_json(r#"{"turn": []}"#).is_err());
        assert!(Script::from_json(r#"{"turns": [{"txt": "x"}]}"#).is_err());
    }
}
