//! Opens the panels that are shown from the beginning.

use toolbox::{Panels, USUAL_PANELS};

/// Opens the configured panels, else the usual ones; says which cannot be opened.
pub(super) fn open(panels: &Panels, configured: Option<&[String]>) -> Vec<String> {
    let Some(configured) = configured else {
        for name in USUAL_PANELS {
            // These need nothing that could be missing.
            drop(panels.open(name));
        }
        return Vec::new();
    };
    let problems = configured.iter().filter_map(|name| panels.open(name).err());
    problems.map(|why| format!("panels: {why}")).collect()
}
