//! Renders a session as Markdown.

use host::text::rfc3339;
use model::{Block, Message, Part};
use policy::ApprovalMode;
use server::json_events::succeeded;
use session::{Body, Change, ItemId, LoadedSession, ReplyEnd, RestoreKind, SessionMeta, TodoStatus};
use std::fmt::Write;
use tui::format::{dollars, tokens, tool_label};

/// How much of a change is shown.
const MAX_LINES: usize = 200;
const MAX_BYTES: usize = 16 * 1024;

/// How much of a session is written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkdownDetail {
    /// The conversation, and a line per tool call.
    Short,
    /// Thinking and tool results too.
    Full,
}

/// The conversation of a session, and the byte at which each of its items begins.
pub(crate) fn render_conversation(loaded: &LoadedSession) -> (String, Vec<(usize, ItemId)>) {
    let mut out = String::new();
    let mut starts = Vec::new();
    for item in &loaded.items {
        starts.push((out.len(), item.id));
        // Writing to a string cannot fail.
        body(&mut out, &item.body, MarkdownDetail::Short, &|_| None).ok();
    }
    (out, starts)
}

/// A session as Markdown, with the names of its subtasks, and changes of files as `diff` shows them.
pub fn render(
    loaded: &LoadedSession,
    subtasks: &[SessionMeta],
    detail: MarkdownDetail,
    diff: &dyn Fn(&Change) -> Option<String>,
) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    head(&mut out, loaded, subtasks).ok();
    for item in &loaded.items {
        body(&mut out, &item.body, detail, diff).ok();
    }
    out
}

fn head(out: &mut String, loaded: &LoadedSession, subtasks: &[SessionMeta]) -> std::fmt::Result {
    let meta = &loaded.meta;
    let usage = meta.totals.usage;
    writeln!(out, "# {}\n", meta.title.as_deref().unwrap_or("Untitled session"))?;
    writeln!(out, "- Session: {}", meta.id)?;
    writeln!(out, "- Project: {}", meta.root.display())?;
    writeln!(out, "- Model: {}", meta.model)?;
    writeln!(out, "- Began: {}", rfc3339(meta.created))?;
    writeln!(
        out,
        "- Requests: {}, {} tokens in, {} out, {}",
        meta.totals.requests,
        tokens(usage.prompt_tokens()),
        tokens(usage.output),
        dollars(meta.totals.cost)
    )?;
    if let Some(parent) = &meta.parent {
        writeln!(out, "- Subtask of: {}", parent.session)?;
    }
    for subtask in subtasks {
        let title = subtask.title.as_deref().unwrap_or("untitled");
        writeln!(out, "- Subtask: {} ({title})", subtask.id)?;
    }
    Ok(())
}

fn body(
    out: &mut String,
    body: &Body,
    detail: MarkdownDetail,
    diff: &dyn Fn(&Change) -> Option<String>,
) -> std::fmt::Result {
    match body {
        Body::Prompt { message } => {
            writeln!(out, "\n## You\n")?;
            parts(out, message, detail)
        }
        Body::Reply { message, end, .. } => {
            let has_text = message.parts.iter().any(|part| match part {
                Part::Text { .. } | Part::Media(_) => true,
                Part::Thinking { .. } => detail == MarkdownDetail::Full,
                Part::ToolCall { .. } | Part::ToolResult { .. } => false,
            });
            if has_text {
                writeln!(out, "\n## hew\n")?;
                parts(out, message, detail)?;
            }
            match end {
                ReplyEnd::Finished(_) => Ok(()),
                ReplyEnd::Interrupted => writeln!(out, "\n*(interrupted)*"),
                ReplyEnd::Cut { error } => writeln!(out, "\n*(cut off: {error})*"),
            }
        }
        Body::Result {
            message,
            tool,
            title,
            summary,
            changes,
            ..
        } => {
            let mark = if succeeded(&message.parts) { "✓" } else { "✗" };
            let summary = summary.as_deref().map(|text| format!(" · {text}")).unwrap_or_default();
            writeln!(out, "\n{mark} **{}** {title}{summary}", tool_label(tool))?;
            for change in changes {
                writeln!(out, "- changed `{}`", change.path.display())?;
            }
            for text in changes.iter().filter_map(diff) {
                writeln!(out)?;
                fenced(out, "diff", &cut(&text))?;
            }
            if detail == MarkdownDetail::Full {
                parts(out, message, detail)?;
            }
            Ok(())
        }
        Body::Summary { message, .. } => {
            writeln!(out, "\n## Summary of what came before\n")?;
            parts(out, message, detail)
        }
        Body::Notice { text } => writeln!(out, "\n*{text}*"),
        Body::Notification { message, .. } => {
            writeln!(out, "\n## Notification\n")?;
            parts(out, message, detail)
        }
        Body::Todos { list } => {
            writeln!(out)?;
            for todo in list {
                let mark = match todo.status {
                    TodoStatus::Pending => "[ ]",
                    TodoStatus::InProgress => "[-]",
                    TodoStatus::Completed => "[x]",
                    TodoStatus::Cancelled => "[cancelled]",
                };
                writeln!(out, "- {mark} {}", todo.text)?;
            }
            Ok(())
        }
        Body::Panels {
            messages,
            states: shown,
            ..
        } => {
            let names: Vec<&str> = shown.iter().map(|shown| shown.panel.as_str()).collect();
            writeln!(out, "\n## Panels: {}\n", names.join(", "))?;
            messages.iter().try_for_each(|message| parts(out, message, detail))
        }
        Body::Mode {
            name, edit_approval, ..
        } => match edit_approval {
            Some(ApprovalMode::Ask) => writeln!(out, "\n*Mode: {name}, asks before changes*"),
            Some(ApprovalMode::Allow) | None => writeln!(out, "\n*Mode: {name}*"),
        },
        Body::Review { changes, .. } => {
            writeln!(out, "\n*You reviewed the changes of:*")?;
            for reviewed in changes {
                writeln!(out, "- `{}`", reviewed.path.display())?;
            }
            Ok(())
        }
        Body::Restored { kind: how, changes, .. } => {
            let what = match how {
                RestoreKind::Undo => "You undid changes of:",
                RestoreKind::Redo => "You made changes again in:",
                RestoreKind::FilesKept => "You rewound the conversation without these files:",
            };
            writeln!(out, "\n*{what}*")?;
            for change in changes {
                writeln!(out, "- `{}`", change.path.display())?;
            }
            Ok(())
        }
    }
}

fn parts(out: &mut String, message: &Message, detail: MarkdownDetail) -> std::fmt::Result {
    for part in &message.parts {
        match part {
            // Context that hew added to a prompt is not part of it.
            Part::Text { origin, .. } if detail != MarkdownDetail::Full && !session::is_user_text(*origin) => {}
            Part::Text { text, .. } => writeln!(out, "{}", text.trim_end())?,
            Part::Thinking { text, .. } if detail == MarkdownDetail::Full && !text.trim().is_empty() => {
                for line in text.trim().lines() {
                    writeln!(out, "> {line}")?;
                }
                writeln!(out)?;
            }
            Part::Thinking { .. } | Part::ToolCall { .. } => {}
            Part::ToolResult { content, .. } => {
                for block in content {
                    match block {
                        Block::Text { text } => fenced(out, "", text)?,
                        Block::Media(media) => writeln!(out, "*({}, {} bytes)*", media.mime, media.data.len())?,
                    }
                }
            }
            Part::Media(media) => writeln!(out, "*({}, {} bytes)*", media.mime, media.data.len())?,
        }
    }
    Ok(())
}

/// The beginning of a diff, and how much is left out.
fn cut(text: &str) -> String {
    let lines = text.lines().count();
    let mut kept: Vec<&str> = Vec::new();
    let mut bytes = 0;
    for line in text.lines().take(MAX_LINES) {
        bytes += line.len() + 1;
        if bytes > MAX_BYTES {
            break;
        }
        kept.push(line);
    }
    let left = lines - kept.len();
    match left {
        0 => text.to_owned(),
        left => format!("{}\n({left} more lines)", kept.join("\n")),
    }
}

/// Text in a fence that is longer than any fence inside.
fn fenced(out: &mut String, language: &str, text: &str) -> std::fmt::Result {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(out, "{fence}{language}\n{}\n{fence}", text.trim_end())
}
