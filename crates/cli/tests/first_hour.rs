//! First use: slash commands, completion, dumb terminals, a crash.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use serde_json::json;
use std::time::Duration;
use testkit::{Hew, ParsedRequest, Project, Script, Server, Tmux, Turn};

struct Fixture {
    _server: Server,
    project: Project,
    hew: Hew,
}

/// A model that runs `run COMMAND`, writes `write FILE`, and repeats everything else.
async fn fixture() -> Fixture {
    let script = Script::dynamic(|seen: &ParsedRequest| {
        let text = seen.last_user_text();
        let line = text.lines().next().unwrap_or_default().to_owned();
        let called = |tool: &str| seen.calls().any(|call| call.name == tool);
        match line.split_once(' ') {
            // The name that other agents use.
            Some(("run", command)) if !called("run_command") => {
                Turn::text("").call("run_command", json!({"command": command}))
            }
            Some(("write", path)) if !called("write_file") => {
                Turn::text("").call("write_file", json!({"path": path, "content": "x\n"}))
            }
            _ => Turn::text("Finished."),
        }
    });
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("a.txt", "a\n"), ("AGENTS.md", "Be brief.\n")]).unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .env("HEW_MODEL", "anthropic/claude-sonnet-4-6")
        .current_dir(project.root());
    Fixture {
        _server: server,
        project,
        hew,
    }
}

/// Types a line and waits for a text.
async fn enter(tmux: &Tmux, line: &str, expected: &str) -> String {
    tmux.press(&["C-u"]).unwrap();
    tmux.write(line).unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text(expected).await.unwrap()
}

#[tokio::test]
async fn a_dumb_terminal_has_a_greeting_and_slash_commands() {
    if !Tmux::is_installed() {
        return;
    }
    let fixture = fixture().await;
    let tmux = Tmux::start(&fixture.hew.clone().env("TERM", "dumb"), 120, 50).unwrap();
    let greeting = tmux.wait_for_text("/help lists commands").await.unwrap();
    assert!(
        greeting.contains("anthropic/claude-sonnet-4-6; rules: AGENTS.md; sandbox: "),
        "{greeting}"
    );
    for (line, expected) in [
        ("/help", "/status                     show the session"),
        ("/undo", "this session is empty"),
        ("write b.txt", "1 file changed"),
        ("/undo", "Undid \"write b.txt\": 1 file removed"),
        ("/new", "new session"),
        ("run true", "✓ Run true"),
        ("/statsu", "did you mean /status?"),
        ("/nope", "there is no command /nope"),
        ("/mode plan", "mode: plan"),
        ("/effort high", "effort: high"),
        ("/effort hot", "unknown effort `hot`"),
        ("/model haiku", "model: anthropic/claude-haiku-"),
        ("/memory", "AGENTS.md"),
        ("/cost", "REQUESTS"),
        ("/export notes.md", "exported this session to notes.md"),
        ("/todo", "/todo needs the full-screen front end"),
        ("/status", "mode: plan"),
        ("/exit", "to continue: hew resume "),
        ("", "ended with 0"),
    ] {
        enter(&tmux, line, expected).await;
    }
    assert!(!fixture.project.root().join("b.txt").exists());
    let all = tmux.scrollback().unwrap();
    assert!(all.contains("✓ Write b.txt"), "{all}");
    let notes = std::fs::read_to_string(fixture.project.root().join("notes.md")).unwrap();
    assert!(notes.contains("✓ **Run** true"), "{notes}");
}

#[tokio::test]
async fn a_file_created_while_a_mention_is_typed_is_completed() {
    if !Tmux::is_installed() {
        return;
    }
    let fixture = fixture().await;
    let tmux = Tmux::start(&fixture.hew, 100, 30).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("@").unwrap();
    tmux.wait_for_text("a.txt").await.unwrap();
    std::fs::write(fixture.project.root().join("brand-new.txt"), "x").unwrap();
    tmux.write("bran").unwrap();
    tmux.wait_for_text("› brand-new.txt").await.unwrap();
    tmux.press(&["Tab"]).unwrap();
    tmux.wait_for_text("› @brand-new.txt").await.unwrap();
}

#[tokio::test]
async fn slash_commands_complete_by_alias_and_mistakes_are_explained() {
    if !Tmux::is_installed() {
        return;
    }
    let fixture = fixture().await;
    let tmux = Tmux::start(&fixture.hew, 120, 30).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    for (typed, expected) in [
        ("/resu", "› /resume  same as /sessions"),
        ("/exi", "› /exit  same as /quit"),
        ("/cos", "› /cost  same as /context"),
        ("/stat", "› /status"),
        ("/panel", "› /panels"),
    ] {
        tmux.press(&["C-u"]).unwrap();
        tmux.write(typed).unwrap();
        tmux.wait_for_text(expected).await.unwrap();
    }
    for (line, expected) in [
        ("/statsu", "unknown command /statsu; did you mean /status?"),
        (
            "/share",
            "unknown command /share; /export writes this session to a file",
        ),
        ("/plan", "unknown command /plan; /mode plan, or shift+tab"),
        ("/sandbox", "unknown command /sandbox; /permissions shows"),
        ("/bug", "unknown command /bug; run `hew doctor`"),
        ("/upgrade", "unknown command /upgrade; hew does not update itself"),
        ("/effort hihg", "did you mean high?"),
        ("/effort low", "effort: low, for this session"),
        ("/undo", "there is nothing to undo"),
        ("/model haiku", "also for new sessions"),
        ("/help", "/status             show the session"),
    ] {
        enter(&tmux, line, expected).await;
    }
    // Without a prompt, pressing Esc twice does not open rewind.
    tmux.press(&["Escape"]).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    enter(&tmux, "/status", "effort low").await;
    tmux.press(&["Escape"]).unwrap();
    tmux.press(&["Escape"]).unwrap();
    let all = enter(&tmux, "/status", "effort low").await;
    assert!(!all.contains("Rewind"), "{all}");
}

#[tokio::test]
async fn the_command_of_a_call_interrupted_by_a_crash_is_shown() {
    if !Tmux::is_installed() {
        return;
    }
    let fixture = fixture().await;
    let task = ["run", "run touch started; sleep 97"];
    let running = fixture.hew.clone().args(task).spawn().unwrap();
    let started = fixture.project.root().join("started");
    for _ in 0..600 {
        if started.exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(started.exists());
    running.kill().unwrap();
    running.wait().await.unwrap();

    let tmux = Tmux::start(&fixture.hew, 120, 30).unwrap();
    tmux.wait_for_text("was not finished; /sessions or `hew resume")
        .await
        .unwrap();
    enter(&tmux, "/sessions", "› run touch started; sleep 97").await;
    tmux.press(&["Enter"]).unwrap();
    let all = tmux.wait_for_text("/continue continues it").await.unwrap();
    assert!(all.contains("Run touch started; sleep 97"), "{all}");
}

#[tokio::test]
async fn shift_tab_allows_the_waiting_change() {
    if !Tmux::is_installed() {
        return;
    }
    let fixture = fixture().await;
    let hew = fixture.hew.clone().args(["--set", "approval.writes=ask"]);
    let tmux = Tmux::start(&hew, 100, 30).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    enter(&tmux, "write b.txt", "Allow all changes in the project").await;
    assert!(!fixture.project.root().join("b.txt").exists());
    tmux.press(&["BTab"]).unwrap();
    tmux.wait_for_text("Finished.").await.unwrap();
    assert!(fixture.project.root().join("b.txt").exists());
    tmux.wait_for_text("accept edits").await.unwrap();
}

#[tokio::test]
async fn values_of_commands_are_completed_and_rules_files_can_be_created() {
    if !Tmux::is_installed() {
        return;
    }
    let fixture = fixture().await;
    let hew = fixture.hew.clone().env("EDITOR", "touch").env("VISUAL", "touch");
    let tmux = Tmux::start(&hew, 100, 30).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("/effort hi").unwrap();
    tmux.wait_for_text("› high").await.unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("effort: high, for this session").await.unwrap();
    tmux.write("/model haiku").unwrap();
    tmux.wait_for_text("› anthropic/claude-haiku-").await.unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("model: anthropic/claude-haiku-").await.unwrap();
    let own = fixture.hew.home().join(".config/hew/AGENTS.md");
    assert!(!own.exists());
    enter(&tmux, "/memory", "all projects, new file").await;
    tmux.press(&["Down", "Enter"]).unwrap();
    tmux.wait_until(|_| own.exists()).await.unwrap();
}

#[tokio::test]
async fn a_session_that_asks_before_changes_still_asks_in_another_process() {
    if !Tmux::is_installed() {
        return;
    }
    let fixture = fixture().await;
    let tmux = Tmux::start(&fixture.hew, 100, 30).unwrap();
    tmux.wait_for_text("accept edits").await.unwrap();
    enter(&tmux, "hello", "Finished.").await;
    tmux.press(&["BTab"]).unwrap();
    tmux.wait_for_text("plan ·").await.unwrap();
    tmux.press(&["BTab"]).unwrap();
    tmux.wait_for_text("ask ·").await.unwrap();
    tmux.press(&["C-d"]).unwrap();
    tmux.wait_for_text("to continue: hew resume").await.unwrap();
    tmux.close().unwrap();
    for start in [&["resume"][..], &["-c"], &["fork"]] {
        let hew = start.iter().fold(fixture.hew.clone(), |hew, word| hew.arg(word));
        let tmux = Tmux::start(&hew, 100, 30).unwrap();
        tmux.wait_for_text("ask ·").await.unwrap();
        if start == ["resume"] {
            enter(&tmux, "write b.txt", "Allow once").await;
            assert!(!fixture.project.root().join("b.txt").exists());
            tmux.press(&["Escape"]).unwrap();
            tmux.wait_for_text("Write b.txt · interrupted").await.unwrap();
        }
        tmux.close().unwrap();
    }
}

#[tokio::test]
async fn the_command_that_resumes_a_plain_session_works_on_the_same_terminal() {
    if !Tmux::is_installed() {
        return;
    }
    let fixture = fixture().await;
    let tmux = Tmux::start(&fixture.hew.clone().arg("--plain"), 100, 30).unwrap();
    tmux.wait_for_text("/quit ends").await.unwrap();
    enter(&tmux, "hello", "Finished.").await;
    enter(&tmux, "/quit", "to continue: hew resume").await;
    tmux.close().unwrap();
    for words in [&["resume", "--plain"][..], &["--plain", "resume"], &["--plain", "fork"]] {
        let hew = words.iter().fold(fixture.hew.clone(), |hew, word| hew.arg(word));
        let tmux = Tmux::start(&hew, 100, 30).unwrap();
        tmux.wait_for_text("/quit ends").await.unwrap();
        enter(&tmux, "/status", "session: 0").await;
        tmux.close().unwrap();
    }
}
