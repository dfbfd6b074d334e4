//! Decides whether an action is allowed, needs approval or is denied, given the mode, the access level and the rules.
//!
//! Pure: it does no I/O and does not ask the user. The caller describes a tool's work as [`Action`]s and enforces the
//! [`Decision`].
//!
//! | module | content |
//! |---|---|
//! | `action` | what a tool wants to do, and the syntax of actions in examples |
//! | `decision` | [`Policy`] and its [`Decision`]s |
//! | `mode` | modes: built-in, custom, and what they permit |
//! | `paths` | project directories, hidden and protected files |
//! | `rules` | the rule engine: rule syntax, layers, grants, approval settings, evaluation |
//! | [`shell`] | the shell parser: commands, written and disclosed files, dangers |

mod action;
mod config_problem;
mod decision;
mod error;
mod mode;
mod paths;
mod pattern_limits;
mod rules;
pub mod shell;
mod tool_profile;

pub use action::{Action, PathArea};
pub use config_problem::ConfigProblem;
pub use decision::{AccessLevel, Decision, Policy};
pub use error::Error;
pub use mode::{FileRule, Mode, ModeSet, ModeViolation, ToolGroup, parse_modes};
pub use paths::{IGNORE_FILES, IgnoreRules, ProjectPaths, ProtectedPaths, project_files, protected_names};
pub use pattern_limits::{is_bounded_pattern, is_bounded_yaml};
pub use rules::{
    ApprovalLimit, ApprovalMode, ApprovalSettings, AutoApproval, Grant, GrantScope, Grants, Match, MatchMode,
    Permissions, RevokeOutcome, Rule, RuleConfig, RuleExamples, RuleLayer, RuleOrigin, Ruling,
};
pub use tool_profile::{DefaultSwitch, ServerToolProfile, ToolProfile};
