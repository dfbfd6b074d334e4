//! Statistics about the edit formats of models, stored between runs.

use crate::atomic;
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::paths;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use toolbox::EditFormatStats;

/// The name of the file in the data directory.
const FILE_NAME: &str = "edit-formats.json";
/// The maximum size of the file.
const MAX_BYTES: u64 = 1024 * 1024;

/// The statistics and their file. Of two concurrent runs, the last one to end overwrites the file.
#[derive(Debug)]
pub(crate) struct EditFormats {
    /// The statistics; the tools update them.
    pub(crate) learned: EditFormatStats,
    /// Why the stored statistics could not be read.
    pub(crate) warning: Option<String>,
    file: PathBuf,
    /// The contents of the file; `None` if they are invalid.
    saved: Option<String>,
}

impl EditFormats {
    /// Loads the stored statistics.
    pub(crate) fn load(env: &ProcessEnv) -> Result<Self> {
        Ok(Self::load_from(paths::data_dir(env)?.join(FILE_NAME)))
    }

    fn load_from(file: PathBuf) -> Self {
        let (learned, kept, warning) = match read(&file) {
            Ok(learned) => {
                let kept = learned.to_json();
                (learned, Some(kept), None)
            }
            Err(failure) => {
                let text = format!("{failure}; the statistics about edit formats are reset");
                (EditFormatStats::default(), None, Some(text))
            }
        };
        EditFormats {
            learned,
            warning,
            file,
            saved: kept,
        }
    }

    /// Saves the statistics if they changed.
    pub(crate) fn save(&self) -> Result<()> {
        let new = self.learned.to_json();
        if self.saved.as_deref() == Some(new.as_str()) {
            return Ok(());
        }
        atomic::write(&self.file, &new).map_err(|error| Failure::file("write", &self.file, &error))
    }
}

fn read(path: &Path) -> Result<EditFormatStats> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
    match read {
        Ok(_) if text.len() as u64 > MAX_BYTES => Err(Failure::failed(format!("{} is too large", path.display()))),
        Ok(_) => EditFormatStats::from_json(&text)
            .map_err(|error| Failure::failed(format!("{} is damaged: {error}", path.display()))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(EditFormatStats::default()),
        Err(error) => Err(Failure::file("read", path, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: &str = r#"{"p/m":{"xml":{"tries":9,"successes":1}}}"#;

    #[test]
    fn the_file_is_written_only_if_the_statistics_changed() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("data").join(FILE_NAME);
        let mut formats = EditFormats::load_from(file.clone());
        assert_eq!(formats.warning, None);
        formats.save().unwrap();
        assert!(!file.exists());
        formats.learned = EditFormatStats::from_json(SOME).unwrap();
        formats.save().unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), SOME);
        // Unchanged statistics in another format are not rewritten.
        let spaced = SOME.replace(':', ": ");
        std::fs::write(&file, &spaced).unwrap();
        let formats = EditFormats::load_from(file.clone());
        assert_eq!((formats.learned.to_json().as_str(), &formats.warning), (SOME, &None));
        formats.save().unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), spaced);
        let entries = std::fs::read_dir(temp.path().join("data")).unwrap().count();
        assert_eq!(entries, 1, "no temporary file is left");
    }

    #[test]
    fn a_damaged_file_is_reported_once_and_replaced() {
        let huge = " ".repeat(MAX_BYTES as usize + 1);
        let cases: [(&[u8], &str); 4] = [
            (b"{\"p/m\":", "is damaged: EOF"),
            (b"", "is damaged: EOF"),
            (b"\xff\xfe", "cannot read "),
            (huge.as_bytes(), "is too large"),
        ];
        for (bytes, why) in cases {
            let temp = tempfile::tempdir().unwrap();
            let file = temp.path().join(FILE_NAME);
            std::fs::write(&file, bytes).unwrap();
            let formats = EditFormats::load_from(file.clone());
            let warning = formats.warning.as_deref().unwrap();
            assert!(warning.contains(why) && warning.ends_with("are reset"), "{warning}");
            formats.save().unwrap();
            assert_eq!(EditFormats::load_from(file).warning, None);
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join(FILE_NAME);
        std::fs::create_dir(&file).unwrap();
        let formats = EditFormats::load_from(file);
        assert!(formats.warning.as_deref().unwrap().starts_with("cannot read "));
        let failure = formats.save().unwrap_err();
        assert!(failure.message.starts_with("cannot write "), "{}", failure.message);
    }
}
