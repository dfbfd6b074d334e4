//! What the person says on its way into the conversation: hooks, mentions, titles, and nothing lost.

use crate::memory::Memory;
use crate::world::{Answer, Scripted, World, says, world_with};
use agent::{Approvals, Setup};
use futures::future::{BoxFuture, FutureExt};
use model::{Message, Model};
use policy::{Action, Place, Ruling};
use schemars::JsonSchema;
use serde::Deserialize;
use session::{
    Command, Delivery, Ending, Event, Happening, Hooks, Limit, Moment, Reaction, SessionId, Waiting, WaitingId,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool::{Context, Effect, Output, Tool};

#[derive(Deserialize, JsonSchema)]
struct Path {
    path: String,
}

/// Reads files; `hang` and `panic` do what they say, and what begins with a slash is outside.
struct Reader(Arc<Mutex<Vec<String>>>);

impl Tool for Reader {
    const NAME: &'static str = "read_file";
    const EFFECT: Effect = Effect::Reads;
    type Input = Path;

    fn title(&self, input: &Path) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Path) -> Vec<Action> {
        assert_ne!(input.path, "panic-early", "on purpose");
        let place = match input.path.starts_with('/') {
            true => Place::Outside,
            false => Place::Inside,
        };
        let path = input.path.as_str().into();
        vec![Action::Read { path, place }]
    }

    async fn run(&self, input: Path, _: Context) -> Result<Output, tool::Error> {
        self.0.lock().unwrap().push(input.path.clone());
        match input.path.as_str() {
            "hang" => std::future::pending().await,
            "panic" => panic!("on purpose"),
            path => Ok(Output::text(format!("inside of {path}"))),
        }
    }
}

/// Says no to secrets, and nothing at all to the first so many prompts.
struct Guard {
    silent: AtomicUsize,
}

impl Hooks for Guard {
    fn hears(&self, moment: Moment) -> bool {
        matches!(moment, Moment::UserPromptSubmit | Moment::SessionStart)
    }

    fn call(&self, _: SessionId, happening: Happening) -> BoxFuture<'static, Reaction> {
        let mut reaction = Reaction::default();
        match happening {
            Happening::SessionStart { .. } => reaction.context = Some("the weather is fine".into()),
            Happening::UserPromptSubmit { prompt } if prompt.contains("secret") => {
                reaction.ruling = Ruling::Deny("no secrets".into());
            }
            _ => {
                let left = self.silent.load(Ordering::SeqCst);
                self.silent.store(left.saturating_sub(1), Ordering::SeqCst);
                if left > 0 {
                    return std::future::pending().boxed();
                }
            }
        }
        async move { reaction }.boxed()
    }
}

type Read = Arc<Mutex<Vec<String>>>;

fn reading(answers: Vec<Answer>, adjust: impl FnOnce(&mut Setup)) -> (World, Read) {
    let read = Read::default();
    let reader = Reader(Arc::clone(&read));
    let world = world_with(answers, |setup| {
        setup.tools = setup.tools.clone().with(reader);
        adjust(setup);
    });
    (world, read)
}

fn guarded(silent: usize) -> Arc<dyn Hooks> {
    let silent = AtomicUsize::new(silent);
    Arc::new(Guard { silent })
}

fn notices(events: &[Event]) -> Vec<&str> {
    let texts = events.iter().filter_map(|event| match event {
        Event::Notice { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn a_prompt_that_a_hook_blocks_is_not_looked_up_and_gives_no_title() {
    let small = Scripted::new(vec![says("A title")]);
    let asked = Arc::clone(&small);
    let (mut world, read) = reading(vec![says("done")], |setup| {
        setup.hooks = guarded(0);
        setup.title = None;
        setup.small = Some(small as Arc<dyn Model>);
    });
    let (ending, _) = world.turn("the secret is in @a.txt").await;
    assert!(matches!(ending, Ending::Failed { .. }), "{ending:?}");
    assert_eq!(*read.lock().unwrap(), Vec::<String>::new());
    assert_eq!(*world.store.titles.lock().unwrap(), Vec::<String>::new());
    assert!(world.items().is_empty());
    assert_eq!(world.turn("say what is in @a.txt").await.0, Ending::Completed);
    world.send(Command::Close).await;
    while world.handle.events.recv().await.is_some() {}
    assert_eq!(
        *world.store.titles.lock().unwrap(),
        ["say what is in @a.txt", "A title"]
    );
    let requests = asked.requests.lock().unwrap();
    assert!(
        requests
            .iter()
            .all(|request| !format!("{request:?}").contains("secret"))
    );
}

#[tokio::test]
async fn a_prompt_that_waits_for_a_hook_is_given_back_and_what_hooks_added_stays_for_the_next() {
    let (mut world, _) = reading(vec![says("done")], |setup| setup.hooks = guarded(1));
    world.prompt("one", Delivery::Queue).await;
    world.until(|event| matches!(event, Event::TurnStarted)).await;
    world.send(Command::Interrupt).await;
    let (ending, events) = world.ending().await;
    assert_eq!(ending, Ending::Interrupted);
    assert_eq!(notices(&events), ["not sent, because the turn was stopped: one"]);
    assert_eq!(world.turn("two").await.0, Ending::Completed);
    assert_eq!(
        world.story(),
        ["user: two", "user: <hook>\nthe weather is fine\n</hook>", "model: done"]
    );
}

#[tokio::test]
async fn what_waits_is_kept_until_it_is_heard_or_given_back() {
    let script = vec![Answer::Hanging(Vec::new()), says("done")];
    let (mut world, _) = reading(script, |_| {});
    let kept = |world: &World| -> Vec<String> {
        let waiting = world.store.waiting.lock().unwrap();
        waiting.iter().map(|prompt| prompt.message.text()).collect()
    };
    world.prompt("zero", Delivery::Queue).await;
    world.until(|event| matches!(event, Event::ItemStarted { .. })).await;
    // It is an item by now.
    assert_eq!(kept(&world), Vec::<String>::new());
    world.prompt("one", Delivery::Steer).await;
    world.prompt("two", Delivery::Queue).await;
    let messages = vec![Message::user("held")];
    world.send(Command::Hold { messages }).await;
    while kept(&world).len() < 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(kept(&world), ["one", "two", "held"]);
    world.send(Command::Hold { messages: Vec::new() }).await;
    world.send(Command::Interrupt).await;
    assert_eq!(world.ending().await.0, Ending::Interrupted);
    assert_eq!(kept(&world), Vec::<String>::new());
}

#[tokio::test]
async fn what_waited_when_hew_was_killed_goes_with_the_next_turn() {
    let (mut world, _) = reading(vec![says("done")], |setup| {
        let waiting = ["first", "second"].map(|text| Waiting {
            id: WaitingId::new(),
            message: Message::user(text),
        });
        setup.waiting = waiting.into();
    });
    let (ending, events) = world.turn("third").await;
    assert_eq!(ending, Ending::Completed);
    let told = notices(&events);
    assert!(told.len() == 2 && told[0].ends_with(": first"), "{told:?}");
    assert_eq!(
        world.story(),
        ["user: first", "user: second", "user: third", "model: done"]
    );
}

#[tokio::test]
async fn time_that_runs_out_while_something_is_looked_up_gives_the_prompt_back_once() {
    let (mut world, _) = reading(Vec::new(), |setup| setup.limits.time = Some(Duration::from_millis(5)));
    let (ending, events) = world.turn("see @hang").await;
    assert!(matches!(ending, Ending::Limit(Limit::Time(_))), "{ending:?}");
    assert_eq!(notices(&events), ["not sent, because the turn was stopped: see @hang"]);
    world.send(Command::Close).await;
    let mut later = Vec::new();
    while let Some(event) = world.handle.events.recv().await {
        later.push(event);
    }
    assert!(!later.contains(&Event::TurnStarted), "{later:?}");
}

#[tokio::test]
async fn of_several_prompts_only_the_blocked_one_is_left_out_and_the_rest_keep_their_order() {
    let script = vec![Answer::Hanging(Vec::new()), says("done")];
    let (mut world, _) = reading(script, |setup| setup.hooks = guarded(0));
    world.prompt("zero", Delivery::Queue).await;
    world.until(|event| matches!(event, Event::ItemStarted { .. })).await;
    for text in ["secret", "one @a.txt", "two"] {
        world.prompt(text, Delivery::Steer).await;
    }
    world.prompt("three", Delivery::Interrupt).await;
    assert_eq!(world.ending().await.0, Ending::Interrupted);
    let (ending, events) = world.ending().await;
    assert_eq!(ending, Ending::Completed);
    assert_eq!(notices(&events), ["a hook blocked what you said: no secrets"]);
    let story = world.story();
    let said: Vec<&str> = story.iter().filter_map(|line| line.strip_prefix("user: ")).collect();
    let said: Vec<&str> = said.into_iter().filter(|text| !text.starts_with('<')).collect();
    assert_eq!(said, ["zero", "one @a.txt", "two", "three"]);
}

#[tokio::test]
async fn what_only_looks_like_a_mention_is_read_only_where_nobody_would_be_asked() {
    // What is said, who is there, what is read.
    let cases: [(&str, Approvals, &[&str]); 5] = [
        ("at /etc/keys:1-40 it fails", Approvals::Ask, &[]),
        ("at src/a.rs:1-40 it fails", Approvals::Ask, &["src/a.rs"]),
        ("at @/etc/keys it fails", Approvals::Ask, &["/etc/keys"]),
        ("at @/etc/keys it fails", Approvals::Deny, &[]),
        ("at @src/a.rs it fails", Approvals::Deny, &["src/a.rs"]),
    ];
    for (text, approvals, expected) in cases {
        let (mut world, read) = reading(vec![says("done")], |setup| setup.approvals = approvals);
        assert_eq!(world.turn(text).await.0, Ending::Completed);
        assert_eq!(*read.lock().unwrap(), expected, "{text}");
    }
}

#[tokio::test]
async fn a_tool_that_crashes_over_a_mention_does_not_end_the_session() {
    let (mut world, _) = reading(vec![says("done")], |_| {});
    let (ending, events) = world.turn("see @panic and @panic-early").await;
    assert_eq!(ending, Ending::Completed);
    let crashed = |name: &str| format!("not included: @{name}: `read_file` crashed; this is a defect in hew");
    assert_eq!(notices(&events), [crashed("panic"), crashed("panic-early")]);
}

#[tokio::test]
async fn a_list_of_things_to_do_is_kept_where_the_turn_is_stopped_while_its_result_is_written() {
    let script = vec![crate::world::calls(&[("1", "list", r#"{"text":"one"}"#)])];
    let mut world = world_with(script, |_| {});
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    Memory::hold_results(&world.store, Arc::clone(&gate));
    world.prompt("go", Delivery::Queue).await;
    while !world.log().contains(&"append result".to_string()) {
        tokio::task::yield_now().await;
    }
    world.send(Command::Interrupt).await;
    while world.handle.commands.capacity() < world.handle.commands.max_capacity() {
        tokio::task::yield_now().await;
    }
    gate.add_permits(1);
    assert_eq!(world.ending().await.0, Ending::Interrupted);
    let log = world.log();
    assert!(log.contains(&"append todos".to_string()), "{log:?}");
}
