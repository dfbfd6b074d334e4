//! Tests of commands that the sandbox blocks. A script replaces the guard and rejects confined commands.

use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt};
use policy::{AccessLevel, Action};
use sandbox::Confinement;
use serde_json::json;
use tool::{CallContext, Error, SubtaskReport, SubtaskRequest, UserQuestion};
use toolbox::{CommandOptions, Options};

use crate::project::{TestProject, context};

const GUARD: &str = r#"#!/bin/sh
for arg; do
  [ "$arg" = --free ] && free=yes
  [ "$arg" = -- ] && break
done
while [ "$1" != -- ]; do shift; done
shift
if [ "$free" ]; then
  "$@"
  printf 'X%d\0' $? >&0
elif [ "$4" = fine ]; then
  printf 'E%s\0X0\0' "$(printf '7\t\tno namespaces')" >&0
else
  echo 'touch: /x: Read-only file system'
  printf 'E%s\0X1\0' "$(printf '7\t\tno namespaces')" >&0
fi
"#;

/// Gives the same answer to all requests, and records them.
#[derive(Default)]
struct Person {
    refusal: Option<String>,
    asked: Arc<Mutex<Vec<Action>>>,
}

impl tool::ToolHost for Person {
    fn permit(&self, action: Action) -> BoxFuture<'static, Result<(), Error>> {
        self.asked.lock().unwrap().push(action);
        let answer = self.refusal.clone().map_or(Ok(()), |why| Err(Error::Failed(why)));
        async move { answer }.boxed()
    }

    fn ask(&self, _: UserQuestion) -> BoxFuture<'static, Result<String, Error>> {
        unreachable!("a command asks nothing else")
    }

    fn delegate(&self, _: SubtaskRequest) -> BoxFuture<'static, Result<SubtaskReport, Error>> {
        unreachable!("a command delegates nothing")
    }
}

fn guarded() -> (TestProject, tempfile::TempDir) {
    let temp = tempfile::tempdir().unwrap();
    let launcher = temp.path().join("guard");
    std::fs::write(&launcher, GUARD).unwrap();
    std::fs::set_permissions(&launcher, std::fs::Permissions::from_mode(0o755)).unwrap();
    let confinement = Confinement {
        launcher,
        ..Confinement::new(sandbox::ConfinementLevel::Workspace, ["/work".into()])
    };
    let commands = CommandOptions {
        confinement: Some(confinement),
        ..CommandOptions::default()
    };
    let options = Options {
        commands,
        ..Options::default()
    };
    (TestProject::with_options(&[], options), temp)
}

async fn run(
    project: &TestProject,
    command: &str,
    level: AccessLevel,
    refusal: Option<&str>,
) -> (String, String, usize) {
    let person = Person {
        refusal: refusal.map(str::to_owned),
        ..Person::default()
    };
    let asked = Arc::clone(&person.asked);
    let context = CallContext {
        level,
        host: Arc::new(person),
        ..context()
    };
    let output = project.call("terminal", json!({"command": command}), context).await;
    let expected = Action::Escalate {
        command: command.into(),
        cwd: project.root.clone(),
    };
    let asked = asked.lock().unwrap();
    assert!(asked.iter().all(|action| *action == expected), "{asked:?}");
    match output {
        Ok(output) => {
            let model::Block::Text { text } = &output.content[0] else {
                panic!("a command answers with text")
            };
            (text.clone(), output.summary.unwrap(), asked.len())
        }
        Err(error) => (error.to_string(), "failed".into(), asked.len()),
    }
}

#[tokio::test]
async fn a_blocked_command_runs_outside_the_sandbox_after_approval() {
    let (project, _temp) = guarded();
    let (text, summary, asked) = run(&project, "echo outside", AccessLevel::Workspace, None).await;
    assert_eq!(text, "outside\n[exit code 0; run outside the sandbox]");
    assert!(summary.starts_with("exit code 0, "), "{summary}");
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn a_refusal_is_reported_with_the_denied_access() {
    let (project, _temp) = guarded();
    let (text, summary, asked) = run(
        &project,
        "echo outside",
        AccessLevel::Workspace,
        Some("The user declined."),
    )
    .await;
    assert_eq!(
        text,
        "not run outside the sandbox: The user declined.\ntouch: /x: Read-only file system\n[exit code 1; may have been \
         blocked by the sandbox (writes only in /work and temporary directories, no network): touch: /x: Read-only file system]"
    );
    assert_eq!((summary.as_str(), asked), ("failed", 1));
}

#[tokio::test]
async fn missing_sandbox_features_are_reported_once() {
    let (project, _temp) = guarded();
    let (_, summary, _) = run(&project, "fine", AccessLevel::Workspace, None).await;
    assert!(
        summary.contains("; the sandbox is incomplete on this machine: "),
        "{summary}"
    );
    let (_, summary, _) = run(&project, "fine", AccessLevel::Workspace, None).await;
    assert!(!summary.contains("incomplete"), "{summary}");
}

#[tokio::test]
async fn successful_or_unconfined_commands_need_no_escalation() {
    let (project, _temp) = guarded();
    let (text, _, asked) = run(&project, "fine", AccessLevel::Workspace, None).await;
    assert_eq!((text.as_str(), asked), ("[exit code 0]", 0));
    let (text, _, asked) = run(&project, "echo free; exit 3", AccessLevel::Full, None).await;
    assert_eq!((text.as_str(), asked), ("free\n[exit code 3]", 0));
}

/// Allows network access only.
struct NetworkPerson;

impl tool::ToolHost for NetworkPerson {
    fn permit(&self, _: Action) -> BoxFuture<'static, Result<(), Error>> {
        unreachable!("a blocked command requests an escalation")
    }

    fn permit_escalation(
        &self,
        _: Action,
        evidence: Vec<String>,
    ) -> BoxFuture<'static, Result<tool::EscalationGrant, Error>> {
        assert_eq!(evidence, ["touch: /x: Read-only file system"]);
        async { Ok(tool::EscalationGrant::Network) }.boxed()
    }

    fn ask(&self, _: UserQuestion) -> BoxFuture<'static, Result<String, Error>> {
        unreachable!("a command asks nothing else")
    }

    fn delegate(&self, _: SubtaskRequest) -> BoxFuture<'static, Result<SubtaskReport, Error>> {
        unreachable!("a command delegates nothing")
    }
}

#[tokio::test]
async fn network_access_keeps_the_rest_of_the_sandbox() {
    let (project, _temp) = guarded();
    let context = CallContext {
        level: AccessLevel::Workspace,
        host: Arc::new(NetworkPerson),
        ..context()
    };
    let output = project
        .call("terminal", json!({"command": "echo outside"}), context)
        .await;
    let model::Block::Text { text } = &output.unwrap().content[0] else {
        panic!("a command answers with text")
    };
    assert!(text.starts_with("touch: /x: Read-only file system\n"), "{text}");
    assert!(text.contains("run in the sandbox with network access"), "{text}");
}
