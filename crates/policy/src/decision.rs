//! The policy and its decisions.

use crate::{Action, Mode, Permissions};
use serde::{Deserialize, Serialize};

/// What is allowed in general.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessLevel {
    /// Read only: no changes, no commands.
    ReadOnly,
    /// Change files inside the project and run commands there.
    #[default]
    Workspace,
    /// Everything.
    Full,
}

/// The decision about an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Allowed.
    Allow,
    /// Needs the user's approval.
    Ask {
        /// Why approval is needed.
        why: String,
    },
    /// Denied.
    Deny {
        /// The reason, for the model.
        why: String,
    },
}

/// The active rules.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// What is allowed in general.
    pub level: AccessLevel,
    /// Rules, grants, hidden and protected files.
    pub permissions: Permissions,
}

impl Policy {
    /// A policy with only a level.
    pub fn of(level: AccessLevel) -> Self {
        Policy {
            level,
            permissions: Permissions::default(),
        }
    }

    /// Decides about one action of one tool.
    pub fn decide(&self, mode: &Mode, tool: &str, action: &Action) -> Decision {
        self.permissions.decide(self.level, mode, tool, action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PathArea;

    fn decide(level: AccessLevel, mode: Mode, action: Action) -> &'static str {
        match Policy::of(level).decide(&mode, "", &action) {
            Decision::Allow => "allow",
            Decision::Ask { .. } => "ask",
            Decision::Deny { .. } => "deny",
        }
    }

    #[test]
    fn each_level_allows_its_actions() {
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
            (AccessLevel::ReadOnly, read(PathArea::Inside), "allow"),
            (AccessLevel::ReadOnly, read(PathArea::Outside), "ask"),
            (AccessLevel::ReadOnly, write(PathArea::Inside), "deny"),
            (AccessLevel::ReadOnly, run(), "deny"),
            (AccessLevel::Workspace, read(PathArea::Outside), "ask"),
            (AccessLevel::Workspace, write(PathArea::Inside), "allow"),
            (AccessLevel::Workspace, write(PathArea::Outside), "ask"),
            (AccessLevel::Workspace, run(), "allow"),
            (AccessLevel::Full, write(PathArea::Outside), "allow"),
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
            place: PathArea::Inside,
        };
        assert_eq!(decide(AccessLevel::Full, Mode::ask(), write), "deny");
        assert_eq!(
            decide(
                AccessLevel::Full,
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
