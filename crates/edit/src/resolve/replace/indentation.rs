//! Old text that starts inside the indentation of a line or after it.

use crate::document::{Splice, TextDocument};
use crate::fold::{indent_of, is_blank};
use crate::indent::{indent_unit, opens_block};
use crate::matcher::Haystack;
use crate::parsed_edit::ReplaceScope;
use crate::refusal::RefusalReason;
use crate::resolve::ResolvedEdit;
use crate::resolve::replace::{ReplaceTarget, lines};

/// The first new line without its indentation, if the old text starts after that of its line. Other indentation than that
/// of the line is refused.
pub(super) fn with_indentation_once(
    document: &TextDocument,
    target: ReplaceTarget<'_>,
    found: &ResolvedEdit,
) -> Result<Option<ResolvedEdit>, RefusalReason> {
    let line = document.line(found.lines.start);
    let (first_old, first_new) = (
        target.old.lines().next().unwrap_or_default(),
        target.new.lines().next().unwrap_or_default(),
    );
    let [splice] = found.splices.as_slice() else {
        return Ok(None);
    };
    let (outer, inner) = (indent_of(line), indent_of(first_new));
    let is_after_indent = indent_of(first_old).is_empty() && line[outer.len()..].starts_with(first_old);
    if target.scope == ReplaceScope::All
        || outer.is_empty()
        || inner.is_empty()
        || !is_after_indent
        || is_blank(first_new)
    {
        return Ok(None);
    }
    let start = document.line_start(found.lines.start) + outer.len();
    if splice.range.start != start || !splice.text.starts_with(inner) {
        return Ok(None);
    }
    if inner != outer {
        return Err(RefusalReason::Indentation);
    }
    Ok(Some(ResolvedEdit {
        splices: vec![Splice {
            range: splice.range.clone(),
            text: splice.text[inner.len()..].to_owned(),
        }],
        ..found.clone()
    }))
}

/// Whether the text starts inside the indentation of the line that was found and is replaced by several lines.
pub(super) fn starts_in_indent(haystack: &Haystack<'_>, target: ReplaceTarget<'_>, found: &ResolvedEdit) -> bool {
    let several = target.new.trim_end_matches('\n').contains('\n');
    let line = haystack.document.line(found.lines.start);
    let start = target.old.lines().next().unwrap_or_default();
    let is_inside = || {
        let before = line.find(start.trim_end()).map(|at| &line[..at]);
        before.is_some_and(|before| !before.is_empty() && is_blank(before))
    };
    several && target.scope == ReplaceScope::One && is_inside()
}

/// The new lines need the missing indentation too, unless they have it already.
pub(super) fn by_whole_lines(
    haystack: &Haystack<'_>,
    target: ReplaceTarget<'_>,
    found: ResolvedEdit,
) -> Result<ResolvedEdit, RefusalReason> {
    let outer = indent_of(haystack.document.line(found.lines.start));
    // The lines below the first may have the indentation of the file already.
    let is_one_line = !target.old.trim_end().contains('\n');
    let mut below = target.new.lines().skip(1).filter(|line| !is_blank(line));
    let may_be_placed = is_one_line && below.all(|line| line.starts_with(outer)) && !outer.is_empty();
    if may_be_placed {
        return match has_depth_of_place(haystack.document, target.new, found.lines.start) {
            Some(true) => Ok(found),
            Some(false) => lines(haystack, target)?.ok_or(RefusalReason::Indentation),
            None => Err(RefusalReason::Indentation),
        };
    }
    if let Ok(Some(by_lines)) = lines(haystack, target)
        && by_lines.lines == found.lines
    {
        return Ok(by_lines);
    }
    let is_placed = target
        .new
        .lines()
        .skip(1)
        .all(|line| is_blank(line) || line.starts_with(outer));
    if is_placed {
        Ok(found)
    } else {
        Err(RefusalReason::Indentation)
    }
}

/// Whether the lines below the first of `new` have the depth that is usual at `line`, as they are rather than below its
/// indentation; `None` if neither or both are usual.
fn has_depth_of_place(document: &TextDocument, new: &str, line: usize) -> Option<bool> {
    let outer = indent_of(document.line(line));
    let unit = indent_unit(document.lines());
    let mut lines = new.lines().filter(|line| !is_blank(line));
    let (first, second) = (lines.next()?, indent_of(lines.next()?));
    let usual = match opens_block(first) {
        true => format!("{outer}{unit}"),
        false => outer.to_owned(),
    };
    match (second == usual, format!("{outer}{second}") == usual) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        (true, true) | (false, false) => None,
    }
}
