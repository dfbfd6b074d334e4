//! The code search index of a project.

use crate::environment::ProcessEnv;
use crate::failure::Result;
use crate::{paths, project_context};
use search::CodeIndex;
use std::path::Path;

/// The index of the project, in the cache directory. Nothing is read yet.
pub fn code_index(root: &Path, permissions: &policy::Permissions, env: &ProcessEnv) -> Result<CodeIndex> {
    let workspace = project_context::open_workspace(root, permissions)?;
    Ok(CodeIndex::new(workspace, &paths::cache_dir(env)?))
}
