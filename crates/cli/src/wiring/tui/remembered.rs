//! Earlier prompts and what is being written, in files of the data folder, one of each for a project.

use super::here::Here;
use crate::failure::Result;
use crate::{atomic, places};
use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

/// As many prompts are remembered.
const KEPT: usize = 1_000;
/// A longer file is cut to [`KEPT`] when it is read.
const LINES: usize = 2 * KEPT;
/// Longer prompts are not remembered.
const LONGEST: usize = 64 * 1024;

/// Earlier prompts, oldest first.
pub(super) fn prompts(here: &Here) -> Result<Vec<String>> {
    let file = file(here, "prompts.jsonl")?;
    let text = fs::read_to_string(&file).unwrap_or_default();
    let mut prompts: Vec<String> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    if prompts.len() > LINES {
        prompts.drain(..prompts.len() - KEPT);
        let lines: String = prompts.iter().map(|prompt| line(prompt)).collect();
        // What cannot be shortened now is shortened another time.
        drop(atomic::write(&file, &lines));
    }
    let surplus = prompts.len().saturating_sub(KEPT);
    prompts.drain(..surplus);
    Ok(prompts)
}

/// Remembers a prompt.
pub(super) fn remember(prompt: &str, here: &Here) {
    if prompt.len() > LONGEST {
        return;
    }
    let Ok(file) = file(here, "prompts.jsonl") else { return };
    let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(file);
    // A prompt that is not remembered is no reason to bother anybody.
    if let Ok(mut opened) = opened {
        drop(opened.write_all(line(prompt).as_bytes()));
    }
}

/// What was being written.
pub(super) fn draft(here: &Here) -> Result<Option<String>> {
    let text = fs::read_to_string(file(here, "draft.txt")?).ok();
    Ok(text.filter(|text| !text.trim().is_empty()))
}

/// Keeps what is being written; nothing where nothing is.
pub(super) fn save_draft(text: &str, here: &Here) {
    let Ok(file) = file(here, "draft.txt") else { return };
    // A draft that cannot be kept is no reason to bother anybody while they write.
    if text.is_empty() {
        drop(fs::remove_file(file));
    } else {
        drop(atomic::write(&file, text));
    }
}

/// A file of this project, in a folder that only its owner can read.
fn file(here: &Here, name: &str) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    here.root.hash(&mut hasher);
    let folder = places::data(&here.env)?
        .join("tui")
        .join(format!("{:016x}", hasher.finish()));
    // Whether it is there is seen when the file is opened.
    drop(fs::create_dir_all(&folder));
    Ok(folder.join(name))
}

fn line(prompt: &str) -> String {
    format!("{}\n", serde_json::Value::from(prompt))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Global;
    use crate::environment::Environment;

    #[test]
    fn prompts_and_the_draft_are_there_the_next_time_and_only_in_their_project() {
        let temp = tempfile::tempdir().unwrap();
        let env = Environment::default().with("HEW_DATA_DIR", temp.path());
        let here = |root: &str| Here {
            env: env.clone(),
            global: Global::default(),
            root: root.into(),
        };
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
    fn a_long_history_is_cut_from_its_beginning() {
        let temp = tempfile::tempdir().unwrap();
        let env = Environment::default().with("HEW_DATA_DIR", temp.path());
        let here = Here {
            env,
            global: Global::default(),
            root: "/a".into(),
        };
        for number in 0..=LINES {
            remember(&number.to_string(), &here);
        }
        let kept = prompts(&here).unwrap();
        assert_eq!((kept.len(), kept.last().unwrap().as_str()), (KEPT, "2000"));
        assert_eq!(prompts(&here).unwrap(), kept, "what was cut stays cut");
    }
}
