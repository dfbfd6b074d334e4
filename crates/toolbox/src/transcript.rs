//! All that a command prints, in a file, once it is too much to be shown.

use std::path::Path;

use workspace::Sheet;

use crate::spill::Spill;

/// What a command has printed. Memory holds it up to a size; then all of it goes to a file.
#[derive(Debug)]
pub(crate) struct Transcript {
    spill: Spill,
    /// How much is shown anyway.
    most: usize,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Memory(String),
    File(Sheet),
    /// There is no room, or no folder.
    Nowhere,
}

impl Transcript {
    pub(crate) fn new(spill: Spill, most: usize) -> Self {
        Self {
            spill,
            most,
            place: Place::Memory(String::new()),
        }
    }

    pub(crate) fn add(&mut self, text: &str) {
        let written = match &mut self.place {
            Place::Memory(held) if held.len() + text.len() <= self.most => {
                held.push_str(text);
                return;
            }
            Place::Memory(held) => match self.spill.begin("terminal") {
                Some(mut sheet) => {
                    let written = sheet.write(held.as_bytes()).and_then(|()| sheet.write(text.as_bytes()));
                    self.place = Place::File(sheet);
                    written
                }
                None => {
                    self.place = Place::Nowhere;
                    return;
                }
            },
            Place::File(sheet) => sheet.write(text.as_bytes()),
            Place::Nowhere => return,
        };
        if written.is_err() {
            self.place = Place::Nowhere;
        }
    }

    /// Where it is, if in a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File(sheet) => Some(sheet.path()),
            Place::Memory(_) | Place::Nowhere => None,
        }
    }

    /// What did not fit into the file, for the model.
    pub(crate) fn lost(&self) -> Option<String> {
        match &self.place {
            Place::File(sheet) if sheet.lost() > 0 => Some(format!("{} bytes did not fit there", sheet.lost())),
            Place::File(_) | Place::Memory(_) | Place::Nowhere => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test looks at what was written")]
mod tests {
    use super::*;

    #[test]
    fn a_text_goes_to_a_file_with_all_that_came_before_once_it_is_long() {
        let temp = tempfile::tempdir().unwrap();
        let mut transcript = Transcript::new(Spill::at(Some(temp.path().join("s"))), 10);
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
    fn without_a_folder_nothing_is_kept() {
        let mut transcript = Transcript::new(Spill::at(None), 1);
        transcript.add("abc");
        transcript.add("def");
        assert_eq!(transcript.path(), None);
    }
}
