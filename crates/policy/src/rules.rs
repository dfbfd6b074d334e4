//! The rule engine: rule syntax, layers of rules, grants, approval settings, and the evaluation of an action.

mod approval;
mod command_pattern;
mod grant;
mod layer;
mod path_pattern;
mod permissions;
mod rule;
mod suggestions;

pub use approval::{ApprovalLimit, ApprovalMode, ApprovalSettings, AutoApproval};
pub use grant::{Grant, GrantScope, Grants, RevokeOutcome};
pub use layer::{RuleConfig, RuleExamples, RuleLayer, RuleOrigin, Ruling};
pub use permissions::Permissions;
pub use rule::{Match, MatchMode, Rule};
