//! The panels at the start of a session: the initial ones, and those that were open when it ended.

use policy::{Decision, Mode, Policy};
use prompt::panel::PanelSource as _;
use session::Item;
use std::sync::Arc;
use toolbox::{DEFAULT_PANELS, OpenPanels};

/// Reopens the panels of an earlier process, as far as that needs no approval. The others are reported as closed to the
/// model.
pub(crate) fn reopen(panels: &OpenPanels, items: &[Arc<Item>], policy: &Policy, mode: &Mode) {
    panels.set_history_parts(prompt::current_elision(items).history.len());
    for name in prompt::panel::open_states(items).into_keys() {
        let mut actions = panels.actions(name).into_iter();
        if actions.all(|action| policy.decide(mode, "panel", &action) == Decision::Allow) {
            // A panel that no longer exists, such as one of a job, is closed.
            drop(panels.open(name));
        }
    }
}

/// Opens the configured panels or the default ones. Returns problems.
pub(crate) fn open_initial(panels: &OpenPanels, configured: Option<&[String]>) -> Vec<String> {
    let Some(configured) = configured else {
        for name in DEFAULT_PANELS {
            // The default panels always open.
            drop(panels.open(name));
        }
        return Vec::new();
    };
    let problems = configured.iter().filter_map(|name| panels.open(name).err());
    problems.map(|why| format!("panels: {why}")).collect()
}
