//! Only a guard, for tests and benchmarks: what a program that starts confined processes does first.
//!
//! The variable `PRETEND` simulates a kernel with fewer features, by names such as `no-namespaces no-landlock`.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    if let Err(error) = pretend::lesser_kernel() {
        eprintln!("{error}");
        return std::process::ExitCode::FAILURE;
    }
    sandbox::guard().unwrap_or_else(starter::run)
}

/// `confine start FOLDER COMMAND` starts a command with this program as its guard, and waits.
#[cfg(target_os = "linux")]
mod starter {
    use std::process::ExitCode;

    use sandbox::{
        CaptureCap, Confinement, ConfinementLevel, ProcessEnvironment, ProcessRequest, ProcessStatus, Program,
    };

    #[allow(clippy::disallowed_methods, reason = "only tests start this program")]
    pub(crate) fn run() -> ExitCode {
        let args: Vec<String> = std::env::args().skip(1).collect();
        let [start, folder, line] = args.as_slice() else {
            return ExitCode::FAILURE;
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let (Ok(runtime), "start") = (runtime, start.as_str()) else {
            return ExitCode::FAILURE;
        };
        let none: [&str; 0] = [];
        let variables = std::env::vars_os().filter(|(name, _)| name == "PATH");
        let request = ProcessRequest {
            program: Program::Shell(line.clone()),
            cwd: folder.into(),
            environment: ProcessEnvironment::scrubbed(variables, &none, &none),
            timeout: None,
            grace: ProcessRequest::GRACE,
            output: CaptureCap { head: 0, tail: 0 },
            terminal: None,
        };
        let confinement = Confinement::new(ConfinementLevel::Workspace, [folder.into()]);
        let status = runtime.block_on(async {
            match confinement.spawn(&request) {
                Ok(mut process) => process.exit().await.status,
                Err(_) => ProcessStatus::Unknown,
            }
        });
        match status {
            ProcessStatus::Exited(0) => ExitCode::SUCCESS,
            ProcessStatus::Exited(_)
            | ProcessStatus::Signalled(_)
            | ProcessStatus::TimedOut
            | ProcessStatus::Unknown => ExitCode::FAILURE,
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod pretend {
    use std::error::Error;

    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
        TargetArch, apply_filter,
    };

    #[allow(clippy::disallowed_methods, reason = "only tests start this program")]
    pub(crate) fn lesser_kernel() -> Result<(), Box<dyn Error>> {
        let Ok(missing) = std::env::var("PRETEND") else {
            return Ok(());
        };
        let listener = |flags: u64| {
            let width = SeccompCmpArgLen::Dword;
            let condition = SeccompCondition::new(1, width, SeccompCmpOp::MaskedEq(flags), flags)?;
            Ok::<_, Box<dyn Error>>(vec![SeccompRule::new(vec![condition])?])
        };
        let namespaces = |flag: libc::c_int| {
            let flag = u64::from(flag.unsigned_abs());
            let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), flag)?;
            Ok::<_, Box<dyn Error>>(vec![SeccompRule::new(vec![condition])?])
        };
        for (what, call, rules, errno) in [
            (
                "no-namespaces",
                libc::SYS_clone,
                namespaces(libc::CLONE_NEWNS)?,
                libc::EPERM,
            ),
            (
                "no-pid-namespace",
                libc::SYS_clone,
                namespaces(libc::CLONE_NEWPID)?,
                libc::EPERM,
            ),
            (
                "no-listener",
                libc::SYS_seccomp,
                listener(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?,
                libc::EINVAL,
            ),
            ("no-seccomp", libc::SYS_seccomp, Vec::new(), libc::ENOSYS),
            ("no-mounts", libc::SYS_mount_setattr, Vec::new(), libc::ENOSYS),
            (
                "no-landlock",
                libc::SYS_landlock_create_ruleset,
                Vec::new(),
                libc::ENOSYS,
            ),
        ] {
            if missing.split(' ').any(|missing| missing == what) {
                let rules = [(call, rules)].into();
                let errno = SeccompAction::Errno(errno.unsigned_abs());
                let arch = TargetArch::try_from(std::env::consts::ARCH)?;
                let program = BpfProgram::try_from(SeccompFilter::new(rules, SeccompAction::Allow, errno, arch)?)?;
                apply_filter(&program)?;
            }
        }
        Ok(())
    }
}
