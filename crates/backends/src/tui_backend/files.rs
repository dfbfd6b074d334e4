//! Files and symbols of the project for completion, images, and the clipboard.

use super::backend_context::BackendContext;
use crate::failure::{Failure, Result};
use host::program::run_program;
use index::search::{QueryScope, RankingSignals};
use model::{Media, Part};
use search::CodeQuery;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tui::{ClipboardContent, CodeMatch};
use workspace::{LocationPlace, StopSignal, Workspace};

/// The maximum number of files.
const MAX_FILES: usize = 100_000;
/// The time limit for listing files.
const LIST_TIMEOUT: Duration = Duration::from_secs(20);
/// The maximum number of symbols.
const MAX_SYMBOLS: usize = 50_000;
/// The time limit for collecting symbols.
const SYMBOLS_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit for one file.
const OUTLINE_TIMEOUT: Duration = Duration::from_millis(200);
/// The maximum size of a file that is searched for symbols.
const MAX_OUTLINE_BYTES: u64 = 512 * 1024;

/// How long a search waits for the update of the index.
const INDEX_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of results of a search.
const MAX_MATCHES: usize = 30;

/// The files of the project, relative to it.
pub(super) fn files(here: &BackendContext) -> Result<Arc<Vec<String>>> {
    let workspace = open(here)?;
    let paths = paths(&workspace, &|_| true)?;
    let names = paths.iter().map(|path| path.to_string_lossy().into_owned());
    Ok(Arc::new(names.collect()))
}

/// The text of a file of the project that is not ignored.
pub(super) fn project_file(path: &Path, here: &BackendContext) -> Result<String> {
    let unknown = || Failure::failed(format!("the project has no file `{}`", path.display()));
    let workspace = open(here)?;
    let wanted = path.to_owned();
    let is_listed = paths(&workspace, &|_| true)?.contains(&wanted);
    let location = workspace.locate(path).map_err(|_| unknown())?;
    if !is_listed || location.place() != LocationPlace::Inside {
        return Err(unknown());
    }
    let text = location
        .read_text()
        .map_err(|error| Failure::failed(error.to_string()))?;
    Ok(text.content)
}

/// The symbols that the project defines, as many as are found within the time limit.
pub(super) fn symbols(here: &BackendContext) -> Result<Arc<Vec<String>>> {
    let workspace = open(here)?;
    let is_source = |path: &Path| index::Language::of_path(path).is_some();
    let begun = Instant::now();
    let mut names = BTreeSet::new();
    for path in paths(&workspace, &is_source)? {
        if begun.elapsed() > SYMBOLS_TIMEOUT || names.len() >= MAX_SYMBOLS {
            break;
        }
        // Files that cannot be read are skipped.
        let Ok(location) = workspace.locate(&path) else {
            continue;
        };
        let is_long = std::fs::metadata(location.path()).map_or(true, |data| data.len() > MAX_OUTLINE_BYTES);
        let Some(text) = (!is_long).then(|| location.read_text().ok()).flatten() else {
            continue;
        };
        if let Ok(outline) = index::outline(&path, &text.content, OUTLINE_TIMEOUT) {
            names.extend(outline.definitions.into_iter().map(|definition| definition.name));
        }
    }
    Ok(Arc::new(names.into_iter().collect()))
}

/// The best code for a query. The index is updated first, for a few seconds at most.
pub(super) fn search_code(here: &BackendContext, words: &str) -> Result<Vec<CodeMatch>> {
    let failed = |error: search::Error| Failure::failed(error.to_string());
    let index = match here.code.get() {
        Some(index) => index,
        None => {
            let config = here.config()?.config;
            let index = host::code_search::code_index(open(here)?, &config, &here.env);
            let index = tokio::runtime::Handle::current().block_on(index)?;
            here.code.get_or_init(|| index)
        }
    };
    index.update_within(INDEX_TIMEOUT).map_err(failed)?;
    let query = CodeQuery {
        text: words,
        scope: QueryScope::default(),
        limit: MAX_MATCHES,
        signals: RankingSignals::All,
    };
    let results = index.search(&query).map_err(failed)?;
    let matches = results.into_iter().filter_map(|result| {
        let chunk = result.chunks.into_iter().next()?;
        let reasons: Vec<&str> = result.reasons.iter().map(|reason| reason.name()).collect();
        Some(CodeMatch {
            path: result.path,
            lines: format!("{}-{}", chunk.first, chunk.last),
            symbol: chunk.label,
            reasons: reasons.join(", "),
            text: chunk.text,
        })
    });
    Ok(matches.collect())
}

/// Reads an image file.
pub(super) fn image(path: &str, here: &BackendContext) -> Result<Media> {
    let expanded = match (path.strip_prefix("~/"), crate::paths::home_dir(&here.env)) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_), None) | (None, _) => here.root.join(path),
    };
    match host::attachments::attach(&expanded)? {
        Part::Media(media) if media.mime.starts_with("image/") => Ok(media),
        _ => Err(Failure::usage(format!("{path} is not an image"))),
    }
}

/// Commands that print the image on the clipboard: on Wayland, X11 and macOS.
const CLIPBOARD_IMAGE_COMMANDS: [&str; 3] = [
    "wl-paste --type image/png",
    "xclip -selection clipboard -target image/png -out",
    "pngpaste -",
];
/// Commands that print the text on the clipboard.
const CLIPBOARD_TEXT_COMMANDS: [&str; 4] = [
    "wl-paste --no-newline --type text",
    "xclip -selection clipboard -out",
    "xsel --clipboard --output",
    "pbpaste",
];

/// Reads the clipboard: an image, else text.
pub(super) async fn clipboard(here: &BackendContext) -> Result<ClipboardContent> {
    let no_place = |error: std::io::Error| Failure::failed(format!("cannot read the clipboard: {error}"));
    let folder = super::programs::private_folder(here).map_err(no_place)?;
    let image_file = folder.path().join("clipboard.png");
    if printed(&CLIPBOARD_IMAGE_COMMANDS, &image_file, here).await {
        return image(&image_file.to_string_lossy(), here).map(ClipboardContent::Image);
    }
    let text_file = folder.path().join("clipboard.txt");
    if printed(&CLIPBOARD_TEXT_COMMANDS, &text_file, here).await {
        let text = std::fs::read(&text_file).map_err(no_place)?;
        return Ok(ClipboardContent::Text(String::from_utf8_lossy(&text).into_owned()));
    }
    Err(Failure::failed(
        "the clipboard is empty or cannot be read (tried wl-paste, xclip, xsel, pngpaste and pbpaste)",
    ))
}

/// Runs commands until one writes output to the file. The output is redirected because captured output is limited and
/// must be text.
async fn printed(programs: &[&str], file: &Path, here: &BackendContext) -> bool {
    let place = file.to_string_lossy().into_owned();
    for program in programs {
        let args = vec!["-c".to_owned(), format!("{program} > \"$HEW_CLIPBOARD\"")];
        let ran = run_program("sh", &args, &here.env, &[("HEW_CLIPBOARD", place.as_str())]).await;
        if ran.is_ok() && std::fs::metadata(file).is_ok_and(|data| data.len() > 0) {
            return true;
        }
    }
    false
}

fn open(here: &BackendContext) -> Result<Workspace> {
    let loaded = here.config()?;
    let (permissions, _) = host::permissions::load(&loaded.layers, loaded.trust, &here.root, &here.env);
    host::project_context::open_workspace(&here.root, &permissions)
}

fn paths(workspace: &Workspace, wanted: &(dyn Fn(&Path) -> bool + Sync)) -> Result<Vec<PathBuf>> {
    let wrong = |error: workspace::Error| Failure::failed(error.to_string());
    let root = workspace.locate(".").map_err(wrong)?;
    let found = root
        .files(wanted, MAX_FILES, &StopSignal::after(LIST_TIMEOUT))
        .map_err(wrong)?;
    Ok(found.files.iter().map(|file| file.relative().to_owned()).collect())
}
