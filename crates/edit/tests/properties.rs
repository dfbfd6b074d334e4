//! Properties for arbitrary text: chunking does not matter, edits can be reverted, nothing outside of a reported range
//! changes, drifted quotes are never misplaced.

#![allow(clippy::expect_used, reason = "input that the test itself makes must be readable")]

use std::path::Path;

use edit::{EditDelta, EditEvent, EditFormat, EditParser, EditPlan, FileChange, RefusedEdits, StreamingDiff, plan};
use proptest::prelude::*;
use serde_json::json;
use session::TextOp;

/// The number of inputs per property.
fn cases() -> u32 {
    option_env!("EDIT_PROPERTY_CASES")
        .and_then(|count| count.parse().ok())
        .unwrap_or(600)
}

const FORMATS: [EditFormat; 7] = [
    EditFormat::Auto,
    EditFormat::ApplyPatch,
    EditFormat::SearchReplace,
    EditFormat::Xml,
    EditFormat::Json,
    EditFormat::Unified,
    EditFormat::Whole,
];

/// Random sequences of edit text fragments: mostly invalid, sometimes valid.
fn edit_text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "<<<<<<< SEARCH",
        "<<<<<<< SEARCH line=2",
        "=======",
        ">>>>>>> REPLACE",
        ":start_line:3",
        "-------",
        "\\=======",
        "*** Begin Patch",
        "*** End Patch",
        "*** Update File: a.txt",
        "*** Add File: b.txt",
        "*** Delete File: a.txt",
        "*** Move to: c.txt",
        "@@",
        "@@ one",
        "@@ -1,2 +1,2 @@",
        "*** End of File",
        "--- a/a.txt",
        "+++ b/a.txt",
        "+++ /dev/null",
        "--- /dev/null",
        "\\ No newline at end of file",
        "diff --git a/a.txt b/a.txt",
        "rename to d.txt",
        "<old_text>",
        "<old_text line=2>",
        "</old_text>",
        "<new_text>",
        "</new_text>",
        "</edits>",
        "<path>a.txt</path>",
        "```",
        "```rust",
        "````",
        "a.txt",
        "one",
        "two",
        "three",
        " one",
        "-one",
        "+uno",
        "-two",
        "+",
        "-",
        " ",
        "",
        "...",
        "// ... existing code ...",
        "{\"path\": \"a.txt\", \"edits\": [{\"old_text\": \"one\",",
        "\"new_text\": \"uno\"}]}",
        "\\u00e9",
        "\"",
        "{",
        "}",
        "[",
        "]",
        "é…",
        "12 | one",
        "\t",
    ]);
    prop::collection::vec(
        (piece, prop::sample::select(vec!["\n", "\n", "\n", "\r\n", "", " "])),
        0..24,
    )
    .prop_map(|pieces| pieces.into_iter().map(|(piece, end)| format!("{piece}{end}")).collect())
}

/// Splits `text` at character boundaries, at most every `size` characters.
fn chunks(text: &str, sizes: &[usize]) -> Vec<String> {
    let mut characters = text.chars().peekable();
    let mut out = Vec::new();
    let mut turn = 0;
    while characters.peek().is_some() {
        let size = sizes.get(turn % sizes.len().max(1)).copied().unwrap_or(1).max(1);
        out.push(characters.by_ref().take(size).collect());
        turn += 1;
    }
    out
}

/// Joins adjacent text events.
fn joined(events: Vec<EditEvent>) -> Vec<EditEvent> {
    let mut out: Vec<EditEvent> = Vec::new();
    for event in events {
        match (out.last_mut(), event.delta) {
            (
                Some(EditEvent {
                    edit,
                    delta: EditDelta::Old(text),
                }),
                EditDelta::Old(more),
            ) if *edit == event.edit => text.push_str(&more),
            (
                Some(EditEvent {
                    edit,
                    delta: EditDelta::New(text),
                }),
                EditDelta::New(more),
            ) if *edit == event.edit => text.push_str(&more),
            (_, delta) => out.push(EditEvent {
                edit: event.edit,
                delta,
            }),
        }
    }
    out.retain(|event| !matches!(&event.delta, EditDelta::Old(text) | EditDelta::New(text) if text.is_empty()));
    out
}

fn tree(path: &Path) -> Option<String> {
    match path.to_str() {
        Some("a.txt") => Some("one\ntwo\nthree\n\n  one more\n".to_owned()),
        _ => None,
    }
}

/// Applies `ops` to `old`; `None` if they do not fit.
fn apply_ops(old: &str, ops: &[TextOp]) -> Option<String> {
    let mut out = String::new();
    let mut rest = old;
    for op in ops {
        match op {
            TextOp::Keep(count) => {
                let (kept, after) = rest.split_at_checked(*count)?;
                out.push_str(kept);
                rest = after;
            }
            TextOp::Delete(count) => rest = rest.split_at_checked(*count)?.1,
            TextOp::Insert(text) => out.push_str(text),
        }
    }
    rest.is_empty().then_some(out)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases() / 2, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_gives_the_same_edits(text in edit_text(), sizes in prop::collection::vec(1usize..9, 1..5)) {
        for format in FORMATS {
            let mut whole = EditParser::new(format);
            let whole_events = joined(whole.push(&text));
            let mut cut = EditParser::new(format);
            let mut events = Vec::new();
            for chunk in chunks(&text, &sizes) {
                events.extend(cut.push(&chunk));
            }
            prop_assert_eq!(cut.finish(), whole.finish(), "{:?}", format);
            prop_assert_eq!(joined(events), whole_events, "{:?}", format);
        }
    }

    #[test]
    fn any_text_is_planned_or_refused_and_plans_fit_the_files(text in edit_text()) {
        for format in FORMATS {
            if let Ok(plan) = plan(&text, format, Some(Path::new("a.txt")), &tree) {
                for file in &plan.files {
                    match file {
                        FileChange::Create { path, .. } => prop_assert!(tree(path).is_none()),
                        FileChange::Update { path, before, after } => {
                            prop_assert_eq!(tree(path), Some(before.clone()));
                            prop_assert_ne!(before, after);
                        }
                        FileChange::Move { from: path, before, .. } | FileChange::Delete { path, before } => {
                            prop_assert_eq!(tree(path), Some(before.clone()));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn streamed_differences_turn_the_old_text_into_the_new(
        old in "([a-c ]{0,6}\n){0,12}[a-c]{0,3}",
        new in "([a-c ]{0,6}\n){0,12}[a-cé]{0,3}",
        sizes in prop::collection::vec(1usize..9, 1..5),
    ) {
        let mut diff = StreamingDiff::new(old.as_str());
        let mut ops = Vec::new();
        for chunk in chunks(&new, &sizes) {
            ops.extend(diff.push(&chunk));
        }
        ops.extend(diff.finish());
        prop_assert_eq!(apply_ops(&old, &ops), Some(new));
    }
}

/// A file with similar functions.
#[derive(Clone, Debug)]
struct PreviewSource {
    lines: Vec<String>,
    /// The first line and the line after the last of each function.
    blocks: Vec<(usize, usize)>,
}

const WORDS: [&str; 12] = [
    "load", "store", "parse", "render", "merge", "split", "count", "total", "buffer", "index", "filter", "result",
];

fn source() -> impl Strategy<Value = PreviewSource> {
    let word = || prop::sample::select(WORDS.to_vec());
    let body = prop::collection::vec((word(), word(), 0usize..4, 0usize..3), 2..7);
    prop::collection::vec((word(), 0usize..20, body, any::<bool>()), 2..9).prop_map(|functions| {
        let mut source = PreviewSource {
            lines: vec!["// generated".to_owned()],
            blocks: Vec::new(),
        };
        for (name, number, body, nested) in functions {
            let start = source.lines.len();
            source.lines.push(format!("fn {name}_{number}(input: &str) {{"));
            for (verb, noun, argument, kind) in body {
                let indent = if nested { "        " } else { "    " };
                source.lines.push(match kind {
                    0 => format!("{indent}let {noun} = {verb}({argument}, input);"),
                    1 => format!("{indent}if {noun}.{verb}() > {argument} {{ return; }}"),
                    _ => format!("{indent}{verb}.{noun}(input);"),
                });
            }
            source.lines.push("}".to_owned());
            source.blocks.push((start, source.lines.len()));
            source.lines.push(String::new());
        }
        source
    })
}

/// How the quoted text deviates from the file.
#[derive(Clone, Copy, Debug)]
enum Drift {
    None,
    Indented,
    Dedented,
    Tabs,
    TrailingSpace,
    Spacing,
    BlankLine,
    Renamed,
    Digit,
    Dropped,
    Invented,
    Swapped,
}

const DRIFTS: [Drift; 12] = [
    Drift::None,
    Drift::Indented,
    Drift::Dedented,
    Drift::Tabs,
    Drift::TrailingSpace,
    Drift::Spacing,
    Drift::BlankLine,
    Drift::Renamed,
    Drift::Digit,
    Drift::Dropped,
    Drift::Invented,
    Drift::Swapped,
];

fn drifted(lines: &[String], drift: Drift, at: usize) -> Vec<String> {
    let mut out: Vec<String> = lines.to_vec();
    let at = at % out.len();
    match drift {
        Drift::None => {}
        Drift::Indented => out.iter_mut().for_each(|line| line.insert_str(0, "  ")),
        Drift::Dedented => out.iter_mut().for_each(|line| *line = line.trim_start().to_owned()),
        Drift::Tabs => out.iter_mut().for_each(|line| *line = line.replace("    ", "\t")),
        Drift::TrailingSpace => out[at].push_str("  "),
        Drift::Spacing => out[at] = out[at].replace(", ", ",").replace(" = ", "  =  "),
        // Not before the first line, where a blank line may distinguish two blocks.
        Drift::BlankLine => out.insert(at.max(1), String::new()),
        Drift::Renamed => out[at] = out[at].replacen("input", "imput", 1),
        Drift::Digit => out[at] = out[at].replace('1', "7").replace('2', "8"),
        Drift::Dropped => {
            out.remove(at);
        }
        Drift::Invented => out.insert(at, "    audit(input);".to_owned()),
        Drift::Swapped => {
            let other = (at + 1) % out.len();
            out.swap(at, other);
        }
    }
    out
}

fn squashed(line: &str) -> String {
    line.split_whitespace().collect()
}

/// Everything outside of the block is unchanged, and inside it only the one line is replaced.
fn is_in_place(source: &PreviewSource, block: (usize, usize), removed: &str, got: &str) -> bool {
    let got: Vec<&str> = got.lines().collect();
    let after = source.lines.len() - block.1;
    if got.len() < block.0 + after {
        return false;
    }
    let (head, rest) = got.split_at(block.0);
    let (middle, tail) = rest.split_at(rest.len() - after);
    let kept: Vec<String> = source.lines[block.0..block.1]
        .iter()
        .map(|line| squashed(line))
        .collect();
    let inside: Vec<String> = middle
        .iter()
        .map(|line| squashed(line))
        .filter(|line| !line.is_empty())
        .collect();
    let holds = |kept: &[String]| {
        let mut rest = inside.iter();
        kept.iter().all(|line| rest.any(|other| other == line))
    };
    let without = |at: usize| [&kept[..at], &kept[at + 1..]].concat();
    let only_that_is_removed =
        holds(&kept) || (0..kept.len()).any(|at| kept[at] == squashed(removed) && holds(&without(at)));
    head == &source.lines[..block.0]
        && tail == &source.lines[block.1..]
        && only_that_is_removed
        && middle.iter().filter(|line| line.contains("MARKER")).count() == 1
}

fn after(plan: Result<EditPlan, RefusedEdits>) -> Option<String> {
    match plan.ok()?.files.into_iter().next()? {
        FileChange::Update { after, .. } => Some(after),
        FileChange::Create { .. } | FileChange::Move { .. } | FileChange::Delete { .. } => None,
    }
}

fn as_search_replace(old: &[String], new: &[String]) -> String {
    let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    format!("<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n", text(old), text(new))
}

fn as_patch(old: &[String], replaced: usize, with: &str) -> String {
    let mut out = "*** Begin Patch\n*** Update File: f.rs\n@@\n".to_owned();
    for (number, line) in old.iter().enumerate() {
        out.push_str(&if number == replaced {
            format!("-{line}\n+{with}\n")
        } else {
            format!(" {line}\n")
        });
    }
    out + "*** End Patch\n"
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn drifted_quotes_are_matched_at_their_location_or_refused(
        source in source(),
        block in any::<prop::sample::Index>(),
        drift in prop::sample::select(DRIFTS.to_vec()),
        at in 0usize..8,
        replaced in any::<prop::sample::Index>(),
    ) {
        let file = source.lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let block = source.blocks[block.index(source.blocks.len())];
        let lines = &source.lines[block.0..block.1];
        let old = drifted(lines, drift, at);
        let replaced = replaced.index(old.len());
        let mut new = old.clone();
        let depth: String = old[replaced].chars().take_while(|c| c.is_whitespace()).collect();
        let marker = format!("{depth}MARKER();");
        new[replaced] = marker.clone();
        let removed = old[replaced].clone();
        // The line in the file from which the replaced line was quoted.
        let removed_in_file = lines.iter().find(|line| squashed(line) == squashed(&removed)).cloned();
        let removed_in_file = removed_in_file.or_else(|| lines.get(at % lines.len()).cloned()).unwrap_or_default();
        let lookup = |_: &Path| Some(file.clone());
        let texts = [
            (EditFormat::SearchReplace, as_search_replace(&old, &new)),
            (EditFormat::ApplyPatch, as_patch(&old, replaced, &marker)),
            (EditFormat::Json, json!({"path": "f.rs", "edits": [{"old_text": old.join("\n"), "new_text": new.join("\n")}]}).to_string()),
        ];
        for (format, text) in texts {
            if let Some(got) = after(plan(&text, format, Some(Path::new("f.rs")), &lookup)) {
                // Blocks that occur twice are never chosen, so the location is unique.
                prop_assert!(is_in_place(&source, block, &removed_in_file, &got), "{:?} {:?}\n{}\n=>\n{}", drift, format, text, got);
            } else if matches!(drift, Drift::None | Drift::Indented | Drift::TrailingSpace) {
                let times = source.blocks.iter().filter(|other| source.lines[other.0..other.1] == *lines).count();
                prop_assert!(times > 1, "{:?} {:?} should have matched\n{}\n{}", drift, format, text, file);
            }
        }
    }

    #[test]
    fn an_edit_and_its_reverse_leave_the_file_as_it_was(
        lines in prop::collection::vec("[a-z]{5,8}( [a-z]{2,4}){0,2}", 3..20),
        eols in prop::collection::vec(prop::sample::select(vec!["\n", "\r\n", "\n"]), 20),
        range in any::<(prop::sample::Index, prop::sample::Index)>(),
        ends in any::<bool>(),
    ) {
        let mut file = String::new();
        for (number, line) in lines.iter().enumerate() {
            file.push_str(&format!("{line} {number}"));
            if ends || number + 1 < lines.len() {
                // One kind of line ending, so that the edit can be reverted exactly.
                file.push_str(eols[0]);
            }
        }
        let (mut from, mut to) = (range.0.index(lines.len()), range.1.index(lines.len()));
        if from > to {
            std::mem::swap(&mut from, &mut to);
        }
        let old: Vec<String> = (from..=to).map(|at| format!("{} {at}", lines[at])).collect();
        let new = vec!["completely new text".to_owned(), "  and a second line of it".to_owned()];
        let change = |content: &str, old: &[String], new: &[String]| {
            let lookup = |_: &Path| Some(content.to_owned());
            after(plan(&as_search_replace(old, new), EditFormat::SearchReplace, Some(Path::new("f")), &lookup))
        };
        let once = change(&file, &old, &new).expect("a unique text is found");
        prop_assert_eq!(change(&once, &new, &old), Some(file));
    }

    #[test]
    fn nothing_outside_the_reported_lines_changes(
        source in source(),
        block in any::<prop::sample::Index>(),
        drift in prop::sample::select(DRIFTS.to_vec()),
        at in 0usize..8,
        crlf in any::<bool>(),
    ) {
        let eol = if crlf { "\r\n" } else { "\n" };
        let file = source.lines.iter().map(|line| format!("{line}{eol}")).collect::<String>();
        let block = source.blocks[block.index(source.blocks.len())];
        let old = drifted(&source.lines[block.0..block.1], drift, at);
        let text = as_search_replace(&old, &["replaced();".to_owned()]);
        let lookup = |_: &Path| Some(file.clone());
        if let Ok(plan) = plan(&text, EditFormat::SearchReplace, Some(Path::new("f.rs")), &lookup) {
            let report = plan.edits[0].clone();
            let got = after(Ok(plan)).unwrap_or_default();
            let before: Vec<&str> = file.split_inclusive('\n').collect();
            let head = before[..report.first_line - 1].concat();
            let tail = before[report.last_line..].concat();
            prop_assert!(got.starts_with(&head) && got.ends_with(&tail) && got.len() >= head.len() + tail.len());
        }
    }
}
