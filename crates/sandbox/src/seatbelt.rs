//! A confinement as a profile for Seatbelt, the sandbox of macOS. Never run on a real Mac.

use std::path::Path;

use crate::{Confinement, ConfinementLevel, NetworkAccess};

/// Starts a program under the profile.
#[cfg(not(target_os = "linux"))]
pub(crate) fn start(
    confinement: &Confinement,
    resolved: crate::spawn::ResolvedProgram,
    request: &crate::ProcessRequest,
) -> Result<crate::Process, crate::Error> {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    /// By its full path, so that the search path cannot replace it.
    const PROGRAM: &str = "/usr/bin/sandbox-exec";
    let confinement = with_scanned_paths(confinement)?;
    let mut args = vec!["-p".into(), profile(&confinement).into(), "--".into()];
    args.extend(resolved.command());
    let mut command = Command::new(PROGRAM);
    command.stdin(Stdio::null()).process_group(0);
    crate::spawn::start(command, &args, request, PROGRAM)
}

/// The command that runs a program with piped streams under the profile, in its own process group.
#[cfg(not(target_os = "linux"))]
pub(crate) fn piped_command(
    confinement: &Confinement,
    resolved: &crate::spawn::ResolvedProgram,
) -> Result<std::process::Command, crate::Error> {
    use std::os::unix::process::CommandExt;

    let confinement = with_scanned_paths(confinement)?;
    let mut command = std::process::Command::new("/usr/bin/sandbox-exec");
    command.args(["-p", &profile(&confinement), "--"]);
    command.args(resolved.command()).process_group(0);
    Ok(command)
}

/// The confinement with the paths that its scan finds now. Missing names can be created here.
#[cfg(not(target_os = "linux"))]
fn with_scanned_paths(confinement: &Confinement) -> Result<Confinement, crate::Error> {
    let scanned = confinement.scanned()?;
    Ok(Confinement {
        protected: scanned.protected.into_iter().chain(scanned.read_only).collect(),
        hidden: scanned.hidden,
        scan: None,
        ..confinement.clone()
    })
}

/// Seatbelt cannot report what it enforces.
#[cfg(not(target_os = "linux"))]
pub(crate) fn probe(_: &Confinement) -> std::io::Result<crate::ConfinementReport> {
    Ok(crate::ConfinementReport::unconfined("Seatbelt confines here, untested"))
}

/// The profile of a confinement in Seatbelt's language: the last matching rule decides.
///
/// Untested on a real Mac. Unlike on Linux, orphans of a command are not adopted there, and its limits are not set.
pub fn profile(confinement: &Confinement) -> String {
    let mut profile = String::from("(version 1)\n");
    if confinement.level == ConfinementLevel::Off {
        profile.push_str("(allow default)\n");
        return profile;
    }
    profile.push_str(
        "(deny default)\n\
         (allow process-exec process-fork)\n\
         (allow process-info* (target same-sandbox))\n\
         (allow signal (target same-sandbox))\n\
         (allow sysctl-read)\n\
         (allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))\n\
         (allow ipc-posix-sem ipc-posix-shm*)\n\
         (allow pseudo-tty)\n\
         (allow file-read*)\n\
         (allow file-write* (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\"))\n\
         (allow file-ioctl (literal \"/dev/tty\"))\n",
    );
    let mut rule = |decision: &str, paths: &mut dyn Iterator<Item = &Path>| {
        for path in paths {
            profile.push_str(&format!("({decision} (subpath {}))\n", quoted(path)));
        }
    };
    rule("allow file-write*", &mut confinement.writable().into_iter());
    let protected = confinement.protected_paths();
    rule("deny file-write*", &mut protected.iter().map(AsRef::as_ref));
    rule(
        "deny file-read* file-write*",
        &mut confinement.hidden.iter().map(AsRef::as_ref),
    );
    // A directory that contains protected ones must not be moved.
    let git = confinement.roots.iter().map(|root| root.join(".git"));
    for git in git.filter(|git| git.is_dir()) {
        profile.push_str(&format!("(deny file-write-unlink (literal {}))\n", quoted(&git)));
    }
    if confinement.network == NetworkAccess::Granted {
        profile.push_str(
            "(allow network-outbound (remote ip))\n\
             (allow network-inbound (local ip))\n\
             (allow network-bind (local ip))\n\
             (allow network-outbound (literal \"/private/var/run/mDNSResponder\"))\n\
             (allow system-socket)\n",
        );
    }
    profile
}

/// A path as a string of the profile.
fn quoted(path: &Path) -> String {
    let escaped = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = r#"(version 1)
(deny default)
(allow process-exec process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow ipc-posix-sem ipc-posix-shm*)
(allow pseudo-tty)
(allow file-read*)
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))
(allow file-ioctl (literal "/dev/tty"))
"#;

    fn confinement(level: ConfinementLevel) -> Confinement {
        Confinement {
            temp: vec!["/private/tmp".into()],
            protected: vec!["/w \"x\\/.hew".into()],
            hidden: vec!["/w/.env".into()],
            ..Confinement::new(level, ["/w".into()])
        }
    }

    #[test]
    fn each_level_has_its_profile() {
        let workspace = r#"(allow file-write* (subpath "/w"))
(allow file-write* (subpath "/private/tmp"))
"#;
        let kept = r#"(deny file-write* (subpath "/w \"x\\/.hew"))
(deny file-read* file-write* (subpath "/w/.env"))
"#;
        for (level, expected) in [
            (ConfinementLevel::Off, "(version 1)\n(allow default)\n".to_owned()),
            (ConfinementLevel::ReadOnly, format!("{BASE}{kept}")),
            (ConfinementLevel::Workspace, format!("{BASE}{workspace}{kept}")),
        ] {
            assert_eq!(profile(&confinement(level)), expected, "{level:?}");
        }
    }

    #[test]
    fn the_network_is_available_only_if_granted() {
        let granted = Confinement {
            network: NetworkAccess::Granted,
            ..confinement(ConfinementLevel::Workspace)
        };
        assert!(profile(&granted).contains("(allow network-outbound (remote ip))"));
        assert!(!profile(&confinement(ConfinementLevel::Workspace)).contains("network"));
    }

    #[test]
    fn files_that_make_git_run_programs_are_protected() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".git/hooks")).unwrap();
        let text = profile(&Confinement::new(
            ConfinementLevel::Workspace,
            [folder.path().to_owned()],
        ));
        for name in ["hooks", "config", "commondir"] {
            let path = quoted(&folder.path().join(".git").join(name));
            assert!(text.contains(&format!("(deny file-write* (subpath {path}))")), "{text}");
        }
        let git = quoted(&folder.path().join(".git"));
        assert!(
            text.ends_with(&format!("(deny file-write-unlink (literal {git}))\n")),
            "{text}"
        );
    }
}
