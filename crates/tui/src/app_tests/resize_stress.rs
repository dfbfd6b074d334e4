//! A terminal that is resized between any two writes and reports it late.

use super::invariants::Random;
use super::reflowing_terminal::ReflowingTerminal;
use super::{AppHarness, reply};
use crate::draw;
use crate::screen::{CursorRest, DrawTiming, encode_rows};
use ratatui::layout::Size;
use session::{Event, ItemDelta, ItemId, TurnEnd};

/// The front end on such a terminal.
struct ResizeHarness {
    ui: AppHarness,
    screen: ReflowingTerminal,
    random: Random,
    /// Sizes that were not reported yet.
    unreported: Vec<(u16, u16)>,
    lines: usize,
}

impl ResizeHarness {
    fn new(seed: u64) -> Self {
        let mut ui = AppHarness::open(80, 24);
        ui.terminal.reflow_as(crate::screen::Reflow::Wraps);
        let mut screen = ReflowingTerminal::new(80, 24);
        // Such a terminal scrolls its upper rows away although the lower ones are blank, so that rows at the top get
        // out of reach. Earlier output leaves room for the region.
        screen.process("before\r\n".repeat(40).as_bytes());
        ResizeHarness {
            ui,
            screen,
            random: Random(seed),
            unreported: Vec::new(),
            lines: 0,
        }
    }

    fn process_output(&mut self) {
        let new = self.ui.terminal.take_written();
        self.screen.process(&new);
    }

    /// The terminal processes output in parts and may be resized between any two.
    fn process_in_parts(&mut self) {
        let new = self.ui.terminal.take_written();
        let mut rest = std::str::from_utf8(&new).unwrap();
        while !rest.is_empty() {
            if self.random.below(150) == 0 {
                self.resize();
            }
            rest = self.screen.step(rest);
        }
    }

    /// Resizes the terminal without reporting it.
    fn resize(&mut self) {
        let size = (self.random.between(40, 120), self.random.between(18, 50));
        self.screen.resize(size.0, size.1);
        self.unreported.push(size);
    }

    /// Reports the newest of some of the sizes.
    fn report_resize(&mut self, drawn: DrawTiming) {
        if self.unreported.is_empty() {
            return;
        }
        let count = self.random.below(self.unreported.len() as u64) as usize + 1;
        let newest = self.unreported.drain(..count).next_back();
        if let Some((width, height)) = newest {
            self.ui.terminal.resize(Size::new(width, height), drawn).unwrap();
            self.process_output();
        }
    }

    /// Delivers the terminal's replies.
    fn answer(&mut self) {
        while let Some(width) = (!self.screen.answers.is_empty()).then(|| self.screen.answers.remove(0)) {
            self.ui.terminal.handle_width(width).unwrap();
            self.process_output();
        }
    }

    fn draw(&mut self, rest: CursorRest) {
        self.write(rest);
        self.process_output();
    }

    fn write(&mut self, rest: CursorRest) {
        if self.ui.terminal.is_cursor_moving() {
            return;
        }
        let size = self.ui.terminal.size();
        let width = self.ui.terminal.live_width();
        let mut frame = draw::draw_inline(&mut self.ui.app, size, width);
        let history = encode_rows(&frame.history, self.ui.terminal.painter());
        self.ui
            .terminal
            .draw_inline(&history, &mut frame.buf, frame.caret, rest)
            .unwrap();
    }

    fn line(&mut self, id: ItemId) {
        let text = format!("- line {}.\n", self.lines);
        self.lines += 1;
        self.ui.event(Event::ItemDelta {
            id,
            delta: ItemDelta::Text(text),
        });
    }

    /// Reports and answers everything, and moves the cursor to the caret.
    fn settle(&mut self) {
        while !self.unreported.is_empty() {
            self.report_resize(DrawTiming::BeforeResize);
        }
        self.answer();
        self.draw(CursorRest::Top);
        self.ui.terminal.mark_stable();
        self.draw(CursorRest::Caret);
    }

    fn check(&self) {
        let all = self.screen.everything();
        let shown: Vec<&String> = all.iter().filter(|line| line.starts_with("• line")).collect();
        let expected: Vec<String> = (0..self.lines).map(|n| format!("• line {n}.")).collect();
        assert!(
            shown
                .iter()
                .map(|line| line.as_str())
                .eq(expected.iter().map(String::as_str)),
            "{}",
            all.join("\n")
        );
        let composers = all.iter().filter(|line| line.starts_with('›')).count();
        assert_eq!(composers, 1, "{}", all.join("\n"));
        let rules = all.iter().filter(|line| line.starts_with("──")).count();
        assert_eq!(rules, 2, "{}", all.join("\n"));
    }
}

#[test]
fn resizes_between_writes_lose_and_repeat_no_line() {
    for seed in 0..20 {
        let mut harness = ResizeHarness::new(seed);
        harness.draw(CursorRest::Caret);
        harness.ui.event(Event::TurnStarted);
        harness.draw(CursorRest::Top);
        let id = ItemId::new();
        harness.ui.stream(id, &[]);
        for _ in 0..400 {
            match harness.random.below(5) {
                0 => harness.resize(),
                1 => harness.report_resize(DrawTiming::MaybeAfterResize),
                2 => harness.line(id),
                _ => harness.draw(CursorRest::Top),
            }
        }
        harness.ui.event(Event::ItemFinished { item: reply("", &[]) });
        harness.ui.event(Event::TurnFinished {
            ending: TurnEnd::Completed,
            answer: String::new(),
        });
        harness.settle();
        harness.check();
    }
}

#[test]
fn resizes_within_a_frame_lose_and_repeat_no_line() {
    for seed in 0..40 {
        let mut harness = ResizeHarness::new(seed);
        harness.draw(CursorRest::Caret);
        harness.ui.event(Event::TurnStarted);
        harness.draw(CursorRest::Top);
        let id = ItemId::new();
        harness.ui.stream(id, &[]);
        for _ in 0..200 {
            match harness.random.below(5) {
                0 => harness.report_resize(DrawTiming::MaybeAfterResize),
                1 => harness.line(id),
                _ => {
                    harness.line(id);
                    harness.write(CursorRest::Top);
                    harness.process_in_parts();
                }
            }
        }
        harness.ui.event(Event::ItemFinished { item: reply("", &[]) });
        harness.ui.event(Event::TurnFinished {
            ending: TurnEnd::Completed,
            answer: String::new(),
        });
        harness.settle();
        harness.check();
    }
}

#[test]
fn the_cursor_returns_to_the_start_after_any_number_of_resizes() {
    for seed in 0..20 {
        let mut harness = ResizeHarness::new(seed);
        let id = ItemId::new();
        harness.ui.stream(id, &[]);
        for _ in 0..30 {
            harness.line(id);
        }
        harness.ui.event(Event::ItemFinished { item: reply("", &[]) });
        harness.draw(CursorRest::Caret);
        for _ in 0..40 {
            harness.resize();
            harness.report_resize(DrawTiming::BeforeResize);
            if harness.random.below(2) == 0 {
                // Resizes again before the output of the first resize was read.
                harness.resize();
            }
            harness.settle();
        }
        harness.check();
    }
}
