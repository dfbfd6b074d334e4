//! The terminal front end in a real terminal, from the first prompt to the last.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use serde_json::json;
use std::time::Duration;
use testkit::{Hew, Pace, ParsedRequest, Project, Script, Server, Tmux, Turn};

/// A task in steps: read, change, ask for something outside the project, report.
fn script(outside: String) -> Script {
    Script::dynamic(move |seen: &ParsedRequest| {
        let calls = seen.calls().count();
        let said = seen.last_user_text();
        if said.contains("slowly") {
            let words: String = (0..4_000).map(|n| format!("word{n} ")).collect();
            return Turn::text(words).pace(Pace::with_delay(8, Duration::from_millis(80)));
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
    .pace(Pace::with_delay(12, Duration::from_millis(2)))
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
    tmux.wait_for_text("Describe a task").await.unwrap();

    // Prompt, streaming, a tool, an edit.
    tmux.write("make the greeting polite").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Looking at the file first.").await.unwrap();
    let all = tmux.wait_for_text("good day").await.unwrap();
    assert!(all.contains("› make the greeting polite"), "{all}");

    // Approval in place; a yes is one key.
    tmux.wait_for_text("wants to change").await.unwrap();
    assert_eq!(greeting(), "good day\n");
    tmux.wait_for_text("allow once").await.unwrap();
    // Whoever was typing does not answer by accident: keys are offered when they count.
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Everything is done.").await.unwrap();
    assert_eq!(
        std::fs::read_to_string(play.outside.path().join("other.txt")).unwrap(),
        "x\n"
    );

    // Undo.
    tmux.wait_until(|all| !all.contains("esc to interrupt")).await.unwrap();
    tmux.write("/undo").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_until(|_| greeting() == "hello\n").await.unwrap();

    // A slow reply: a queued prompt waits, and comes back into the line when the turn is stopped.
    tmux.write("tell it slowly").unwrap();
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

    // Killed in the middle of a reply, it goes on where it was.
    tmux.write("tell it slowly again").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("word5").await.unwrap();
    kill(&play.hew, rustix::process::Signal::KILL);
    tmux.restart(&play.hew.clone().arg("-c")).unwrap();
    let all = tmux.wait_for_text("tell it slowly again").await.unwrap();
    assert!(all.contains("That was the queued one."), "{all}");
    drop(play.server);
}

#[tokio::test]
async fn what_was_typed_while_the_agent_worked_survives_a_kill() {
    let Some(play) = play().await else {
        return;
    };
    let tmux = Tmux::start(&play.hew, 100, 30).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("tell it slowly").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("word3").await.unwrap();
    // One joins at the next step, the other waits for the end of the turn.
    tmux.write("do this afterwards").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("joins at the next step").await.unwrap();
    tmux.write("and the other afterwards").unwrap();
    tmux.press(&["Tab"]).unwrap();
    tmux.wait_for_text("queued").await.unwrap();
    let database = play.hew.home().join(".local/share/hew/hew.db");
    let waiting = || -> i64 {
        let database = rusqlite::Connection::open(&database).unwrap();
        database
            .query_row("SELECT count(*) FROM waiting", [], |row| row.get(0))
            .unwrap()
    };
    tmux.wait_until(|_| waiting() == 2).await.unwrap();
    kill(&play.hew, rustix::process::Signal::KILL);

    let resumed = play.hew.clone().args(["resume", "last"]).run().await.unwrap();
    assert_eq!(resumed.stdout, "That was the queued one.\n", "{}", resumed.stderr);
    for text in ["do this afterwards", "and the other afterwards"] {
        let told = format!("this prompt was queued when hew ended; it will be sent with the next turn: {text}");
        assert!(resumed.stderr.contains(&told), "{}", resumed.stderr);
        let body = String::from_utf8_lossy(&play.server.requests().last().unwrap().body).into_owned();
        assert!(body.contains(text), "{body}");
    }
    assert_eq!(waiting(), 0);
}

// The model's server goes on while the terminal is given another size.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resizing_a_real_terminal_while_text_streams_loses_no_line_and_shows_none_twice() {
    if !Tmux::is_installed() {
        return;
    }
    // More than there is time for: the text goes on until all the sizes have been.
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
    // By then nothing of what is drawn is at the very top, where tmux pushes rows into its history.
    tmux.wait_for_text("line 30.").await.unwrap();
    let mut seed: u32 = 7;
    let mut next = |least: u32, most: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u16::try_from(least + (seed >> 16) % (most - least)).unwrap()
    };
    // Without a pause: nobody waits until what came before has been drawn.
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
async fn a_signal_gives_the_terminal_back_and_keeps_the_draft() {
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::HUP] {
        let Some(play) = play().await else {
            return;
        };
        let tmux = Tmux::start(&play.hew, 80, 24).unwrap();
        tmux.wait_for_text("Describe a task").await.unwrap();
        tmux.write("half a thought").unwrap();
        tmux.wait_for_text("› half a thought").await.unwrap();
        kill(&play.hew, signal);
        let all = tmux
            .wait_until(|all| all.contains("ended with 143") && all.contains("icanon"))
            .await
            .unwrap();
        assert!(!all.contains("half a thought"), "{all}");
        assert!(!all.contains("-icanon") && !all.contains("-echo "), "{all}");
        assert_eq!(
            tmux.display_message("#{cursor_flag} #{alternate_on}").unwrap().trim(),
            "1 0"
        );
        tmux.restart(&play.hew).unwrap();
        tmux.wait_for_text("› half a thought").await.unwrap();
    }
}

#[tokio::test]
async fn ctrl_z_gives_the_terminal_to_the_shell_and_fg_brings_everything_back() {
    let Some(play) = play().await else {
        return;
    };
    let tmux = Tmux::shell(&play.hew, 80, 24).unwrap();
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
    // It takes keys as before.
    tmux.write(" more").unwrap();
    tmux.wait_for_text("› half a thought more").await.unwrap();
}

#[tokio::test]
async fn a_terminal_that_goes_away_ends_the_program_and_keeps_the_draft() {
    let Some(play) = play().await else {
        return;
    };
    let tmux = Tmux::start(&play.hew, 80, 24).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("half a thought").unwrap();
    tmux.wait_for_text("› half a thought").await.unwrap();
    let pid = std::fs::read_to_string(play.hew.pid_file()).unwrap();
    tmux.close().unwrap();
    while is_alive(pid.trim()) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let tmux = Tmux::start(&play.hew, 80, 24).unwrap();
    tmux.wait_for_text("› half a thought").await.unwrap();
}

/// Whether a process runs; one that has ended and that nobody has asked about does not.
fn is_alive(pid: &str) -> bool {
    let asked = std::process::Command::new("ps")
        .args(["-o", "stat=", "-p", pid])
        .output()
        .unwrap();
    let state = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

#[tokio::test]
async fn without_standard_input_it_says_so_and_ends() {
    let Some(play) = play().await else {
        return;
    };
    let tmux = Tmux::shell(&play.hew, 80, 24).unwrap();
    tmux.wait_for_text("ready>").await.unwrap();
    tmux.write("run <&-; echo ended with $?\n").unwrap();
    let all = tmux.wait_for_text("\nended with 2").await.unwrap();
    assert!(all.contains("hew without a command requires a terminal"), "{all}");
}

#[tokio::test]
async fn a_dumb_terminal_is_talked_to_line_by_line_and_gets_no_escape_sequence() {
    let Some(play) = play().await else {
        return;
    };
    let tmux = Tmux::shell(&play.hew.clone().env("TERM", "dumb"), 80, 24).unwrap();
    tmux.wait_for_text("ready>").await.unwrap();
    let copy = play.hew.home().join("shown");
    tmux.copy_to(&copy).unwrap();
    tmux.write("run\n").unwrap();
    tmux.wait_until(|all| all.trim_end().ends_with("\n>")).await.unwrap();
    tmux.write("say something afterwards\n").unwrap();
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
async fn leaving_sends_no_reply_of_the_terminal_to_the_shell() {
    for keys in [&["C-d"][..], &["/quit", "Enter"], &["C-c", "C-c"]] {
        let Some(play) = play().await else {
            return;
        };
        let tmux = Tmux::shell(&play.hew, 120, 40).unwrap();
        tmux.wait_for_text("ready>").await.unwrap();
        tmux.write("run\n").unwrap();
        tmux.wait_for_text("Describe a task").await.unwrap();
        tmux.wait_for_text("accept edits").await.unwrap();
        tmux.press(keys).unwrap();
        tmux.wait_until(|all| all.trim_end().ends_with("ready>")).await.unwrap();
        // What the shell reads next is exactly what is typed.
        tmux.write("echo as'k'ed\n").unwrap();
        let all = tmux.wait_for_text("\nasked").await.unwrap();
        assert!(all.contains("ready> echo as'k'ed"), "{keys:?}: {all}");
    }
}

#[tokio::test]
async fn a_rewind_restores_the_files_and_undo_refers_to_what_is_visible() {
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
    let Some(play) = play().await else {
        return;
    };
    let server = Server::start(script).await.unwrap();
    let hew = play.hew.clone().with_server(&server);
    let file = |name: &str| play.project.root().join(name).exists();
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
    tmux.wait_for_text("1 file changed since").await.unwrap();
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
    play.project.write("0.txt", "mine\n").unwrap();
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
async fn all_of_a_change_can_be_read_before_approval() {
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
    let Some(play) = play().await else {
        return;
    };
    play.project.write("values.txt", &before).unwrap();
    let server = Server::start(script).await.unwrap();
    let hew = play.hew.clone().with_server(&server);
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
    tmux.wait_for_text("hew wants to change").await.unwrap();
    tmux.wait_for_text("line number 1").await.unwrap();
    for (width, height) in [(100, 24), (40, 15)] {
        tmux.resize(width, height).unwrap();
        tmux.wait_until(|_| tmux.screen().unwrap().contains("lines (ctrl+o)"))
            .await
            .unwrap();
        tmux.press(&["C-o"]).unwrap();
        let mut next = 1;
        while next <= 60 {
            let wanted = format!("line number {next}\n");
            tmux.wait_until(|_| {
                let shown = tmux.screen().unwrap();
                shown.contains(&wanted) && shown.contains("enter allow once")
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

    // What is asked is what the tool does.
    tmux.wait_for_text("hew wants to delete values.txt").await.unwrap();
    tmux.wait_for_text("letter or ↑↓ to select").await.unwrap();
    tmux.write("no").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Finished.").await.unwrap();
    assert!(play.project.read("values.txt").unwrap().contains("first edit"));
}

#[tokio::test]
async fn jobs_are_counted_and_a_running_command_moves_to_the_background() {
    let script = Script::dynamic(|seen: &ParsedRequest| match seen.calls().count() {
        0 => Turn::text("").call("terminal", json!({"command": "sleep 300", "background": true})),
        1 => Turn::text("").call("terminal", json!({"command": "seq 5000; sleep 301"})),
        _ => Turn::text("Both are running."),
    });
    let Some(play) = play().await else {
        return;
    };
    let server = Server::start(script).await.unwrap();
    let tmux = Tmux::start(&play.hew.clone().with_server(&server), 100, 24).unwrap();
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
    let Some(play) = play().await else {
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
    let hew = play.hew.clone().with_server(&server).args(["run", "change it"]);
    let tmux = Tmux::start(&hew, 100, 30).unwrap();
    let all = tmux.wait_for_text("It is done.").await.unwrap();
    assert!(all.contains("Change one word.") && !all.contains("**one**"), "{all}");
    assert!(all.contains("1 - hello") && all.contains("1 + good day"), "{all}");
    assert!(all.contains("✓ Edit greeting.txt"), "{all}");
}

#[tokio::test]
async fn a_session_without_a_screen_greets_and_has_help_and_an_unfinished_one_is_mentioned() {
    let Some(play) = play().await else {
        return;
    };
    let tmux = Tmux::start(&play.hew.clone().arg("--plain"), 80, 24).unwrap();
    tmux.wait_for_text("Describe a task. /help lists commands")
        .await
        .unwrap();
    tmux.write("/help\n").unwrap();
    tmux.wait_for_text("/quit                       quit").await.unwrap();
    drop(tmux);
    let tmux = Tmux::start(&play.hew, 100, 30).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("tell it slowly").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("word3").await.unwrap();
    kill(&play.hew, rustix::process::Signal::KILL);
    tmux.restart(&play.hew).unwrap();
    tmux.wait_for_text("was not finished; /sessions or").await.unwrap();
}
