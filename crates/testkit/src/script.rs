//! What the scripted model says: a list of turns, or a function that makes them up.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;
use crate::fault::{Fault, Planned, Times};
use crate::pace::Pace;
use crate::seen::Seen;

/// A whole part for a scripted model, with a Rust and a JSON form.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// The turns, in order.
    pub turns: Vec<Turn>,
    /// How the turn for a request is found.
    pub order: Order,
    /// The answer to a request that offers no tools (a title, say). Without it such requests take turns too.
    pub side: Option<String>,
    /// How turns stream that do not say it themselves.
    pub pace: Pace,
    /// The model names that discovery reports.
    pub models: Vec<String>,
    /// The API key to insist on. Without it any key, or none, will do.
    pub key: Option<String>,
    /// The context window in tokens; a longer prompt is refused in the vendor's words.
    pub window: Option<u64>,
    /// How prompts are counted.
    pub counting: Counting,
    /// Whether requests are checked as strictly as the vendors do.
    pub strict: bool,
    #[serde(skip)]
    reply: Option<Reply>,
}

#[derive(Clone)]
struct Reply(Arc<dyn Fn(&Seen) -> Turn + Send + Sync>);

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fn(&Seen) -> Turn")
    }
}

impl Default for Script {
    fn default() -> Self {
        Self {
            turns: Vec::new(),
            order: Order::default(),
            side: Some("A scripted session".to_owned()),
            pace: Pace::default(),
            models: vec!["scripted".to_owned()],
            key: None,
            window: None,
            counting: Counting::default(),
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

    /// A script whose turns are made up as requests come in.
    pub fn dynamic(reply: impl Fn(&Seen) -> Turn + Send + Sync + 'static) -> Self {
        Self {
            reply: Some(Reply(Arc::new(reply))),
            ..Self::default()
        }
    }

    /// Reads the JSON form. Unknown fields are errors.
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

    /// Sets how the turn for a request is found.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Sets the answer to requests that offer no tools.
    pub fn side(mut self, text: impl Into<String>) -> Self {
        self.side = Some(text.into());
        self
    }

    /// Lets requests without tools take turns like any other.
    pub fn no_side(mut self) -> Self {
        self.side = None;
        self
    }

    /// Sets how turns stream that do not say it themselves.
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Insists on an API key.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Refuses prompts of more tokens than this.
    pub fn window(mut self, tokens: u64) -> Self {
        self.window = Some(tokens);
        self
    }

    /// Sets how prompts are counted.
    pub fn counting(mut self, counting: Counting) -> Self {
        self.counting = counting;
        self
    }

    /// Sets the model names that discovery reports.
    pub fn models<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.models = names.into_iter().map(Into::into).collect();
        self
    }

    /// Takes any request without checking it.
    pub fn lenient(mut self) -> Self {
        self.strict = false;
        self
    }

    /// The turn that a request is due; `None` when the script is over.
    pub(crate) fn due(&self, seen: &Seen) -> Option<Turn> {
        match &self.reply {
            Some(reply) => Some((reply.0)(seen)),
            None => self.turns.get(seen.turn).cloned(),
        }
    }
}

/// How prompts are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counting {
    /// As vendors do: what is read and written adds up, and caches have a least size and steps.
    #[default]
    Tokens,
    /// As servers do that know no tokenizer: a token for each four bytes of a plain rendering. What is read, what is written and
    /// the rest are rounded up apart, so that they need not add up; automatic caches take any prefix.
    Bytes,
}

/// How the turn for a request is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// By what the request already holds, so that a retried or resumed request gets the same turn again: the turn
    /// after the last `call_step{n}_{i}` in it, plus the assistant turns since; without such a call, as many turns
    /// on as there are assistant turns. Text alone does not count for a turn that should have called a tool.
    #[default]
    Progress,
    /// One turn after the other, whatever is asked. A turn is used up by its real answer or by a fault that never ends.
    Sequence,
}

/// One answer of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    /// What it thinks first. Sent only where the request asked for thinking, as the vendors do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// What it says.
    pub text: String,
    /// The tools it calls after that.
    pub calls: Vec<Call>,
    /// Why it stops; by default `ToolUse` with calls and `End` without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Figures that replace the counted ones.
    pub usage: Usage,
    /// How it streams, if not as the script says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// What goes wrong, in order, before the real answer comes.
    pub faults: Vec<Planned>,
}

impl Turn {
    /// A turn that says something.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A turn that calls one tool without a word.
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

    /// Adds a tool call with an id of its own.
    pub fn call_with_id(mut self, id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        self.calls.push(Call {
            name: name.into(),
            input,
            id: Some(id.into()),
            raw: None,
        });
        self
    }

    /// Adds a tool call whose arguments are this very text, JSON or not.
    pub fn raw_call(mut self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.calls.push(Call {
            name: name.into(),
            input: Value::Null,
            id: None,
            raw: Some(arguments.into()),
        });
        self
    }

    /// Thinks before it speaks.
    pub fn thinking(mut self, text: impl Into<String>) -> Self {
        self.thinking = Some(Thinking {
            text: text.into(),
            ..Thinking::default()
        });
        self
    }

    /// Stops for this reason.
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Reports these figures.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Streams in this way.
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = Some(pace);
        self
    }

    /// Goes wrong this many times before the real answer (or the next fault) comes.
    pub fn fails(mut self, fault: Fault, times: u32) -> Self {
        self.faults.push(Planned {
            fault,
            times: Times::Count(times),
        });
        self
    }

    /// Whether an answer without tool calls cannot be all of it.
    pub(crate) fn must_call(&self) -> bool {
        !self.calls.is_empty() && matches!(self.stop, None | Some(Stop::ToolUse))
    }

    /// Goes wrong every time.
    pub fn always(mut self, fault: Fault) -> Self {
        self.faults.push(Planned {
            fault,
            times: Times::Always,
        });
        self
    }
}

/// A thought, and what the vendor would have the client send back with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thinking {
    /// The thought.
    pub text: String,
    /// The signature (Anthropic, Gemini) or encrypted content (Responses); made from the text unless given.
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
    /// Its id; `call_step{turn}_{position}` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The text of the arguments, if it shall not be that of `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// Why the model stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It has finished.
    End,
    /// It waits for tool results.
    ToolUse,
    /// The output limit was reached.
    MaxTokens,
    /// It will not go on.
    Refusal,
}

/// Token figures that replace the counted ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// Input tokens in all, cached ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Output tokens in all, thinking included.
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
                    .fails(Fault::overloaded(), 2),
            )
            .turn(Turn::text("Done.").stop(Stop::MaxTokens).always(Fault::Hangup));
        let text = serde_json::to_string(&script).expect("scripts serialise");
        assert_eq!(Script::from_json(&text).expect("reads back").turns, script.turns);
    }

    #[test]
    fn a_misspelt_field_is_an_error() {
        assert!(Script::from_json(r#"{"turn": []}"#).is_err());
        assert!(Script::from_json(r#"{"turns": [{"txt": "x"}]}"#).is_err());
    }
}
