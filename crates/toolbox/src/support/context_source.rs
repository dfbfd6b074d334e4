//! Reads the content of mentions with the built-in tools.

use futures::future::{BoxFuture, FutureExt as _};
use model::{Block, Media};
use serde_json::{Value, json};
use std::path::PathBuf;
use tool::{
    ContextContent, ContextError, ContextFound, ContextRequest, ContextRunner, ContextSource, SymbolDefinition, Tool,
};

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

/// Reads the content of mentions with the built-in tools.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolContextSource;

impl ContextSource for ToolContextSource {
    fn read<'a>(
        &'a self,
        request: &'a ContextRequest,
        runner: &'a dyn ContextRunner,
    ) -> BoxFuture<'a, Result<ContextFound, ContextError>> {
        read(request, runner).boxed()
    }
}

async fn read(request: &ContextRequest, runner: &dyn ContextRunner) -> Result<ContextFound, ContextError> {
    match request {
        ContextRequest::Path(path) => read_path(path, runner).await,
        ContextRequest::Lines { path, lines } => {
            let (text, touched) = read_lines(path, *lines.start(), *lines.end(), runner).await?;
            let content = ContextContent::Text(text);
            Ok(ContextFound { content, touched })
        }
        ContextRequest::Symbol(name) => read_symbol(name, runner).await,
        ContextRequest::Url(url) => Ok(text(run(runner, FetchTool::NAME, json!({"url": url})).await?.text)),
        ContextRequest::Diff => read_diff(runner).await.map(text),
        ContextRequest::Diagnostics => Ok(text(run(runner, DiagnosticsTool::NAME, json!({})).await?.text)),
    }
}

fn text(text: String) -> ContextFound {
    ContextFound {
        content: ContextContent::Text(text),
        touched: Vec::new(),
    }
}

async fn read_path(path: &str, runner: &dyn ContextRunner) -> Result<ContextFound, ContextError> {
    if let Ok(ToolText { text, touched, .. }) = run(runner, ListDirectoryTool::NAME, json!({"path": path})).await {
        let content = ContextContent::Folder(text);
        return Ok(ContextFound { content, touched });
    }
    let ToolText { text, media, touched } = run(runner, ReadFileTool::NAME, json!({"path": path})).await?;
    let content = match media.is_empty() {
        true => ContextContent::Text(text),
        false => ContextContent::Media(media),
    };
    Ok(ContextFound { content, touched })
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
    let content = ContextContent::Symbols(symbols);
    Ok(ContextFound { content, touched })
}

/// Parses a line of the definition tool, such as `src/parser.rs:12-40 fn next(&mut self)`.
fn location(line: &str) -> Option<(&str, usize, usize)> {
    let (path, rest) = line.split_once(':')?;
    let lines = rest.split(' ').next()?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    Some((path, first.parse().ok()?, last.parse().ok()?))
}

async fn read_diff(runner: &dyn ContextRunner) -> Result<String, ContextError> {
    let git_diff = |tree: &str| json!({"command": format!("git --no-pager diff {tree}")});
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
