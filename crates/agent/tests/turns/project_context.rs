//! Rules, facts and commands are appended when they are new; sent messages never change.

use crate::fixture::{calls, text_reply, world_with};
use prompt::{
    CommandLookup, CommandOwner, DeliveredNotes, Fact, FactDelivery, ProjectContext, RulesFile, SlashCommand,
    SlashCommandKind, UnknownPrompt,
};
use session::{Command, Event, Item, NoticeLevel, TurnEnd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Rules and a date that can change.
#[derive(Default)]
struct TestContext {
    always: Mutex<String>,
    nested: Mutex<String>,
    day: Mutex<String>,
}

fn set(text: &Mutex<String>, to: &str) {
    *text.lock().unwrap() = to.into();
}

fn rules(path: &str, text: &Mutex<String>) -> RulesFile {
    RulesFile {
        path: path.into(),
        text: text.lock().unwrap().clone(),
    }
}

impl ProjectContext for TestContext {
    fn changed_rules(&self, _: &str, known: &DeliveredNotes) -> Vec<String> {
        let began = RulesFile {
            path: "AGENTS.md".into(),
            text: "be good".into(),
        };
        let now = rules("AGENTS.md", &self.always);
        known.rules_note(&now, Some(&began)).into_iter().collect()
    }

    fn rules_for(&self, files: &[PathBuf], known: &DeliveredNotes) -> Vec<String> {
        let nested = rules("p/AGENTS.md", &self.nested);
        let touched = files.iter().take(1);
        touched.filter_map(|_| known.rules_note(&nested, None)).collect()
    }

    fn facts(&self, _: &[Arc<Item>], _: &DeliveredNotes) -> Vec<Fact> {
        vec![Fact {
            name: "Date",
            value: self.day.lock().unwrap().clone(),
            delivery: FactDelivery::OnChange,
        }]
    }

    fn saved_prompt(&self, name: &str) -> Result<String, UnknownPrompt> {
        match name {
            "style" => Ok("Be brief.".into()),
            _ => Err(UnknownPrompt {
                saved: vec!["style".into()],
            }),
        }
    }

    fn find_command(&self, name: &str) -> CommandLookup {
        let slash = |text: &str, owner| {
            Box::new(SlashCommand::parse(
                name,
                text,
                "/p/c.md".into(),
                SlashCommandKind::Command,
                owner,
            ))
        };
        match name {
            "mine" => CommandLookup::Command(slash(
                "---\nmode: ask\nmodel: none\n---\nDo $1, see @rule:style",
                CommandOwner::User,
            )),
            "theirs" => CommandLookup::Command(slash("---\nmode: ask\n---\nDo it", CommandOwner::Project)),
            "tmp" => CommandLookup::NotACommand,
            _ => CommandLookup::Unknown {
                similar: vec!["/mine".into()],
            },
        }
    }
}

fn context() -> Arc<TestContext> {
    let context = TestContext::default();
    set(&context.always, "be good");
    set(&context.nested, "deep");
    set(&context.day, "1");
    Arc::new(context)
}

fn notices(events: &[Event], expected: NoticeLevel) -> Vec<&str> {
    let notices = events.iter().filter_map(|event| match event {
        Event::Notice { level, text } if *level == expected => Some(text.as_str()),
        _ => None,
    });
    notices.collect()
}

#[tokio::test]
async fn new_rules_and_facts_are_appended_and_every_request_extends_the_previous_one() {
    let context = context();
    let script = vec![
        calls(&[("1", "look", r#"{"text":"a"}"#), ("2", "look", r#"{"text":"b"}"#)]),
        text_reply("one"),
        text_reply("two"),
        text_reply("three"),
    ];
    let project_context = Arc::clone(&context);
    let mut world = world_with(script, |setup| setup.config.project_context = project_context);
    world.turn("first").await;
    world.turn("second").await;
    set(&context.always, "be better");
    set(&context.day, "2");
    world.turn("third").await;
    assert_eq!(
        world.transcript(),
        [
            "user: first",
            "user: <environment>\nDate: 1\n</environment>",
            "model calls look (1)",
            "model calls look (2)",
            "Ok (1): a | <rules path=\"p/AGENTS.md\">\ndeep\n</rules>",
            "Ok (2): b",
            "model: one",
            "user: second",
            "model: two",
            "user: third",
            "user: <rules path=\"AGENTS.md\">\n(This file has changed; this version replaces the earlier one.)\nbe better\n</rules>",
            "user: <environment>\nDate: 2\n</environment>",
            "model: three",
        ]
    );
    let requests = world.model.requests.lock().unwrap();
    for pair in requests.windows(2) {
        assert_eq!(pair[1].messages[..pair[0].messages.len()], pair[0].messages[..]);
        assert_eq!(pair[0].system, pair[1].system);
    }
}

#[tokio::test]
async fn notes_hidden_by_a_summary_are_repeated() {
    let context = context();
    set(&context.always, "be better");
    let notes = "The user asked for something and it was done. ".repeat(3);
    let script = vec![
        text_reply(&"words ".repeat(2_000)),
        text_reply("two"),
        text_reply(&notes),
        text_reply(&notes),
        text_reply("three"),
    ];
    let project_context = Arc::clone(&context);
    let mut world = world_with(script, |setup| setup.config.project_context = project_context);
    world.turn("first").await;
    world.turn("second").await;
    world.send(Command::Compact { instructions: None }).await;
    world.turn("third").await;
    let seen = world.last_request().join("\n");
    assert_eq!(seen.matches("be better").count(), 1, "{seen}");
    assert_eq!(seen.matches("Date: 1").count(), 1, "{seen}");
}

#[tokio::test]
async fn a_command_is_appended_to_the_prompt_and_selects_a_mode_only_if_the_user_owns_it() {
    let script = vec![text_reply("one"), text_reply("two"), text_reply("three")];
    let mut world = world_with(script, |setup| setup.config.project_context = context());
    let (_, events) = world.turn("/theirs now").await;
    assert!(notices(&events, NoticeLevel::Info)[0].contains("cannot select a mode"));
    let (_, events) = world.turn("/mine it").await;
    assert_eq!(
        notices(&events, NoticeLevel::Warning),
        ["/mine continues with script/one: no model none"]
    );
    world.turn("/tmp is full").await;
    let transcript = world.transcript();
    assert!(
        transcript.contains(&"user: <command name=\"theirs\">\nDo it\n\nArguments: now\n</command>".to_owned()),
        "{transcript:#?}"
    );
    assert!(
        transcript.contains(&"user: <command name=\"mine\">\nDo it, see @rule:style\n</command>".to_owned()),
        "{transcript:#?}"
    );
    assert!(
        transcript
            .iter()
            .any(|line| line.contains("<context>") && line.contains("Be brief.")),
        "{transcript:#?}"
    );
    let requests = world.model.requests.lock().unwrap();
    let modes: Vec<&str> = requests.iter().map(|request| request.system[1].as_ref()).collect();
    assert_eq!(modes, ["code", "ask", "ask"]);
}

#[tokio::test]
async fn an_unknown_command_is_not_sent() {
    let mut world = world_with(Vec::new(), |setup| setup.config.project_context = context());
    let (ending, _) = world.turn("/mien it").await;
    let TurnEnd::Failed { error, hint } = ending else {
        panic!("{ending:?}")
    };
    assert_eq!(error, "there is no command /mien");
    assert!(hint.contains("/mine"), "{hint}");
    assert!(world.items().is_empty());
}

#[tokio::test]
async fn piped_input_and_attachments_contain_no_mentions() {
    let mut world = world_with(vec![text_reply("one")], |setup| {
        setup.config.project_context = context()
    });
    let (_, events) = world.turn("look\n\n<stdin>\n@rule:nothing\n</stdin>").await;
    assert_eq!(notices(&events, NoticeLevel::Warning), Vec::<&str>::new());
}
