//! New text that is written in another notation than the file: what is certain is read, the rest is refused.

use model::entities::{self, ENTITIES};
use std::collections::HashSet;

use crate::alternative_readings::{code_without_markdown_escapes, numbered_listing, plain_new_text, unfenced};
use crate::document::normalize_newlines;
use crate::fold::{is_blank, similarity};
use crate::parse::xml::{without_cdata, without_stray_start, without_stray_tags};
use crate::parsed_edit::HunkLine;
use crate::refusal::RefusalReason;
use crate::text_kind::TextKind;

/// The new text of a replacement as it must be in the file, which has the content `body`.
pub(crate) fn plain_replacement(old: &str, new: &str, body: &str, kind: TextKind<'_>) -> Result<String, RefusalReason> {
    let mut new = without_stop_token(new, body).to_owned();
    if let Some(inside) = without_stray_start(old, &new, body) {
        new = with_end_of(old, inside);
    }
    if let Some(inside) = without_cdata(&new).filter(|_| without_cdata(old).is_none() && !body.contains("<![CDATA[")) {
        new = with_end_of(old, inside.strip_prefix('\n').unwrap_or(inside));
    }
    if let Some(inside) = unfenced(&new).filter(|_| unfenced(old).is_none()) {
        if !kind.is_document() {
            new = with_end_of(old, &inside);
        } else if is_fenced_by_mistake(old, &inside) {
            return Err(notation("is in a code fence, which the old text is not"));
        }
    }
    if !kind.is_document() {
        if let Some(plain) = code_without_markdown_escapes(old, &new, body).filter(|_| kind.is_without_markdown()) {
            new = plain;
        }
        if has_half_fence(&new) && !has_fence(old) && !has_fence(body) {
            return Err(notation("starts or ends with the line of a code fence"));
        }
        refuse_prose(old, &new)?;
    } else if is_fence_open(old) != is_fence_open(&new) && !is_fence_open(body) {
        return Err(notation("opens or closes a code fence without its other end"));
    }
    if let Some(kept) = without_stray_tags(old, &new, body) {
        new = kept;
    }
    if let Some(plain) = plain_new_text(old, &new, body) {
        new = plain;
    }
    if let Some(plain) = without_code_entities(old, &new, body, kind)? {
        new = plain;
    }
    refuse_file_name(old, &new, body, kind)?;
    refuse_signs(old, &new, body, kind)?;
    refuse_escaped_quotes(old, &new, body, kind)?;
    Ok(new)
}

/// Whether a fence is open at the end of a text.
fn is_fence_open(text: &str) -> bool {
    text.lines().filter(|line| is_fence(line)).count() % 2 == 1
}

/// Refuses lines that all have the sign of an added line, as no line of the file.
fn refuse_signs(old: &str, new: &str, body: &str, kind: TextKind<'_>) -> Result<(), RefusalReason> {
    let mut solid = new.lines().filter(|line| !is_blank(line));
    let is_added = |line: &str| line.starts_with('+');
    // A single sign may be an operator.
    let is_signed = solid.clone().count() > 1 && solid.all(is_added);
    match is_signed && !kind.is_document() && !old.lines().chain(body.lines()).any(is_added) {
        true => Err(notation("has the signs of a diff")),
        false => Ok(()),
    }
}

/// Refuses a sentence of the answer above the new lines.
pub(crate) fn refuse_prose(old: &str, new: &str) -> Result<(), RefusalReason> {
    const STARTS: [&str; 10] = [
        "Here is ",
        "Here's ",
        "Here are ",
        "Sure, ",
        "Sure! ",
        "Updated ",
        "The updated ",
        "Below is ",
        "This is the ",
        "I have ",
    ];
    let first = new.lines().find(|line| !is_blank(line)).unwrap_or_default().trim();
    // Without an empty line below, it may be a key.
    let is_heading = matches!(first, "Updated:" | "Sure:") && new.trim_start()[first.len()..].starts_with("\n\n");
    let is_start = STARTS.iter().any(|start| first.starts_with(start)) && first.ends_with(':') && new.contains('\n');
    let is_prose = is_heading || is_start;
    match is_prose && !old.lines().any(|line| line.trim() == first) {
        true => Err(notation("starts with a sentence that is not part of the file")),
        false => Ok(()),
    }
}

/// Refuses quotes with a backslash and Unicode escapes outside of strings, if the file has none.
fn refuse_escaped_quotes(old: &str, new: &str, body: &str, kind: TextKind<'_>) -> Result<(), RefusalReason> {
    const QUOTE: &str = "\\\"";
    const CODES: [&str; 4] = ["\\u003c", "\\u003e", "\\u0026", "\\u0027"];
    let is_escaped = |line: &str| {
        let count = line.matches(QUOTE).count();
        count > 1 && count.is_multiple_of(2) && has_unquoted_in_line(line, QUOTE)
    };
    let is_unused = |mark: &str| new.contains(mark) && !old.contains(mark) && !body.contains(mark);
    let is_open = (kind.is_without_entities() || kind.is_markup()) && !kind.is_shell();
    let is_attribute = |line: &str| kind.is_markup() && line.contains('<') && line.contains("=\\\"");
    if is_open && is_unused(QUOTE) && new.lines().any(|line| is_escaped(line) || is_attribute(line)) {
        return Err(notation("has a backslash before quotes that are no part of a string"));
    }
    let is_code = |line: &str| CODES.iter().any(|code| has_unquoted_in_line(line, code));
    match kind.is_without_entities() && is_unused("\\u00") && new.lines().any(is_code) {
        true => Err(notation("has Unicode escapes that are no part of a string")),
        false => Ok(()),
    }
}

/// The text of lines that take the place of `old` at line `number` (from 1), or are inserted there.
pub(crate) fn plain_lines(
    old: &str,
    new: &str,
    number: usize,
    body: &str,
    kind: TextKind<'_>,
) -> Result<String, RefusalReason> {
    let new = normalize_newlines(new);
    let mut new = plain_replacement(old, &new, body, kind)?;
    if let Some((plain, first)) = numbered_listing(&new)
        && first.abs_diff(number) <= 1
        && numbered_listing(body).is_none()
    {
        new = plain;
    }
    if kind.is_document() {
        return Ok(new);
    }
    let solid = || new.lines().filter(|line| !is_blank(line));
    let is_signed = |line: &str| line.starts_with(['+', '-']);
    let has_escape_at_end = |text: &str| text.lines().any(|line| line.ends_with("\\n"));
    if new.trim_end().ends_with("\\n") && !has_escape_at_end(old) && !has_escape_at_end(body) {
        return Err(notation("has `\\n` in place of line breaks"));
    }
    let has_signs = solid().any(|line| line.starts_with('+')) && solid().all(|line| line.starts_with(['+', '-', ' ']));
    if has_signs && !body.lines().chain(old.lines()).any(is_signed) {
        return Err(notation("has the signs of a diff"));
    }
    if !new.trim_end_matches('\n').contains('\n') && has_unquoted(&new, "\\n") {
        return Err(notation("has `\\n` in place of line breaks"));
    }
    Ok(new)
}

/// The lines of a hunk with its added lines as they must be in the file.
pub(crate) fn plain_hunk(
    lines: &[HunkLine],
    body: &str,
    kind: TextKind<'_>,
) -> Result<Option<Vec<HunkLine>>, RefusalReason> {
    let old = crate::resolve::hunk::old_text(lines);
    let added: Vec<&str> = lines
        .iter()
        .filter_map(|line| match line {
            HunkLine::Add(text) => Some(text.as_str()),
            HunkLine::Keep { .. } | HunkLine::Remove(_) => None,
        })
        .collect();
    let written = added.join("\n");
    let mut plain = without_stop_token(&written, body).to_owned();
    if let Some(text) = code_without_markdown_escapes(&old, &plain, body).filter(|_| kind.is_without_markdown()) {
        plain = text;
    }
    if let Some(text) = without_code_entities(&old, &plain, body, kind)? {
        plain = text;
    }
    if let Some(text) = plain_new_text(&old, &plain, body).filter(|text| text.split('\n').count() == added.len()) {
        plain = text;
    }
    refuse_escaped_quotes(&old, &plain, body, kind)?;
    if plain == written {
        return Ok(None);
    }
    let mut plain = plain.split('\n');
    let with_plain = |line: &HunkLine| match line {
        HunkLine::Add(_) => HunkLine::Add(plain.next().unwrap_or_default().to_owned()),
        HunkLine::Keep { .. } | HunkLine::Remove(_) => line.clone(),
    };
    Ok(Some(lines.iter().map(with_plain).collect()))
}

pub(crate) fn notation(problem: impl Into<String>) -> RefusalReason {
    RefusalReason::Notation(problem.into())
}

/// Refuses control characters that the file has not: the escape sequence for one was meant.
pub(crate) fn refuse_control_characters(old: &str, new: &str, body: &str) -> Result<(), RefusalReason> {
    let is_control = |c: char| c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r');
    let is_page_break = |c: char| c == '\u{c}' && new.lines().any(|line| line == "\u{c}");
    let found = new
        .chars()
        .find(|c| is_control(*c) && !is_page_break(*c) && !old.contains(*c) && !body.contains(*c));
    found.map_or(Ok(()), |c| {
        let code = u32::from(c);
        Err(notation(format!(
            "contains the control character U+{code:04X}; write a backslash of the file as two backslashes in JSON"
        )))
    })
}

/// `inside` with a final newline if `old` has one.
fn with_end_of(old: &str, inside: &str) -> String {
    let bare = inside.strip_suffix('\n').unwrap_or(inside);
    match old.is_empty() || old.ends_with('\n') {
        true => format!("{bare}\n"),
        false => bare.to_owned(),
    }
}

/// The text without the special token at its end with which models end a message.
pub(crate) fn without_stop_token<'t>(text: &'t str, body: &str) -> &'t str {
    const LONGEST: usize = 48;
    let trimmed = text.trim_end();
    if let Some(rest) = trimmed.strip_suffix("[/INST]").filter(|_| !body.contains("[/INST]")) {
        return without_stop_token(rest, body);
    }
    let Some(start) = trimmed.rfind('<') else { return text };
    let token = &trimmed[start..];
    let bars = ['|', '\u{ff5c}'];
    let inside = token.trim_start_matches('<').trim_end_matches('>');
    let is_special = token.ends_with('>')
        && inside.starts_with(bars)
        && inside.ends_with(bars)
        && token.len() < LONGEST
        && !token.contains(char::is_whitespace);
    let is_turn = ["<end_of_turn>", "<start_of_turn>", "<eos>"].contains(&token);
    match (is_special || is_turn || token == "</s>" && !text.contains("<s>") && !body.contains("<s>"))
        && !body.contains(token)
    {
        true => without_stop_token(&text[..start], body),
        false => text,
    }
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

pub(crate) fn has_fence(text: &str) -> bool {
    text.lines().any(is_fence)
}

/// Whether only one end of a text is the line of a code fence.
pub(crate) fn has_half_fence(text: &str) -> bool {
    let solid: Vec<&str> = text.lines().filter(|line| !is_blank(line)).collect();
    let at_ends = [solid.first(), solid.last()];
    solid.len() > 1
        && solid.iter().filter(|line| is_fence(line)).count() % 2 == 1
        && at_ends.into_iter().flatten().any(|line| is_fence(line))
}

/// Whether a fence in a document is around changed lines, rather than put around them.
fn is_fenced_by_mistake(old: &str, inside: &str) -> bool {
    let is_like = |line: &str| {
        let has_words = line.chars().filter(|c| c.is_alphanumeric()).count() > 2;
        has_words && old.lines().any(|old| similarity(old.trim(), line.trim()) >= 0.6)
    };
    let ends = |text: &'_ str| {
        let mut solid = text
            .lines()
            .filter(|line| !is_blank(line))
            .map(|line| line.trim_end().to_owned());
        let first = solid.next();
        (solid.next_back().or(first.clone()), first)
    };
    // The fence is around lines that the old text has at its ends.
    let ((last, first), (old_last, old_first)) = (ends(inside), ends(old));
    let has_ends = first == old_first || last == old_last;
    inside.trim() != old.trim() && inside.lines().any(is_like) && (!has_fence(old) || has_ends)
}

/// Whether `sought` occurs outside of quotes and comments of a line.
fn has_unquoted(text: &str, sought: &str) -> bool {
    text.lines().any(|line| has_unquoted_in_line(line, sought))
}

fn has_unquoted_in_line(line: &str, sought: &str) -> bool {
    if ["//", "#", "*", "/*", "--"]
        .iter()
        .any(|mark| line.trim_start().starts_with(mark))
    {
        return false;
    }
    let mut rest = line;
    while let Some(found) = rest.find(sought) {
        let quote = rest[..found].find(['"', '\'', '`']);
        let end = quote.and_then(|start| {
            let mark = &rest[start..=start];
            rest[start + 1..].find(mark).map(|end| start + end + 2)
        });
        match end {
            Some(end) => rest = &rest[end..],
            None => return true,
        }
    }
    false
}

/// Code without entities, if they are in it where only code can be and the file has none.
pub(crate) fn without_code_entities(
    old: &str,
    new: &str,
    body: &str,
    kind: TextKind<'_>,
) -> Result<Option<String>, RefusalReason> {
    let used: Vec<(&str, &str)> = ENTITIES
        .into_iter()
        .filter(|(entity, _)| new.contains(entity))
        .collect();
    let is_known = |(entity, _): &(&str, &str)| {
        let name = entity.trim_matches(['&', ';']);
        let mut words = body.split(|c: char| !c.is_alphanumeric() && c != '_');
        old.contains(entity) || body.contains(entity) || words.any(|word| word == name)
    };
    // Operators of a shell or of a language are code in strings, too.
    const OPERATORS: [&str; 5] = ["&amp;&amp;", "-&gt;", "=&gt;", "&gt;&amp;", "2&gt;"];
    let is_operator = || OPERATORS.iter().any(|operator| new.contains(operator));
    let is_code = |(entity, _): &(&str, &str)| is_operator() || has_unquoted(new, entity);
    if used.is_empty() || !kind.is_without_entities() || !used.iter().any(is_code) || used.iter().any(is_known) {
        return Ok(None);
    }
    let is_mixed = |(_, plain): &(&str, &str)| *plain != "&" && new.contains(plain);
    match used.iter().any(is_mixed) {
        true => Err(notation(format!("has the entity `{}` in code", used[0].0))),
        false => Ok(Some(entities::decode(new))),
    }
}

/// Refuses a first line that is the name of the file.
pub(crate) fn refuse_file_name(old: &str, new: &str, body: &str, kind: TextKind<'_>) -> Result<(), RefusalReason> {
    let Some((first, rest)) = new.split_once('\n') else {
        return Ok(());
    };
    let marks = ['`', '*', '#', ' ', ':', '/', '-', '+', '<', '>', '!', ';', '%', '"'];
    let plain = |line: &str| line.trim().trim_matches(marks).to_owned();
    let name = plain(first);
    let name = ["File: ", "file: ", "filepath: ", "Path: "]
        .iter()
        .find_map(|label| {
            plain(first.trim_start_matches(['/', '#', ' ']))
                .strip_prefix(label)
                .map(str::to_owned)
        })
        .unwrap_or(name);
    let path = kind.path.to_string_lossy();
    let is_name =
        name.len() > 2 && name.contains(['.', '/']) && (path == name.as_str() || path.ends_with(&format!("/{name}")));
    let is_known = || old.lines().chain(body.lines()).any(|line| line.trim() == first.trim());
    match is_name && !is_blank(rest) && !is_known() {
        true => Err(notation("starts with the name of the file")),
        false => Ok(()),
    }
}

/// The share of the non-blank lines of `body` that `text` has.
pub(crate) fn shared_lines(body: &str, text: &str) -> f64 {
    let lines: HashSet<&str> = text.lines().collect();
    let mut solid = body.lines().filter(|line| !is_blank(line)).peekable();
    if solid.peek().is_none() {
        return 0.0;
    }
    let (mut all, mut shared) = (0_u32, 0_u32);
    for line in solid {
        all += 1;
        shared += u32::from(lines.contains(line));
    }
    f64::from(shared) / f64::from(all)
}
