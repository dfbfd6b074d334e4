//! Finds the mentions of a name in a file, except in comments and strings.

use std::path::Path;
use std::time::{Duration, Instant};

use tree_sitter::Node;

use crate::outline::{Outline, of_tree, recover_after_error, unknown_language};
use crate::parse::parse;
use crate::{Error, Language};

/// The maximum number of mentions per file.
const MAX_MENTIONS: usize = 10_000;
/// Characters that may be part of a name's token, such as the colon of a Ruby symbol.
const SIGILS: [char; 6] = [':', '@', '$', '#', '.', '\''];

/// An occurrence of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameMention {
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 1.
    pub column: usize,
    /// Its role.
    pub role: MentionRole,
}

/// The role of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MentionRole {
    /// A definition.
    Definition,
    /// A use.
    Use,
}

/// The mentions of a name in a text, and the outline of the text.
pub fn mentions(path: &Path, text: &str, name: &str, limit: Duration) -> Result<(Vec<NameMention>, Outline), Error> {
    let language = Language::detect(path, text).ok_or_else(|| unknown_language(path))?;
    let deadline = Instant::now().checked_add(limit);
    let tree = parse(language, text, limit)?;
    let outline = of_tree(language, &tree, text, deadline)?;
    let outline = recover_after_error(language, &tree, text, limit, outline);
    let root = tree.root_node();
    let mut mentions = Vec::new();
    if name.is_empty() {
        return Ok((mentions, outline));
    }
    for (start, _) in text.match_indices(name) {
        let end = start + name.len();
        if !is_whole_word(text, start, end) {
            continue;
        }
        let Some(node) = root
            .descendant_for_byte_range(start, end)
            .filter(|node| is_name(*node, text, name))
        else {
            continue;
        };
        let at = node.start_byte();
        let defines = outline
            .definitions
            .iter()
            .any(|definition| definition.kind.introduces_name() && definition.name_at == at && definition.name == name);
        let position = node.start_position();
        mentions.push(NameMention {
            line: position.row + 1,
            column: position.column + 1,
            role: if defines {
                MentionRole::Definition
            } else {
                MentionRole::Use
            },
        });
        if mentions.len() == MAX_MENTIONS {
            break;
        }
    }
    Ok((mentions, outline))
}

fn is_whole_word(text: &str, start: usize, end: usize) -> bool {
    let part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let inner = |letter: Option<char>| letter.is_some_and(part);
    let before = text.get(..start).and_then(|text| text.chars().next_back());
    let after = text.get(end..).and_then(|text| text.chars().next());
    // A name such as `$x` or `empty?` need not end in a letter.
    let first = text.get(start..end).and_then(|text| text.chars().next());
    let last = text.get(start..end).and_then(|text| text.chars().next_back());
    let runs_on = inner(before) && inner(first) || inner(after) && inner(last);
    !runs_on
}

/// Whether a node is a token with this name, and neither a comment nor a string.
fn is_name(node: Node<'_>, text: &str, name: &str) -> bool {
    let kind = node.kind();
    let prose = [
        "comment", "string", "text", "content", "escape", "heredoc", "char", "inline",
    ];
    if prose.iter().any(|word| kind.contains(word)) || node.child_count() > 1 {
        return false;
    }
    let token = text.get(node.byte_range()).unwrap_or_default();
    token == name || token.trim_matches(SIGILS) == name.trim_matches(SIGILS)
}
