//! What rendering the system prompt costs, and finding calls in a model's text that comes in tiny pieces.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use model::{Chunk, Features, Info, Limits, ToolSpec, Wire};
use policy::Mode;
use prompt::{Facts, Grammar, Overrides, Reader, Rules, Scene, system};
use serde_json::{Map, json};
use std::hint::black_box;
use std::sync::Arc;

/// Bytes of a long call, and of each piece in which it comes.
const LONG: usize = 200 * 1024;
const PIECE: usize = 4;

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
        limits: Limits { window: 0, output: 0 },
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
    let rules = vec![Rules {
        path: "AGENTS.md".into(),
        text: "Use tabs.\n".repeat(100),
    }];
    let facts = Facts {
        platform: "linux x86_64".into(),
        root: "/home/me/project".into(),
        rules,
        ..Facts::default()
    };
    let scene = Scene {
        mode: &mode,
        model: &model,
        listed: &listed,
        further: &[],
    };
    bench.bench_function("system prompt", |bench| {
        bench.iter(|| black_box(system(&facts, &scene, &Overrides::default())));
    });
}

fn reading(bench: &mut Criterion) {
    let mut grammar = Grammar::default();
    tools().iter().for_each(|tool| grammar.add(&tool.name, tool));
    let grammar = Arc::new(grammar);
    let code = "    if a < b { print(\"<p>\") }\n".repeat(LONG / 30);
    let call = format!("<write_file>\n<path>a</path>\n<content>\n{code}</content>\n</write_file>");
    for (name, text) in [("a long call in pieces", call), ("long text in pieces", code)] {
        let bytes: Vec<char> = text.chars().collect();
        let pieces: Vec<Chunk> = bytes
            .chunks(PIECE)
            .map(|piece| Chunk::Text(piece.iter().collect()))
            .collect();
        let read = |pieces: Vec<Chunk>| {
            let mut reader = Reader::new(Arc::clone(&grammar), "r");
            let mut out = Vec::new();
            for piece in pieces {
                out.clear();
                reader.push(piece, &mut out);
            }
            reader
        };
        bench.bench_function(name, |bench| {
            bench.iter_batched(|| pieces.clone(), read, BatchSize::LargeInput);
        });
    }
}

criterion_group!(benches, rendering, reading);
criterion_main!(benches);
