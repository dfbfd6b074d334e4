//! Descriptions of actions, turn ends and progress.

use crate::format::tool_label;
use crate::row::sanitise;
use policy::Action;
use session::{Body, Event, ItemStart, Limit, NoticeLevel, TurnEnd};
use std::path::Path;
use std::time::Duration;

/// `0.4s`, `12s`, `3m 20s`, `1h 2m`
pub(crate) fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=9 => format!("{:.1}s", time.as_secs_f64()),
        10..=59 => format!("{seconds}s"),
        60..=3599 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!("{}h {}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// `812 B`, `3.1 kB`, `2.0 MB`
pub(super) fn byte_size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// A text with the paths inside the project relative to its root.
pub(crate) fn relative_paths(text: &str, root: &Path) -> String {
    match root.to_str().map(|root| root.trim_end_matches('/')) {
        Some(root) if !root.is_empty() => {
            let prefix = format!("{root}/");
            let mut words = text.split(' ').map(|word| word.strip_prefix(&prefix).unwrap_or(word));
            let first = words.next().unwrap_or_default().to_owned();
            words.fold(first, |text, word| text + " " + word)
        }
        Some(_) | None => text.to_owned(),
    }
}

/// A short description of an action.
pub(crate) fn describe(action: &Action, root: &Path) -> String {
    let shown = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let text = match action {
        Action::Read { path, .. } => format!("read {}", shown(path)),
        Action::Write { path, .. } => format!("change {}", shown(path)),
        Action::Run { .. } => "run a command".into(),
        Action::Escalate { .. } => "run a command outside the sandbox".into(),
        Action::Fetch { url } => format!("fetch {url}"),
        Action::Mcp { server, tool } => format!("call `{tool}` on the MCP server `{server}`"),
        Action::SwitchMode { to } => format!("switch to mode `{to}`"),
        Action::Subtask { mode } => format!("start a subtask in mode `{mode}`"),
    };
    sanitise(&text).replace('\n', " ")
}

/// The notice about the end of a turn, if it needs one.
pub(super) fn turn_end(ending: &TurnEnd) -> Option<(NoticeLevel, String)> {
    let warning = |text: String| Some((NoticeLevel::Warning, text));
    let no_key = model::Error::Credentials {
        provider: String::new(),
        detail: String::new(),
    };
    let no_key = no_key.hint();
    match ending {
        TurnEnd::Completed => None,
        TurnEnd::MaxTokens => {
            warning("the reply reached the model's output limit; send `continue` for the rest".into())
        }
        TurnEnd::Refused { detail } => warning(match detail {
            Some(detail) => format!("the model declined: {detail}"),
            None => "the model declined".into(),
        }),
        TurnEnd::Interrupted => Some((NoticeLevel::Info, "interrupted".into())),
        TurnEnd::Limit(limit) => warning(match limit {
            Limit::Steps(steps) => format!("stopped: reached the limit of {steps} requests"),
            Limit::Cost(cost) => format!("stopped: reached the cost limit of ${:.2}", cost.usd()),
            Limit::Time(time) => format!("stopped: reached the time limit of {}", elapsed(*time)),
        }),
        TurnEnd::Loop { tool, times } => {
            warning(format!("stopped: {tool} was called {times} times with the same input"))
        }
        // In the TUI a key can be entered directly.
        TurnEnd::Failed { error, hint } if hint == no_key => warning(format!(
            "{error}\nrun /setup to enter another key or choose another provider"
        )),
        TurnEnd::Failed { error, hint } => warning(format!("{error}\n{hint}")),
    }
}

/// A one-line description of a subtask's event, if it is relevant.
pub(super) fn subtask_progress(event: &Event) -> Option<String> {
    match event {
        Event::ItemStarted {
            kind: ItemStart::Result { tool, title, .. },
            ..
        } => Some(format!("{} {title}", tool_label(tool))),
        Event::ItemFinished { item } => match &item.body {
            Body::Reply { message, .. } => message
                .text()
                .lines()
                .find(|line| !line.trim().is_empty())
                .map(String::from),
            _ => None,
        },
        Event::Subtask { event, .. } => subtask_progress(event),
        _ => None,
    }
}
