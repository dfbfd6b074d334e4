//! How editors are told of tools: what kind each is, what a call is called, and which places it is about.

use std::path::{Path, PathBuf};

use acp::schema::{ContentBlock, Diff, ToolCallContent, ToolCallLocation, ToolKind};
use serde_json::Value;

use super::Contents;

/// A longer text of a result is cut.
const MOST_TEXT: usize = 16_000;
/// Texts larger than this are not shown as a difference.
const MOST_DIFF: usize = 512 * 1024;
/// Places of one call that are told.
const MOST_PLACES: usize = 20;

const KINDS: &[(ToolKind, &[&str])] = &[
    (
        ToolKind::Read,
        &[
            "read_file",
            "list_directory",
            "open",
            "panel",
            "skill",
            "hover",
            "definition",
            "references",
            "diagnostics",
            "code_definitions",
            "symbols",
            "job_output",
            "job_list",
        ],
    ),
    (
        ToolKind::Edit,
        &[
            "edit_file",
            "write_file",
            "apply_patch",
            "insert",
            "notebook",
            "format_file",
            "rename_symbol",
            "code_action",
            "create_directory",
            "generate_image",
        ],
    ),
    (ToolKind::Delete, &["delete_path"]),
    (ToolKind::Move, &["move_path", "copy_path"]),
    (
        ToolKind::Search,
        &[
            "grep",
            "find_path",
            "find_tools",
            "sourcegraph",
            "web_search",
            "search_agent",
        ],
    ),
    (ToolKind::Execute, &["terminal", "job_kill", "watch"]),
    (
        ToolKind::Think,
        &["thinking", "todo", "new_task", "memory", "scratchpad"],
    ),
    (ToolKind::Fetch, &["fetch", "download", "browser_action"]),
    (ToolKind::SwitchMode, &["switch_mode"]),
];

/// What kind of tool this is.
pub(super) fn kind(tool: &str) -> ToolKind {
    let found = KINDS.iter().find(|(_, names)| names.contains(&tool));
    found.map_or(ToolKind::Other, |(kind, _)| *kind)
}

/// What a call is called.
pub(super) fn title(tool: &str, title: &str) -> String {
    match (tool, title) {
        (tool, "") => tool.to_owned(),
        ("terminal", command) => format!("`{command}`"),
        (tool, title) => format!("{tool} {title}"),
    }
}

/// The places that an input names.
pub(super) fn locations(input: &Value, root: &Path) -> Vec<ToolCallLocation> {
    let line = ["line", "start_line", "offset", "first_line"]
        .iter()
        .find_map(|key| input.get(key)?.as_u64())
        .and_then(|line| u32::try_from(line).ok());
    let one = ["path", "file_path", "file", "source", "from", "destination", "to"]
        .iter()
        .filter_map(|key| input.get(key)?.as_str());
    let many = ["paths", "files"]
        .iter()
        .filter_map(|key| input.get(key)?.as_array())
        .flatten();
    let many = many.filter_map(|value| value.as_str().or_else(|| value.get("path")?.as_str()));
    let places = one.chain(many).filter(|path| !path.is_empty() && !path.contains("://"));
    let places = places.map(|path| ToolCallLocation::new(root.join(path)).line(line));
    places.take(MOST_PLACES).collect()
}

/// Places of changes.
pub(super) fn changed(paths: impl Iterator<Item = PathBuf>, root: &Path) -> Vec<ToolCallLocation> {
    let places = paths.map(|path| ToolCallLocation::new(root.join(path)));
    places.take(MOST_PLACES).collect()
}

/// A change as a difference, where both sides can be shown.
pub(super) fn diff(contents: Contents, root: &Path) -> Option<ToolCallContent> {
    let Contents { path, before, after } = contents;
    if before.is_none() && after.is_none() {
        return None;
    }
    let size = before.as_deref().unwrap_or_default().len() + after.as_deref().unwrap_or_default().len();
    let diff = Diff::new(root.join(path), after.unwrap_or_default()).old_text(before);
    (size <= MOST_DIFF).then(|| diff.into())
}

/// Text of a result, cut where it is long.
pub(super) fn text(text: &str) -> ToolCallContent {
    let half = MOST_TEXT / 2;
    let shown = match text.len() > MOST_TEXT {
        false => text.to_owned(),
        true => {
            let head = &text[..text.floor_char_boundary(half)];
            let tail = &text[text.ceil_char_boundary(text.len() - half)..];
            let cut = text.len() - head.len() - tail.len();
            format!("{head}\n[{cut} bytes left out]\n{tail}")
        }
    };
    ContentBlock::from(shown).into()
}

/// Text as a block of code, for what a program printed.
pub(super) fn printed(output: &str) -> ToolCallContent {
    let fence = if output.contains("```") { "````" } else { "```" };
    text(&format!("{fence}\n{}\n{fence}", output.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn places_are_absolute_and_bounded() {
        let root = Path::new("/p");
        let found = |input| {
            let places = locations(&input, root);
            places
                .into_iter()
                .map(|it| (it.path.display().to_string(), it.line))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            found(json!({"path": "a.rs", "line": 3})),
            [("/p/a.rs".to_owned(), Some(3))]
        );
        assert_eq!(
            found(json!({"files": [{"path": "a"}, "/b"], "url": "x"})),
            [("/p/a".to_owned(), None), ("/b".to_owned(), None)]
        );
        assert_eq!(found(json!({"path": "https://x"})), []);
        assert_eq!(found(json!({"paths": vec!["x"; 99]})).len(), MOST_PLACES);
    }

    #[test]
    fn long_results_say_how_they_were_cut() {
        let ToolCallContent::Content(content) = text(&"é".repeat(MOST_TEXT)) else {
            panic!()
        };
        let ContentBlock::Text(text) = content.content else {
            panic!()
        };
        assert!(text.text.contains("bytes left out]"));
        assert!(text.text.len() < MOST_TEXT + 100);
    }
}
