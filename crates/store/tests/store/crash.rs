//! Killed processes: acknowledged writes survive, streaming replies are repaired.

use crate::fixtures::{draft, new_session, prompt, record, reply, result};
use bytes::Bytes;
use model::Chunk;
use session::{Body, Change, ItemId, SessionId, Store};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use store::SqliteStore;

const FOLDER: &str = "STORE_CRASH_FOLDER";

/// The writes that the process had seen acknowledged when it died.
#[derive(Default)]
struct Acknowledged {
    session: Option<SessionId>,
    items: Vec<ItemId>,
    requests: u64,
    /// The reply that was streaming last, and how much of it was flushed.
    drafted: Option<(ItemId, usize)>,
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(0x5eed);
    for round in 0..30 {
        let lines = random.next() % 250;
        let acknowledged = killed_after(folder.path(), lines as usize);
        let store = SqliteStore::open(folder.path()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            store.integrity().await.unwrap();
            check(&store, &acknowledged).await;
            store.integrity().await.unwrap();
        });
        println!("round {round}: {} items after {lines} lines", acknowledged.items.len());
    }
}

async fn check(store: &SqliteStore, acknowledged: &Acknowledged) {
    let Some(session) = acknowledged.session else {
        return;
    };
    let opened = store.open(session).await.unwrap();
    let items = &opened.loaded.items;
    let ids: Vec<ItemId> = items.iter().map(|item| item.id).collect();
    assert!(
        ids.starts_with(&acknowledged.items),
        "{} items were acknowledged, {} are there",
        acknowledged.items.len(),
        ids.len()
    );
    // At most what was in flight: a result and a reply.
    assert!(ids.len() <= acknowledged.items.len() + 2);
    if let Some((reply, length)) = acknowledged.drafted {
        let kept = items
            .iter()
            .find(|item| item.id == reply)
            .expect("the draft was repaired");
        assert!(kept.message().unwrap().text().len() >= length);
    }
    for change in items.iter().flat_map(|item| changes(&item.body)) {
        let blob = change.after.clone().unwrap().content.unwrap();
        let bytes = store.get_blob(blob).await.unwrap().expect("the file version is there");
        assert!(bytes.starts_with(b"version "));
    }
    let records = store.request_records(session).await.unwrap();
    let totals = opened.loaded.meta.totals;
    assert!(totals.requests >= acknowledged.requests);
    assert_eq!(totals.requests, records.len() as u64);
    assert_eq!(totals.usage, records.iter().map(|record| record.usage).sum());
    drop(opened.lease);
    let again = store.open(session).await.unwrap();
    assert_eq!(again.loaded.items, *items, "a second repair changed the session");
    let last = ids.last().copied();
    store.append(session, prompt(last, "continue")).await.unwrap();
}

fn changes(body: &Body) -> &[Change] {
    match body {
        Body::Result { changes, .. } => changes,
        Body::Prompt { .. }
        | Body::Reply { .. }
        | Body::Summary { .. }
        | Body::Notice { .. }
        | Body::Notification { .. }
        | Body::Todos { .. }
        | Body::Panels { .. }
        | Body::Mode { .. }
        | Body::Review { .. }
        | Body::Restored { .. } => &[],
    }
}

/// Starts a writing process and kills it after this many lines of output.
fn killed_after(folder: &Path, lines: usize) -> Acknowledged {
    #[allow(clippy::disallowed_methods, reason = "a crash needs a process that can be killed")]
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "crash::a_process_that_writes_until_it_is_killed",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = Acknowledged::default();
    let out = BufReader::new(child.stdout.take().unwrap());
    for (line, nth) in out.lines().zip(0..) {
        let line = line.unwrap();
        if nth == lines {
            child.kill().unwrap();
        }
        // Output from before the kill counts, even if it is read afterwards. The last line may be incomplete.
        if let Some(line) = line.strip_suffix('.') {
            acknowledged.take(line);
        }
    }
    assert!(
        !child.wait().unwrap().success(),
        "the process ended before it was killed"
    );
    acknowledged
}

impl Acknowledged {
    fn take(&mut self, line: &str) {
        match *line.split(' ').collect::<Vec<_>>() {
            ["session", id] => self.session = Some(id.parse().unwrap()),
            ["item", id] => {
                self.items.push(id.parse().unwrap());
                self.drafted = None;
            }
            ["record"] => self.requests += 1,
            ["drafted", id, length] => self.drafted = Some((id.parse().unwrap(), length.parse().unwrap())),
            _ => {}
        }
    }
}

#[test]
#[ignore = "started by the crash test, and killed by it"]
fn a_process_that_writes_until_it_is_killed() {
    #[allow(clippy::disallowed_methods, reason = "the crash test passes the folder")]
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(write_until_killed(Path::new(&folder)));
}

fn print_line(line: std::fmt::Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}.\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

async fn write_until_killed(folder: &Path) {
    let store = SqliteStore::open(folder).unwrap();
    let new = new_session();
    let session = new.id;
    let _lease = store.create(new).await.unwrap();
    print_line(format_args!("session {session}"));
    let mut random = Random(session.0.as_u64_pair().1);
    let mut parent = None;
    for step in 0_u64.. {
        let prompt_item = prompt(parent, &"what next? ".repeat(random.below(400)));
        store.append(session, Arc::clone(&prompt_item)).await.unwrap();
        print_line(format_args!("item {}", prompt_item.id));
        let answer = draft(Some(prompt_item.id));
        let mut text = String::new();
        for _ in 0..=random.below(12) {
            let delta = "and then ".repeat(1 + random.below(300));
            text.push_str(&delta);
            store.append_draft(session, answer.clone(), vec![Chunk::Text(delta)]);
            if random.below(2) == 0 {
                store.flush().await.unwrap();
                print_line(format_args!("drafted {} {}", answer.id, text.len()));
            }
        }
        let recorded = store.record_request(
            session,
            session::RequestRecord {
                id: answer.request,
                ..record(step)
            },
        );
        store.append(session, reply(&answer, &text)).await.unwrap();
        print_line(format_args!("item {}", answer.id));
        recorded.await.unwrap();
        print_line(format_args!("record"));
        let after = store.put_blob(Bytes::from(format!("version {step}").repeat(1 + random.below(2_000))));
        let change = Change {
            path: "a.txt".into(),
            before: None,
            after: Some(after.into()),
        };
        let done = result(answer.id, vec![change]);
        store.append(session, Arc::clone(&done)).await.unwrap();
        print_line(format_args!("item {}", done.id));
        parent = Some(done.id);
    }
}

/// Pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}
