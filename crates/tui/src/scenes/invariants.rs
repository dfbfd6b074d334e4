//! What always holds, whatever happens.

use super::{Scene, prompt, reply, result};
use crate::app::Effect;
use model::Outcome;
use serde_json::json;
use session::{Command, Delta, Ending, Event, Item, ItemId};
use std::sync::Arc;

/// Numbers that look random and are the same every time.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    pub(super) fn between(&mut self, least: u16, most: u16) -> u16 {
        least + u16::try_from(self.below(u64::from(most - least) + 1)).unwrap()
    }
}

#[test]
fn two_hundred_resizes_lose_no_line_and_show_none_twice() {
    let mut random = Random(7);
    let mut scene = Scene::open(80, 24);
    let id = ItemId::new();
    scene.stream(id, &[]);
    for round in 0..200 {
        scene.hear(Event::ItemDelta {
            id,
            delta: Delta::Text(format!("- line {round}.\n")),
        });
        scene.draw();
        let (width, height) = (random.between(24, 160), random.between(10, 50));
        scene.resize(width, height);
    }
    let item = reply("", &[]);
    scene.hear(Event::ItemFinished { item });
    scene.draw();
    let lines = scene.everything();
    for round in 0..200 {
        let line = format!("• line {round}.");
        assert_eq!(lines.iter().filter(|other| **other == line).count(), 1, "{line}");
    }
    let order: Vec<&String> = lines.iter().filter(|line| line.starts_with("• line")).collect();
    assert!(order.is_sorted_by_key(|line| {
        line[7..]
            .trim_start_matches("line ")
            .trim_end_matches('.')
            .parse::<u32>()
            .ok()
    }));
    let frames = lines.iter().filter(|line| line.starts_with('›')).count();
    assert_eq!(frames, 1, "the composer stands in one place: {lines:?}");
}

#[test]
fn nothing_is_written_when_nothing_changes() {
    let mut scene = Scene::open(80, 24);
    scene.hear(Event::ItemFinished { item: prompt("hello") });
    assert!(scene.draw() > 0);
    for _ in 0..10 {
        assert_eq!(scene.draw(), 0);
    }
    scene.press(&["ctrl+t"]);
    assert!(scene.draw() > 0);
    assert_eq!(scene.draw(), 0);
}

#[test]
fn the_cursor_is_at_the_caret_for_wide_characters_and_combining_marks() {
    for (text, columns) in [
        ("abc", 3),
        ("漢字", 4),
        ("e\u{301}e\u{301}", 2),
        ("a漢e\u{301}", 4),
        ("👍🏽x", 3),
    ] {
        let mut scene = Scene::open(80, 24);
        scene.write(text);
        scene.draw();
        let seen = scene.seen();
        let row = seen.lines().position(|line| line.starts_with('›')).unwrap();
        assert_eq!(
            scene.cursor(),
            (u16::try_from(row).unwrap(), columns + 2),
            "{text:?}\n{seen}"
        );
    }
}

/// A session of so many items.
fn past(count: usize) -> Vec<Arc<Item>> {
    let turn = |n: usize| {
        let call = format!("c{n}");
        [
            prompt(&format!("prompt {n}")),
            reply(
                &format!("reply {n} with **some** words"),
                &[(&call, "terminal", json!({"command": "ls"}))],
            ),
            result(&call, "terminal", "ls", "a\nb\nc", Outcome::Ok),
            reply("done", &[]),
        ]
    };
    (0..count / 4).flat_map(turn).collect()
}

#[test]
fn a_frame_of_a_long_session_costs_what_one_of_a_short_session_costs() {
    let cost = |count: usize| {
        let mut scene = Scene::with(100, 40, past(count));
        scene.draw();
        scene.press(&["ctrl+t"]);
        scene.draw();
        crate::conversation::RENDERED.with(|rendered| rendered.set(0));
        scene.press(&["pageup"]);
        scene.draw();
        crate::conversation::RENDERED.with(std::cell::Cell::get)
    };
    let (short, long) = (cost(100), cost(10_000));
    assert!(short > 0);
    assert!(
        long <= short + 4,
        "{long} entries were rendered for one frame, {short} in a short session"
    );
}

#[test]
fn only_the_last_of_a_long_past_is_shown_and_it_says_so() {
    let mut scene = Scene::with(100, 40, past(10_000));
    scene.draw();
    let lines = scene.everything();
    assert!(lines.len() < 400, "{}", lines.len());
    assert!(lines.iter().any(|line| line.contains("earlier")), "{lines:?}");
    assert!(lines.iter().any(|line| line == "› prompt 2499"));
}

#[test]
fn escape_interrupts_and_what_was_written_stays() {
    let mut scene = Scene::open(80, 24);
    scene.hear(Event::TurnStarted);
    scene.write("half a thought");
    let effects = scene.press(&["esc"]);
    assert!(
        matches!(&effects[..], [Effect::Send(Command::Interrupt)]),
        "{}",
        effects.len()
    );
    assert_eq!(scene.app.composer.text(), "half a thought");
}

#[test]
fn what_was_said_into_a_turn_that_is_stopped_comes_back_to_the_composer() {
    let mut scene = Scene::open(80, 24);
    scene.hear(Event::TurnStarted);
    scene.write("and the docs");
    scene.press(&["enter"]);
    assert_eq!(scene.app.composer.text(), "");
    scene.hear(Event::TurnFinished {
        ending: Ending::Interrupted,
        answer: String::new(),
    });
    assert_eq!(scene.app.composer.text(), "and the docs");
}
