//! Keeps this process's own memory and environment from other processes of the same user.

use std::io;

/// Makes this process's memory, environment and open files unreadable to other processes of the user, and keeps it from
/// leaving a core file. What it starts is not affected. Debuggers cannot attach any more.
///
/// A confined process cannot read them anyway where Landlock is in force; this is for the others.
#[cfg(target_os = "linux")]
pub fn harden() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(
        rustix::process::DumpableBehavior::NotDumpable,
    )?)
}

/// Other systems keep a process's memory to itself.
#[cfg(not(target_os = "linux"))]
pub fn harden() -> io::Result<()> {
    Ok(())
}
