//! How the terminal front end looks and feels.

use schemars::JsonSchema;
use serde::Deserialize;

/// The terminal front end.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Tui {
    /// The theme: `dark`, `light`, `plain`, another that hew has, or one of your own in `themes/NAME.toml` beside this file.
    pub(crate) theme: Option<String>,
    /// Whether prompts are written with vim's keys.
    pub(crate) vim: Option<bool>,
}
