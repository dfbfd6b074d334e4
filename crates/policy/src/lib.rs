//! Decides allow, ask or deny for an action, given the mode and the permission level.
//!
//! Pure: it reads no file and asks nobody. The caller names what a tool wants to do as [`Action`]s and carries out the
//! [`Decision`].

mod action;
mod decide;
mod mode;

pub use action::{Action, Place};
pub use decide::{Decision, Level, Policy};
pub use mode::{Group, Mode};
