//! Measures rendering the system prompt and parsing tool calls in streamed text with tiny chunks.

use criterion::{BatchSize, Criterion, criterion_group};
use model::{Chunk, Features, Info, TokenLimits, ToolSpec, Wire};
use policy::Mode;
use prompt::{
    CallGrammar, PromptEnvironment, RulesFile, SystemPromptInput, TemplateOverrides, TextCallParser, system_prompt,
};
use serde_json::{Map, json};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of a long call, and of each chunk.
const LONG: usize = 200 * 1024;
const PIECE: usize = 4;
/// Samples per case.
const ROUNDS: usize = 30;

fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: "Does something.".into(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}),
    };
    ["edit_file", "find_path", "grep", "read_file", "terminal", "write_file"]
        .map(tool)
        .to_vec()
}

fn rendering(bench: &mut Criterion) {
    let (listed, mode) = (tools(), Mode::code());
    let model = Info {
        provider: "p".into(),
        id: "claude-sonnet-4-6".into(),
        wire: Wire::AnthropicMessages,
        limits: TokenLimits { window: 0, output: 0 },
        parameters: 0,
        features: Features {
            tools: true,
            parallel_tools: true,
            images: true,
            pdf: true,
            reasoning: false,
            caching: true,
        },
        prices: None,
        deprecated_on: None,
        options: Map::new(),
    };
    let rules = vec![RulesFile {
        path: "AGENTS.md".into(),
        text: "Use tabs.\n".repeat(100),
    }];
    let facts = PromptEnvironment {
        platform: "linux x86_64".into(),
        root: "/home/me/project".into(),
        rules,
        ..PromptEnvironment::default()
    };
    let scene = SystemPromptInput {
        mode: &mode,
        model: &model,
        listed: &listed,
        deferred: &[],
    };
    bench.bench_function("system prompt", |bench| {
        bench.iter(|| black_box(system_prompt(&facts, &scene, &TemplateOverrides::default())));
    });
}

fn grammar() -> Arc<CallGrammar> {
    let mut grammar = CallGrammar::default();
    tools().iter().for_each(|tool| grammar.add(&tool.name, tool));
    Arc::new(grammar)
}

/// A call that writes this many bytes of code, and the code itself.
fn texts(bytes: usize) -> [(&'static str, String); 2] {
    let code = "    if a < b { print(\"<p>\") }\n".repeat(bytes / 30);
    let call = format!("<write_file>\n<path>a</path>\n<content>\n{code}</content>\n</write_file>");
    [("a long call in pieces", call), ("long text in pieces", code)]
}

fn pieces(text: &str) -> Vec<Chunk> {
    let letters: Vec<char> = text.chars().collect();
    let pieces = letters.chunks(PIECE);
    pieces.map(|piece| Chunk::Text(piece.iter().collect())).collect()
}

fn read(grammar: &Arc<CallGrammar>, pieces: Vec<Chunk>) -> TextCallParser {
    let mut reader = TextCallParser::new(Arc::clone(grammar), "r");
    let mut out = Vec::new();
    for piece in pieces {
        out.clear();
        reader.push(piece, &mut out);
    }
    reader
}

/// Samples alternate between the cases, so that interference affects all of them equally.
fn verdict() {
    let grammar = grammar();
    for ((name, text), (_, longer)) in texts(LONG).into_iter().zip(texts(2 * LONG)) {
        let (text, longer) = (pieces(&text), pieces(&longer));
        let mut samples = [const { Vec::new() }; 2];
        for _ in 0..ROUNDS {
            for (pieces, samples) in [&text, &longer].into_iter().zip(&mut samples) {
                let pieces = pieces.clone();
                let begun = Instant::now();
                black_box(read(&grammar, pieces));
                samples.push(begun.elapsed());
            }
        }
        // The cost without interference: the 10th percentile.
        let [once, twice] = samples.map(|mut samples: Vec<Duration>| {
            samples.sort_unstable();
            samples[samples.len() / 10]
        });
        println!(
            "{name}: {:.0?} a piece; twice as long: {:.2}x, asked: 2x, in proportion",
            once / u32::try_from(text.len()).unwrap_or(u32::MAX),
            twice.as_secs_f64() / once.as_secs_f64()
        );
    }
}

fn reading(bench: &mut Criterion) {
    let grammar = grammar();
    for (name, text) in texts(LONG) {
        let pieces = pieces(&text);
        bench.bench_function(name, |bench| {
            bench.iter_batched(
                || pieces.clone(),
                |pieces| read(&grammar, pieces),
                BatchSize::LargeInput,
            );
        });
    }
}

criterion_group!(benches, rendering, reading);

fn main() {
    verdict();
    benches();
    Criterion::default().configure_from_args().final_summary();
}
