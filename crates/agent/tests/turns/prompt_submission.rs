//! Submission of prompts: queue, hooks, mentions, titles.

use crate::fixture::{Answer, Scripted, World, text_reply, world_with};
use crate::memory_store::Memory;
use agent::{Approvals, SessionSetup};
use futures::future::{BoxFuture, FutureExt};
use model::{Message, Model};
use policy::{Action, PathArea, Ruling};
use schemars::JsonSchema;
use serde::Deserialize;
use session::{
    Command, Delivery, Event, HookEvent, HookKind, HookOutcome, Hooks, Limit, QueuedPrompt, QueuedPromptId, SessionId,
    TurnEnd,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool::{CallContext, Output, Tool, ToolEffect};

#[derive(Deserialize, JsonSchema)]
struct Path {
    path: String,
}

/// Reads files; executes `hang` and `panic`; absolute paths are outside the project.
struct Reader(Arc<Mutex<Vec<String>>>);

impl Tool for Reader {
    const NAME: &'static str = "read_file";
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    type Input = Path;

    fn title(&self, input: &Path) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Path) -> Vec<Action> {
        assert_ne!(input.path, "panic-early", "on purpose");
        let place = match input.path.starts_with('/') {
            true => PathArea::Outside,
            false => PathArea::Inside,
        };
        let path = input.path.as_str().into();
        vec![Action::Read { path, place }]
    }

    async fn run(&self, input: Path, _: CallContext) -> Result<Output, tool::Error> {
        self.0.lock().unwrap().push(input.path.clone());
        match input.path.as_str() {
            "hang" => std::future::pending().await,
            "panic" => panic!("on purpose"),
            path => Ok(Output::text(format!("inside of {path}"))),
        }
    }
}

/// Blocks secrets; does not return for the first prompts.
struct Guard {
    silent: AtomicUsize,
}

impl Hooks for Guard {
    fn is_registered(&self, kind: HookKind) -> bool {
        matches!(kind, HookKind::UserPromptSubmit | HookKind::SessionStart)
    }

    fn call(&self, _: SessionId, event: HookEvent) -> BoxFuture<'static, HookOutcome> {
        let mut reaction = HookOutcome::default();
        match event {
            HookEvent::SessionStart { .. } => reaction.context = Some("the weather is fine".into()),
            HookEvent::UserPromptSubmit { prompt } if prompt.contains("secret") => {
                reaction.ruling = Ruling::Deny("no secrets".into());
            }
            _ => {
                let remaining = self.silent.load(Ordering::SeqCst);
                self.silent.store(remaining.saturating_sub(1), Ordering::SeqCst);
                if remaining > 0 {
                    return std::future::pending().boxed();
                }
            }
        }
        async move { reaction }.boxed()
    }
}

type Read = Arc<Mutex<Vec<String>>>;

fn with_read_tool(answers: Vec<Answer>, adjust: impl FnOnce(&mut SessionSetup)) -> (World, Read) {
    let read = Read::default();
    let reader = Reader(Arc::clone(&read));
    let world = world_with(answers, |setup| {
        setup.config.tools = setup.config.tools.clone().with(reader);
        adjust(setup);
    });
    (world, read)
}

fn guard_hooks(silent: usize) -> Arc<dyn Hooks> {
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
async fn a_blocked_prompt_resolves_no_mentions_and_sets_no_title() {
    let small = Scripted::new(vec![text_reply("A title")]);
    let asked = Arc::clone(&small);
    let (mut world, read) = with_read_tool(vec![text_reply("done")], |setup| {
        setup.config.hooks = guard_hooks(0);
        setup.title = None;
        setup.config.small_model = Some(small as Arc<dyn Model>);
    });
    let (ending, _) = world.turn("the secret is in @a.txt").await;
    assert!(matches!(ending, TurnEnd::Failed { .. }), "{ending:?}");
    assert_eq!(*read.lock().unwrap(), Vec::<String>::new());
    assert_eq!(*world.store.titles.lock().unwrap(), Vec::<String>::new());
    assert!(world.items().is_empty());
    assert_eq!(world.turn("summarise @a.txt").await.0, TurnEnd::Completed);
    world.send(Command::Close).await;
    while world.handle.events.recv().await.is_some() {}
    assert_eq!(*world.store.titles.lock().unwrap(), ["summarise @a.txt", "A title"]);
    let requests = asked.requests.lock().unwrap();
    assert!(
        requests
            .iter()
            .all(|request| !format!("{request:?}").contains("secret"))
    );
}

#[tokio::test]
async fn a_prompt_interrupted_in_a_hook_is_returned_and_the_hook_context_is_kept() {
    let (mut world, _) = with_read_tool(vec![text_reply("done")], |setup| setup.config.hooks = guard_hooks(1));
    world.prompt("one", Delivery::Queue).await;
    world.until(|event| matches!(event, Event::TurnStarted)).await;
    world.send(Command::Interrupt).await;
    let (ending, events) = world.turn_end().await;
    assert_eq!(ending, TurnEnd::Interrupted);
    assert_eq!(notices(&events), ["not sent, because the turn was interrupted: one"]);
    assert_eq!(world.turn("two").await.0, TurnEnd::Completed);
    assert_eq!(
        world.transcript(),
        ["user: two", "user: <hook>\nthe weather is fine\n</hook>", "model: done"]
    );
}

#[tokio::test]
async fn a_queued_prompt_is_stored_until_it_is_appended_or_returned() {
    let script = vec![Answer::Hanging(Vec::new()), text_reply("done")];
    let (mut world, _) = with_read_tool(script, |_| {});
    let kept = |world: &World| -> Vec<String> {
        let waiting = world.store.waiting.lock().unwrap();
        waiting.iter().map(|prompt| prompt.message.text()).collect()
    };
    world.prompt("zero", Delivery::Queue).await;
    world.until(|event| matches!(event, Event::ItemStarted { .. })).await;
    // The prompt is an item now.
    assert_eq!(kept(&world), Vec::<String>::new());
    world.prompt("one", Delivery::Steer).await;
    world.prompt("two", Delivery::Queue).await;
    let messages = vec![Message::user("held")];
    world.send(Command::HoldPrompts { messages }).await;
    while kept(&world).len() < 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(kept(&world), ["one", "two", "held"]);
    world.send(Command::HoldPrompts { messages: Vec::new() }).await;
    world.send(Command::Interrupt).await;
    assert_eq!(world.turn_end().await.0, TurnEnd::Interrupted);
    assert_eq!(kept(&world), Vec::<String>::new());
}

#[tokio::test]
async fn prompts_queued_when_hew_was_killed_join_the_next_turn() {
    let (mut world, _) = with_read_tool(vec![text_reply("done")], |setup| {
        let waiting = ["first", "second"].map(|text| QueuedPrompt {
            id: QueuedPromptId::new(),
            message: Message::user(text),
        });
        setup.queued_prompts = waiting.into();
    });
    let (ending, events) = world.turn("third").await;
    assert_eq!(ending, TurnEnd::Completed);
    let reported = notices(&events);
    assert!(reported.len() == 2 && reported[0].ends_with(": first"), "{reported:?}");
    assert_eq!(
        world.transcript(),
        ["user: first", "user: second", "user: third", "model: done"]
    );
}

#[tokio::test]
async fn a_timeout_during_a_mention_lookup_returns_the_prompt_once() {
    let (mut world, _) = with_read_tool(Vec::new(), |setup| {
        setup.config.limits.time = Some(Duration::from_millis(5))
    });
    let (ending, events) = world.turn("see @hang").await;
    assert!(matches!(ending, TurnEnd::Limit(Limit::Time(_))), "{ending:?}");
    assert_eq!(
        notices(&events),
        ["not sent, because the turn was interrupted: see @hang"]
    );
    world.send(Command::Close).await;
    let mut later = Vec::new();
    while let Some(event) = world.handle.events.recv().await {
        later.push(event);
    }
    assert!(!later.contains(&Event::TurnStarted), "{later:?}");
}

#[tokio::test]
async fn only_the_blocked_one_of_several_prompts_is_left_out() {
    let script = vec![Answer::Hanging(Vec::new()), text_reply("done")];
    let (mut world, _) = with_read_tool(script, |setup| setup.config.hooks = guard_hooks(0));
    world.prompt("zero", Delivery::Queue).await;
    world.until(|event| matches!(event, Event::ItemStarted { .. })).await;
    for text in ["secret", "one @a.txt", "two"] {
        world.prompt(text, Delivery::Steer).await;
    }
    world.prompt("three", Delivery::Interrupt).await;
    assert_eq!(world.turn_end().await.0, TurnEnd::Interrupted);
    let (ending, events) = world.turn_end().await;
    assert_eq!(ending, TurnEnd::Completed);
    assert_eq!(notices(&events), ["a hook blocked your prompt: no secrets"]);
    let transcript = world.transcript();
    let prompts: Vec<&str> = transcript
        .iter()
        .filter_map(|line| line.strip_prefix("user: "))
        .collect();
    let prompts: Vec<&str> = prompts.into_iter().filter(|text| !text.starts_with('<')).collect();
    assert_eq!(prompts, ["zero", "one @a.txt", "two", "three"]);
}

#[tokio::test]
async fn a_possible_mention_is_read_only_if_no_approval_is_needed() {
    // The prompt, the approvals, the expected reads.
    let cases: [(&str, Approvals, &[&str]); 5] = [
        ("at /etc/keys:1-40 it fails", Approvals::Ask, &[]),
        ("at src/a.rs:1-40 it fails", Approvals::Ask, &["src/a.rs"]),
        ("at @/etc/keys it fails", Approvals::Ask, &["/etc/keys"]),
        ("at @/etc/keys it fails", Approvals::Deny, &[]),
        ("at @src/a.rs it fails", Approvals::Deny, &["src/a.rs"]),
    ];
    for (text, approvals, expected) in cases {
        let (mut world, read) = with_read_tool(vec![text_reply("done")], |setup| setup.config.approvals = approvals);
        assert_eq!(world.turn(text).await.0, TurnEnd::Completed);
        assert_eq!(*read.lock().unwrap(), expected, "{text}");
    }
}

#[tokio::test]
async fn a_crash_in_a_mention_lookup_does_not_end_the_session() {
    let (mut world, _) = with_read_tool(vec![text_reply("done")], |_| {});
    let (ending, events) = world.turn("see @panic and @panic-early").await;
    assert_eq!(ending, TurnEnd::Completed);
    let crashed = |name: &str| format!("not included: @{name}: `read_file` crashed; this is a bug in hew");
    assert_eq!(notices(&events), [crashed("panic"), crashed("panic-early")]);
}

#[tokio::test]
async fn a_todo_list_is_stored_even_if_the_turn_is_interrupted_while_its_result_is_written() {
    let script = vec![crate::fixture::calls(&[("1", "list", r#"{"text":"one"}"#)])];
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
    assert_eq!(world.turn_end().await.0, TurnEnd::Interrupted);
    let log = world.log();
    assert!(log.contains(&"append todos".to_string()), "{log:?}");
}
