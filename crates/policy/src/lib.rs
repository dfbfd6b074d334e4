//! Decides allow, ask or deny for an action, given the mode and the rules.
