//! Computes predictions for open documents.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use predict::answer;
use predict::prompt::{self, PredictionPrompt, PromptInput, RelatedExcerpt};
use predict::{
    BufferPosition, EditHistory, EditSource, EditorBuffer, ExcerptLimits, GateDecision, Interpolation, Prediction,
    RequestGate,
};
use serde_json::{Value, json};

use super::backend::{NamedDefinition, PredictionAnswer, PredictionBackend, PredictionError, PredictionEvent};
use super::documents::{DocumentChange, EditorDocument, EditorDocuments, path_of};
use super::protocol::{Dialect, PredictRequest};

/// The maximum bytes above and below the cursor in which syntactic units are looked for.
const SYNTAX_WINDOW: usize = 6_000;
/// Larger documents are not searched for related definitions.
const MAX_RELATED_FILE: usize = 200_000;
/// The maximum number of lines of a related definition.
const MAX_RELATED_LINES: usize = 20;

/// A prediction as the editor shows it: one replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShownPrediction {
    pub(super) uri: String,
    pub(super) version: i64,
    pub(super) start: BufferPosition,
    pub(super) end: BufferPosition,
    pub(super) text: String,
}

/// The effect of a request.
pub(super) enum Started {
    /// An answer without a request to the model.
    Answer(Option<ShownPrediction>),
    /// A prediction to wait for.
    Work {
        hash: u64,
        work: BoxFuture<'static, PredictionOutcome>,
    },
}

/// The model's answer with what is needed to use it.
pub(super) struct PredictionOutcome {
    context: PredictionContext,
    result: Result<PredictionAnswer, PredictionError>,
}

impl PredictionOutcome {
    /// Why there is no answer.
    pub(super) fn failure(&self) -> Option<&str> {
        self.result.as_ref().err().map(|error| error.0.as_str())
    }
}

/// The state for which a prediction was requested.
struct PredictionContext {
    uri: String,
    version: i64,
    path: String,
    cursor: usize,
    dialect: Dialect,
    prompt: PredictionPrompt,
    buffer: Arc<EditorBuffer>,
    history: Arc<EditHistory>,
}

/// A prediction that still applies to its document.
struct ActivePrediction {
    uri: String,
    prediction: Prediction,
}

/// The documents, the user's edits and the predictions for them.
pub(super) struct Predictor {
    backend: Arc<dyn PredictionBackend>,
    documents: EditorDocuments,
    history: EditHistory,
    /// Shared with the request that is being prepared, which counts itself when it is sent.
    gate: Arc<Mutex<RequestGate>>,
    active: Option<ActivePrediction>,
    /// The replacement that the user accepted and that the editor will report as a change.
    accepted: Option<(String, Range<usize>, String)>,
}

impl Predictor {
    pub(super) fn new(backend: Arc<dyn PredictionBackend>) -> Self {
        Predictor {
            gate: Arc::new(Mutex::new(RequestGate::new(backend.budget()))),
            backend,
            documents: EditorDocuments::default(),
            history: EditHistory::default(),
            active: None,
            accepted: None,
        }
    }

    /// Reads the editor's folders and returns the result of `initialize`.
    pub(super) fn initialize(&mut self, params: &Value) -> Value {
        let listed = params["workspaceFolders"].as_array().into_iter().flatten();
        let uris = listed.map(|folder| &folder["uri"]).chain([&params["rootUri"]]);
        let folders: Vec<_> = uris.filter_map(Value::as_str).filter_map(path_of).collect();
        self.backend.set_folders(&folders);
        json!({
            "capabilities": super::capabilities(),
            "serverInfo": {"name": "hew", "version": env!("CARGO_PKG_VERSION")},
        })
    }

    /// Applies a change of a document.
    pub(super) fn update(&mut self, change: DocumentChange) {
        match change {
            DocumentChange::Open { uri, version, text } => {
                self.documents.open(&uri, version, text);
                // The first request would have to wait for those of all documents.
                if let Some(document) = self.documents.get(&uri) {
                    self.definitions(document);
                }
            }
            DocumentChange::Close { uri } => {
                self.documents.close(&uri);
                self.active = self.active.take().filter(|active| active.uri != uri);
            }
            DocumentChange::Edit { uri, version, changes } => {
                let (now, _) = self.backend.now();
                lock(&self.gate).observe_edit(now);
                for change in &changes {
                    self.apply_change(&uri, version, change, now);
                }
            }
        }
    }

    fn apply_change(&mut self, uri: &str, version: i64, change: &Value, now: u64) {
        let Some((document, edit)) = self.documents.edit(uri, version, change) else {
            return;
        };
        let is_accepted = self.accepted.take().is_some_and(|(accepted, range, text)| {
            accepted == uri && range == (edit.start..edit.start + edit.removed.len()) && text == edit.inserted
        });
        let source = if is_accepted {
            EditSource::Prediction
        } else {
            EditSource::User
        };
        let path = self.backend.display_path(&document.path);
        self.history.record(&path, &document.buffer, &edit, source, now);
        self.active = self.active.take().and_then(|active| {
            if active.uri != uri {
                return Some(active);
            }
            match active.prediction.interpolate(&edit) {
                Interpolation::Rest(prediction) => Some(ActivePrediction { prediction, ..active }),
                Interpolation::Complete | Interpolation::Contradicted => None,
            }
        });
    }

    /// Starts a prediction.
    pub(super) fn start(&mut self, request: &PredictRequest) -> Started {
        let Some(document) = self.documents.get(&request.uri) else {
            return Started::Answer(None);
        };
        if !self.backend.allows(&document.path) {
            return Started::Answer(None);
        }
        let cursor = document.buffer.offset(request.position);
        if let Some(active) = self.active.as_ref().filter(|active| active.uri == request.uri)
            && let Some(shown) = show(document, &request.uri, &active.prediction, cursor, request.dialect)
        {
            return Started::Answer(Some(shown));
        }
        let buffer = Arc::clone(&document.buffer);
        let history = Arc::new(self.history.clone());
        let Some(context) = self.context(document, &request.uri, cursor, request.dialect, buffer, history) else {
            return Started::Answer(None);
        };
        let (_, day) = self.backend.now();
        let decision = lock(&self.gate).decide(context.prompt.hash, request.is_explicit, day);
        match decision {
            GateDecision::Cached(prediction) => {
                let shown = prediction
                    .as_ref()
                    .and_then(|prediction| show(document, &request.uri, prediction, cursor, request.dialect));
                let uri = request.uri.clone();
                self.active = prediction.map(|prediction| ActivePrediction { uri, prediction });
                Started::Answer(shown)
            }
            GateDecision::BudgetSpent => Started::Answer(None),
            GateDecision::Send { delay_ms } => self.send(context, Duration::from_millis(delay_ms)),
        }
    }

    /// Sends a request after a delay.
    fn send(&self, context: PredictionContext, delay: Duration) -> Started {
        let (backend, gate) = (Arc::clone(&self.backend), Arc::clone(&self.gate));
        let hash = context.prompt.hash;
        let work = async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let (_, day) = backend.now();
            let usage = {
                let mut gate = lock(&gate);
                gate.start(day).then(|| gate.usage())
            };
            let result = match usage {
                Some(usage) => {
                    let answer = backend.complete(context.prompt.clone());
                    // The request does not wait for the disk.
                    let record = move || backend.record(PredictionEvent::Requested, usage);
                    futures::join!(answer, tokio::task::spawn_blocking(record)).0
                }
                None => Err(PredictionError("the daily budget of predictions is spent".into())),
            };
            PredictionOutcome { context, result }
        };
        Started::Work {
            hash,
            work: work.boxed(),
        }
    }

    fn context(
        &self,
        document: &EditorDocument,
        uri: &str,
        cursor: usize,
        dialect: Dialect,
        buffer: Arc<EditorBuffer>,
        history: Arc<EditHistory>,
    ) -> Option<PredictionContext> {
        let path = self.backend.display_path(&document.path);
        let names = predict::identifiers_near_cursor(&buffer, cursor);
        let related = self.related(uri, &names);
        let blocks = self.blocks(document, &buffer, cursor);
        let input = PromptInput {
            path: &path,
            buffer: &buffer,
            cursor,
            blocks: &blocks,
            history: &history,
            related: &related,
            diagnostics: &[],
            limits: ExcerptLimits::default(),
        };
        let prompt = prompt::build(self.backend.format(), &input)?;
        Some(PredictionContext {
            uri: uri.to_owned(),
            version: document.version,
            path,
            cursor,
            dialect,
            prompt,
            buffer,
            history,
        })
    }

    /// The syntactic units near the cursor, in lines of the buffer. Only a part of the text is parsed.
    fn blocks(&self, document: &EditorDocument, buffer: &EditorBuffer, cursor: usize) -> Vec<Range<usize>> {
        let lines = parsed_lines(buffer, cursor);
        let first = lines.start;
        let units = self.backend.definitions(&document.path, buffer.lines(lines));
        let shifted = units
            .into_iter()
            .map(|unit| unit.lines.start + first..unit.lines.end + first);
        shifted.collect()
    }

    /// The definitions in a document that is not too large.
    fn definitions<'a>(&self, document: &'a EditorDocument) -> &'a [NamedDefinition] {
        document.definitions.get_or_init(|| match document.buffer.text().len() {
            0..=MAX_RELATED_FILE => self.backend.definitions(&document.path, document.buffer.text()),
            _ => Vec::new(),
        })
    }

    /// Definitions of these names in the other open documents.
    fn related(&self, uri: &str, names: &[String]) -> Vec<RelatedExcerpt> {
        let mut found: Vec<(usize, RelatedExcerpt)> = Vec::new();
        let ranks: HashMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
        for (_, document) in self.documents.iter().filter(|(other, _)| *other != uri) {
            let definitions = self.definitions(document).iter();
            let mut named = definitions
                .filter_map(|found| Some((*ranks.get(found.name.as_str())?, found)))
                .peekable();
            // This reads ignore files.
            if named.peek().is_none() || !self.backend.allows(&document.path) {
                continue;
            }
            for (rank, definition) in named {
                let lines =
                    definition.lines.start..definition.lines.end.min(definition.lines.start + MAX_RELATED_LINES);
                let excerpt = RelatedExcerpt {
                    path: self.backend.display_path(&document.path),
                    text: document.buffer.lines(lines).trim_end().to_owned(),
                };
                found.push((rank, excerpt));
            }
        }
        found.sort_by(|(a, x), (b, y)| (a, &x.path).cmp(&(b, &y.path)));
        found.into_iter().map(|(_, excerpt)| excerpt).collect()
    }

    /// Uses an answer: returns what the editor shows.
    pub(super) fn finish(&mut self, outcome: PredictionOutcome) -> Option<ShownPrediction> {
        let (uri, version, cursor, dialect) = (
            outcome.context.uri.clone(),
            outcome.context.version,
            outcome.context.cursor,
            outcome.context.dialect,
        );
        let prediction = self.store(outcome)?;
        let document = self
            .documents
            .get(&uri)
            .filter(|document| document.version == version)?;
        let shown = show(document, &uri, &prediction, cursor, dialect);
        self.active = Some(ActivePrediction { uri, prediction });
        shown
    }

    /// Stores an answer in the cache.
    pub(super) fn store(&mut self, outcome: PredictionOutcome) -> Option<Prediction> {
        let PredictionOutcome { context, result } = outcome;
        let answer = result.ok()?;
        let parsed = answer::parse(
            self.backend.format(),
            &context.prompt,
            &context.buffer,
            &context.history,
            &context.path,
            (&answer.text, answer.end),
        );
        let prediction = parsed.ok();
        lock(&self.gate).finish(context.prompt.hash, prediction.clone());
        prediction
    }

    pub(super) fn shown(&self) {
        self.backend.record(PredictionEvent::Shown, lock(&self.gate).usage());
    }

    pub(super) fn rejected(&mut self) {
        self.active = None;
        self.backend.record(PredictionEvent::Rejected, lock(&self.gate).usage());
    }

    /// Records that the user accepted the prediction, and starts the next one in advance.
    pub(super) fn accepted(&mut self) -> Option<Started> {
        self.backend.record(PredictionEvent::Accepted, lock(&self.gate).usage());
        let active = self.active.as_ref()?;
        let document = self.documents.get(&active.uri)?;
        let edit = active.prediction.edits.first()?;
        let mut buffer = EditorBuffer::clone(&document.buffer);
        let applied = buffer.replace_span(edit.range.clone(), &edit.text);
        let mut history = self.history.clone();
        let path = self.backend.display_path(&document.path);
        let (now, day) = self.backend.now();
        history.record(&path, &buffer, &applied, EditSource::Prediction, now);
        let cursor = edit.range.start + edit.text.len();
        let accepted = (active.uri.clone(), edit.range.clone(), edit.text.clone());
        let context = self.context(
            document,
            &active.uri,
            cursor,
            Dialect::InlineCompletion,
            Arc::new(buffer),
            Arc::new(history),
        );
        self.accepted = Some(accepted);
        let context = context?;
        let decision = lock(&self.gate).decide(context.prompt.hash, true, day);
        match decision {
            GateDecision::Send { .. } => Some(self.send(context, Duration::ZERO)),
            GateDecision::Cached(_) | GateDecision::BudgetSpent => None,
        }
    }
}

/// The lines around the cursor that are parsed. A unit counts only if it fits into the editable part of an excerpt, so beyond that
/// distance they end where a unit at the left margin begins: parsing takes most of the time of a request, and more if a unit is cut.
fn parsed_lines(buffer: &EditorBuffer, cursor: usize) -> Range<usize> {
    let near = ExcerptLimits::default().editable;
    let is_outer = |line: usize| {
        let text = buffer.lines(line..line + 1);
        text.starts_with(|letter: char| !letter.is_whitespace() && !"})]".contains(letter))
            && buffer.lines(line - 1..line).trim().is_empty()
    };
    let line = buffer.line_of(cursor);
    let mut first = line;
    while first > 0 {
        let distance = cursor - buffer.line_span(first..first + 1).start;
        let is_too_far = cursor - buffer.line_span(first - 1..first).start > SYNTAX_WINDOW;
        if is_too_far || (distance >= near && is_outer(first)) {
            break;
        }
        first -= 1;
    }
    let mut end = line + 1;
    while end < buffer.line_count() {
        let span = buffer.line_span(end..end + 1);
        if span.end - cursor > SYNTAX_WINDOW || (span.start - cursor >= near && is_outer(end)) {
            break;
        }
        end += 1;
    }
    first..end
}

/// The replacement of a prediction that an editor shows. An inline completion must be on the cursor's line and leave
/// the text before the cursor unchanged; an inline edit may be anywhere.
fn show(
    document: &EditorDocument,
    uri: &str,
    prediction: &Prediction,
    cursor: usize,
    dialect: Dialect,
) -> Option<ShownPrediction> {
    let buffer = &document.buffer;
    let edit = prediction.nearest(cursor)?;
    let (start, end, text) = match dialect {
        Dialect::InlineEdit => (edit.range.start, edit.range.end, edit.text.clone()),
        Dialect::InlineCompletion => {
            let line = buffer.line_of(cursor);
            let on_line = |at: usize| buffer.line_of(at) == line;
            if !(on_line(edit.range.start) && on_line(edit.range.end)) {
                return None;
            }
            let (start, end) = (edit.range.start.min(cursor), edit.range.end.max(cursor));
            let whole = buffer.text();
            let text = format!(
                "{}{}{}",
                &whole[start..edit.range.start],
                edit.text,
                &whole[edit.range.end..end]
            );
            if !text.starts_with(&whole[start..cursor]) {
                return None;
            }
            (start, end, text)
        }
    };
    Some(ShownPrediction {
        uri: uri.to_owned(),
        version: document.version,
        start: buffer.position(start),
        end: buffer.position(end),
        text,
    })
}

fn lock(gate: &Mutex<RequestGate>) -> MutexGuard<'_, RequestGate> {
    // A panic cannot leave the gate inconsistent.
    gate.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parsed_lines_are_few_and_contain_whole_units() {
        let unit = |number: usize| format!("fn unit_{number:04}() {{\n    let value = {number};\n}}\n\n");
        let buffer = EditorBuffer::new((0..1000).map(unit).collect());
        let cursor = buffer.line_span(2001..2002).start + 8;
        let parsed = buffer.lines(parsed_lines(&buffer, cursor));
        assert!(parsed.starts_with("fn unit_") && parsed.ends_with("}\n\n"), "{parsed}");
        assert!((2_100..3_000).contains(&parsed.len()), "{}", parsed.len());
        for cursor in [0, buffer.text().len()] {
            let parsed = buffer.lines(parsed_lines(&buffer, cursor));
            assert!(!parsed.is_empty() && parsed.len() < 1_500, "{}", parsed.len());
        }
        // Without units at the left margin, the size is limited.
        let indented = EditorBuffer::new("    x = 1\n".repeat(5_000));
        let parsed = parsed_lines(&indented, indented.text().len() / 2);
        assert!(indented.lines(parsed).len() < 2 * SYNTAX_WINDOW + 20);
        // A long line next to the cursor is not parsed.
        let long = format!("const DATA = '{}'\n", "x".repeat(SYNTAX_WINDOW));
        let lines = EditorBuffer::new(format!("{long}let near = 1\nlet at = 2\nlet next = 3\n{long}"));
        let cursor = lines.line_span(2..3).start + 4;
        assert_eq!(parsed_lines(&lines, cursor), 1..4);
    }
}
