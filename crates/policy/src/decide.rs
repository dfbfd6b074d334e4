//! The decision itself.

use crate::{Action, Group, Mode, Place};
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// What the person allows in general.
    pub level: Level,
}

impl Policy {
    /// Decides about one action.
    pub fn decide(&self, mode: &Mode, action: &Action) -> Decision {
        let group = match action {
            Action::Read { .. } => Group::Read,
            Action::Write { .. } => Group::Edit,
            Action::Run { .. } => Group::Command,
        };
        if !mode.groups.contains(&group) {
            let what = match group {
                Group::Read => "reading files",
                Group::Edit => "changing files",
                Group::Command => "running commands",
            };
            return Decision::Deny {
                why: format!("the mode `{}` does not include {what}", mode.name),
            };
        }
        match (self.level, action) {
            (Level::Full, _)
            | (
                _,
                Action::Read {
                    place: Place::Inside, ..
                },
            ) => Decision::Allow,
            (
                _,
                Action::Read {
                    path,
                    place: Place::Outside,
                },
            ) => Decision::Ask {
                why: format!("{} is outside the project", path.display()),
            },
            (Level::ReadOnly, Action::Write { .. }) => Decision::Deny {
                why: "this run may not change files".into(),
            },
            (Level::ReadOnly, Action::Run { .. }) => Decision::Deny {
                why: "this run may not run commands".into(),
            },
            (
                Level::Workspace,
                Action::Write {
                    place: Place::Inside, ..
                }
                | Action::Run { .. },
            ) => Decision::Allow,
            (
                Level::Workspace,
                Action::Write {
                    path,
                    place: Place::Outside,
                },
            ) => Decision::Ask {
                why: format!("{} is outside the project", path.display()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(level: Level, mode: Mode, action: Action) -> &'static str {
        match (Policy { level }).decide(&mode, &action) {
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
