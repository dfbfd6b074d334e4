//! Translates updates of an external agent to chunks: its text as text, its actions as thinking.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{
    ContentBlock, Plan, PlanEntryStatus, SessionNotification, SessionUpdate, ToolCallContent, ToolCallStatus, ToolKind,
};
use model::{Chunk, Cost};
use serde_json::Value;

/// Maximum length of a title.
const MAX_TITLE: usize = 200;

/// Translates updates.
#[derive(Debug, Default)]
pub(crate) struct UpdateTranslator {
    /// Tool calls by id.
    calls: HashMap<String, TranslatedCall>,
    /// The first and last reported cost of the session.
    cost: Option<(f64, f64)>,
}

#[derive(Debug, Default)]
struct TranslatedCall {
    title: String,
    announced: bool,
    ended: bool,
    changed: Vec<String>,
}

impl UpdateTranslator {
    /// Translates an update; unknown ones are ignored.
    pub(crate) fn translate(&mut self, params: Value) -> Vec<Chunk> {
        let Ok(SessionNotification { update, .. }) = serde_json::from_value(params) else {
            return Vec::new();
        };
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => text(chunk.content).map(Chunk::Text).into_iter().collect(),
            SessionUpdate::AgentThoughtChunk(chunk) => text(chunk.content).map(Chunk::Thinking).into_iter().collect(),
            SessionUpdate::ToolCall(call) => {
                let known = self.calls.entry(call.tool_call_id.0.to_string()).or_default();
                known.title = title(call.kind, &call.title);
                known.note_changes(&call.content);
                known.status_chunks(Some(call.status))
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let fields = update.fields;
                let known = self.calls.entry(update.tool_call_id.0.to_string()).or_default();
                if let Some(text) = fields.title.filter(|_| !known.announced) {
                    known.title = title(fields.kind.unwrap_or_default(), &text);
                }
                known.note_changes(&fields.content.unwrap_or_default());
                known.status_chunks(fields.status)
            }
            SessionUpdate::Plan(plan) => vec![Chunk::Thinking(plan_text(&plan))],
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

    /// The chunks at the end of a turn.
    pub(crate) fn final_chunks(&self) -> Vec<Chunk> {
        // The first figure includes earlier turns, and already a part of this one.
        let spent = self.cost.map(|(first, last)| last - first).filter(|spent| *spent > 0.0);
        spent
            .map(|spent| Chunk::Cost(Cost::from_usd(spent)))
            .into_iter()
            .collect()
    }
}

impl TranslatedCall {
    fn note_changes(&mut self, content: &[ToolCallContent]) {
        for part in content {
            if let ToolCallContent::Diff(diff) = part {
                let path = diff.path.display().to_string();
                if !self.changed.contains(&path) {
                    self.changed.push(path);
                }
            }
        }
    }

    fn status_chunks(&mut self, status: Option<ToolCallStatus>) -> Vec<Chunk> {
        let mut line = String::new();
        // The title is final when the call runs.
        let runs = status.is_some_and(|status| status != ToolCallStatus::Pending);
        if !self.announced && runs && !self.title.is_empty() {
            self.announced = true;
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
    let cut: String = line.chars().take(MAX_TITLE).collect();
    format!("{kind}{cut}")
}

fn plan_text(plan: &Plan) -> String {
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
    fn actions_become_thinking_and_text_stays_text() {
        let mut translator = UpdateTranslator::default();
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
            all.extend(translator.translate(json!({"sessionId": "s", "update": update})));
        }
        all.extend(translator.final_chunks());
        let expected = [
            Chunk::Text("Hi".into()),
            Chunk::Thinking("\n> edit: Editing\n".into()),
            Chunk::Thinking("> changed /p/a.rs\n".into()),
            Chunk::Cost(Cost::from_usd(0.5)),
        ];
        assert_eq!(all, expected);
    }
}
