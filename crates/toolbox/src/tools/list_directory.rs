//! Lists a directory.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{
    CallContext, DynTool, Error, Output, OutputCap, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolListing,
    ToolSet, erase, fold_name,
};
use workspace::{EntryKind, FindQuery, IgnoreStatus, ListEntry, Location, ResultPage};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;
use crate::support::model_profiles::matches_pattern;
use crate::support::project::{Project, run_blocking, run_search, search_notes, tool_error};

/// Minimum size of a file for which the size is shown.
const LARGE: u64 = 100_000;
/// Levels that other agents' tools show without being asked.
const TREE_DEPTH: u64 = 3;
/// The same for Codex.
const CODEX_DEPTH: u64 = 2;

pub(crate) struct ListDirectoryTool(pub(crate) Project);

/// Lists a directory, one level deep.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Default: the project root.
    #[serde(alias = "dir_path", alias = "target_directory")]
    path: Option<String>,
    // Arguments of other agents' tools, accepted but not documented to save tokens.
    #[schemars(skip)]
    #[serde(default)]
    paths: Vec<String>,
    #[schemars(skip)]
    #[serde(alias = "max_depth")]
    depth: Option<usize>,
    #[schemars(skip)]
    recursive: Option<bool>,
    #[schemars(skip)]
    #[serde(default)]
    ignore: Vec<String>,
}

impl Input {
    fn folders(&self) -> Vec<&str> {
        match (&self.path, self.paths.as_slice()) {
            (None, []) => vec![""],
            (path, paths) => path.iter().chain(paths).map(String::as_str).collect(),
        }
    }

    fn depth(&self) -> usize {
        match self.recursive {
            Some(true) => usize::MAX,
            Some(false) => 1,
            None => self.depth.unwrap_or(1).max(1),
        }
    }

    /// Whether an entry is shown. Patterns match its name or its path.
    fn includes(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let name = path.rsplit('/').next().unwrap_or(path);
        let mut patterns = self.ignore.iter().map(|pattern| pattern.trim_matches('/'));
        !patterns.any(|pattern| matches_pattern(pattern, name) || matches_pattern(pattern, path))
    }
}

impl BuiltIn for ListDirectoryTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(ListDirectoryTool(parts.project.clone())))
    }
}

impl Tool for ListDirectoryTool {
    const NAME: &'static str = "list_directory";
    const ALIASES: &'static [&'static str] = &["list_dir", "list_files", "ls"];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        listing: ToolListing::Listed,
        kind: ToolKind::Read,
        cap: OutputCap {
            entries: 500,
            line: 300,
            ..OutputCap::DEFAULT
        },
        sets: &[ToolSet::AskProfile, ToolSet::McpServer],
        peers: &[
            (PeerAgent::Zed, &["list_directory"]),
            (PeerAgent::RooCode, &["list_files"]),
            (PeerAgent::Crush, &["ls"]),
            (PeerAgent::Copilot, &["list_dir"]),
            (PeerAgent::ContextPilot, &["tree_toggle"]),
            (PeerAgent::ClaudeCode, &["LS"]),
            (PeerAgent::Codex, &["list_dir"]),
            (PeerAgent::GeminiCli, &["list_directory"]),
            (PeerAgent::OpenCode, &["list"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone().unwrap_or_else(|| input.paths.join(", "))
    }

    fn adapt(&self, called: &str, input: &mut Map<String, Value>) {
        if input.contains_key("recursive") || input.contains_key("depth") {
            return;
        }
        let depth = match fold_name(called).as_str() {
            "ls" | "list" => TREE_DEPTH,
            "listdir" if arguments::text(input, "dir_path").is_some() => CODEX_DEPTH,
            _ => return,
        };
        input.insert("depth".into(), depth.into());
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let folders = input.folders().into_iter();
        folders.flat_map(|path| self.0.read_actions(path)).collect()
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let folders = input.folders();
        let is_one = folders.len() == 1;
        let (mut parts, mut total) = (Vec::new(), 0);
        for path in folders {
            let folder = self.0.locate(self.0.folder(path))?;
            let (lines, entries) = match input.depth() {
                1 => entries(folder, &input).await?,
                depth => tree(folder, depth, &input).await?,
            };
            total += entries;
            parts.push(match is_one {
                true => lines.join("\n"),
                false => format!("{path}:\n{}", lines.join("\n")),
            });
        }
        let summary: String = match total {
            1 => "1 entry".into(),
            total => format!("{total} entries"),
        };
        Ok(Output::text(parts.join("\n\n")).with_summary(summary))
    }
}

/// The lines for the entries of a directory, and the number of entries.
async fn entries(folder: Location, input: &Input) -> Result<(Vec<String>, usize), Error> {
    let most = ListDirectoryTool::FACTS.cap.entries;
    let listing = run_blocking(move || folder.list(most).map_err(tool_error)).await?;
    let shown = listing.entries.iter().filter(|entry| input.includes(&entry.name));
    let mut lines: Vec<String> = shown.map(line).collect();
    if listing.total == 0 {
        lines.push("[empty directory]".into());
    } else if listing.total > listing.entries.len() {
        let (shown, total) = (listing.entries.len(), listing.total);
        lines.push(format!("[{shown} of {total} entries; use find_path for the others]"));
    }
    Ok((lines, listing.total))
}

/// The paths below a directory down to a depth, and their number. Ignored files are skipped.
async fn tree(folder: Location, depth: usize, input: &Input) -> Result<(Vec<String>, usize), Error> {
    let prefix = match folder.shown().as_ref() {
        "" | "." => String::new(),
        shown => format!("{}/", shown.trim_end_matches('/')),
    };
    let found = run_search(move |stop| {
        let page = ResultPage {
            offset: 0,
            limit: usize::MAX,
        };
        folder.find(&FindQuery::new("**", page), stop)
    })
    .await?;
    let below = |path: &str| {
        let rest = path.strip_prefix(&prefix).unwrap_or(path).trim_end_matches('/');
        !rest.is_empty() && rest.split('/').count() <= depth && rest.split('/').all(|part| input.includes(part))
    };
    let paths: Vec<String> = found.paths.into_iter().filter(|path| below(path)).collect();
    let (total, most) = (paths.len(), ListDirectoryTool::FACTS.cap.entries);
    let mut lines: Vec<String> = paths.into_iter().take(most).collect();
    if total == 0 {
        lines.push("[empty directory]".into());
    } else if total > most {
        lines.push(format!("[{most} of {total} entries; use find_path for the others]"));
    }
    let notes = search_notes(found.ended, found.unreadable).into_iter();
    lines.extend(notes.map(|note| format!("[{note}]")));
    Ok((lines, total))
}

fn line(entry: &ListEntry) -> String {
    let kind = match entry.kind {
        EntryKind::Directory => "/".to_owned(),
        EntryKind::File { size } if size >= LARGE => format!(" ({size} bytes)"),
        EntryKind::File { .. } => String::new(),
        EntryKind::Link => "@".to_owned(),
        EntryKind::Other => " (special)".to_owned(),
    };
    let ignored = match entry.ignore_status {
        IgnoreStatus::Yes => "",
        IgnoreStatus::Ignored => " (ignored)",
    };
    format!("{}{kind}{ignored}", entry.name)
}
