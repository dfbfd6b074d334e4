//! The project's files and what they define, for completion; and images to attach.

use super::here::Here;
use crate::failure::{Failure, Result};
use crate::input;
use crate::keys;
use model::{Media, Part};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tui::Clip;
use workspace::{Stop, Workspace};

/// More files than this are not offered.
const FILES: usize = 100_000;
/// Files are looked for no longer than this.
const PATIENCE: Duration = Duration::from_secs(20);
/// More names than this are not offered.
const SYMBOLS: usize = 50_000;
/// Names are looked for no longer than this.
const READING: Duration = Duration::from_secs(5);
/// One file is read no longer than this.
const ONE_FILE: Duration = Duration::from_millis(200);
/// Longer files are not read for names.
const LONGEST: u64 = 512 * 1024;

/// The project's files, relative to it.
pub(super) fn files(here: &Here) -> Result<Arc<Vec<String>>> {
    let workspace = open(here)?;
    let paths = paths(&workspace, &|_| true)?;
    let names = paths.iter().map(|path| path.to_string_lossy().into_owned());
    Ok(Arc::new(names.collect()))
}

/// The names that the project's code defines, as many as can be found in a few seconds.
pub(super) fn symbols(here: &Here) -> Result<Arc<Vec<String>>> {
    let workspace = open(here)?;
    let is_source = |path: &Path| index::Language::of_path(path).is_some();
    let begun = Instant::now();
    let mut names = BTreeSet::new();
    for path in paths(&workspace, &is_source)? {
        if begun.elapsed() > READING || names.len() >= SYMBOLS {
            break;
        }
        // A file that cannot be read defines nothing that could be mentioned.
        let Ok(location) = workspace.locate(&path) else {
            continue;
        };
        let is_long = std::fs::metadata(location.path()).map_or(true, |data| data.len() > LONGEST);
        let Some(text) = (!is_long).then(|| location.read_text().ok()).flatten() else {
            continue;
        };
        if let Ok(outline) = index::outline(&path, &text.content, ONE_FILE) {
            names.extend(outline.definitions.into_iter().map(|definition| definition.name));
        }
    }
    Ok(Arc::new(names.into_iter().collect()))
}

/// An image in a file.
pub(super) fn image(path: &str, here: &Here) -> Result<Media> {
    let expanded = match (path.strip_prefix("~/"), crate::places::home(&here.env)) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_), None) | (None, _) => here.root.join(path),
    };
    match input::attach(&expanded)? {
        Part::Media(media) if media.mime.starts_with("image/") => Ok(media),
        _ => Err(Failure::usage(format!("{path} is not an image"))),
    }
}

/// Programs that print the image on the clipboard: on Wayland, X11 and macOS.
const IMAGES: [&str; 3] = [
    "wl-paste --type image/png",
    "xclip -selection clipboard -target image/png -out",
    "pngpaste -",
];
/// Programs that print the text on it.
const TEXTS: [&str; 4] = [
    "wl-paste --no-newline --type text",
    "xclip -selection clipboard -out",
    "xsel --clipboard --output",
    "pbpaste",
];

/// What is on the clipboard: an image, else text.
pub(super) async fn clipboard(here: &Here) -> Result<Clip> {
    let no_place = |error: std::io::Error| Failure::failed(format!("no place for the clipboard: {error}"));
    let folder = tempfile::tempdir().map_err(no_place)?;
    let image_file = folder.path().join("clipboard.png");
    if printed(&IMAGES, &image_file, here).await {
        return image(&image_file.to_string_lossy(), here).map(Clip::Image);
    }
    let text_file = folder.path().join("clipboard.txt");
    if printed(&TEXTS, &text_file, here).await {
        let text = std::fs::read(&text_file).map_err(no_place)?;
        return Ok(Clip::Text(String::from_utf8_lossy(&text).into_owned()));
    }
    Err(Failure::failed(
        "the clipboard is empty or cannot be read: wl-paste, xclip, xsel, pngpaste and pbpaste were asked",
    ))
}

/// Has the first program that can do so print into a file: what programs print is read as text, and no more than a little of it.
async fn printed(programs: &[&str], file: &Path, here: &Here) -> bool {
    let place = file.to_string_lossy().into_owned();
    for program in programs {
        let args = vec!["-c".to_owned(), format!("{program} > \"$HEW_CLIPBOARD\"")];
        let ran = keys::run("sh", &args, &here.env, &[("HEW_CLIPBOARD", place.as_str())]).await;
        if ran.is_ok() && std::fs::metadata(file).is_ok_and(|data| data.len() > 0) {
            return true;
        }
    }
    false
}

fn open(here: &Here) -> Result<Workspace> {
    Workspace::open(&here.root).map_err(|error| Failure::failed(error.to_string()))
}

fn paths(workspace: &Workspace, wanted: &(dyn Fn(&Path) -> bool + Sync)) -> Result<Vec<PathBuf>> {
    let wrong = |error: workspace::Error| Failure::failed(error.to_string());
    let root = workspace.locate(".").map_err(wrong)?;
    let found = root.files(wanted, FILES, &Stop::after(PATIENCE)).map_err(wrong)?;
    Ok(found.files.iter().map(|file| file.relative().to_owned()).collect())
}
