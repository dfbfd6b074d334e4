//! Searches file contents.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use index::Outline;
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{
    CallContext, DynTool, Error, Output, OutputCap, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolListing,
    ToolSet, erase, fold_name,
};
use workspace::{
    CaseSensitivity, FileMatches, GrepLineKind, GrepMatches, IgnoredFiles, Location, ResultPage, StopSignal,
};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;
use crate::support::project::{LineMarks, Project, run_search, search_notes};
use crate::support::text::count;

const MAX_CONTEXT: usize = 10;
/// Maximum number of matches that are counted per file.
const MAX_COUNTED: usize = 10_000;
/// Maximum number of files for which enclosing definitions are shown.
const MAX_OUTLINED: usize = 8;
/// Maximum total size of those files.
const MAX_OUTLINED_BYTES: u64 = 96 * 1024;
const OUTLINE_TIME: Duration = Duration::from_millis(250);

pub(crate) struct GrepTool(pub(crate) Project);

/// Searches file contents line by line, skipping ignored and binary files.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// A Rust regex.
    #[serde(alias = "regex", alias = "query")]
    pattern: String,
    /// File or directory to search.
    path: Option<String>,
    /// Glob of files, such as `*.rs`.
    #[serde(
        alias = "include_pattern",
        alias = "includePattern",
        alias = "file_pattern",
        alias = "glob"
    )]
    include: Option<String>,
    /// Such as `rust`.
    #[serde(rename = "type", alias = "file_type", alias = "fileType")]
    kind: Option<String>,
    /// Default false.
    case_sensitive: Option<bool>,
    /// Lines to show around each match.
    #[serde(alias = "-C", alias = "context_lines")]
    context: Option<usize>,
    /// Matches to skip.
    offset: Option<usize>,
    // Arguments of other agents' tools, accepted but not documented to save tokens.
    #[schemars(skip)]
    #[serde(
        alias = "head_limit",
        alias = "max_results",
        alias = "maxResults",
        alias = "total_max_matches"
    )]
    limit: Option<usize>,
    #[schemars(skip)]
    multiline: Option<bool>,
    #[schemars(skip)]
    #[serde(alias = "isRegexp", alias = "is_regexp")]
    is_regex: Option<bool>,
    #[schemars(skip)]
    #[serde(alias = "fixed_strings")]
    literal_text: Option<bool>,
    #[schemars(skip)]
    output_mode: Option<GrepOutputMode>,
    /// Gemini CLI: matching lines to leave out.
    #[schemars(skip)]
    exclude_pattern: Option<String>,
    #[schemars(skip)]
    #[serde(
        default,
        alias = "includeIgnoredFiles",
        alias = "include_ignored",
        alias = "no_ignore"
    )]
    include_ignored_files: bool,
}

/// What is shown of the matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GrepOutputMode {
    Content,
    FilesWithMatches,
    Count,
}

impl BuiltIn for GrepTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(GrepTool(parts.project.clone())))
    }
}

impl Tool for GrepTool {
    const NAME: &'static str = "grep";
    const ALIASES: &'static [&'static str] = &["grep_search", "search_files", "search_file_content", "ripgrep"];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        listing: ToolListing::Listed,
        kind: ToolKind::Search,
        cap: OutputCap {
            entries: 100,
            line: 300,
            ..OutputCap::DEFAULT
        },
        sets: &[ToolSet::AskProfile, ToolSet::McpServer],
        peers: &[
            (PeerAgent::Zed, &["grep"]),
            (PeerAgent::RooCode, &["search_files"]),
            (PeerAgent::Crush, &["grep"]),
            (PeerAgent::Copilot, &["grep_search"]),
            (PeerAgent::ContextPilot, &["search"]),
            (PeerAgent::ClaudeCode, &["Grep"]),
            (PeerAgent::Codex, &["grep_files"]),
            (PeerAgent::GeminiCli, &["grep_search", "search_file_content"]),
            (PeerAgent::OpenCode, &["grep"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let within = input
            .path
            .iter()
            .chain(&input.include)
            .chain(&input.kind)
            .map(|location| format!(" in {location}"));
        format!("{}{}", input.pattern, within.collect::<String>())
    }

    fn adapt(&self, called: &str, input: &mut Map<String, Value>) {
        adapt(called, input);
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.search_actions(input.path.as_deref().unwrap_or_default())
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let location = self
            .0
            .locate(self.0.folder(input.path.as_deref().unwrap_or_default()))?;
        let offset = input.offset.unwrap_or(0);
        let cap = GrepTool::FACTS.cap;
        let mode = input.output_mode.unwrap_or(GrepOutputMode::Content);
        let (matches, outlines) = run_search(move |stop| {
            let matches = search(&location, &input, cap, stop)?;
            let outlines = outlines(&location, &matches);
            Ok((matches, outlines))
        })
        .await?;
        let found = format!(
            "{} in {}",
            count(matches.total, "match"),
            count(matches.total_files, "file")
        );
        let text = match mode {
            GrepOutputMode::Content => render(&matches, &outlines, offset, (cap, self.0.marks), &found),
            GrepOutputMode::FilesWithMatches | GrepOutputMode::Count => render_files(&matches, mode, &found),
        };
        Ok(Output::text(text).with_summary(found))
    }
}

fn search(
    location: &Location,
    input: &Input,
    cap: OutputCap,
    stop: &StopSignal,
) -> Result<GrepMatches, workspace::Error> {
    let literal = input.literal_text == Some(true) || input.is_regex == Some(false);
    let pattern = match literal {
        true => input.pattern.chars().flat_map(escaped).collect(),
        false => input.pattern.clone(),
    };
    let grep = workspace::GrepQuery {
        pattern: &pattern,
        exclude: input.exclude_pattern.as_deref(),
        case: match input.case_sensitive {
            Some(true) => CaseSensitivity::Sensitive,
            Some(false) | None => CaseSensitivity::Insensitive,
        },
        include: input.include.as_deref(),
        kind: input.kind.as_deref(),
        ignored: match input.include_ignored_files {
            true => IgnoredFiles::IncludeGit,
            false => IgnoredFiles::Skip,
        },
        context: input.context.unwrap_or(0).min(MAX_CONTEXT),
        page: ResultPage {
            offset: input.offset.unwrap_or(0),
            limit: match input.output_mode {
                Some(GrepOutputMode::FilesWithMatches | GrepOutputMode::Count) => MAX_COUNTED,
                Some(GrepOutputMode::Content) | None => {
                    input.limit.map_or(cap.entries, |limit| limit.clamp(1, cap.entries))
                }
            },
        },
        max_line: cap.line,
        multiline: input.multiline.unwrap_or(false),
    };
    location.grep(&grep, stop)
}

/// Rewrites the arguments of other agents' search tools.
fn adapt(called: &str, input: &mut Map<String, Value>) {
    arguments::rename(
        input,
        &["dir_path", "directory", "path_prefix", "target_directory"],
        "path",
    );
    if let Some(extension) = input.remove("extension").as_ref().and_then(Value::as_str) {
        let glob = format!("*.{}", extension.trim_start_matches('.'));
        input.entry("include").or_insert(glob.into());
    }
    let insensitive = input.remove("-i").as_ref().and_then(arguments::truth);
    // Claude Code searches case-sensitively unless it is asked not to.
    let is_sensitive = match insensitive {
        Some(insensitive) => Some(!insensitive),
        None => (called == "Grep").then_some(true),
    };
    if let Some(is_sensitive) = is_sensitive {
        input.entry("case_sensitive").or_insert(is_sensitive.into());
    }
    let around = [
        "-A",
        "-B",
        "-C",
        "after",
        "before",
        "after_context",
        "before_context",
        "context_lines",
    ];
    let around = around
        .iter()
        .filter_map(|name| arguments::number(&input.remove(*name)?));
    if let Some(lines) = around.map(|lines| lines as u64).max() {
        input.entry("context").or_insert(lines.into());
    }
    let names_only = ["names_only", "hide_contents"];
    let names_only = names_only
        .iter()
        .filter_map(|name| arguments::truth(&input.remove(*name)?));
    if names_only.last() == Some(true) || fold_name(called) == "grepfiles" {
        input.entry("output_mode").or_insert("files_with_matches".into());
    }
}

/// The files with matches, without their lines.
fn render_files(matches: &GrepMatches, mode: GrepOutputMode, found: &str) -> String {
    let line = |file: &FileMatches| {
        let count = file
            .lines
            .iter()
            .filter(|line| line.kind == GrepLineKind::Match)
            .count();
        match mode {
            GrepOutputMode::Count => format!("{}:{count}\n", file.path),
            GrepOutputMode::Content | GrepOutputMode::FilesWithMatches => format!("{}\n", file.path),
        }
    };
    let lines: String = matches.files.iter().map(line).collect();
    let notes = search_notes(matches.ended, matches.unreadable);
    let notes: String = notes.iter().map(|note| format!("; {note}")).collect();
    match matches.total {
        0 => format!("[no matches{notes}]"),
        _ => format!("{lines}[{found}{notes}]"),
    }
}

/// Escapes a character for a regular expression.
fn escaped(letter: char) -> impl Iterator<Item = char> {
    let special = "\\.+*?()|[]{}^$#&-~".contains(letter);
    special.then_some('\\').into_iter().chain([letter])
}

/// The outlines of the files, if they are few and small.
fn outlines(location: &Location, matches: &GrepMatches) -> Vec<Option<Outline>> {
    if matches.files.len() > MAX_OUTLINED {
        return Vec::new();
    }
    let mut room = MAX_OUTLINED_BYTES;
    let outline = |file: &FileMatches| {
        let file = location.project_path(Path::new(&file.path));
        let bytes = file.read_bytes(room).ok()?;
        room = room.saturating_sub(bytes.len() as u64);
        let text = String::from_utf8(bytes).ok()?;
        index::outline(file.path(), &text, OUTLINE_TIME).ok()
    };
    matches.files.iter().map(outline).collect()
}

fn render(
    matches: &GrepMatches,
    outlines: &[Option<Outline>],
    offset: usize,
    (cap, marks): (OutputCap, LineMarks),
    found: &str,
) -> String {
    let mut text = String::new();
    let mut shown = 0;
    for (nth, file) in matches.files.iter().enumerate() {
        let outline = outlines.get(nth).and_then(Option::as_ref);
        shown += render_file(&mut text, file, outline, (cap, marks));
        if text.len() > cap.bytes {
            break;
        }
    }
    let end = offset + shown;
    let mut notes = vec![match shown {
        0 if matches.total == 0 => "no matches".to_owned(),
        0 => format!("{found}; offset {offset} is past the end"),
        _ if end < matches.total => format!("{}-{end} of {found}; continue with offset {end}", offset + 1),
        _ => found.to_owned(),
    }];
    notes.extend(search_notes(matches.ended, matches.unreadable));
    format!("{text}[{}]", notes.join("; "))
}

/// Renders the matches of one file, up to the limit, and returns their number.
fn render_file(
    text: &mut String,
    file: &FileMatches,
    outline: Option<&Outline>,
    (cap, marks): (OutputCap, LineMarks),
) -> usize {
    let mut shown = 0;
    let mut last = None;
    let mut within = String::new();
    let has_context = file.lines.iter().any(|line| line.kind == GrepLineKind::Context);
    text.push_str(&file.path);
    text.push('\n');
    for (nth, line) in file.lines.iter().enumerate() {
        if text.len() > cap.bytes && shown > 0 && line.kind != GrepLineKind::Inside {
            break;
        }
        let begins_block = last.is_none_or(|last| last + 1 < line.number);
        if begins_block && last.is_some() && has_context {
            text.push_str("--\n");
        }
        last = Some(line.number);
        if (begins_block || !has_context)
            && let Some(matched) = file
                .lines
                .iter()
                .skip(nth)
                .find(|line| line.kind == GrepLineKind::Match)
        {
            let now = outline
                .map(|outline| enclosing_definitions(outline, matched.number))
                .unwrap_or_default();
            if now != within && !now.is_empty() {
                text.push_str(&format!("[in {now}]\n"));
            }
            within = now;
        }
        let mark = match line.kind {
            GrepLineKind::Match | GrepLineKind::Inside => ':',
            GrepLineKind::Context => '-',
        };
        shown += usize::from(line.kind == GrepLineKind::Match);
        // A line of this length may have been cut.
        let cut = usize::from(line.text.len() >= cap.line);
        let number = marks.of(line.number, &line.text, cut);
        text.push_str(&format!("{number}{mark}{}\n", line.text));
    }
    shown
}

/// The definitions around a line, without one that starts in it.
fn enclosing_definitions(outline: &Outline, line: u64) -> String {
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let outer = outline
        .enclosing_definitions(line)
        .filter(|definition| definition.name_line != line && definition.first != line);
    let mut names: Vec<&str> = Vec::new();
    let mut depth = 0;
    for definition in outer {
        if names.is_empty() || definition.depth > depth {
            names.push(&definition.name);
            depth = definition.depth;
        }
    }
    names.join("::")
}
