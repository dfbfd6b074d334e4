//! Faults between a client and a model.

use serde::{Deserialize, Serialize};

/// A fault and how often it occurs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedFault {
    /// The fault.
    pub fault: Fault,
    /// How often it occurs.
    #[serde(default)]
    pub times: Times,
}

/// How often a fault occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Times {
    /// Each time.
    Always,
    /// This many times; then comes the next fault or the real reply.
    #[serde(untagged)]
    Count(u32),
}

impl Default for Times {
    fn default() -> Self {
        Self::Count(1)
    }
}

/// Where in a reply a fault occurs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultPosition {
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

/// The fault.
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
    /// 500, 502, 503 or any other status, in the vendor's error format.
    Status {
        /// The status.
        code: u16,
    },
    /// The vendor's overload response: 529 on Anthropic, 503 elsewhere.
    Overloaded,
    /// 401: the key is wrong.
    Unauthorized,
    /// 400: the prompt is too long, with the vendor's message.
    ContextOverflow {
        /// Send it as an event of a stream that started with status 200.
        #[serde(default)]
        in_stream: bool,
    },
    /// 400 with this message.
    BadRequest {
        /// The message.
        message: String,
    },
    /// An error event within a stream.
    ErrorEvent {
        /// The position.
        #[serde(default)]
        at: FaultPosition,
    },
    /// The connection is dropped inside a chunk, which leaves half an event.
    Cut {
        /// The position.
        #[serde(default)]
        at: FaultPosition,
    },
    /// The stream ends properly, but too early.
    EndEarly {
        /// The position.
        #[serde(default)]
        at: FaultPosition,
    },
    /// No data for a while, or forever.
    Stall {
        /// The position.
        #[serde(default)]
        at: FaultPosition,
        /// The duration; forever if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ms: Option<u64>,
    },
    /// The connection is closed instead of a response.
    Hangup,
    /// Harmless deviations that a reader must tolerate: comments, unknown events, CR LF, fields without a space.
    Noise,
    /// An event that is not JSON, and bytes that are not UTF-8.
    Garbage {
        /// The position.
        #[serde(default)]
        at: FaultPosition,
    },
    /// Status 200 with a web page, as a captive portal sends.
    HtmlPage,
    /// Status 200 with a JSON error instead of a stream.
    JsonError,
    /// One event is padded to a line of this many bytes without changing its meaning.
    HugeLine {
        /// Length of the line.
        #[serde(default = "megabyte")]
        bytes: usize,
    },
    /// Each byte is a separate chunk and packet.
    Drip {
        /// Milliseconds between the bytes.
        #[serde(default)]
        ms: u64,
    },
    /// The arguments of the last tool call are truncated; the stream continues normally.
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
    /// 429 without a retry delay.
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

    /// A 5xx status.
    pub fn status(code: u16) -> Self {
        Self::Status { code }
    }

    /// The connection is dropped at this position.
    pub fn cut(at: FaultPosition) -> Self {
        Self::Cut { at }
    }

    /// No data after this position.
    pub fn stall(at: FaultPosition) -> Self {
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
        let check = |json: &str, expected: PlannedFault| {
            let read: PlannedFault = serde_json::from_str(json).expect(json);
            assert_eq!(read, expected, "{json}");
        };
        let once = |fault| PlannedFault {
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
            PlannedFault {
                fault: Fault::status(502),
                times: Times::Count(3),
            },
        );
        check(
            r#"{"fault": "hangup", "times": "always"}"#,
            PlannedFault {
                fault: Fault::Hangup,
                times: Times::Always,
            },
        );
        check(
            r#"{"fault": {"cut": {"at": "tool"}}}"#,
            once(Fault::cut(FaultPosition::Tool)),
        );
        check(
            r#"{"fault": {"stall": {"at": "head"}}}"#,
            once(Fault::stall(FaultPosition::Head)),
        );
        check(r#"{"fault": {"huge_line": {}}}"#, once(Fault::huge_line()));
        for wrong in [
            r#"{"fault": "sunspots"}"#,
            r#"{"fault": {"cut": {"where": "tool"}}}"#,
            r#"{"fault": "hangup", "times": "twice"}"#,
        ] {
            assert!(serde_json::from_str::<PlannedFault>(wrong).is_err(), "{wrong}");
        }
    }
}
