//! What happens when the sandbox is in a command's way. A script stands in for the guard, and refuses whatever is confined.

use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt};
use policy::{Action, Level};
use sandbox::Confinement;
use serde_json::json;
use tool::{Context, Error, Inquiry, Report, Task};
use toolbox::{Commands, Options};

use crate::desk::{Desk, context};

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

/// Says the same to everything, and remembers what it was asked.
#[derive(Default)]
struct Person {
    refusal: Option<String>,
    asked: Arc<Mutex<Vec<Action>>>,
}

impl tool::Desk for Person {
    fn permit(&self, action: Action) -> BoxFuture<'static, Result<(), Error>> {
        self.asked.lock().unwrap().push(action);
        let answer = self.refusal.clone().map_or(Ok(()), |why| Err(Error::Failed(why)));
        async move { answer }.boxed()
    }

    fn ask(&self, _: Inquiry) -> BoxFuture<'static, Result<String, Error>> {
        unreachable!("a command asks nothing else")
    }

    fn delegate(&self, _: Task) -> BoxFuture<'static, Result<Report, Error>> {
        unreachable!("a command delegates nothing")
    }
}

fn guarded() -> (Desk, tempfile::TempDir) {
    let temp = tempfile::tempdir().unwrap();
    let launcher = temp.path().join("guard");
    std::fs::write(&launcher, GUARD).unwrap();
    std::fs::set_permissions(&launcher, std::fs::Permissions::from_mode(0o755)).unwrap();
    let confinement = Confinement {
        launcher,
        ..Confinement::new(sandbox::Level::Workspace, ["/work".into()])
    };
    let commands = Commands {
        confinement: Some(confinement),
        ..Commands::default()
    };
    let options = Options {
        commands,
        ..Options::default()
    };
    (Desk::fitted(&[], options), temp)
}

async fn run(desk: &Desk, command: &str, level: Level, refusal: Option<&str>) -> (String, String, usize) {
    let person = Person {
        refusal: refusal.map(str::to_owned),
        ..Person::default()
    };
    let asked = Arc::clone(&person.asked);
    let context = Context {
        level,
        desk: Arc::new(person),
        ..context()
    };
    let output = desk.call("terminal", json!({"command": command}), context).await;
    let expected = Action::Escalate {
        command: command.into(),
        cwd: desk.root.clone(),
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
async fn a_command_that_the_sandbox_stopped_is_run_outside_if_somebody_agrees() {
    let (desk, _temp) = guarded();
    let (text, summary, asked) = run(&desk, "echo outside", Level::Workspace, None).await;
    assert_eq!(text, "outside\n[exit code 0; run outside the sandbox]");
    assert!(summary.starts_with("exit code 0, "), "{summary}");
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn a_refusal_is_told_to_the_model_with_what_was_denied() {
    let (desk, _temp) = guarded();
    let (text, summary, asked) = run(&desk, "echo outside", Level::Workspace, Some("The person said no.")).await;
    assert_eq!(
        text,
        "not run outside the sandbox: The person said no.\ntouch: /x: Read-only file system\n[exit code 1; may have been \
         blocked by the sandbox (writes only in /work and temporary folders, no network): touch: /x: Read-only file system]"
    );
    assert_eq!((summary.as_str(), asked), ("failed", 1));
}

#[tokio::test]
async fn what_this_machine_lacks_is_told_once() {
    let (desk, _temp) = guarded();
    let (_, summary, _) = run(&desk, "fine", Level::Workspace, None).await;
    assert!(
        summary.contains("; the sandbox is incomplete on this machine: "),
        "{summary}"
    );
    let (_, summary, _) = run(&desk, "fine", Level::Workspace, None).await;
    assert!(!summary.contains("incomplete"), "{summary}");
}

#[tokio::test]
async fn nobody_is_asked_about_a_command_that_passes_or_that_is_not_confined() {
    let (desk, _temp) = guarded();
    let (text, _, asked) = run(&desk, "fine", Level::Workspace, None).await;
    assert_eq!((text.as_str(), asked), ("[exit code 0]", 0));
    let (text, _, asked) = run(&desk, "echo free; exit 3", Level::Full, None).await;
    assert_eq!((text.as_str(), asked), ("free\n[exit code 3]", 0));
}
