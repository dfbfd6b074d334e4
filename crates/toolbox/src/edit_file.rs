//! Replaces pieces of text in a file.

use std::path::Path;

use edit::{Edit, FileChange, Format, Plan, Refused, Replace, Report, Scope, Unit};
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Preview, Tool};
use workspace::{Expect, Location, Snapshot};

use crate::editor::EditAgent;
use crate::preview;
use crate::project::{Project, aside, explain};
use crate::reads::Reads;
use crate::text::count;
use crate::told;
use crate::write_file::change;

pub(crate) struct EditFile {
    pub(crate) project: Project,
    /// Writes edits that are only described, where there is a model for that.
    pub(crate) agent: Option<EditAgent>,
}

/// Replaces text in a file that was read. `old_text` must be what the file holds, without line numbers, and fit one place:
/// take in enough lines around it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: String,
    // Both are required of the model, but one that puts everything into `edits` is understood too.
    #[schemars(required)]
    #[serde(alias = "old_string", alias = "oldString", alias = "old_str")]
    old_text: Option<String>,
    #[schemars(required)]
    #[serde(alias = "new_string", alias = "newString", alias = "new_str")]
    new_text: Option<String>,
    /// Replace every occurrence.
    #[serde(alias = "replaceAll")]
    replace_all: Option<bool>,
    /// Where `old_text` starts, to choose between places that are alike.
    line: Option<usize>,
    /// Further replacements in this file; either all are made or none.
    edits: Option<Vec<Further>>,
    /// Instead of texts: what to change, or what a new file should hold, in full. Another model that sees only the file writes it.
    instructions: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Further {
    #[serde(alias = "old_string", alias = "oldString", alias = "old_str")]
    old_text: String,
    #[serde(alias = "new_string", alias = "newString", alias = "new_str")]
    new_text: String,
    #[serde(alias = "replaceAll")]
    replace_all: Option<bool>,
    line: Option<usize>,
}

impl Tool for EditFile {
    const NAME: &'static str = "edit_file";
    const ALIASES: &'static [&'static str] = &[
        "edit",
        "multi_edit",
        "multiedit",
        "replace",
        "replace_string_in_file",
        "search_replace",
        "str_replace",
    ];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let writing = self.project.writing(&input.path);
        match (input.described(), &self.agent) {
            // The file is shown to the other model.
            (Some(_), Some(_)) => [self.project.reading(&input.path), writing].concat(),
            _ => writing,
        }
    }

    fn preview(&self) -> Option<Box<dyn Preview>> {
        Some(preview::of_input(&self.project.workspace))
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        if let (Some(instructions), Some(agent)) = (input.described(), &self.agent) {
            return agent.run(&input.path, instructions, &context).await;
        }
        let file = self.project.locate(&input.path)?;
        write_edits(&self.project, file, edits(input)?, Format::Json).await
    }
}

impl Input {
    /// What is to be done, where no text says it.
    fn described(&self) -> Option<&str> {
        let is_empty = |text: &Option<String>| text.as_deref().unwrap_or_default().is_empty();
        let has_text = !is_empty(&self.old_text) || !is_empty(&self.new_text) || self.edits.is_some();
        self.instructions
            .as_deref()
            .map(str::trim)
            .filter(|instructions| !instructions.is_empty() && !has_text)
    }
}

/// Makes edits of one file that the model knows.
pub(crate) async fn write_edits(
    project: &Project,
    file: Location,
    edits: Vec<Edit>,
    format: Format,
) -> Result<Output, Error> {
    let planned = {
        let (file, reads) = (file.clone(), project.reads.clone());
        aside(move || plan(&file, &reads, &edits, format)).await?
    };
    // No await from here on: a dropped call has either written nothing or reported what it wrote.
    let written = file
        .write(&planned.bytes, Expect::Content(planned.snapshot))
        .map_err(explain)?;
    project.reads.remember(&file, written.snapshot);
    let told = format!("edited {} {}", file.shown(), told::places(planned.reports.iter()));
    Ok(Output::text(told)
        .summary(count(planned.reports.len(), "place"))
        .changed(change(&file, written.before, planned.bytes)))
}

/// A change that is ready to be written.
struct Planned {
    /// What the file must still hold.
    snapshot: Snapshot,
    bytes: Vec<u8>,
    reports: Vec<Report>,
}

fn plan(file: &Location, reads: &Reads, edits: &[Edit], format: Format) -> Result<Planned, Error> {
    let text = file.read_text().map_err(explain)?;
    reads.check(file, text.snapshot)?;
    let (after, reports) = place(file, &text.content, edits, format)?;
    Ok(Planned {
        snapshot: text.snapshot,
        bytes: file.encode(text.encoding, &after).map_err(explain)?,
        reports,
    })
}

fn edits(input: Input) -> Result<Vec<Edit>, Error> {
    let first = match (input.old_text, input.new_text) {
        (Some(old_text), Some(new_text)) => Some(Further {
            old_text,
            new_text,
            replace_all: input.replace_all,
            line: input.line,
        }),
        (None, None) if input.edits.is_some() => None,
        (old_text, _) => {
            let missing = if old_text.is_none() { "old_text" } else { "new_text" };
            return Err(Error::Input {
                tool: EditFile::NAME.into(),
                detail: format!("missing field `{missing}`"),
            });
        }
    };
    Ok(first
        .into_iter()
        .chain(input.edits.into_iter().flatten())
        .map(Edit::from)
        .collect())
}

impl From<Further> for Edit {
    fn from(further: Further) -> Self {
        let scope = match further.replace_all {
            Some(true) => Scope::All,
            Some(false) | None => Scope::One,
        };
        let readings = vec![(further.old_text, further.new_text)];
        let replace = Replace {
            readings,
            hint: further.line,
            scope,
            unit: Unit::Text,
        };
        Edit {
            names: Vec::new(),
            naming: edit::Naming::Stated,
            change: edit::Change::Replace(replace),
        }
    }
}

/// The content with every edit in its place.
fn place(file: &Location, content: &str, edits: &[Edit], format: Format) -> Result<(String, Vec<Report>), Error> {
    let lookup = |_: &Path| Some(content.to_owned());
    let planned = edit::plan_edits(edits, format, Some(file.relative()), &lookup);
    let Plan { files, edits, .. } = planned.map_err(|refused| Error::Failed(refusal(&refused)))?;
    match files.into_iter().next() {
        Some(FileChange::Update { after, .. }) => Ok((after, edits)),
        Some(FileChange::Create { .. } | FileChange::Move { .. } | FileChange::Delete { .. }) | None => {
            Err(Error::Failed("the edit changes nothing".into()))
        }
    }
}

fn refusal(refused: &Refused) -> String {
    match told::is_ambiguous(refused) {
        true => format!("{refused} Set replace_all to change every place."),
        false => refused.to_string(),
    }
}
