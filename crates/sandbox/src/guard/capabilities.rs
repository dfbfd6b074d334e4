//! The capabilities left to a confined process.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// Sufficient to work on other users' files, as root in a container does; it does not extend the writable paths.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// Drops all capabilities except those for files, permanently.
pub(super) fn drop_all_but_files() -> io::Result<()> {
    let own = capabilities(None)?;
    if own.permitted.is_empty() {
        return Ok(());
    }
    if own.effective.contains(CapabilitySet::SETPCAP) {
        let all = (0..64).map(|number| CapabilitySet::from_bits_retain(1 << number));
        // The kernel rejects unknown capabilities, which marks the end of the list.
        let known = all.take_while(|one| capability_is_in_bounding_set(*one).is_ok());
        for one in known.filter(|one| !KEPT.contains(*one)) {
            remove_capability_from_bounding_set(one)?;
        }
    }
    clear_ambient_capability_set()?;
    // A user other than root has capabilities only within a namespace, where none is needed any more.
    let kept = match rustix::process::geteuid().is_root() {
        true => own.permitted & KEPT,
        false => CapabilitySet::empty(),
    };
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
