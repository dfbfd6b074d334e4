//! One line for a finished tool call: description, result, duration.

use super::color::ColorMode;
use super::format::{duration, line, width};
use model::{Block, Part, ToolOutcome};
use std::time::Duration;

/// A finished tool call.
#[derive(Debug, Clone, Copy)]
pub struct CallLine<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The description.
    pub title: &'a str,
    /// The result.
    pub summary: Option<&'a str>,
    /// The content for the model.
    pub parts: &'a [Part],
    /// How long it took, in milliseconds.
    pub millis: u64,
    /// Whether the tool, or the command that it ran, failed.
    pub failed: bool,
}

impl CallLine<'_> {
    /// The line, without the last column, because some terminals wrap when it is filled.
    pub fn render(&self, paint: ColorMode, columns: usize) -> String {
        let columns = columns.saturating_sub(1);
        let job = self.summary.filter(|_| self.is_background_job());
        let job = job.map(|job| format!("running in the background as {job}"));
        let mark = match (self.failed, job.is_some() || self.is_background_subtask()) {
            (true, _) => paint.red("✗"),
            (false, true) => paint.cyan("◐"),
            (false, false) => paint.green("✓"),
        };
        let detail = job
            .as_deref()
            .or(reason(self.parts))
            .or(self.summary)
            .unwrap_or_default();
        let tool = fit(self.tool, columns.saturating_sub(2));
        let mut room = columns.saturating_sub(2 + width(&tool));
        let took = self.took(detail);
        let took = if width(&took) < room { took } else { String::new() };
        room -= width(&took);
        let (title, detail) = share(self.title, detail, room);
        format!("{mark} {}{title}{detail}{}", paint.bold(tool), paint.dim(took))
    }

    /// Whether the command continues in the background.
    fn is_background_job(&self) -> bool {
        let is_command = matches!(self.tool, "terminal" | "Run");
        is_command && !self.failed && self.summary.is_some_and(|summary| summary.starts_with("job "))
    }

    /// Whether the subtask continues in the background.
    fn is_background_subtask(&self) -> bool {
        let is_subtask = matches!(self.tool, "new_task" | "Subtask");
        is_subtask
            && self
                .summary
                .is_some_and(|summary| summary.starts_with("in the background"))
    }

    fn took(&self, detail: &str) -> String {
        match self.millis {
            _ if self.is_background_job() || self.is_background_subtask() => String::new(),
            // Short durations and durations that the summary contains are omitted.
            0..20 => String::new(),
            _ if ends_in_seconds(detail) => String::new(),
            millis => format!(" · {}", duration(Duration::from_millis(millis))),
        }
    }
}

/// The reason of a failed call: the first line of its result.
fn reason(parts: &[Part]) -> Option<&str> {
    parts.iter().find_map(|part| match part {
        Part::ToolResult {
            content,
            outcome: ToolOutcome::Error,
            ..
        } => {
            let texts = content.iter().filter_map(|block| match block {
                Block::Text { text } => Some(text.as_str()),
                Block::Media(_) => None,
            });
            let first = texts.flat_map(str::lines).find(|line| !line.trim().is_empty());
            Some(first.unwrap_or_default())
        }
        Part::Text { .. }
        | Part::Thinking { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. }
        | Part::Media(_) => None,
    })
}

/// Prefix, title and detail within a width. The detail has priority.
fn share(title: &str, detail: &str, room: usize) -> (String, String) {
    let all = line(title, usize::MAX);
    let before = if all.is_empty() { 0 } else { 1 };
    let detail_room = room.saturating_sub(before + 3);
    let most = (detail_room * 3 / 5).max(detail_room.saturating_sub(width(&all)));
    let detail = match fit(detail, most) {
        detail if detail.is_empty() => detail,
        detail => format!(" · {detail}"),
    };
    let title = match fit(title, room.saturating_sub(width(&detail) + 1)) {
        title if title.is_empty() => title,
        title => format!(" {title}"),
    };
    (title, detail)
}

/// Text within a width; empty if no character fits.
fn fit(text: &str, room: usize) -> String {
    if room < 2 { String::new() } else { line(text, room) }
}

/// Whether a summary ends with a duration, as in `exit code 0, 1.5 s`.
fn ends_in_seconds(summary: &str) -> bool {
    let number = summary.strip_suffix(" s").and_then(|rest| rest.rsplit(' ').next());
    number.is_some_and(|number| number.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(outcome: ToolOutcome, text: &str) -> [Part; 1] {
        [Part::ToolResult {
            id: "c".into(),
            name: "terminal".into(),
            content: vec![Block::text(text)],
            outcome,
        }]
    }

    #[test]
    fn a_line_has_the_summary_of_a_call_or_the_reason_of_its_failure() {
        let (ok, bad) = (ToolOutcome::Ok, ToolOutcome::Error);
        let crash = "hew ended before the result of this was kept. It may or may not have taken effect.";
        for (outcome, text, title, summary, millis, expected) in [
            (ok, "x", "a.txt", Some("3 lines"), 4, "✓ terminal a.txt · 3 lines"),
            (
                ok,
                "x",
                "make",
                Some("exit code 2, 1.2 s"),
                1_234,
                "✗ terminal make · exit code 2, 1.2 s",
            ),
            (
                ok,
                "x",
                "a.txt",
                Some("3 lines"),
                1_234,
                "✓ terminal a.txt · 3 lines · 1.2s",
            ),
            (
                bad,
                "\nno such file\nlook again",
                "a.txt",
                None,
                4,
                "✗ terminal a.txt · no such file",
            ),
            (bad, "", "a.txt", None, 1_234, "✗ terminal a.txt · 1.2s"),
            (
                bad,
                crash,
                "",
                None,
                0,
                "✗ terminal · hew ended before the result of this…",
            ),
            (
                bad,
                crash,
                "a/very/long/path/to/a/file.txt",
                None,
                0,
                "✗ terminal a/very/long/p… · hew ended before the…",
            ),
        ] {
            let parts = parts(outcome, text);
            let call = CallLine {
                tool: "terminal",
                title,
                summary,
                parts: &parts,
                millis,
                failed: expected.starts_with('✗'),
            };
            assert_eq!(call.render(ColorMode::Plain, 50), expected);
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let long = "名前 and words ".repeat(20);
        for columns in 4..120 {
            for (title, text) in [
                ("", ""),
                ("short", ""),
                ("", "why"),
                (&long, "why"),
                ("short", &long),
                (&long, &long),
            ] {
                for outcome in [ToolOutcome::Ok, ToolOutcome::Error] {
                    let parts = parts(outcome, text);
                    let call = CallLine {
                        tool: "terminal",
                        title,
                        summary: Some(text),
                        parts: &parts,
                        millis: 61_000,
                        failed: outcome == ToolOutcome::Error,
                    };
                    let shown = call.render(ColorMode::Plain, columns);
                    assert!(width(&shown) < columns, "{columns}: {shown}");
                }
            }
        }
    }
}
