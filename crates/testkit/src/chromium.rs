//! The browser for tests.

use std::path::PathBuf;

/// The Chromium for tests: `HEW_CHROMIUM`, or the installed one. `cargo xtask ci` installs one.
pub fn chromium() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("HEW_CHROMIUM") {
        return Some(given.into());
    }
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| path.is_file());
    if found.is_none() {
        eprintln!("not tested: there is no Chromium here; set HEW_CHROMIUM");
    }
    found
}
