//! Subtasks: watch them work, say something to one, stop one.

use super::list::{Act, Fetch, Source};
use crate::keys::Deed;
use crate::row::{Row, wrap};
use crate::state::Subtask;
use crate::view::{Cx, Place, Wish};
use crate::words::{first_line, money, tokens};
use model::Message;
use session::{Command, Delivery};

/// Subtasks of the session.
pub(crate) struct Subagents;

impl Source for Subagents {
    type Entry = Subtask;

    fn title(&self) -> String {
        "Subtasks".into()
    }

    fn place(&self) -> Place {
        Place::Full
    }

    fn fetch(&mut self, cx: &Cx<'_>) -> Fetch<Subtask> {
        Fetch::Now(cx.state.subtasks.clone())
    }

    fn name(&self, subtask: &Subtask) -> String {
        match subtask.title.is_empty() {
            true => format!("subtask {}", &subtask.session.to_string()[..8]),
            false => first_line(&subtask.title),
        }
    }

    fn about(&self, subtask: &Subtask, cx: &Cx<'_>) -> (Row, Row) {
        let right = match subtask.working {
            true => Row::of("working", cx.theme.accent),
            false => Row::of("done", cx.theme.dim),
        };
        (Row::empty(), right)
    }

    fn detail(&self, subtask: &Subtask, width: u16, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let used = subtask.totals.usage;
        let cost = format!(
            "{} tokens · {}",
            tokens(used.prompt() + used.output),
            money(subtask.totals.cost)
        );
        let mut rows = vec![Row::of(cost, theme.dim), Row::empty()];
        for line in &subtask.lines {
            let row = Row::of(crate::row::tame(line).replace('\n', " "), theme.text);
            rows.extend(wrap(&row, width.into(), &Row::of("  ", theme.text)));
        }
        rows
    }

    fn choose(&mut self, subtask: &Subtask, _: &Cx<'_>) -> Act {
        ask(subtask)
    }

    fn act(&mut self, deed: Deed, subtask: &Subtask, _: &Cx<'_>) -> Option<Act> {
        match deed {
            Deed::Steer => Some(ask(subtask)),
            Deed::Stop if subtask.working => Some(Act::Do(Wish::Send(Command::Subtask {
                session: subtask.session,
                command: Box::new(Command::Interrupt),
            }))),
            _ => None,
        }
    }

    fn said(&mut self, _: Deed, words: String, subtask: &Subtask, _: &Cx<'_>) -> Act {
        if words.trim().is_empty() {
            return Act::Stay;
        }
        Act::Do(Wish::Send(Command::Subtask {
            session: subtask.session,
            command: Box::new(Command::Prompt {
                message: Message::user(words),
                delivery: Delivery::Steer,
            }),
        }))
    }

    fn hints(&self) -> &'static [Deed] {
        &[Deed::Close, Deed::Steer, Deed::Stop]
    }

    fn empty(&self) -> &'static str {
        "no work was handed to subtasks"
    }

    fn is_live(&self) -> bool {
        true
    }
}

fn ask(subtask: &Subtask) -> Act {
    match subtask.working {
        true => Act::Ask(Deed::Steer, "say to it:".into(), String::new()),
        false => Act::Stay,
    }
}
