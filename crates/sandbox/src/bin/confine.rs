//! Only a guard, for tests and benchmarks: what a program that starts confined processes does first.
//!
//! The variable `PRETEND` simulates a kernel with fewer features: `no-namespaces`, `no-landlock`, or both.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    if let Err(error) = pretend::lesser_kernel() {
        eprintln!("{error}");
        return std::process::ExitCode::FAILURE;
    }
    sandbox::guard().unwrap_or(std::process::ExitCode::FAILURE)
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod pretend {
    use std::error::Error;

    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};

    #[allow(clippy::disallowed_methods, reason = "only tests start this program")]
    pub(crate) fn lesser_kernel() -> Result<(), Box<dyn Error>> {
        let Ok(missing) = std::env::var("PRETEND") else {
            return Ok(());
        };
        for (what, call, errno) in [
            ("no-namespaces", libc::SYS_unshare, libc::EPERM),
            ("no-landlock", libc::SYS_landlock_create_ruleset, libc::ENOSYS),
        ] {
            if missing.contains(what) {
                let rules = [(call, Vec::new())].into();
                let errno = SeccompAction::Errno(errno.unsigned_abs());
                let arch = TargetArch::try_from(std::env::consts::ARCH)?;
                let program = BpfProgram::try_from(SeccompFilter::new(rules, SeccompAction::Allow, errno, arch)?)?;
                apply_filter(&program)?;
            }
        }
        Ok(())
    }
}
