//! What assembling the next request costs at steps 20 and 200, and in a conversation of a million tokens.
//!
//! Each sample adds a step to a conversation that was assembled before and assembles it again: the cost of a step should not grow
//! with what was said before it. The last two change the first item, so that nothing of what was kept is of use.

use criterion::{BatchSize, Criterion, criterion_group};
use model::{Block, CallId, Message, Outcome, Part, Role};
use prompt::{Assembled, Frame, Kept, assemble};
use serde_json::json;
use session::{Body, End, Item, ItemId, RequestId, Time};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Tokens are about four bytes: a step has about a thousand of them.
const BYTES_A_STEP: usize = 4096;
/// So many steps are a million tokens.
const MILLION: usize = 1000;
/// Samples of each for the verdict.
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
    linked([prompt()].into_iter().chain(steps))
}

/// Each names the one before it, as in a log.
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

/// A conversation and what it becomes.
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

    /// Another first item: everything is laid out anew.
    fn first(name: &'static str, steps: usize) -> Self {
        let earlier = conversation(steps);
        let later = linked([prompt()].into_iter().chain(earlier[1..].iter().cloned()));
        Change { name, earlier, later }
    }

    /// What is kept of the earlier one, whose request is gone. It had grown as well: lists that were made in one go would have to be
    /// moved to grow for the first time.
    fn before(&self) -> Kept {
        let mut kept = Kept::default();
        drop(assemble(
            &Frame::default(),
            &self.earlier[..self.earlier.len() - 2],
            &mut kept,
        ));
        drop(assemble(&Frame::default(), &self.earlier, &mut kept));
        kept
    }

    fn after(&self, mut kept: Kept) -> (Assembled, Kept) {
        (black_box(assemble(&Frame::default(), &self.later, &mut kept)), kept)
    }

    /// What it costs when nothing else disturbs: the lowest tenth of many samples ends there.
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

/// What is asked, and what is: samples alternate, so that whatever else the machine does disturbs all of them alike.
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
