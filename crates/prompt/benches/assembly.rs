//! Measures assembling the next request at steps 20 and 200, and in a conversation of a million tokens.
//!
//! Each sample adds a step to an assembled conversation and assembles it again: the cost of a step must not grow with
//! the length of the conversation. The last two change the first item, so that the cache is useless.

use criterion::{BatchSize, Criterion, criterion_group};
use model::{Block, CallId, Message, Part, Role, ToolOutcome};
use prompt::{AssembledRequest, LayoutCache, RequestFrame, assemble};
use serde_json::json;
use session::{Body, Item, ItemId, ReplyEnd, RequestId, Time};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A token is about four bytes: a step has about a thousand tokens.
const BYTES_A_STEP: usize = 4096;
/// Number of steps in a million tokens.
const MILLION: usize = 1000;
/// Samples per case.
const ROUNDS: usize = 100;

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
        outcome: ToolOutcome::Ok,
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
            end: ReplyEnd::Interrupted,
        }),
        item(Body::Result {
            message: message(Role::User, result),
            call: id,
            tool: "terminal".into(),
            title: String::new(),
            summary: None,
            exit: None,
            millis: 1,
            changes: Vec::new(),
        }),
    ]
}

fn conversation(steps: usize) -> Vec<Arc<Item>> {
    let steps = (0..steps).flat_map(step);
    linked([prompt()].into_iter().chain(steps))
}

/// Each item names its predecessor as its parent, as in a log.
fn linked(items: impl Iterator<Item = Arc<Item>>) -> Vec<Arc<Item>> {
    let mut last = None;
    let link = |item: Arc<Item>| {
        let parent = last.replace(item.id);
        Arc::new(Item {
            parent,
            ..Item::clone(&item)
        })
    };
    items.map(link).collect()
}

/// A conversation and its cache.
struct Change {
    name: &'static str,
    earlier: Vec<Arc<Item>>,
    later: Vec<Arc<Item>>,
}

impl Change {
    /// One more step at the end.
    fn grown(name: &'static str, steps: usize) -> Self {
        let earlier = conversation(steps - 1);
        let mut later = earlier.clone();
        for mut item in step(steps) {
            Arc::make_mut(&mut item).parent = later.last().map(|last| last.id);
            later.push(item);
        }
        Change { name, earlier, later }
    }

    /// Replaces the first item, which invalidates the whole layout.
    fn first(name: &'static str, steps: usize) -> Self {
        let earlier = conversation(steps);
        let later = linked([prompt()].into_iter().chain(earlier[1..].iter().cloned()));
        Change { name, earlier, later }
    }

    /// The cache of the earlier conversation, without its request. It has grown in steps as well: vectors allocated at
    /// their final size would be reallocated on first growth.
    fn before(&self) -> LayoutCache {
        let mut kept = LayoutCache::default();
        drop(assemble(
            &RequestFrame::default(),
            &self.earlier[..self.earlier.len() - 2],
            &mut kept,
        ));
        drop(assemble(&RequestFrame::default(), &self.earlier, &mut kept));
        kept
    }

    fn after(&self, mut kept: LayoutCache) -> (AssembledRequest, LayoutCache) {
        (
            black_box(assemble(&RequestFrame::default(), &self.later, &mut kept)),
            kept,
        )
    }

    /// The cost without interference: the 10th percentile of many samples.
    fn undisturbed(samples: &mut [Duration]) -> Duration {
        samples.sort_unstable();
        samples[samples.len() / 10]
    }
}

fn changes() -> [Change; 5] {
    [
        Change::grown("step 20", 20),
        Change::grown("step 200", 200),
        Change::grown("a step after a million tokens", MILLION),
        Change::first("step 200, the first item changed", 200),
        Change::first("a million tokens, the first item changed", MILLION),
    ]
}

/// Samples alternate between the cases, so that interference affects all of them equally.
fn verdict() {
    let changes = changes();
    let mut samples = [const { Vec::new() }; 5];
    for _ in 0..ROUNDS {
        for (change, samples) in changes.iter().zip(&mut samples) {
            let kept = change.before();
            let begun = Instant::now();
            let done = change.after(kept);
            samples.push(begun.elapsed());
            drop(done);
        }
    }
    let [step_20, step_200, million, _, changed] = samples.map(|mut samples| Change::undisturbed(&mut samples));
    let ratio = |time: Duration| time.as_secs_f64() / step_20.as_secs_f64();
    println!("step 20: {step_20:.1?}");
    println!("step 200: {step_200:.1?}, {:.2}x; asked: at most 1.1x", ratio(step_200));
    println!("a step after a million tokens: {million:.1?}, {:.2}x", ratio(million));
    println!("a million tokens, the first item changed: {changed:.1?}; asked: under 10ms");
}

fn assembling(bench: &mut Criterion) {
    for change in changes() {
        bench.bench_function(change.name, |bench| {
            bench.iter_batched(|| change.before(), |kept| change.after(kept), BatchSize::LargeInput);
        });
    }
}

criterion_group!(benches, assembling);

fn main() {
    verdict();
    benches();
    Criterion::default().configure_from_args().final_summary();
}
