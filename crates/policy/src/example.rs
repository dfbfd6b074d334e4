//! Deeds as people write them to test rules: `run git push --force`, `write src/main.rs`, `mcp github/list_issues`.

use crate::places::{Places, normalise};
use crate::{Action, Error};

impl Action {
    /// Reads a deed such as `run git push` or `read ~/.ssh/config`. Relative paths start at the project.
    pub fn parse(text: &str, places: &Places) -> Result<Action, Error> {
        let wrong = || Error::Example {
            example: text.to_owned(),
        };
        let (what, rest) = text.trim().split_once(char::is_whitespace).ok_or_else(wrong)?;
        let rest = rest.trim();
        let cwd = places.root.clone();
        let path = || match (rest.strip_prefix("~/"), &places.home) {
            (Some(below), Some(home)) => normalise(&home.join(below)),
            (Some(_), None) | (None, _) => normalise(&places.root.join(rest)),
        };
        Ok(match what {
            "read" => Action::Read {
                place: places.place(&path()),
                path: path(),
            },
            "write" => Action::Write {
                place: places.place(&path()),
                path: path(),
            },
            "run" => Action::Run {
                command: rest.into(),
                cwd,
            },
            "escalate" => Action::Escalate {
                command: rest.into(),
                cwd,
            },
            "fetch" => Action::Fetch { url: rest.into() },
            "mcp" => {
                let (server, tool) = rest.split_once('/').ok_or_else(wrong)?;
                Action::Mcp {
                    server: server.into(),
                    tool: tool.into(),
                }
            }
            "mode" => Action::SwitchMode { to: rest.into() },
            "task" => Action::Subtask { mode: rest.into() },
            _ => return Err(wrong()),
        })
    }
}
