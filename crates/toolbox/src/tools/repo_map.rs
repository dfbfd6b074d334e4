//! Shows the most important files of a project with their definitions.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use index::search::{QueryScope, RankingSignals};
use policy::Action;
use schemars::JsonSchema;
use search::{CodeIndex, CodeQuery};
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, Output, Tool, ToolEffect, ToolFacts, ToolKind, ToolSet, erase};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::project::{Project, run_blocking};
use crate::support::text::count;

/// How long a call waits for the index.
const UPDATE_TIME: Duration = Duration::from_secs(10);
/// Time limit for the syntax of one file.
const FILE_TIME: Duration = Duration::from_millis(500);
/// The default budget.
pub(crate) const TOKENS: usize = 2_000;
const MAX_TOKENS: usize = 8_000;
const BYTES_PER_TOKEN: usize = 4;
/// Files that are considered.
const MAX_FILES: usize = 200;
/// Definitions per file.
const PER_FILE: usize = 12;

pub(crate) struct RepoMapTool {
    project: Project,
    index: CodeIndex,
}

/// An overview of the project: its most referenced files with their main definitions, within a token budget.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Words of the task; files about them come first.
    #[serde(alias = "query", alias = "task", alias = "focus")]
    words: Option<String>,
    /// Only files below this directory.
    #[serde(alias = "directory")]
    path: Option<String>,
    /// Default 2000.
    #[serde(alias = "max_tokens", alias = "map_tokens", alias = "budget")]
    tokens: Option<usize>,
}

impl BuiltIn for RepoMapTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(Self {
            project: parts.project.clone(),
            index: parts.options.code_index.clone()?,
        }))
    }
}

impl Tool for RepoMapTool {
    const NAME: &'static str = "repo_map";
    const ALIASES: &'static [&'static str] = &["repository_map", "codebase_overview"];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Read,
        sets: &[ToolSet::AskProfile, ToolSet::McpServer],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input
            .words
            .clone()
            .or_else(|| input.path.clone())
            .unwrap_or_else(|| ".".into())
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.project.search_actions(input.path.as_deref().unwrap_or_default())
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let location = self.project.locate(input.path.as_deref().unwrap_or_default())?;
        if !location.exists() {
            return Err(Error::Failed(format!("{} does not exist", location.shown())));
        }
        let root = self.project.workspace.root();
        let folder = location
            .path()
            .strip_prefix(root)
            .unwrap_or(location.path())
            .to_string_lossy()
            .into_owned();
        let (index, project) = (self.index.clone(), self.project.clone());
        let request = RepoMapRequest {
            words: input.words.unwrap_or_default(),
            folder,
            tokens: input.tokens.unwrap_or(TOKENS),
            patience: UPDATE_TIME,
        };
        let map = run_blocking(move || repo_map(&index, &project, &request)).await?;
        let found = count(map.shown, "file");
        let note = map.note.map(|note| format!("; {note}")).unwrap_or_default();
        let text = format!("{}[{found} of {}, most referenced first{note}]", map.text, map.files);
        Ok(Output::text(text).with_summary(found))
    }
}

/// What a map shows.
pub(crate) struct RepoMapRequest {
    /// Words of the task, or empty.
    pub(crate) words: String,
    /// Only files below this folder; empty for all.
    pub(crate) folder: String,
    pub(crate) tokens: usize,
    /// How long it waits for the index.
    pub(crate) patience: Duration,
}

/// The most important files with their definitions.
pub(crate) struct RepoMap {
    pub(crate) text: String,
    /// The number of files in the text.
    pub(crate) shown: usize,
    /// The number of files in the index.
    pub(crate) files: usize,
    /// Set if the index is not complete.
    pub(crate) note: Option<String>,
}

pub(crate) fn repo_map(index: &CodeIndex, project: &Project, request: &RepoMapRequest) -> Result<RepoMap, Error> {
    let failed = |error: search::Error| Error::Failed(error.to_string());
    let updated = index.update_within(request.patience).map_err(failed)?;
    let (words, folder) = (request.words.trim(), request.folder.as_str());
    let mut preferred: HashMap<String, f32> = HashMap::new();
    if !words.is_empty() {
        let results = index.search(&CodeQuery {
            text: words,
            scope: QueryScope {
                paths: &[folder],
                ..QueryScope::default()
            },
            limit: 20,
            signals: RankingSignals::All,
        });
        for (nth, result) in results.map_err(failed)?.into_iter().enumerate() {
            preferred.insert(result.path, 1.0 / (1.0 + nth as f32));
        }
    }
    let current = index.current();
    let ranked = current.rank_files(&preferred, current.file_count());
    let inside = |path: &str| {
        folder.is_empty() || path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    };
    let budget = request.tokens.clamp(100, MAX_TOKENS) * BYTES_PER_TOKEN;
    let mut text = String::new();
    let mut shown = 0;
    for file in ranked.iter().filter(|file| inside(&file.path)).take(MAX_FILES) {
        let Some(section) = section(project, &file.path) else {
            continue;
        };
        if text.len() + section.len() > budget {
            if shown > 0 {
                break;
            }
            text.push_str(&section[..section.floor_char_boundary(budget)]);
        } else {
            text.push_str(&section);
        }
        shown += 1;
    }
    let is_complete = updated.is_some_and(|outcome| outcome.is_complete);
    Ok(RepoMap {
        text,
        shown,
        files: current.file_count(),
        note: (!is_complete).then(|| super::codebase_search::incomplete(index)),
    })
}

/// The path of a file and its main definitions.
fn section(project: &Project, path: &str) -> Option<String> {
    let location = project.workspace.locate(Path::new(path)).ok()?;
    if project.workspace.is_hidden(location.path()) {
        return None;
    }
    let content = location.read_text().ok()?.content;
    let outline = index::outline(location.path(), &content, FILE_TIME).ok()?;
    if outline.definitions.is_empty() {
        return None;
    }
    let (outline, left) = outline.truncate(PER_FILE);
    let lines: String = outline.render().lines().map(|line| format!("  {line}\n")).collect();
    let more = match left {
        0 => String::new(),
        left => format!("  … {left} more\n"),
    };
    Some(format!("{path}\n{lines}{more}"))
}
