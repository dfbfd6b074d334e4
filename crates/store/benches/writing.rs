//! Cost of writing: time to open, append and stream, and bytes for a streamed reply and a step.

#![allow(clippy::unwrap_used, reason = "a failed step ends the benchmark")]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use model::{Chunk, Cost, Message, Stop, Usage};
use session::{
    Body, Item, ItemId, LedgerSection, NewSession, ReplyDraft, ReplyEnd, RequestEnd, RequestId, RequestRecord,
    SessionId, Store, Time,
};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::SqliteStore;
use tokio::runtime::{Builder, Runtime};

/// A long reply in tiny deltas: 200 KB.
const DELTAS: usize = 50_000;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn item(parent: Option<ItemId>, bytes: usize) -> Arc<Item> {
    Arc::new(Item {
        id: ItemId::new(),
        parent,
        at: Time(1),
        body: Body::Prompt {
            message: Arc::new(Message::user("word ".repeat(bytes / 5))),
        },
    })
}

fn reply(draft: &ReplyDraft, text: String) -> Arc<Item> {
    Arc::new(Item {
        id: draft.id,
        parent: draft.parent,
        at: Time(1),
        body: Body::Reply {
            message: Arc::new(Message::assistant(text)),
            model: draft.model.clone(),
            request: draft.request,
            end: ReplyEnd::Finished(Stop::End),
        },
    })
}

fn record() -> RequestRecord {
    RequestRecord {
        id: RequestId::new(),
        item: None,
        purpose: "turn".into(),
        model: "maker/model-1".into(),
        attempt: 1,
        at: Time(1),
        first_chunk: Some(100),
        total: 1_000,
        usage: Usage::default(),
        cost: Some(Cost { nano_usd: 1 }),
        outcome: RequestEnd::Finished(Stop::End),
        sections: ["tools", "system", "messages"]
            .map(|name| LedgerSection {
                name: name.into(),
                bytes: 1_000,
                tokens: 250,
                cached: 250,
            })
            .into(),
        prompt: None,
        facts: Default::default(),
    }
}

fn draft(parent: Option<ItemId>) -> ReplyDraft {
    ReplyDraft {
        id: ItemId::new(),
        parent,
        model: "maker/model-1".into(),
        request: RequestId::new(),
    }
}

async fn begin(store: &SqliteStore) -> SessionId {
    let new = NewSession {
        id: SessionId::new(),
        root: "/project".into(),
        model: "maker/model-1".into(),
        at: Time(1),
        parent: None,
    };
    let id = new.id;
    drop(store.create(new).await.unwrap());
    id
}

/// Streams a reply as fast as it can be enqueued.
async fn stream(store: &SqliteStore, session: SessionId) {
    let draft = draft(None);
    for _ in 0..DELTAS {
        store.append_draft(session, draft.clone(), vec![Chunk::Text("word".into())]);
    }
    let text = "word".repeat(DELTAS);
    store.append(session, reply(&draft, text)).await.unwrap();
}

/// The writes of one step of a turn: a reply, its request record and a tool result.
async fn step(store: &SqliteStore, session: SessionId, parent: Option<ItemId>) -> Option<ItemId> {
    let answer = draft(parent);
    drop(store.record_request(session, record()));
    store.append(session, reply(&answer, "word ".repeat(80))).await.unwrap();
    let result = item(Some(answer.id), 2_000);
    store.append(session, Arc::clone(&result)).await.unwrap();
    Some(result.id)
}

fn opening(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let store = SqliteStore::open(folder.path()).unwrap();
        for _ in 0..50 {
            let session = begin(&store).await;
            let mut parent = None;
            for _ in 0..10 {
                parent = step(&store, session, parent).await;
            }
        }
    });
    let mut group = criterion.benchmark_group("open");
    group.bench_function("existing", |bencher| {
        bencher.iter_with_large_drop(|| SqliteStore::open(folder.path()).unwrap());
    });
    group.bench_function("existing and close", |bencher| {
        bencher.iter(|| drop(SqliteStore::open(folder.path()).unwrap()));
    });
    group.bench_function("new", |bencher| {
        bencher.iter_batched(
            || tempfile::tempdir().unwrap(),
            |folder| (SqliteStore::open(&folder.path().join("hew")).unwrap(), folder),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("new, first item and close", |bencher| {
        bencher.iter_batched(
            || tempfile::tempdir().unwrap(),
            |folder| {
                let store = SqliteStore::open(folder.path()).unwrap();
                runtime().block_on(async {
                    let session = begin(&store).await;
                    step(&store, session, None).await
                });
                drop(store);
                folder
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn appending(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let store = SqliteStore::open(folder.path()).unwrap();
    let mut group = criterion.benchmark_group("append");
    for bytes in [500, 5_000, 50_000] {
        let session = runtime.block_on(begin(&store));
        let mut parent = None;
        group.bench_function(format!("{bytes} bytes"), |bencher| {
            bencher.iter(|| {
                let next = item(parent, bytes);
                parent = Some(next.id);
                runtime.block_on(store.append(session, next)).unwrap();
            });
        });
    }
    let session = runtime.block_on(begin(&store));
    let mut parent = None;
    group.bench_function("a step", |bencher| {
        bencher.iter(|| parent = runtime.block_on(step(&store, session, parent)));
    });
    group.finish();
}

fn streaming(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let store = SqliteStore::open(folder.path()).unwrap();
    let mut group = criterion.benchmark_group("stream");
    group.sample_size(20);
    group.bench_function("200 KB in 4-byte deltas", |bencher| {
        bencher.iter_batched(
            || runtime.block_on(begin(&store)),
            |session| runtime.block_on(stream(&store, session)),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

/// Bytes written and CPU time of this process.
fn spent() -> (u64, Duration) {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let written = io
        .lines()
        .find_map(|line| line.strip_prefix("wchar: ")?.parse().ok())
        .unwrap_or(0);
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks: u64 = stat
        .rsplit(')')
        .next()
        .map(|rest| rest.split_whitespace().skip(11).take(2))
        .map_or(0, |times| times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum());
    (written, Duration::from_millis(ticks * 10))
}

fn report(name: &str, folder: &Path, run: impl AsyncFnOnce(&SqliteStore)) {
    let store = SqliteStore::open(folder).unwrap();
    let ((bytes, cpu), start) = (spent(), Instant::now());
    runtime().block_on(run(&store));
    let (live, _) = spent();
    drop(store);
    let (closed, all) = spent();
    println!(
        "{name}: {} KB written, {} KB with closing, {:?} of CPU, {:?}",
        (live - bytes) / 1000,
        (closed - bytes) / 1000,
        all - cpu,
        start.elapsed()
    );
}

/// Bytes, which do not vary much from run to run.
fn bytes(_: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    report("200 KB as fast as can be", folder.path(), async |store| {
        let session = begin(store).await;
        stream(store, session).await;
    });
    report("2 KB in 5 s, 80 deltas a second", folder.path(), async |store| {
        let session = begin(store).await;
        let draft = draft(None);
        for _ in 0..400 {
            store.append_draft(session, draft.clone(), vec![Chunk::Text("words".into())]);
            tokio::time::sleep(Duration::from_micros(12_500)).await;
        }
        store.append(session, reply(&draft, "words".repeat(400))).await.unwrap();
    });
    report("200 steps without a pause", folder.path(), async |store| {
        let session = begin(store).await;
        let mut parent = None;
        for _ in 0..200 {
            parent = step(store, session, parent).await;
        }
    });
}

criterion_group!(benches, bytes, opening, appending, streaming);
criterion_main!(benches);
