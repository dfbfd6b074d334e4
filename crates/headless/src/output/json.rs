//! Events as JSON lines.

use super::events::{JsonEvent, JsonLine, JsonTotals, JsonTurnEnd};
use super::printable::escape_json;
use super::write_failures::WriteFailures;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use serde::de::IgnoredAny;
use serde_json::Value;
use session::{Event, Totals, TurnEnd};
use std::borrow::Cow;
use std::io::{BufWriter, Stdout, Write};
use std::time::Duration;

/// Writes one JSON object per line.
pub struct JsonWriter<W: Write = BufWriter<Stdout>> {
    out: W,
    lost: WriteFailures,
}

/// The data of a finished turn.
pub struct TurnResult<'a> {
    /// How it ended.
    pub ending: &'a TurnEnd,
    /// The text of the model's last reply.
    pub answer: &'a str,
    /// The answer as JSON, if it matches the given schema.
    pub output: Option<&'a Value>,
    /// How long it took.
    pub duration: Duration,
    /// How long this run of hew took, earlier turns included.
    pub run: Duration,
    /// The whole session so far.
    pub totals: &'a Totals,
    /// The code with which hew exits if this is the last turn.
    pub exit_code: u8,
}

impl TurnResult<'_> {
    /// The answer to print: requested JSON without the text around it.
    pub fn to_print(&self) -> Cow<'_, str> {
        match self.output {
            Some(value) if serde_json::from_str::<IgnoredAny>(self.answer).is_err() => value.to_string().into(),
            Some(_) | None => self.answer.into(),
        }
    }
}

impl JsonWriter {
    /// Lines on stdout.
    pub fn stdout() -> Self {
        JsonWriter::new(BufWriter::with_capacity(64 * 1024, std::io::stdout()))
    }
}

impl<W: Write> JsonWriter<W> {
    /// Lines on any writer.
    pub fn new(out: W) -> Self {
        JsonWriter {
            out,
            lost: WriteFailures::default(),
        }
    }

    /// Writes an event, except the end of a turn, which [`JsonWriter::finish`] writes.
    pub fn event(&mut self, event: &Event) {
        if let Some(json) = JsonEvent::of(event) {
            self.write_event(json);
        }
    }

    /// Writes a line.
    pub fn write_event(&mut self, json: JsonEvent<'_>) {
        let line = serde_json::to_string(&JsonLine::new(json)).map_err(std::io::Error::from);
        let ended = line.and_then(|line| self.out.write_all((escape_json(line) + "\n").as_bytes()));
        self.lost.note(ended);
    }

    /// Writes the end of a turn.
    pub fn finish(&mut self, finish: &TurnResult<'_>) {
        self.write_event(JsonEvent::TurnFinished {
            ending: JsonTurnEnd::of(finish.ending),
            answer: finish.answer,
            output: finish.output,
            duration_ms: u64::try_from(finish.duration.as_millis()).unwrap_or(u64::MAX),
            totals: JsonTotals::of(finish.totals),
            exit_code: finish.exit_code,
        });
        self.flush();
    }

    /// Writes that hew could not run the task.
    pub fn error(&mut self, failure: &Failure) {
        let hint = failure.hint.as_deref().map(one_line);
        self.write_event(JsonEvent::Error {
            message: &failure.message,
            hint: hint.as_deref(),
            exit_code: ExitStatus::from(failure).code(),
        });
        self.flush();
    }

    /// Flushes the output.
    pub fn flush(&mut self) {
        self.lost.note(self.out.flush());
    }

    /// The first write error.
    pub fn lost(&self) -> Option<Failure> {
        self.lost.failure()
    }
}

/// Joins hints, which are separate lines in text output.
fn one_line(hints: &str) -> String {
    let hints = hints.lines().map(|line| {
        let line = line.trim();
        line.strip_prefix("hint: ").unwrap_or(line)
    });
    hints.filter(|hint| !hint.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_hints_are_joined_into_one_sanitised_string() {
        let failure = Failure::usage("no key").hint("set a key\n  hint: or name a model\nhint: or watch the demo");
        let mut json = JsonWriter::new(Vec::new());
        json.error(&failure);
        let line: Value = serde_json::from_slice(&json.out).unwrap();
        assert_eq!(line["hint"], "set a key; or name a model; or watch the demo");
    }
}
