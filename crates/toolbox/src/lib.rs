//! The tools we ship, one file each.
//!
//! To add a tool, write its file beside the others and add one line to [`fitted`]. The doc comments of its input are what
//! the model reads, and every request pays for them: say what a model would otherwise get wrong, and nothing else.

mod apply;
mod apply_patch;
mod edit_file;
mod editor;
mod find_path;
mod grep;
mod insert;
mod learned;
mod list_directory;
mod offered;
mod preview;
mod project;
mod read_file;
mod reads;
mod shell;
mod terminal;
mod text;
mod told;
mod transaction;
mod write_file;

pub use apply::{Carry, NotApplied, apply};
pub use editor::Editor;
pub use learned::Learned;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use editor::EditAgent;
use offered::Offered;
use project::Project;
use sandbox::Environment;
use tool::Registry;
use workspace::Workspace;

/// What the tools are fitted to.
#[derive(Debug, Default)]
pub struct Options<'a> {
    /// The name of the model that will call them: it is offered the edit tool that its family writes best.
    pub model: Option<&'a str>,
    /// Writes edits that the model only describes.
    pub editor: Option<Editor>,
    /// Files that the model has read or written before, as it named them, and when: a session that goes on knows them.
    pub seen: Vec<(PathBuf, SystemTime)>,
}

/// Every tool we ship, at work in this project and fitted to a model. The environment is what commands see.
pub fn fitted(workspace: Workspace, environment: Environment, options: Options<'_>) -> Registry {
    let project = Project::new(workspace);
    project.recall(&options.seen);
    let agent = options.editor.map(|editor| EditAgent::new(project.clone(), editor));
    let mut tools = Registry::default()
        .with(find_path::FindPath(project.clone()))
        .with(grep::Grep(project.clone()))
        .with(list_directory::ListDirectory(project.clone()))
        .with(read_file::ReadFile(project.clone()))
        .with(terminal::Terminal(project.clone(), environment))
        .with(write_file::WriteFile(project.clone()));
    if let Some(edits) = Offered::new(&project, options.model, agent) {
        tools.add(Arc::new(edits));
    }
    tools
}
