//! Writes a whole file.

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Change, Context, Effect, Error, Output, Preview, Tool, Version};
use workspace::{Expect, Location};

use crate::preview;
use crate::project::{Project, explain};
use crate::text::{LineEnd, count};

pub(crate) struct WriteFile(pub(crate) Project);

/// Writes a whole file; folders are created. An existing file must have been read. To change a part, edit it instead.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: String,
    #[serde(alias = "contents", alias = "file_text")]
    content: String,
}

impl Tool for WriteFile {
    const NAME: &'static str = "write_file";
    const ALIASES: &'static [&'static str] = &["create_file", "write", "write_to_file"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.writing(&input.path)
    }

    fn preview(&self) -> Option<Box<dyn Preview>> {
        Some(preview::of_input(&self.0.workspace))
    }

    /// Works without an await, so that a dropped call has either written nothing or reported what it wrote.
    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let file = self.0.locate(&input.path)?;
        let (bytes, expect) = match file.exists() {
            false => (input.content.into_bytes(), Expect::Absent),
            true => self.replacement(&file, &input.content)?,
        };
        let missing = file.missing_folders();
        let written = file.write(&bytes, expect).map_err(explain)?;
        self.0.reads.remember(&file, written.snapshot);
        let verb = match written.before {
            Some(_) => "replaced",
            None => "created",
        };
        let lines = count(String::from_utf8_lossy(&bytes).lines().count(), "line");
        let mut output = Output::text(format!("{verb} {} ({lines})", file.shown())).summary(format!("{verb}, {lines}"));
        output.changes.extend(folders(&missing));
        Ok(output.changed(change(&file, written.before, bytes)))
    }
}

impl WriteFile {
    /// The bytes to put in the place of an existing file: its encoding, byte order mark and line ends stay.
    fn replacement(&self, file: &Location, content: &str) -> Result<(Vec<u8>, Expect), Error> {
        let text = file.read_text().map_err(explain)?;
        // There is nothing in an empty file that the model could have missed.
        if !text.content.is_empty() {
            self.0.reads.check(file, text.snapshot)?;
        }
        let content = match LineEnd::of(&text.content) {
            LineEnd::CrLf => LineEnd::CrLf.apply(content),
            LineEnd::Lf => content.to_owned(),
        };
        if content == text.content {
            return Err(Error::Failed(format!(
                "{} already holds exactly this; nothing was written",
                file.shown()
            )));
        }
        let content = content.strip_prefix('\u{FEFF}').unwrap_or(&content);
        let bytes = file.encode(text.encoding, content).map_err(explain)?;
        Ok((bytes, Expect::Content(text.snapshot)))
    }
}

/// A change of a file for the file history.
pub(crate) fn change(file: &Location, before: Option<Vec<u8>>, after: Vec<u8>) -> Change {
    Change {
        path: file.relative().to_owned(),
        before: before.map(Version::from),
        after: Some(after.into()),
    }
}

/// Folders that have been made for a file, for the file history: those that were missing before it was written.
pub(crate) fn folders(missing: &[Location]) -> impl Iterator<Item = Change> {
    missing.iter().rev().map(|folder| Change {
        path: folder.relative().to_owned(),
        before: None,
        after: Some(Version::folder(None)),
    })
}
