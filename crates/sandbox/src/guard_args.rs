//! Encodes a confinement as the guard's arguments.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::confinement::ResourceLimits;
use crate::{Confinement, ConfinementLevel, NetworkAccess};

/// The first argument of a program that runs as a guard.
pub(crate) const GUARD_ARGUMENT: &str = "__confine";

/// The parameters of a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GuardArgs {
    pub(crate) mode: GuardMode,
    pub(crate) writable: Vec<PathBuf>,
    /// Directories that must not be moved because they contain protected ones.
    pub(crate) pinned: Vec<PathBuf>,
    pub(crate) protected: Vec<PathBuf>,
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) network: NetworkAccess,
    pub(crate) limits: ResourceLimits,
    /// The command and its arguments; empty for a report only.
    pub(crate) command: Vec<OsString>,
}

/// What a guard does in addition to ending all descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuardMode {
    Confine,
    /// Nothing: the command is unconfined, but ends with all its descendants.
    Unconfined,
}

impl GuardArgs {
    pub(crate) fn new(confinement: &Confinement, command: Vec<OsString>) -> Self {
        let roots = match confinement.level {
            ConfinementLevel::Workspace => confinement.roots.as_slice(),
            ConfinementLevel::ReadOnly | ConfinementLevel::Off => &[],
        };
        let git = roots.iter().map(|root| root.join(".git"));
        Self {
            mode: match confinement.level {
                ConfinementLevel::Off => GuardMode::Unconfined,
                ConfinementLevel::ReadOnly | ConfinementLevel::Workspace => GuardMode::Confine,
            },
            writable: confinement.writable().into_iter().map(PathBuf::from).collect(),
            pinned: git.filter(|git| git.is_dir() && !git.is_symlink()).collect(),
            protected: match confinement.level {
                ConfinementLevel::Workspace => confinement.protected_paths(),
                // Nothing is writable anyway.
                ConfinementLevel::ReadOnly | ConfinementLevel::Off => Vec::new(),
            },
            hidden: confinement.hidden.clone(),
            network: confinement.network,
            limits: confinement.limits,
            command,
        }
    }

    pub(crate) fn into_args(self) -> Vec<OsString> {
        let mut args = vec![GUARD_ARGUMENT.into()];
        if self.mode == GuardMode::Unconfined {
            args.push("--free".into());
        }
        for (flag, paths) in [
            ("--write", self.writable),
            ("--pin", self.pinned),
            ("--protect", self.protected),
            ("--hide", self.hidden),
        ] {
            args.extend(paths.into_iter().flat_map(|path| [flag.into(), path.into_os_string()]));
        }
        if self.network == NetworkAccess::Granted {
            args.push("--network".into());
        }
        for (flag, limit) in [
            ("--processes", self.limits.processes),
            ("--memory", self.limits.memory),
            ("--file-size", self.limits.file_size),
        ] {
            args.extend(
                limit
                    .into_iter()
                    .flat_map(|limit| [flag.into(), limit.to_string().into()]),
            );
        }
        args.push("--".into());
        args.extend(self.command);
        args
    }

    /// Parses a program's arguments, without its own name; `None` if they are not for a guard.
    pub(crate) fn from_args(args: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut args = args.into_iter();
        if args.next()? != GUARD_ARGUMENT {
            return None;
        }
        let mut order = Self {
            mode: GuardMode::Confine,
            writable: Vec::new(),
            pinned: Vec::new(),
            protected: Vec::new(),
            hidden: Vec::new(),
            network: NetworkAccess::Denied,
            limits: ResourceLimits::default(),
            command: Vec::new(),
        };
        loop {
            match args.next()?.to_str()? {
                "--free" => order.mode = GuardMode::Unconfined,
                "--write" => order.writable.push(args.next()?.into()),
                "--pin" => order.pinned.push(args.next()?.into()),
                "--protect" => order.protected.push(args.next()?.into()),
                "--hide" => order.hidden.push(args.next()?.into()),
                "--network" => order.network = NetworkAccess::Granted,
                "--processes" => order.limits.processes = Some(number(&args.next()?)?),
                "--memory" => order.limits.memory = Some(number(&args.next()?)?),
                "--file-size" => order.limits.file_size = Some(number(&args.next()?)?),
                "--" => break,
                _ => return None,
            }
        }
        order.command = args.collect();
        Some(order)
    }
}

fn number(text: &OsStr) -> Option<u64> {
    text.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn guard_args_survive_encoding() {
        let strange = OsString::from_vec(b"/odd \xFF\n--".to_vec());
        let order = GuardArgs {
            mode: GuardMode::Unconfined,
            writable: vec!["/w".into(), strange.clone().into(), "--".into()],
            pinned: vec!["/w/.git".into()],
            protected: vec!["/w/.git/hooks".into()],
            hidden: vec!["/w/.env".into()],
            network: NetworkAccess::Granted,
            limits: ResourceLimits {
                processes: Some(10),
                memory: None,
                file_size: Some(u64::MAX),
            },
            command: vec!["sh".into(), "--write".into(), strange],
        };
        assert_eq!(GuardArgs::from_args(order.clone().into_args()), Some(order));
    }

    #[test]
    fn other_arguments_are_not_guard_args() {
        for args in [
            &[][..],
            &["run"],
            &["__confine"],
            &["__confine", "--write"],
            &["__confine", "--odd", "--"],
        ] {
            assert_eq!(GuardArgs::from_args(args.iter().map(OsString::from)), None, "{args:?}");
        }
    }
}
