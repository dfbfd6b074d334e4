//! Collects the chunks of a stream into the parts of a message.

use crate::ChunkPart;
use crate::{CallId, Chunk, Cost, Message, Part, PartOrigin, ReplayData, Role, Stop, Usage, json};
use serde_json::{Map, Value};

/// A reply, as far as it has arrived.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    drafts: Vec<DraftPart>,
    /// The latest usage reported by the provider.
    pub usage: Option<Usage>,
    /// The cost reported by the provider.
    pub cost: Option<Cost>,
    /// Why the reply ended; `None` while it is streaming.
    pub stop: Option<Stop>,
}

/// A part that is still growing.
#[derive(Debug, Clone)]
enum DraftPart {
    Text {
        text: String,
        replay: Option<ReplayData>,
    },
    Thinking {
        text: String,
        replay: Option<ReplayData>,
    },
    Call {
        id: CallId,
        name: String,
        raw: String,
        complete: bool,
        replay: Option<ReplayData>,
    },
}

impl Reply {
    /// Adds the next chunk.
    pub fn push(&mut self, chunk: Chunk) {
        match chunk {
            Chunk::Text(delta) => match self.drafts.last_mut() {
                Some(DraftPart::Text { text, replay: None }) => text.push_str(&delta),
                Some(_) | None => self.drafts.push(DraftPart::Text {
                    text: delta,
                    replay: None,
                }),
            },
            Chunk::Thinking(delta) => match self.drafts.last_mut() {
                Some(DraftPart::Thinking { text, replay: None }) => text.push_str(&delta),
                Some(_) | None => self.drafts.push(DraftPart::Thinking {
                    text: delta,
                    replay: None,
                }),
            },
            Chunk::Replay { of, replay } => self.add_replay(of, replay),
            Chunk::ToolStart { id, name } => {
                self.drafts.push(DraftPart::Call {
                    id,
                    name,
                    raw: String::new(),
                    complete: false,
                    replay: None,
                });
            }
            Chunk::ToolInput { id, delta } => {
                if let Some(DraftPart::Call { raw, .. }) = self.call(&id) {
                    raw.push_str(&delta);
                }
            }
            Chunk::ToolEnd { id } => {
                if let Some(DraftPart::Call { complete, .. }) = self.call(&id) {
                    *complete = true;
                }
            }
            Chunk::Usage(usage) => self.usage = Some(usage),
            Chunk::Cost(cost) => self.cost = Some(cost),
            Chunk::Notice(_) | Chunk::PromptSize(_) => {}
            Chunk::Stop(stop) => self.stop = Some(stop),
        }
    }

    /// Whether no content has arrived.
    pub fn is_empty(&self) -> bool {
        self.drafts.is_empty()
    }

    /// The call with this id, parsed, once its input is complete.
    pub fn finished_call(&self, id: &CallId) -> Option<Part> {
        self.drafts.iter().find_map(|draft| match draft {
            DraftPart::Call {
                id: own,
                complete: true,
                ..
            } if own == id => draft.clone().into_part(),
            DraftPart::Call { .. } | DraftPart::Text { .. } | DraftPart::Thinking { .. } => None,
        })
    }

    /// The raw input of the call with this id, as far as it has arrived.
    pub fn raw_input(&self, id: &CallId) -> Option<&str> {
        self.drafts.iter().find_map(|draft| match draft {
            DraftPart::Call { id: own, raw, .. } if own == id => Some(raw.as_str()),
            DraftPart::Call { .. } | DraftPart::Text { .. } | DraftPart::Thinking { .. } => None,
        })
    }

    /// The message so far, without calls with incomplete input: they were never made.
    pub fn into_message(self) -> Message {
        Message {
            role: Role::Assistant,
            parts: self.drafts.into_iter().filter_map(DraftPart::into_part).collect(),
        }
    }

    fn call(&mut self, id: &CallId) -> Option<&mut DraftPart> {
        self.drafts
            .iter_mut()
            .rev()
            .find(|draft| matches!(draft, DraftPart::Call { id: own, .. } if own == id))
    }

    fn add_replay(&mut self, of: ChunkPart, data: ReplayData) {
        let open = self.drafts.iter_mut().rev().find_map(|draft| match (draft, &of) {
            (DraftPart::Text { replay, .. }, ChunkPart::Text)
            | (DraftPart::Thinking { replay, .. }, ChunkPart::Thinking) => Some(replay),
            (DraftPart::Call { id: own, replay, .. }, ChunkPart::Call(id)) if own == id => Some(replay),
            (DraftPart::Text { .. } | DraftPart::Thinking { .. } | DraftPart::Call { .. }, _) => None,
        });
        match (open, of) {
            (Some(replay @ None), _) => *replay = Some(data),
            // The newest part of the kind is complete, or there is none: an empty part carries the data.
            (_, ChunkPart::Text) => self.drafts.push(DraftPart::Text {
                text: String::new(),
                replay: Some(data),
            }),
            (_, ChunkPart::Thinking) => self.drafts.push(DraftPart::Thinking {
                text: String::new(),
                replay: Some(data),
            }),
            (Some(replay), ChunkPart::Call(_)) => *replay = Some(data),
            (None, ChunkPart::Call(_)) => {}
        }
    }
}

impl DraftPart {
    fn into_part(self) -> Option<Part> {
        match self {
            DraftPart::Text { text, replay } if text.is_empty() && replay.is_none() => None,
            DraftPart::Text { text, replay } => Some(Part::Text {
                text,
                origin: PartOrigin::Author,
                replay,
            }),
            DraftPart::Thinking { text, replay } if text.is_empty() && replay.is_none() => None,
            DraftPart::Thinking { text, replay } => Some(Part::Thinking { text, replay }),
            DraftPart::Call { complete: false, .. } => None,
            DraftPart::Call {
                id, name, raw, replay, ..
            } => {
                let (input, malformed) = match json::parse_object(&raw) {
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

    fn replay(data: Value) -> ReplayData {
        ReplayData { wire: "w".into(), data }
    }

    #[test]
    fn deltas_of_one_kind_join_until_another_kind_or_replay_data_arrives() {
        let parts = gather(vec![
            Chunk::Thinking("a".into()),
            Chunk::Thinking("b".into()),
            Chunk::Replay {
                of: ChunkPart::Thinking,
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
    fn redacted_thinking_becomes_an_empty_part_with_its_data() {
        let parts = gather(vec![
            Chunk::Replay {
                of: ChunkPart::Thinking,
                replay: replay(json!(1)),
            },
            Chunk::Replay {
                of: ChunkPart::Thinking,
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
    fn parallel_calls_keep_their_own_input_and_unfinished_calls_are_omitted() {
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
    fn input_that_is_not_json_is_kept_verbatim() {
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
