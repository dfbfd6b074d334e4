//! What assembling the next request costs at steps 20 and 200, and in a conversation of a million tokens.
//!
//! Each sample adds a step to a conversation that was assembled before and assembles it again: the cost of a step should not grow
//! with what was said before it. The last two change the first item, so that nothing of what was kept is of use.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use model::{Block, CallId, Message, Outcome, Part, Role};
use prompt::{Frame, Kept, assemble};
use serde_json::json;
use session::{Body, End, Item, ItemId, RequestId, Time};
use std::hint::black_box;
use std::sync::Arc;

/// Tokens are about four bytes: a step has about a thousand of them.
const BYTES_A_STEP: usize = 4096;
/// So many steps are a million tokens.
const MILLION: usize = 1000;

fn item(body: Body) -> Arc<Item> {
    Arc::new(Item {
        id: ItemId::new(),
        parent: None,
        at: Time(1),
        body,
    })
}

fn prompt() -> Arc<Item> {
    item(Body::Prompt {
        message: Arc::new(Message::user("Do it.")),
    })
}

/// A call and its result.
fn step(n: usize) -> [Arc<Item>; 2] {
    let id = CallId::from(format!("call_{n}"));
    let call = Part::ToolCall {
        id: id.clone(),
        name: "terminal".into(),
        input: json!({"command": format!("cat {n}.txt")}),
        malformed: None,
        replay: None,
    };
    let result = Part::ToolResult {
        id: id.clone(),
        name: "terminal".into(),
        content: vec![Block::text("word ".repeat(BYTES_A_STEP / 5))],
        outcome: Outcome::Ok,
    };
    let message = |role: Role, part: Part| {
        let parts = vec![part];
        Arc::new(Message { role, parts })
    };
    [
        item(Body::Reply {
            message: message(Role::Assistant, call),
            model: "m".into(),
            request: RequestId::new(),
            end: End::Interrupted,
        }),
        item(Body::Result {
            message: message(Role::User, result),
            call: id,
            tool: "terminal".into(),
            title: String::new(),
            summary: None,
            millis: 1,
            changes: Vec::new(),
        }),
    ]
}

fn conversation(steps: usize) -> Vec<Arc<Item>> {
    let steps = (0..steps).flat_map(step);
    [prompt()].into_iter().chain(steps).collect()
}

/// One more step at the end.
fn grown(bench: &mut Criterion, name: &str, steps: usize) {
    let earlier = conversation(steps - 1);
    let later = earlier.iter().cloned().chain(step(steps)).collect();
    again(bench, name, &earlier, later);
}

/// Another first item: everything is laid out anew.
fn changed(bench: &mut Criterion, name: &str, steps: usize) {
    let earlier = conversation(steps);
    let mut later = earlier.clone();
    later[0] = prompt();
    again(bench, name, &earlier, later);
}

/// Assembles a later conversation after an earlier one, whose request is gone.
fn again(bench: &mut Criterion, name: &str, earlier: &[Arc<Item>], later: Vec<Arc<Item>>) {
    let frame = Frame::default();
    let before = || {
        let mut kept = Kept::default();
        drop(assemble(&frame, earlier, &mut kept));
        kept
    };
    let once = |mut kept: Kept| (black_box(assemble(&frame, &later, &mut kept)), kept);
    bench.bench_function(name, |bench| bench.iter_batched(before, once, BatchSize::LargeInput));
}

fn assembling(bench: &mut Criterion) {
    grown(bench, "step 20", 20);
    grown(bench, "step 200", 200);
    grown(bench, "a step after a million tokens", MILLION);
    changed(bench, "step 200, the first item changed", 200);
    changed(bench, "a million tokens, the first item changed", MILLION);
}

criterion_group!(benches, assembling);
criterion_main!(benches);
