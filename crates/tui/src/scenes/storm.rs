//! A terminal whose size changes between any two writes, and that tells of it late.

use super::glass::Glass;
use super::invariants::Random;
use super::{Scene, reply};
use crate::draw;
use crate::screen::{Drawn, Rest, painted};
use ratatui::layout::Size;
use session::{Delta, Ending, Event, ItemId};

/// The front end on a terminal with a will of its own.
struct Storm {
    scene: Scene,
    glass: Glass,
    random: Random,
    /// Sizes that the terminal has had and not told of.
    untold: Vec<(u16, u16)>,
    lines: usize,
}

impl Storm {
    fn new(seed: u64) -> Self {
        let mut scene = Scene::open(80, 24);
        scene.terminal.reflow_as(crate::screen::Reflow::Wraps);
        let mut glass = Glass::new(80, 24);
        // Such a terminal pushes its upper rows into its history although the lower ones are blank, so that rows at the very top
        // get out of reach. Below what was there before, the region has room.
        glass.process("before\r\n".repeat(40).as_bytes());
        Storm {
            scene,
            glass,
            random: Random(seed),
            untold: Vec::new(),
            lines: 0,
        }
    }

    fn show(&mut self) {
        let new = self.scene.terminal.take_written();
        self.glass.process(&new);
    }

    /// The terminal reads what was written in parts, and may become another size between any two of them.
    fn show_in_parts(&mut self) {
        let new = self.scene.terminal.take_written();
        let mut rest = std::str::from_utf8(&new).unwrap();
        while !rest.is_empty() {
            if self.random.below(150) == 0 {
                self.resize();
            }
            rest = self.glass.step(rest);
        }
    }

    /// The terminal becomes another size; nobody is told.
    fn resize(&mut self) {
        let size = (self.random.between(40, 120), self.random.between(18, 50));
        self.glass.resize(size.0, size.1);
        self.untold.push(size);
    }

    /// The front end is told of the newest of some of the sizes.
    fn tell(&mut self, drawn: Drawn) {
        if self.untold.is_empty() {
            return;
        }
        let count = self.random.below(self.untold.len() as u64) as usize + 1;
        let newest = self.untold.drain(..count).next_back();
        if let Some((width, height)) = newest {
            self.scene.terminal.resize(Size::new(width, height), drawn).unwrap();
            self.show();
        }
    }

    /// The answers of the terminal arrive.
    fn answer(&mut self) {
        while let Some(width) = (!self.glass.answers.is_empty()).then(|| self.glass.answers.remove(0)) {
            self.scene.terminal.is_wide(width).unwrap();
            self.show();
        }
    }

    fn draw(&mut self, rest: Rest) {
        self.write(rest);
        self.show();
    }

    fn write(&mut self, rest: Rest) {
        if self.scene.terminal.is_searching() {
            return;
        }
        let size = self.scene.terminal.size();
        let width = self.scene.terminal.live_width();
        let mut frame = draw::inline(&mut self.scene.app, size, width);
        let history = painted(&frame.history, self.scene.terminal.painter());
        self.scene
            .terminal
            .inline(&history, &mut frame.buf, frame.caret, rest)
            .unwrap();
    }

    fn line(&mut self, id: ItemId) {
        let text = format!("- line {}.\n", self.lines);
        self.lines += 1;
        self.scene.hear(Event::ItemDelta {
            id,
            delta: Delta::Text(text),
        });
    }

    /// Everything has been told and answered, and the cursor is at the caret.
    fn settle(&mut self) {
        while !self.untold.is_empty() {
            self.tell(Drawn::Before);
        }
        self.answer();
        self.draw(Rest::Top);
        self.scene.terminal.settle();
        self.draw(Rest::Caret);
    }

    fn check(&self) {
        let all = self.glass.everything();
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
fn a_terminal_that_changes_between_any_two_writes_loses_no_line_and_shows_none_twice() {
    for seed in 0..20 {
        let mut storm = Storm::new(seed);
        storm.draw(Rest::Caret);
        storm.scene.hear(Event::TurnStarted);
        storm.draw(Rest::Top);
        let id = ItemId::new();
        storm.scene.stream(id, &[]);
        for _ in 0..400 {
            match storm.random.below(5) {
                0 => storm.resize(),
                1 => storm.tell(Drawn::Perhaps),
                2 => storm.line(id),
                _ => storm.draw(Rest::Top),
            }
        }
        storm.scene.hear(Event::ItemFinished { item: reply("", &[]) });
        storm.scene.hear(Event::TurnFinished {
            ending: Ending::Completed,
            answer: String::new(),
        });
        storm.settle();
        storm.check();
    }
}

#[test]
fn a_terminal_that_changes_in_the_middle_of_a_frame_loses_no_line_and_shows_none_twice() {
    for seed in 0..40 {
        let mut storm = Storm::new(seed);
        storm.draw(Rest::Caret);
        storm.scene.hear(Event::TurnStarted);
        storm.draw(Rest::Top);
        let id = ItemId::new();
        storm.scene.stream(id, &[]);
        for _ in 0..200 {
            match storm.random.below(5) {
                0 => storm.tell(Drawn::Perhaps),
                1 => storm.line(id),
                _ => {
                    storm.line(id);
                    storm.write(Rest::Top);
                    storm.show_in_parts();
                }
            }
        }
        storm.scene.hear(Event::ItemFinished { item: reply("", &[]) });
        storm.scene.hear(Event::TurnFinished {
            ending: Ending::Completed,
            answer: String::new(),
        });
        storm.settle();
        storm.check();
    }
}

#[test]
fn a_cursor_at_the_caret_finds_its_way_back_however_often_the_size_changes() {
    for seed in 0..20 {
        let mut storm = Storm::new(seed);
        let id = ItemId::new();
        storm.scene.stream(id, &[]);
        for _ in 0..30 {
            storm.line(id);
        }
        storm.scene.hear(Event::ItemFinished { item: reply("", &[]) });
        storm.draw(Rest::Caret);
        for _ in 0..40 {
            storm.resize();
            storm.tell(Drawn::Before);
            if storm.random.below(2) == 0 {
                // Once more before what was written because of the first has been read.
                storm.resize();
            }
            storm.settle();
        }
        storm.check();
    }
}
