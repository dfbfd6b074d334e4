//! What can go wrong between a client and a model, on demand.

use serde::{Deserialize, Serialize};

/// A fault and how often it strikes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// What goes wrong.
    pub fault: Fault,
    /// How often.
    #[serde(default)]
    pub times: Times,
}

/// How often a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Times {
    /// Each time.
    Always,
    /// This many times; then comes the next fault or the real answer.
    #[serde(untagged)]
    Count(u32),
}

impl Default for Times {
    fn default() -> Self {
        Self::Count(1)
    }
}

/// Where in an answer a fault strikes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Before the status line.
    Head,
    /// After the first event.
    Start,
    /// In the middle of the thinking.
    Thinking,
    /// In the middle of the text.
    #[default]
    Text,
    /// In the middle of a tool call's arguments.
    Tool,
    /// Before the last event.
    End,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// 429.
    RateLimit {
        /// The `retry-after` header, in seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<f64>,
        /// The `retry-after-ms` header.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// 500, 502, 503 or any other status, in the vendor's error shape.
    Status {
        /// The status.
        code: u16,
    },
    /// The vendor's way to say that it is overloaded: 529 on Anthropic, 503 elsewhere.
    Overloaded,
    /// 401: the key is wrong.
    Unauthorized,
    /// 400: the prompt is too long, in the vendor's own words.
    ContextOverflow {
        /// Say it as an event of a stream that began with status 200.
        #[serde(default)]
        in_stream: bool,
    },
    /// 400 with this message.
    BadRequest {
        /// The message.
        message: String,
    },
    /// An error event in a stream that began well.
    ErrorEvent {
        /// Where.
        #[serde(default)]
        at: Place,
    },
    /// The connection is dropped inside a chunk, which leaves half an event.
    Cut {
        /// Where.
        #[serde(default)]
        at: Place,
    },
    /// The stream ends in good order, but too early.
    EndEarly {
        /// Where.
        #[serde(default)]
        at: Place,
    },
    /// Nothing comes for a while, or ever again.
    Stall {
        /// Where.
        #[serde(default)]
        at: Place,
        /// How long; without it, for ever.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ms: Option<u64>,
    },
    /// The connection is closed instead of an answer.
    Hangup,
    /// Harmless oddities that a reader has to bear: comments, unknown events, CR LF, fields without a space.
    Noise,
    /// An event that is no JSON, and bytes that are no UTF-8.
    Garbage {
        /// Where.
        #[serde(default)]
        at: Place,
    },
    /// Status 200 and a web page, as a captive portal would send.
    HtmlPage,
    /// Status 200 and an error as JSON instead of a stream.
    JsonError,
    /// One event is padded to a line of this many bytes; it still means the same.
    HugeLine {
        /// Length of the line.
        #[serde(default = "megabyte")]
        bytes: usize,
    },
    /// Each byte is a chunk and a packet of its own.
    Drip {
        /// Milliseconds between the bytes.
        #[serde(default)]
        ms: u64,
    },
    /// The arguments of the last tool call break off; the stream goes on as if nothing were wrong.
    TruncatedArguments,
    /// All tool calls have the same id.
    DuplicateIds,
    /// Tool calls have empty ids.
    EmptyIds,
    /// The final usage figures are missing.
    MissingUsage,
    /// The last event (`[DONE]`, `message_stop`, `response.completed`, the finish reason) is missing.
    MissingDone,
}

impl Fault {
    /// 429 without a hint when to come back.
    pub fn rate_limit() -> Self {
        Self::RateLimit {
            retry_after: None,
            retry_after_ms: None,
        }
    }

    /// 429 with `retry-after`.
    pub fn rate_limit_for(seconds: f64) -> Self {
        Self::RateLimit {
            retry_after: Some(seconds),
            retry_after_ms: None,
        }
    }

    /// 429 with `retry-after-ms`.
    pub fn rate_limit_for_ms(ms: u64) -> Self {
        Self::RateLimit {
            retry_after: None,
            retry_after_ms: Some(ms),
        }
    }

    /// The vendor is overloaded.
    pub fn overloaded() -> Self {
        Self::Overloaded
    }

    /// A status of the 5xx kind.
    pub fn status(code: u16) -> Self {
        Self::Status { code }
    }

    /// The connection is dropped here.
    pub fn cut(at: Place) -> Self {
        Self::Cut { at }
    }

    /// Nothing comes after this place.
    pub fn stall(at: Place) -> Self {
        Self::Stall { at, ms: None }
    }

    /// A data line of one megabyte.
    pub fn huge_line() -> Self {
        Self::HugeLine { bytes: megabyte() }
    }
}

fn megabyte() -> usize {
    1 << 20
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_have_a_short_json_form() {
        let check = |json: &str, expected: Planned| {
            let read: Planned = serde_json::from_str(json).expect(json);
            assert_eq!(read, expected, "{json}");
        };
        let once = |fault| Planned {
            fault,
            times: Times::Count(1),
        };
        check(r#"{"fault": {"rate_limit": {}}}"#, once(Fault::rate_limit()));
        check(
            r#"{"fault": {"rate_limit": {"retry_after": 2}}}"#,
            once(Fault::rate_limit_for(2.0)),
        );
        check(
            r#"{"fault": {"status": {"code": 502}}, "times": 3}"#,
            Planned {
                fault: Fault::status(502),
                times: Times::Count(3),
            },
        );
        check(
            r#"{"fault": "hangup", "times": "always"}"#,
            Planned {
                fault: Fault::Hangup,
                times: Times::Always,
            },
        );
        check(r#"{"fault": {"cut": {"at": "tool"}}}"#, once(Fault::cut(Place::Tool)));
        check(
            r#"{"fault": {"stall": {"at": "head"}}}"#,
            once(Fault::stall(Place::Head)),
        );
        check(r#"{"fault": {"huge_line": {}}}"#, once(Fault::huge_line()));
        for wrong in [
            r#"{"fault": "sunspots"}"#,
            r#"{"fault": {"cut": {"where": "tool"}}}"#,
            r#"{"fault": "hangup", "times": "twice"}"#,
        ] {
            assert!(serde_json::from_str::<Planned>(wrong).is_err(), "{wrong}");
        }
    }
}
