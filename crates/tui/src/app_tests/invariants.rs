//! Invariants of drawing.

use super::{AppHarness, prompt, reply, result};
use crate::action::AppEffect;
use model::ToolOutcome;
use serde_json::json;
use session::{Command, Event, Item, ItemDelta, ItemId, TurnEnd};
use std::sync::Arc;

/// Deterministic pseudo-random numbers.
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
fn resizes_lose_and_repeat_no_line() {
    let mut random = Random(7);
    let mut ui = AppHarness::open(80, 24);
    let id = ItemId::new();
    ui.stream(id, &[]);
    for round in 0..200 {
        ui.event(Event::ItemDelta {
            id,
            delta: ItemDelta::Text(format!("- line {round}.\n")),
        });
        ui.draw();
        let (width, height) = (random.between(24, 160), random.between(10, 50));
        ui.resize(width, height);
    }
    let item = reply("", &[]);
    ui.event(Event::ItemFinished { item });
    ui.draw();
    let lines = ui.all_lines();
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
    let mut ui = AppHarness::open(80, 24);
    ui.event(Event::ItemFinished { item: prompt("hello") });
    assert!(ui.draw() > 0);
    for _ in 0..10 {
        assert_eq!(ui.draw(), 0);
    }
    ui.press(&["ctrl+t"]);
    assert!(ui.draw() > 0);
    assert_eq!(ui.draw(), 0);
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
        let mut ui = AppHarness::open(80, 24);
        ui.paste(text);
        ui.draw();
        let seen = ui.screen_text();
        let row = seen.lines().position(|line| line.starts_with('›')).unwrap();
        assert_eq!(
            ui.cursor(),
            (u16::try_from(row).unwrap(), columns + 2),
            "{text:?}\n{seen}"
        );
    }
}

/// A session with this number of items.
fn past(count: usize) -> Vec<Arc<Item>> {
    let turn = |n: usize| {
        let call = format!("c{n}");
        [
            prompt(&format!("prompt {n}")),
            reply(
                &format!("reply {n} with **some** words"),
                &[(&call, "terminal", json!({"command": "ls"}))],
            ),
            result(&call, "terminal", "ls", "a\nb\nc", ToolOutcome::Ok),
            reply("done", &[]),
        ]
    };
    (0..count / 4).flat_map(turn).collect()
}

#[test]
fn the_cost_of_a_frame_does_not_grow_with_the_session() {
    let cost = |count: usize| {
        let mut ui = AppHarness::with_items(100, 40, past(count));
        ui.draw();
        ui.press(&["ctrl+t"]);
        ui.draw();
        crate::conversation::RENDERED.with(|rendered| rendered.set(0));
        ui.press(&["pageup"]);
        ui.draw();
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
fn only_the_end_of_a_long_history_is_printed_with_a_notice() {
    let mut ui = AppHarness::with_items(100, 40, past(10_000));
    ui.draw();
    let lines = ui.all_lines();
    assert!(lines.len() < 400, "{}", lines.len());
    assert!(lines.iter().any(|line| line.contains("earlier")), "{lines:?}");
    assert!(lines.iter().any(|line| line == "› prompt 2499"));
}

#[test]
fn escape_interrupts_and_keeps_the_input() {
    let mut ui = AppHarness::open(80, 24);
    ui.event(Event::TurnStarted);
    ui.paste("half a thought");
    let effects = ui.press(&["esc"]);
    assert!(
        matches!(&effects[..], [AppEffect::Send(Command::Interrupt)]),
        "{}",
        effects.len()
    );
    assert_eq!(ui.app.composer.text(), "half a thought");
}

#[test]
fn undelivered_prompts_return_to_the_composer_after_an_interrupt() {
    let mut ui = AppHarness::open(80, 24);
    ui.event(Event::TurnStarted);
    ui.paste("and the docs");
    ui.press(&["enter"]);
    assert_eq!(ui.app.composer.text(), "");
    ui.event(Event::TurnFinished {
        ending: TurnEnd::Interrupted,
        answer: String::new(),
    });
    assert_eq!(ui.app.composer.text(), "and the docs");
}
