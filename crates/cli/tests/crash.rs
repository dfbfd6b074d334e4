//! `kill -9` at random moments: no finished item is lost, no tool runs twice, the database stays valid, and the session continues.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;
use testkit::{Hew, Output, Pace, ParsedRequest, Project, Script, Server, Turn};

/// How often a run is killed.
const KILLS: u32 = 200;
/// Steps of a task.
const STEPS: usize = 8;

/// The scripted model: each step appends a line of its own, so that a call that runs twice is detected.
fn script() -> Script {
    Script::dynamic(|seen: &ParsedRequest| {
        let step = seen.calls().count();
        if step >= STEPS {
            return Turn::text(format!(
                "All {STEPS} steps are done. {}",
                "Nothing is left to do. ".repeat(8)
            ));
        }
        let turn = Turn::text(format!(
            "Step {step}: {}",
            "some words that take a while to stream. ".repeat(6)
        ));
        // Each call writes the number of calls before it.
        let write = json!({"command": format!("echo {step} >> journal.txt")});
        match step % 3 {
            0 => turn.call("terminal", write),
            1 => turn.call("read_file", json!({"path": "input.txt"})).call(
                "terminal",
                json!({"command": format!("echo {} >> journal.txt", step + 1)}),
            ),
            _ => turn.call(
                "write_file",
                json!({"path": format!("out-{step}.txt"), "content": format!("{step}\n")}),
            ),
        }
    })
    .pace(Pace::with_delay(24, Duration::from_millis(2)))
}

#[tokio::test]
async fn a_session_survives_two_hundred_kills() {
    let server = Server::start(script()).await.unwrap();
    let mut random = Random(0x5eed_cafe_f00d);
    let mut kills = 0;
    let mut finished = 0;
    while kills < KILLS {
        let project = Project::new(&[("input.txt", "hello\n")]).unwrap();
        let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
            .unwrap()
            .with_server(&server)
            .current_dir(project.root());
        kills += one_session(&hew, &project, &mut random, KILLS - kills, &mut finished).await;
    }
    assert_eq!(kills, KILLS);
    assert!(finished > 0, "some sessions must be completed between the kills");
}

/// Starts a task and kills and resumes it until it is complete. Returns the number of kills.
async fn one_session(hew: &Hew, project: &Project, random: &mut Random, most: u32, finished: &mut u32) -> u32 {
    let mut known: HashSet<String> = HashSet::new();
    for kills in 0..=most {
        let begun = !sessions(hew).await.is_empty();
        let command: &[&str] = if begun {
            &["resume", "--json"]
        } else {
            &["run", "--json", "work through the steps"]
        };
        let model = ["--model", "anthropic/claude-sonnet-4-6", "--no-title"];
        let running = hew.clone().args(command).args(model).spawn().unwrap();
        if kills < most {
            // Most kills happen during the work, some during the start.
            tokio::time::sleep(Duration::from_millis(random.below(400))).await;
            running.kill().unwrap();
        }
        let output = running.wait().await.unwrap();
        // After a kill between the last item and the exit, there is nothing to resume.
        let done = output.is_success() || output.stderr.contains("is finished");
        record_finished(&output, &mut known);
        check(hew, project, &known).await;
        if done {
            *finished += 1;
            return kills;
        }
        assert_eq!(output.code(), None, "the run ended before the kill: {output:?}");
    }
    most
}

/// Records the ids of all items that the run reported as finished.
fn record_finished(output: &Output, known: &mut HashSet<String>) {
    // The kill may have cut the last line.
    for line in output
        .stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
    {
        if line["type"] == "item.finished" {
            known.insert(line["item"]["id"].as_str().unwrap().to_string());
        }
    }
}

async fn check(hew: &Hew, project: &Project, known: &HashSet<String>) {
    let journal = project.read("journal.txt").unwrap_or_default();
    let lines: Vec<&str> = journal.lines().collect();
    let distinct: HashSet<&&str> = lines.iter().collect();
    assert_eq!(lines.len(), distinct.len(), "a tool ran twice: {lines:?}");

    let database = hew.home().join(".local/share/hew/hew.db");
    if database.exists() {
        assert_eq!(integrity(&database), "ok");
    }
    let sessions = sessions(hew).await;
    if sessions.is_empty() {
        assert!(known.is_empty(), "the session is missing, but it had finished items");
        return;
    }
    assert_eq!(sessions.len(), 1);
    let export = hew
        .clone()
        .args(["sessions", "export", "--format", "json"])
        .run()
        .await
        .unwrap();
    assert!(export.is_success(), "{export:?}");
    let export: Value = serde_json::from_str(&export.stdout).unwrap();
    let kept: HashSet<&str> = export["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["id"].as_str().unwrap())
        .collect();
    let missing: Vec<&String> = known.iter().filter(|id| !kept.contains(id.as_str())).collect();
    assert!(missing.is_empty(), "finished items are missing: {missing:?}");
}

async fn sessions(hew: &Hew) -> Vec<Value> {
    let listed = hew.clone().args(["sessions", "list", "--json"]).run().await.unwrap();
    assert!(listed.is_success(), "{listed:?}");
    serde_json::from_str::<Value>(&listed.stdout)
        .unwrap()
        .as_array()
        .unwrap()
        .clone()
}

fn integrity(database: &Path) -> String {
    let connection = rusqlite::Connection::open(database).unwrap();
    connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap()
}

/// A pseudo-random generator with a seed, so that a failure can be reproduced.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
