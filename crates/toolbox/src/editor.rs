//! The edit agent: a second model writes the edits that the first one has only described.

mod bill;
mod show;

use std::path::Path;
use std::sync::Arc;

use bill::Bill;
use edit::{FileChange, Format, Plan, Report};
use futures::StreamExt;
use model::{Chunk, Model, Request, Stop};
use prompt::{EditForm, EditTask};
use show::Show;
use tool::{Context, Error, Output};
use workspace::{Expect, Location, Text as FileText};

use crate::learned::{Learned, Placed};
use crate::preview::{self, Text};
use crate::project::{Project, aside, explain};
use crate::reads::Knowledge;
use crate::text::{LineEnd, count};
use crate::told;
use crate::write_file::{change, folders};

/// A larger file is not sent to another model as a whole.
const MAX_CONTENT: usize = 256 * 1024;
/// Up to this size a file may be written out again as a whole.
const MAX_WHOLE: usize = 16 * 1024;
/// A reply that grows longer than this is not a sensible edit of such a file.
const MAX_REPLY: usize = 2 * MAX_CONTENT;
/// What the model is shown of the change.
const MAX_DIFF: usize = 6_000;

/// The model that writes edits which another one describes, and what has been learned about such models.
#[derive(Clone)]
pub struct Editor {
    /// The model.
    pub model: Arc<dyn Model>,
    /// How well each form has worked with each model.
    pub learned: Learned,
}

impl std::fmt::Debug for Editor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Editor")
            .field("model", &self.model.info().name())
            .field("learned", &self.learned)
            .finish()
    }
}

/// An editor at work in a project.
#[derive(Debug, Clone)]
pub(crate) struct EditAgent {
    project: Project,
    editor: Editor,
}

impl EditAgent {
    pub(crate) fn new(project: Project, editor: Editor) -> Self {
        Self { project, editor }
    }

    /// Changes or creates a file as described.
    pub(crate) async fn run(&self, path: &str, instructions: &str, context: &Context) -> Result<Output, Error> {
        let file = self.project.locate(path)?;
        let before = {
            let file = file.clone();
            aside(move || read(&file)).await?
        };
        let content = before.as_ref().map(|text| text.content.as_str());
        self.check_size(&file, content)?;
        let format = self.format(content);
        let shown = file.shown().into_owned();
        let mut request = prompt::edit_request(&EditTask {
            path: &shown,
            content,
            instructions,
            form: form(format),
        });
        let mut refusal = String::new();
        for attempt in [Attempt::First, Attempt::Second] {
            let mut bill = Bill::new(&self.editor.model, &context.spending, &request);
            let reply = self.ask(&request, format, &file, context, &mut bill).await?;
            let placed = {
                let (reply, file, content) = (reply.clone(), file.clone(), content.map(str::to_owned));
                aside(move || Ok(place(&reply, format, &file, content.as_deref()))).await?
            };
            self.learn(attempt, format, content, &placed);
            match placed {
                Ok(placed) => {
                    bill.outcome = "applied".into();
                    drop(bill);
                    return self.write(&file, before.as_ref(), placed);
                }
                Err(why) => {
                    bill.outcome = "refused".into();
                    request = prompt::edit_retry(request, &reply, &why);
                    refusal = why;
                }
            }
        }
        let name = self.editor.model.info().name();
        Err(Error::Failed(format!(
            "{name} could not write this change so that it fits, twice; make it with old_text and new_text instead. Its last \
             attempt:\n{refusal}"
        )))
    }

    fn check_size(&self, file: &Location, content: Option<&str>) -> Result<(), Error> {
        let size = content.map_or(0, str::len);
        let window = self.editor.model.info().limits.window;
        // About three bytes are a token, and the reply needs room as well.
        let fits = size <= MAX_CONTENT && (window == 0 || size as u64 / 3 <= window / 2);
        match fits {
            true => Ok(()),
            false => Err(Error::Failed(format!(
                "{} is too large ({size} bytes) to be changed by instructions; use old_text and new_text",
                file.shown()
            ))),
        }
    }

    /// The family's form first, then whatever experience prefers.
    fn format(&self, content: Option<&str>) -> Format {
        let Some(content) = content.filter(|content| !content.trim().is_empty()) else {
            return Format::Whole;
        };
        let info = self.editor.model.info();
        let usual = match edit::format_for(&info.id) {
            Format::SearchReplace => Format::SearchReplace,
            Format::ApplyPatch | Format::Unified => Format::ApplyPatch,
            Format::Whole => Format::Whole,
            // What a family writes as tool arguments it writes as tags in text.
            Format::Json | Format::Xml | Format::Auto => Format::Xml,
        };
        let others = [Format::Xml, Format::SearchReplace, Format::ApplyPatch, Format::Whole];
        let allowed = |form: &Format| *form != Format::Whole || content.len() <= MAX_WHOLE;
        let others = others.into_iter().filter(|form| *form != usual);
        let forms: Vec<Format> = std::iter::once(usual).chain(others).filter(allowed).collect();
        self.editor.learned.choose(&info.name(), &forms)
    }

    fn learn<T>(&self, attempt: Attempt, format: Format, content: Option<&str>, placed: &Result<T, String>) {
        // A second try has been helped, and a file without text leaves nothing to choose.
        if attempt == Attempt::First && content.is_some_and(|content| !content.trim().is_empty()) {
            let placed = match placed {
                Ok(_) => Placed::Yes,
                Err(_) => Placed::No,
            };
            let name = self.editor.model.info().name();
            self.editor.learned.count(&name, format, placed);
        }
    }

    /// Sends a request and gathers the reply, showing the edits as they come.
    async fn ask(
        &self,
        request: &Request,
        format: Format,
        file: &Location,
        context: &Context,
        bill: &mut Bill,
    ) -> Result<String, Error> {
        let failed = |bill: &mut Bill, why: String| {
            let name = self.editor.model.info().name();
            bill.outcome.clone_from(&why);
            Err(Error::Failed(format!(
                "{name} could not be asked for the edit: {why}; make the change with old_text and new_text instead"
            )))
        };
        let source = preview::source(&self.project.workspace);
        let mut watch = Text::new(format, Some(file.relative().to_owned()), source);
        let mut show = Show::default();
        let mut stream = match self.editor.model.stream(request.clone()).await {
            Ok(stream) => stream,
            Err(error) => return failed(bill, error.to_string()),
        };
        while let Some(chunk) = stream.next().await {
            match chunk {
                Ok(Chunk::Text(delta)) => {
                    bill.text.push_str(&delta);
                    show.glimpses(watch.push(&delta), context);
                    if bill.text.len() > MAX_REPLY {
                        return failed(bill, "its reply does not end".into());
                    }
                }
                Ok(Chunk::Usage(usage)) => bill.usage = Some(usage),
                Ok(Chunk::Cost(cost)) => bill.cost = Some(cost),
                Ok(Chunk::Stop(stop)) => {
                    return match stop {
                        Stop::End | Stop::ToolUse | Stop::Other { .. } => {
                            show.glimpses(watch.finish(), context);
                            Ok(bill.text.clone())
                        }
                        Stop::MaxTokens => failed(bill, "its reply was cut off at the output limit".into()),
                        Stop::Refusal { .. } => failed(bill, "it declined".into()),
                    };
                }
                Ok(
                    Chunk::Thinking(_)
                    | Chunk::Replay { .. }
                    | Chunk::ToolStart { .. }
                    | Chunk::ToolInput { .. }
                    | Chunk::ToolEnd { .. }
                    | Chunk::Notice(_)
                    | Chunk::Sent(_),
                ) => {}
                Err(error) => return failed(bill, error.to_string()),
            }
        }
        failed(bill, "its reply ended early".into())
    }

    /// Writes the file and tells what changed. There is no await in it: a dropped call has either written nothing or said so.
    fn write(&self, file: &Location, before: Option<&FileText>, placed: Edited) -> Result<Output, Error> {
        let (bytes, expect) = match before {
            Some(text) => {
                let bytes = file.encode(text.encoding, &placed.after).map_err(explain)?;
                (bytes, Expect::Content(text.snapshot))
            }
            None => (placed.after.clone().into_bytes(), Expect::Absent),
        };
        let missing = file.missing_folders();
        let written = file.write(&bytes, expect).map_err(explain)?;
        let mut output = match before {
            None => {
                let lines = count(placed.after.lines().count(), "line");
                Output::text(format!("created {} ({lines})", file.shown())).summary(format!("created, {lines}"))
            }
            Some(text) => {
                let (diff, cut) = diff(&text.content, &placed.after);
                // A model that knew the file and is shown all that changed knows it still.
                if self.project.reads.knowledge(file, text.snapshot) == Knowledge::Fresh && cut == Cut::Nothing {
                    self.project.reads.remember(file, written.snapshot);
                }
                let places = told::places(placed.reports.iter());
                Output::text(format!("edited {} {places}\n{diff}", file.shown()))
                    .summary(count(placed.reports.len(), "place"))
            }
        };
        output.changes.extend(folders(&missing));
        Ok(output.changed(change(file, written.before, bytes)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    Second,
}

fn form(format: Format) -> EditForm {
    match format {
        Format::SearchReplace => EditForm::SearchReplace,
        Format::ApplyPatch | Format::Unified => EditForm::ApplyPatch,
        Format::Whole => EditForm::Whole,
        Format::Xml | Format::Json | Format::Auto => EditForm::Xml,
    }
}

/// The file's text, if there is a file.
fn read(file: &Location) -> Result<Option<FileText>, Error> {
    match file.exists() {
        true => file.read_text().map(Some).map_err(explain),
        false => Ok(None),
    }
}

/// The new content, and where it differs.
struct Edited {
    after: String,
    reports: Vec<Report>,
}

/// Finds the place of every edit in the reply, or says why not, in words for the model that wrote it.
fn place(reply: &str, format: Format, file: &Location, content: Option<&str>) -> Result<Edited, String> {
    let is_fence = |line: &str| line.trim_start().starts_with("```");
    if format == Format::Whole && !reply.lines().any(is_fence) {
        return Err("There is no file between lines of four backticks in the reply.".into());
    }
    let target = file.relative();
    let lookup = |path: &Path| content.filter(|_| path == target).map(str::to_owned);
    let Plan { files, edits, .. } =
        edit::plan(reply, format, Some(target), &lookup).map_err(|refused| refused.to_string())?;
    let mut files = files.into_iter();
    match (files.next(), files.next()) {
        (Some(FileChange::Update { path, after, .. }), None) if path == target => Ok(Edited { after, reports: edits }),
        (Some(FileChange::Create { path, content }), None) if path == target => Ok(Edited {
            after: LineEnd::Lf.apply(&content),
            reports: edits,
        }),
        _ => Err(format!("Only {} may be changed, and it must stay.", file.shown())),
    }
}

/// Whether something is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Nothing,
    Something,
}

/// The change as a unified diff, as much of it as fits.
fn diff(before: &str, after: &str) -> (String, Cut) {
    let whole = edit::unified(before, after, 1).text;
    if whole.len() <= MAX_DIFF {
        return (whole.trim_end().to_owned(), Cut::Nothing);
    }
    let start = &whole[..whole.floor_char_boundary(MAX_DIFF)];
    let lines = start.rsplit_once('\n').map_or(start, |(lines, _)| lines);
    let left = whole.lines().count() - lines.lines().count();
    (
        format!(
            "{lines}\n[{} of the diff left out; read the file to see them]",
            count(left, "line")
        ),
        Cut::Something,
    )
}
