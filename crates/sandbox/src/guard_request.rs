//! A command for a running guard: bytes and file descriptors on the guard's socket.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

/// The maximum size of a request.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// A command, and the paths to which its access is restricted further.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct GuardRequest {
    /// The command and its arguments; empty for a report only.
    pub(crate) command: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Directories that must not be moved because they contain protected or hidden paths.
    pub(crate) pinned: Vec<PathBuf>,
    pub(crate) protected: Vec<PathBuf>,
    /// A directory and a name each that must not be created below it.
    pub(crate) uncreatable: Vec<(PathBuf, PathBuf)>,
    pub(crate) hidden: Vec<PathBuf>,
}

/// The descriptors of a request.
#[derive(Debug)]
pub(crate) struct GuardStreams<Fd> {
    /// The socket for records about the command.
    pub(crate) records: Fd,
    pub(crate) stdout: Fd,
    pub(crate) stderr: Fd,
    /// Empty if absent.
    pub(crate) stdin: Option<Fd>,
}

impl GuardStreams<OwnedFd> {
    pub(crate) fn as_fds(&self) -> GuardStreams<BorrowedFd<'_>> {
        GuardStreams {
            records: self.records.as_fd(),
            stdout: self.stdout.as_fd(),
            stderr: self.stderr.as_fd(),
            stdin: self.stdin.as_ref().map(|stdin| stdin.as_fd()),
        }
    }
}

impl GuardRequest {
    /// Sends the request.
    pub(crate) fn send(&self, socket: &UnixStream, streams: &GuardStreams<BorrowedFd<'_>>) -> io::Result<()> {
        let payload = self.encode();
        let length = u32::try_from(payload.len()).map_err(io::Error::other)?.to_le_bytes();
        let mut descriptors = vec![streams.records, streams.stdout, streams.stderr];
        descriptors.extend(streams.stdin);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(io::Error::other("too many descriptors"));
        }
        let flags = SendFlags::NOSIGNAL;
        // A few bytes are sent completely or not at all.
        sendmsg(socket, &[IoSlice::new(&length)], &mut ancillary, flags)?;
        let mut socket = socket;
        socket.write_all(&payload)
    }

    /// Waits for a request; `None` if the other end was closed.
    pub(crate) fn receive(socket: &UnixStream) -> io::Result<Option<(Self, GuardStreams<OwnedFd>)>> {
        let mut length = [0; 4];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = recvmsg(
            socket.as_fd(),
            &mut [IoSliceMut::new(&mut length)],
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL,
        )?;
        if received.bytes < length.len() {
            return Ok(None);
        }
        let mut descriptors = ancillary.drain().flat_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect::<Vec<OwnedFd>>(),
            _ => Vec::new(),
        });
        let mut next = || {
            descriptors
                .next()
                .ok_or_else(|| io::Error::other("a descriptor is missing"))
        };
        let streams = GuardStreams {
            records: next()?,
            stdout: next()?,
            stderr: next()?,
            stdin: next().ok(),
        };
        let size = u32::from_le_bytes(length) as usize;
        if size > MAX_BYTES {
            return Err(io::Error::other("the request is too large"));
        }
        let mut payload = vec![0; size];
        let mut socket = socket;
        socket.read_exact(&mut payload)?;
        let request = Self::decode(&payload).ok_or_else(|| io::Error::other("the request is invalid"))?;
        Ok(Some((request, streams)))
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let environment = self.environment.iter().flat_map(|(name, value)| [name, value]);
        let uncreatable = self.uncreatable.iter().flat_map(|(folder, name)| [folder, name]);
        for list in [
            self.command.iter().map(|word| word.as_bytes()).collect::<Vec<&[u8]>>(),
            vec![self.cwd.as_os_str().as_bytes()],
            environment.map(|word| word.as_bytes()).collect(),
            path_bytes(&self.pinned),
            path_bytes(&self.protected),
            path_bytes(&self.hidden),
            uncreatable.map(|path| path.as_os_str().as_bytes()).collect(),
        ] {
            put_number(&mut bytes, list.len());
            for entry in list {
                put_number(&mut bytes, entry.len());
                bytes.extend(entry);
            }
        }
        bytes
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut list = || -> Option<Vec<OsString>> {
            let count = take_number(&mut bytes)?;
            let entry = |_| {
                let length = take_number(&mut bytes)?;
                let (entry, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                Some(OsString::from_vec(entry.to_vec()))
            };
            (0..count).map(entry).collect()
        };
        let paths = |list: Vec<OsString>| list.into_iter().map(PathBuf::from).collect();
        let (command, cwd, environment) = (list()?, list()?, list()?);
        let (pinned, protected, hidden, uncreatable) = (list()?, list()?, list()?, list()?);
        let pairs = environment.chunks_exact(2);
        let names = uncreatable.chunks_exact(2);
        Some(Self {
            command,
            cwd: cwd.into_iter().next()?.into(),
            environment: pairs.map(|pair| (pair[0].clone(), pair[1].clone())).collect(),
            pinned: paths(pinned),
            protected: paths(protected),
            uncreatable: names
                .map(|pair| (pair[0].clone().into(), pair[1].clone().into()))
                .collect(),
            hidden: paths(hidden),
        })
    }
}

fn path_bytes(paths: &[PathBuf]) -> Vec<&[u8]> {
    paths.iter().map(|path| path.as_os_str().as_bytes()).collect()
}

fn put_number(bytes: &mut Vec<u8>, number: usize) {
    // Longer requests are rejected by the receiver.
    bytes.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

fn take_number(bytes: &mut &[u8]) -> Option<usize> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    usize::try_from(u32::from_le_bytes(*number)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_arrive_with_their_descriptors() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let strange = OsString::from_vec(b"/odd \xFF\n--".to_vec());
        let request = GuardRequest {
            command: vec!["sh".into(), "".into(), strange.clone()],
            cwd: "/w".into(),
            environment: vec![("A".into(), "".into()), ("B".into(), strange.clone())],
            pinned: vec!["/w/a".into()],
            protected: vec![strange.into()],
            uncreatable: vec![("/w".into(), "AGENTS.md".into())],
            hidden: Vec::new(),
        };
        let (reader, writer) = io::pipe().unwrap();
        let streams = GuardStreams {
            records: ours.as_fd(),
            stdout: writer.as_fd(),
            stderr: writer.as_fd(),
            stdin: Some(reader.as_fd()),
        };
        request.send(&ours, &streams).unwrap();
        let (received, streams) = GuardRequest::receive(&theirs).unwrap().unwrap();
        assert_eq!(received, request);
        assert!(streams.stdin.is_some());
        drop((ours, streams));
        assert!(GuardRequest::receive(&theirs).unwrap().is_none());
        assert_eq!(GuardRequest::decode(b"\xFF\xFF\xFF\xFF"), None);
    }
}
