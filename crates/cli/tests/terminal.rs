//! The terminal front end in a real terminal, from the first prompt to the last.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::json;
use std::time::Duration;
use testkit::{Hew, Pace, Project, Script, Seen, Server, Tmux, Turn};

/// A task in steps: read, change, ask for something outside the project, report.
fn script(outside: String) -> Script {
    Script::dynamic(move |seen: &Seen| {
        let calls = seen.calls().count();
        let said = seen.last_user_text();
        if said.contains("slowly") {
            let words: String = (0..400).map(|n| format!("word{n} ")).collect();
            return Turn::text(words).pace(Pace::watchable(8, Duration::from_millis(80)));
        }
        if said.contains("afterwards") {
            return Turn::text("That was the queued one.");
        }
        match calls {
            0 => Turn::text("Looking at **the file** first.").call("read_file", json!({"path": "greeting.txt"})),
            1 => Turn::text("Now the change.").call(
                "edit_file",
                json!({"path": "greeting.txt", "old_text": "hello", "new_text": "good day"}),
            ),
            2 => Turn::text("And the other place.").call("write_file", json!({"path": outside, "content": "x\n"})),
            _ => Turn::text("Everything is done."),
        }
    })
    .pace(Pace::watchable(12, Duration::from_millis(2)))
}

/// Sends a signal to the run in the terminal.
fn kill(hew: &Hew, signal: rustix::process::Signal) {
    let pid = std::fs::read_to_string(hew.pid_file()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

struct Play {
    server: Server,
    project: Project,
    hew: Hew,
    outside: tempfile::TempDir,
}

async fn play() -> Option<Play> {
    if !Tmux::is_there() {
        return None;
    }
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().join("other.txt").display().to_string();
    let server = Server::start(script(path)).await.unwrap();
    let project = Project::new(&[("greeting.txt", "hello\n")]).unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .talks_to(&server)
        .folder(project.root());
    Some(Play {
        server,
        project,
        hew,
        outside,
    })
}

#[tokio::test]
async fn a_whole_task_in_a_real_terminal() {
    let Some(play) = play().await else {
        return;
    };
    let greeting = || std::fs::read_to_string(play.project.root().join("greeting.txt")).unwrap();
    let tmux = Tmux::start(&play.hew, 100, 30).unwrap();
    tmux.until_shown("what is to be done?").await.unwrap();

    // Prompt, streaming, a tool, an edit.
    tmux.write("make the greeting polite").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.until_shown("Looking at the file first.").await.unwrap();
    let all = tmux.until_shown("good day").await.unwrap();
    assert!(all.contains("› make the greeting polite"), "{all}");

    // Approval in place; the answer is one key.
    tmux.until_shown("wants to change").await.unwrap();
    assert_eq!(greeting(), "good day\n");
    tmux.until_shown("yes, once").await.unwrap();
    // Whoever was typing does not answer by accident: the key counts a moment later.
    tokio::time::sleep(Duration::from_millis(700)).await;
    tmux.press(&["y"]).unwrap();
    tmux.until_shown("Everything is done.").await.unwrap();
    assert_eq!(
        std::fs::read_to_string(play.outside.path().join("other.txt")).unwrap(),
        "x\n"
    );

    // Undo.
    tmux.until(|all| !all.contains("esc stops")).await.unwrap();
    tmux.write("/undo").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.until(|_| greeting() == "hello\n").await.unwrap();

    // A slow reply: a queued prompt waits, and comes back into the line when the turn is stopped.
    tmux.write("tell it slowly").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.until_shown("word3").await.unwrap();
    tmux.write("and afterwards").unwrap();
    tmux.press(&["Tab"]).unwrap();
    tmux.until_shown("queued").await.unwrap();
    tmux.press(&["Escape"]).unwrap();
    tmux.until_shown("interrupted").await.unwrap();
    tmux.until(|all| all.contains("› and afterwards")).await.unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.until_shown("That was the queued one.").await.unwrap();

    // Killed in the middle of a reply, it goes on where it was.
    tmux.write("tell it slowly again").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.until_shown("word5").await.unwrap();
    kill(&play.hew, rustix::process::Signal::KILL);
    tmux.again(&play.hew.clone().arg("-c")).unwrap();
    let all = tmux.until_shown("tell it slowly again").await.unwrap();
    assert!(all.contains("That was the queued one."), "{all}");
    drop(play.server);
}

#[tokio::test]
async fn resizing_a_real_terminal_loses_no_line_and_shows_none_twice() {
    if !Tmux::is_there() {
        return;
    }
    let lines: String = (0..80).map(|n| format!("- line {n}.\n")).collect();
    let script = Script::new().turn(Turn::text(lines).pace(Pace::watchable(11, Duration::from_millis(5))));
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("a.txt", "a\n")]).unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .talks_to(&server)
        .folder(project.root());
    let tmux = Tmux::start(&hew, 80, 24).unwrap();
    tmux.until_shown("what is to be done?").await.unwrap();
    tmux.write("count").unwrap();
    tmux.press(&["Enter"]).unwrap();
    let mut seed: u32 = 7;
    let mut next = |least: u32, most: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u16::try_from(least + (seed >> 16) % (most - least)).unwrap()
    };
    tmux.until(|all| all.contains("line 79.") && all.contains("? help"))
        .await
        .unwrap();
    for _ in 0..200 {
        let width = next(30, 150);
        tmux.resize(width, next(12, 50)).unwrap();
        // The rule around the composer is as wide as the terminal once it has been drawn anew.
        let rule = "─".repeat(usize::from(width));
        tmux.until(|all| all.lines().any(|line| line == rule)).await.unwrap();
    }
    tmux.resize(100, 30).unwrap();
    let rule = "─".repeat(100);
    tmux.until(|all| all.lines().any(|line| line == rule)).await.unwrap();
    let all = tmux.everything().unwrap();
    for n in 0..80 {
        let line = format!("• line {n}.");
        let count = all.lines().filter(|other| other.trim_end() == line).count();
        assert_eq!(count, 1, "{line}\n{all}");
    }
}

#[tokio::test]
async fn the_terminal_is_given_back_as_it_was() {
    let Some(play) = play().await else {
        return;
    };
    let tmux = Tmux::start(&play.hew, 80, 24).unwrap();
    tmux.until_shown("what is to be done?").await.unwrap();
    kill(&play.hew, rustix::process::Signal::TERM);
    let all = tmux
        .until(|all| all.contains("ended with 143") && all.contains("icanon"))
        .await
        .unwrap();
    assert!(!all.contains("what is to be done?"), "{all}");
    assert!(!all.contains("-icanon") && !all.contains("-echo "), "{all}");
}
