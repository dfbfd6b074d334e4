//! A confinement as arguments, the way it reaches the guard.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::confinement::Limits;
use crate::{Confinement, Level, Network};

/// The first argument of a program that is to be a guard.
pub(crate) const NAME: &str = "__confine";

/// What a guard has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) hold: Hold,
    pub(crate) writable: Vec<PathBuf>,
    /// Folders that must stay where they are because protected ones are in them.
    pub(crate) pinned: Vec<PathBuf>,
    pub(crate) protected: Vec<PathBuf>,
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) network: Network,
    pub(crate) limits: Limits,
    /// What to start, and its arguments; nothing if only a report is asked for.
    pub(crate) command: Vec<OsString>,
}

/// What a guard does besides waiting and leaving nothing behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    Confine,
    /// Nothing: the command is free, but ends with all it started.
    Free,
}

impl Order {
    pub(crate) fn new(confinement: &Confinement, command: Vec<OsString>) -> Self {
        let roots = match confinement.level {
            Level::Workspace => confinement.roots.as_slice(),
            Level::ReadOnly | Level::Off => &[],
        };
        let git = roots.iter().map(|root| root.join(".git"));
        Self {
            hold: match confinement.level {
                Level::Off => Hold::Free,
                Level::ReadOnly | Level::Workspace => Hold::Confine,
            },
            writable: confinement.writable().into_iter().map(PathBuf::from).collect(),
            pinned: git.filter(|git| git.is_dir() && !git.is_symlink()).collect(),
            protected: match confinement.level {
                Level::Workspace => confinement.all_protected(),
                // Nothing can be written anyway.
                Level::ReadOnly | Level::Off => Vec::new(),
            },
            hidden: confinement.hidden.clone(),
            network: confinement.network,
            limits: confinement.limits,
            command,
        }
    }

    pub(crate) fn into_args(self) -> Vec<OsString> {
        let mut args = vec![NAME.into()];
        if self.hold == Hold::Free {
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
        if self.network == Network::Granted {
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

    /// The order in the arguments of a program, its own name excluded; nothing if they are none.
    pub(crate) fn from_args(args: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut args = args.into_iter();
        if args.next()? != NAME {
            return None;
        }
        let mut order = Self {
            hold: Hold::Confine,
            writable: Vec::new(),
            pinned: Vec::new(),
            protected: Vec::new(),
            hidden: Vec::new(),
            network: Network::Denied,
            limits: Limits::default(),
            command: Vec::new(),
        };
        loop {
            match args.next()?.to_str()? {
                "--free" => order.hold = Hold::Free,
                "--write" => order.writable.push(args.next()?.into()),
                "--pin" => order.pinned.push(args.next()?.into()),
                "--protect" => order.protected.push(args.next()?.into()),
                "--hide" => order.hidden.push(args.next()?.into()),
                "--network" => order.network = Network::Granted,
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
    fn an_order_survives_being_arguments() {
        let strange = OsString::from_vec(b"/odd \xFF\n--".to_vec());
        let order = Order {
            hold: Hold::Free,
            writable: vec!["/w".into(), strange.clone().into(), "--".into()],
            pinned: vec!["/w/.git".into()],
            protected: vec!["/w/.git/hooks".into()],
            hidden: vec!["/w/.env".into()],
            network: Network::Granted,
            limits: Limits {
                processes: Some(10),
                memory: None,
                file_size: Some(u64::MAX),
            },
            command: vec!["sh".into(), "--write".into(), strange],
        };
        assert_eq!(Order::from_args(order.clone().into_args()), Some(order));
    }

    #[test]
    fn other_arguments_are_no_order() {
        for args in [
            &[][..],
            &["run"],
            &["__confine"],
            &["__confine", "--write"],
            &["__confine", "--odd", "--"],
        ] {
            assert_eq!(Order::from_args(args.iter().map(OsString::from)), None, "{args:?}");
        }
    }
}
