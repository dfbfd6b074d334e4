//! Replaces pieces of text in a file.

use std::path::Path;

use edit::{Edit, FileChange, Format, How, Plan, Refused, Replace, Report, Scope, Unit, Why};
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};
use workspace::{Expect, Location, Snapshot};

use crate::project::{Project, aside, explain};
use crate::reads::Reads;
use crate::text::count;
use crate::write_file::change;

pub(crate) struct EditFile(pub(crate) Project);

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
    const ALIASES: &'static [&'static str] = &["edit", "multiedit", "replace_string_in_file", "str_replace"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.writing(&input.path)
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let file = self.0.locate(&input.path)?;
        let edits = edits(input)?;
        let planned = {
            let (file, reads) = (file.clone(), self.0.reads.clone());
            aside(move || plan(&file, &reads, &edits)).await?
        };
        // No await from here on: a dropped call has either written nothing or reported what it wrote.
        let written = file
            .write(&planned.bytes, Expect::Content(planned.snapshot))
            .map_err(explain)?;
        self.0.reads.remember(&file, written.snapshot);
        Ok(Output::text(told(&file, &planned.reports))
            .summary(count(planned.reports.len(), "place"))
            .changed(change(&file, written.before, planned.bytes)))
    }
}

/// A change that is ready to be written.
struct Planned {
    /// What the file must still hold.
    snapshot: Snapshot,
    bytes: Vec<u8>,
    reports: Vec<Report>,
}

fn plan(file: &Location, reads: &Reads, edits: &[Edit]) -> Result<Planned, Error> {
    let text = file.read_text().map_err(explain)?;
    reads.check(file, text.snapshot)?;
    let (after, reports) = place(file, &text.content, edits)?;
    Ok(Planned {
        snapshot: text.snapshot,
        bytes: text.bom.encode(&after),
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
fn place(file: &Location, content: &str, edits: &[Edit]) -> Result<(String, Vec<Report>), Error> {
    let lookup = |_: &Path| Some(content.to_owned());
    let planned = edit::plan_edits(edits, Format::Json, Some(file.relative()), &lookup);
    let Plan { files, edits, .. } = planned.map_err(|refused| Error::Failed(refusal(&refused)))?;
    match files.into_iter().next() {
        Some(FileChange::Update { after, .. }) => Ok((after, edits)),
        Some(FileChange::Create { .. } | FileChange::Move { .. } | FileChange::Delete { .. }) | None => {
            Err(Error::Failed("the edit changes nothing".into()))
        }
    }
}

fn refusal(refused: &Refused) -> String {
    let ambiguous = refused
        .refusals
        .iter()
        .any(|refusal| matches!(refusal.why, Why::Ambiguous { .. }));
    match ambiguous {
        true => format!("{refused} Set replace_all to change every place."),
        false => refused.to_string(),
    }
}

/// Where the edits went. A place that was not found as quoted is told, so that the model can look.
fn told(file: &Location, reports: &[Report]) -> String {
    let places = reports.iter().filter(|report| report.changes).map(|report| {
        let lines = match report.first_line >= report.last_line {
            true => report.first_line.to_string(),
            false => format!("{}-{}", report.first_line, report.last_line),
        };
        match slack(report.how) {
            "" => lines,
            slack => format!("{lines} ({slack})"),
        }
    });
    let places = places.collect::<Vec<_>>().join(", ");
    format!("edited {} at line {places}", file.shown())
}

/// How far the quoted text was from what the file holds.
fn slack(how: How) -> &'static str {
    match how {
        How::Exact | How::Place | How::Whole => "",
        How::TrailingSpace => "but for trailing spaces",
        How::Indentation => "but for indentation",
        How::Spacing => "but for spacing",
        How::BlankLines => "but for blank lines",
        How::LineNumbers => "without line numbers",
        How::Escapes => "without escapes",
        How::Fences => "without code fences",
        How::Elision => "around lines left out",
        How::Slips => "but for small slips",
    }
}
