//! The start of the terminal front end: a session is opened, or the error is reported.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use std::os::unix::fs::PermissionsExt as _;
use testkit::{Hew, ParsedRequest, Project, Script, Server, Tmux, Turn};

/// The placeholder of the composer.
const READY: &str = "Describe a task";

struct Fixture {
    /// Serves the model while the test runs.
    _server: Server,
    _project: Project,
    hew: Hew,
}

async fn fixture() -> Option<Fixture> {
    if !Tmux::is_installed() {
        return None;
    }
    // The environment follows the user's text.
    let prompt = |request: &ParsedRequest| request.last_user_text().lines().next().unwrap_or_default().to_owned();
    let script = Script::dynamic(move |request: &ParsedRequest| Turn::text(format!("Received: {}.", prompt(request))));
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("a.txt", "a\n")]).unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .env("HEW_MODEL", "anthropic/claude-sonnet-4-6")
        .current_dir(project.root());
    Some(Fixture {
        _server: server,
        _project: project,
        hew,
    })
}

/// The text without line breaks.
fn unwrapped(all: &str) -> String {
    all.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Waits until the front end has exited with this code, and checks that the terminal is restored.
async fn wait_for_exit(tmux: &Tmux, code: u8) -> String {
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

/// Quits with Ctrl-C, which has to be pressed twice.
async fn quit(tmux: &Tmux) -> String {
    tmux.press(&["C-c"]).unwrap();
    tmux.wait_for_text("press again to quit").await.unwrap();
    tmux.press(&["C-c"]).unwrap();
    wait_for_exit(tmux, 0).await
}

#[tokio::test]
async fn an_error_at_the_start_exits_with_the_message_of_hew_run() {
    let Some(fixture) = fixture().await else { return };
    for (args, code, message) in [
        (&["--session", "zzz"][..], 2, "error: there is no session"),
        (&["resume"], 2, "error: there is no session in "),
        (&["resume", "0123"], 2, "error: there is no session"),
        (&["-m", "foo/bar"], 2, "error: there is no model `foo/bar`"),
        (&["--mode", "cod"], 2, "error: there is no mode `cod`"),
    ] {
        let tmux = Tmux::start(&fixture.hew.clone().args(args), 100, 30).unwrap();
        let all = wait_for_exit(&tmux, code).await;
        assert!(all.contains(message) && all.contains("hint: "), "{args:?}: {all}");
        assert!(!all.contains(READY), "{args:?}: {all}");
    }
    let data = tempfile::tempdir().unwrap();
    std::fs::write(
        data.path().join("hew.db"),
        "not a database, and longer than its header".repeat(99),
    )
    .unwrap();
    let tmux = Tmux::start(&fixture.hew.clone().env("HEW_DATA_DIR", data.path()), 100, 30).unwrap();
    let all = wait_for_exit(&tmux, 1).await;
    assert!(all.contains("error: ") && all.contains("hew.db"), "{all}");
}

#[tokio::test]
async fn continuing_starts_a_new_session_if_there_is_none() {
    let Some(fixture) = fixture().await else { return };
    let tmux = Tmux::start(&fixture.hew.clone().arg("-c"), 100, 30).unwrap();
    tmux.wait_until(|all| unwrapped(all).contains("starting a new session"))
        .await
        .unwrap();
    tmux.wait_for_text(READY).await.unwrap();
    // Without a prompt there is nothing to resume.
    let all = quit(&tmux).await;
    assert!(!all.contains("to continue:"), "{all}");
    let tmux = Tmux::start(&fixture.hew.clone().arg("-c"), 100, 30).unwrap();
    tmux.wait_until(|all| unwrapped(all).contains("starting a new session"))
        .await
        .unwrap();
    tmux.wait_for_text(READY).await.unwrap();
    tmux.write("hello").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Received: hello.").await.unwrap();

    // A session that is open in another terminal cannot be opened until it is closed there.
    let second = Tmux::start(&fixture.hew.clone().arg("-c"), 100, 30).unwrap();
    let all = wait_for_exit(&second, 1).await;
    assert!(all.contains("error: ") && all.contains("is open"), "{all}");
    tmux.wait_until(|all| !all.contains("esc to interrupt")).await.unwrap();
    let all = quit(&tmux).await;
    assert!(all.contains("to continue: hew resume "), "{all}");
    second.restart(&fixture.hew.clone().arg("-c")).unwrap();
    second
        .wait_until(|all| all.contains("Received: hello.") && all.contains("claude-sonnet-4-6"))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_task_on_the_command_line_is_sent_immediately() {
    let Some(fixture) = fixture().await else { return };
    let tmux = Tmux::start(&fixture.hew.clone().args(["say it twice", "--effort", "low"]), 100, 30).unwrap();
    let all = tmux.wait_for_text("Received: say it twice.").await.unwrap();
    assert!(all.contains("› say it twice"), "{all}");
    tmux.restart(&fixture.hew.clone().args(["-f", "a.txt", "--", "run", "along"]))
        .unwrap();
    tmux.wait_for_text("› run along").await.unwrap();
    tmux.wait_for_text("Received: ").await.unwrap();
}

/// hew without a key; a clean environment has no desktop and therefore no keyring.
fn without_key(server: &Server, project: &Project) -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .env("ANTHROPIC_BASE_URL", server.url())
        .current_dir(project.root())
}

#[tokio::test]
async fn without_a_key_and_a_keyring_setup_leads_to_a_session() {
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
    let all = wait_for_exit(&tmux, 2).await;
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
async fn the_demo_can_be_started_without_a_key() {
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
async fn a_key_is_stored_in_a_file_if_there_is_no_keyring() {
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
async fn the_current_session_continues_if_another_one_cannot_be_opened() {
    let Some(fixture) = fixture().await else { return };
    let first = Tmux::start(
        &fixture.hew.clone().args(["--set", "title=false", "the alpha task"]),
        100,
        30,
    )
    .unwrap();
    first.wait_for_text("Received: the alpha task.").await.unwrap();
    first.wait_until(|all| !all.contains("esc to interrupt")).await.unwrap();
    let second = Tmux::start(
        &fixture.hew.clone().args(["--set", "title=false", "the beta task"]),
        100,
        30,
    )
    .unwrap();
    second.wait_for_text("Received: the beta task.").await.unwrap();
    second
        .wait_until(|all| !all.contains("esc to interrupt"))
        .await
        .unwrap();
    second.write("/sessions").unwrap();
    second.press(&["Enter"]).unwrap();
    second.wait_for_text("alpha").await.unwrap();
    second.write("alpha").unwrap();
    second
        .wait_until(|_| second.screen().is_ok_and(|text| !text.contains("beta")))
        .await
        .unwrap();
    second.press(&["Enter"]).unwrap();
    second
        .wait_until(|all| unwrapped(all).contains("is open in another hew process"))
        .await
        .unwrap();
    second.write("still here").unwrap();
    second.press(&["Enter"]).unwrap();
    second.wait_for_text("Received: still here.").await.unwrap();
}

#[tokio::test]
async fn a_fork_does_not_change_its_session() {
    let Some(fixture) = fixture().await else { return };
    let run = |args: &[&str]| fixture.hew.clone().args(args).run();
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
    let tmux = Tmux::start(&fixture.hew.clone().args(["fork", &copy]), 100, 30).unwrap();
    tmux.wait_for_text("the first task").await.unwrap();
}

#[tokio::test]
async fn the_configuration_is_checked_after_it_was_edited() {
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
