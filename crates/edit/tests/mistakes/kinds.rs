//! The mistakes that models make in edits, each applied to a correct edit with a known result.

use edit::EditFormat;

use crate::content::*;
use crate::edges::*;
use crate::layout::*;
use crate::notation::*;
use crate::placing::*;
use crate::structure::*;
use crate::surroundings::*;
use crate::task::{Entry, Random, Source, Task, is_blank, write};

/// An edit text with the only acceptable result.
#[derive(Clone, Debug)]
pub(crate) struct MistakeCase {
    pub(crate) path: String,
    pub(crate) before: String,
    pub(crate) format: EditFormat,
    pub(crate) text: String,
    /// `None` if it must be refused.
    pub(crate) expected: Option<String>,
    /// The correct edit.
    pub(crate) task: Task,
}

type Build = fn(&mut Random, &Source) -> Option<MistakeCase>;

/// Every kind, with the least share (percent) that must be applied.
pub(crate) const KINDS: &[(&str, usize, Build)] = &[
    ("exact", 99, exact),
    ("A joined lines", 0, joined),
    ("A split line", 0, split),
    ("A all joined", 0, all_joined),
    ("B omitted bracket", 0, omitted_bracket),
    ("B cut last line", 0, cut_last),
    ("C sign over indentation", 0, sign_over_indent),
    ("C offset", 0, offset),
    ("C space after sign", 0, space_after_sign),
    ("D at the margin", 0, at_margin),
    ("D dedented", 50, dedented),
    ("D other indentation", 50, other_indent),
    ("D first line stripped", 0, first_stripped),
    ("E exact hint", 90, exact_hint),
    ("E stale hint", 0, stale_hint),
    ("E hint near a wrong copy", 0, wrong_copy_hint),
    ("E no hint", 0, no_hint),
    ("E copy at the end of the file", 30, copy_at_end),
    ("F placeholder", 0, placeholder),
    ("F placeholder body", 0, placeholder_body),
    ("F genuine comment", 95, genuine_comment),
    ("G no final newline", 90, no_final_newline),
    ("H stray tag", 0, stray_tag),
    ("L listing prefixes", 80, listing_prefixes),
    ("L prose between", 90, prose_between),
    ("L dash markers", 95, dash_markers),
    ("L omitted line", 0, omitted_line),
    ("L zero context", 0, zero_context),
    ("blank lines", 50, blank_lines),
    ("trailing space", 90, trailing_space),
    ("typo", 0, typo),
    ("look-alikes", 50, look_alikes),
    ("other copy", 0, other_line),
    ("short text", 0, short_text),
    ("fenced", 50, fenced),
    ("several edits", 50, several),
    ("new text with diff signs", 90, new_with_signs),
    ("new text with entities", 90, new_with_entities),
    ("new text on one line", 80, new_on_one_line),
    ("JSON in a fence of code", 95, json_in_code_fence),
    ("space after signs of changes", 50, spaced_changes),
    ("F note in place of lines", 0, note_in_place),
    ("D only the old text dedented", 80, old_dedented),
    ("C space after signs of context", 50, spaced_context),
    ("newline lost", 90, newline_lost),
    ("part of a line", 0, part_of_line),
    ("repeated neighbour", 0, repeated_neighbour),
    ("H stray tag in JSON", 80, stray_tag_of_json),
    ("new text in a fence", 80, fenced_new_text),
    ("look-alikes in the new text", 80, look_alikes_in_new),
    ("C sign over additions", 0, sign_over_additions),
    ("whole file in another notation", 95, whole_in_other_notation),
    ("edit as the content of a file", 0, edit_as_content),
    ("entities in a short line", 80, entities_in_short_line),
    ("entities in an added line", 70, entities_in_added_line),
    ("Markdown escapes in an added line", 90, markdown_escapes_in_added_line),
    ("quotes escaped in the new text", 90, quotes_escaped_in_new),
    ("templates escaped in the new text", 90, template_escaped_in_new),
    ("Unicode escapes in the new text", 80, unicode_escaped_in_new),
    ("special token", 95, special_token),
    ("half a fence", 0, half_a_fence),
    ("CDATA around the new text", 90, character_data),
    ("file name in the new text", 0, file_name_in_new),
    ("backslash not escaped", 10, backslash_not_escaped),
    ("typo in both texts", 0, typo_in_both),
    ("inserted in another notation", 50, inserted_in_other_notation),
    ("placeholder around inserted lines", 0, placeholder_around_inserted),
    ("inserted with a neighbour", 0, inserted_with_neighbour),
    ("anchored exactly", 90, anchored_exact),
    ("anchored in another notation", 60, anchored_in_other_notation),
    ("whole file escaped", 90, whole_escaped),
    ("whole file deeper", 90, whole_deeper),
    ("whole file with prose", 80, whole_with_prose),
    ("whole file with an end", 60, whole_with_end),
    ("whole file below its name", 0, whole_below_its_name),
    ("whole file with Markdown escapes", 80, whole_with_markdown_escapes),
    ("only the new text dedented", 0, new_dedented),
    ("anchored and dedented", 0, anchored_dedented),
    ("first new line stripped", 0, first_new_line_stripped),
    ("indentation twice", 50, indentation_twice),
    ("added at the margin", 0, added_at_margin),
    ("other tabs in added lines", 0, other_tabs_in_added),
    ("anchored with neighbours", 0, anchored_with_neighbours),
    ("block for a line", 0, block_for_line),
    ("C only the removed lines dedented", 30, only_removed_dedented),
    ("D added at the margin in YAML", 0, yaml_added_at_margin),
    ("listing numbers in the new text", 80, numbers_in_new),
    ("plus signs on the new text", 30, plus_on_new),
    ("tag or sentence above the new text", 50, tag_or_prose_above_new),
    ("fence around new Markdown", 0, markdown_fence),
    ("whole Markdown file in a fence", 90, markdown_content_in_fence),
    ("anchored range without its end", 0, anchored_without_end),
    ("start of a line for the line", 0, start_of_line),
    ("part of a file as its content", 0, part_as_content),
    ("whole file with sentences", 0, content_with_sentences),
    ("Roo header repeated", 90, repeated_rule),
];

pub(crate) const REPLACING: [EditFormat; 3] = [EditFormat::Json, EditFormat::SearchReplace, EditFormat::Xml];

pub(crate) const PATCHING: [EditFormat; 2] = [EditFormat::ApplyPatch, EditFormat::Unified];

pub(crate) fn any_format(random: &mut Random) -> EditFormat {
    [REPLACING[0], REPLACING[1], REPLACING[2], PATCHING[0], PATCHING[1]][random.below(5)]
}

pub(crate) fn case(task: &Task, format: EditFormat, text: String) -> MistakeCase {
    MistakeCase {
        path: task.source.path.clone(),
        before: task.source.text(),
        format,
        text,
        expected: Some(task.expected.clone()),
        task: task.clone(),
    }
}

pub(crate) fn written(task: &Task, entries: Vec<Entry>, format: EditFormat, random: &mut Random) -> MistakeCase {
    let mistaken = Task {
        entries,
        ..task.clone()
    };
    case(task, format, write(&mistaken, format, None, random))
}

pub(crate) fn visible(
    task: &Task,
    entries: Vec<Entry>,
    format: EditFormat,
    random: &mut Random,
) -> Option<MistakeCase> {
    let mistaken = Task {
        entries,
        ..task.clone()
    };
    (mistaken.old() != task.old()).then(|| written(task, mistaken.entries, format, random))
}

pub(crate) fn exact(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 12))?;
    let format = any_format(random);
    Some(written(&task, task.entries.clone(), format, random))
}

pub(crate) fn adjacent(random: &mut Random, entries: &[Entry], fits: fn(&Entry) -> bool) -> Option<usize> {
    let places: Vec<usize> = (0..entries.len().saturating_sub(1))
        .filter(|at| {
            entries[*at..at + 2]
                .iter()
                .all(|entry| fits(entry) && !is_blank(&entry.text))
        })
        .collect();
    (!places.is_empty()).then(|| places[random.below(places.len())])
}

pub(crate) const HINTED: [EditFormat; 4] = [
    EditFormat::Json,
    EditFormat::SearchReplace,
    EditFormat::Xml,
    EditFormat::Unified,
];
