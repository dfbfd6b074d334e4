//! The metrics of sessions.

use crate::names::{attribute, metric, model_id, provider};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};
use session::{ApprovalOutcome, CallRecord, RequestEnd, RequestRecord, SurvivalRecord, TurnRecord};

/// Boundaries of durations in seconds.
const SECONDS: [f64; 14] = [
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
/// Boundaries of token counts.
const TOKENS: [f64; 14] = [
    1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0,
    67108864.0,
];
/// Boundaries of shares.
const SHARES: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// The instruments.
pub(crate) struct SessionMetrics {
    token_usage: Histogram<u64>,
    operation_duration: Histogram<f64>,
    time_to_first_chunk: Histogram<f64>,
    assembly_duration: Histogram<f64>,
    cost: Counter<f64>,
    cache_read: Counter<u64>,
    cache_expected: Counter<u64>,
    retries: Counter<u64>,
    tool_calls: Counter<u64>,
    tool_failures: Counter<u64>,
    tool_duration: Histogram<f64>,
    mcp_duration: Histogram<f64>,
    invalid_calls: Counter<u64>,
    approvals: Counter<u64>,
    edits: Counter<u64>,
    lines: Counter<u64>,
    survival: Histogram<f64>,
    turns: Counter<u64>,
    turn_duration: Histogram<f64>,
    compactions: Counter<u64>,
}

impl SessionMetrics {
    pub(crate) fn new(meter: &Meter) -> Self {
        let seconds = |name: &'static str, about: &'static str| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(about);
            histogram.with_boundaries(SECONDS.to_vec()).build()
        };
        let count = |name: &'static str, unit: &'static str, about: &'static str| {
            meter.u64_counter(name).with_unit(unit).with_description(about).build()
        };
        SessionMetrics {
            token_usage: meter
                .u64_histogram(metric::TOKEN_USAGE)
                .with_unit("{token}")
                .with_description("Number of input and output tokens used.")
                .with_boundaries(TOKENS.to_vec())
                .build(),
            operation_duration: seconds(metric::OPERATION_DURATION, "GenAI operation duration."),
            time_to_first_chunk: seconds(
                metric::TIME_TO_FIRST_CHUNK,
                "Time to receive the first chunk of a reply.",
            ),
            assembly_duration: seconds("hew.prompt.assembly.duration", "Time to assemble a request."),
            cost: meter
                .f64_counter("hew.cost")
                .with_unit("USD")
                .with_description("Cost of requests with a known price.")
                .build(),
            cache_read: count(
                "hew.cache.read_tokens",
                "{token}",
                "Prompt tokens that the provider read from its cache.",
            ),
            cache_expected: count(
                "hew.cache.expected_tokens",
                "{token}",
                "Prompt tokens that the provider could have read from its cache.",
            ),
            retries: count("hew.request.retries", "{request}", "Requests that repeat a failed one."),
            tool_calls: count("hew.tool.calls", "{call}", "Tool calls by outcome."),
            tool_failures: count("hew.tool.failures", "{call}", "Tool calls that failed or did not run."),
            tool_duration: seconds(
                "hew.tool.duration",
                "Duration of tool calls, without waiting for the user.",
            ),
            mcp_duration: seconds(metric::MCP_DURATION, "Duration of calls of MCP servers."),
            invalid_calls: count(
                "hew.tool.invalid_calls",
                "{call}",
                "Calls with invalid input or an unknown tool.",
            ),
            approvals: count("hew.approvals", "{answer}", "Answers of the user to approval requests."),
            edits: count(
                "hew.edits",
                "{edit}",
                "Edits by format and by how the old text was found.",
            ),
            lines: count("hew.lines_changed", "{line}", "Lines added and removed by edits."),
            survival: meter
                .f64_histogram("hew.edit.survival")
                .with_unit("1")
                .with_description("Share of an edit that remains.")
                .with_boundaries(SHARES.to_vec())
                .build(),
            turns: count("hew.turns", "{turn}", "Turns by ending."),
            turn_duration: seconds("hew.turn.duration", "Duration of turns."),
            compactions: count("hew.compactions", "{compaction}", "Conversations that were summarised."),
        }
    }

    pub(crate) fn request(&self, record: &RequestRecord) {
        let mut common = vec![
            KeyValue::new(attribute::OPERATION, "chat"),
            KeyValue::new(attribute::PROVIDER, provider(&record.model)),
            KeyValue::new(attribute::REQUEST_MODEL, model_id(&record.model).to_owned()),
        ];
        let usage = &record.usage;
        for (kind, tokens) in [("input", usage.prompt_tokens()), ("output", usage.output)] {
            let kind = KeyValue::new(attribute::TOKEN_TYPE, kind);
            self.token_usage.record(tokens, &[&common[..], &[kind]].concat());
        }
        self.cost.add(record.cost.unwrap_or_default().usd(), &common);
        if let Some(first) = record.first_chunk {
            self.time_to_first_chunk.record(seconds(first), &common);
        }
        if record.facts.round > 0 {
            let micros = record.facts.assembled_in as f64 / 1e6;
            let mode = KeyValue::new("hew.mode", record.facts.mode.clone());
            self.assembly_duration.record(micros, &[mode]);
        }
        if record.attempt > 1 {
            self.retries.add(1, &common);
        }
        if let Some(prompt) = &record.prompt {
            self.cache_read.add(usage.cache_read, &common);
            self.cache_expected.add(prompt.cached.max(usage.cache_read), &common);
        }
        if let RequestEnd::Failed { .. } = &record.outcome {
            common.push(KeyValue::new(attribute::ERROR_TYPE, "failed"));
        }
        self.operation_duration.record(seconds(record.total), &common);
    }

    pub(crate) fn call(&self, record: &CallRecord) {
        let tool = KeyValue::new(attribute::TOOL_NAME, record.tool.clone());
        let outcome = KeyValue::new("hew.tool.outcome", record.end.name());
        let both = [tool.clone(), outcome];
        self.tool_calls.add(1, &both);
        self.tool_duration.record(seconds(record.millis), &both);
        if record.end != session::CallEnd::Done {
            self.tool_failures.add(1, &both);
        }
        if record.end.is_invalid() {
            self.invalid_calls.add(1, &both);
        }
        if record.server.is_some() {
            let method = KeyValue::new(attribute::MCP_METHOD, "tools/call");
            self.mcp_duration
                .record(seconds(record.millis), &[tool.clone(), method]);
        }
        if record.approval != ApprovalOutcome::NotAsked {
            let answer = KeyValue::new("hew.approval", record.approval.name());
            self.approvals.add(1, &[tool.clone(), answer]);
        }
        for edit in &record.edits {
            let format = KeyValue::new("hew.edit.format", edit.format.clone());
            let method = KeyValue::new("hew.edit.match", edit.method.clone());
            self.edits.add(1, &[format, method]);
        }
        for (kind, lines) in [("added", record.lines.added), ("removed", record.lines.removed)] {
            if lines > 0 {
                self.lines
                    .add(lines, &[tool.clone(), KeyValue::new("hew.line.type", kind)]);
            }
        }
    }

    pub(crate) fn turn(&self, record: &TurnRecord) {
        let attributes = [
            KeyValue::new("hew.mode", record.mode.clone()),
            KeyValue::new("hew.turn.intent", record.intent.name()),
            KeyValue::new("hew.turn.ending", record.ending.clone()),
        ];
        self.turns.add(1, &attributes);
        self.turn_duration.record(seconds(record.total), &attributes);
    }

    pub(crate) fn compaction(&self) {
        self.compactions.add(1, &[]);
    }

    pub(crate) fn survival(&self, record: &SurvivalRecord) {
        let point = KeyValue::new("hew.edit.survival.point", record.point.name());
        self.survival.record(record.share, &[point]);
    }
}

fn seconds(millis: u64) -> f64 {
    millis as f64 / 1e3
}
