//! The full output of a command, saved to a file if it is too long to show.

use std::path::Path;

use workspace::ScratchFile;

use crate::support::spill::Spill;

/// The output of a command: in memory up to a limit, then in a file.
#[derive(Debug)]
pub(crate) struct CommandTranscript {
    spill: Spill,
    /// Maximum bytes in memory.
    most: usize,
    storage: TranscriptStorage,
}

#[derive(Debug)]
enum TranscriptStorage {
    Memory(String),
    File(ScratchFile),
    /// The output cannot be saved.
    Nowhere,
}

impl CommandTranscript {
    pub(crate) fn new(spill: Spill, most: usize) -> Self {
        Self {
            spill,
            most,
            storage: TranscriptStorage::Memory(String::new()),
        }
    }

    pub(crate) fn add(&mut self, text: &str) {
        let written = match &mut self.storage {
            TranscriptStorage::Memory(held) if held.len() + text.len() <= self.most => {
                held.push_str(text);
                return;
            }
            TranscriptStorage::Memory(held) => match self.spill.begin("terminal") {
                Some(mut file) => {
                    let written = file.write(held.as_bytes()).and_then(|()| file.write(text.as_bytes()));
                    self.storage = TranscriptStorage::File(file);
                    written
                }
                None => {
                    self.storage = TranscriptStorage::Nowhere;
                    return;
                }
            },
            TranscriptStorage::File(file) => file.write(text.as_bytes()),
            TranscriptStorage::Nowhere => return,
        };
        if written.is_err() {
            self.storage = TranscriptStorage::Nowhere;
        }
    }

    /// The path, if saved to a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.storage {
            TranscriptStorage::File(file) => Some(file.path()),
            TranscriptStorage::Memory(_) | TranscriptStorage::Nowhere => None,
        }
    }

    /// A note about output that did not fit into the file.
    pub(crate) fn lost(&self) -> Option<String> {
        match &self.storage {
            TranscriptStorage::File(file) if file.dropped() > 0 => Some(format!(
                "except that the last {} bytes did not fit there",
                file.dropped()
            )),
            TranscriptStorage::File(_) | TranscriptStorage::Memory(_) | TranscriptStorage::Nowhere => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test reads the written file")]
mod tests {
    use super::*;

    #[test]
    fn long_output_is_saved_to_a_file_completely() {
        let temp = tempfile::tempdir().unwrap();
        let mut transcript = CommandTranscript::new(Spill::at(Some(temp.path().join("s"))), 10);
        transcript.add("12345");
        transcript.add("67890");
        assert_eq!(transcript.path(), None);
        assert!(!temp.path().join("s").exists());
        transcript.add("!");
        transcript.add(" and on");
        let path = transcript.path().unwrap().to_owned();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "1234567890! and on");
        assert_eq!(transcript.lost(), None);
    }

    #[test]
    fn without_a_directory_nothing_is_saved() {
        let mut transcript = CommandTranscript::new(Spill::at(None), 1);
        transcript.add("abc");
        transcript.add("def");
        assert_eq!(transcript.path(), None);
    }
}
