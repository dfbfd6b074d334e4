//! What a guard tells about the process it keeps: a few records on the socket it was started with.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::{Report, Status};

/// One thing a guard tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    /// What is in force for the process that is about to start.
    Enforced(Report),
    /// The process was not started, for this reason.
    Failed(String),
    /// The process has started, and leads the group of this number.
    Started(i32),
    /// The process has ended.
    Ended(Status),
    /// It had left processes of its own behind, which were ended.
    Left,
    /// It had changed this protected path, which was put back.
    Undone(PathBuf),
}

impl Record {
    /// Whether nothing comes after it.
    pub(crate) fn is_last(&self) -> bool {
        match self {
            Self::Failed(_) | Self::Ended(_) => true,
            Self::Enforced(_) | Self::Started(_) | Self::Left | Self::Undone(_) => false,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let (tag, payload) = match self {
            Self::Enforced(report) => (b'E', report.encode().into_bytes()),
            Self::Failed(why) => (b'F', why.replace('\0', " ").into_bytes()),
            Self::Started(group) => (b'P', group.to_string().into_bytes()),
            Self::Ended(Status::Exited(code)) => (b'X', code.to_string().into_bytes()),
            Self::Ended(Status::Signalled(signal)) => (b'S', signal.to_string().into_bytes()),
            Self::Ended(Status::TimedOut | Status::Unknown) => (b'?', Vec::new()),
            Self::Left => (b'L', Vec::new()),
            Self::Undone(path) => (b'U', path.as_os_str().as_bytes().to_vec()),
        };
        [&[tag], payload.as_slice(), &[0]].concat()
    }

    /// The records in these bytes; what is none is skipped.
    pub(crate) fn decode(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes.split_inclusive(|byte| *byte == 0).filter_map(|record| {
            let [tag, payload @ .., 0] = record else { return None };
            let text = || std::str::from_utf8(payload).ok();
            let number = || text()?.parse().ok();
            match tag {
                b'E' => Report::parse(text()?).map(Self::Enforced),
                b'F' => Some(Self::Failed(String::from_utf8_lossy(payload).into_owned())),
                b'P' => Some(Self::Started(number()?)),
                b'X' => Some(Self::Ended(Status::Exited(number()?))),
                b'S' => Some(Self::Ended(Status::Signalled(number()?))),
                b'?' => Some(Self::Ended(Status::Unknown)),
                b'L' => Some(Self::Left),
                b'U' => Some(Self::Undone(OsString::from_vec(payload.to_vec()).into())),
                _ => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_the_way_and_broken_ones_are_skipped() {
        let records = [
            Record::Enforced(Report::nothing("none of it")),
            Record::Failed("no\nway".into()),
            Record::Started(7),
            Record::Ended(Status::Exited(3)),
            Record::Ended(Status::Signalled(9)),
            Record::Ended(Status::Unknown),
            Record::Left,
            Record::Undone(OsString::from_vec(b"/a\n\xFF".to_vec()).into()),
        ];
        let mut bytes: Vec<u8> = records.iter().flat_map(Record::encode).collect();
        bytes.extend(b"Xnine\0\0Zz\0L");
        assert_eq!(Record::decode(&bytes).collect::<Vec<_>>(), records);
    }
}
