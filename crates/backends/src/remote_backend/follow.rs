//! Follows the events of a session on a server, across lost connections.

use super::client::{ServerClient, StreamRefusal};
use super::commands::failure;
use futures::StreamExt as _;
use serde_json::Value;
use server::json_events::{parse_event, parse_item};
use session::{Change, Event, Item, ItemId, NoticeLevel, QuestionId, SessionId, TurnEnd};
use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// The shortest and the longest time until the next connection attempt.
const RETRY: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// Sends the events of a session to the front end. Ends if the front end has ended or the server refuses.
pub(super) async fn follow(
    client: &ServerClient,
    session: SessionId,
    mut cursor: String,
    follower: &mut Follower,
    events: &mpsc::Sender<Event>,
    on_event: impl Fn(&Event),
) {
    let name = session.to_string();
    let mut delay = RETRY.0;
    let mut is_lost = false;
    loop {
        match client.events(&name, &cursor).await {
            Ok(stream) => {
                let mut stream = pin!(stream);
                while let Some((id, json)) = stream.next().await {
                    cursor = id;
                    delay = RETRY.0;
                    if std::mem::take(&mut is_lost) && events.send(notice("connected again")).await.is_err() {
                        return;
                    }
                    for event in follower.translate(&json) {
                        on_event(&event);
                        if events.send(event).await.is_err() {
                            return;
                        }
                    }
                }
            }
            Err(StreamRefusal::Refused(error)) => {
                events.send(failure(&error)).await.unwrap_or_default();
                return;
            }
            Err(StreamRefusal::Unreachable(error)) => {
                if !is_lost && events.send(failure(&error)).await.is_err() {
                    return;
                }
                is_lost = true;
            }
        }
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(RETRY.1);
    }
}

/// The settings that this front end knows, so that only changes by others are reported.
#[derive(Clone)]
pub(super) struct SharedSettings(Arc<Mutex<Value>>);

impl SharedSettings {
    /// Notes a change that this front end makes.
    pub(super) fn expect(&self, key: &str, value: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[key] = value.into();
    }

    /// Takes over the settings of the server; returns what others changed.
    fn replace(&self, settings: &Value) -> Vec<String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = ["model", "mode", "permission", "effort"].into_iter();
        let changed = keys.filter(|key| known[*key] != settings[*key]);
        let changed = changed.map(|key| format!("{key}: {}", settings[key].as_str().unwrap_or_default()));
        let changed = changed.collect();
        *known = settings.clone();
        changed
    }
}

/// Which item made a change: its texts are loaded by item.
#[derive(Default)]
pub(super) struct ItemChanges(HashMap<String, ItemId>);

impl ItemChanges {
    pub(super) fn add(&mut self, item: &Item) {
        for change in item.changes() {
            self.0.insert(change_key(change), item.id);
        }
    }

    /// The items that made these changes, without repetition.
    pub(super) fn of(&self, changes: &[Change]) -> Vec<ItemId> {
        let mut items: Vec<ItemId> = changes
            .iter()
            .filter_map(|change| self.0.get(&change_key(change)).copied())
            .collect();
        items.sort();
        items.dedup();
        items
    }
}

fn change_key(change: &Change) -> String {
    format!("{change:?}")
}

/// Translates events of the server, which may repeat after a lost connection, into events of a session.
pub(super) struct Follower {
    items: Vec<ItemId>,
    open_items: Vec<ItemId>,
    questions: Vec<QuestionId>,
    is_working: bool,
    /// The items that follow a `reset`.
    reset: Option<Vec<Arc<Item>>>,
    settings: SharedSettings,
}

impl Follower {
    pub(super) fn new(items: &[Arc<Item>], settings: Value) -> Self {
        Follower {
            items: items.iter().map(|item| item.id).collect(),
            open_items: Vec::new(),
            questions: Vec::new(),
            is_working: false,
            reset: None,
            settings: SharedSettings(Arc::new(Mutex::new(settings))),
        }
    }

    pub(super) fn settings(&self) -> SharedSettings {
        self.settings.clone()
    }

    pub(super) fn translate(&mut self, json: &Value) -> Vec<Event> {
        match json["type"].as_str() {
            Some("live") => self.apply_live(json),
            Some("reset") => {
                self.reset = Some(Vec::new());
                Vec::new()
            }
            Some("settings") => self.apply_settings(&json["settings"]),
            Some("item.finished") if self.reset.is_some() => {
                let item = parse_item(&json["item"]).map(Arc::new);
                self.reset.iter_mut().for_each(|items| items.extend(item.clone()));
                Vec::new()
            }
            _ => parse_event(json)
                .and_then(|event| self.track(event))
                .into_iter()
                .collect(),
        }
    }

    /// Follows an event; `None` if the front end knows it.
    fn track(&mut self, event: Event) -> Option<Event> {
        match &event {
            Event::TurnStarted => self.is_working = true,
            Event::TurnFinished { .. } => {
                self.is_working = false;
                self.open_items.clear();
                self.questions.clear();
            }
            Event::ItemStarted { id, .. } => self.open_items.push(*id),
            Event::ItemDropped { id } => self.open_items.retain(|open| open != id),
            Event::ItemFinished { item } => {
                self.open_items.retain(|open| *open != item.id);
                if self.items.contains(&item.id) {
                    return None;
                }
                self.items.push(item.id);
            }
            Event::Rewound { head } => {
                if let Some(at) = self.items.iter().position(|item| item == head) {
                    self.items.truncate(at + 1);
                }
            }
            Event::QuestionAsked { question } => self.questions.push(question.id),
            Event::QuestionAnswered { question } => self.questions.retain(|asked| asked != question),
            Event::ItemDelta { .. }
            | Event::Usage { .. }
            | Event::Retrying { .. }
            | Event::Notice { .. }
            | Event::TitleChanged { .. }
            | Event::Subtask { .. } => {}
        }
        Some(event)
    }

    /// Replaces what is known about unfinished work.
    fn apply_live(&mut self, live: &Value) -> Vec<Event> {
        let mut events = self.apply_reset();
        events.extend(
            std::mem::take(&mut self.open_items)
                .into_iter()
                .map(|id| Event::ItemDropped { id }),
        );
        let answered = std::mem::take(&mut self.questions).into_iter();
        events.extend(answered.map(|question| Event::QuestionAnswered { question }));
        let is_working = matches!(live["state"].as_str(), Some("working" | "waiting"));
        match (self.is_working, is_working) {
            (false, true) => events.push(Event::TurnStarted),
            (true, false) => events.push(Event::TurnFinished {
                ending: match live["unfinished"] == true {
                    true => TurnEnd::Interrupted,
                    false => TurnEnd::Completed,
                },
                answer: String::new(),
            }),
            (true, true) | (false, false) => {}
        }
        self.is_working = is_working;
        for json in live["events"].as_array().into_iter().flatten() {
            events.extend(parse_event(json).and_then(|event| self.track(event)));
        }
        if live["settings"].is_object() {
            events.extend(self.apply_settings(&live["settings"]));
        }
        events
    }

    /// After a rewind on the server: goes back to the last common item, and adds the items after it.
    fn apply_reset(&mut self) -> Vec<Event> {
        let Some(items) = self.reset.take() else {
            return Vec::new();
        };
        let common = self
            .items
            .iter()
            .zip(&items)
            .take_while(|(known, item)| **known == item.id)
            .count();
        let mut events = Vec::new();
        if common < self.items.len()
            && let Some(head) = common.checked_sub(1).and_then(|last| self.items.get(last))
        {
            events.push(Event::Rewound { head: *head });
        }
        self.items.truncate(common);
        for item in items.into_iter().skip(common) {
            self.items.push(item.id);
            events.push(Event::ItemFinished { item });
        }
        events
    }

    fn apply_settings(&self, settings: &Value) -> Vec<Event> {
        let changed = self.settings.replace(settings);
        let text = (!changed.is_empty()).then(|| format!("changed elsewhere: {}", changed.join(", ")));
        text.iter().map(|text| notice(text)).collect()
    }
}

fn notice(text: &str) -> Event {
    Event::Notice {
        level: NoticeLevel::Info,
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn id(number: u32) -> String {
        format!("019a9999-0000-7000-8000-{number:012}")
    }

    fn item(number: u32) -> Value {
        json!({"type": "item.finished", "item": {"id": id(number), "parent": null, "at_ms": 1, "kind": "notice", "text": "n"}})
    }

    fn live(state: &str, events: Value) -> Value {
        json!({"type": "live", "state": state, "unfinished": false, "events": events})
    }

    /// Short names of the resulting events.
    fn translate(follower: &mut Follower, frames: &[Value]) -> Vec<String> {
        let events = frames.iter().flat_map(|frame| follower.translate(frame));
        let short = |id: ItemId| {
            id.to_string()
                .trim_start_matches("019a9999-0000-7000-8000-")
                .parse::<u32>()
                .unwrap()
        };
        events
            .map(|event| match event {
                Event::ItemFinished { item } => format!("item {}", short(item.id)),
                Event::ItemStarted { id, .. } => format!("start {}", short(id)),
                Event::ItemDropped { id } => format!("drop {}", short(id)),
                Event::Rewound { head } => format!("rewind {}", short(head)),
                Event::TurnStarted => "turn".into(),
                Event::TurnFinished { .. } => "end".into(),
                Event::QuestionAsked { .. } => "question".into(),
                Event::QuestionAnswered { .. } => "answered".into(),
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn a_reconnection_repeats_nothing_and_replaces_unfinished_work() {
        let mut follower = Follower::new(&[], Value::Null);
        let started = json!({"type": "item.started", "id": id(3), "kind": "reply"});
        let question =
            json!({"type": "question", "id": id(9), "tool": "t", "question": "q", "choices": [], "several": false});
        let frames = [
            live("idle", json!([])),
            json!({"type": "turn.started"}),
            item(1),
            item(2),
            started.clone(),
            question.clone(),
            // The turn continues while the connection is interrupted.
            item(2),
            item(4),
            live("waiting", json!([started, question])),
            live("idle", json!([])),
        ];
        let seen = translate(&mut follower, &frames);
        assert_eq!(
            seen,
            [
                "turn", "item 1", "item 2", "start 3", "question", "item 4", "drop 3", "answered", "start 3",
                "question", "drop 3", "answered", "end"
            ]
        );
    }

    #[test]
    fn a_reset_goes_back_to_the_last_common_item() {
        let mut follower = Follower::new(&[], Value::Null);
        translate(&mut follower, &[item(1), item(2), item(3)]);
        let frames = [
            json!({"type": "reset"}),
            item(1),
            item(4),
            item(5),
            live("idle", json!([])),
        ];
        assert_eq!(translate(&mut follower, &frames), ["rewind 1", "item 4", "item 5"]);
        let frames = [
            json!({"type": "reset"}),
            item(1),
            item(4),
            item(5),
            live("idle", json!([])),
        ];
        assert_eq!(translate(&mut follower, &frames), Vec::<String>::new());
    }

    #[test]
    fn only_changes_by_others_are_reported() {
        let mut follower = Follower::new(&[], json!({"model": "a/b", "mode": "code"}));
        follower.settings().expect("model", "a/c");
        let settings = |model: &str| json!({"type": "settings", "settings": {"model": model, "mode": "code"}});
        assert_eq!(translate(&mut follower, &[settings("a/c")]), Vec::<String>::new());
        let seen = translate(&mut follower, &[settings("a/d")]);
        assert!(seen.len() == 1 && seen[0].contains("model: a/d"), "{seen:?}");
    }
}
