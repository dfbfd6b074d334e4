//! The content of a whole file as a model writes it: another notation is read, an edit or a placeholder is refused.

use std::path::Path;

use crate::alternative_readings::{code_without_markdown_escapes, plain_new_text, unfenced, unnumbered_listing};
use crate::document::{TextDocument, normalize_newlines};
use crate::fold::{indent_of, is_blank};
use crate::format::{detect, parse};
use crate::notation::{
    has_fence, has_half_fence, notation, refuse_control_characters, refuse_file_name, refuse_prose, shared_lines,
    without_code_entities, without_stop_token,
};
use crate::parse::xml::without_unopened_tags;
use crate::parsed_edit::{EditChange, ParsedEdit};
use crate::placeholder::find_placeholder;
use crate::refusal::RefusalReason;
use crate::text_kind::TextKind;

/// The content to write to `path`, which contains `before`: without a code fence around it, the line numbers of a
/// listing, escapes, entities or stray closing tags that the file does not have. Refused if it leaves out lines of the
/// file, is an edit, or is in another notation that cannot be read with certainty.
pub fn whole_content(path: &Path, before: Option<&str>, content: &str) -> Result<String, RefusalReason> {
    let kind = TextKind::of(path);
    let document = TextDocument::parse(before.unwrap_or_default());
    let old = document.body();
    let mut text = normalize_newlines(content);
    let is_edit_only = |text: &str| is_edit(path, text) && !is_edit(path, old);
    if kind.is_document() && !old.is_empty() {
        if is_edit_only(&text) {
            return Err(RefusalReason::EditAsContent);
        }
        if let Some(inside) =
            unfenced(&text).filter(|inside| unfenced(old).is_none() && shared_lines(old, inside) >= 0.5)
        {
            text = inside;
        }
        if without_unopened_tags(old).len() == old.len() {
            text.truncate(without_unopened_tags(&text).len());
        }
    }
    if let Some(plain) = unescaped_content(old, &text)? {
        text = plain;
    }
    if !kind.is_document() {
        if is_edit_only(&text) {
            return Err(RefusalReason::EditAsContent);
        }
        text.truncate(without_stop_token(&text, old).len());
        if !has_fence(old) && has_fence(&text) {
            text = without_fence(old, &text)?;
        }
        text.truncate(without_unopened_tags(&text).len());
        if let Some(plain) = unnumbered_listing(&text).filter(|_| unnumbered_listing(old).is_none()) {
            text = plain;
        }
        if is_edit_only(&text) {
            return Err(RefusalReason::EditAsContent);
        }
    }
    if let Some(plain) =
        code_without_markdown_escapes("", &text, old).filter(|_| !old.is_empty() && kind.is_without_markdown())
    {
        text = plain;
    }
    if let Some(plain) = without_common_indentation(old, &text) {
        text = plain;
    }
    if let Some(plain) = plain_new_text(old, &text, old).filter(|_| !old.is_empty()) {
        text = plain;
    }
    if let Some(plain) = without_code_entities(old, &text, old, kind)?.filter(|_| !old.is_empty()) {
        text = plain;
    }
    if !old.is_empty() && !kind.is_document() {
        refuse_prose(old, &text)?;
        refuse_prose_at_end(old, &text)?;
    }
    refuse_part(old, &text)?;
    if !old.is_empty() {
        refuse_file_name(old, &text, old, kind)?;
        refuse_control_characters("", &text, old)?;
    }
    // A new file leaves out nothing of an old one.
    let placeholder = before.and_then(|_| find_placeholder(&document, old, &text, kind.omissions));
    placeholder.map_or(Ok(()), Err)?;
    Ok(if text == normalize_newlines(content) {
        content.to_owned()
    } else {
        text
    })
}

/// Refuses a sentence of the answer below the last line of the file.
fn refuse_prose_at_end(old: &str, text: &str) -> Result<(), RefusalReason> {
    const STARTS: [&str; 9] = [
        "I have ",
        "I've ",
        "I ",
        "This ",
        "The ",
        "These ",
        "Note",
        "Let me know",
        "That ",
    ];
    let Some((before, last)) = text.trim_end().rsplit_once("\n\n") else {
        return Ok(());
    };
    let is_sentence = !last.contains('\n')
        && STARTS.iter().any(|start| last.starts_with(start))
        && last.ends_with(['.', '!', '?', ':']);
    let end = old.trim_end().lines().next_back().unwrap_or_default();
    match is_sentence && before.trim_end().lines().next_back() == Some(end) && !old.contains(last) {
        true => Err(notation("ends with a sentence that is not part of the file")),
        false => Ok(()),
    }
}

/// Refuses a part of the file: few lines, most of them from its middle.
fn refuse_part(old: &str, text: &str) -> Result<(), RefusalReason> {
    const LEAST: usize = 40;
    let solid = |text: &'_ str| {
        text.lines()
            .filter(|line| !is_blank(line))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (before, after) = (solid(old), solid(text));
    let is_short = before.len() >= LEAST && after.len() * 4 <= before.len();
    let is_same = |one: Option<&String>, other: Option<&String>| {
        one == other && one.is_some_and(|line| line.chars().filter(|c| c.is_alphanumeric()).count() > 2)
    };
    let has_ends = is_same(after.first(), before.first()) || is_same(after.last(), before.last());
    match is_short && !has_ends && shared_lines(text, old) >= 0.5 {
        true => Err(RefusalReason::PartAsContent),
        false => Ok(()),
    }
}

/// The content of a file of several lines, if it is written as one line with escapes.
fn unescaped_content(old: &str, text: &str) -> Result<Option<String>, RefusalReason> {
    let line = text.trim();
    if line.contains('\n') || line.matches("\\n").count() < 2 || old.trim_end().lines().count() < 3 {
        return Ok(None);
    }
    let quoted = match line.starts_with('"') && line.ends_with('"') && line.len() > 1 {
        true => line.to_owned(),
        false => format!("\"{line}\""),
    };
    // Quotes may be left as they are.
    let readings = [quoted.clone(), format!("\"{}\"", line.replace('"', "\\\""))];
    let decoded = readings
        .iter()
        .find_map(|quoted| serde_json::from_str::<String>(quoted).ok());
    match decoded.filter(|decoded| shared_lines(old, decoded) >= 0.5) {
        Some(decoded) => Ok(Some(decoded)),
        None => Err(notation("has `\\n` in place of line breaks")),
    }
}

/// The content of the only fence, if all that the text shares with the file is in it.
fn without_fence(old: &str, text: &str) -> Result<String, RefusalReason> {
    if let Some(inside) = unfenced(text) {
        return Ok(inside);
    }
    let is_fence = |line: &&str| line.trim_start().starts_with("```");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let open = lines.iter().position(is_fence).unwrap_or_default();
    let close = lines.iter().rposition(is_fence).unwrap_or_default();
    let inside = if open < close {
        lines[open + 1..close].concat()
    } else {
        String::new()
    };
    let outside = [&lines[..open], lines.get(close + 1..).unwrap_or_default()]
        .concat()
        .concat();
    if open < close && !has_fence(&inside) && shared_lines(old, &inside) >= 0.5 && shared_lines(old, &outside) < 0.05 {
        return Ok(inside);
    }
    // Without a file to compare with, a fence inside is content.
    let is_wrapper = !old.is_empty() || has_half_fence(text);
    let is_content = open > 0 && close + 1 < lines.len();
    match is_wrapper && !is_content {
        true => Err(notation("starts or ends with the line of a code fence")),
        false => Ok(text.to_owned()),
    }
}

/// The text without indentation that all of its lines have and most of those of the file have not.
fn without_common_indentation(old: &str, text: &str) -> Option<String> {
    let mut solid = text.lines().filter(|line| !is_blank(line));
    let indent = indent_of(solid.next()?);
    let is_common = !indent.is_empty() && solid.all(|line| line.starts_with(indent));
    if !is_common {
        return None;
    }
    let line = |line: &str| line.strip_prefix(indent).unwrap_or(line).to_owned();
    let plain: String = text.split_inclusive('\n').map(line).collect();
    (shared_lines(old, &plain) >= 0.5 && shared_lines(old, &plain) > shared_lines(old, text) + 0.2).then_some(plain)
}

/// Whether a text consists of edits: it starts as a format does that changes parts of files.
fn is_edit(path: &Path, text: &str) -> bool {
    let is_patch_file = path
        .extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| ["diff", "patch", "rej", "orig", "txt"].contains(&extension));
    let start = text.trim_start();
    let is_data = path.extension().is_some_and(|extension| extension == "json");
    let marks = [
        "<edits>",
        if is_data { "<edits>" } else { "{" },
        "*** Begin Patch",
        "*** Update File: ",
        "<<<<<<< SEARCH",
        "------- SEARCH",
        "--- ",
        "diff --git ",
        "@@ -",
        "<old_text",
    ];
    let format = detect(text).filter(|_| !is_patch_file && marks.iter().any(|mark| start.starts_with(mark)));
    let is_part = |edit: &ParsedEdit| !matches!(edit.change, EditChange::Write(_) | EditChange::Create(_));
    format.is_some_and(|format| parse(text, format).is_ok_and(|edits| edits.iter().any(is_part)))
}
