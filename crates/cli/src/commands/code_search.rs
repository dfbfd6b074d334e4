//! `hew search` and `hew index`: finds code by meaning, and manages the index.

use super::load;
use crate::args::{GlobalArgs, IndexCommand, SearchArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output::color::ColorMode;
use crate::output::format::{plural, sanitise};
use crate::{output, paths};
use index::search::{FEATURES, QueryScope, RankingSignals};
use search::{CodeIndex, CodeQuery, CodeResult, RefreshOutcome, RefreshPriority, ResultChunk};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;
use workspace::StopSignal;

/// The time limit of an update.
const UPDATE_TIME: Duration = Duration::from_secs(3600);
/// How long a search waits for the update of another process.
const OTHER_UPDATE_TIME: Duration = Duration::from_secs(10);
/// Lines of a chunk that are shown.
const SHOWN_LINES: usize = 8;
/// The most results.
const MAX_RESULTS: usize = 100;

/// A result in the JSON of `hew search --json`.
#[derive(Serialize)]
struct SearchResultJson<'a> {
    path: &'a str,
    start: usize,
    end: usize,
    #[serde(skip_serializing_if = "str::is_empty")]
    symbol: &'a str,
    score: f32,
    reasons: Vec<&'static str>,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    features: Option<serde_json::Map<String, serde_json::Value>>,
}

pub(super) async fn search(args: &SearchArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (index, root) = open(global, env).await?;
    let limit = args.limit.clamp(1, MAX_RESULTS);
    let patience = StopSignal::after(OTHER_UPDATE_TIME);
    let mut is_complete = update(&index)?.is_complete;
    // An index without a file answers nothing.
    while !is_complete && index.progress().is_some() && (!patience.is_due() || index.current().file_count() == 0) {
        is_complete = update(&index)?.is_complete;
    }
    if !is_complete && let Some(progress) = index.progress() {
        let progress = progress.describe();
        output::print_stderr(&format!(
            "note: another process updates the index ({progress}); files may be missing\n"
        ));
    }
    let scope_path = args.path.as_deref().map(|path| scope_path(&root, path)).transpose()?;
    let paths: Vec<&str> = scope_path.iter().map(String::as_str).collect();
    let extensions = extensions(&args.types)?;
    let extensions: Vec<&str> = extensions.iter().map(String::as_str).collect();
    let words = args.words.join(" ");
    let query = CodeQuery {
        text: &words,
        scope: QueryScope {
            paths: &paths,
            extensions: &extensions,
            ..QueryScope::default()
        },
        limit,
        signals: match args.words_only {
            true => RankingSignals::Lexical,
            false => RankingSignals::All,
        },
    };
    let results = index.search(&query).map_err(failure)?;
    if let Some(error) = index.embedding_error() {
        output::print_stderr(&format!("warning: not ordered by the embedding model: {error}\n"));
    }
    let entries = entries(&results, limit);
    if args.json {
        let rows: Vec<SearchResultJson<'_>> = entries.iter().map(|entry| row(entry, args.explain)).collect();
        output::print_checked(&output::pretty(&rows)?)?;
        return Ok(ExitStatus::Done);
    }
    if entries.is_empty() {
        output::print_stderr("no results\n");
        return Ok(ExitStatus::Done);
    }
    let paint = ColorMode::of(&std::io::stdout(), env);
    let text: String = entries.iter().map(|entry| render(entry, args.explain, paint)).collect();
    output::print_checked(&if std::io::stdout().is_terminal() {
        sanitise(&text)
    } else {
        text
    })?;
    Ok(ExitStatus::Done)
}

pub(super) async fn index(command: Option<&IndexCommand>, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (index, _) = open(global, env).await?;
    match command {
        None => status(&index, false, env)?,
        Some(IndexCommand::Status { json }) => status(&index, *json, env)?,
        Some(IndexCommand::Build) => {
            // Another process may be doing it; each update waits for it for a moment.
            while !update(&index)?.is_complete && index.progress().is_some() {}
            status(&index, false, env)?;
        }
        Some(IndexCommand::Clear) => {
            index.clear().map_err(failure)?;
            output::print_stderr("the index is deleted\n");
        }
    }
    Ok(ExitStatus::Done)
}

async fn open(global: &GlobalArgs, env: &ProcessEnv) -> Result<(CodeIndex, std::path::PathBuf)> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let (permissions, _) = host::permissions::load(&loaded.layers, loaded.trust, &root, env);
    let workspace = host::project_context::open_workspace(&root, &permissions)?;
    let index = host::code_search::code_index(workspace, &loaded.config, env).await?;
    Ok((index, root))
}

/// Brings the index up to date; shows the progress of a long update on a terminal.
fn update(index: &CodeIndex) -> Result<RefreshOutcome> {
    let stop = StopSignal::after(UPDATE_TIME);
    let is_terminal = std::io::stderr().is_terminal();
    let outcome = std::thread::scope(|scope| {
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        if is_terminal {
            scope.spawn(move || {
                let mut shown = false;
                while is_done.recv_timeout(Duration::from_millis(500))
                    == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
                {
                    if let Some(progress) = index.progress() {
                        shown = true;
                        output::print_stderr(&format!("\r{}", progress.describe()));
                    }
                }
                if shown {
                    output::print_stderr("\r\u{1b}[K");
                }
            });
        }
        let refreshed = index.refresh(&stop, RefreshPriority::Foreground);
        drop(done);
        refreshed.map_err(failure)
    })?;
    if let Some(reason) = index.status().unsaved {
        output::print_stderr(&format!("warning: the index is not saved: {reason}\n"));
    }
    Ok(outcome)
}

fn status(index: &CodeIndex, json: bool, env: &ProcessEnv) -> Result<()> {
    let status = index.status();
    if json {
        return output::print_checked(&output::pretty(&serde_json::json!({
            "path": status.path,
            "files": status.files,
            "chunks": status.chunks,
            "lines": status.lines,
            "bytes": status.bytes,
            "source_bytes": status.source_bytes,
            "segments": status.segments,
            "damaged": status.is_damaged,
            "indexing": status.progress.map(|progress| serde_json::json!({
                "done": progress.done,
                "total": progress.total,
            })),
        }))?);
    }
    let location = paths::display_path(&status.path, env);
    let text = match status.files {
        0 => format!("no index yet; `hew index build` or the first search creates {location}\n"),
        files => format!(
            "{}, {}, {}\n{} KB in {location}, {} % of the source\n",
            plural(files as u64, "file"),
            plural(status.lines as u64, "line"),
            plural(status.chunks as u64, "chunk"),
            status.bytes.div_ceil(1024),
            status.bytes as u64 * 100 / status.source_bytes.max(1)
        ),
    };
    let progress = status.progress.map(|progress| progress.describe() + "\n");
    output::print_checked(&(text + &progress.unwrap_or_default()))
}

/// A path as the index has it: relative to the project, with forward slashes.
fn scope_path(root: &Path, path: &str) -> Result<String> {
    let full = root.join(path);
    let found = full
        .canonicalize()
        .map_err(|_| Failure::usage(format!("there is no {path}")))?;
    let inside = found
        .strip_prefix(root)
        .map_err(|_| Failure::usage(format!("{path} is outside the project")))?;
    Ok(inside.to_string_lossy().into_owned())
}

/// The file extensions of types: an extension, or the name of a language.
fn extensions(types: &[String]) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for name in types {
        match index::Language::from_name(name) {
            Some(language) => all.extend(language.extensions.iter().map(|extension| (*extension).to_owned())),
            None => all.push(name.trim_start_matches('.').to_owned()),
        }
    }
    Ok(all)
}

/// One entry per file, best first; further chunks of the files fill the list.
fn entries(results: &[CodeResult], limit: usize) -> Vec<(&CodeResult, &ResultChunk)> {
    let chunk = |nth: usize| {
        results
            .iter()
            .filter_map(move |result| Some((result, result.chunks.get(nth)?)))
    };
    (0..4).flat_map(chunk).take(limit).collect()
}

fn row<'a>((result, chunk): &(&'a CodeResult, &'a ResultChunk), explain: bool) -> SearchResultJson<'a> {
    SearchResultJson {
        path: &result.path,
        start: chunk.first,
        end: chunk.last,
        symbol: &chunk.label,
        score: result.score,
        reasons: result.reasons.iter().map(|reason| reason.name()).collect(),
        text: &chunk.text,
        features: explain.then(|| {
            FEATURES
                .iter()
                .zip(&result.features)
                .map(|(name, value)| ((*name).to_owned(), (*value).into()))
                .collect()
        }),
    }
}

fn render((result, chunk): &(&CodeResult, &ResultChunk), explain: bool, paint: ColorMode) -> String {
    let location = format!("{}#L{}-{}", result.path, chunk.first, chunk.last);
    let reasons: Vec<&str> = result.reasons.iter().map(|reason| reason.name()).collect();
    let mut about = chunk.label.clone();
    if !reasons.is_empty() {
        about = format!("{about} [{}]", reasons.join(", "));
    }
    let lines: Vec<&str> = chunk
        .text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .take(SHOWN_LINES)
        .collect();
    let text: String = lines
        .iter()
        .map(|line| format!("    {}\n", paint.dim(line.trim_end())))
        .collect();
    let values = match explain {
        true => {
            let values = FEATURES
                .iter()
                .zip(&result.features)
                .filter(|(_, value)| **value != 0.0);
            let values: Vec<String> = values.map(|(name, value)| format!("{name} {value:.3}")).collect();
            format!("    score {:.3}: {}\n", result.score, values.join(", "))
        }
        false => String::new(),
    };
    format!("{} {}\n{values}{text}", paint.bold(location), about.trim())
}

fn failure(error: search::Error) -> Failure {
    let hint = error.hint();
    let failure = Failure::failed(error.to_string());
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
