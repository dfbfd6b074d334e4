//! Panels and elided conversations.

use crate::fixture::{World, calls, message_lines, text_reply, world_with};
use agent::{AutoCompaction, CompactionSettings};
use futures::future::{BoxFuture, FutureExt as _};
use model::{Chunk, Message, Request, Stop, Usage};
use prompt::panel::{Panel, PanelContext, PanelSource, Volatility};
use session::{Body, Event, Item, ItemId, Time, TurnEnd};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A panel with a given text that counts its snapshots.
struct Board {
    text: Mutex<String>,
    looks: AtomicUsize,
    volatility: Volatility,
}

impl Board {
    fn new(text: &str) -> Arc<Self> {
        Arc::new(Board {
            text: Mutex::new(text.into()),
            looks: AtomicUsize::new(0),
            volatility: Volatility::Live,
        })
    }
}

impl Panel for Board {
    fn name(&self) -> &str {
        "board"
    }

    fn volatility(&self) -> Volatility {
        self.volatility
    }

    fn snapshot<'a>(&'a self, _: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>> {
        let look = self.looks.fetch_add(1, Ordering::Relaxed);
        let text = self.text.lock().unwrap().replace("{look}", &look.to_string());
        async move { Some(text) }.boxed()
    }
}

struct Only(Arc<Board>);

impl PanelSource for Only {
    fn panels(&self) -> Vec<Arc<dyn Panel>> {
        vec![Arc::clone(&self.0) as Arc<dyn Panel>]
    }
}

fn requests(world: &World) -> Vec<Vec<String>> {
    let requests = world.model.requests.lock().unwrap();
    let lines = |request: &Request| {
        request
            .messages
            .iter()
            .flat_map(|message| message_lines(message))
            .collect()
    };
    requests.iter().map(lines).collect()
}

fn check_each_extends_the_previous(requests: &[Vec<String>]) {
    for (earlier, later) in requests.iter().zip(&requests[1..]) {
        assert_eq!(later[..earlier.len()], earlier[..], "{requests:#?}");
    }
}

#[tokio::test]
async fn a_panel_comes_first_and_its_changes_are_appended() {
    let board = Board::new("state {look}");
    let source = Arc::new(Only(Arc::clone(&board)));
    let script = vec![
        calls(&[("1", "look", r#"{"text":"a"}"#)]),
        calls(&[("2", "change", r#"{"text":"b"}"#)]),
        text_reply("done"),
        text_reply("done again"),
    ];
    let mut world = world_with(script, |setup| setup.config.panels = source);
    world.gate.add_permits(10);
    let (ending, _) = world.turn("go").await;
    assert_eq!(ending, TurnEnd::Completed);
    let seen = requests(&world);
    assert!(seen[0][0].contains("state 0") && seen[0][1] == "user: go", "{seen:#?}");
    // A read-only call changes nothing, so that no snapshot was taken.
    assert_eq!(seen[1].len(), 4, "{seen:#?}");
    assert!(seen[2].last().unwrap().contains("state 1"), "{seen:#?}");
    world.turn("and on").await;
    let seen = requests(&world);
    let last = seen.last().unwrap();
    assert!(last[last.len() - 2].contains("state 2"), "{last:#?}");
    assert_eq!(last.last().unwrap(), "user: and on");
    check_each_extends_the_previous(&seen);
}

#[tokio::test]
async fn a_panel_that_does_not_change_is_shown_once() {
    let source = Arc::new(Only(Board::new("the same")));
    let script = vec![
        calls(&[("1", "change", r#"{"text":"a"}"#)]),
        calls(&[("2", "change", r#"{"text":"b"}"#)]),
        text_reply("done"),
        text_reply("done"),
    ];
    let mut world = world_with(script, |setup| setup.config.panels = source);
    world.gate.add_permits(10);
    world.turn("go").await;
    world.turn("continue").await;
    let seen = requests(&world);
    check_each_extends_the_previous(&seen);
    let shown = seen
        .last()
        .unwrap()
        .iter()
        .filter(|line| line.contains("the same"))
        .count();
    assert_eq!(shown, 1, "{seen:#?}");
}

static NOW: AtomicU64 = AtomicU64::new(1_000);

#[tokio::test]
async fn after_the_cache_expires_all_panels_come_first_again() {
    let source = Arc::new(Only(Board::new("state {look}")));
    let script = vec![
        calls(&[("1", "change", r#"{"text":"a"}"#)]),
        text_reply("done"),
        text_reply("done again"),
    ];
    let mut world = world_with(script, |setup| {
        setup.config.panels = source;
        setup.config.clock = || Time(NOW.load(Ordering::Relaxed));
    });
    world.gate.add_permits(10);
    world.turn("go").await;
    NOW.store(2 * 60 * 60 * 1_000, Ordering::Relaxed);
    world.turn("and on").await;
    let seen = requests(&world);
    let last = seen.last().unwrap();
    assert!(last[0].contains("state 2") && last[1] == "user: go", "{last:#?}");
    assert_eq!(
        last.iter().filter(|line| line.contains("state")).count(),
        1,
        "{last:#?}"
    );
    assert_eq!(last.last().unwrap(), "user: and on");
}

/// Long turns.
fn long_turns(turns: usize, words: usize) -> Vec<Arc<Item>> {
    let mut items: Vec<Arc<Item>> = Vec::new();
    for turn in 0..turns * 2 {
        let text = format!("{turn}: {}", "word ".repeat(words));
        let message = Arc::new(Message::user(text.clone()));
        let body = match turn % 2 {
            0 => Body::Prompt { message },
            _ => Body::Reply {
                message: Arc::new(Message::assistant(text)),
                model: "script/one".into(),
                request: session::RequestId::new(),
                end: session::ReplyEnd::Finished(Stop::End),
            },
        };
        items.push(Arc::new(Item {
            id: ItemId::new(),
            parent: items.last().map(|item| item.id),
            at: Time(7),
            body,
        }));
    }
    items
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_elided_if_compaction_is_off() {
    let script = vec![text_reply("fine"), text_reply("fine again")];
    let mut world = world_with(script, |setup| {
        setup.items = long_turns(60, 1_000);
        setup.config.compaction = CompactionSettings {
            automatic: AutoCompaction::Off,
            ..CompactionSettings::default()
        };
    });
    let (ending, events) = world.turn("continue").await;
    assert_eq!(ending, TurnEnd::Completed);
    let lines = events
        .iter()
        .any(|event| matches!(event, Event::Notice { text, .. } if text.starts_with("the conversation was too long")));
    assert!(lines, "{events:?}");
    world.turn("and on").await;
    let seen = requests(&world);
    let words: usize = seen[0].iter().map(|line| line.split_whitespace().count()).sum();
    assert!((40_000..85_000).contains(&words), "{words}");
    assert_eq!(seen[0].last().unwrap(), "user: continue");
    check_each_extends_the_previous(&seen);
    assert_eq!(
        world.items().iter().filter(|item| item.message().is_some()).count(),
        124
    );
}

#[tokio::test]
async fn estimates_are_corrected_by_the_reported_usage() {
    let big = |reported: u64| {
        let usage = Usage {
            input: reported,
            output: 10,
            ..Usage::default()
        };
        crate::fixture::Answer::Chunks(vec![
            Chunk::Text("fine".into()),
            Chunk::Usage(usage),
            Chunk::Stop(Stop::End),
        ])
    };
    // The window has 100,000 tokens. 30,000 words are estimated as 30,000 tokens; the provider counts 60,000.
    let script = vec![big(60_000), text_reply("notes"), text_reply("fine"), text_reply("fine")];
    let mut world = world_with(script, |setup| {
        setup.items = long_turns(15, 1_000);
    });
    world.turn("continue").await;
    let (_, events) = world.turn(&"word ".repeat(16_000)).await;
    let summed_up = events.iter().any(|event| {
        matches!(event, Event::Notice { text, .. } if text.starts_with("summar") || text.starts_with("shortened"))
    });
    assert!(summed_up, "{events:?}");
}
