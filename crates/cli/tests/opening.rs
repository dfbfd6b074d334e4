//! How the terminal front end begins: with a session, or with the reason why there is none.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use std::os::unix::fs::PermissionsExt as _;
use testkit::{Hew, ParsedRequest, Project, Script, Server, Tmux, Turn};

/// What stands in the line where prompts are written.
const READY: &str = "Describe a task";

struct Play {
    /// Serves the model; it is never looked at.
    _server: Server,
    _project: Project,
    hew: Hew,
}

async fn play() -> Option<Play> {
    if !Tmux::is_installed() {
        return None;
    }
    // What hew tells about the surroundings comes after what the person said.
    let said = |seen: &ParsedRequest| seen.last_user_text().lines().next().unwrap_or_default().to_owned();
    let script = Script::dynamic(move |seen: &ParsedRequest| Turn::text(format!("Heard: {}.", said(seen))));
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("a.txt", "a\n")]).unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .env("HEW_MODEL", "anthropic/claude-sonnet-4-6")
        .current_dir(project.root());
    Some(Play {
        _server: server,
        _project: project,
        hew,
    })
}

/// What is shown, however it was broken into rows.
fn in_a_line(all: &str) -> String {
    all.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Waits until the front end has ended so, and looks whether the terminal was given back.
async fn ended(tmux: &Tmux, code: u8) -> String {
    let end = format!("ended with {code}");
    let all = tmux
        .wait_until(|all| all.contains(&end) && all.contains("icanon"))
        .await
        .unwrap();
    assert!(!all.contains("-icanon") && !all.contains("-echo "), "{all}");
    assert_eq!(
        tmux.display_message("#{cursor_flag} #{alternate_on}").unwrap().trim(),
        "1 0"
    );
    all
}

/// Leaves: the first Ctrl-C asks for a second one.
async fn leave(tmux: &Tmux) -> String {
    tmux.press(&["C-c"]).unwrap();
    tmux.wait_for_text("press again to quit").await.unwrap();
    tmux.press(&["C-c"]).unwrap();
    ended(tmux, 0).await
}

#[tokio::test]
async fn what_is_wrong_at_the_start_is_the_end_with_the_sentence_of_hew_run() {
    let Some(play) = play().await else { return };
    for (args, code, sentence) in [
        (&["--session", "zzz"][..], 2, "error: there is no session"),
        (&["resume"], 2, "error: there is no session in "),
        (&["resume", "0123"], 2, "error: there is no session"),
        (&["-m", "foo/bar"], 2, "error: there is no model `foo/bar`"),
        (&["--mode", "cod"], 2, "error: there is no mode `cod`"),
    ] {
        let tmux = Tmux::start(&play.hew.clone().args(args), 100, 30).unwrap();
        let all = ended(&tmux, code).await;
        assert!(all.contains(sentence) && all.contains("hint: "), "{args:?}: {all}");
        assert!(!all.contains(READY), "{args:?}: {all}");
    }
    let data = tempfile::tempdir().unwrap();
    std::fs::write(
        data.path().join("hew.db"),
        "nothing of a database, and long enough to be looked at".repeat(99),
    )
    .unwrap();
    let tmux = Tmux::start(&play.hew.clone().env("HEW_DATA_DIR", data.path()), 100, 30).unwrap();
    let all = ended(&tmux, 1).await;
    assert!(all.contains("error: ") && all.contains("hew.db"), "{all}");
}

#[tokio::test]
async fn where_there_is_nothing_to_go_on_with_a_new_session_begins() {
    let Some(play) = play().await else { return };
    let tmux = Tmux::start(&play.hew.clone().arg("-c"), 100, 30).unwrap();
    tmux.wait_until(|all| in_a_line(all).contains("starting a new session"))
        .await
        .unwrap();
    tmux.wait_for_text(READY).await.unwrap();
    // Nothing was said: there is nothing to resume.
    let all = leave(&tmux).await;
    assert!(!all.contains("to continue:"), "{all}");
    let tmux = Tmux::start(&play.hew.clone().arg("-c"), 100, 30).unwrap();
    tmux.wait_until(|all| in_a_line(all).contains("starting a new session"))
        .await
        .unwrap();
    tmux.wait_for_text(READY).await.unwrap();
    tmux.write("hello").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Heard: hello.").await.unwrap();

    // Open in another terminal, it cannot be opened here until it is left there.
    let here = Tmux::start(&play.hew.clone().arg("-c"), 100, 30).unwrap();
    let all = ended(&here, 1).await;
    assert!(all.contains("error: ") && all.contains("is open"), "{all}");
    tmux.wait_until(|all| !all.contains("esc to interrupt")).await.unwrap();
    let all = leave(&tmux).await;
    assert!(all.contains("to continue: hew resume "), "{all}");
    here.restart(&play.hew.clone().arg("-c")).unwrap();
    here.wait_until(|all| all.contains("Heard: hello.") && all.contains("claude-sonnet-4-6"))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_task_on_the_command_line_is_said_at_once() {
    let Some(play) = play().await else { return };
    let tmux = Tmux::start(&play.hew.clone().args(["say it twice", "--effort", "low"]), 100, 30).unwrap();
    let all = tmux.wait_for_text("Heard: say it twice.").await.unwrap();
    assert!(all.contains("› say it twice"), "{all}");
    tmux.restart(&play.hew.clone().args(["-f", "a.txt", "--", "run", "along"]))
        .unwrap();
    tmux.wait_for_text("› run along").await.unwrap();
    tmux.wait_for_text("Heard: ").await.unwrap();
}

/// Nobody has a key, and there is no keyring: no desktop runs in a clean environment.
fn without_key(server: &Server, project: &Project) -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .env("ANTHROPIC_BASE_URL", server.url())
        .current_dir(project.root())
}

#[tokio::test]
async fn without_key_and_keyring_the_first_steps_lead_to_a_session() {
    if !Tmux::is_installed() || cfg!(target_os = "macos") {
        return;
    }
    let script = Script::dynamic(|_: &ParsedRequest| Turn::text("Good day."));
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("a.txt", "a\n")]).unwrap();
    let hew = without_key(&server, &project);
    let tmux = Tmux::start(&hew, 80, 24).unwrap();
    tmux.wait_for_text("Choose a model provider").await.unwrap();
    tmux.wait_for_text("requires a key").await.unwrap();
    tmux.press(&["Escape"]).unwrap();
    let all = ended(&tmux, 2).await;
    assert!(all.contains("error: no model is configured"), "{all}");
    assert!(all.contains("hew keys set anthropic --file"), "{all}");

    tmux.restart(&hew).unwrap();
    tmux.wait_for_text("requires a key").await.unwrap();
    tmux.write("anthropic").unwrap();
    tmux.wait_until(|all| !all.contains("OpenAI")).await.unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("paste it here").await.unwrap();
    tmux.write("sk-12345678").unwrap();
    tmux.press(&["Enter"]).unwrap();
    let all = tmux
        .wait_for_text("keys.toml, a file that only you can read")
        .await
        .unwrap();
    assert!(all.contains("in memory only, until hew exits"), "{all}");
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Choose a model").await.unwrap();
    let file = hew.home().join(".config/hew/keys.toml");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "anthropic = \"sk-12345678\"\n");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("the provider answered in").await.unwrap();
    tmux.wait_for_text("enter start").await.unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text(READY).await.unwrap();
    tmux.write("hello").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Good day.").await.unwrap();
}

#[tokio::test]
async fn whoever_has_no_key_can_watch_the_demonstration() {
    if !Tmux::is_installed() || cfg!(target_os = "macos") {
        return;
    }
    let server = Server::start(Script::new().turn(Turn::text("ok"))).await.unwrap();
    let project = Project::new(&[("a.txt", "a\n")]).unwrap();
    let tmux = Tmux::start(&without_key(&server, &project), 100, 30).unwrap();
    tmux.wait_for_text("tab demo without a key").await.unwrap();
    tmux.press(&["Tab"]).unwrap();
    tmux.wait_for_text("The project: ").await.unwrap();
}

#[tokio::test]
async fn a_key_is_kept_in_a_file_where_there_is_no_keyring() {
    if cfg!(target_os = "macos") {
        return;
    }
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap();
    let set = |hew: &Hew| hew.clone().args(["keys", "set", "openai"]).stdin("sk-12345678\n");
    let output = set(&hew).run().await.unwrap();
    assert_eq!(output.code(), Some(1), "{}", output.stderr);
    assert!(
        output
            .stderr
            .contains("hint: `hew keys set openai --file` keeps it in "),
        "{}",
        output.stderr
    );
    let output = set(&hew).arg("--file").run().await.unwrap();
    assert!(output.is_success(), "{}", output.stderr);
    let output = hew.clone().args(["keys", "list"]).run().await.unwrap();
    assert!(
        output.stdout.contains("openai") && output.stdout.contains("keys.toml"),
        "{}",
        output.stdout
    );
    let output = hew.clone().args(["keys", "remove", "openai"]).run().await.unwrap();
    assert!(output.is_success(), "{}", output.stderr);
    let output = hew.clone().args(["keys", "list"]).run().await.unwrap();
    assert!(output.stderr.contains("no provider has a key"), "{}", output.stderr);
}

#[tokio::test]
async fn whoever_cannot_have_another_session_keeps_their_own() {
    let Some(play) = play().await else { return };
    let there = Tmux::start(
        &play.hew.clone().args(["--set", "title=false", "the alpha task"]),
        100,
        30,
    )
    .unwrap();
    there.wait_for_text("Heard: the alpha task.").await.unwrap();
    there.wait_until(|all| !all.contains("esc to interrupt")).await.unwrap();
    let here = Tmux::start(
        &play.hew.clone().args(["--set", "title=false", "the beta task"]),
        100,
        30,
    )
    .unwrap();
    here.wait_for_text("Heard: the beta task.").await.unwrap();
    here.wait_until(|all| !all.contains("esc to interrupt")).await.unwrap();
    here.write("/sessions").unwrap();
    here.press(&["Enter"]).unwrap();
    here.wait_for_text("alpha").await.unwrap();
    here.write("alpha").unwrap();
    here.wait_until(|_| here.screen().is_ok_and(|seen| !seen.contains("beta")))
        .await
        .unwrap();
    here.press(&["Enter"]).unwrap();
    here.wait_until(|all| in_a_line(all).contains("is open in another hew process"))
        .await
        .unwrap();
    here.write("still here").unwrap();
    here.press(&["Enter"]).unwrap();
    here.wait_for_text("Heard: still here.").await.unwrap();
}

#[tokio::test]
async fn a_copy_of_a_session_leaves_it_as_it_is() {
    let Some(play) = play().await else { return };
    let run = |args: &[&str]| play.hew.clone().args(args).run();
    assert!(run(&["run", "the first task"]).await.unwrap().is_success());
    let output = run(&["fork"]).await.unwrap();
    assert!(output.is_success(), "{}", output.stderr);
    let copy = output.stdout.trim().to_owned();
    assert!(
        output.stderr.contains("to continue with the copy: hew resume "),
        "{}",
        output.stderr
    );
    let shown = run(&["sessions", "show", &copy]).await.unwrap();
    assert!(shown.stdout.contains("the first task"), "{}", shown.stdout);
    let all = run(&["sessions", "list", "--json"]).await.unwrap();
    let all: serde_json::Value = serde_json::from_str(&all.stdout).unwrap();
    assert_eq!(all.as_array().unwrap().len(), 2, "{all}");
    let tmux = Tmux::start(&play.hew.clone().args(["fork", &copy]), 100, 30).unwrap();
    tmux.wait_for_text("the first task").await.unwrap();
}

#[tokio::test]
async fn the_configuration_is_looked_at_after_it_was_edited() {
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap();
    let edit = |text: &str| {
        let other = hew.home().join("other.toml");
        std::fs::write(&other, text).unwrap();
        let editor = format!("cp {}", other.display());
        hew.clone().env("EDITOR", editor).args(["config", "edit"]).run()
    };
    let output = edit("modl = 1\npermision = 2\n").await.unwrap();
    assert_eq!(output.code(), Some(2), "{}", output.stderr);
    assert!(
        output.stderr.contains("`modl`") && output.stderr.contains("`permision`"),
        "{}",
        output.stderr
    );
    let output = edit("[tui]\ntheme = \"nope\"\n").await.unwrap();
    assert!(
        output.is_success() && output.stderr.contains("nope"),
        "{}",
        output.stderr
    );
    let output = edit("title = false\n").await.unwrap();
    assert!(output.is_success() && output.stderr.is_empty(), "{}", output.stderr);
    let kept = std::fs::read_to_string(hew.home().join(".config/hew/config.toml")).unwrap();
    assert_eq!(kept, "title = false\n");
}
