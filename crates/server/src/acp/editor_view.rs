//! What an editor shows: the active file, the selection and diagnostics.
//!
//! The protocol has no message for it. Editors send the extension notification `_hew/editor`, or the same object as
//! `hew/editor` in the `_meta` of a prompt.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};
use session::EditorView;

use super::prompt_content::file_path;

/// The extension notification.
pub(super) const METHOD: &str = "_hew/editor";
/// The key in the `_meta` of a prompt.
const META_KEY: &str = "hew/editor";
/// Maximum number of diagnostics.
const MAX_DIAGNOSTICS: usize = 100;
/// Maximum bytes of a diagnostic's message.
const MAX_MESSAGE: usize = 300;

/// The object that an editor sends.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct EditorReport {
    /// The active file: a path or a file URL.
    #[serde(alias = "path", alias = "uri")]
    file: Option<String>,
    /// The first and the last selected line, from 1.
    lines: Option<(usize, usize)>,
    diagnostics: Vec<DiagnosticReport>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DiagnosticReport {
    /// Without it, the active file.
    #[serde(alias = "path", alias = "uri")]
    file: Option<String>,
    /// From 1.
    line: Option<usize>,
    severity: Option<String>,
    message: String,
}

impl EditorReport {
    /// The report in the `_meta` of a prompt.
    pub(super) fn of_prompt(meta: Option<&Map<String, Value>>) -> Option<Result<Self, serde_json::Error>> {
        let report = meta?.get(META_KEY)?;
        Some(serde_json::from_value(report.clone()))
    }

    /// Converts the report for a session in this project.
    pub(super) fn view(&self, root: &Path) -> EditorView {
        let shown = |file: &str| {
            let path = file_path(file);
            path.strip_prefix(root).unwrap_or(&path).to_owned()
        };
        let diagnostics = self.diagnostics.iter().take(MAX_DIAGNOSTICS).map(|found| {
            let file = found.file.as_ref().or(self.file.as_ref());
            let file = file.map(|file| shown(file).display().to_string()).unwrap_or_default();
            let line = found.line.map(|line| format!(":{line}")).unwrap_or_default();
            let severity = found.severity.as_deref().unwrap_or("error");
            let message = found.message.lines().next().unwrap_or_default();
            let message = &message[..message.floor_char_boundary(MAX_MESSAGE.min(message.len()))];
            format!("{file}{line} {severity}: {message}").trim_start().to_owned()
        });
        EditorView {
            file: self.file.as_deref().map(shown),
            lines: self.lines.map(|(first, last)| first.min(last)..=first.max(last)),
            diagnostics: diagnostics.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_and_urls_are_relative_to_the_project() {
        let view = |report: Value| {
            let report: EditorReport = serde_json::from_value(report).unwrap();
            report.view(Path::new("/p"))
        };
        let expected = EditorView {
            file: Some("src/a b.rs".into()),
            lines: Some(3..=9),
            diagnostics: vec!["src/a b.rs:4 error: wrong".into(), "/o/c.rs warning: unused".into()],
        };
        let diagnostics = json!([
            {"line": 4, "message": "wrong\nmore"},
            {"file": "/o/c.rs", "severity": "warning", "message": "unused"},
        ]);
        assert_eq!(
            view(json!({"uri": "file:///p/src/a%20b.rs", "lines": [9, 3], "diagnostics": diagnostics})),
            expected
        );
        assert_eq!(
            view(json!({"file": "/p/src/a b.rs", "lines": [3, 9], "diagnostics": diagnostics})),
            expected
        );
        assert_eq!(view(json!({"file": null})), EditorView::default());
    }
}
