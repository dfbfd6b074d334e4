//! Helpers for the syntax tree and its source, and for differences between the grammar and the shell.

use super::word::WordPiece;
use super::{ShellWord, programs};
use tree_sitter::Node;

pub(super) fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

pub(super) fn destinations<'t>(redirect: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = redirect.walk();
    redirect.children_by_field_name("destination", &mut cursor).collect()
}

pub(super) fn heredoc_arguments<'t>(redirect: Node<'t>, src: &str) -> Vec<Node<'t>> {
    let mut cursor = redirect.walk();
    let mut words: Vec<_> = redirect.children_by_field_name("argument", &mut cursor).collect();
    for child in children(redirect) {
        if child.kind() == "file_redirect" {
            let to = destinations(child);
            words.extend(to.iter().copied().skip(first_word(&to, src)));
        }
    }
    words
}

/// The text between the children of a node.
pub(super) fn gaps<'s>(node: Node<'_>, src: &'s str) -> Vec<&'s str> {
    let parts = children(node);
    let between = parts.windows(2).map(|pair| pair[0].end_byte()..pair[1].start_byte());
    between.filter_map(|range| src.get(range)).collect()
}

/// The text of a node that no child covers.
pub(super) fn unread<'s>(node: Node<'_>, src: &'s str) -> Vec<&'s str> {
    let parts = children(node);
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
        return vec![source(node, src)];
    };
    let ends = [node.start_byte()..first.start_byte(), last.end_byte()..node.end_byte()];
    let ends = ends.into_iter().filter_map(|range| src.get(range));
    ends.chain(gaps(node, src)).collect()
}

/// Whether a here-document ends where the shell ends it: at the first line that equals the delimiter.
pub(super) fn ends_as_in_shell(heredoc: Node<'_>, src: &str) -> bool {
    let part = |kind: &str| children(heredoc).into_iter().find(|child| child.kind() == kind);
    let (Some(start), Some(end)) = (part("heredoc_start"), part("heredoc_end")) else {
        return false;
    };
    let delimiter: String = source(start, src).chars().filter(|c| !"'\"\\".contains(*c)).collect();
    let Some(rest) = src.get(start.end_byte()..) else {
        return false;
    };
    let mut at = start.end_byte();
    for (number, line) in rest.split('\n').enumerate() {
        let text = match part("<<-") {
            Some(_) => line.trim_start_matches('\t'),
            None => line,
        };
        if number > 0 && text == delimiter {
            return end.start_byte() == at + line.len() - text.len();
        }
        at += line.len() + 1;
    }
    false
}

pub(super) fn is_redirection(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "file_redirect" | "herestring_redirect" | "heredoc_redirect"
    )
}

/// Whether the grammar parses the descriptor of a redirection as an argument, as in `bash 0<file`.
pub(super) fn misses_descriptor(node: Node<'_>, src: &str) -> bool {
    let before = src.get(..node.start_byte()).unwrap_or_default();
    let word = before.trim_end_matches(|c: char| c.is_ascii_digit());
    is_redirection(node) && word.len() < before.len() && may_be_descriptor(word)
}

/// Whether a word directly follows a redirection, so that it belongs to the file name.
pub(super) fn cuts_redirection(node: Node<'_>, src: &str) -> bool {
    let parts = children(node);
    parts.windows(2).any(|pair| {
        is_redirection(pair[0]) && pair[1].is_named() && !is_redirection(pair[1]) && touch(pair[0], pair[1], src)
    })
}

/// Whether the text is only whitespace; the grammar also skips a backslash before a space, the shell does not.
pub(super) fn is_space(text: &str) -> bool {
    text.replace("\\\n", "").chars().all(|c| matches!(c, ' ' | '\t' | '\n'))
}

/// Whether a gap may occur between the children of a node: only whitespace, and no line break within a command.
pub(super) fn may_separate(gap: &str, kind: &str) -> bool {
    let one_line = matches!(
        kind,
        "command" | "file_redirect" | "variable_assignment" | "declaration_command" | "unset_command" | "concatenation"
    );
    match kind {
        "negated_command" => is_space(gap) && !gap.replace("\\\n", "").is_empty(),
        _ => is_space(gap) && !(one_line && gap.replace("\\\n", "").contains('\n')),
    }
}

/// Whether a dollar sign in unquoted text begins an expansion.
pub(super) fn hides_expansion(text: &str, after: &str) -> bool {
    text.match_indices('$').any(|(at, _)| {
        let next = text[at + 1..].chars().chain(after.chars()).next();
        let begins = next.is_some_and(|next| next.is_ascii_alphanumeric() || "_{([@*#?$!-".contains(next));
        let backslashes = text[..at].bytes().rev().take_while(|&byte| byte == b'\\').count();
        begins && backslashes % 2 == 0
    })
}

/// Whether a single-bracket test is valid: shell operators end it early.
pub(super) fn is_test(text: &str) -> bool {
    text.starts_with("[[")
        || text.starts_with("((")
        || (text.len() > 3 && !text.contains(['|', '&', ';', '\n', '<', '>', '(']))
}

/// Whether the number before a redirection is a descriptor, and not the end of a word.
pub(super) fn may_be_descriptor(before: &str) -> bool {
    let last = before.trim_end_matches("\\\n").chars().next_back();
    last.is_none_or(begins_word)
}

/// Whether a word may begin after this character.
fn begins_word(last: char) -> bool {
    last.is_whitespace() || ";|&()`{}<>".contains(last)
}

/// Whether a comment may begin after this text; not in the middle of a word, even one that continues on the next line.
pub(super) fn may_comment(before: &str) -> bool {
    let last = before.trim_end_matches("\\\n").chars().next_back();
    last.is_none_or(|last| last.is_whitespace() || ";|&()`".contains(last))
}

/// Nodes that contain text without child nodes.
pub(super) fn is_text(kind: &str) -> bool {
    matches!(
        kind,
        "string" | "translated_string" | "heredoc_body" | "heredoc_redirect" | "expansion" | "regex"
    )
}

/// Groups adjacent nodes. The grammar sometimes treats them as separate words, as in `'r'\m`; the shell treats them as
/// one word.
pub(super) fn adjacent<'t>(parts: &[Node<'t>], src: &str) -> Vec<Vec<Node<'t>>> {
    let mut groups: Vec<Vec<Node<'t>>> = Vec::new();
    for &part in parts {
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(|last| touch(*last, part, src)) => group.push(part),
            _ => groups.push(vec![part]),
        }
    }
    groups
}

/// Number of nodes in the first word.
pub(super) fn first_word(parts: &[Node<'_>], src: &str) -> usize {
    adjacent(parts, src).first().map_or(0, Vec::len)
}

/// Whether only a line continuation separates two nodes.
pub(super) fn touch(left: Node<'_>, right: Node<'_>, src: &str) -> bool {
    src.get(left.end_byte()..right.start_byte())
        .is_some_and(|between| between.replace("\\\n", "").is_empty())
}

/// Whether a here-document is the input of a shell.
pub(super) fn feeds_shell(heredoc: Node<'_>, src: &str) -> bool {
    let Some(body) = heredoc.parent().and_then(|parent| parent.child_by_field_name("body")) else {
        return false;
    };
    source(body, src)
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'))
        .any(programs::is_shell)
}

/// Whether a name, possibly with an index, can be a variable.
pub(super) fn is_variable(name: &str) -> bool {
    let name = name.split('[').next().unwrap_or(name);
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a word is a reserved word in first position.
pub(super) fn is_reserved(word: &ShellWord) -> bool {
    const RESERVED: &[&str] = &[
        "{", "}", "!", "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in",
        "function", "select", "[[", "]]",
    ];
    matches!(&word.pieces[..], [WordPiece::Bare(text)] if RESERVED.contains(&text.as_str()))
}

pub(super) fn source<'s>(node: Node<'_>, src: &'s str) -> &'s str {
    src.get(node.byte_range()).unwrap_or_default()
}

/// Replaces every byte that is not printable ASCII with `%`, so that offsets stay the same.
///
/// The grammar's scanner uses an ASCII table and reads past its end for other bytes. To the shell they are parts of
/// words that are not variable names, like `%`.
pub(super) fn mask_escapes(text: &str) -> Vec<u8> {
    let plain = |byte: u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
    text.bytes().map(|byte| if plain(byte) { byte } else { b'%' }).collect()
}

pub(super) fn has_unescaped(text: &str, mark: &str) -> bool {
    text.match_indices(mark).any(|(at, _)| {
        let backslashes = text[..at].bytes().rev().take_while(|&byte| byte == b'\\').count();
        backslashes % 2 == 0
    })
}

pub(super) fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Characters that mislead readers, or that shells and this grammar may interpret differently.
pub(super) fn is_unusual(c: char) -> bool {
    match c {
        '\n' | '\t' | '\r' => false,
        _ if c.is_control() => true,
        _ if c.is_ascii() => false,
        _ if c.is_whitespace() => true,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}
