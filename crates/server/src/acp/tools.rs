//! Presentation of tools in editors: kind, title and locations.

use std::path::{Path, PathBuf};

use acp::schema::{ContentBlock, Diff, ToolCallContent, ToolCallLocation, ToolKind};
use serde_json::Value;

use super::ChangeContents;

/// Maximum bytes of a result.
const MAX_TEXT: usize = 16_000;
/// Maximum bytes of a diff.
const MAX_DIFF: usize = 512 * 1024;
/// Maximum number of locations per call.
const MAX_LOCATIONS: usize = 20;

/// The protocol's kind of a tool.
pub(super) fn kind(kind: tool::ToolKind) -> ToolKind {
    match kind {
        tool::ToolKind::Read => ToolKind::Read,
        tool::ToolKind::Edit => ToolKind::Edit,
        tool::ToolKind::Delete => ToolKind::Delete,
        tool::ToolKind::Move => ToolKind::Move,
        tool::ToolKind::Search => ToolKind::Search,
        tool::ToolKind::Execute => ToolKind::Execute,
        tool::ToolKind::Think => ToolKind::Think,
        tool::ToolKind::Fetch => ToolKind::Fetch,
        tool::ToolKind::SwitchMode => ToolKind::SwitchMode,
        tool::ToolKind::Other => ToolKind::Other,
    }
}

/// The title of a call.
pub(super) fn title(tool: &str, title: &str) -> String {
    match (tool, title) {
        (tool, "") => tool.to_owned(),
        ("terminal", command) => format!("`{command}`"),
        (tool, title) => format!("{tool} {title}"),
    }
}

/// The locations in an input.
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
    places.take(MAX_LOCATIONS).collect()
}

/// The locations of changes, with their first line if it is known.
pub(super) fn change_locations(
    places: impl Iterator<Item = (PathBuf, Option<usize>)>,
    root: &Path,
) -> Vec<ToolCallLocation> {
    let places = places.map(|(path, line)| {
        let line = line.and_then(|line| u32::try_from(line).ok());
        ToolCallLocation::new(root.join(path)).line(line)
    });
    places.take(MAX_LOCATIONS).collect()
}

/// The first line that a change affects, counted in the new text.
pub(super) fn first_changed_line(contents: &ChangeContents) -> Option<usize> {
    let after = contents.after.as_deref()?;
    let before = contents.before.as_deref().unwrap_or_default();
    let same = before.lines().zip(after.lines()).take_while(|(old, new)| old == new);
    Some((same.count() + 1).min(after.lines().count().max(1)))
}

/// A change as a diff, if it can be shown.
pub(super) fn diff(contents: ChangeContents, root: &Path) -> Option<ToolCallContent> {
    let ChangeContents { path, before, after } = contents;
    if before.is_none() && after.is_none() {
        return None;
    }
    let size = before.as_deref().unwrap_or_default().len() + after.as_deref().unwrap_or_default().len();
    let diff = Diff::new(root.join(path), after.unwrap_or_default()).old_text(before);
    (size <= MAX_DIFF).then(|| diff.into())
}

/// The text of a result, bounded.
pub(super) fn text(text: &str) -> ToolCallContent {
    let half = MAX_TEXT / 2;
    let shown = match text.len() > MAX_TEXT {
        false => text.to_owned(),
        true => {
            let head = &text[..text.floor_char_boundary(half)];
            let tail = &text[text.ceil_char_boundary(text.len() - half)..];
            let cut = text.len() - head.len() - tail.len();
            format!("{head}\n[{cut} bytes omitted]\n{tail}")
        }
    };
    ContentBlock::from(shown).into()
}

/// Output as a code block.
pub(super) fn code_block(output: &str) -> ToolCallContent {
    let fence = if output.contains("```") { "````" } else { "```" };
    text(&format!("{fence}\n{}\n{fence}", output.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn locations_are_absolute_and_bounded() {
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
        assert_eq!(found(json!({"paths": vec!["x"; 99]})).len(), MAX_LOCATIONS);
    }

    #[test]
    fn the_first_changed_line_is_counted_in_the_new_text() {
        for (before, after, expected) in [
            (Some("a\nb\nc\n"), Some("a\nB\nc\n"), Some(2)),
            (Some("a\nb\n"), Some("a\nb\nc\n"), Some(3)),
            (Some("a\nb\n"), Some("a\n"), Some(1)),
            (None, Some("new\n"), Some(1)),
            (Some("a"), Some(""), Some(1)),
            (Some("missing"), None, None),
        ] {
            let contents = ChangeContents {
                path: "a".into(),
                before: before.map(str::to_owned),
                after: after.map(str::to_owned),
            };
            assert_eq!(first_changed_line(&contents), expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn long_results_note_cuts() {
        let ToolCallContent::Content(content) = text(&"é".repeat(MAX_TEXT)) else {
            panic!()
        };
        let ContentBlock::Text(text) = content.content else {
            panic!()
        };
        assert!(text.text.contains("bytes omitted]"));
        assert!(text.text.len() < MAX_TEXT + 100);
    }
}
