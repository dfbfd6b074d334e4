//! The initial panels.

use toolbox::{DEFAULT_PANELS, OpenPanels};

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
