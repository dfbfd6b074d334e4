//! Writes files atomically.

use std::ffi::OsString;
use std::io::{Result, Write};
use std::path::Path;

/// Writes a file atomically, readable by its owner only. Creates its directory.
pub fn write(file: &Path, text: &str) -> Result<()> {
    // A symbolic link is followed, so that it stays a link.
    let target = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let folder = target.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    let fresh = folder.join(name);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let written = options
        .open(&fresh)
        .and_then(|mut out| out.write_all(text.as_bytes()).and_then(|()| out.sync_all()))
        .and_then(|()| std::fs::rename(&fresh, &target));
    if written.is_err() {
        drop(std::fs::remove_file(&fresh));
    }
    written
}
