//! Parses actions in the syntax of rule examples: `run git push --force`, `write src/main.rs`, `mcp
//! github/list_issues`.

use crate::paths::{ProjectPaths, normalize};
use crate::{Action, Error};

impl Action {
    /// Parses an action such as `run git push` or `read ~/.ssh/config`. Relative paths start at the project.
    pub fn parse(text: &str, project: &ProjectPaths) -> Result<Action, Error> {
        let wrong = || Error::Example {
            example: text.to_owned(),
        };
        let (what, rest) = text.trim().split_once(char::is_whitespace).ok_or_else(wrong)?;
        let rest = rest.trim();
        let cwd = project.root.clone();
        let path = || match (rest.strip_prefix("~/"), &project.home) {
            (Some(below), Some(home)) => normalize(&home.join(below)),
            (Some(_), None) | (None, _) => normalize(&project.root.join(rest)),
        };
        Ok(match what {
            "read" => Action::Read {
                place: project.area_of(&path()),
                path: path(),
            },
            "write" => Action::Write {
                place: project.area_of(&path()),
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
