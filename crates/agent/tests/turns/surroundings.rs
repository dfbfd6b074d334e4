//! What surrounds a conversation is told beside what is said: once, when it is new, and never by changing what was sent.

use crate::world::{calls, says, world_with};
use agent::{Called, Surroundings};
use prompt::{Fact, Kind, Known, Owner, Rules, Slash, Told};
use session::{Command, EditorView, Ending, Event, Item, Level};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Rules that can change, and a day that passes.
#[derive(Default)]
struct Place {
    always: Mutex<String>,
    nested: Mutex<String>,
    day: Mutex<String>,
}

fn set(text: &Mutex<String>, to: &str) {
    *text.lock().unwrap() = to.into();
}

fn rules(path: &str, text: &Mutex<String>) -> Rules {
    Rules {
        path: path.into(),
        text: text.lock().unwrap().clone(),
    }
}

impl Surroundings for Place {
    fn changed_rules(&self, _: &str, known: &Known) -> Vec<String> {
        let began = Rules {
            path: "AGENTS.md".into(),
            text: "be good".into(),
        };
        let now = rules("AGENTS.md", &self.always);
        known.rules_note(&now, Some(&began)).into_iter().collect()
    }

    fn rules_for(&self, files: &[PathBuf], known: &Known) -> Vec<String> {
        let nested = rules("p/AGENTS.md", &self.nested);
        let touched = files.iter().take(1);
        touched.filter_map(|_| known.rules_note(&nested, None)).collect()
    }

    fn facts(&self, _: &[Arc<Item>], _: &Known) -> Vec<Fact> {
        vec![Fact {
            name: "Date",
            value: self.day.lock().unwrap().clone(),
            told: Told::Changed,
        }]
    }

    fn saved(&self, name: &str) -> Result<String, String> {
        match name {
            "style" => Ok("Be brief.".into()),
            _ => Err("there are: style".into()),
        }
    }

    fn called(&self, name: &str) -> Called {
        let slash = |text: &str, owner| Box::new(Slash::parse(name, text, "/p/c.md".into(), Kind::Command, owner));
        match name {
            "mine" => Called::Command(slash(
                "---\nmode: ask\nmodel: none\n---\nDo $1, see @rule:style",
                Owner::Person,
            )),
            "theirs" => Called::Command(slash("---\nmode: ask\n---\nDo it", Owner::Project)),
            "tmp" => Called::Nothing,
            _ => Called::Unknown {
                near: vec!["/mine".into()],
            },
        }
    }
}

fn place() -> Arc<Place> {
    let place = Place::default();
    set(&place.always, "be good");
    set(&place.nested, "deep");
    set(&place.day, "1");
    Arc::new(place)
}

fn notices(events: &[Event], wanted: Level) -> Vec<&str> {
    let told = events.iter().filter_map(|event| match event {
        Event::Notice { level, text } if *level == wanted => Some(text.as_str()),
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn rules_and_facts_are_told_when_they_are_new_and_every_request_extends_the_one_before() {
    let place = place();
    let script = vec![
        calls(&[("1", "look", r#"{"text":"a"}"#), ("2", "look", r#"{"text":"b"}"#)]),
        says("one"),
        says("two"),
        says("three"),
    ];
    let around = Arc::clone(&place);
    let mut world = world_with(script, |setup| setup.surroundings = around);
    world.turn("first").await;
    world.turn("second").await;
    set(&place.always, "be better");
    set(&place.day, "2");
    world.turn("third").await;
    assert_eq!(
        world.story(),
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
            "user: <rules path=\"AGENTS.md\">\n(This file has changed; this counts instead of what it said before.)\nbe better\n</rules>",
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
async fn what_a_summary_swallowed_is_told_again() {
    let place = place();
    set(&place.always, "be better");
    let notes = "The person asked for something and it was done. ".repeat(3);
    let script = vec![
        says(&"words ".repeat(2_000)),
        says("two"),
        says(&notes),
        says(&notes),
        says("three"),
    ];
    let around = Arc::clone(&place);
    let mut world = world_with(script, |setup| setup.surroundings = around);
    world.turn("first").await;
    world.turn("second").await;
    world.send(Command::Compact { instructions: None }).await;
    world.turn("third").await;
    let seen = world.last_request().join("\n");
    assert_eq!(seen.matches("be better").count(), 1, "{seen}");
    assert_eq!(seen.matches("Date: 1").count(), 1, "{seen}");
}

#[tokio::test]
async fn what_the_editor_shows_is_told_with_the_next_prompt_once() {
    let mut world = world_with(vec![says("one"), says("two")], |_| {});
    let view = EditorView {
        file: "src/a.rs".into(),
        lines: Some(3..=9),
    };
    world.send(Command::Editor { view: Some(view) }).await;
    world.turn("first").await;
    world.turn("second").await;
    let told = "user: <environment>\nOpen in the person's editor: src/a.rs, lines 3-9 selected\n</environment>";
    assert_eq!(
        world.story(),
        ["user: first", told, "model: one", "user: second", "model: two"]
    );
}

#[tokio::test]
async fn a_command_is_put_behind_the_prompt_and_chooses_a_mode_only_if_it_is_the_persons() {
    let script = vec![says("one"), says("two"), says("three")];
    let mut world = world_with(script, |setup| setup.surroundings = place());
    let (_, events) = world.turn("/theirs now").await;
    assert!(notices(&events, Level::Info)[0].contains("may choose no mode"));
    let (_, events) = world.turn("/mine it").await;
    assert_eq!(
        notices(&events, Level::Warning),
        ["/mine goes on with script/one: no model none"]
    );
    world.turn("/tmp is full").await;
    let story = world.story();
    assert!(
        story.contains(&"user: <command name=\"theirs\">\nDo it\n\nArguments: now\n</command>".to_owned()),
        "{story:#?}"
    );
    assert!(
        story.contains(&"user: <command name=\"mine\">\nDo it, see @rule:style\n</command>".to_owned()),
        "{story:#?}"
    );
    assert!(
        story
            .iter()
            .any(|line| line.contains("<context>") && line.contains("Be brief.")),
        "{story:#?}"
    );
    let requests = world.model.requests.lock().unwrap();
    let modes: Vec<&str> = requests.iter().map(|request| request.system[1].as_ref()).collect();
    assert_eq!(modes, ["code", "ask", "ask"]);
}

#[tokio::test]
async fn an_unknown_command_is_not_sent() {
    let mut world = world_with(Vec::new(), |setup| setup.surroundings = place());
    let (ending, _) = world.turn("/mien it").await;
    let Ending::Failed { error, hint } = ending else {
        panic!("{ending:?}")
    };
    assert_eq!(error, "there is no command /mien");
    assert!(hint.contains("/mine"), "{hint}");
    assert!(world.items().is_empty());
}

#[tokio::test]
async fn what_is_piped_in_or_attached_mentions_nothing() {
    let mut world = world_with(vec![says("one")], |setup| setup.surroundings = place());
    let (_, events) = world.turn("look\n\n<stdin>\n@rule:nothing\n</stdin>").await;
    assert_eq!(notices(&events, Level::Warning), Vec::<&str>::new());
}
