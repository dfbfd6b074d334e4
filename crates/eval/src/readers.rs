//! Readers of task formats.

mod harbor;
mod native;
mod polyglot;
pub(crate) mod swe_bench;

use crate::error::Error;
use crate::suite::ReadTask;
use std::path::Path;

/// The file that describes a task.
pub(crate) const TASK_FILE: &str = "task.toml";

/// Reads the task of a folder; `None` if it is not the folder of a task.
pub(crate) fn read_folder(folder: &Path, id: &str) -> Result<Option<ReadTask>, Error> {
    let has = |name: &str| folder.join(name).exists();
    if has("instruction.md") && has(TASK_FILE) {
        harbor::read_harbor(folder, id).map(Some)
    } else if has(TASK_FILE) {
        native::read(folder, id).map(|task| Some(Ok(task)))
    } else if has("task.yaml") {
        harbor::read_terminal_bench(folder, id).map(Some)
    } else if has(".meta/config.json") && has(".docs") {
        polyglot::read(folder, id).map(Some)
    } else {
        Ok(None)
    }
}
