//! The edit agent: a second model writes edits from instructions of the first one.

mod progress;
mod usage;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use edit::{EditFormat, EditPlan, EditReport, FileChange};
use futures::StreamExt;
use model::{Block, Chunk, Model, Part, Request, Retry, Stop};
use progress::EditProgress;
use prompt::{EditInstruction, EditReplyFormat};
use session::RequestEnd;
use tool::{CallContext, Error, Output};
use usage::EditUsageGuard;
use workspace::{ExpectedContent, Location, TextFile as FileText};

use crate::support::edits::format_stats::{EditFormatStats, EditPlacement};
use crate::support::edits::report;
use crate::support::preview::{self, EditTextPreview};
use crate::support::project::changes::{change, folders};
use crate::support::project::read_tracker::FileKnowledge;
use crate::support::project::{Project, run_blocking, tool_error};
use crate::support::text::{LineEnding, count};

/// Maximum size of a file that is sent to the edit model.
const MAX_CONTENT: usize = 256 * 1024;
/// Maximum size of a file that may be rewritten as a whole.
const MAX_WHOLE: usize = 16 * 1024;
/// Maximum size of a reply.
const MAX_REPLY: usize = 2 * MAX_CONTENT;
/// Maximum number of retries after a temporary failure, and the delay before one.
const MAX_RETRIES: u32 = 2;
const RETRY_DELAY: Duration = Duration::from_millis(250);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(20);
/// The size of an image, as if it were text.
const MEDIA_SIZE: usize = 5_000;
/// Maximum size of the diff in the result.
const MAX_DIFF: usize = 6_000;

/// The model that writes edits from instructions, and statistics about edit formats.
#[derive(Clone)]
pub struct EditModel {
    /// The model.
    pub model: Arc<dyn Model>,
    /// Success rates of edit formats by model.
    pub format_stats: EditFormatStats,
}

impl std::fmt::Debug for EditModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Editor")
            .field("model", &self.model.info().name())
            .field("learned", &self.format_stats)
            .finish()
    }
}

/// The edit model in a project.
#[derive(Debug, Clone)]
pub(crate) struct EditAgent {
    project: Project,
    editor: EditModel,
}

impl EditAgent {
    pub(crate) fn new(project: Project, editor: EditModel) -> Self {
        Self { project, editor }
    }

    /// Changes or creates a file according to instructions.
    pub(crate) async fn run(&self, path: &str, instructions: &str, context: &CallContext) -> Result<Output, Error> {
        let file = self.project.locate(path)?;
        let before = {
            let file = file.clone();
            run_blocking(move || read(&file)).await?
        };
        let content = before.as_ref().map(|text| text.content.as_str());
        self.check_size(&file, content)?;
        let format = self.format(content);
        let shown = file.shown().into_owned();
        let task = EditInstruction {
            path: &shown,
            content,
            instructions,
            form: form(format),
        };
        let conversation = context.request.as_deref();
        let conversation = conversation.filter(|conversation| self.fits(conversation, content));
        let mut request = prompt::edit_request(&task, conversation);
        let mut refusal = String::new();
        for attempt in [EditAttempt::First, EditAttempt::Second] {
            let (mut bill, reply) = self.ask_with_retries(&request, format, &file, context).await?;
            let placed = {
                let (reply, file, content) = (reply.clone(), file.clone(), content.map(str::to_owned));
                run_blocking(move || Ok(place(&reply, format, &file, content.as_deref()))).await?
            };
            self.learn(attempt, format, content, &placed);
            match placed {
                Ok(placed) => {
                    bill.outcome = RequestEnd::Applied;
                    drop(bill);
                    return self.write(&file, before.as_ref(), placed);
                }
                Err(why) => {
                    bill.outcome = RequestEnd::Rejected;
                    refusal = why.to_string();
                    request = prompt::edit_retry(request, &reply, &refusal);
                }
            }
        }
        let name = self.editor.model.info().name();
        Err(Error::Failed(format!(
            "{name} failed twice to write this change; use old_text and new_text instead. Last \
             attempt:\n{refusal}"
        )))
    }

    /// Whether the conversation fits into half of the edit model's window together with the file.
    fn fits(&self, conversation: &Request, content: Option<&str>) -> bool {
        let window = self.editor.model.info().limits.window;
        let system: usize = conversation.system.iter().map(|section| section.len()).sum();
        let messages = conversation.messages.iter().flat_map(|message| &message.parts);
        let messages: usize = messages.map(part_size).sum();
        let tools: usize = conversation.tools.iter().map(|tool| tool.description.len() + 400).sum();
        let size = (system + messages + tools + content.map_or(0, str::len)) as u64;
        window == 0 || size / 3 <= window / 2
    }

    /// Sends a request again after a failure that is temporary.
    async fn ask_with_retries(
        &self,
        request: &Request,
        format: EditFormat,
        file: &Location,
        context: &CallContext,
    ) -> Result<(EditUsageGuard, String), Error> {
        let mut failed = 0;
        loop {
            let mut bill = EditUsageGuard::new(&self.editor.model, &context.usage, request);
            let failure = match self.ask(request, format, file, context, &mut bill).await {
                Ok(reply) => return Ok((bill, reply)),
                Err(failure) => failure,
            };
            failed += 1;
            match failure.retry {
                Retry::UpTo { times, after } if failed <= times.min(MAX_RETRIES) => {
                    drop(bill);
                    tokio::time::sleep(after.unwrap_or(RETRY_DELAY).min(MAX_RETRY_DELAY)).await;
                }
                Retry::UpTo { .. } | Retry::Never => {
                    let name = self.editor.model.info().name();
                    return Err(Error::Failed(format!(
                        "the request to {name} failed: {}; use old_text and new_text instead",
                        failure.why
                    )));
                }
            }
        }
    }

    fn check_size(&self, file: &Location, content: Option<&str>) -> Result<(), Error> {
        let size = content.map_or(0, str::len);
        let window = self.editor.model.info().limits.window;
        // A token has about three bytes, and the reply needs space as well.
        let fits = size <= MAX_CONTENT && (window == 0 || size as u64 / 3 <= window / 2);
        match fits {
            true => Ok(()),
            false => Err(Error::Failed(format!(
                "{} is too large ({size} bytes) to be changed by instructions; use old_text and new_text",
                file.shown()
            ))),
        }
    }

    /// The format of the model's family, unless statistics prefer another one.
    fn format(&self, content: Option<&str>) -> EditFormat {
        let Some(content) = content.filter(|content| !content.trim().is_empty()) else {
            return EditFormat::Whole;
        };
        let info = self.editor.model.info();
        let usual = match edit::format_for(&info.id) {
            EditFormat::SearchReplace => EditFormat::SearchReplace,
            EditFormat::ApplyPatch | EditFormat::Unified => EditFormat::ApplyPatch,
            EditFormat::Whole => EditFormat::Whole,
            // Families that use JSON arguments use XML in text.
            EditFormat::Json | EditFormat::Xml | EditFormat::Anchors | EditFormat::Auto => EditFormat::Xml,
        };
        let others = [
            EditFormat::Xml,
            EditFormat::SearchReplace,
            EditFormat::ApplyPatch,
            EditFormat::Whole,
        ];
        let allowed = |form: &EditFormat| *form != EditFormat::Whole || content.len() <= MAX_WHOLE;
        let others = others.into_iter().filter(|form| *form != usual);
        let forms: Vec<EditFormat> = std::iter::once(usual).chain(others).filter(allowed).collect();
        self.editor.format_stats.choose(&info.name(), &forms)
    }

    fn learn<T>(
        &self,
        attempt: EditAttempt,
        format: EditFormat,
        content: Option<&str>,
        placed: &Result<T, RejectedReply>,
    ) {
        // A second attempt had help, and an empty file allows only one format.
        if attempt == EditAttempt::First && content.is_some_and(|content| !content.trim().is_empty()) {
            let placed = match placed {
                Ok(_) => EditPlacement::Placed,
                Err(_) => EditPlacement::Refused,
            };
            let name = self.editor.model.info().name();
            self.editor.format_stats.count(&name, format, placed);
        }
    }

    /// Sends a request and collects the reply, with live progress.
    async fn ask(
        &self,
        request: &Request,
        format: EditFormat,
        file: &Location,
        context: &CallContext,
        bill: &mut EditUsageGuard,
    ) -> Result<String, EditRequestFailure> {
        let broken = |bill: &mut EditUsageGuard, error: model::Error| {
            let why = error.to_string();
            bill.outcome = RequestEnd::Failed { error: why.clone() };
            let retry = error.retry();
            Err(EditRequestFailure { why, retry })
        };
        let failed = |bill: &mut EditUsageGuard, why: String| {
            bill.outcome = RequestEnd::Failed { error: why.clone() };
            let retry = Retry::Never;
            Err(EditRequestFailure { why, retry })
        };
        let mut called = String::new();
        let source = preview::source(&self.project.workspace);
        let mut watch = EditTextPreview::new(format, Some(file.relative().to_owned()), source);
        let mut progress = EditProgress::default();
        let mut stream = match self.editor.model.stream(request.clone()).await {
            Ok(stream) => stream,
            Err(error) => return broken(bill, error),
        };
        while let Some(chunk) = stream.next().await {
            match chunk {
                Ok(Chunk::Text(delta)) => {
                    bill.text.push_str(&delta);
                    progress.send(watch.push(&delta), context);
                    if bill.text.len() > MAX_REPLY {
                        return failed(bill, "the reply is too long".into());
                    }
                }
                Ok(Chunk::Usage(usage)) => bill.usage = Some(usage),
                Ok(Chunk::Cost(cost)) => bill.cost = Some(cost),
                Ok(Chunk::Stop(stop)) => {
                    return match stop {
                        Stop::End | Stop::ToolUse | Stop::Other { .. } => {
                            progress.send(watch.finish(), context);
                            // Some models call an edit tool instead of writing text.
                            Ok(match bill.text.trim().is_empty() {
                                true => called,
                                false => bill.text.clone(),
                            })
                        }
                        Stop::MaxTokens => failed(bill, "the reply reached the output limit".into()),
                        Stop::Refusal { .. } => failed(bill, "the model refused".into()),
                    };
                }
                Ok(Chunk::ToolInput { delta, .. }) => {
                    called.push_str(&delta);
                    if called.len() > MAX_REPLY {
                        return failed(bill, "the reply is too long".into());
                    }
                }
                Ok(
                    Chunk::Thinking(_)
                    | Chunk::Replay { .. }
                    | Chunk::ToolStart { .. }
                    | Chunk::ToolEnd { .. }
                    | Chunk::Notice(_)
                    | Chunk::PromptSize(_),
                ) => {}
                Err(error) => return broken(bill, error),
            }
        }
        failed(bill, "the reply ended early".into())
    }

    /// Writes the file and describes the change. There is no await: a cancelled call has either written nothing or
    /// returned its changes.
    fn write(&self, file: &Location, before: Option<&FileText>, placed: EditedContent) -> Result<Output, Error> {
        let (bytes, expect) = match before {
            Some(text) => {
                let bytes = file.encode(text.encoding, &placed.after).map_err(tool_error)?;
                (bytes, ExpectedContent::Content(text.snapshot))
            }
            None => (placed.after.clone().into_bytes(), ExpectedContent::Absent),
        };
        let missing = file.missing_folders();
        let written = file.write(&bytes, expect).map_err(tool_error)?;
        let mut output = match before {
            None => {
                let lines = count(placed.after.lines().count(), "line");
                Output::text(format!("created {} ({lines})", file.shown())).with_summary(format!("created, {lines}"))
            }
            Some(text) => {
                self.project.lines.edited(file, &text.content);
                let (diff, cut) = diff(&text.content, &placed.after);
                // A model that has read the file and gets the full diff knows the new version.
                if self.project.reads.knowledge(file, text.snapshot) == FileKnowledge::Fresh
                    && cut == DiffExtent::Complete
                {
                    self.project.reads.remember(file, written.snapshot);
                }
                let places = report::describe_places(placed.reports.iter());
                Output::text(format!("edited {} {places}\n{diff}", file.shown()))
                    .with_summary(count(placed.reports.len(), "place"))
            }
        };
        output.changes.extend(folders(&missing));
        Ok(output.with_change(change(file, written.before, bytes)))
    }
}

/// Why a request has no usable reply.
struct EditRequestFailure {
    why: String,
    retry: Retry,
}

fn part_size(part: &Part) -> usize {
    match part {
        Part::Text { text, .. } | Part::Thinking { text, .. } => text.len(),
        Part::ToolCall { input, .. } => input.to_string().len(),
        Part::ToolResult { content, .. } => content.iter().map(block_size).sum(),
        Part::Media(_) => MEDIA_SIZE,
    }
}

fn block_size(block: &Block) -> usize {
    match block {
        Block::Text { text } => text.len(),
        Block::Media(_) => MEDIA_SIZE,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EditAttempt {
    First,
    Second,
}

fn form(format: EditFormat) -> EditReplyFormat {
    match format {
        EditFormat::SearchReplace => EditReplyFormat::SearchReplace,
        EditFormat::ApplyPatch | EditFormat::Unified => EditReplyFormat::ApplyPatch,
        EditFormat::Whole => EditReplyFormat::Whole,
        EditFormat::Xml | EditFormat::Json | EditFormat::Anchors | EditFormat::Auto => EditReplyFormat::Xml,
    }
}

/// The text of the file, or `None` if it does not exist.
fn read(file: &Location) -> Result<Option<FileText>, Error> {
    match file.exists() {
        true => file.read_text().map(Some).map_err(tool_error),
        false => Ok(None),
    }
}

/// The new content and the applied edits.
struct EditedContent {
    after: String,
    reports: Vec<EditReport>,
}

/// Why the edits of a reply are not applied, for the model that wrote it.
#[derive(Debug, thiserror::Error)]
enum RejectedReply {
    #[error("The reply has no file between lines of four backticks.")]
    NoFile,
    #[error("Only {0} may be changed, and it must not be moved or deleted.")]
    OtherFile(String),
    #[error(transparent)]
    Refused(#[from] edit::RefusedEdits),
}

/// Applies the edits in the reply. A reply in another
/// format than the requested one is accepted.
fn place(
    reply: &str,
    format: EditFormat,
    file: &Location,
    content: Option<&str>,
) -> Result<EditedContent, RejectedReply> {
    let refusal = match place_as(reply, format, file, content) {
        Ok(placed) => return Ok(placed),
        Err(refusal) => refusal,
    };
    let other = edit::detect(reply).filter(|other| *other != format && is_other_format(reply, format));
    match other {
        Some(other) => place_as(reply, other, file, content),
        None => Err(refusal),
    }
}

/// Whether a text is not in this format: it has no edits in it.
fn is_other_format(reply: &str, format: EditFormat) -> bool {
    format == EditFormat::Whole || edit::parse(reply, format).map_or(true, |edits| edits.is_empty())
}

fn place_as(
    reply: &str,
    format: EditFormat,
    file: &Location,
    content: Option<&str>,
) -> Result<EditedContent, RejectedReply> {
    let is_fence = |line: &str| line.trim_start().starts_with("```");
    if format == EditFormat::Whole && !reply.lines().any(is_fence) {
        return Err(RejectedReply::NoFile);
    }
    let target = file.relative();
    let lookup = |path: &Path| content.filter(|_| path == target).map(str::to_owned);
    let EditPlan { files, edits, .. } = edit::plan(reply, format, Some(target), &lookup)?;
    let mut files = files.into_iter();
    match (files.next(), files.next()) {
        (Some(FileChange::Update { path, after, .. }), None) if path == target => {
            Ok(EditedContent { after, reports: edits })
        }
        (Some(FileChange::Create { path, content }), None) if path == target => Ok(EditedContent {
            after: LineEnding::Lf.apply(&content),
            reports: edits,
        }),
        _ => Err(RejectedReply::OtherFile(file.shown().to_string())),
    }
}

/// Whether a diff is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiffExtent {
    Complete,
    Truncated,
}

/// The change as a unified diff, up to the size limit.
fn diff(before: &str, after: &str) -> (String, DiffExtent) {
    let whole = edit::unified_diff(before, after, 1).text;
    if whole.len() <= MAX_DIFF {
        return (whole.trim_end().to_owned(), DiffExtent::Complete);
    }
    let start = &whole[..whole.floor_char_boundary(MAX_DIFF)];
    let lines = start.rsplit_once('\n').map_or(start, |(lines, _)| lines);
    let left = whole.lines().count() - lines.lines().count();
    (
        format!(
            "{lines}\n[{} of the diff omitted; read the file to see them]",
            count(left, "line")
        ),
        DiffExtent::Truncated,
    )
}
