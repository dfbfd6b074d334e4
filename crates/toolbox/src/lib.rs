//! The tools we ship, one file each.
//!
//! To add a tool, write its file beside the others and add one line to [`all`]. The doc comments of its input are what
//! the model reads, and every request pays for them: say what a model would otherwise get wrong, and nothing else.

mod edit_file;
mod find_path;
mod grep;
mod list_directory;
mod project;
mod read_file;
mod reads;
mod shell;
mod terminal;
mod text;
mod write_file;

use project::Project;
use sandbox::Environment;
use tool::Registry;
use workspace::Workspace;

/// Every tool we ship, at work in this project. The environment is what commands see.
pub fn all(workspace: Workspace, environment: Environment) -> Registry {
    let project = Project::new(workspace);
    Registry::default()
        .with(edit_file::EditFile(project.clone()))
        .with(find_path::FindPath(project.clone()))
        .with(grep::Grep(project.clone()))
        .with(list_directory::ListDirectory(project.clone()))
        .with(read_file::ReadFile(project.clone()))
        .with(terminal::Terminal(project.clone(), environment))
        .with(write_file::WriteFile(project))
}
