//! The content of a whole file as a model writes it: another notation is read, an edit or a placeholder is refused.

use std::path::Path;

use crate::alternative_readings::{plain_new_text, unfenced, unnumbered_listing};
use crate::document::{TextDocument, normalize_newlines};
use crate::format::{detect, parse};
use crate::parse::xml::without_unopened_tags;
use crate::parsed_edit::{EditChange, ParsedEdit};
use crate::placeholder::{OmissionPolicy, find_placeholder, omissions_in};
use crate::refusal::RefusalReason;

/// The content to write to `path`, which contains `before`: without a code fence around it, the line numbers of a
/// listing, entities or stray closing tags that the file does not have. Refused if it leaves out lines of the file or is
/// an edit.
pub fn whole_content(path: &Path, before: Option<&str>, content: &str) -> Result<String, RefusalReason> {
    let policy = omissions_in(path);
    let document = TextDocument::parse(before.unwrap_or_default());
    let old = document.body();
    let mut text = normalize_newlines(content);
    let is_edit_only = |text: &str| is_edit(path, text) && !is_edit(path, old);
    if policy != OmissionPolicy::Document {
        if is_edit_only(&text) {
            return Err(RefusalReason::EditAsContent);
        }
        if let Some(inside) = unfenced(&text).filter(|_| unfenced(old).is_none()) {
            text = inside;
        }
        text.truncate(without_unopened_tags(&text).len());
        if let Some(plain) = unnumbered_listing(&text).filter(|_| unnumbered_listing(old).is_none()) {
            text = plain;
        }
        if let Some(plain) = plain_new_text(old, &text, old).filter(|_| !old.is_empty()) {
            text = plain;
        }
        if is_edit_only(&text) {
            return Err(RefusalReason::EditAsContent);
        }
    }
    // A new file leaves out nothing of an old one.
    let placeholder = before.and_then(|_| find_placeholder(&document, old, &text, policy));
    placeholder.map_or(Ok(()), Err)?;
    Ok(if text == normalize_newlines(content) {
        content.to_owned()
    } else {
        text
    })
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
