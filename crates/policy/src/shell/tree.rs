//! Looks at the syntax tree and its source: what belongs together, what stands between, and where the grammar and the shell
//! disagree.

use super::word::Piece;
use super::{Word, program};
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

/// What stands between the parts of a part.
pub(super) fn gaps<'s>(node: Node<'_>, src: &'s str) -> Vec<&'s str> {
    let parts = children(node);
    let between = parts.windows(2).map(|pair| pair[0].end_byte()..pair[1].start_byte());
    between.filter_map(|range| src.get(range)).collect()
}

/// The text of a part that none of its parts has.
pub(super) fn unread<'s>(node: Node<'_>, src: &'s str) -> Vec<&'s str> {
    let parts = children(node);
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
        return vec![source(node, src)];
    };
    let ends = [node.start_byte()..first.start_byte(), last.end_byte()..node.end_byte()];
    let ends = ends.into_iter().filter_map(|range| src.get(range));
    ends.chain(gaps(node, src)).collect()
}

/// Whether a here-document ends where the shell ends it: at the first line that is the delimiter and nothing else.
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

/// Whether a word follows a redirection without a space, so that it is the end of the name of the file.
pub(super) fn cuts_redirection(node: Node<'_>, src: &str) -> bool {
    let redirects = |node: Node<'_>| {
        matches!(
            node.kind(),
            "file_redirect" | "herestring_redirect" | "heredoc_redirect"
        )
    };
    let parts = children(node);
    parts
        .windows(2)
        .any(|pair| redirects(pair[0]) && pair[1].is_named() && !redirects(pair[1]) && touch(pair[0], pair[1], src))
}

/// Whether nothing but space stands there; the grammar also skips a backslash before a space, the shell does not.
pub(super) fn is_space(text: &str) -> bool {
    text.replace("\\\n", "").chars().all(|c| matches!(c, ' ' | '\t' | '\n'))
}

/// Whether a gap may stand between the parts of a kind of part: only space, and within a command no line break.
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

/// Whether a dollar in unquoted text begins an expansion after all.
pub(super) fn hides_expansion(text: &str, after: &str) -> bool {
    text.match_indices('$').any(|(at, _)| {
        let next = text[at + 1..].chars().chain(after.chars()).next();
        let begins = next.is_some_and(|next| next.is_ascii_alphanumeric() || "_{([@*#?$!-".contains(next));
        let backslashes = text[..at].bytes().rev().take_while(|&byte| byte == b'\\').count();
        begins && backslashes % 2 == 0
    })
}

/// Whether a test in single brackets is one: operators of the shell end it early.
pub(super) fn is_test(text: &str) -> bool {
    text.starts_with("[[")
        || text.starts_with("((")
        || (text.len() > 3 && !text.contains(['|', '&', ';', '\n', '<', '>', '(']))
}

/// Whether the number in front of a redirection is one, and not the end of a word.
pub(super) fn may_be_descriptor(before: &str) -> bool {
    let last = before.trim_end_matches("\\\n").chars().next_back();
    last.is_none_or(|last| last.is_whitespace() || ";|&()`{}<>".contains(last))
}

/// Whether a comment may begin after this text; in the middle of a word, even one that goes on in the next line, it may not.
pub(super) fn may_comment(before: &str) -> bool {
    let last = before.trim_end_matches("\\\n").chars().next_back();
    last.is_none_or(|last| last.is_whitespace() || ";|&()`".contains(last))
}

/// Parts in which text stands without a part of its own.
pub(super) fn is_text(kind: &str) -> bool {
    matches!(
        kind,
        "string" | "translated_string" | "heredoc_body" | "heredoc_redirect" | "expansion" | "regex"
    )
}

/// Groups the parts that stand next to each other without a space. To the grammar they are sometimes words of their own, as in
/// `'r'\m`; to the shell they are one word.
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

/// How many of the parts make the first word.
pub(super) fn first_word(parts: &[Node<'_>], src: &str) -> usize {
    adjacent(parts, src).first().map_or(0, Vec::len)
}

/// Whether nothing stands between two parts but the end of a line that goes on.
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
        .any(program::is_shell)
}

/// Whether a name, perhaps with an index, can be that of a variable.
pub(super) fn is_variable(name: &str) -> bool {
    let name = name.split('[').next().unwrap_or(name);
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a word is part of the grammar when it stands first.
pub(super) fn is_reserved(word: &Word) -> bool {
    const RESERVED: &[&str] = &[
        "{", "}", "!", "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in",
        "function", "select", "[[", "]]",
    ];
    matches!(&word.pieces[..], [Piece::Bare(text)] if RESERVED.contains(&text.as_str()))
}

pub(super) fn source<'s>(node: Node<'_>, src: &'s str) -> &'s str {
    src.get(node.byte_range()).unwrap_or_default()
}

/// The text with one `%` for every byte that is not printable ASCII, so that all places stay where they are.
///
/// The grammar's scanner looks characters up in a table for ASCII and reads past its end for others. To the shell they are
/// parts of words that are no names of variables, as `%` is.
pub(super) fn masked(text: &str) -> Vec<u8> {
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

/// Characters that hide something from a reader, or that shells and this grammar may read differently.
pub(super) fn is_odd(c: char) -> bool {
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
