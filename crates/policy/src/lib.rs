//! Decides allow, ask or deny for an action, given the mode, the permission level and the rules.
//!
//! Pure: it reads no file and asks nobody. The caller names what a tool wants to do as [`Action`]s and carries out the
//! [`Decision`].

mod action;
mod approval;
mod builtin;
mod decide;
mod deed;
mod error;
mod example;
mod grant;
mod ignore_files;
mod layer;
mod mode;
mod modes;
mod permissions;
mod places;
mod problem;
mod profile;
mod protect;
mod rule;
pub mod shell;

pub use action::{Action, Place};
pub use approval::{Approval, Auto, Limit, Settings};
pub use decide::{Decision, Level, Policy};
pub use deed::Deed;
pub use error::Error;
pub use grant::{Grant, Grants, Revoked, Scope};
pub use ignore_files::{IGNORE_FILES, Ignore};
pub use layer::{Examples, Layer, Origin, RuleText, Ruling};
pub use mode::{FileRule, Group, Mode};
pub use modes::{Modes, parse_modes};
pub use permissions::Permissions;
pub use places::Places;
pub use problem::Problem;
pub use profile::{Profile, Server, Switch};
pub use protect::{PROTECTED, Protected};
pub use rule::{Match, Reading, Rule};
