//! Clients of a server that is killed, and sessions of a terminal.

use super::client::Served;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use testkit::{Pace, Script, Turn};

/// A client that records the finished items, and reconnects from its last event.
struct Follower {
    last: Option<String>,
    items: Vec<String>,
}

impl Follower {
    fn record(&mut self, id: Option<String>, event: &Value) {
        match event["type"].as_str().unwrap() {
            "item.finished" => self.items.push(event["item"]["id"].as_str().unwrap().to_owned()),
            "reset" => self.items.clear(),
            _ => {}
        }
        self.last = id.or(self.last.take());
    }

    /// Follows until the stream ends or `stop` returns true for an event and its id.
    async fn follow(&mut self, served: &Served, session: &str, stop: impl Fn(&Option<String>, &Value) -> bool) {
        let mut events = served.events(session, self.last.as_deref()).await;
        while let Some((id, event)) = events.next().await {
            let is_last = stop(&id, &event);
            self.record(id, &event);
            if is_last {
                return;
            }
        }
    }
}

/// Whether a turn runs, and the id of the newest event.
async fn position(served: &Served, session: &str) -> (bool, Option<String>) {
    let detail = served.get(&format!("/sessions/{session}")).await;
    let is_working = ["working", "waiting"].contains(&detail["live"]["state"].as_str().unwrap());
    (is_working, detail["cursor"].as_str().map(str::to_owned))
}

fn log_items(detail: &Value) -> Vec<String> {
    let items = detail["items"].as_array().unwrap().iter();
    items.map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

/// Every client receives exactly the items of the log, each once, whenever the server or a connection ends. A few kills by
/// default; `HEW_SERVE_KILLS=1000` for many.
#[tokio::test(flavor = "multi_thread")]
async fn clients_receive_every_item_once_across_kills() {
    let kills: usize = std::env::var("HEW_SERVE_KILLS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(6);
    let requests = AtomicUsize::new(0);
    let script = Script::dynamic(move |_| match requests.fetch_add(1, Ordering::Relaxed) % 3 {
        2 => Turn::text("a long reply that arrives in pieces ".repeat(12)),
        _ => Turn::text("reading").call("read_file", json!({"path": "a.txt"})),
    })
    .pace(Pace::with_delay(16, Duration::from_millis(3)));
    let mut served = Served::start(script, &[("a.txt", "x\n")], "").await;
    let session = served.session().await;
    let mut followers: Vec<Follower> = (0..3)
        .map(|_| Follower {
            last: None,
            items: Vec::new(),
        })
        .collect();
    served
        .post(&format!("/sessions/{session}/prompts"), json!({"text": "begin"}))
        .await;
    let mut seed = 12345_u64;
    for round in 0..kills {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let limit = 3 + (seed >> 33) % 60;
        for (index, follower) in followers.iter_mut().enumerate() {
            // Connections are cut after a different number of events.
            let seen = std::cell::Cell::new(0);
            let most = limit + index as u64 * 7;
            let is_over = |_: &Option<String>, event: &Value| {
                seen.set(seen.get() + 1);
                let is_idle = event["type"] == "live" && event["state"] != "working";
                seen.get() >= most || event["type"] == "turn.finished" || is_idle
            };
            let (is_working, newest) = position(&served, &session).await;
            if is_working || newest != follower.last {
                follower.follow(&served, &session, is_over).await;
            }
        }
        if round % 2 == 0 {
            served.restart().await;
        }
        let text = format!("continue {round}");
        served
            .post(
                &format!("/sessions/{session}/prompts"),
                json!({"text": text, "delivery": "queue"}),
            )
            .await;
    }
    // The turns end, then everything is compared with the log.
    let (newest, expected) = loop {
        let (is_working, newest) = position(&served, &session).await;
        if !is_working {
            let expected = log_items(&served.get(&format!("/sessions/{session}")).await);
            // A queued prompt may have started another turn meanwhile.
            if position(&served, &session).await == (false, newest.clone()) {
                break (newest, expected);
            }
            continue;
        }
        let mut watcher = Follower {
            last: newest,
            items: Vec::new(),
        };
        let is_finished = |_: &Option<String>, event: &Value| event["type"] == "turn.finished";
        watcher.follow(&served, &session, is_finished).await;
    };
    for follower in &mut followers {
        if follower.last != newest {
            follower.follow(&served, &session, |id, _| *id == newest).await;
        }
        let mut counts: HashMap<&String, usize> = HashMap::new();
        for item in &follower.items {
            *counts.entry(item).or_default() += 1;
        }
        assert!(counts.values().all(|count| *count == 1), "an item arrived twice");
        assert_eq!(follower.items, expected);
    }
    assert!(expected.len() > kills * 2, "{}", expected.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_joins_in_the_middle_of_a_turn_sees_the_text_so_far() {
    let script = Script::new()
        .turn(Turn::text("one two three four five six seven eight nine ten"))
        .pace(Pace::with_delay(4, Duration::from_millis(60)));
    let served = Served::start(script, &[], "").await;
    let session = served.session().await;
    let mut events = served.events(&session, None).await;
    served
        .post(&format!("/sessions/{session}/prompts"), json!({"text": "count"}))
        .await;
    let mut text = String::new();
    while !text.contains("three") {
        let delta = events.until("item.delta").await;
        text.push_str(delta["delta"]["text"].as_str().unwrap_or_default());
    }
    let mut late = served.events(&session, None).await;
    let live = late.until("live").await;
    assert_eq!(live["state"], "working");
    let mut joined: String = live["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|event| event["delta"]["text"].as_str())
        .collect();
    assert!(joined.starts_with("one two three"), "{joined}");
    loop {
        let (_, event) = late.next().await.unwrap();
        match event["type"].as_str().unwrap() {
            "item.delta" => joined.push_str(event["delta"]["text"].as_str().unwrap()),
            "turn.finished" => break,
            _ => {}
        }
    }
    assert_eq!(joined, "one two three four five six seven eight nine ten");
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_steer_queue_and_interrupt_a_running_turn() {
    let script = Script::new()
        .turn(Turn::calls("terminal", json!({"command": "sleep 600"})))
        .turn(Turn::text("stopped"))
        .turn(Turn::text("next"));
    let served = Served::start(script, &[], "").await;
    let session = served.session().await;
    let path = |rest: &str| format!("/sessions/{session}/{rest}");
    let mut events = served.events(&session, None).await;
    served.post(&path("prompts"), json!({"text": "wait"})).await;
    while events.until("item.started").await["kind"] != "result" {}
    served
        .post(&path("prompts"), json!({"text": "later", "delivery": "queue"}))
        .await;
    let queue = events.until("queue").await;
    assert_eq!(queue["queued"], json!([{"text": "later", "delivery": "queue"}]));
    assert_eq!(
        served.get(&format!("/sessions/{session}")).await["live"]["queued"],
        queue["queued"]
    );
    served.post(&path("interrupt"), json!({})).await;
    assert_eq!(events.until("turn.finished").await["ending"]["reason"], "interrupted");
    served.post(&path("prompts"), json!({"text": "again"})).await;
    assert_eq!(events.until("turn.finished").await["ending"]["reason"], "completed");
    // The changes cannot be reviewed and nothing undone while a turn runs; an unknown operation changes nothing.
    assert_eq!(
        served
            .request("POST", "/api/v1/sessions/x/undo", Some(&json!({})))
            .await
            .status,
        404
    );
}
