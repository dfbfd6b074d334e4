//! Finds files and directories by glob.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{
    Availability, CallContext, DynTool, Error, ModelClass, Output, OutputCap, PeerAgent, Tool, ToolEffect, ToolFacts,
    ToolKind, ToolListing, ToolSet, erase,
};
use workspace::{CaseSensitivity, FindQuery, IgnoredFiles, ResultPage};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;
use crate::support::project::{Project, run_search, search_notes};
use crate::support::text::count;

pub(crate) struct FindPathTool(pub(crate) Project);

/// Finds files and directories by glob, skipping ignored ones.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// `*.rs` matches the name anywhere, `src/**/*.rs` a path below the searched directory.
    #[serde(alias = "glob", alias = "glob_pattern", alias = "query")]
    pattern: String,
    /// Directory to search.
    path: Option<String>,
    /// Results to skip.
    offset: Option<usize>,
    #[schemars(skip)]
    #[serde(alias = "max_results", alias = "head_limit")]
    limit: Option<usize>,
    /// Gemini CLI: whether ignored files are skipped.
    #[schemars(skip)]
    respect_git_ignore: Option<bool>,
}

impl BuiltIn for FindPathTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(FindPathTool(parts.project.clone())))
    }
}

impl Tool for FindPathTool {
    const NAME: &'static str = "find_path";
    const ALIASES: &'static [&'static str] = &["file_search", "glob"];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        listing: ToolListing::Listed,
        kind: ToolKind::Search,
        cap: OutputCap {
            entries: 100,
            ..OutputCap::DEFAULT
        },
        sets: &[ToolSet::AskProfile, ToolSet::McpServer],
        exceptions: &[(ModelClass::SmallWindow, Availability::Deferred)],
        peers: &[
            (PeerAgent::Zed, &["find_path"]),
            (PeerAgent::Crush, &["glob"]),
            (PeerAgent::Copilot, &["file_search"]),
            (PeerAgent::ClaudeCode, &["Glob"]),
            (PeerAgent::GeminiCli, &["glob"]),
            (PeerAgent::OpenCode, &["glob"]),
        ],
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        match &input.path {
            Some(path) => format!("{} in {path}", input.pattern),
            None => input.pattern.clone(),
        }
    }

    /// Other agents search with absolute globs and by directory.
    fn adapt(&self, _called: &str, input: &mut Map<String, Value>) {
        arguments::rename(input, &["dir_path", "directory", "target_directory"], "path");
        arguments::rename(input, &["glob", "glob_pattern", "query"], "pattern");
        let given = input.get("pattern").and_then(Value::as_str);
        let given = given.unwrap_or_default().to_owned();
        let workspace = &self.0.workspace;
        let root = format!("{}/", workspace.root().display());
        let mut pattern = given.strip_prefix(&root).unwrap_or(&given);
        // A pattern in an additional folder, by its name or its path.
        let more = workspace.more().iter().find_map(|folder| {
            let by_path = pattern.strip_prefix(folder.to_str()?);
            let by_name = || pattern.strip_prefix(folder.file_name()?.to_str()?);
            let rest = by_path.or_else(by_name)?.strip_prefix('/')?;
            let is_located = workspace.locate(&pattern[..pattern.len() - rest.len()]).ok()?.path() == folder;
            is_located.then_some((folder, rest))
        });
        if let (Some((folder, rest)), None | Some(Value::Null)) = (more, input.get("path")) {
            input.insert("path".into(), folder.to_string_lossy().into());
            pattern = rest;
        }
        let pattern = match pattern {
            "" => "*".to_owned(),
            folder if folder.ends_with('/') => format!("{folder}**"),
            pattern => pattern.to_owned(),
        };
        input.insert("pattern".into(), pattern.into());
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.search_actions(input.path.as_deref().unwrap_or_default())
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let folder = self
            .0
            .locate(self.0.folder(input.path.as_deref().unwrap_or_default()))?;
        let offset = input.offset.unwrap_or(0);
        let (found, case) = run_search(move |stop| {
            let page = ResultPage {
                offset,
                limit: input.limit.unwrap_or(usize::MAX).clamp(1, Self::FACTS.cap.entries),
            };
            let mut query = FindQuery::new(&input.pattern, page);
            if input.respect_git_ignore == Some(false) {
                query.ignored = IgnoredFiles::IncludeGit;
            }
            let exact = folder.find(&query, stop)?;
            if exact.total > 0 || !input.pattern.chars().any(char::is_alphabetic) {
                return Ok((exact, ""));
            }
            query.case = CaseSensitivity::Insensitive;
            Ok((folder.find(&query, stop)?, " in another case"))
        })
        .await?;
        let (shown, total) = (found.paths.len(), found.total);
        let mut notes = vec![match (shown, offset + shown < total) {
            (0, _) if total == 0 => "nothing found".to_owned(),
            (0, _) => format!("{} in all; offset {offset} is past the end", count(total, "path")),
            (_, true) => format!(
                "{}-{} of {total}; continue with offset {}",
                offset + 1,
                offset + shown,
                offset + shown
            ),
            (_, false) => format!("{}{case}", count(total, "path")),
        }];
        notes.extend(search_notes(found.ended, found.unreadable));
        let mut lines = found.paths;
        lines.push(format!("[{}]", notes.join("; ")));
        Ok(Output::text(lines.join("\n")).with_summary(count(total, "path")))
    }
}
