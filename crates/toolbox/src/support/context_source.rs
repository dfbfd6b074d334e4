//! Reads the content of mentions with the built-in tools.

use futures::future::{BoxFuture, FutureExt as _};
use model::{Block, Media};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tool::{
    ContextContent, ContextError, ContextFound, ContextRequest, ContextRunner, ContextSource, SymbolDefinition, Tool,
};
use workspace::Workspace;

use crate::tools::codebase_search::CodebaseSearchTool;
use crate::tools::definition::DefinitionTool;
use crate::tools::diagnostics::DiagnosticsTool;
use crate::tools::fetch::FetchTool;
use crate::tools::list_directory::ListDirectoryTool;
use crate::tools::read_file::ReadFileTool;
use crate::tools::terminal::TerminalTool;

/// The maximum number of definitions per symbol.
const MAX_DEFINITIONS: usize = 3;
/// The error of git in a repository without commits.
const NO_COMMITS: &str = "ambiguous argument 'HEAD'";
/// The id of git's empty tree.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// The end of the error for a missing path without a similar one.
const NOT_FOUND: &str = " does not exist";

/// Reads the content of mentions in all folders of a project, with the built-in tools.
#[derive(Debug, Clone)]
pub struct ToolContextSource(pub Workspace);

impl ContextSource for ToolContextSource {
    fn read<'a>(
        &'a self,
        request: &'a ContextRequest,
        runner: &'a dyn ContextRunner,
    ) -> BoxFuture<'a, Result<ContextFound, ContextError>> {
        read(&self.0, request, runner).boxed()
    }
}

async fn read(
    workspace: &Workspace,
    request: &ContextRequest,
    runner: &dyn ContextRunner,
) -> Result<ContextFound, ContextError> {
    match request {
        ContextRequest::Path(path) => match in_other_folder(workspace, path) {
            None => read_path(path, runner).await,
            Some(path) => Ok(read_path(&path, runner).await?.at(path)),
        },
        ContextRequest::Lines { path, lines } => {
            let other = in_other_folder(workspace, path);
            let place = other.as_ref().unwrap_or(path);
            let (text, touched) = read_lines(place, *lines.start(), *lines.end(), runner).await?;
            let found = ContextFound::new(ContextContent::Text(text), touched);
            Ok(other.into_iter().fold(found, ContextFound::at))
        }
        ContextRequest::Symbol(name) => read_symbol(name, runner).await,
        ContextRequest::Url(url) => Ok(text(run(runner, FetchTool::NAME, json!({"url": url})).await?.text)),
        ContextRequest::Diff => read_diffs(workspace, runner).await.map(text),
        ContextRequest::Codebase(words) => Ok(text(
            run(runner, CodebaseSearchTool::NAME, json!({"query": words}))
                .await?
                .text,
        )),
        ContextRequest::Diagnostics => Ok(text(run(runner, DiagnosticsTool::NAME, json!({})).await?.text)),
    }
}

fn text(text: String) -> ContextFound {
    ContextFound::new(ContextContent::Text(text), Vec::new())
}

/// The path that is meant by one that does not exist in the main folder: the absolute path in another folder of the
/// project, whose name it may begin with, or the path without `/` or `file:` before it.
fn in_other_folder(workspace: &Workspace, path: &str) -> Option<String> {
    let exists = |path: &Path| workspace.locate(path).is_ok_and(|place| place.exists());
    if exists(Path::new(path)) {
        return None;
    }
    let marked = path.strip_prefix("file:").or_else(|| path.strip_prefix('/'));
    if let Some(rest) = marked.filter(|rest| !rest.is_empty() && exists(Path::new(rest))) {
        return Some(rest.to_owned());
    }
    if Path::new(path).is_absolute() {
        return None;
    }
    let within = |folder: &PathBuf| {
        let below_name = folder
            .file_name()
            .and_then(|name| Path::new(path).strip_prefix(name).ok());
        let mut places = [Some(Path::new(path)), below_name].into_iter().flatten();
        places.find_map(|below| Some(folder.join(below)).filter(|path| exists(path)))
    };
    let found = workspace.more().iter().find_map(within)?;
    Some(found.to_string_lossy().into_owned())
}

async fn read_path(path: &str, runner: &dyn ContextRunner) -> Result<ContextFound, ContextError> {
    if let Ok(ToolText { text, touched, .. }) = run(runner, ListDirectoryTool::NAME, json!({"path": path})).await {
        return Ok(ContextFound::new(ContextContent::Folder(text), touched));
    }
    let ToolText { text, media, touched } = run(runner, ReadFileTool::NAME, json!({"path": path})).await?;
    let content = match media.is_empty() {
        true => ContextContent::Text(text),
        false => ContextContent::Media(media),
    };
    Ok(ContextFound::new(content, touched))
}

async fn read_lines(
    path: &str,
    first: usize,
    last: usize,
    runner: &dyn ContextRunner,
) -> Result<(String, Vec<PathBuf>), ContextError> {
    let input = json!({"path": path, "start_line": first, "end_line": last});
    let read = run(runner, ReadFileTool::NAME, input).await?;
    Ok((read.text, read.touched))
}

async fn read_symbol(name: &str, runner: &dyn ContextRunner) -> Result<ContextFound, ContextError> {
    let found = run(runner, DefinitionTool::NAME, json!({"symbol": name})).await?.text;
    let (mut symbols, mut touched) = (Vec::new(), Vec::new());
    for (path, first, last) in found.lines().filter_map(location).take(MAX_DEFINITIONS) {
        let (text, paths) = read_lines(path, first, last, runner).await?;
        touched.extend(paths);
        symbols.push(SymbolDefinition {
            path: path.to_owned(),
            lines: first..=last,
            text,
        });
    }
    if symbols.is_empty() {
        return Err(failed("it is not defined in this project"));
    }
    Ok(ContextFound::new(ContextContent::Symbols(symbols), touched))
}

/// Parses a line of the definition tool, such as `src/parser.rs:12-40 fn next(&mut self)`.
fn location(line: &str) -> Option<(&str, usize, usize)> {
    let (path, rest) = line.split_once(':')?;
    let lines = rest.split(' ').next()?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    Some((path, first.parse().ok()?, last.parse().ok()?))
}

/// The changes in all repositories of the project.
async fn read_diffs(workspace: &Workspace, runner: &dyn ContextRunner) -> Result<String, ContextError> {
    let repositories = workspace.repositories();
    let others = repositories.iter().map(|(folder, _)| *folder);
    let others: Vec<&Path> = others.filter(|folder| *folder != workspace.root()).collect();
    if others.is_empty() {
        return read_diff(workspace.root(), runner).await;
    }
    let (mut diffs, mut error) = (Vec::new(), None);
    for folder in [workspace.root()].into_iter().chain(others) {
        match read_diff(folder, runner).await {
            Ok(diff) => diffs.push(format!("# {}\n{diff}", folder.display())),
            Err(why) => error = Some(why),
        }
    }
    match error {
        Some(error) if diffs.is_empty() => Err(error),
        Some(_) | None => Ok(diffs.join("\n")),
    }
}

async fn read_diff(folder: &Path, runner: &dyn ContextRunner) -> Result<String, ContextError> {
    let git_diff = |tree: &str| json!({"command": format!("git --no-pager diff {tree}"), "cwd": folder});
    let mut diff = run(runner, TerminalTool::NAME, git_diff("HEAD")).await?.text;
    let has_no_commits = diff.contains(NO_COMMITS);
    if has_no_commits {
        diff = run(runner, TerminalTool::NAME, git_diff(EMPTY_TREE)).await?.text;
    }
    if let Some(why) = diff.lines().find_map(|line| line.strip_prefix("fatal: ")) {
        return Err(failed(why));
    }
    match diff.contains("diff --git ") {
        true => Ok(diff),
        false if has_no_commits => Err(failed("there is no commit yet, and no file is tracked")),
        false => Err(failed("there are no changes since the last commit")),
    }
}

/// The content of a tool's output by type.
struct ToolText {
    text: String,
    media: Vec<Media>,
    touched: Vec<PathBuf>,
}

async fn run(runner: &dyn ContextRunner, tool: &str, input: Value) -> Result<ToolText, ContextError> {
    let found = runner.run(tool, input).await.map_err(|error| match error {
        ContextError::Failed(why) => match why.strip_suffix(NOT_FOUND) {
            Some(path) => ContextError::NotFound(path.into()),
            None => ContextError::Failed(why),
        },
        error => error,
    })?;
    let (mut texts, mut media) = (Vec::new(), Vec::new());
    for block in found.output.content {
        match block {
            Block::Text { text } => texts.push(text),
            Block::Media(file) => media.push(file),
        }
    }
    Ok(ToolText {
        text: texts.join("\n"),
        media,
        touched: found.touched,
    })
}

fn failed(why: &str) -> ContextError {
    ContextError::Failed(why.into())
}

#[cfg(test)]
mod tests {
    use super::location;

    #[test]
    fn a_definition_line_has_a_path_and_lines() {
        assert_eq!(
            location("src/a.rs:12-40 fn next() [in Parser]"),
            Some(("src/a.rs", 12, 40))
        );
        assert_eq!(location("src/a.rs:7 const A"), Some(("src/a.rs", 7, 7)));
        assert_eq!(location("[1 definition]"), None);
    }
}
