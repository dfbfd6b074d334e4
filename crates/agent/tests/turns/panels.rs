//! Panels beside the conversation, and conversations that are folded.

use crate::world::{World, calls, says, tell, world_with};
use agent::{Automatic, Compaction};
use futures::future::{BoxFuture, FutureExt as _};
use model::{Chunk, Message, Request, Stop, Usage};
use prompt::panel::{Panel, Shelf, Sight, Volatility};
use session::{Body, Ending, Event, Item, ItemId, Time};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A panel that says what it is told to say, and how often it was looked at.
struct Board {
    says: Mutex<String>,
    looks: AtomicUsize,
    volatility: Volatility,
}

impl Board {
    fn new(text: &str) -> Arc<Self> {
        Arc::new(Board {
            says: Mutex::new(text.into()),
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

    fn snapshot<'a>(&'a self, _: &'a Sight<'a>) -> BoxFuture<'a, Option<String>> {
        let look = self.looks.fetch_add(1, Ordering::Relaxed);
        let text = self.says.lock().unwrap().replace("{look}", &look.to_string());
        async move { Some(text) }.boxed()
    }
}

struct Only(Arc<Board>);

impl Shelf for Only {
    fn open(&self) -> Vec<Arc<dyn Panel>> {
        vec![Arc::clone(&self.0) as Arc<dyn Panel>]
    }
}

fn requests(world: &World) -> Vec<Vec<String>> {
    let requests = world.model.requests.lock().unwrap();
    let told = |request: &Request| request.messages.iter().flat_map(|message| tell(message)).collect();
    requests.iter().map(told).collect()
}

fn each_extends_the_one_before(requests: &[Vec<String>]) {
    for (earlier, later) in requests.iter().zip(&requests[1..]) {
        assert_eq!(later[..earlier.len()], earlier[..], "{requests:#?}");
    }
}

#[tokio::test]
async fn a_panel_stands_first_and_its_changes_are_added_at_the_end() {
    let board = Board::new("state {look}");
    let shelf = Arc::new(Only(Arc::clone(&board)));
    let script = vec![
        calls(&[("1", "look", r#"{"text":"a"}"#)]),
        calls(&[("2", "change", r#"{"text":"b"}"#)]),
        says("done"),
        says("done again"),
    ];
    let mut world = world_with(script, |setup| setup.panels = shelf);
    world.gate.add_permits(10);
    let (ending, _) = world.turn("go").await;
    assert_eq!(ending, Ending::Completed);
    let seen = requests(&world);
    assert!(seen[0][0].contains("state 0") && seen[0][1] == "user: go", "{seen:#?}");
    // Looking changed nothing, so that nobody looked at the panel.
    assert_eq!(seen[1].len(), 4, "{seen:#?}");
    assert!(seen[2].last().unwrap().contains("state 1"), "{seen:#?}");
    world.turn("and on").await;
    let seen = requests(&world);
    let last = seen.last().unwrap();
    assert!(last[last.len() - 2].contains("state 2"), "{last:#?}");
    assert_eq!(last.last().unwrap(), "user: and on");
    each_extends_the_one_before(&seen);
}

#[tokio::test]
async fn a_panel_that_does_not_change_is_shown_once() {
    let shelf = Arc::new(Only(Board::new("the same")));
    let script = vec![
        calls(&[("1", "change", r#"{"text":"a"}"#)]),
        calls(&[("2", "change", r#"{"text":"b"}"#)]),
        says("done"),
        says("done"),
    ];
    let mut world = world_with(script, |setup| setup.panels = shelf);
    world.gate.add_permits(10);
    world.turn("go").await;
    world.turn("go on").await;
    let seen = requests(&world);
    each_extends_the_one_before(&seen);
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
async fn after_a_pause_in_which_the_cache_is_lost_all_panels_stand_first_again() {
    let shelf = Arc::new(Only(Board::new("state {look}")));
    let script = vec![
        calls(&[("1", "change", r#"{"text":"a"}"#)]),
        says("done"),
        says("done again"),
    ];
    let mut world = world_with(script, |setup| {
        setup.panels = shelf;
        setup.clock = || Time(NOW.load(Ordering::Relaxed));
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

/// Turns with long words.
fn past(turns: usize, words: usize) -> Vec<Arc<Item>> {
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
                end: session::End::Finished(Stop::End),
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
async fn a_conversation_that_does_not_fit_and_is_not_summed_up_is_folded_and_goes_on() {
    let script = vec![says("fine"), says("fine again")];
    let mut world = world_with(script, |setup| {
        setup.items = past(60, 1_000);
        setup.compaction = Compaction {
            automatic: Automatic::Off,
            ..Compaction::default()
        };
    });
    let (ending, events) = world.turn("go on").await;
    assert_eq!(ending, Ending::Completed);
    let told = events
        .iter()
        .any(|event| matches!(event, Event::Notice { text, .. } if text.starts_with("the conversation did not fit")));
    assert!(told, "{events:?}");
    world.turn("and on").await;
    let seen = requests(&world);
    let words: usize = seen[0].iter().map(|line| line.split_whitespace().count()).sum();
    assert!((40_000..85_000).contains(&words), "{words}");
    assert_eq!(seen[0].last().unwrap(), "user: go on");
    each_extends_the_one_before(&seen);
    assert_eq!(
        world.items().iter().filter(|item| item.message().is_some()).count(),
        124
    );
}

#[tokio::test]
async fn estimates_are_corrected_by_what_the_provider_reported() {
    let big = |reported: u64| {
        let usage = Usage {
            input: reported,
            output: 10,
            ..Usage::default()
        };
        crate::world::Answer::Chunks(vec![
            Chunk::Text("fine".into()),
            Chunk::Usage(usage),
            Chunk::Stop(Stop::End),
        ])
    };
    // The window has 100,000 tokens. 30,000 words are 30,000 tokens to us and 60,000 to this provider.
    let script = vec![big(60_000), says("notes"), says("fine"), says("fine")];
    let mut world = world_with(script, |setup| {
        setup.items = past(15, 1_000);
    });
    world.turn("go on").await;
    let (_, events) = world.turn(&"word ".repeat(16_000)).await;
    let summed_up = events.iter().any(|event| {
        matches!(event, Event::Notice { text, .. } if text.starts_with("summar") || text.starts_with("shortened"))
    });
    assert!(summed_up, "{events:?}");
}
