//! The terminal front end in the configuration.

use super::key::config_table;

config_table! {
    /// The terminal front end.
    pub struct TuiConfig {
        /// The theme: `dark`, `light`, `plain`, another built-in theme, or your own in `themes/NAME.toml` next to the
        /// configuration file. Without it, `dark` or `light` by the background of the terminal.
        theme: Option<String>,
        /// Whether the prompt editor uses vim key bindings.
        vim: bool = false,
    }
}
