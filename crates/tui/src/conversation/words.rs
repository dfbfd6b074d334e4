//! Words for what happens.

use crate::row::tame;
use policy::Action;
use session::{Body, Ending, Event, ItemKind, Level, Limit};
use std::time::Duration;

/// `0.4s`, `12s`, `3m 20s`, `1h 2m`
pub(crate) fn took(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=9 => format!("{:.1}s", time.as_secs_f64()),
        10..=59 => format!("{seconds}s"),
        60..=3599 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!("{}h {}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// `812 B`, `3.1 kB`, `2.0 MB`
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// What a tool wants to do, in a few words.
pub(crate) fn describe(action: &Action) -> String {
    let text = match action {
        Action::Read { path, .. } => format!("read {}", path.display()),
        Action::Write { path, .. } => format!("change {}", path.display()),
        Action::Run { .. } => "run a command".into(),
        Action::Escalate { .. } => "run a command outside the sandbox".into(),
        Action::Fetch { url } => format!("load {url}"),
        Action::Mcp { server, tool } => format!("call `{tool}` of the MCP server `{server}`"),
        Action::SwitchMode { to } => format!("go on in the mode `{to}`"),
        Action::Subtask { mode } => format!("hand a part of the work to the mode `{mode}`"),
    };
    tame(&text).replace('\n', " ")
}

/// How a turn ended, where that is worth a word.
pub(super) fn ending(ending: &Ending) -> Option<(Level, String)> {
    let warning = |text: String| Some((Level::Warning, text));
    let no_key = model::Error::Credentials {
        provider: String::new(),
        detail: String::new(),
    };
    let no_key = no_key.hint();
    match ending {
        Ending::Completed => None,
        Ending::MaxTokens => warning("the reply reached the model's output limit; say `go on` to have the rest".into()),
        Ending::Refused { detail } => warning(match detail {
            Some(detail) => format!("the model declined: {detail}"),
            None => "the model declined".into(),
        }),
        Ending::Interrupted => Some((Level::Info, "interrupted; nothing is lost".into())),
        Ending::Limit(limit) => warning(match limit {
            Limit::Steps(steps) => format!("stopped after {steps} requests, as the limit says"),
            Limit::Cost(cost) => format!("stopped at ${:.2}, as the limit says", cost.usd()),
            Limit::Time(time) => format!("stopped after {}, as the limit says", took(*time)),
        }),
        Ending::Loop { tool, times } => warning(format!("stopped: the same call of {tool} was made {times} times")),
        // Here a key can be given at once.
        Ending::Failed { error, hint } if hint == no_key => {
            warning(format!("{error}\n/setup takes another key, or another provider"))
        }
        Ending::Failed { error, hint } => warning(format!("{error}\n{hint}")),
    }
}

/// What happens in a subtask, in one line, where it is worth one.
pub(super) fn below(event: &Event) -> Option<String> {
    match event {
        Event::ItemStarted {
            kind: ItemKind::Result { tool, title, .. },
            ..
        } => Some(format!("{tool} {title}")),
        Event::ItemFinished { item } => match &item.body {
            Body::Reply { message, .. } => message
                .text()
                .lines()
                .find(|line| !line.trim().is_empty())
                .map(String::from),
            _ => None,
        },
        Event::Subtask { event, .. } => below(event),
        _ => None,
    }
}
