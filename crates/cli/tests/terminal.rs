//! The terminal front end in a real terminal, from the first prompt to the last.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use serde_json::json;
use std::time::Duration;
use testkit::{Hew, Pace, ParsedRequest, Project, Script, Server, Tmux, Turn};

/// A task in steps: read, change, ask for something outside the project, report.
fn script(outside: String) -> Script {
    Script::dynamic(move |seen: &ParsedRequest| {
        let calls = seen.calls().count();
        let prompt = seen.last_user_text();
        if prompt.contains("slowly") {
            let words: String = (0..4_000).map(|n| format!("word{n} ")).collect();
            return Turn::text(words).pace(Pace::with_delay(8, Duration::from_millis(80)));
        }
        if prompt.contains("afterwards") {
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
    .pace(Pace::with_delay(12, Duration::from_millis(2)))
}

/// Sends a signal to the run in the terminal.
fn kill(hew: &Hew, signal: rustix::process::Signal) {
    let pid = std::fs::read_to_string(hew.pid_file()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

struct Fixture {
    server: Server,
    project: Project,
    hew: Hew,
    outside: tempfile::TempDir,
}

async fn fixture() -> Option<Fixture> {
    if !Tmux::is_installed() {
        return None;
    }
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().join("other.txt").display().to_string();
    let server = Server::start(script(path)).await.unwrap();
    let project = Project::new(&[("greeting.txt", "hello\n")]).unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .current_dir(project.root());
    Some(Fixture {
        server,
        project,
        hew,
        outside,
    })
}

#[tokio::test]
async fn a_whole_task_in_a_real_terminal() {
    let Some(fixture) = fixture().await else {
        return;
    };
    let greeting = || std::fs::read_to_string(fixture.project.root().join("greeting.txt")).unwrap();
    let tmux = Tmux::start(&fixture.hew, 100, 30).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();

    // Prompt, streaming, a tool, an edit.
    tmux.write("make the greeting polite").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Looking at the file first.").await.unwrap();
    let all = tmux.wait_for_text("good day").await.unwrap();
    assert!(all.contains("› make the greeting polite"), "{all}");

    // An approval in place, given with one key.
    tmux.wait_for_text("wants to create").await.unwrap();
    assert_eq!(greeting(), "good day\n");
    tmux.wait_for_text("allow once").await.unwrap();
    // Keys are shown when they are accepted, so that typing does not answer by accident.
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Everything is done.").await.unwrap();
    assert_eq!(
        std::fs::read_to_string(fixture.outside.path().join("other.txt")).unwrap(),
        "x\n"
    );

    // Undo.
    tmux.wait_until(|all| !all.contains("esc to interrupt")).await.unwrap();
    tmux.write("/undo").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_until(|_| greeting() == "hello\n").await.unwrap();

    // A slow reply: a queued prompt waits, and returns to the composer when the turn is stopped.
    tmux.write("answer slowly").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("word3").await.unwrap();
    tmux.write("and afterwards").unwrap();
    tmux.press(&["Tab"]).unwrap();
    tmux.wait_for_text("queued").await.unwrap();
    tmux.press(&["Escape"]).unwrap();
    tmux.wait_for_text("interrupted").await.unwrap();
    tmux.wait_until(|all| all.contains("› and afterwards")).await.unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("That was the queued one.").await.unwrap();

    // After a kill during a reply, the session continues.
    tmux.write("answer slowly again").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("word5").await.unwrap();
    kill(&fixture.hew, rustix::process::Signal::KILL);
    tmux.restart(&fixture.hew.clone().arg("-c")).unwrap();
    let all = tmux.wait_for_text("answer slowly again").await.unwrap();
    assert!(all.contains("That was the queued one."), "{all}");
    drop(fixture.server);
}

#[tokio::test]
async fn prompts_queued_during_a_turn_survive_a_kill() {
    let Some(fixture) = fixture().await else {
        return;
    };
    let tmux = Tmux::start(&fixture.hew, 100, 30).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("answer slowly").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("word3").await.unwrap();
    // One joins at the next step, the other waits for the end of the turn.
    tmux.write("do this afterwards").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("joins at the next step").await.unwrap();
    tmux.write("and the other afterwards").unwrap();
    tmux.press(&["Tab"]).unwrap();
    tmux.wait_for_text("queued").await.unwrap();
    let database = fixture.hew.home().join(".local/share/hew/hew.db");
    let waiting = || -> i64 {
        let database = rusqlite::Connection::open(&database).unwrap();
        database
            .query_row("SELECT count(*) FROM waiting", [], |row| row.get(0))
            .unwrap()
    };
    tmux.wait_until(|_| waiting() == 2).await.unwrap();
    kill(&fixture.hew, rustix::process::Signal::KILL);

    let resumed = fixture.hew.clone().args(["resume", "last"]).run().await.unwrap();
    assert_eq!(resumed.stdout, "That was the queued one.\n", "{}", resumed.stderr);
    for text in ["do this afterwards", "and the other afterwards"] {
        let notice = format!("this prompt was queued when hew ended; it will be sent with the next turn: {text}");
        assert!(resumed.stderr.contains(&notice), "{}", resumed.stderr);
        let body = String::from_utf8_lossy(&fixture.server.requests().last().unwrap().body).into_owned();
        assert!(body.contains(text), "{body}");
    }
    assert_eq!(waiting(), 0);
}

// The model's server keeps streaming while the terminal is resized.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resizing_a_real_terminal_while_text_streams_loses_no_line_and_shows_none_twice() {
    if !Tmux::is_installed() {
        return;
    }
    // More text than can be streamed before the last resize.
    let lines: String = (0..10_000).map(|n| format!("- line {n}.\n")).collect();
    let script = Script::new().turn(Turn::text(lines).pace(Pace::with_delay(11, Duration::from_millis(10))));
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("a.txt", "a\n")]).unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .current_dir(project.root());
    let tmux = Tmux::start(&hew, 80, 24).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("count").unwrap();
    tmux.press(&["Enter"]).unwrap();
    // By then no drawn row is at the top, where tmux moves rows into its history.
    tmux.wait_for_text("line 30.").await.unwrap();
    let mut seed: u32 = 7;
    let mut next = |least: u32, most: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u16::try_from(least + (seed >> 16) % (most - least)).unwrap()
    };
    // Without waiting for a redraw.
    for _ in 0..200 {
        tmux.resize(next(40, 120), next(18, 50)).unwrap();
    }
    tmux.resize(100, 30).unwrap();
    let rule = "─".repeat(100);
    let is_wide = |all: &str| all.lines().any(|line| line == rule);
    tmux.wait_until(is_wide).await.unwrap();
    tmux.press(&["Escape"]).unwrap();
    let all = tmux
        .wait_until(|all| all.contains("interrupted") && all.contains("? help") && is_wide(all))
        .await
        .unwrap();
    let shown: Vec<&str> = all.lines().filter(|line| line.starts_with("• line ")).collect();
    // The last line may have been cut by the interruption.
    let expected: Vec<String> = (0..shown.len()).map(|n| format!("• line {n}.")).collect();
    for (line, expected) in shown.iter().zip(&expected).rev().skip(1).rev() {
        assert_eq!(line.trim_end(), expected, "{all}");
    }
    assert!(shown.len() > 31, "{all}");
    assert_eq!(all.lines().filter(|line| line.starts_with("──")).count(), 2, "{all}");
}

#[tokio::test]
async fn a_signal_restores_the_terminal_and_keeps_the_draft() {
    use rustix::process::Signal;
    for (signal, code) in [
        (Signal::TERM, 143),
        (Signal::HUP, 143),
        (Signal::QUIT, 143),
        (Signal::INT, 130),
    ] {
        let Some(fixture) = fixture().await else {
            return;
        };
        let tmux = Tmux::start(&fixture.hew, 80, 24).unwrap();
        tmux.wait_for_text("Describe a task").await.unwrap();
        tmux.write("half a thought").unwrap();
        tmux.wait_for_text("› half a thought").await.unwrap();
        kill(&fixture.hew, signal);
        let all = tmux
            .wait_until(|all| all.contains("ended with ") && all.contains("icanon"))
            .await
            .unwrap();
        assert!(all.contains(&format!("ended with {code}")), "{signal:?}: {all}");
        assert!(!all.contains("half a thought"), "{all}");
        assert!(!all.contains("-icanon") && !all.contains("-echo "), "{all}");
        assert_eq!(
            tmux.display_message("#{cursor_flag} #{alternate_on}").unwrap().trim(),
            "1 0"
        );
        tmux.restart(&fixture.hew).unwrap();
        tmux.wait_for_text("› half a thought").await.unwrap();
    }
}

#[tokio::test]
async fn ctrl_c_in_the_editor_does_not_end_hew() {
    let Some(fixture) = fixture().await else {
        return;
    };
    // The editor does not use raw mode, so Ctrl-C signals all processes of the terminal.
    let editor = fixture.outside.path().join("editor");
    std::fs::write(&editor, "#!/bin/sh\necho in the editor\nexec sleep 600\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&editor, executable).unwrap();
    let tmux = Tmux::shell(&fixture.hew.clone().env("EDITOR", &editor), 80, 24).unwrap();
    tmux.wait_for_text("ready>").await.unwrap();
    tmux.write("run\n").unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("half a thought").unwrap();
    tmux.wait_for_text("› half a thought").await.unwrap();
    for key in ["C-c", "C-\\"] {
        tmux.press(&["C-g"]).unwrap();
        tmux.wait_until(|all| all.contains("in the editor") && !all.contains("? help"))
            .await
            .unwrap();
        tmux.press(&[key]).unwrap();
        tmux.wait_until(|all| all.contains("› half a thought") && all.contains("? help"))
            .await
            .unwrap();
        tmux.write("!").unwrap();
        tmux.wait_for_text("› half a thought!").await.unwrap();
        tmux.press(&["BSpace"]).unwrap();
        tmux.wait_until(|all| !all.contains("thought!")).await.unwrap();
    }
}

#[tokio::test]
async fn ctrl_z_suspends_hew_and_fg_restores_the_screen() {
    let Some(fixture) = fixture().await else {
        return;
    };
    let tmux = Tmux::shell(&fixture.hew, 80, 24).unwrap();
    tmux.wait_for_text("ready>").await.unwrap();
    tmux.write("run\n").unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("half a thought").unwrap();
    tmux.wait_for_text("› half a thought").await.unwrap();
    tmux.press(&["C-z"]).unwrap();
    tmux.wait_until(|all| !all.contains("half a thought") && all.trim_end().ends_with("ready>"))
        .await
        .unwrap();
    tmux.write("stty -a; echo as'k'ed\n").unwrap();
    let all = tmux.wait_for_text("\nasked").await.unwrap();
    assert!(!all.contains("-icanon") && !all.contains("-echo "), "{all}");
    tmux.write("fg\n").unwrap();
    tmux.wait_for_text("› half a thought").await.unwrap();
    // Keys are accepted as before.
    tmux.write(" more").unwrap();
    tmux.wait_for_text("› half a thought more").await.unwrap();
}

#[tokio::test]
async fn closing_the_terminal_ends_hew_and_keeps_the_draft() {
    let Some(fixture) = fixture().await else {
        return;
    };
    let tmux = Tmux::start(&fixture.hew, 80, 24).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("half a thought").unwrap();
    tmux.wait_for_text("› half a thought").await.unwrap();
    let pid = std::fs::read_to_string(fixture.hew.pid_file()).unwrap();
    tmux.close().unwrap();
    while is_alive(pid.trim()) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let tmux = Tmux::start(&fixture.hew, 80, 24).unwrap();
    tmux.wait_for_text("› half a thought").await.unwrap();
}

/// Whether a process runs; a zombie does not.
fn is_alive(pid: &str) -> bool {
    let asked = std::process::Command::new("ps")
        .args(["-o", "stat=", "-p", pid])
        .output()
        .unwrap();
    let state = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

#[tokio::test]
async fn without_standard_input_hew_exits_with_an_error() {
    let Some(fixture) = fixture().await else {
        return;
    };
    let tmux = Tmux::shell(&fixture.hew, 80, 24).unwrap();
    tmux.wait_for_text("ready>").await.unwrap();
    tmux.write("run <&-; echo ended with $?\n").unwrap();
    let all = tmux.wait_for_text("\nended with 2").await.unwrap();
    assert!(all.contains("hew without a command requires a terminal"), "{all}");
}

#[tokio::test]
async fn a_dumb_terminal_gets_a_line_based_session_without_escape_sequences() {
    let Some(fixture) = fixture().await else {
        return;
    };
    let tmux = Tmux::shell(&fixture.hew.clone().env("TERM", "dumb"), 80, 24).unwrap();
    tmux.wait_for_text("ready>").await.unwrap();
    let copy = fixture.hew.home().join("shown");
    tmux.copy_to(&copy).unwrap();
    tmux.write("run\n").unwrap();
    tmux.wait_until(|all| all.trim_end().ends_with("\n>")).await.unwrap();
    tmux.write("repeat this afterwards\n").unwrap();
    tmux.wait_for_text("That was the queued one.").await.unwrap();
    tmux.wait_until(|all| all.trim_end().ends_with("\n>")).await.unwrap();
    tmux.press(&["C-d"]).unwrap();
    tmux.wait_until(|all| all.trim_end().ends_with("ready>")).await.unwrap();
    let shown = std::fs::read(&copy).unwrap();
    assert!(!shown.is_empty());
    assert!(
        !shown.contains(&0x1b),
        "{}",
        String::from_utf8_lossy(&shown).escape_debug()
    );
}

#[tokio::test]
async fn no_terminal_reply_reaches_the_shell_after_quitting() {
    for keys in [&["C-d"][..], &["/quit", "Enter"], &["C-c", "C-c"]] {
        let Some(fixture) = fixture().await else {
            return;
        };
        let tmux = Tmux::shell(&fixture.hew, 120, 40).unwrap();
        tmux.wait_for_text("ready>").await.unwrap();
        tmux.write("run\n").unwrap();
        tmux.wait_for_text("Describe a task").await.unwrap();
        tmux.wait_for_text("accept edits").await.unwrap();
        tmux.press(keys).unwrap();
        tmux.wait_until(|all| all.trim_end().ends_with("ready>")).await.unwrap();
        // The shell reads exactly what is typed.
        tmux.write("echo as'k'ed\n").unwrap();
        let all = tmux.wait_for_text("\nasked").await.unwrap();
        assert!(all.contains("ready> echo as'k'ed"), "{keys:?}: {all}");
    }
}

#[tokio::test]
async fn a_rewind_restores_the_files_and_undo_applies_to_visible_turns() {
    let script = Script::dynamic(|seen: &ParsedRequest| {
        let number = seen.calls().count();
        let text = seen.last_user_text();
        let task = ["first", "second", "third"].iter().position(|task| text.contains(task));
        match task == Some(number) {
            true => Turn::text("").call(
                "write_file",
                json!({"path": format!("{number}.txt"), "content": "one\ntwo\n"}),
            ),
            false => Turn::text(format!("Done {number}.")),
        }
    });
    let Some(fixture) = fixture().await else {
        return;
    };
    let server = Server::start(script).await.unwrap();
    let hew = fixture.hew.clone().with_server(&server);
    let file = |name: &str| fixture.project.root().join(name).exists();
    let tmux = Tmux::start(&hew, 100, 30).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    for (prompt, done) in [
        ("first task", "Done 1."),
        ("second task", "Done 2."),
        ("third task", "Done 3."),
    ] {
        tmux.write(prompt).unwrap();
        tmux.press(&["Enter"]).unwrap();
        tmux.wait_for_text(done).await.unwrap();
        tmux.wait_until(|all| !all.contains("esc to interrupt")).await.unwrap();
    }
    assert!(file("0.txt") && file("1.txt") && file("2.txt"));
    tmux.write("/rewind").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Rewind to before").await.unwrap();
    // The conversation above contains the prompts too, so this waits for the rows of the list.
    tmux.wait_for_text("2.txt changed after it").await.unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Code and conversation").await.unwrap();
    let all = tmux.wait_for_text("1 file: +0 −2 lines").await.unwrap();
    assert!(all.contains("Conversation only") && all.contains("Code only"), "{all}");
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_until(|_| !file("2.txt")).await.unwrap();
    tmux.wait_for_text("Rewound to before \"third task\": 1 file removed")
        .await
        .unwrap();
    assert!(file("0.txt") && file("1.txt"));
    tmux.press(&["C-u"]).unwrap();
    tmux.write("/undo").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Undid \"second task\": 1 file removed")
        .await
        .unwrap();
    assert!(file("0.txt") && !file("1.txt"));
    // A file changed outside the session is not overwritten without a decision.
    fixture.project.write("0.txt", "mine\n").unwrap();
    tmux.write("/undo").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("0.txt: changed outside the session").await.unwrap();
    let all = tmux.wait_for_text("Overwrite").await.unwrap();
    assert!(all.contains("Keep"), "{all}");
    tmux.press(&["Down", "Enter"]).unwrap();
    tmux.wait_for_text("Undid \"first task\": 1 file removed")
        .await
        .unwrap();
    assert!(!file("0.txt"));
}

#[tokio::test]
async fn a_change_can_be_read_completely_before_approval() {
    let long: String = (1..=60).map(|n| format!("line number {n}\n")).collect();
    let words: String = (0..60).map(|n| format!("word{n} ")).collect();
    let before: String = (0..40).map(|n| format!("value{n}\n")).collect();
    let script = Script::dynamic(move |seen: &ParsedRequest| match seen.calls().count() {
        0 => Turn::text("").call("read_file", json!({"path": "values.txt"})),
        1 => Turn::text("").call(
            "edit_file",
            json!({"path": "values.txt", "edits": [
                {"old_text": "value3\n", "new_text": "first edit\n"},
                {"old_text": "value30\n", "new_text": format!("second edit {words}\n")},
            ]}),
        ),
        2 => Turn::text("").call("write_file", json!({"path": "long.txt", "content": long})),
        3 => Turn::text("").call("delete_path", json!({"path": "values.txt"})),
        _ => Turn::text("Finished."),
    });
    let Some(fixture) = fixture().await else {
        return;
    };
    fixture.project.write("values.txt", &before).unwrap();
    let server = Server::start(script).await.unwrap();
    let hew = fixture.hew.clone().with_server(&server);
    let tmux = Tmux::start(&hew.args(["--set", "approval.writes=ask"]), 100, 50).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("change it").unwrap();
    tmux.press(&["Enter"]).unwrap();

    // Every edit of the call is shown, and long lines are wrapped.
    let all = tmux.wait_for_text("letter or ↑↓ to select").await.unwrap();
    for text in ["- value3", "+ first edit", "- value30", "+ second edit"] {
        assert!(all.contains(text), "{text}: {all}");
    }
    tmux.press(&["C-o"]).unwrap();
    tmux.wait_for_text("word59").await.unwrap();
    tmux.press(&["C-o"]).unwrap();
    tmux.press(&["Enter"]).unwrap();

    // Every line of a long change can be reached, also in a small window, and the answers stay visible.
    tmux.wait_for_text("hew wants to create").await.unwrap();
    tmux.wait_for_text("line number 1").await.unwrap();
    for (width, height) in [(100, 24), (40, 15)] {
        tmux.resize(width, height).unwrap();
        tmux.wait_until(|_| tmux.screen().unwrap().contains("lines (ctrl+o)"))
            .await
            .unwrap();
        tmux.press(&["C-o"]).unwrap();
        let mut next = 1;
        while next <= 60 {
            let expected = format!("line number {next}\n");
            tmux.wait_until(|_| {
                let shown = tmux.screen().unwrap();
                shown.contains(&expected) && shown.contains("enter allow once")
            })
            .await
            .unwrap();
            let screen = tmux.screen().unwrap();
            assert!(screen.contains("e edit") || screen.contains("e  Edit"), "{screen}");
            while next <= 60 && screen.contains(&format!("line number {next}\n")) {
                next += 1;
            }
            tmux.press(&["NPage"]).unwrap();
        }
        tmux.press(&["C-o"]).unwrap();
    }
    tmux.resize(100, 30).unwrap();
    tmux.press(&["Enter"]).unwrap();

    // The question names the action of the tool.
    tmux.wait_for_text("hew wants to delete values.txt").await.unwrap();
    tmux.wait_for_text("letter or ↑↓ to select").await.unwrap();
    tmux.write("no").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Finished.").await.unwrap();
    assert!(fixture.project.read("values.txt").unwrap().contains("first edit"));
}

#[tokio::test]
async fn jobs_are_counted_and_a_running_command_moves_to_the_background() {
    let script = Script::dynamic(|seen: &ParsedRequest| match seen.calls().count() {
        0 => Turn::text("").call("terminal", json!({"command": "sleep 300", "background": true})),
        1 => Turn::text("").call("terminal", json!({"command": "seq 5000; sleep 301"})),
        _ => Turn::text("Both are running."),
    });
    let Some(fixture) = fixture().await else {
        return;
    };
    let server = Server::start(script).await.unwrap();
    let tmux = Tmux::start(&fixture.hew.clone().with_server(&server), 100, 24).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("start them").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("1 job running · /jobs").await.unwrap();
    tmux.wait_for_text("+4,995 lines (ctrl+o)").await.unwrap();
    tmux.press(&["C-b"]).unwrap();
    tmux.wait_for_text("Both are running.").await.unwrap();
    let all = tmux.wait_for_text("2 jobs running · /jobs").await.unwrap();
    assert!(
        all.contains("◐ Run sleep 300 · running in the background as job 1"),
        "{all}"
    );
    assert!(all.contains("running in the background as job 2"), "{all}");
    // The end of the turn shows its usage.
    tmux.wait_for_text(" tokens · $").await.unwrap();
}

#[tokio::test]
async fn a_run_on_a_terminal_renders_markdown_and_diffs() {
    let Some(fixture) = fixture().await else {
        return;
    };
    let script = Script::dynamic(|seen: &ParsedRequest| match seen.calls().count() {
        0 => Turn::text("").call("read_file", json!({"path": "greeting.txt"})),
        1 => Turn::text("# Plan\n\nChange **one** word.\n").call(
            "edit_file",
            json!({"path": "greeting.txt", "old_text": "hello", "new_text": "good day"}),
        ),
        _ => Turn::text("It is `done`."),
    });
    let server = Server::start(script).await.unwrap();
    let hew = fixture.hew.clone().with_server(&server).args(["run", "change it"]);
    let tmux = Tmux::start(&hew, 100, 30).unwrap();
    let all = tmux.wait_for_text("It is done.").await.unwrap();
    assert!(all.contains("Change one word.") && !all.contains("**one**"), "{all}");
    assert!(all.contains("1 - hello") && all.contains("1 + good day"), "{all}");
    assert!(all.contains("✓ Edit greeting.txt"), "{all}");
}

#[tokio::test]
async fn a_plain_session_has_a_greeting_and_help_and_an_unfinished_session_is_reported() {
    let Some(fixture) = fixture().await else {
        return;
    };
    let tmux = Tmux::start(&fixture.hew.clone().arg("--plain"), 80, 24).unwrap();
    tmux.wait_for_text("Describe a task. /help lists commands")
        .await
        .unwrap();
    tmux.write("/help\n").unwrap();
    tmux.wait_for_text("/quit                       quit").await.unwrap();
    drop(tmux);
    let tmux = Tmux::start(&fixture.hew, 100, 30).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("answer slowly").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("word3").await.unwrap();
    kill(&fixture.hew, rustix::process::Signal::KILL);
    tmux.restart(&fixture.hew).unwrap();
    tmux.wait_for_text("was not finished; /sessions or").await.unwrap();
}

#[tokio::test]
async fn sigterm_ends_a_plain_session_during_a_turn() {
    let Some(fixture) = fixture().await else {
        return;
    };
    let tmux = Tmux::start(&fixture.hew.clone().arg("--plain"), 80, 24).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("answer slowly\n").unwrap();
    tmux.wait_for_text("word3").await.unwrap();
    kill(&fixture.hew, rustix::process::Signal::TERM);
    tmux.wait_for_text("ended with 143").await.unwrap();
}
