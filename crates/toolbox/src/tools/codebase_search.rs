//! Finds code by meaning.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use index::Language;
use index::search::{QueryKind, QueryScope, RankingSignals};
use policy::Action;
use schemars::JsonSchema;
use search::{CodeIndex, CodeQuery, CodeResult, ResultChunk};
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{
    CallContext, DynTool, Error, Output, OutputCap, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolListing,
    ToolSet, erase,
};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;
use crate::support::project::{Project, run_blocking};
use crate::support::text::count;

/// How long a call waits for the index.
const UPDATE_TIME: Duration = Duration::from_secs(10);
/// The number of files in a result.
const RESULTS: usize = 10;
const MAX_RESULTS: usize = 30;
/// Results whose whole chunk is shown, and the lines of each.
const WHOLE: usize = 4;
const WHOLE_LINES: usize = 45;
const PART_LINES: usize = 8;

pub(crate) struct CodebaseSearchTool {
    project: Project,
    index: CodeIndex,
}

/// Finds code by what it does, in the whole project: returns the best files with their best lines. Use it first in unfamiliar
/// code; use grep for exact text.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// A question, words or a symbol, in English.
    #[serde(
        alias = "search",
        alias = "search_query",
        alias = "information_request",
        alias = "question"
    )]
    query: String,
    /// Only this file or directory.
    #[serde(
        alias = "directory_prefix",
        alias = "directory",
        alias = "target_directory",
        alias = "scope"
    )]
    path: Option<String>,
    /// `code`, `tests`, `docs`, or a language such as `rust`.
    #[serde(alias = "type", alias = "language", alias = "file_type")]
    kind: Option<String>,
    /// Only these files or directories, as Cursor and Copilot pass them.
    #[schemars(skip)]
    #[serde(default)]
    folders: Vec<String>,
    #[schemars(skip)]
    #[serde(alias = "max_results", alias = "maxResults", alias = "num_results", alias = "top_k")]
    limit: Option<usize>,
}

impl Input {
    /// The searched files and directories; empty for all.
    fn paths(&self) -> Vec<&str> {
        let all = self.path.iter().chain(&self.folders);
        all.map(String::as_str).filter(|path| !path.trim().is_empty()).collect()
    }
}

impl BuiltIn for CodebaseSearchTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(Self {
            project: parts.project.clone(),
            index: parts.options.code_index.clone()?,
        }))
    }

    /// Listed if the project has an index: it was searched before, or `hew index build` ran.
    fn listing(parts: &ToolParts<'_>) -> ToolListing {
        match parts.options.code_index.as_ref().is_some_and(CodeIndex::exists) {
            true => ToolListing::Listed,
            false => ToolListing::Deferred,
        }
    }
}

impl Tool for CodebaseSearchTool {
    const NAME: &'static str = "codebase_search";
    const ALIASES: &'static [&'static str] = &[
        "semantic_search",
        "search_codebase",
        "search_code",
        "codebase_retrieval",
        "codebase",
    ];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Search,
        cap: OutputCap {
            entries: MAX_RESULTS,
            ..OutputCap::DEFAULT
        },
        sets: &[ToolSet::AskProfile, ToolSet::McpServer],
        peers: &[
            (PeerAgent::RooCode, &["codebase_search"]),
            (PeerAgent::Copilot, &["semantic_search"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let paths = input.paths().join(", ");
        match paths.is_empty() {
            false => format!("{} in {paths}", input.query),
            true => input.query.clone(),
        }
    }

    fn adapt(&self, _: &str, input: &mut Map<String, Value>) {
        arguments::rename(input, &["dir_path", "path_prefix"], "path");
        arguments::rename(input, &["target_directories", "scopedDirectories", "paths"], "folders");
        match input.remove("folders") {
            Some(Value::String(folder)) => drop(input.insert("folders".into(), Value::from(vec![folder]))),
            Some(folders @ Value::Array(_)) => drop(input.insert("folders".into(), folders)),
            Some(_) | None => {}
        }
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let paths = match input.paths() {
            paths if paths.is_empty() => vec![""],
            paths => paths,
        };
        let actions = paths.into_iter().map(|path| self.project.search_actions(path));
        actions.flatten().collect()
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        if input.query.trim().is_empty() {
            return Err(Error::Failed("`query` is empty; describe what the code does".into()));
        }
        let root = self.project.workspace.root();
        let mut paths = Vec::new();
        for path in input.paths() {
            let location = self.project.locate(path)?;
            if !location.exists() {
                return Err(Error::Failed(format!("{} does not exist", location.shown())));
            }
            let inside = location.path().strip_prefix(root).unwrap_or(location.path());
            paths.push(inside.to_string_lossy().into_owned());
        }
        let index = self.index.clone();
        run_blocking(move || answer(&index, &input, &paths)).await
    }
}

fn answer(index: &CodeIndex, input: &Input, paths: &[String]) -> Result<Output, Error> {
    let updated = index
        .update_within(UPDATE_TIME)
        .map_err(|error| Error::Failed(error.to_string()))?;
    let (kind, extensions) = kind(input.kind.as_deref());
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let results = index
        .search(&CodeQuery {
            text: &input.query,
            scope: QueryScope {
                paths: &paths,
                extensions: &extensions,
                kind,
                preferred: &[],
            },
            limit: input.limit.unwrap_or(RESULTS).clamp(1, MAX_RESULTS),
            signals: RankingSignals::All,
        })
        .map_err(|error| Error::Failed(error.to_string()))?;
    let found = count(results.len(), "file");
    let mut text = render(&results, CodebaseSearchTool::FACTS.cap.bytes);
    let mut notes = vec![match results.is_empty() {
        true => "no results; try other words, or grep for exact text".to_owned(),
        false => format!("{found}, best first"),
    }];
    if !updated.is_some_and(|outcome| outcome.is_complete) {
        notes.push(incomplete(index));
    }
    if let Some(error) = index.embedding_error() {
        notes.push(format!("not ordered by the configured embedding model: {error}"));
    }
    text.push_str(&format!("[{}]", notes.join("; ")));
    Ok(Output::text(text).with_summary(found))
}

/// What the model reads if the index is not complete.
pub(super) fn incomplete(index: &CodeIndex) -> String {
    let progress = match index.progress() {
        Some(progress) if progress.total > 0 => format!(" ({} of {} files)", progress.done, progress.total),
        Some(_) | None => String::new(),
    };
    format!("the index is still being built{progress}, so files may be missing; search again later")
}

/// A kind of files, or the extensions of a language.
fn kind(name: Option<&str>) -> (Option<QueryKind>, Vec<&str>) {
    match name.map(str::trim).unwrap_or_default() {
        "" | "all" | "any" => (None, Vec::new()),
        "code" | "source" | "src" => (Some(QueryKind::Code), Vec::new()),
        "test" | "tests" => (Some(QueryKind::Tests), Vec::new()),
        "doc" | "docs" | "documentation" => (Some(QueryKind::Docs), Vec::new()),
        other => match Language::from_name(other) {
            Some(language) => (None, language.extensions.to_vec()),
            None => (None, vec![other.trim_start_matches(['*', '.'])]),
        },
    }
}

/// Renders results within a number of bytes. The best are shown whole; equal text is shown once.
fn render(results: &[CodeResult], most: usize) -> String {
    let mut text = String::new();
    let mut seen: HashSet<String> = HashSet::new();
    for (nth, result) in results.iter().enumerate() {
        let Some(chunk) = result.chunks.first() else { continue };
        let reasons: Vec<&str> = result.reasons.iter().map(|reason| reason.name()).collect();
        let mut line = heading(result, chunk);
        if !reasons.is_empty() {
            line.push_str(&format!(" [{}]", reasons.join(", ")));
        }
        let more: Vec<String> = result
            .chunks
            .iter()
            .skip(1)
            .filter(|_| nth < WHOLE)
            .map(|chunk| format!("L{}-{}", chunk.first, chunk.last))
            .collect();
        if !more.is_empty() {
            line.push_str(&format!(" also {}", more.join(", ")));
        }
        line.push('\n');
        let folded: String = chunk.text.split_whitespace().collect();
        let is_new = seen.insert(folded);
        let lines = if nth < WHOLE { WHOLE_LINES } else { PART_LINES };
        match is_new {
            true => line.push_str(&excerpt(&chunk.text, lines)),
            false => line.push_str("(same text as above)\n"),
        }
        if text.len() + line.len() > most && nth > 0 {
            text.push_str(&format!("{}\n", heading(result, chunk)));
            continue;
        }
        text.push_str(&line);
    }
    text
}

/// The lines of a chunk and its definition, such as `src/parser.rs#L10-40 method Parser::next`.
fn heading(result: &CodeResult, chunk: &ResultChunk) -> String {
    let label = match chunk.label.is_empty() {
        true => String::new(),
        false => format!(" {}", chunk.label),
    };
    format!("{}#L{}-{}{label}", result.path, chunk.first, chunk.last)
}

fn excerpt(text: &str, lines: usize) -> String {
    let total = text.lines().count();
    let mut shown: String = text
        .lines()
        .take(lines)
        .map(|line| format!("{}\n", cut(line)))
        .collect();
    if total > lines {
        shown.push_str(&format!("… {} more\n", count(total - lines, "line")));
    }
    shown
}

fn cut(line: &str) -> &str {
    &line[..line.floor_char_boundary(300)]
}
