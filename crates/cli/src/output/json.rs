//! Events as JSON lines.

use super::events::{Close, Line, Sum, Told};
use super::lost::Lost;
use crate::failure::Failure;
use serde::de::IgnoredAny;
use serde_json::Value;
use session::{Ending, Event, Totals};
use std::borrow::Cow;
use std::io::{BufWriter, Stdout, Write};
use std::time::Duration;

/// Writes one JSON object per line.
pub(crate) struct Json<W: Write = BufWriter<Stdout>> {
    out: W,
    lost: Lost,
}

/// What there is to say when a turn is over.
pub(crate) struct Finish<'a> {
    /// How it ended.
    pub(crate) ending: &'a Ending,
    /// The text of the model's last reply.
    pub(crate) answer: &'a str,
    /// The answer as JSON, where a schema was given and it matches.
    pub(crate) output: Option<&'a Value>,
    /// How long it took.
    pub(crate) duration: Duration,
    /// How long this run of hew took, earlier turns included.
    pub(crate) run: Duration,
    /// The whole session so far.
    pub(crate) totals: &'a Totals,
    /// The code with which hew exits if this is the last turn.
    pub(crate) exit_code: u8,
}

impl Finish<'_> {
    /// The answer for people and for pipes: JSON that was asked for stands alone, whatever the model wrote around it.
    pub(crate) fn to_print(&self) -> Cow<'_, str> {
        match self.output {
            Some(value) if serde_json::from_str::<IgnoredAny>(self.answer).is_err() => value.to_string().into(),
            Some(_) | None => self.answer.into(),
        }
    }
}

impl Json {
    /// Lines on stdout.
    pub(crate) fn stdout() -> Self {
        Json::new(BufWriter::with_capacity(64 * 1024, std::io::stdout()))
    }
}

impl<W: Write> Json<W> {
    /// Lines on any writer.
    pub(crate) fn new(out: W) -> Self {
        Json {
            out,
            lost: Lost::default(),
        }
    }

    /// Tells of an event. The end of a turn is told by [`Json::finish`].
    pub(crate) fn event(&mut self, event: &Event) {
        if let Some(told) = Told::of(event) {
            self.tell(told);
        }
    }

    /// Writes a line.
    pub(crate) fn tell(&mut self, told: Told<'_>) {
        let written = serde_json::to_writer(&mut self.out, &Line::new(told)).map_err(std::io::Error::from);
        let ended = written.and_then(|()| self.out.write_all(b"\n"));
        self.lost.note(ended);
    }

    /// Tells that a turn is over.
    pub(crate) fn finish(&mut self, finish: &Finish<'_>) {
        self.tell(Told::TurnFinished {
            ending: Close::of(finish.ending),
            answer: finish.answer,
            output: finish.output,
            duration_ms: u64::try_from(finish.duration.as_millis()).unwrap_or(u64::MAX),
            totals: Sum::of(finish.totals),
            exit_code: finish.exit_code,
        });
        self.flush();
    }

    /// Tells that hew could not do what it was asked.
    pub(crate) fn error(&mut self, failure: &Failure) {
        let hint = failure.hint.as_deref().map(one_line);
        self.tell(Told::Error {
            message: &failure.what,
            hint: hint.as_deref(),
            exit_code: failure.exit.code(),
        });
        self.flush();
    }

    /// Hands over what was written so far.
    pub(crate) fn flush(&mut self) {
        self.lost.note(self.out.flush());
    }

    /// What could not be written.
    pub(crate) fn lost(&self) -> Option<Failure> {
        self.lost.failure()
    }
}

/// Hints for people stand on lines of their own; a program gets them as one.
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
    fn several_hints_are_one_clean_string() {
        let failure = Failure::usage("no key").hint("set a key\n  hint: or name a model\nhint: or watch the demo");
        let mut json = Json::new(Vec::new());
        json.error(&failure);
        let line: Value = serde_json::from_slice(&json.out).unwrap();
        assert_eq!(line["hint"], "set a key; or name a model; or watch the demo");
    }
}
