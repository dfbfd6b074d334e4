//! Reads measurements from the output of agents: hew's events, and what other agents print about their usage.

use crate::results::AttemptMetrics;
use serde_json::Value;
use std::collections::HashMap;

/// The tools whose failed calls are refused edits.
const EDIT_TOOLS: [&str; 3] = ["edit_file", "apply_patch", "write_file"];
/// The kept end of the output of an agent without events.
const MAX_ANSWER: usize = 64 * 1024;

/// What an agent's output shows.
#[derive(Debug, Default)]
pub(crate) struct AgentOutput {
    pub(crate) metrics: AttemptMetrics,
    /// The session of hew.
    pub(crate) session: Option<String>,
    /// The last answer.
    pub(crate) answer: String,
    /// Why the agent failed.
    pub(crate) failure: Option<String>,
    /// The incomplete last line.
    line: String,
    /// Usage by message, of agents that repeat it.
    by_message: HashMap<String, (u64, u64, u64)>,
    has_events: bool,
    text: String,
}

impl AgentOutput {
    /// Adds a chunk of output.
    pub(crate) fn push(&mut self, chunk: &str) {
        self.line.push_str(chunk);
        while let Some(end) = self.line.find('\n') {
            let line: String = self.line.drain(..=end).collect();
            self.read_line(&line);
        }
    }

    /// Completes reading.
    pub(crate) fn finish(mut self) -> Self {
        let rest = std::mem::take(&mut self.line);
        self.read_line(&rest);
        for (input, cached, output) in self.by_message.values() {
            self.metrics.input_tokens += input;
            self.metrics.cached_tokens += cached;
            self.metrics.output_tokens += output;
        }
        if !self.has_events {
            self.answer = crate::command::last(&self.text, MAX_ANSWER).to_owned();
        }
        self
    }

    fn read_line(&mut self, line: &str) {
        let trimmed = line.trim();
        let parsed = trimmed.starts_with('{').then(|| serde_json::from_str::<Value>(trimmed));
        match parsed {
            Some(Ok(value)) if value["v"] == 1 && value["type"].is_string() => self.read_event(&value),
            Some(Ok(value)) if value["type"].is_string() => self.read_other_event(&value),
            Some(_) | None => {
                self.read_plain(trimmed);
                self.text.push_str(line);
                if self.text.len() > 2 * MAX_ANSWER {
                    self.text = crate::command::last(&self.text, MAX_ANSWER).to_owned();
                }
            }
        }
    }

    /// An event of `hew run --json`.
    fn read_event(&mut self, event: &Value) {
        self.has_events = true;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        match event["type"].as_str().unwrap_or_default() {
            "session.started" => self.session = text(&event["session"]),
            // Each request once, those of subtasks included.
            "usage" => self.add_usage(event),
            "item.finished" if event["item"]["kind"] == "result" => self.count_call(&event["item"]),
            "turn.finished" => {
                self.answer = text(&event["answer"]).unwrap_or_default();
                let ending = &event["ending"];
                self.failure = match ending["reason"].as_str() {
                    Some("completed") | None => None,
                    Some(reason) => Some(text(&ending["error"]).unwrap_or_else(|| reason.to_owned())),
                };
            }
            "error" => self.failure = text(&event["message"]),
            _ => {}
        }
    }

    fn add_usage(&mut self, event: &Value) {
        let usage = &event["usage"];
        let count = |name: &str| usage[name].as_u64().unwrap_or_default();
        let metrics = &mut self.metrics;
        metrics.steps += 1;
        metrics.input_tokens += count("input") + count("cache_read") + count("cache_write");
        metrics.cached_tokens += count("cache_read");
        metrics.output_tokens += count("output");
        if let Some(cost) = event["cost_usd"].as_f64() {
            *metrics.cost_usd.get_or_insert(0.0) += cost;
        }
    }

    fn count_call(&mut self, item: &Value) {
        self.metrics.tool_calls += 1;
        if item["ok"] == false {
            self.metrics.tool_errors += 1;
            let tool = item["tool"].as_str().unwrap_or_default();
            self.metrics.refused_edits += u64::from(EDIT_TOOLS.contains(&tool));
        }
    }

    /// An event of Codex or Claude Code.
    fn read_other_event(&mut self, event: &Value) {
        self.has_events = true;
        let tokens = |usage: &Value| {
            let count = |name: &str| usage[name].as_u64().unwrap_or_default();
            // Anthropic's counts exclude cached tokens, OpenAI's include them.
            let anthropic = count("cache_read_input_tokens") + count("cache_creation_input_tokens");
            let cached = count("cache_read_input_tokens") + count("cached_input_tokens");
            (count("input_tokens") + anthropic, cached, count("output_tokens"))
        };
        match event["type"].as_str().unwrap_or_default() {
            "turn.completed" => {
                let usage = tokens(&event["usage"]);
                self.by_message.insert(self.by_message.len().to_string(), usage);
            }
            "item.completed" => {
                let item = &event["item"];
                match item["type"].as_str().unwrap_or_default() {
                    "agent_message" => self.answer = item["text"].as_str().unwrap_or_default().into(),
                    "command_execution" | "file_change" | "mcp_tool_call" => {
                        self.metrics.tool_calls += 1;
                        self.metrics.tool_errors += u64::from(item["status"] == "failed");
                    }
                    _ => {}
                }
            }
            "result" => {
                self.by_message.clear();
                self.by_message.insert(String::new(), tokens(&event["usage"]));
                self.metrics.cost_usd = event["total_cost_usd"].as_f64().or(self.metrics.cost_usd);
                self.metrics.steps = event["num_turns"].as_u64().unwrap_or(self.metrics.steps);
                self.answer = event["result"].as_str().unwrap_or_default().into();
            }
            _ => {}
        }
    }

    /// A line of aider: `Tokens: 2.3k sent, 1.1k received. Cost: $0.01 message, $0.02 session.`
    fn read_plain(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("Tokens: ") else {
            return;
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        for pair in words.windows(2) {
            let count = abbreviated(pair[0]);
            match pair[1].trim_end_matches([',', '.']) {
                "sent" => self.metrics.input_tokens += count,
                "received" => self.metrics.output_tokens += count,
                "session" => self.metrics.cost_usd = pair[0].trim_start_matches('$').parse().ok(),
                _ => {}
            }
        }
        self.metrics.steps += 1;
    }
}

/// A number such as `950` or `2.3k`.
fn abbreviated(text: &str) -> u64 {
    let (digits, factor) = match text.trim_end_matches(',').strip_suffix('k') {
        Some(digits) => (digits, 1000.0),
        None => (text, 1.0),
    };
    digits
        .replace(',', "")
        .parse::<f64>()
        .map_or(0, |number| (number * factor) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str) -> AgentOutput {
        let mut read = AgentOutput::default();
        // Chunks end anywhere.
        for piece in output.as_bytes().chunks(7) {
            read.push(std::str::from_utf8(piece).unwrap());
        }
        read.finish()
    }

    #[test]
    fn events_of_hew_are_counted() {
        let output = read(concat!(
            "{\"v\":1,\"type\":\"session.started\",\"session\":\"s1\"}\n",
            "{\"v\":1,\"type\":\"usage\",\"usage\":{\"input\":10,\"cache_read\":5,\"cache_write\":1,\"output\":3},\"cost_usd\":0.5}\n",
            "{\"v\":1,\"type\":\"usage\",\"usage\":{\"input\":10,\"output\":3},\"cost_usd\":0.25}\n",
            "{\"v\":1,\"type\":\"item.finished\",\"item\":{\"kind\":\"result\",\"tool\":\"edit_file\",\"ok\":false}}\n",
            "{\"v\":1,\"type\":\"item.finished\",\"item\":{\"kind\":\"result\",\"tool\":\"terminal\",\"ok\":true}}\n",
            "{\"v\":1,\"type\":\"turn.finished\",\"ending\":{\"reason\":\"limit\"},\"answer\":\"42\"}",
        ));
        let AttemptMetrics {
            steps,
            input_tokens,
            cached_tokens,
            output_tokens,
            cost_usd,
            ..
        } = output.metrics;
        assert_eq!(
            (steps, input_tokens, cached_tokens, output_tokens, cost_usd),
            (2, 26, 5, 6, Some(0.75))
        );
        let AttemptMetrics {
            tool_calls,
            tool_errors,
            refused_edits,
            ..
        } = output.metrics;
        assert_eq!((tool_calls, tool_errors, refused_edits), (2, 1, 1));
        assert_eq!((output.session.as_deref(), output.answer.as_str()), (Some("s1"), "42"));
        assert_eq!(output.failure.as_deref(), Some("limit"));
    }

    #[test]
    fn usage_of_other_agents_is_read() {
        let codex = read(concat!(
            "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"done\"}}\n",
            "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":100,\"cached_input_tokens\":60,\"output_tokens\":7}}\n",
        ));
        assert_eq!(
            (
                codex.metrics.input_tokens,
                codex.metrics.cached_tokens,
                codex.metrics.output_tokens
            ),
            (100, 60, 7)
        );
        assert_eq!(codex.answer, "done");
        let claude = read(
            "{\"type\":\"result\",\"usage\":{\"input_tokens\":4,\"cache_read_input_tokens\":6,\"output_tokens\":2},\
             \"total_cost_usd\":0.1,\"num_turns\":3,\"result\":\"ok\"}",
        );
        assert_eq!(
            (
                claude.metrics.input_tokens,
                claude.metrics.steps,
                claude.metrics.cost_usd
            ),
            (10, 3, Some(0.1))
        );
        let aider = read(
            "hello\nTokens: 2.3k sent, 950 received.\nTokens: 1k sent, 1,050 received. Cost: $0.01 message, $0.02 session.\n",
        );
        assert_eq!((aider.metrics.input_tokens, aider.metrics.output_tokens), (3300, 2000));
        assert_eq!((aider.metrics.cost_usd, aider.metrics.steps), (Some(0.02), 2));
        assert!(aider.answer.starts_with("hello\n"));
    }
}
