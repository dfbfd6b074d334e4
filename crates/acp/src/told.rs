//! What another agent tells of its work, as pieces of a reply: its words, and what it does as thinking.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{
    ContentBlock, Plan, PlanEntryStatus, SessionNotification, SessionUpdate, ToolCallContent, ToolCallStatus, ToolKind,
};
use model::{Chunk, Cost};
use serde_json::Value;

/// A longer title is cut.
const TITLE: usize = 200;

/// What has been told so far.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Calls by their ids: what they are called, and whether that was said.
    calls: HashMap<String, Call>,
    /// What the agent says that its session has cost, at first and last.
    cost: Option<(f64, f64)>,
}

#[derive(Debug, Default)]
struct Call {
    title: String,
    said: bool,
    ended: bool,
    changed: Vec<String>,
}

impl Told {
    /// Takes an update; what is not understood is left out.
    pub(crate) fn take(&mut self, params: Value) -> Vec<Chunk> {
        let Ok(SessionNotification { update, .. }) = serde_json::from_value(params) else {
            return Vec::new();
        };
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => text(chunk.content).map(Chunk::Text).into_iter().collect(),
            SessionUpdate::AgentThoughtChunk(chunk) => text(chunk.content).map(Chunk::Thinking).into_iter().collect(),
            SessionUpdate::ToolCall(call) => {
                let known = self.calls.entry(call.tool_call_id.0.to_string()).or_default();
                known.title = title(call.kind, &call.title);
                known.notice(&call.content);
                known.tell(Some(call.status))
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let fields = update.fields;
                let known = self.calls.entry(update.tool_call_id.0.to_string()).or_default();
                if let Some(text) = fields.title.filter(|_| !known.said) {
                    known.title = title(fields.kind.unwrap_or_default(), &text);
                }
                known.notice(&fields.content.unwrap_or_default());
                known.tell(fields.status)
            }
            SessionUpdate::Plan(plan) => vec![Chunk::Thinking(planned(&plan))],
            SessionUpdate::UsageUpdate(usage) => {
                if let Some(cost) = usage.cost.filter(|cost| cost.currency == "USD") {
                    let first = self.cost.map_or(cost.amount, |(first, _)| first);
                    self.cost = Some((first, cost.amount));
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// What is left to tell at the end.
    pub(crate) fn rest(&self) -> Vec<Chunk> {
        // The first figure already holds a part of this turn, but all of the turns before it too.
        let spent = self.cost.map(|(first, last)| last - first).filter(|spent| *spent > 0.0);
        spent
            .map(|spent| Chunk::Cost(Cost::from_usd(spent)))
            .into_iter()
            .collect()
    }
}

impl Call {
    fn notice(&mut self, content: &[ToolCallContent]) {
        for part in content {
            if let ToolCallContent::Diff(diff) = part {
                let path = diff.path.display().to_string();
                if !self.changed.contains(&path) {
                    self.changed.push(path);
                }
            }
        }
    }

    fn tell(&mut self, status: Option<ToolCallStatus>) -> Vec<Chunk> {
        let mut line = String::new();
        // Its title is known at last when it runs.
        let runs = status.is_some_and(|status| status != ToolCallStatus::Pending);
        if !self.said && runs && !self.title.is_empty() {
            self.said = true;
            line.push_str(&format!("\n> {}\n", self.title));
        }
        if !self.ended && status == Some(ToolCallStatus::Failed) {
            self.ended = true;
            line.push_str(&format!("> {} failed\n", self.title));
        }
        if !self.ended && status == Some(ToolCallStatus::Completed) {
            self.ended = true;
            let changed = self.changed.iter();
            changed.for_each(|path| line.push_str(&format!("> changed {path}\n")));
        }
        match line.is_empty() {
            true => Vec::new(),
            false => vec![Chunk::Thinking(line)],
        }
    }
}

fn text(content: ContentBlock) -> Option<String> {
    match content {
        ContentBlock::Text(text) => Some(text.text),
        ContentBlock::ResourceLink(link) => Some(format!("[{}]({})", link.name, link.uri)),
        _ => None,
    }
}

fn title(kind: ToolKind, title: &str) -> String {
    let kind = match kind {
        ToolKind::Read => "read: ",
        ToolKind::Edit => "edit: ",
        ToolKind::Delete => "delete: ",
        ToolKind::Move => "move: ",
        ToolKind::Search => "search: ",
        ToolKind::Execute => "run: ",
        ToolKind::Fetch => "fetch: ",
        _ => "",
    };
    let line = title.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(TITLE).collect();
    format!("{kind}{cut}")
}

fn planned(plan: &Plan) -> String {
    let entries = plan.entries.iter().map(|entry| {
        let mark = match entry.status {
            PlanEntryStatus::Completed => 'x',
            PlanEntryStatus::InProgress => '~',
            _ => ' ',
        };
        format!("- [{mark}] {}\n", entry.content)
    });
    format!("\n{}", entries.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn work_is_told_as_lines_of_thinking_and_words_as_they_are() {
        let mut told = Told::default();
        let mut all = Vec::new();
        for update in [
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi"}}),
            json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Editing", "kind": "edit", "status": "pending"}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "in_progress"}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed",
                "content": [{"type": "diff", "path": "/p/a.rs", "oldText": "x", "newText": "y"}]}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"}),
            json!({"sessionUpdate": "something_new", "x": 1}),
            json!({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 1.0, "currency": "USD"}}),
            json!({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 1.5, "currency": "USD"}}),
        ] {
            all.extend(told.take(json!({"sessionId": "s", "update": update})));
        }
        all.extend(told.rest());
        let expected = [
            Chunk::Text("Hi".into()),
            Chunk::Thinking("\n> edit: Editing\n".into()),
            Chunk::Thinking("> changed /p/a.rs\n".into()),
            Chunk::Cost(Cost::from_usd(0.5)),
        ];
        assert_eq!(all, expected);
    }
}
