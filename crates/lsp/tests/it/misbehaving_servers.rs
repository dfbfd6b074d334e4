//! Servers that hang, flood, violate the protocol or exit: waiting is bounded and work continues.

use std::collections::BTreeMap;
use std::time::Duration;

use lsp::{LanguageServerSpec, LspLimits};
use serde_json::Value;

use crate::Fixture;

/// A server that is a shell script.
fn shell(line: &str) -> Vec<LanguageServerSpec> {
    vec![LanguageServerSpec {
        name: "bad".into(),
        command: vec!["sh".into(), "-c".into(), line.into()],
        languages: BTreeMap::from([("x".into(), "x".into())]),
        roots: Vec::new(),
        outermost: false,
        required: false,
        env: BTreeMap::new(),
        init_options: Value::Null,
        settings: Value::Null,
        access: Default::default(),
    }]
}

fn short_limits() -> LspLimits {
    LspLimits {
        wait: Duration::from_millis(50),
        start: Duration::from_millis(50),
        ..LspLimits::default()
    }
}

/// The status of the server after it failed.
async fn failure(fixture: &Fixture) -> String {
    loop {
        let state = fixture.servers.status()[0].state.clone();
        if state != "starting" {
            return state;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_silent_server_costs_no_more_than_the_timeout() {
    let fixture = Fixture::new(&[("a.x", "1")], shell("sleep 1000"), short_limits());
    assert_eq!(fixture.change("a.x", "2").await, [""; 0]);
    assert_eq!(fixture.servers.status()[0].state, "starting");
}

#[tokio::test]
async fn a_server_that_exits_is_reported_with_its_stderr_and_restarted_later() {
    let fixture = Fixture::new(&[("a.x", "1")], shell("echo no licence >&2; exit 3"), short_limits());
    assert_eq!(fixture.servers.diagnostics(Some(&fixture.path("a.x"))).await, None);
    assert_eq!(failure(&fixture).await, "no licence");
    assert_eq!(
        fixture.servers.diagnostics(Some(&fixture.path("a.x"))).await,
        None,
        "not restarted immediately"
    );
}

#[tokio::test]
async fn invalid_output_ends_only_the_server() {
    for (line, why) in [
        ("yes", "lines that are not messages"),
        ("printf 'Content-Length: 3\\r\\n\\r\\n{,}'", "exited"),
        ("printf 'Content-Length: 99999999999\\r\\n\\r\\n'; sleep 1000", "exited"),
    ] {
        let fixture = Fixture::new(&[("a.x", "1")], shell(line), short_limits());
        assert_eq!(fixture.change("a.x", "2").await, [""; 0]);
        let state = failure(&fixture).await;
        assert!(state.contains("exited") || state.contains(why), "{line}: {state}");
    }
}

#[tokio::test]
async fn a_missing_program_serves_no_files() {
    let mut specs = shell("");
    specs[0].command = vec!["no-such-language-server".into()];
    let fixture = Fixture::new(&[("a.x", "1")], specs, short_limits());
    assert!(!fixture.servers.serves(&fixture.path("a.x")));
    assert_eq!(fixture.change("a.x", "2").await, [""; 0]);
    assert_eq!(fixture.servers.status(), []);
}
