//! External agents made with the official Python SDK, well-behaved and misbehaving.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use acp::{AcpAgents, AgentDefinition, AgentEnvironment, AgentError};
use futures::StreamExt as _;
use futures::future::{BoxFuture, FutureExt as _};
use model::{Chunk, Error, Message, Model, Part, Reply, Request, Stop};
use policy::{AccessLevel, Action};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool::{SubtaskReport, SubtaskRequest, ToolHost, UserQuestion};
use workspace::Workspace;

/// Allows actions inside the project, and records the requests.
#[derive(Default)]
struct Inside(Mutex<Vec<Action>>);

impl ToolHost for Inside {
    fn permit(&self, action: Action) -> BoxFuture<'static, Result<(), tool::Error>> {
        let inside = match &action {
            Action::Read { place, .. } | Action::Write { place, .. } => *place == policy::PathArea::Inside,
            Action::Run { .. } => true,
            _ => false,
        };
        self.0.lock().unwrap().push(action);
        async move {
            match inside {
                true => Ok(()),
                false => Err(tool::Error::Failed("not allowed".into())),
            }
        }
        .boxed()
    }

    fn ask(&self, _: UserQuestion) -> BoxFuture<'static, Result<String, tool::Error>> {
        async { Err(tool::Error::Failed("no user is available".into())) }.boxed()
    }

    fn delegate(&self, _: SubtaskRequest) -> BoxFuture<'static, Result<SubtaskReport, tool::Error>> {
        async { Err(tool::Error::Failed("no user is available".into())) }.boxed()
    }
}

fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("HEW_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| root.join("../../.tools/python/bin/python"));
    let able = std::process::Command::new(&python).args(["-c", "import acp"]).output();
    let able = able.is_ok_and(|output| output.status.success());
    if !able {
        eprintln!("skipped: no Python with the ACP SDK (set HEW_PYTHON, or run `cargo xtask ci`)");
    }
    able.then_some(python)
}

struct Fixture {
    temp: tempfile::TempDir,
    agents: AcpAgents,
    host: Arc<Inside>,
}

/// A project with one agent per behaviour.
fn fixture(timeout: Duration) -> Option<Fixture> {
    let python = python()?;
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap();
    std::fs::write(root.join("a.txt"), "old\n").unwrap();
    std::fs::write(root.join(".env"), "SECRET=1\n").unwrap();
    let workspace = Workspace::open(&root)
        .unwrap()
        .hiding_paths(|path| path.ends_with(".env"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/peer.py");
    let ways = [
        "talk", "work", "silent", "newer", "login", "die", "garbage", "slow", "hang", "refuse",
    ];
    let mut definitions: Vec<AgentDefinition> = ways
        .iter()
        .map(|how| AgentDefinition {
            name: (*how).to_owned(),
            command: python.display().to_string(),
            args: vec![script.display().to_string(), (*how).to_owned()],
            env: [("MARK".to_owned(), root.join("mark").display().to_string())].into(),
            files: acp::FileAccess::ThroughClient,
            timeout,
        })
        .collect();
    definitions.push(AgentDefinition {
        name: "missing".into(),
        command: "no-such-program".into(),
        args: Vec::new(),
        env: Default::default(),
        files: acp::FileAccess::ThroughClient,
        timeout,
    });
    let environment = sandbox::ProcessEnvironment::scrubbed(std::env::vars_os(), &[""; 0], &[""; 0]);
    let environment = AgentEnvironment {
        root,
        environment,
        workspace,
        confinement: None,
    };
    Some(Fixture {
        temp,
        agents: AcpAgents::new(definitions, environment),
        host: Arc::default(),
    })
}

impl Fixture {
    fn open(&self, name: &str) -> Arc<dyn Model> {
        let host = Arc::clone(&self.host) as Arc<dyn ToolHost>;
        self.agents.open(name, host, AccessLevel::Workspace).unwrap()
    }
}

fn request(messages: Vec<Message>) -> Request {
    Request {
        messages: Arc::new(messages.into_iter().map(Arc::new).collect()),
        ..Request::default()
    }
}

/// The reply of an agent and its stop reason.
async fn reply(model: &Arc<dyn Model>, messages: Vec<Message>) -> Result<(Message, Stop), Error> {
    let mut chunks = model.stream(request(messages)).await?;
    let (mut reply, mut stop) = (Reply::default(), None);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        if let Chunk::Stop(why) = &chunk {
            stop = Some(why.clone());
        }
        reply.push(chunk);
    }
    Ok((reply.into_message(), stop.expect("a stop")))
}

const LONG: Duration = Duration::from_secs(120);

#[tokio::test]
async fn an_agent_works_in_the_project_under_its_rules() {
    let Some(fixture) = fixture(LONG) else { return };
    let (message, stop) = reply(&fixture.open("work"), vec![Message::user("do it")])
        .await
        .unwrap();
    assert_eq!(stop, Stop::End);
    let text = message.text();
    for expected in [
        "Read 'old\\n'.",
        "Permission 1: y.",
        "Permission 2: n.",
        "Refused.Refused.",
        "Ran: 'out\\n' 3.",
        "Heard 'do it' in first, known: [].",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let done: String = message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Thinking { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(
        done.contains("> edit: Editing") && done.contains("> changed "),
        "{done}"
    );
    assert_eq!(
        std::fs::read_to_string(fixture.temp.path().join("a.txt")).unwrap(),
        "new\n"
    );
    let asked = fixture.host.0.lock().unwrap();
    assert!(
        asked
            .iter()
            .any(|action| matches!(action, Action::Run { command, .. } if command == "sh -c 'echo out; exit 3'"))
    );
}

#[tokio::test]
async fn a_session_continues_in_the_same_process_and_is_loaded_in_another() {
    let Some(fixture) = fixture(LONG) else { return };
    let model = fixture.open("talk");
    let (first, _) = reply(&model, vec![Message::user("one")]).await.unwrap();
    let (second, _) = reply(&model, vec![Message::user("one"), first.clone(), Message::user("two")])
        .await
        .unwrap();
    assert_eq!(second.text(), "Heard 'two' in first, known: [].");
    // Another process, which knows the session only from the first reply.
    let again = fixture.open("talk");
    let (third, _) = reply(&again, vec![Message::user("one"), first, Message::user("three")])
        .await
        .unwrap();
    assert_eq!(third.text(), "Heard 'three' in first, known: ['first'].");
}

#[tokio::test]
async fn failures_are_reported_with_their_cause() {
    let Some(fixture) = fixture(LONG) else { return };
    for (name, why) in [
        ("missing", "cannot start"),
        ("newer", "it uses protocol version 9"),
        ("login", "it requires a login"),
        ("die", "it exited unexpectedly"),
    ] {
        let error = reply(&fixture.open(name), vec![Message::user("x")]).await.unwrap_err();
        assert!(
            error.to_string().starts_with(&format!("the agent {name}: {why}")),
            "{error}"
        );
        assert_eq!(error.retry(), model::Retry::Never);
    }
    let (message, _) = reply(&fixture.open("garbage"), vec![Message::user("x")]).await.unwrap();
    assert!(message.text().starts_with("Heard 'x'"));
    let (_, stop) = reply(&fixture.open("refuse"), vec![Message::user("x")]).await.unwrap();
    assert_eq!(stop, Stop::Refusal { detail: None });
    assert!(matches!(
        fixture.agents.test("unknown").await,
        Err(AgentError::Unknown(_))
    ));
    let about = fixture.agents.test("talk").await.unwrap();
    assert_eq!(
        (about.name.as_str(), about.capabilities.as_slice()),
        ("peer 1", ["session/load".to_owned()].as_slice())
    );
}

#[tokio::test]
async fn an_agent_that_hangs_times_out() {
    let Some(fixture) = fixture(Duration::from_secs(3)) else {
        return;
    };
    let error = reply(&fixture.open("hang"), vec![Message::user("x")])
        .await
        .unwrap_err();
    assert!(error.to_string().contains("no response for 3 s"), "{error}");
    let error = reply(&fixture.open("silent"), vec![Message::user("x")])
        .await
        .unwrap_err();
    assert!(error.to_string().contains("no response for 3 s"), "{error}");
}

#[tokio::test]
async fn an_agent_is_notified_when_its_prompt_is_cancelled() {
    let Some(fixture) = fixture(LONG) else { return };
    let model = fixture.open("slow");
    let mut chunks = model.stream(request(vec![Message::user("x")])).await.unwrap();
    assert_eq!(chunks.next().await.unwrap().unwrap(), Chunk::Text("Wait.".into()));
    drop(chunks);
    let mark = fixture.temp.path().join("mark");
    while std::fs::read_to_string(&mark).ok().as_deref() != Some("cancelled") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
