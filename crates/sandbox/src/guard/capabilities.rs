//! The capabilities left to a confined process: none.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// Sufficient to work on other users' files, as root in a container with a mounted project does; it does not extend the
/// writable paths.
const FILES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// Drops all capabilities permanently. Root keeps those for files if a writable directory belongs to another user and only that user
/// may write to it.
pub(super) fn drop_all(writable: &[PathBuf]) -> io::Result<()> {
    let own = capabilities(None)?;
    if own.permitted.is_empty() {
        return Ok(());
    }
    let user = rustix::process::geteuid();
    let is_foreign = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|found| found.uid() != user.as_raw() && found.mode() & 0o002 == 0)
    };
    let kept = match user.is_root() && writable.iter().any(is_foreign) {
        true => FILES,
        false => CapabilitySet::empty(),
    };
    if own.effective.contains(CapabilitySet::SETPCAP) {
        let all = (0..64).map(|number| CapabilitySet::from_bits_retain(1 << number));
        // The kernel rejects unknown capabilities, which marks the end of the list.
        let known = all.take_while(|one| capability_is_in_bounding_set(*one).is_ok());
        for one in known.filter(|one| !kept.contains(*one)) {
            remove_capability_from_bounding_set(one)?;
        }
    }
    clear_ambient_capability_set()?;
    let kept = own.permitted & kept;
    set_capabilities(
        None,
        CapabilitySets {
            effective: kept,
            permitted: kept,
            inheritable: CapabilitySet::empty(),
        },
    )?;
    Ok(())
}
