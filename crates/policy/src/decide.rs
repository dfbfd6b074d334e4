//! The decision itself.

use crate::{Action, Deed, Mode, Permissions};
use serde::{Deserialize, Serialize};

/// What the person allows in general.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Look, but change nothing and run nothing.
    ReadOnly,
    /// Change files inside the project and run commands there.
    #[default]
    Workspace,
    /// Everything.
    Full,
}

/// Whether an action may happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It may.
    Allow,
    /// Only if the person agrees.
    Ask {
        /// Why it is not allowed as it is.
        why: String,
    },
    /// It may not.
    Deny {
        /// Why, in words for the model.
        why: String,
    },
}

/// The rules in force.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// What the person allows in general.
    pub level: Level,
    /// Rules, remembered answers, hidden and protected files.
    pub permissions: Permissions,
}

impl Policy {
    /// The level alone.
    pub fn of(level: Level) -> Self {
        Policy {
            level,
            permissions: Permissions::default(),
        }
    }

    /// Decides about one action of one tool.
    pub fn decide(&self, mode: &Mode, tool: &str, action: &Action) -> Decision {
        self.permissions.decide(self.level, mode, tool, &Deed::from(action))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    fn decide(level: Level, mode: Mode, action: Action) -> &'static str {
        match Policy::of(level).decide(&mode, "", &action) {
            Decision::Allow => "allow",
            Decision::Ask { .. } => "ask",
            Decision::Deny { .. } => "deny",
        }
    }

    #[test]
    fn each_level_allows_what_it_says() {
        let read = |place| Action::Read {
            path: "/x".into(),
            place,
        };
        let write = |place| Action::Write {
            path: "/x".into(),
            place,
        };
        let run = || Action::Run {
            command: "ls".into(),
            cwd: "/".into(),
        };
        let cases = [
            (Level::ReadOnly, read(Place::Inside), "allow"),
            (Level::ReadOnly, read(Place::Outside), "ask"),
            (Level::ReadOnly, write(Place::Inside), "deny"),
            (Level::ReadOnly, run(), "deny"),
            (Level::Workspace, read(Place::Outside), "ask"),
            (Level::Workspace, write(Place::Inside), "allow"),
            (Level::Workspace, write(Place::Outside), "ask"),
            (Level::Workspace, run(), "allow"),
            (Level::Full, write(Place::Outside), "allow"),
        ];
        for (level, action, expected) in cases {
            assert_eq!(
                decide(level, Mode::code(), action.clone()),
                expected,
                "{level:?} {action:?}"
            );
        }
    }

    #[test]
    fn a_mode_without_a_group_denies_its_actions_at_every_level() {
        let write = Action::Write {
            path: "/x".into(),
            place: Place::Inside,
        };
        assert_eq!(decide(Level::Full, Mode::ask(), write), "deny");
        assert_eq!(
            decide(
                Level::Full,
                Mode::ask(),
                Action::Run {
                    command: "ls".into(),
                    cwd: "/".into()
                }
            ),
            "deny"
        );
    }
}
