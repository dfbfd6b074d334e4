//! Encodes the constant part of a confinement as the guard's arguments.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::confinement::ResourceLimits;
use crate::{Confinement, ConfinementLevel, NetworkAccess};

/// The first argument of a program that runs as a guard.
pub(crate) const GUARD_ARGUMENT: &str = "__confine";

/// The parameters of a guard. What may change between two commands is in a
/// [`GuardRequest`](crate::guard_request::GuardRequest).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GuardArgs {
    pub(crate) mode: GuardMode,
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) network: NetworkAccess,
    pub(crate) limits: ResourceLimits,
}

/// What a guard does in addition to ending all descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuardMode {
    Confine,
    /// Nothing: commands are unconfined, but end with all their descendants.
    Unconfined,
}

impl From<&Confinement> for GuardArgs {
    fn from(confinement: &Confinement) -> Self {
        Self {
            mode: match confinement.level {
                ConfinementLevel::Off => GuardMode::Unconfined,
                ConfinementLevel::ReadOnly | ConfinementLevel::Workspace => GuardMode::Confine,
            },
            writable: confinement.writable().into_iter().map(PathBuf::from).collect(),
            network: confinement.network,
            limits: confinement.limits,
        }
    }
}

impl GuardArgs {
    pub(crate) fn into_args(self) -> Vec<OsString> {
        let mut args = vec![GUARD_ARGUMENT.into()];
        if self.mode == GuardMode::Unconfined {
            args.push("--free".into());
        }
        args.extend(
            self.writable
                .into_iter()
                .flat_map(|path| ["--write".into(), path.into_os_string()]),
        );
        match self.network {
            NetworkAccess::Denied => {}
            NetworkAccess::Hosts => args.push("--hosts".into()),
            NetworkAccess::Granted => args.push("--network".into()),
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
        args
    }

    /// Parses a program's arguments, without its own name; `None` if they are not for a guard.
    pub(crate) fn from_args(args: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut args = args.into_iter();
        if args.next()? != GUARD_ARGUMENT {
            return None;
        }
        let mut parsed = Self {
            mode: GuardMode::Confine,
            writable: Vec::new(),
            network: NetworkAccess::Denied,
            limits: ResourceLimits::default(),
        };
        loop {
            match args.next()?.to_str()? {
                "--free" => parsed.mode = GuardMode::Unconfined,
                "--write" => parsed.writable.push(args.next()?.into()),
                "--hosts" => parsed.network = NetworkAccess::Hosts,
                "--network" => parsed.network = NetworkAccess::Granted,
                "--processes" => parsed.limits.processes = Some(number(&args.next()?)?),
                "--memory" => parsed.limits.memory = Some(number(&args.next()?)?),
                "--file-size" => parsed.limits.file_size = Some(number(&args.next()?)?),
                "--" => return args.next().is_none().then_some(parsed),
                _ => return None,
            }
        }
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
        let args = GuardArgs {
            mode: GuardMode::Unconfined,
            writable: vec!["/w".into(), strange.into(), "--".into()],
            network: NetworkAccess::Granted,
            limits: ResourceLimits {
                processes: Some(10),
                memory: None,
                file_size: Some(u64::MAX),
            },
        };
        assert_eq!(GuardArgs::from_args(args.clone().into_args()), Some(args));
    }

    #[test]
    fn other_arguments_are_not_guard_args() {
        for args in [
            &[][..],
            &["run"],
            &["__confine"],
            &["__confine", "--write"],
            &["__confine", "--odd", "--"],
            &["__confine", "--", "more"],
        ] {
            assert_eq!(GuardArgs::from_args(args.iter().map(OsString::from)), None, "{args:?}");
        }
    }
}
