//! What experience says about the form in which models write edits best, kept from run to run.

use crate::atomic;
use crate::environment::Environment;
use crate::failure::{Failure, Result, plain};
use crate::places;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use toolbox::Learned;

/// Its name in the data folder.
const NAME: &str = "edit-formats.json";
/// More than it can ever come to: what is larger was not written by hew.
const MOST: u64 = 1024 * 1024;

/// What has been learned, and where it is kept.
///
/// Of two runs at the same time, the one that ends last keeps what it has learned; a few tries more or less change no choice.
#[derive(Debug)]
pub(crate) struct EditFormats {
    /// What has been learned; the tools add to it.
    pub(crate) learned: Learned,
    /// Why what earlier runs have learned cannot be used.
    pub(crate) warning: Option<String>,
    file: PathBuf,
    /// What the file says; nothing where it says nothing sensible.
    kept: Option<String>,
}

impl EditFormats {
    /// What earlier runs have learned.
    pub(super) fn load(env: &Environment) -> Result<Self> {
        Ok(Self::load_from(places::data(env)?.join(NAME)))
    }

    fn load_from(file: PathBuf) -> Self {
        let (learned, kept, warning) = match read(&file) {
            Ok(learned) => {
                let kept = learned.to_json();
                (learned, Some(kept), None)
            }
            Err(why) => {
                let text = format!("{why}; which form of edits suits each model is learned afresh");
                (Learned::default(), None, Some(text))
            }
        };
        EditFormats {
            learned,
            warning,
            file,
            kept,
        }
    }

    /// Keeps what was learned, if anything was.
    pub(crate) fn save(&self) -> Result<()> {
        let new = self.learned.to_json();
        if self.kept.as_deref() == Some(new.as_str()) {
            return Ok(());
        }
        atomic::write(&self.file, &new).map_err(|error| Failure::file("write", &self.file, &error))
    }
}

fn read(path: &Path) -> Result<Learned, String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MOST + 1).read_to_string(&mut text));
    match read {
        Ok(_) if text.len() as u64 > MOST => Err(format!("{} is far too large", path.display())),
        Ok(_) => Learned::from_json(&text).map_err(|error| format!("{} is damaged: {error}", path.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Learned::default()),
        Err(error) => Err(format!("cannot read {}: {}", path.display(), plain(&error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: &str = r#"{"p/m":{"xml":{"tries":9,"successes":1}}}"#;

    #[test]
    fn the_file_is_written_only_when_something_was_learned() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("data").join(NAME);
        let mut formats = EditFormats::load_from(file.clone());
        assert_eq!(formats.warning, None);
        formats.save().unwrap();
        assert!(!file.exists());
        formats.learned = Learned::from_json(SOME).unwrap();
        formats.save().unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), SOME);
        // What is as it was is left alone, even where somebody has written it in another way.
        let spaced = SOME.replace(':', ": ");
        std::fs::write(&file, &spaced).unwrap();
        let formats = EditFormats::load_from(file.clone());
        assert_eq!((formats.learned.to_json().as_str(), &formats.warning), (SOME, &None));
        formats.save().unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), spaced);
        let beside = std::fs::read_dir(temp.path().join("data")).unwrap().count();
        assert_eq!(beside, 1, "nothing is left lying about");
    }

    #[test]
    fn a_damaged_file_is_told_of_once_and_replaced() {
        let huge = " ".repeat(MOST as usize + 1);
        let cases: [(&[u8], &str); 4] = [
            (b"{\"p/m\":", "is damaged: EOF"),
            (b"", "is damaged: EOF"),
            (b"\xff\xfe", "cannot read "),
            (huge.as_bytes(), "is far too large"),
        ];
        for (bytes, why) in cases {
            let temp = tempfile::tempdir().unwrap();
            let file = temp.path().join(NAME);
            std::fs::write(&file, bytes).unwrap();
            let formats = EditFormats::load_from(file.clone());
            let warning = formats.warning.as_deref().unwrap();
            assert!(
                warning.contains(why) && warning.ends_with("is learned afresh"),
                "{warning}"
            );
            formats.save().unwrap();
            assert_eq!(EditFormats::load_from(file).warning, None);
        }
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join(NAME);
        std::fs::create_dir(&file).unwrap();
        let formats = EditFormats::load_from(file);
        assert!(formats.warning.as_deref().unwrap().starts_with("cannot read "));
        let failure = formats.save().unwrap_err();
        assert!(failure.what.starts_with("cannot write "), "{}", failure.what);
    }
}
