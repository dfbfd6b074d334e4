//! Commands in the background: terminal, job_output, job_kill, job_list.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::{OpenOptions, Receiver};
use tokio::sync::mpsc;
use tool::{Notice, Notices};
use toolbox::{Commands, Options};

use crate::desk::{Desk, soon};

/// A project whose commands go to the background this soon.
fn patient(patience: Duration) -> (Desk, mpsc::Receiver<Notice>) {
    let (notices, receiver) = Notices::channel();
    let commands = Commands {
        patience,
        notices,
        ..Commands::default()
    };
    let options = Options {
        commands,
        ..Options::default()
    };
    (Desk::fitted(&[], options), receiver)
}

fn hasty() -> (Desk, mpsc::Receiver<Notice>) {
    patient(Duration::from_millis(50))
}

/// Makes a named pipe; a command goes on when [`go`] writes to it.
fn gate(desk: &Desk, name: &str) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        desk.root.join(name),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
}

async fn go(path: &Path) {
    let path = path.to_owned();
    let written = tokio::task::spawn_blocking(move || std::fs::write(path, "\n"));
    soon(written).await.unwrap().unwrap();
}

/// A pipe that ends for its reader when the last process that holds it for writing is gone.
fn watch(desk: &Desk) -> Receiver {
    gate(desk, "watch");
    OpenOptions::new().open_receiver(desk.root.join("watch")).unwrap()
}

#[tokio::test]
async fn a_long_command_goes_on_in_the_background_and_tells_when_it_ends() {
    let (desk, mut notices) = hasty();
    gate(&desk, "go");
    let command = "echo one; read x < go; echo two; exit 3";
    let seen = desk.run("terminal", json!({"command": command})).await;
    assert_eq!(
        seen,
        "one\n[still running, as job 1; call_tool {\"name\": \"job_output\", \"input\": {\"id\": 1}} shows more, job_kill likewise ends it]"
    );
    let seen = desk.run("job_output", json!({"id": 1})).await;
    assert!(seen.starts_with("no new output\n[running for "), "{seen}");
    go(&desk.root.join("go")).await;
    let told = soon(notices.recv()).await.unwrap();
    assert_eq!(told.source, "job 1");
    assert!(
        told.text
            .starts_with("Job 1 (`echo one; read x < go; echo two; exit 3`) has ended after"),
        "{told:?}"
    );
    assert!(
        told.text.ends_with("exit code 3. The end of its output:\none\ntwo"),
        "{told:?}"
    );
    let seen = desk.run("job_output", json!({"id": 1})).await;
    assert!(seen.starts_with("two\n[exit code 3, after "), "{seen}");
    // What was shown is not shown again.
    let seen = desk.run("job_output", json!({"id": "1"})).await;
    assert!(seen.starts_with("no new output\n[exit code 3, after "), "{seen}");
}

#[tokio::test]
async fn whoever_waits_for_a_job_sees_its_end_and_is_not_told_again() {
    let (desk, mut notices) = hasty();
    gate(&desk, "go");
    desk.run("terminal", json!({"command": "read x < go; echo done"})).await;
    let path = desk.root.join("go");
    let (seen, ()) = tokio::join!(
        desk.run("get_terminal_output", json!({"id": 1, "wait": true})),
        go(&path)
    );
    assert!(seen.starts_with("done\n[exit code 0, after "), "{seen}");
    assert!(notices.try_recv().is_err());
}

#[tokio::test]
async fn a_command_that_shall_run_in_the_background_does_at_once_unless_it_fails_early() {
    let (desk, _notices) = patient(Duration::from_secs(600));
    let seen = desk
        .run(
            "bash",
            json!({"command": "echo up; sleep 600", "run_in_background": true}),
        )
        .await;
    assert!(seen.starts_with("up\n[still running, as job 1;"), "{seen}");
    let seen = desk
        .run("terminal", json!({"command": "no-such-server", "background": true}))
        .await;
    assert!(seen.ends_with("[exit code 127]"), "{seen}");
}

#[tokio::test]
async fn a_job_is_ended_with_all_it_has_started() {
    let (desk, mut notices) = hasty();
    let mut pipe = watch(&desk);
    let command = "exec 9>watch; echo . >&9; (trap '' TERM; sleep 600) & sleep 600 & wait";
    desk.run("terminal", json!({"command": command})).await;
    soon(pipe.read_exact(&mut [0; 2])).await.unwrap();
    let seen = desk.run("job_kill", json!({"id": 1})).await;
    assert!(seen.starts_with("no new output\n[ended by signal 15"), "{seen}");
    soon(pipe.read_to_end(&mut Vec::new())).await.unwrap();
    assert!(notices.try_recv().is_err(), "who ends a job knows that it has ended");
    // Again does no harm.
    let seen = desk.run("kill_terminal", json!({"shell_id": "1"})).await;
    assert!(seen.starts_with("no new output\n[ended by signal 15"), "{seen}");
}

#[tokio::test]
async fn jobs_end_with_the_session() {
    let (desk, _notices) = hasty();
    let mut pipe = watch(&desk);
    let command = "exec 9>watch; echo . >&9; trap '' TERM; while :; do sleep 600; done";
    desk.run("terminal", json!({"command": command})).await;
    soon(pipe.read_exact(&mut [0; 2])).await.unwrap();
    drop(desk);
    soon(pipe.read_to_end(&mut Vec::new())).await.unwrap();
}

#[tokio::test]
async fn jobs_are_listed_and_unknown_ones_are_named() {
    let (desk, _notices) = hasty();
    assert_eq!(desk.run("job_list", json!({})).await, "no jobs");
    assert_eq!(
        desk.run("job_output", json!({"id": 7})).await,
        "error: there is no job 7; no command runs in the background"
    );
    desk.run("terminal", json!({"command": "echo a\nsleep 600"})).await;
    desk.run("terminal", json!({"command": "sleep 601"})).await;
    desk.run("job_kill", json!({"id": 2})).await;
    let seen = desk.run("job_list", json!({})).await;
    let lines: Vec<&str> = seen.lines().collect();
    assert!(lines[0].starts_with("1: echo a sleep 600 [running for "), "{seen}");
    assert!(
        lines[1].starts_with("2: sleep 601 [ended by signal 15, after "),
        "{seen}"
    );
    assert_eq!(
        desk.run("job_kill", json!({"id": 7})).await,
        "error: there is no job 7; there are 1, 2"
    );
}

#[tokio::test]
async fn a_flooding_job_is_read_in_bounded_pieces() {
    let (desk, _notices) = hasty();
    let seen = desk.run("terminal", json!({"command": "seq 1 100000000"})).await;
    assert!(seen.contains("[still running, as job 1;"), "{seen:.300}");
    let seen = desk.run("job_output", json!({"id": 1})).await;
    assert!(seen.len() < 21_000, "{}", seen.len());
    let seen = desk.run("job_kill", json!({"id": 1})).await;
    assert!(
        seen.len() < 21_000 && seen.contains("ended by signal"),
        "{}",
        seen.len()
    );
}

#[tokio::test]
async fn a_time_to_wait_keeps_a_command_in_the_foreground() {
    let (desk, _notices) = hasty();
    let seen = desk
        .run(
            "terminal",
            json!({"command": "sleep 0.2; echo late", "timeout_seconds": 60}),
        )
        .await;
    assert_eq!(seen, "late\n[exit code 0]");
    let seen = desk
        .run("terminal", json!({"command": "sleep 600", "timeout_ms": 1000}))
        .await;
    assert_eq!(seen, "[stopped after 1 s; set timeout_seconds if it needs longer]");
}
