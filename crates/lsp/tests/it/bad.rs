//! Servers that hang, flood, talk nonsense or die: one waits no longer than one wants, and goes on.

use std::collections::BTreeMap;
use std::time::Duration;

use lsp::{Limits, Spec};
use serde_json::Value;

use crate::World;

/// A server that is a line of shell.
fn shell(line: &str) -> Vec<Spec> {
    vec![Spec {
        name: "bad".into(),
        command: vec!["sh".into(), "-c".into(), line.into()],
        languages: BTreeMap::from([("x".into(), "x".into())]),
        roots: Vec::new(),
        outermost: false,
        required: false,
        env: BTreeMap::new(),
        init_options: Value::Null,
        settings: Value::Null,
    }]
}

fn brief() -> Limits {
    Limits {
        wait: Duration::from_millis(50),
        start: Duration::from_millis(50),
        ..Limits::default()
    }
}

/// How the server is once it has failed.
async fn failure(world: &World) -> String {
    loop {
        let state = world.servers.status()[0].state.clone();
        if state != "starting" {
            return state;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_costs_no_more_than_the_wait() {
    let world = World::new(&[("a.x", "1")], shell("sleep 1000"), brief());
    assert_eq!(world.change("a.x", "2").await, [""; 0]);
    assert_eq!(world.servers.status()[0].state, "starting");
}

#[tokio::test]
async fn a_server_that_dies_is_named_with_its_last_words_and_left_alone_for_a_while() {
    let world = World::new(&[("a.x", "1")], shell("echo no licence >&2; exit 3"), brief());
    assert_eq!(world.servers.diagnostics(Some(&world.path("a.x"))).await, None);
    assert_eq!(failure(&world).await, "no licence");
    assert_eq!(
        world.servers.diagnostics(Some(&world.path("a.x"))).await,
        None,
        "not started again at once"
    );
}

#[tokio::test]
async fn nonsense_and_floods_end_the_server_and_nothing_else() {
    for (line, why) in [
        ("yes", "lines that are no messages"),
        ("printf 'Content-Length: 3\\r\\n\\r\\n{,}'", "has ended"),
        (
            "printf 'Content-Length: 99999999999\\r\\n\\r\\n'; sleep 1000",
            "has ended",
        ),
    ] {
        let world = World::new(&[("a.x", "1")], shell(line), brief());
        assert_eq!(world.change("a.x", "2").await, [""; 0]);
        let state = failure(&world).await;
        assert!(state.contains("ended") || state.contains(why), "{line}: {state}");
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_serves_nothing() {
    let mut specs = shell("");
    specs[0].command = vec!["no-such-language-server".into()];
    let world = World::new(&[("a.x", "1")], specs, brief());
    assert!(!world.servers.serves(&world.path("a.x")));
    assert_eq!(world.change("a.x", "2").await, [""; 0]);
    assert_eq!(world.servers.status(), []);
}
