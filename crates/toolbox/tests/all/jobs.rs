//! Tests of background jobs: terminal, job_output, job_kill, job_list.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::{OpenOptions, Receiver};
use tokio::sync::mpsc;
use tool::{NotificationSender, ToolNotification};
use toolbox::{CommandOptions, Options};

use crate::project::{TestProject, with_timeout};

/// A project with this foreground limit for commands.
fn with_foreground_limit(limit: Duration) -> (TestProject, mpsc::Receiver<ToolNotification>) {
    let (notices, receiver) = NotificationSender::channel();
    let commands = CommandOptions {
        foreground_limit: limit,
        notifications: notices,
        ..CommandOptions::default()
    };
    let options = Options {
        commands,
        ..Options::default()
    };
    (TestProject::with_options(&[], options), receiver)
}

fn with_short_limit() -> (TestProject, mpsc::Receiver<ToolNotification>) {
    with_foreground_limit(Duration::from_millis(50))
}

/// Creates a named pipe; a command continues when [`write_pipe`] writes to it.
fn create_pipe(project: &TestProject, name: &str) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        project.root.join(name),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
}

async fn write_pipe(path: &Path) {
    let path = path.to_owned();
    let written = tokio::task::spawn_blocking(move || std::fs::write(path, "\n"));
    with_timeout(written).await.unwrap().unwrap();
}

/// A pipe that is closed when the last process that holds it for writing exits.
fn watch(project: &TestProject) -> Receiver {
    create_pipe(project, "watch");
    OpenOptions::new().open_receiver(project.root.join("watch")).unwrap()
}

#[tokio::test]
async fn a_long_command_continues_in_the_background_and_its_end_is_notified() {
    let (project, mut notices) = with_short_limit();
    create_pipe(&project, "go");
    let command = "echo one; read x < go; echo two; exit 3";
    let seen = project.run("terminal", json!({"command": command})).await;
    assert_eq!(
        seen,
        "one\n[still running as job 1; call_tool {\"name\": \"job_output\", \"input\": {\"id\": 1}} shows more output, job_kill stops it]"
    );
    let seen = project.run("job_output", json!({"id": 1})).await;
    assert!(seen.starts_with("no new output\n[running for "), "{seen}");
    write_pipe(&project.root.join("go")).await;
    let notice = with_timeout(notices.recv()).await.unwrap();
    assert_eq!(notice.source, "job 1");
    assert!(
        notice
            .text
            .starts_with("Job 1 (`echo one; read x < go; echo two; exit 3`) ended after"),
        "{notice:?}"
    );
    assert!(
        notice.text.ends_with("exit code 3. End of output:\none\ntwo"),
        "{notice:?}"
    );
    let seen = project.run("job_output", json!({"id": 1})).await;
    assert!(seen.starts_with("two\n[exit code 3, after "), "{seen}");
    // Output is returned once.
    let seen = project.run("job_output", json!({"id": "1"})).await;
    assert!(seen.starts_with("no new output\n[exit code 3, after "), "{seen}");
}

#[tokio::test]
async fn waiting_for_a_job_returns_its_end_without_a_notification() {
    let (project, mut notices) = with_short_limit();
    create_pipe(&project, "go");
    project
        .run("terminal", json!({"command": "read x < go; echo done"}))
        .await;
    let path = project.root.join("go");
    let (seen, ()) = tokio::join!(
        project.run("get_terminal_output", json!({"id": 1, "wait": true})),
        write_pipe(&path)
    );
    assert!(seen.starts_with("done\n[exit code 0, after "), "{seen}");
    assert!(notices.try_recv().is_err());
}

#[tokio::test]
async fn a_background_command_returns_immediately_unless_it_fails_early() {
    let (project, _notices) = with_foreground_limit(Duration::from_secs(600));
    let seen = project
        .run(
            "bash",
            json!({"command": "echo up; sleep 600", "run_in_background": true}),
        )
        .await;
    assert!(seen.starts_with("up\n[still running as job 1;"), "{seen}");
    let seen = project
        .run("terminal", json!({"command": "no-such-server", "background": true}))
        .await;
    assert!(seen.ends_with("[exit code 127]"), "{seen}");
}

#[tokio::test]
async fn killing_a_job_kills_its_processes() {
    let (project, mut notices) = with_short_limit();
    let mut pipe = watch(&project);
    let command = "exec 9>watch; echo . >&9; (trap '' TERM; sleep 600) & sleep 600 & wait";
    project.run("terminal", json!({"command": command})).await;
    with_timeout(pipe.read_exact(&mut [0; 2])).await.unwrap();
    let seen = project.run("job_kill", json!({"id": 1})).await;
    assert!(seen.starts_with("no new output\n[ended by signal 15"), "{seen}");
    with_timeout(pipe.read_to_end(&mut Vec::new())).await.unwrap();
    assert!(notices.try_recv().is_err(), "the end of a killed job was notified");
    // Killing it again has no effect.
    let seen = project.run("kill_terminal", json!({"shell_id": "1"})).await;
    assert!(seen.starts_with("no new output\n[ended by signal 15"), "{seen}");
}

#[tokio::test]
async fn jobs_end_with_the_session() {
    let (project, _notices) = with_short_limit();
    let mut pipe = watch(&project);
    let command = "exec 9>watch; echo . >&9; trap '' TERM; while :; do sleep 600; done";
    project.run("terminal", json!({"command": command})).await;
    with_timeout(pipe.read_exact(&mut [0; 2])).await.unwrap();
    drop(project);
    with_timeout(pipe.read_to_end(&mut Vec::new())).await.unwrap();
}

#[tokio::test]
async fn jobs_are_listed_and_unknown_jobs_are_reported() {
    let (project, _notices) = with_short_limit();
    assert_eq!(project.run("job_list", json!({})).await, "no jobs");
    assert_eq!(
        project.run("job_output", json!({"id": 7})).await,
        "error: there is no job 7; there are no jobs"
    );
    project.run("terminal", json!({"command": "echo a\nsleep 600"})).await;
    project.run("terminal", json!({"command": "sleep 601"})).await;
    project.run("job_kill", json!({"id": 2})).await;
    let seen = project.run("job_list", json!({})).await;
    let lines: Vec<&str> = seen.lines().collect();
    assert!(lines[0].starts_with("1: echo a sleep 600 [running for "), "{seen}");
    assert!(
        lines[1].starts_with("2: sleep 601 [ended by signal 15, after "),
        "{seen}"
    );
    assert_eq!(
        project.run("job_kill", json!({"id": 7})).await,
        "error: there is no job 7; there are 1, 2"
    );
}

#[tokio::test]
async fn output_of_a_flooding_job_is_limited() {
    let (project, _notices) = with_short_limit();
    let seen = project.run("terminal", json!({"command": "seq 1 100000000"})).await;
    assert!(seen.contains("[still running as job 1;"), "{seen:.300}");
    let seen = project.run("job_output", json!({"id": 1})).await;
    assert!(seen.len() < 21_000, "{}", seen.len());
    let seen = project.run("job_kill", json!({"id": 1})).await;
    assert!(
        seen.len() < 21_000 && seen.contains("ended by signal"),
        "{}",
        seen.len()
    );
}

#[tokio::test]
async fn a_timeout_keeps_a_command_in_the_foreground() {
    let (project, _notices) = with_short_limit();
    let seen = project
        .run(
            "terminal",
            json!({"command": "sleep 0.2; echo late", "timeout_seconds": 60}),
        )
        .await;
    assert_eq!(seen, "late\n[exit code 0]");
    let seen = project
        .run("terminal", json!({"command": "sleep 600", "timeout_ms": 1000}))
        .await;
    assert_eq!(seen, "[stopped after 1 s; set timeout_seconds if it needs longer]");
}
