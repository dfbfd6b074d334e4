//! Protects this process's memory and environment from other processes of the same user.

use std::io;

/// Makes this process's memory, environment and open files unreadable to other processes of the user, and disables core
/// files. Child processes are not affected. Debuggers cannot attach any more.
///
/// Under Landlock, a confined process cannot read them anyway; this protects from other processes.
#[cfg(target_os = "linux")]
pub fn harden() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(
        rustix::process::DumpableBehavior::NotDumpable,
    )?)
}

/// Other systems protect a process's memory by default.
#[cfg(not(target_os = "linux"))]
pub fn harden() -> io::Result<()> {
    Ok(())
}
