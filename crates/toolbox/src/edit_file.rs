//! Replaces pieces of text in a file.

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};
use workspace::{Expect, Location};

use crate::project::{Project, explain};
use crate::text::{LineEnd, count};
use crate::write_file::change;

pub(crate) struct EditFile(pub(crate) Project);

/// Replaces text in a file that was read. `old_text` must be exactly what the file holds, without line numbers, and occur
/// once: take in enough lines around it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: String,
    #[serde(alias = "old_string", alias = "oldString", alias = "old_str")]
    old_text: String,
    #[serde(alias = "new_string", alias = "newString", alias = "new_str")]
    new_text: String,
    /// Replace every occurrence.
    #[serde(alias = "replaceAll")]
    replace_all: Option<bool>,
}

impl Tool for EditFile {
    const NAME: &'static str = "edit_file";
    const ALIASES: &'static [&'static str] = &["edit", "replace_string_in_file", "str_replace"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.writing(&input.path)
    }

    /// Works without an await, so that a dropped call has either written nothing or reported what it wrote.
    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let file = self.0.locate(&input.path)?;
        let text = file.read_text().map_err(explain)?;
        self.0.reads.check(&file, text.snapshot)?;
        let edited = edit(&file, &text.content, &input)?;
        let bytes = text.bom.encode(&edited.content);
        let written = file.write(&bytes, Expect::Content(text.snapshot)).map_err(explain)?;
        self.0.reads.remember(&file, written.snapshot);
        let places = count(edited.places, "place");
        Ok(
            Output::text(format!("edited {} at line {}, {places}", file.shown(), edited.line))
                .summary(places)
                .changed(change(&file, written.before, bytes)),
        )
    }
}

struct Edited {
    content: String,
    line: usize,
    places: usize,
}

/// Replaces text. It is matched with the file's line ends, since models write `\n` whatever the file has.
fn edit(file: &Location, content: &str, input: &Input) -> Result<Edited, Error> {
    let fail = |text: String| Err(Error::Failed(text));
    if input.old_text.is_empty() {
        return fail("old_text is empty; give the text to replace, or use write_file for a whole file".into());
    }
    if input.old_text == input.new_text {
        return fail("old_text and new_text are the same; nothing was changed".into());
    }
    let end = LineEnd::of(content);
    let (old, new) = match end {
        LineEnd::CrLf => (end.apply(&input.old_text), end.apply(&input.new_text)),
        LineEnd::Lf => (input.old_text.clone(), input.new_text.clone()),
    };
    let lines: Vec<usize> = content
        .match_indices(&old)
        .map(|(at, _)| content[..at].matches('\n').count() + 1)
        .collect();
    let all = input.replace_all == Some(true);
    match lines.as_slice() {
        [] => fail(format!(
            "old_text does not occur in {}; read the lines in question again and copy them exactly",
            file.shown()
        )),
        [_, _, ..] if !all => {
            let places = lines
                .iter()
                .take(10)
                .map(usize::to_string)
                .collect::<Vec<_>>()
                .join(", ");
            let times = lines.len();
            fail(format!(
                "old_text occurs {times} times in {} (lines {places}); take in more lines around the one you mean, or set replace_all",
                file.shown()
            ))
        }
        [first, ..] => Ok(Edited {
            content: content.replace(&old, &new),
            line: *first,
            places: lines.len(),
        }),
    }
}
