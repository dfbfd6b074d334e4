//! Gathers the chunks of a stream into the parts of a message.

use crate::chunk::Part as Sealed;
use crate::{CallId, Chunk, Cost, Message, Part, Replay, Role, Stop, Usage, json};
use serde_json::{Map, Value};

/// A reply as far as it has arrived.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    drafts: Vec<Draft>,
    /// The provider's newest figures.
    pub usage: Option<Usage>,
    /// The provider's own price.
    pub cost: Option<Cost>,
    /// Why it ended; `None` while it has not.
    pub stop: Option<Stop>,
}

/// A part that may still grow.
#[derive(Debug, Clone)]
enum Draft {
    Text {
        text: String,
        replay: Option<Replay>,
    },
    Thinking {
        text: String,
        replay: Option<Replay>,
    },
    Call {
        id: CallId,
        name: String,
        raw: String,
        complete: bool,
        replay: Option<Replay>,
    },
}

impl Reply {
    /// Takes in the next chunk.
    pub fn push(&mut self, chunk: Chunk) {
        match chunk {
            Chunk::Text(delta) => match self.drafts.last_mut() {
                Some(Draft::Text { text, replay: None }) => text.push_str(&delta),
                Some(_) | None => self.drafts.push(Draft::Text {
                    text: delta,
                    replay: None,
                }),
            },
            Chunk::Thinking(delta) => match self.drafts.last_mut() {
                Some(Draft::Thinking { text, replay: None }) => text.push_str(&delta),
                Some(_) | None => self.drafts.push(Draft::Thinking {
                    text: delta,
                    replay: None,
                }),
            },
            Chunk::Replay { of, replay } => self.seal(of, replay),
            Chunk::ToolStart { id, name } => {
                self.drafts.push(Draft::Call {
                    id,
                    name,
                    raw: String::new(),
                    complete: false,
                    replay: None,
                });
            }
            Chunk::ToolInput { id, delta } => {
                if let Some(Draft::Call { raw, .. }) = self.call(&id) {
                    raw.push_str(&delta);
                }
            }
            Chunk::ToolEnd { id } => {
                if let Some(Draft::Call { complete, .. }) = self.call(&id) {
                    *complete = true;
                }
            }
            Chunk::Usage(usage) => self.usage = Some(usage),
            Chunk::Cost(cost) => self.cost = Some(cost),
            Chunk::Notice(_) | Chunk::Sent(_) => {}
            Chunk::Stop(stop) => self.stop = Some(stop),
        }
    }

    /// Whether nothing worth keeping has arrived.
    pub fn is_empty(&self) -> bool {
        self.drafts.is_empty()
    }

    /// The call of this id, parsed, once its input is complete.
    pub fn finished_call(&self, id: &CallId) -> Option<Part> {
        self.drafts.iter().find_map(|draft| match draft {
            Draft::Call {
                id: own,
                complete: true,
                ..
            } if own == id => draft.clone().into_part(),
            Draft::Call { .. } | Draft::Text { .. } | Draft::Thinking { .. } => None,
        })
    }

    /// The raw input of the call of this id, as far as it has arrived.
    pub fn raw_input(&self, id: &CallId) -> Option<&str> {
        self.drafts.iter().find_map(|draft| match draft {
            Draft::Call { id: own, raw, .. } if own == id => Some(raw.as_str()),
            Draft::Call { .. } | Draft::Text { .. } | Draft::Thinking { .. } => None,
        })
    }

    /// The message so far. Calls whose input never completed are left out: they were never made.
    pub fn into_message(self) -> Message {
        Message {
            role: Role::Assistant,
            parts: self.drafts.into_iter().filter_map(Draft::into_part).collect(),
        }
    }

    fn call(&mut self, id: &CallId) -> Option<&mut Draft> {
        self.drafts
            .iter_mut()
            .rev()
            .find(|draft| matches!(draft, Draft::Call { id: own, .. } if own == id))
    }

    fn seal(&mut self, of: Sealed, seal: Replay) {
        let open = self.drafts.iter_mut().rev().find_map(|draft| match (draft, &of) {
            (Draft::Text { replay, .. }, Sealed::Text) | (Draft::Thinking { replay, .. }, Sealed::Thinking) => {
                Some(replay)
            }
            (Draft::Call { id: own, replay, .. }, Sealed::Call(id)) if own == id => Some(replay),
            (Draft::Text { .. } | Draft::Thinking { .. } | Draft::Call { .. }, _) => None,
        });
        match (open, of) {
            (Some(replay @ None), _) => *replay = Some(seal),
            // The newest part of the kind is sealed already, or there is none: an empty part carries the data.
            (_, Sealed::Text) => self.drafts.push(Draft::Text {
                text: String::new(),
                replay: Some(seal),
            }),
            (_, Sealed::Thinking) => self.drafts.push(Draft::Thinking {
                text: String::new(),
                replay: Some(seal),
            }),
            (Some(replay), Sealed::Call(_)) => *replay = Some(seal),
            (None, Sealed::Call(_)) => {}
        }
    }
}

impl Draft {
    fn into_part(self) -> Option<Part> {
        match self {
            Draft::Text { text, replay } if text.is_empty() && replay.is_none() => None,
            Draft::Text { text, replay } => Some(Part::Text { text, replay }),
            Draft::Thinking { text, replay } if text.is_empty() && replay.is_none() => None,
            Draft::Thinking { text, replay } => Some(Part::Thinking { text, replay }),
            Draft::Call { complete: false, .. } => None,
            Draft::Call {
                id, name, raw, replay, ..
            } => {
                let (input, malformed) = match json::object(&raw) {
                    Ok(input) => (input, None),
                    Err(_) => (Value::Object(Map::new()), Some(raw)),
                };
                Some(Part::ToolCall {
                    id,
                    name,
                    input,
                    malformed,
                    replay,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn gather(chunks: Vec<Chunk>) -> Vec<Part> {
        let mut reply = Reply::default();
        chunks.into_iter().for_each(|chunk| reply.push(chunk));
        reply.into_message().parts
    }

    fn replay(data: Value) -> Replay {
        Replay { wire: "w".into(), data }
    }

    #[test]
    fn deltas_of_a_kind_join_until_another_kind_or_a_seal_comes() {
        let parts = gather(vec![
            Chunk::Thinking("a".into()),
            Chunk::Thinking("b".into()),
            Chunk::Replay {
                of: Sealed::Thinking,
                replay: replay(json!(1)),
            },
            Chunk::Thinking("c".into()),
            Chunk::Text("x".into()),
            Chunk::Text("y".into()),
        ]);
        assert_eq!(
            parts,
            vec![
                Part::Thinking {
                    text: "ab".into(),
                    replay: Some(replay(json!(1)))
                },
                Part::Thinking {
                    text: "c".into(),
                    replay: None
                },
                Part::text("xy"),
            ]
        );
    }

    #[test]
    fn redacted_thinking_becomes_an_empty_part_that_carries_its_data() {
        let parts = gather(vec![
            Chunk::Replay {
                of: Sealed::Thinking,
                replay: replay(json!(1)),
            },
            Chunk::Replay {
                of: Sealed::Thinking,
                replay: replay(json!(2)),
            },
        ]);
        let part = |n| Part::Thinking {
            text: String::new(),
            replay: Some(replay(json!(n))),
        };
        assert_eq!(parts, vec![part(1), part(2)]);
    }

    #[test]
    fn parallel_calls_keep_their_own_input_and_unfinished_calls_are_left_out() {
        let parts = gather(vec![
            Chunk::ToolStart {
                id: "a".into(),
                name: "f".into(),
            },
            Chunk::ToolStart {
                id: "b".into(),
                name: "g".into(),
            },
            Chunk::ToolInput {
                id: "a".into(),
                delta: "{\"x\":".into(),
            },
            Chunk::ToolInput {
                id: "b".into(),
                delta: "{\"y\":2}".into(),
            },
            Chunk::ToolInput {
                id: "a".into(),
                delta: "1}".into(),
            },
            Chunk::ToolEnd { id: "a".into() },
        ]);
        let call = Part::ToolCall {
            id: "a".into(),
            name: "f".into(),
            input: json!({"x": 1}),
            malformed: None,
            replay: None,
        };
        assert_eq!(parts, vec![call]);
    }

    #[test]
    fn input_that_is_not_json_is_kept_as_the_model_wrote_it() {
        let parts = gather(vec![
            Chunk::ToolStart {
                id: "a".into(),
                name: "f".into(),
            },
            Chunk::ToolInput {
                id: "a".into(),
                delta: "{\"x\": \"unclosed".into(),
            },
            Chunk::ToolEnd { id: "a".into() },
        ]);
        let call = Part::ToolCall {
            id: "a".into(),
            name: "f".into(),
            input: json!({}),
            malformed: Some("{\"x\": \"unclosed".into()),
            replay: None,
        };
        assert_eq!(parts, vec![call]);
    }
}
