//! Changes as the terminal front end shows them.

use super::pending::{Content, File};
use super::show::status_word;
use edit::Authors;

/// A file with its changes.
pub(super) fn shown(file: &File) -> tui::FileChanges {
    let why = match &file.content {
        Content::Text | Content::Same | Content::Link(_) => None,
        Content::Whole(_) => Some("it is not text: it is accepted or taken back as a whole".into()),
        Content::Unreadable(why) => Some(why.clone()),
    };
    let hunks = file.hunks.iter().map(|hunk| tui::Hunk {
        id: hunk.id.clone(),
        line: hunk.text.first_line,
        before: hunk.text.before.clone(),
        after: hunk.text.after.clone(),
        mixed: hunk.text.authors == Authors::Mixed,
        rejectable: !file.is_held(hunk),
    });
    tui::FileChanges {
        path: file.path.clone(),
        status: status_word(file.status).into(),
        why,
        hunks: hunks.collect(),
    }
}
