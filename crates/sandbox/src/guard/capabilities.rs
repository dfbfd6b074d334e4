//! What of root's powers is left to a confined process.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// Enough to work on files of others, as root does in a container; where files may be written is not for it to say.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// Gives up every power but those over files, for good.
pub(super) fn drop_all_but_files() -> io::Result<()> {
    let own = capabilities(None)?;
    if own.permitted.is_empty() {
        return Ok(());
    }
    if own.effective.contains(CapabilitySet::SETPCAP) {
        let all = (0..64).map(|number| CapabilitySet::from_bits_retain(1 << number));
        // Asked for one it does not know, the kernel says so; that is the end of them.
        let known = all.take_while(|one| capability_is_in_bounding_set(*one).is_ok());
        for one in known.filter(|one| !KEPT.contains(*one)) {
            remove_capability_from_bounding_set(one)?;
        }
    }
    clear_ambient_capability_set()?;
    // A user who is not root has them only within a namespace, where none is needed any more.
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
