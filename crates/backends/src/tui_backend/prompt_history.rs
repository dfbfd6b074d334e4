//! The prompt history and the draft of a project, in files of the data directory.

use super::backend_context::BackendContext;
use crate::failure::Result;
use crate::{atomic, paths};
use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

/// The maximum number of prompts.
const MAX_PROMPTS: usize = 1_000;
/// A longer file is truncated to [`MAX_PROMPTS`] when it is read.
const MAX_LINES: usize = 2 * MAX_PROMPTS;
/// The maximum size of a stored prompt.
const MAX_PROMPT_BYTES: usize = 64 * 1024;

/// The prompt history, oldest first.
pub(super) fn prompts(here: &BackendContext) -> Result<Vec<String>> {
    let file = file(here, "prompts.jsonl")?;
    let text = fs::read_to_string(&file).unwrap_or_default();
    let mut prompts: Vec<String> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    if prompts.len() > MAX_LINES {
        prompts.drain(..prompts.len() - MAX_PROMPTS);
        let lines: String = prompts.iter().map(|prompt| line(prompt)).collect();
        // If it fails, the file is truncated another time.
        drop(atomic::write(&file, &lines));
    }
    let surplus = prompts.len().saturating_sub(MAX_PROMPTS);
    prompts.drain(..surplus);
    Ok(prompts)
}

/// Adds a prompt.
pub(super) fn remember(prompt: &str, here: &BackendContext) {
    if prompt.len() > MAX_PROMPT_BYTES {
        return;
    }
    let Ok(file) = file(here, "prompts.jsonl") else { return };
    let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(file);
    // The history is optional.
    if let Ok(mut opened) = opened {
        drop(opened.write_all(line(prompt).as_bytes()));
    }
}

/// Returns the draft.
pub(super) fn draft(here: &BackendContext) -> Result<Option<String>> {
    let text = fs::read_to_string(file(here, "draft.txt")?).ok();
    Ok(text.filter(|text| !text.trim().is_empty()))
}

/// Saves the draft, or removes it if it is empty.
pub(super) fn save_draft(text: &str, here: &BackendContext) {
    let Ok(file) = file(here, "draft.txt") else { return };
    // The draft is optional.
    if text.is_empty() {
        drop(fs::remove_file(file));
    } else {
        drop(atomic::write(&file, text));
    }
}

/// A file of this project.
fn file(here: &BackendContext, name: &str) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    here.root.hash(&mut hasher);
    let folder = paths::data_dir(&here.env)?
        .join("tui")
        .join(format!("{:016x}", hasher.finish()));
    // A failure shows when the file is opened.
    drop(fs::create_dir_all(&folder));
    Ok(folder.join(name))
}

fn line(prompt: &str) -> String {
    format!("{}\n", serde_json::Value::from(prompt))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::ProcessEnv;
    use host::SessionFlags;

    #[test]
    fn prompts_and_the_draft_are_stored_by_project() {
        let temp = tempfile::tempdir().unwrap();
        let env = ProcessEnv::default().with("HEW_DATA_DIR", temp.path());
        let here = |root: &str| BackendContext::new(root.into(), SessionFlags::default(), env.clone());
        remember("one\nline", &here("/a"));
        remember("two", &here("/a"));
        save_draft("half a", &here("/a"));
        assert_eq!(prompts(&here("/a")).unwrap(), ["one\nline", "two"]);
        assert_eq!(draft(&here("/a")).unwrap().as_deref(), Some("half a"));
        assert_eq!(
            (prompts(&here("/b")).unwrap(), draft(&here("/b")).unwrap()),
            (Vec::new(), None)
        );
        save_draft("", &here("/a"));
        assert_eq!(draft(&here("/a")).unwrap(), None);
    }

    #[test]
    fn a_long_history_is_truncated_at_its_start() {
        let temp = tempfile::tempdir().unwrap();
        let env = ProcessEnv::default().with("HEW_DATA_DIR", temp.path());
        let here = BackendContext::new("/a".into(), SessionFlags::default(), env);
        for number in 0..=MAX_LINES {
            remember(&number.to_string(), &here);
        }
        let kept = prompts(&here).unwrap();
        assert_eq!((kept.len(), kept.last().unwrap().as_str()), (MAX_PROMPTS, "2000"));
        assert_eq!(prompts(&here).unwrap(), kept, "the file stays truncated");
    }
}
