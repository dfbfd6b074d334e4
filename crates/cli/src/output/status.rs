//! The live line at the bottom: what is going on, for how long, at what price.

use super::words::{line, money, tokens, took};
use session::{ItemId, Totals};
use std::time::Instant;

/// What the live line says.
#[derive(Debug)]
pub(crate) struct Status {
    /// The model's name.
    model: String,
    started: Instant,
    /// Requests to the model in this turn.
    pub(crate) step: u32,
    /// The session so far.
    pub(crate) totals: Totals,
    /// What the model is doing.
    pub(crate) doing: Doing,
    /// The tools that run, with their titles and the last line that each printed.
    running: Vec<(ItemId, String, String)>,
    frame: usize,
}

/// What the model is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It has not begun to answer.
    Waiting,
    /// It thinks; the last words of it.
    Thinking(String),
    /// It writes its answer.
    Writing,
    /// It writes a tool call.
    Calling(String),
    /// Nothing: tools run, or all is done.
    Nothing,
}

const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

impl Status {
    /// A status for a model that starts now.
    pub(crate) fn new(model: &str) -> Self {
        let name = model.split_once('/').map_or(model, |(_, id)| id);
        Status {
            model: name.into(),
            started: Instant::now(),
            step: 0,
            totals: Totals::default(),
            doing: Doing::Nothing,
            running: Vec::new(),
            frame: 0,
        }
    }

    /// A tool begins.
    pub(crate) fn begin(&mut self, item: ItemId, label: String) {
        self.running.push((item, label, String::new()));
    }

    /// A tool printed something.
    pub(crate) fn printed(&mut self, item: ItemId, text: &str) {
        let last = text.lines().rev().find(|line| !line.trim().is_empty());
        if let (Some(last), Some(entry)) = (last, self.running.iter_mut().find(|entry| entry.0 == item)) {
            entry.2 = line(last, 200);
        }
    }

    /// A tool has ended.
    pub(crate) fn end(&mut self, item: ItemId) {
        self.running.retain(|(id, ..)| *id != item);
    }

    /// How long the turn has taken.
    pub(crate) fn elapsed(&self) -> std::time::Duration {
        self.started.elapsed()
    }

    /// A new turn begins.
    pub(crate) fn restart(&mut self) {
        self.started = Instant::now();
        self.step = 0;
        self.running.clear();
        self.doing = Doing::Waiting;
    }

    /// The line at its next frame, no wider than this.
    pub(crate) fn render(&mut self, width: usize) -> String {
        self.frame = (self.frame + 1) % FRAMES.len();
        let figures = self.figures();
        let text = format!("{} {} · {}", FRAMES[self.frame], figures, self.activity());
        // The last column stays free: some terminals wrap when it is filled.
        line(&text, width.saturating_sub(1))
    }

    fn figures(&self) -> String {
        let mut parts = vec![self.model.clone(), took_whole(self.elapsed())];
        if self.step > 0 {
            parts.push(format!("step {}", self.step));
        }
        let count = self.totals.usage.prompt() + self.totals.usage.output;
        if count > 0 {
            parts.push(format!("{} tokens", tokens(count)));
        }
        if self.totals.cost.nano_usd > 0 {
            parts.push(money(self.totals.cost));
        }
        parts.join(" · ")
    }

    fn activity(&self) -> String {
        match self.running.as_slice() {
            [] => match &self.doing {
                Doing::Waiting => "waiting for the model".into(),
                Doing::Thinking(words) => format!("thinking: {words}"),
                Doing::Writing => "writing".into(),
                Doing::Calling(tool) => format!("calling {tool}"),
                Doing::Nothing => "working".into(),
            },
            [(_, label, printed), more @ ..] => {
                let others = if more.is_empty() {
                    String::new()
                } else {
                    format!(" (+{} more)", more.len())
                };
                let printed = if printed.is_empty() {
                    String::new()
                } else {
                    format!(" › {printed}")
                };
                format!("{label}{others}{printed}")
            }
        }
    }
}

/// Time that does not flicker: whole seconds from the first on.
fn took_whole(time: std::time::Duration) -> String {
    match time.as_secs() {
        seconds @ 0..10 => format!("{seconds}s"),
        _ => took(time),
    }
}
