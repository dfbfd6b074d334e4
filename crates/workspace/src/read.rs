//! Reads files: whole, as bytes, or a window of lines of a file of any size.

use std::fs::File;
use std::io::{self, Read};

use rustix::fs::FileType;

use crate::encoding::{self, DecodeError, Encoding};
use crate::fingerprint::FingerprintHasher;
use crate::{Error, Fingerprint, Location, open};

/// The largest file that is read, edited or replaced as a whole.
pub const MAX_FILE: u64 = 32 * 1024 * 1024;

/// A NUL byte this early makes a file binary; the same rule as git's.
const SNIFF: usize = 8_000;
const BUFFER: usize = 64 * 1024;
const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";

/// A whole text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFile {
    /// The text without its byte order mark, with original line endings.
    pub content: String,
    /// The encoding, to be kept when the file is written.
    pub encoding: Encoding,
    /// The fingerprint of the bytes on disk.
    pub snapshot: Fingerprint,
}

/// The requested lines and the limits of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineWindow {
    /// The first line, from 1.
    pub first: usize,
    /// The last line; `usize::MAX` for the end of the file.
    pub last: usize,
    /// Maximum number of lines.
    pub max_lines: usize,
    /// Maximum number of bytes in total; at least one line is returned.
    pub max_bytes: usize,
    /// Maximum number of bytes per line.
    pub max_line: usize,
}

/// A window of lines with properties of the whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The lines within the limits.
    pub lines: Vec<TextLine>,
    /// The number of lines in the file.
    pub total: usize,
    /// The size of the file in bytes.
    pub size: u64,
    /// The fingerprint of the whole file.
    pub snapshot: Fingerprint,
    /// The encoding, as far as it was checked.
    pub encoding: Encoding,
}

/// One line without its line ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextLine {
    /// Its number, from 1.
    pub number: usize,
    /// Its text, possibly truncated.
    pub text: String,
    /// The number of bytes cut off at its end.
    pub cut: usize,
}

impl Location {
    /// Reads a whole text file of at most [`MAX_FILE`] bytes.
    pub fn read_text(&self) -> Result<TextFile, Error> {
        let bytes = self.read_bytes(MAX_FILE)?;
        let snapshot = Fingerprint::of(&bytes);
        let (encoding, content) = self.decode(bytes)?;
        Ok(TextFile {
            content,
            encoding,
            snapshot,
        })
    }

    /// Encodes `content` as the bytes of this file.
    pub fn encode(&self, encoding: Encoding, content: &str) -> Result<Vec<u8>, Error> {
        encoding.encode(content, &self.shown())
    }

    fn decode(&self, bytes: Vec<u8>) -> Result<(Encoding, String), Error> {
        self.refuse_binary(&bytes, bytes.len() as u64)?;
        let path = || self.shown().into_owned();
        encoding::decode(bytes).map_err(|why| match why {
            DecodeError::Utf16 => Error::Utf16 { path: path() },
            DecodeError::Other { line } => Error::NotUtf8 { path: path(), line },
        })
    }

    /// Reads a whole file of at most `limit` bytes.
    pub fn read_bytes(&self, limit: u64) -> Result<Vec<u8>, Error> {
        let file = self.open()?;
        let size = file.metadata().map_err(|error| self.error(error))?.len();
        let mut bytes = Vec::with_capacity(size.min(limit) as usize);
        // One byte more than allowed detects a file that grew in the meantime.
        file.take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| self.error(error))?;
        match bytes.len() as u64 > limit {
            true => Err(Error::TooLarge {
                path: self.shown().into_owned(),
                size: size.max(limit + 1),
                limit,
            }),
            false => Ok(self.unsaved_content(&bytes).unwrap_or(bytes)),
        }
    }

    /// Reads a window of lines. The file may be of any size: it is streamed.
    pub fn read_lines(&self, window: &LineWindow) -> Result<Excerpt, Error> {
        // Other encodings are detected on the whole file.
        let other = |_: usize| self.read_decoded(window);
        let mut file = self.open()?;
        let size = file.metadata().map_err(|error| self.error(error))?.len();
        let mut reading = LineReader::new(window);
        if self.editor().is_some() && size <= MAX_FILE {
            let bytes = self.read_bytes(MAX_FILE)?;
            if encoding::is_utf16(&bytes) {
                return self.read_decoded(window);
            }
            self.refuse_binary(&bytes, size)?;
            reading.add(&bytes);
            return reading.finish().or_else(other);
        }
        let mut buffer = vec![0; BUFFER];
        loop {
            let count = match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.error(error)),
            };
            if reading.seen == 0 {
                if encoding::is_utf16(&buffer[..count]) {
                    return self.read_decoded(window);
                }
                self.refuse_binary(&buffer[..count], size)?;
            }
            reading.add(&buffer[..count]);
        }
        reading.finish().or_else(other)
    }

    /// Reads a window of lines of a file that may be in another encoding than UTF-8.
    fn read_decoded(&self, window: &LineWindow) -> Result<Excerpt, Error> {
        let bytes = self.read_bytes(MAX_FILE)?;
        let (size, snapshot) = (bytes.len() as u64, Fingerprint::of(&bytes));
        let (encoding, content) = self.decode(bytes)?;
        let mut reading = LineReader::new(window);
        reading.add(content.as_bytes());
        let excerpt = reading.finish().map_err(|line| Error::NotUtf8 {
            path: self.shown().into_owned(),
            line,
        })?;
        Ok(Excerpt {
            size,
            snapshot,
            encoding,
            ..excerpt
        })
    }

    /// Opens a regular file for reading.
    pub(crate) fn open(&self) -> Result<File, Error> {
        let path = || self.shown().into_owned();
        open::regular_file(self.path()).map_err(|error| match open::kind(self.path()) {
            Some(FileType::Directory) => Error::Directory { path: path() },
            Some(FileType::RegularFile | FileType::Symlink) | None => self.error(error),
            Some(_) => Error::NotAFile { path: path() },
        })
    }

    fn refuse_binary(&self, start: &[u8], size: u64) -> Result<(), Error> {
        let has_nul = memchr::memchr(0, &start[..start.len().min(SNIFF)]).is_some();
        match has_nul && !encoding::is_utf16(start) {
            true => Err(Error::Binary {
                path: self.shown().into_owned(),
                size,
            }),
            false => Ok(()),
        }
    }
}

/// Extracts a window of lines from a stream.
struct LineReader<'a> {
    window: &'a LineWindow,
    hashing: FingerprintHasher,
    seen: u64,
    /// The number of the current line.
    number: usize,
    /// The stored start of that line, and its length so far.
    line: Vec<u8>,
    line_bytes: usize,
    kept: Vec<(usize, Vec<u8>, usize)>,
    kept_bytes: usize,
    full: bool,
}

impl<'a> LineReader<'a> {
    fn new(window: &'a LineWindow) -> Self {
        Self {
            window,
            hashing: FingerprintHasher::default(),
            seen: 0,
            number: 1,
            line: Vec::new(),
            line_bytes: 0,
            kept: Vec::new(),
            kept_bytes: 0,
            full: false,
        }
    }

    fn add(&mut self, mut bytes: &[u8]) {
        self.hashing.add(bytes);
        if self.seen == 0 {
            self.seen = bytes.len() as u64;
            bytes = bytes.strip_prefix(UTF8_BOM).unwrap_or(bytes);
        } else {
            self.seen += bytes.len() as u64;
        }
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            self.extend(&bytes[start..end]);
            self.end_line();
            start = end + 1;
        }
        self.extend(&bytes[start..]);
    }

    fn is_in_window(&self) -> bool {
        !self.full && (self.window.first..=self.window.last).contains(&self.number)
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.line_bytes += bytes.len();
        if self.is_in_window() {
            // A little more than the limit, so that truncation never splits a character.
            let room = (self.window.max_line + 4).saturating_sub(self.line.len());
            self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    fn end_line(&mut self) {
        if self.is_in_window() {
            self.store_line();
        }
        self.line.clear();
        self.line_bytes = 0;
        self.number += 1;
    }

    fn store_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        let mut bytes = self.line_bytes;
        if line.len() == bytes && line.last() == Some(&b'\r') {
            line.pop();
            bytes -= 1;
        }
        let shown = bytes.min(self.window.max_line);
        let fits = self.kept.len() < self.window.max_lines && self.kept_bytes + shown <= self.window.max_bytes;
        if fits || self.kept.is_empty() {
            self.kept_bytes += shown + 1;
            self.kept.push((self.number, line, bytes));
        } else {
            self.full = true;
        }
    }

    fn finish(mut self) -> Result<Excerpt, usize> {
        if self.line_bytes > 0 {
            self.end_line();
        }
        let max_line = self.window.max_line;
        let lines: Result<Vec<TextLine>, usize> = self
            .kept
            .into_iter()
            .map(|(number, line, bytes)| decode(number, line, bytes, max_line))
            .collect();
        Ok(Excerpt {
            lines: lines?,
            total: self.number - 1,
            size: self.seen,
            snapshot: self.hashing.finish(),
            encoding: Encoding::Utf8,
        })
    }
}

/// Decodes the stored start of a line of `bytes` bytes; the error is the number of a line that is not UTF-8.
fn decode(number: usize, line: Vec<u8>, bytes: usize, max_line: usize) -> Result<TextLine, usize> {
    let complete = line.len() == bytes;
    let mut text = match String::from_utf8(line) {
        Ok(text) => text,
        // The stored start of a longer line may end inside a character.
        Err(error) if !complete && error.utf8_error().error_len().is_none() => {
            let valid = error.utf8_error().valid_up_to();
            String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned()
        }
        Err(_) => return Err(number),
    };
    text.truncate(text.floor_char_boundary(max_line));
    Ok(TextLine {
        number,
        cut: bytes - text.len(),
        text,
    })
}
