//! Records that a guard sends about its process, on the socket it was started with.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::{ConfinementReport, ProcessStatus};

/// A record of a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GuardRecord {
    /// The enforced confinement, before the process starts.
    Enforced(ConfinementReport),
    /// The process was not started, with the reason.
    Failed(String),
    /// The process has ended.
    Ended(ProcessStatus),
    /// It had left child processes behind, which were killed.
    LeftProcesses,
    /// It had changed this protected path, which was restored.
    Reverted(PathBuf),
}

impl GuardRecord {
    /// Whether it is the last record.
    pub(crate) fn is_last(&self) -> bool {
        match self {
            Self::Failed(_) | Self::Ended(_) => true,
            Self::Enforced(_) | Self::LeftProcesses | Self::Reverted(_) => false,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let (tag, payload) = match self {
            Self::Enforced(report) => (b'E', report.encode().into_bytes()),
            Self::Failed(why) => (b'F', why.replace('\0', " ").into_bytes()),
            Self::Ended(ProcessStatus::Exited(code)) => (b'X', code.to_string().into_bytes()),
            Self::Ended(ProcessStatus::Signalled(signal)) => (b'S', signal.to_string().into_bytes()),
            Self::Ended(ProcessStatus::TimedOut | ProcessStatus::Unknown) => (b'?', Vec::new()),
            Self::LeftProcesses => (b'L', Vec::new()),
            Self::Reverted(path) => (b'U', path.as_os_str().as_bytes().to_vec()),
        };
        [&[tag], payload.as_slice(), &[0]].concat()
    }

    /// Decodes the records in these bytes; invalid ones are skipped.
    pub(crate) fn decode(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes.split_inclusive(|byte| *byte == 0).filter_map(|record| {
            let [tag, payload @ .., 0] = record else { return None };
            let text = || std::str::from_utf8(payload).ok();
            let number = || text()?.parse().ok();
            match tag {
                b'E' => ConfinementReport::parse(text()?).map(Self::Enforced),
                b'F' => Some(Self::Failed(String::from_utf8_lossy(payload).into_owned())),
                b'X' => Some(Self::Ended(ProcessStatus::Exited(number()?))),
                b'S' => Some(Self::Ended(ProcessStatus::Signalled(number()?))),
                b'?' => Some(Self::Ended(ProcessStatus::Unknown)),
                b'L' => Some(Self::LeftProcesses),
                b'U' => Some(Self::Reverted(OsString::from_vec(payload.to_vec()).into())),
                _ => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_encoding_and_broken_ones_are_skipped() {
        let records = [
            GuardRecord::Enforced(ConfinementReport::unconfined("none of it")),
            GuardRecord::Failed("no\nway".into()),
            GuardRecord::Ended(ProcessStatus::Exited(3)),
            GuardRecord::Ended(ProcessStatus::Signalled(9)),
            GuardRecord::Ended(ProcessStatus::Unknown),
            GuardRecord::LeftProcesses,
            GuardRecord::Reverted(OsString::from_vec(b"/a\n\xFF".to_vec()).into()),
        ];
        let mut bytes: Vec<u8> = records.iter().flat_map(GuardRecord::encode).collect();
        bytes.extend(b"Xnine\0\0Zz\0L");
        assert_eq!(GuardRecord::decode(&bytes).collect::<Vec<_>>(), records);
    }
}
