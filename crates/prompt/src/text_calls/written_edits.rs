//! Finds edits and commands that a small model writes directly in its reply: files in code blocks below their paths, blocks
//! of search and replacement text, and shell commands in code blocks.
//!
//! They become calls of the ordinary tools, so that the edit engine and the approval are the same.

use super::written::WrittenCall;
use serde_json::{Map, Value, json};

/// What a reply contains besides text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WrittenChanges {
    /// Calls that change files.
    pub edits: Vec<WrittenCall>,
    /// Calls that run commands.
    pub commands: Vec<WrittenCall>,
    /// Code blocks without a path.
    pub unnamed: Vec<String>,
}

/// Files without an ending that may be named above a code block.
const PLAIN_NAMES: [&str; 5] = ["Makefile", "Dockerfile", "Gemfile", "Rakefile", "LICENSE"];
/// Languages of code blocks with commands.
const SHELLS: [&str; 5] = ["sh", "bash", "shell", "console", "zsh"];
/// Languages of code blocks with output.
const OUTPUTS: [&str; 4] = ["", "text", "output", "plaintext"];
/// The maximum length of a line that names a file.
const MAX_NAMING_LINE: usize = 160;

/// Reads the changes in a complete reply.
pub fn written_changes(text: &str) -> WrittenChanges {
    let mut changes = WrittenChanges::default();
    // The replacements of each file, in order.
    let mut replaced: Vec<(String, Vec<Value>)> = Vec::new();
    for block in blocks(text) {
        let FencedBlock {
            language,
            path,
            content,
        } = block;
        let (inner_path, replacements) = search_replace(&content);
        let path = inner_path.or(path);
        match (path, replacements.is_empty()) {
            (Some(path), false) => match replaced.iter_mut().find(|(known, _)| *known == path) {
                Some((_, all)) => all.extend(replacements),
                None => replaced.push((path, replacements)),
            },
            (_, true) if names_its_files(&content) => {
                changes.edits.push(call("apply_patch", json!({"input": content})));
            }
            (Some(path), true) if is_patch(&content, &language) => {
                changes.edits.push(patch_of(&path, &content));
            }
            (Some(path), true) => {
                let content = without_line_numbers(&content);
                let input = json!({"path": path, "content": content});
                // The last version of a file counts.
                changes
                    .edits
                    .retain(|call| call.input.get("path") != Some(&json!(path)));
                changes.edits.push(call("write_file", input));
            }
            (None, true) if SHELLS.contains(&language.as_str()) && !content.starts_with("#!") => {
                changes
                    .commands
                    .push(call("terminal", json!({"command": command_line(&content)})));
            }
            (None, _) => changes.unnamed.push(content),
        }
    }
    for (path, edits) in replaced {
        let is_new = |edit: &Value| edit["old_text"].as_str().is_some_and(|old| old.trim().is_empty());
        let edit = match &edits[..] {
            [only] if is_new(only) => call("write_file", json!({"path": path, "content": only["new_text"]})),
            _ => call("edit_file", json!({"path": path, "edits": edits})),
        };
        changes.edits.push(edit);
    }
    let is_tagged = text.contains("<old_text") && text.contains("<new_text");
    if is_tagged && changes == WrittenChanges::default() {
        changes.unnamed.push(text.to_owned());
    }
    changes
}

/// The edit of `path` that a text without a path describes. `None` if it is not an edit.
pub(crate) fn edit_of_file(path: &str, text: &str) -> Option<WrittenCall> {
    let (_, edits) = search_replace(text);
    match edits.is_empty() {
        false => Some(call("edit_file", json!({"path": path, "edits": edits}))),
        true => (is_patch(text, "") || text.contains("<old_text")).then(|| patch_of(path, text)),
    }
}

/// The lines of a file that an edit without a path quotes; none if the text is not an edit.
pub(crate) fn quoted_lines(text: &str) -> Vec<String> {
    let (_, edits) = search_replace(text);
    let old = edits.iter().filter_map(|edit| edit["old_text"].as_str());
    let mut lines: Vec<String> = old.flat_map(str::lines).map(str::to_owned).collect();
    if is_patch(text, "") {
        let kept = text.lines().filter_map(|line| line.strip_prefix([' ', '-']));
        lines.extend(kept.map(str::to_owned));
    }
    lines.retain(|line| !line.trim().is_empty());
    lines
}

/// A patch of one file. Without any header, its lines follow directly.
fn patch_of(path: &str, content: &str) -> WrittenCall {
    let input = match has_patch_header(content) || content.contains("<old_text") {
        true => content.to_owned(),
        false => format!("*** Begin Patch\n*** Update File: {path}\n@@\n{content}*** End Patch\n"),
    };
    call("apply_patch", json!({"input": input, "path": path}))
}

/// Whether a text is a patch of the files that it names.
fn names_its_files(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().skip_while(|line| line.trim().is_empty()).take(2).collect();
    starts_patch(&lines)
}

fn starts_patch(lines: &[&str]) -> bool {
    const MARKS: [&str; 5] = [
        "*** Begin Patch",
        "*** Update File: ",
        "*** Add File: ",
        "*** Delete File: ",
        "diff --git ",
    ];
    let starts = |at: usize, mark: &str| lines.get(at).is_some_and(|line| line.trim_start().starts_with(mark));
    MARKS.iter().any(|mark| starts(0, mark)) || starts(0, "--- ") && starts(1, "+++ ")
}

fn has_patch_header(text: &str) -> bool {
    names_its_files(text) || text.lines().any(|line| line.starts_with("@@ -"))
}

/// Whether a text is a patch, or has the lines of one in a block of that language.
fn is_patch(text: &str, language: &str) -> bool {
    let is_line = |line: &str| line.is_empty() || line.starts_with([' ', '+', '-', '@', '\\']);
    let is_change = |line: &str| line.starts_with(['+', '-']);
    has_patch_header(text) && text.trim_start().starts_with(['@', '-', '*', 'd'])
        || ["diff", "patch"].contains(&language) && text.lines().all(is_line) && text.lines().any(is_change)
}

fn call(name: &str, input: Value) -> WrittenCall {
    let input = match input {
        Value::Object(input) => input,
        _ => Map::new(),
    };
    WrittenCall {
        name: name.into(),
        input,
    }
}

/// A fenced block of code.
struct FencedBlock {
    language: String,
    path: Option<String>,
    content: String,
}

/// The fenced blocks of a text, and unfenced search and replacement blocks.
fn blocks(text: &str) -> Vec<FencedBlock> {
    let mut blocks = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].trim_start();
        if let Some(fence) = fence(line) {
            let inside = &lines[at + 1..];
            let end = block_end(inside, fence);
            let (language, named) = info_string(line.trim_start_matches(['`', '~']));
            let mut content = joined(&inside[..end]);
            let mut path = named.or_else(|| named_before(&lines[..at], &language, &content));
            if path.is_none()
                && let Some((found, rest)) = named_in_comment(&content)
            {
                (path, content) = (Some(found), rest);
            }
            blocks.push(FencedBlock {
                language,
                path,
                content,
            });
            at += end + 2;
        } else if let Some(path) = file_tag(line) {
            let inside = &lines[at + 1..];
            let end = inside
                .iter()
                .position(|line| line.trim() == "</file>")
                .unwrap_or(inside.len());
            blocks.push(FencedBlock {
                language: String::new(),
                path: Some(path),
                content: joined(&inside[..end]),
            });
            at += end + 2;
        } else if starts_patch(&lines[at..]) {
            let end = patch_end(&lines[at..]);
            blocks.push(FencedBlock {
                language: "diff".to_owned(),
                path: None,
                content: joined(&lines[at..at + end]),
            });
            at += end;
        } else if is_marker(line, '<') {
            let end = lines[at..].iter().position(|line| is_marker(line.trim_start(), '>'));
            let Some(end) = end else { break };
            blocks.push(FencedBlock {
                language: String::new(),
                path: named_before(&lines[..at], "diff", ""),
                content: joined(&lines[at..=at + end]),
            });
            at += end + 1;
        } else {
            at += 1;
        }
    }
    blocks
}

/// The path in `<file path="a.py">` on a line of its own.
fn file_tag(line: &str) -> Option<String> {
    let attributes = line.trim().strip_prefix("<file ")?.strip_suffix('>')?;
    let path = attributes.split(['"', '\'', '=']).find(|word| is_path(word))?;
    Some(path.trim_start_matches("./").to_owned())
}

/// The number of lines of a patch at the start of `lines`.
fn patch_end(lines: &[&str]) -> usize {
    if lines[0].trim_start().starts_with("***") {
        let end = lines.iter().position(|line| line.trim() == "*** End Patch");
        return end.map_or(lines.len(), |end| end + 1);
    }
    let starts = [
        " ",
        "+",
        "-",
        "@@",
        "\\",
        "diff --git ",
        "index ",
        "new file",
        "deleted file",
    ];
    let is_part = |line: &&&str| line.is_empty() || starts.iter().any(|start| line.starts_with(start));
    lines.iter().take_while(is_part).count().max(1)
}

/// The characters of a fence at the start of a line.
fn fence(line: &str) -> Option<&str> {
    let letter = line.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(letter).len();
    (length >= 3).then(|| &line[..length])
}

/// The number of lines before the closing fence. A block that is not closed ends with the text. Fences within documents, such
/// as in Markdown files, are balanced.
fn block_end(lines: &[&str], fence: &str) -> usize {
    let mut depth = 0;
    for (at, line) in lines.iter().enumerate() {
        let Some(rest) = line.trim().strip_prefix(fence) else {
            continue;
        };
        match rest.trim().is_empty() {
            true if depth == 0 => return at,
            true => depth -= 1,
            // An opening fence counts only if it is closed.
            false => depth += u32::from(lines[at + 1..].iter().filter(|line| line.trim() == fence).count() > 1),
        }
    }
    lines.len()
}

fn joined(lines: &[&str]) -> String {
    let mut text = lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// The language and the path after an opening fence: `python`, `python stats.py`, `python:stats.py` or `stats.py`.
fn info_string(info: &str) -> (String, Option<String>) {
    let words = info
        .split([' ', ':', '=', '"', '{', '}'])
        .filter(|word| !word.is_empty());
    let path = words.clone().find(|word| is_path(word)).map(str::to_owned);
    let language = words.clone().next().filter(|word| !is_path(word)).unwrap_or_default();
    (language.to_lowercase(), path)
}

/// The path in the last line before a block, if that line names one file. A sentence about a file may also precede a command or
/// its output.
fn named_before(lines: &[&str], language: &str, content: &str) -> Option<String> {
    let is_tag = |line: &str| line.starts_with('<') && line.ends_with('>') && !line.contains(['/', '.']);
    let is_naming = |line: &&&str| !line.trim().is_empty() && !is_tag(line.trim());
    let line = lines.iter().rev().take(2).find(is_naming)?;
    if line.len() > MAX_NAMING_LINE || fence(line.trim_start()).is_some() {
        return None;
    }
    let words = line.split([' ', '\t', '`', '*', '"', '\'', '(', ')', ',', '<', '>', '[', ']', '|']);
    let mut paths = words
        .map(|word| word.trim_end_matches([':', '.', ';', '!', '?']))
        .filter(|word| is_path(word));
    let first = paths.next()?.trim_start_matches("./");
    let is_script = SHELLS.iter().any(|shell| first.ends_with(&format!(".{shell}")));
    let is_command = SHELLS.contains(&language) && (!is_script || content.contains(first));
    let is_sentence = line
        .split_whitespace()
        .filter(|word| word.contains(char::is_alphanumeric))
        .count()
        > 1;
    (paths.all(|other| other.trim_start_matches("./") == first)
        && !(is_sentence && (is_command || OUTPUTS.contains(&language))))
    .then(|| first.to_owned())
}

/// The path in a comment in the first line of a block, and the other lines.
fn named_in_comment(content: &str) -> Option<(String, String)> {
    let (first, rest) = content.split_once('\n')?;
    let comment = ["#", "//", "--", "/*", "<!--", ";"]
        .iter()
        .find_map(|mark| first.trim().strip_prefix(mark))?;
    let name = comment.trim_end_matches("*/").trim_end_matches("-->").trim();
    let name = name.trim_start_matches("File:").trim_start_matches("file:").trim();
    is_path(name).then(|| (name.trim_start_matches("./").to_owned(), rest.to_owned()))
}

/// Whether a word is written like the path of a file.
pub(crate) fn is_path(word: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || "_-./+@".contains(letter);
    let name = word.rsplit('/').next().unwrap_or(word);
    if word.is_empty() || !word.chars().all(is_letter) || word.ends_with('/') {
        return false;
    }
    if PLAIN_NAMES.contains(&name) {
        return true;
    }
    let Some((stem, ending)) = name.rsplit_once('.') else {
        return false;
    };
    let is_ending = (1..=10).contains(&ending.len()) && ending.chars().all(char::is_alphanumeric);
    // `1.5` and `e.g` are no files.
    is_ending
        && ending.chars().any(char::is_alphabetic)
        && (word.contains('/') || stem.len() > 1 || ending.len() > 1 || word.len() > 2)
        && !matches!(word, "e.g" | "i.e")
}

fn is_marker(line: &str, letter: char) -> bool {
    let rest = line.trim_start_matches(letter);
    let length = line.len() - rest.len();
    let name = rest.trim();
    (5..=9).contains(&length)
        && (name.is_empty()
            || matches!(
                name.to_uppercase().as_str(),
                "SEARCH" | "REPLACE" | "ORIGINAL" | "UPDATED" | "HEAD"
            ))
}

/// The replacements of a block with markers, and the path above them.
fn search_replace(content: &str) -> (Option<String>, Vec<Value>) {
    let (mut found, mut path) = (Vec::new(), None);
    // The text before the separator and after it.
    let mut open: Option<(String, Option<String>)> = None;
    for line in content.lines() {
        let marker = line.trim();
        match (&mut open, marker) {
            (None, marker) if is_marker(marker, '<') => open = Some((String::new(), None)),
            (None, other) if is_path(other.trim_end_matches(':')) => {
                path = Some(other.trim_end_matches(':').to_owned())
            }
            (None, _) => {}
            (Some((_, new @ None)), marker) if is_marker(marker, '=') => *new = Some(String::new()),
            (Some((old, Some(new))), marker) if is_marker(marker, '>') => {
                found.push(json!({"old_text": old, "new_text": new}));
                open = None;
            }
            (Some((old, new)), _) => {
                let side = new.as_mut().unwrap_or(old);
                side.push_str(line);
                side.push('\n');
            }
        }
    }
    (path.filter(|_| !found.is_empty()), found)
}

/// The text without the numbers that the results of `read_file` have, if all lines have one.
fn without_line_numbers(text: &str) -> String {
    let stripped: Option<Vec<&str>> = text
        .lines()
        .enumerate()
        .map(|(at, line)| {
            let (number, rest) = line.split_once('\t')?;
            (number.trim().parse::<usize>().ok()? == at + 1).then_some(rest)
        })
        .collect();
    match stripped {
        Some(lines) if !lines.is_empty() => joined(&lines),
        Some(_) | None => text.to_owned(),
    }
}

/// A command without the prompts of a console.
fn command_line(content: &str) -> String {
    let lines = content.trim().lines();
    let lines: Vec<&str> = lines.map(|line| line.strip_prefix("$ ").unwrap_or(line)).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(text: &str) -> Vec<(String, String)> {
        let changes = written_changes(text);
        let show = |call: &WrittenCall| (call.name.clone(), Value::Object(call.input.clone()).to_string());
        changes.edits.iter().map(show).collect()
    }

    fn write(path: &str, content: &str) -> (String, String) {
        (
            "write_file".into(),
            json!({"path": path, "content": content}).to_string(),
        )
    }

    #[test]
    fn a_file_below_its_path_is_written() {
        for text in [
            "stats.py\n```python\nx = 1\n```",
            "stats.py\n\n```\nx = 1\n```\nThat is all.",
            "Here is the new `stats.py`:\n\n```python\nx = 1\n```",
            "### stats.py\n~~~\nx = 1\n~~~",
            "**stats.py**\n```py\nx = 1\n",
            "```python stats.py\nx = 1\n```",
            "```python:stats.py\nx = 1\n```",
            "```stats.py\nx = 1\n```",
            "```python\n# stats.py\nx = 1\n```",
            "./stats.py\n```python\n1\tx = 1\n```",
            "stats.py\n```\nx = 0\n```\nBetter:\n\nstats.py\n```\nx = 1\n```",
        ] {
            assert_eq!(edits(text), [write("stats.py", "x = 1\n")], "{text}");
        }
    }

    #[test]
    fn blocks_of_search_and_replacement_become_edits_of_their_file() {
        let expected = json!({"path": "src/a.rs", "edits": [{"old_text": "a\n", "new_text": "b\n"}, {"old_text": "c\n", "new_text": ""}]});
        let pair = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
        let other = "<<<<<<< SEARCH\nc\n=======\n>>>>>>> REPLACE\n";
        for text in [
            format!("src/a.rs\n```rust\n{pair}{other}```"),
            format!("src/a.rs\n```rust\n{pair}```\nand\n\nsrc/a.rs\n```\n{other}```"),
            format!("```\nsrc/a.rs\n{pair}\n{other}```"),
            format!("src/a.rs\n{pair}src/a.rs\n{other}"),
        ] {
            assert_eq!(edits(&text), [("edit_file".to_owned(), expected.to_string())], "{text}");
        }
        let new = "n.txt\n```\n<<<<<<< SEARCH\n=======\nhi\n>>>>>>> REPLACE\n```";
        assert_eq!(edits(new), [write("n.txt", "hi\n")]);
    }

    #[test]
    fn patches_and_tagged_files_become_edits() {
        let diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n";
        let patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n";
        for text in [diff, patch] {
            let expected = [("apply_patch".to_owned(), json!({"input": text}).to_string())];
            assert_eq!(edits(text), expected);
            assert_eq!(edits(&format!("I change it:\n\n{text}\nDone.")).len(), 1);
            assert_eq!(edits(&format!("```diff\n{text}```")), expected);
        }
        let headless = "a.py\n```diff\n-x\n+y\n```";
        assert_eq!(
            edits(headless),
            [(
                "apply_patch".to_owned(),
                json!({"input": patch, "path": "a.py"}).to_string()
            )]
        );
        assert_eq!(edits("<file path=\"a.py\">\ny\n</file>"), [write("a.py", "y\n")]);
        assert_eq!(edits("- one\n- two\n--- \ntext"), []);
        let tagged = "<old_text>\nx\n</old_text>\n<new_text>\ny\n</new_text>\n";
        assert_eq!(written_changes(tagged).unnamed, [tagged]);
        for text in [
            tagged,
            "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n",
            "@@ -1 +1 @@\n-x\n+y\n",
        ] {
            assert!(edit_of_file("a.py", text).is_some(), "{text}");
        }
        assert_eq!(edit_of_file("a.py", "x = 1\n"), None);
    }

    #[test]
    fn nested_fences_belong_to_the_file() {
        let text = "README.md\n```markdown\n# A\n```sh\nmake\n```\nend\n```\n";
        assert_eq!(edits(text), [write("README.md", "# A\n```sh\nmake\n```\nend\n")]);
    }

    #[test]
    fn commands_run_after_edits() {
        let changes = written_changes("Run this:\n```bash\n$ ls\n$ pwd\n```");
        assert_eq!(changes.commands, [call("terminal", json!({"command": "ls\npwd"}))]);
        let changes = written_changes("a.py\n```python\nx\n```\nThen:\n```sh\npython3 a.py\n```");
        assert_eq!((changes.edits.len(), changes.commands.len()), (1, 1));
        // A script is no command.
        let changes = written_changes("```bash\n#!/bin/sh\nls\n```");
        assert_eq!((changes.commands.len(), changes.unnamed.len()), (0, 1));
    }

    #[test]
    fn code_without_a_path_is_no_edit() {
        for text in [
            "The answer is 4.5.",
            "It works, e.g.:\n```python\nx = 1\n```",
            "In a.py and b.py:\n```python\nx = 1\n```",
            "Use Python 3.11:\n```python\nx = 1\n```",
            "Now run `python3 test_calc.py`:\n\n```sh\npython3 test_calc.py\n```",
            "Now run `check.sh`:\n\n```sh\nsh check.sh\n```",
            "`test_calc.py` prints:\n```\nok\n```",
        ] {
            assert!(edits(text).is_empty(), "{text}");
        }
        assert!(is_path("Makefile") && is_path("a.c") && is_path("src/x.rs") && !is_path("3.11") && !is_path("word"));
    }
}
