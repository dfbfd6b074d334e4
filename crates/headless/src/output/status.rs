//! The status line: activity, elapsed time, cost.

use super::format::{self, dollars, duration, line, tokens};
use super::summary::RunSummary;
use session::ItemId;
use std::time::Instant;

/// The content of the status line.
#[derive(Debug)]
pub struct LiveStatus {
    /// The model's name.
    model: String,
    started: Instant,
    /// The current step, or the last one.
    pub step: u32,
    /// The model's activity.
    pub doing: ModelActivity,
    /// The tools that run, with their titles and the last line that each printed.
    running: Vec<(ItemId, String, String)>,
    frame: usize,
}

/// The model's activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelActivity {
    /// It has sent nothing yet.
    Waiting,
    /// Thinking, with its last words.
    Thinking(String),
    /// It writes its answer.
    Writing,
    /// It writes a tool call.
    Calling(String),
    /// Idle: tools run, or the turn is done.
    Nothing,
}

const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

impl LiveStatus {
    /// A status for a model that starts now.
    pub fn new(model: &str) -> Self {
        let name = model.split_once('/').map_or(model, |(_, id)| id);
        LiveStatus {
            model: name.into(),
            started: Instant::now(),
            step: 0,
            doing: ModelActivity::Nothing,
            running: Vec::new(),
            frame: 0,
        }
    }

    /// Adds a running tool.
    pub fn begin(&mut self, item: ItemId, label: String) {
        self.running.push((item, label, String::new()));
    }

    /// Adds output of a tool.
    pub fn printed(&mut self, item: ItemId, text: &str) {
        let last = text.lines().rev().find(|line| !line.trim().is_empty());
        if let (Some(last), Some(entry)) = (last, self.running.iter_mut().find(|entry| entry.0 == item)) {
            entry.2 = line(last, 200);
        }
    }

    /// Removes a tool.
    pub fn end(&mut self, item: ItemId) {
        self.running.retain(|(id, ..)| *id != item);
    }

    /// How long this run has taken.
    pub fn elapsed(&self) -> std::time::Duration {
        self.started.elapsed()
    }

    /// Starts a new turn.
    pub fn restart(&mut self) {
        self.running.clear();
        self.doing = ModelActivity::Waiting;
    }

    /// The line at its next frame, for a terminal of this width.
    pub fn render(&mut self, done: &RunSummary, width: usize) -> String {
        self.frame = (self.frame + 1) % FRAMES.len();
        // Two columns stay free: some terminals wrap after the last column, and some characters are wider than reported.
        let room = width.saturating_sub(2);
        let figures = self.figures(done, width);
        let activity = self.activity(room.saturating_sub(format::width(&figures) + 5).max(16));
        line(&format!("{} {activity} · {figures}", FRAMES[self.frame]), room)
    }

    fn figures(&self, done: &RunSummary, width: usize) -> String {
        let mut parts = vec![took_whole(self.elapsed())];
        // In narrow terminals, tool output has priority over the constant name.
        if self.running.is_empty() || width >= WIDE {
            parts.insert(0, self.model.clone());
        }
        if self.step > 0 {
            parts.push(format!("step {}", self.step));
        }
        let count = done.usage.prompt_tokens() + done.usage.output;
        if count > 0 {
            parts.push(format!("{} tokens", tokens(count)));
        }
        if done.cost.nano_usd > 0 {
            parts.push(dollars(done.cost));
        }
        parts.join(" · ")
    }

    fn activity(&self, room: usize) -> String {
        let text = match self.running.as_slice() {
            [] => match &self.doing {
                ModelActivity::Waiting => "waiting for the model".into(),
                ModelActivity::Thinking(words) => format!("thinking: {words}"),
                ModelActivity::Writing => "writing".into(),
                ModelActivity::Calling(tool) => format!("calling {tool}"),
                ModelActivity::Nothing => "working".into(),
            },
            [(_, label, printed), more @ ..] => {
                let others = match more.len() {
                    0 => String::new(),
                    more => format!(" (+{more} more)"),
                };
                let left = room.saturating_sub(format::width(&others));
                if printed.is_empty() {
                    return line(label, left) + &others;
                }
                // Both get half of the width, plus what the other does not need.
                let label = line(label, (left / 2).max(left.saturating_sub(format::width(printed) + 3)));
                format!("{label}{others} › {printed}")
            }
        };
        line(&text, room)
    }
}

/// The width from which all parts fit.
const WIDE: usize = 100;

/// An elapsed time in whole seconds, so that it does not flicker.
fn took_whole(time: std::time::Duration) -> String {
    match time.as_secs() {
        seconds @ 0..10 => format!("{seconds}s"),
        _ => duration(time),
    }
}
