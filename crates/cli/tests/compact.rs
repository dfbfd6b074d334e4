//! Compaction of long conversations, with the real binary and a scripted model with a small window.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::json;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use testkit::{Hew, ParsedRequest, Project, RequestOutcome, Script, Server, Turn, TurnOrder, Usage};

const MODEL: &str = "anthropic/claude-sonnet-4-6";
const WINDOW: &str = "models.\"anthropic/claude-sonnet-4-6\".window=20000";

#[tokio::test]
async fn a_long_conversation_is_summarised_automatically_and_on_request() {
    let read = |number: usize| {
        Turn::text(format!("Step {number}.")).call("read_file", json!({"path": format!("{number}.txt")}))
    };
    // The conversation's own model writes the first notes when its window is nearly full.
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(read(1))
        .turn(read(2))
        .turn(read(3))
        .turn(Turn::text("## Task\nRead all files. 1 and 2 are read."))
        .turn(Turn::text("All read."))
        .turn(Turn::text("## Task\nNothing is left to do."));
    let server = Server::start(script).await.unwrap();
    let line = "All work and no play makes a dull file.\n";
    let text = line.repeat(20_000 / line.len());
    let project = Project::new(&[
        ("1.txt", text.as_str()),
        ("2.txt", text.as_str()),
        ("3.txt", text.as_str()),
    ])
    .unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .env("HEW_TITLE", "false")
        .current_dir(project.root());
    let run = hew
        .clone()
        .args([
            "run",
            "-m",
            MODEL,
            "--set",
            WINDOW,
            "--small-model",
            MODEL,
            "read all files",
        ])
        .run()
        .await
        .unwrap();
    assert_eq!(run.stdout, "All read.\n", "{}", run.stderr);
    assert!(run.stderr.contains("summarised the conversation"), "{}", run.stderr);
    let last = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(
        last.contains("1 and 2 are read") && last.contains("read all files"),
        "{last}"
    );
    assert!(last.len() < 2 * text.len(), "{}", last.len());

    let shown = hew.clone().args(["sessions", "show", "--full"]).run().await.unwrap();
    assert!(
        shown.stdout.matches("Step 1.").count() == 1,
        "the log keeps everything: {}",
        shown.stdout
    );
    let compact = hew
        .clone()
        .args(["compact", "last", "be", "brief"])
        .run()
        .await
        .unwrap();
    assert_eq!(compact.code(), Some(0), "{}", compact.stderr);
    assert!(compact.stdout.contains("Nothing is left to do."), "{}", compact.stdout);
    let asked = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(asked.contains("be brief"), "{asked}");
}

#[tokio::test]
async fn a_resumed_conversation_has_the_reported_size() {
    let reported = Usage {
        input: Some(17_000),
        ..Usage::default()
    };
    let long = "All work and no play makes a dull answer. ".repeat(500);
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::text(&long).usage(reported))
        .turn(Turn::text("## Task\nSummarised."))
        .turn(Turn::text("Second answer."));
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("a.txt", "")]).unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .env("HEW_TITLE", "false")
        .current_dir(project.root());
    let common = ["-m", MODEL, "--set", WINDOW, "--small-model", MODEL];
    let first = hew.clone().args(["run", "one"]).args(common).run().await.unwrap();
    assert_eq!(first.code(), Some(0), "{}", first.stderr);
    let second = hew.clone().args(["run", "-c", "two"]).args(common).run().await.unwrap();
    assert!(
        second.stderr.contains("summarised the conversation"),
        "{}",
        second.stderr
    );
    assert_eq!(second.stdout, "Second answer.\n", "{}", second.stderr);
}

/// A task of several steps, each of which reads files.
struct ReadTask {
    window: u64,
    compact: bool,
    steps: usize,
    /// Files read in parallel in each step.
    parallel: usize,
    /// Bytes of each file.
    bytes: usize,
}

/// The text of a file, with the file's name in its first and last line.
fn numbered_text(name: &str, bytes: usize) -> String {
    let line = "All work and no play makes a dull file.\n";
    format!("first of {name}\n{}last of {name}\n", line.repeat(bytes / line.len()))
}

/// A model that continues with the next step as soon as it has seen the start and the end of every file of this one.
fn reader(steps: usize, parallel: usize) -> Script {
    let seen: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    Script::dynamic(move |request: &ParsedRequest| {
        if request.last_user_text().contains("about to be replaced by a summary") {
            return Turn::text("## Task\nRead all files.");
        }
        let mut seen = seen.lock().unwrap();
        for result in request.results() {
            // The id of a call is `read_NAME_NUMBER`.
            let name = result.id.split('_').nth(1).unwrap_or_default();
            let is_shown = |end: &str| result.text.contains(&format!("{end} of {name}.txt"));
            if is_shown("first") && is_shown("last") {
                seen.insert(name.to_owned());
            }
        }
        let mut missing = (0..steps).filter_map(|step| {
            let names = (0..parallel).map(|file| format!("{step}-{file}"));
            let names: Vec<String> = names.filter(|name| !seen.contains(name)).collect();
            (!names.is_empty()).then_some(names)
        });
        match missing.next() {
            None => Turn::text("All read."),
            Some(names) => names.iter().fold(Turn::text("Reading."), |turn, name| {
                let id = format!("read_{name}_{}", request.messages.len());
                turn.call_with_id(id, "read_file", json!({"path": format!("{name}.txt")}))
            }),
        }
    })
}

#[tokio::test]
async fn long_results_reach_the_model_for_every_window_size() {
    let task = |window, compact, steps, parallel, bytes| ReadTask {
        window,
        compact,
        steps,
        parallel,
        bytes,
    };
    let tasks = [
        task(16_000, true, 1, 1, 50_000),
        task(16_000, false, 1, 1, 50_000),
        task(16_000, true, 1, 10, 50_000),
        task(16_000, false, 1, 10, 50_000),
        task(16_000, true, 20, 1, 60_000),
        task(16_000, false, 8, 1, 60_000),
        task(32_000, true, 6, 1, 60_000),
        task(32_000, false, 2, 10, 60_000),
        task(200_000, true, 14, 1, 60_000),
        task(200_000, false, 2, 1, 60_000),
    ];
    for task in tasks {
        let ReadTask {
            window,
            compact,
            steps,
            parallel,
            bytes,
        } = task;
        let name = format!("window {window}, compact={compact}, {steps} steps of {parallel} x {bytes} bytes");
        // The server rejects requests that exceed the window.
        let server = Server::start(reader(steps, parallel).window(window)).await.unwrap();
        let names = (0..steps).flat_map(|step| (0..parallel).map(move |file| format!("{step}-{file}.txt")));
        let project = Project::new(&[]).unwrap();
        for name in names {
            project.write(&name, numbered_text(&name, bytes)).unwrap();
        }
        let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap().with_server(&server);
        let limit = format!("models.\"{MODEL}\".window={window}");
        let run = hew
            .env("HEW_TITLE", "false")
            .env("HEW_COMPACT", compact.to_string())
            .current_dir(project.root())
            .args([
                "run",
                "-m",
                MODEL,
                "--set",
                &limit,
                "--small-model",
                MODEL,
                "read all files",
            ])
            .run()
            .await
            .unwrap();
        assert_eq!(run.stdout.lines().last(), Some("All read."), "{name}: {}", run.stderr);
        let requests = server.requests();
        let refused = requests
            .iter()
            .filter(|request| matches!(request.outcome, RequestOutcome::Refused { .. }));
        assert_eq!(refused.count(), 0, "{name}: {}", run.stderr);
        // One request per step and one for the answer; a summary takes at most two more.
        let calls = requests
            .iter()
            .filter(|request| !String::from_utf8_lossy(&request.body).contains("about to be replaced"));
        assert!(
            calls.count() <= steps + 1 + usize::from(compact) * steps,
            "{name}: {} requests",
            requests.len()
        );
    }
}
