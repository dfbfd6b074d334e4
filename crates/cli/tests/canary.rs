//! `hew canary`: records tasks, reruns them, and detects changes.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::{Hew, Project, Script, Server, Turn};

const MODEL: &str = "anthropic/claude-sonnet-4-6";

fn hew(server: &Server, project: &Project) -> Hew {
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap();
    let data = hew.home().join("data");
    hew.current_dir(project.root())
        .with_server(server)
        .env("HEW_DATA_DIR", data)
        .args(["-m", MODEL])
}

#[tokio::test]
async fn a_recorded_task_is_rerun_from_its_start_and_compared_with_the_baseline() {
    let is_good = Arc::new(AtomicBool::new(true));
    let quality = Arc::clone(&is_good);
    let server = Server::start(Script::dynamic(move |request| match request.results().next() {
        Some(_) => Turn::text("Done."),
        None if quality.load(Ordering::Relaxed) => Turn::calls(
            "edit_file",
            json!({"path": "a.txt", "old_text": "bad", "new_text": "good"}),
        ),
        None => Turn::text("It is fine."),
    }));
    let server = server.await.unwrap();
    let project = Project::new(&[("a.txt", "bad\n"), ("b.txt", "same\n")]).unwrap();
    let hew = hew(&server, &project);
    let run = |words: &[&str]| hew.clone().args(words).run();
    let none = run(&["canary", "run"]).await.unwrap();
    assert!(
        none.code() == Some(2) && none.stderr.contains("no task is recorded"),
        "{}",
        none.stderr
    );
    // `a.txt` has to be read first.
    let first = run(&["run", "--no-title", "make @a.txt good"]).await.unwrap();
    assert_eq!(
        (first.code(), project.read("a.txt").unwrap().as_str()),
        (Some(0), "good\n"),
        "{}",
        first.stderr
    );
    let added = run(&["canary", "add", "--check", "grep -q good a.txt", "--name", "first"])
        .await
        .unwrap();
    assert_eq!((added.code(), added.stderr.as_str()), (Some(0), ""), "{}", added.stdout);
    let copy = hew.home().join("data/canary/tasks/first/project");
    assert_eq!(std::fs::read_to_string(copy.join("a.txt")).unwrap(), "bad\n");
    assert_eq!(std::fs::read_to_string(copy.join("b.txt")).unwrap(), "same\n");
    assert!(
        run(&["canary", "list"])
            .await
            .unwrap()
            .stdout
            .contains("first  make @a.txt good")
    );
    let baseline = run(&["canary", "run", "-n", "6", "-j", "3"]).await.unwrap();
    assert!(
        baseline.stdout.contains("recorded the baseline"),
        "{}{}",
        baseline.stdout,
        baseline.stderr
    );
    let same = run(&["canary", "run", "-n", "2", "-j", "3"]).await.unwrap();
    assert_eq!(same.code(), Some(0), "{}", same.stdout);
    assert!(same.stdout.contains("100.0 % -> 100.0 %"), "{}", same.stdout);
    // The model gets worse: the run ends as soon as that is significant, and its exit code shows it.
    is_good.store(false, Ordering::Relaxed);
    let worse = run(&["canary", "run", "-n", "8", "-j", "3", "--json"]).await.unwrap();
    assert_eq!(worse.code(), Some(1), "{}{}", worse.stdout, worse.stderr);
    let report: Value = serde_json::from_str(&worse.stdout).unwrap();
    assert_eq!(report["findings"][0]["change"], "decreased");
    assert!(report["findings"][0]["confidence"].as_f64().unwrap() > 0.95, "{report}");
    assert!(report["attempts"].as_u64().unwrap() < 8, "{report}");
    // The project itself is not changed.
    assert_eq!(project.read("a.txt").unwrap(), "good\n");
    let removed = run(&["canary", "remove", "first"]).await.unwrap();
    assert!(removed.code() == Some(0) && run(&["canary", "list"]).await.unwrap().code() == Some(2));
}

/// The results of 20 tasks, of which `rate` of 100 attempts are solved.
fn results(rate: usize) -> String {
    let mut lines = String::new();
    for task in 0..20 {
        for repetition in 1..=32 {
            // Spread over tasks and repetitions.
            let outcome = match (task * 37 + repetition * 61) % 100 < rate {
                true => "solved",
                false => "unsolved",
            };
            let tokens = 1000 + (task * 7 + repetition * 13) % 50;
            let attempt = json!({"type": "attempt", "task": format!("t{task}"), "configuration": MODEL, "repetition": repetition,
                "outcome": outcome, "metrics": {"input_tokens": tokens, "duration_ms": tokens}});
            lines.push_str(&format!("{attempt}\n"));
        }
    }
    lines
}

#[tokio::test]
async fn a_drop_of_ten_points_is_reported_with_its_confidence() {
    let server = Server::start(Script::new()).await.unwrap();
    let project = Project::new(&[]).unwrap();
    for (rate, expected) in [(70, Some(1)), (80, Some(0))] {
        let hew = hew(&server, &project);
        let runs = hew.home().join("data/canary/runs/anthropic_claude-sonnet-4-6");
        for (name, rate) in [("baseline", 80), ("1700000000", rate)] {
            std::fs::create_dir_all(runs.join(name)).unwrap();
            std::fs::write(runs.join(name).join("results.jsonl"), results(rate)).unwrap();
        }
        let output = hew.args(["canary", "report"]).run().await.unwrap();
        assert_eq!(output.code(), expected, "{}{}", output.stdout, output.stderr);
        let found = output
            .stdout
            .contains("success  80.0 % -> 70.2 %: decreased, confidence 9");
        assert_eq!(found, rate == 70, "{}", output.stdout);
        assert!(output.stdout.contains("no change established"), "{}", output.stdout);
    }
}
