//! Fingerprints of file contents.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::time::SystemTime;

use crate::{Error, Location, MAX_FILE};

/// A fingerprint of a file's content: equal while the bytes are equal. It is compared within one process and never
/// stored, so a fast hash that may differ between releases is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    size: u64,
    hash: u64,
}

impl Fingerprint {
    /// The fingerprint of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = FingerprintHasher::default();
        hasher.add(bytes);
        hasher.finish()
    }
}

impl Location {
    /// Reads the whole file, however large, and returns its fingerprint.
    pub fn fingerprint(&self) -> Result<Fingerprint, Error> {
        let mut file = self.open()?;
        let small = file.metadata().is_ok_and(|metadata| metadata.len() <= MAX_FILE);
        if self.editor().is_some() && small {
            return Ok(Fingerprint::of(&self.read_bytes(MAX_FILE)?));
        }
        hash(&mut file).map_err(|error| self.error(error))
    }

    /// When it was last modified.
    pub fn modified(&self) -> Result<SystemTime, Error> {
        let file = self.open()?;
        let modified = file.metadata().and_then(|metadata| metadata.modified());
        modified.map_err(|error| self.error(error))
    }
}

fn hash(file: &mut File) -> io::Result<Fingerprint> {
    let mut hashing = FingerprintHasher::default();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hashing.finish()),
            Ok(count) => hashing.add(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Computes a fingerprint.
#[derive(Default)]
pub(crate) struct FingerprintHasher {
    size: u64,
    hasher: DefaultHasher,
}

impl FingerprintHasher {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u64;
        self.hasher.write(bytes);
    }

    pub(crate) fn finish(&self) -> Fingerprint {
        Fingerprint {
            size: self.size,
            hash: self.hasher.finish(),
        }
    }
}
