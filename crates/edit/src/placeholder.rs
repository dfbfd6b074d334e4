//! Detects placeholders for omitted code, such as "... rest unchanged". They are never written to a file.
//!
//! A line with an ellipsis and a matching word is a placeholder anywhere. Other wording is one only where the edit
//! removes more lines than it adds: a comment or stub stands for them.

mod words;

use std::path::Path;

use crate::document::TextDocument;
use crate::fold::{is_blank, similarity};
use crate::refusal::RefusalReason;
use crate::resolve::{LineOp, line_ops};

use words::{CODE_WORDS, FILLERS, OTHER_LANGUAGES};

/// What counts as an omission in a type of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OmissionPolicy {
    /// Only placeholders for removed lines: documents contain shortened code on purpose.
    Document,
    /// Phrases; a line of dots may be a statement.
    Worded,
    /// Also a line of dots, which is not code in such a file.
    Dotted,
}

/// The omission policy for a file type.
pub(crate) fn omissions_in(path: &Path) -> OmissionPolicy {
    const CODE: [&str; 22] = [
        "rs", "js", "jsx", "ts", "tsx", "mjs", "go", "java", "kt", "c", "h", "cc", "cpp", "hpp", "cs", "swift", "php",
        "css", "scss", "html", "vue", "json",
    ];
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("md" | "mdx" | "rst" | "adoc") => OmissionPolicy::Document,
        Some(extension) if CODE.contains(&extension) => OmissionPolicy::Dotted,
        _ => OmissionPolicy::Worded,
    }
}

/// The placeholder in `new` that stands for code of `old` or of the file.
pub(crate) fn find_placeholder(
    document: &TextDocument,
    old: &str,
    new: &str,
    policy: OmissionPolicy,
) -> Option<RefusalReason> {
    let anywhere = |line: &&str| match policy {
        OmissionPolicy::Document => false,
        OmissionPolicy::Worded => is_bracketed_note(line) || !is_bare_dots(line) && has_dots(line) && is_omission(line),
        OmissionPolicy::Dotted => is_bracketed_note(line) || has_dots(line) && is_omission(line),
    };
    let is_known = |line: &str| {
        let same = |other: &str| other.trim() == line.trim();
        old.lines().any(same) || document.lines().any(same)
    };
    let old_lines: Vec<&str> = old.lines().collect();
    let new_lines: Vec<&str> = new.lines().collect();
    let found = new_lines.iter().find(|line| anywhere(line) && !is_known(line)).copied();
    let found = found.or_else(|| in_place_of_lines(&old_lines, &new_lines, policy));
    found.map(|line| RefusalReason::Placeholder(line.trim().to_owned()))
}

/// A placeholder line in a group of changes that removes more lines than it adds.
fn in_place_of_lines<'n>(old: &[&str], new: &[&'n str], policy: OmissionPolicy) -> Option<&'n str> {
    let ops = line_ops(old, new);
    let solid = |lines: &[&str]| lines.iter().filter(|line| !is_blank(line)).count();
    // One line of the new text is the placeholder.
    let total_lost = (solid(old) + 1).saturating_sub(solid(new));
    let mut next_new = 0;
    // A bracket that both texts have does not separate two changes.
    let separates = |op: &LineOp| matches!(op, LineOp::Keep(number) if old[*number].chars().any(char::is_alphanumeric));
    for group in ops.split(separates) {
        let mut removed: Vec<&str> = Vec::new();
        let mut added: Vec<&'n str> = Vec::new();
        for op in group {
            match op {
                LineOp::Remove(number) => removed.push(old[*number]),
                LineOp::Add(line) => {
                    let place = new[next_new..].iter().position(|other| *other == line.as_str());
                    if let Some(place) = place {
                        next_new += place;
                        added.push(new[next_new]);
                        next_new += 1;
                    }
                }
                LineOp::Keep(_) => {}
            }
        }
        removed.retain(|line| !is_blank(line));
        added.retain(|line| !is_blank(line));
        let changed = ChangedLines {
            old,
            removed,
            added,
            total_lost,
            policy,
        };
        if let Some(found) = changed.placeholder() {
            return Some(found);
        }
    }
    None
}

/// The lines removed and added at one place.
struct ChangedLines<'o, 'n> {
    old: &'o [&'o str],
    removed: Vec<&'o str>,
    added: Vec<&'n str>,
    /// The lines that the whole edit removes without replacement.
    total_lost: usize,
    policy: OmissionPolicy,
}

impl<'n> ChangedLines<'_, 'n> {
    fn placeholder(&self) -> Option<&'n str> {
        let is_new = |line: &&&'n str| !self.old.iter().any(|old| old.trim() == line.trim());
        let suspects = || self.added.iter().filter(is_new);
        let found = suspects()
            .filter_map(|line| Some((line, stub(line)?)))
            .find(|(_, stub)| self.stands_for_lines(*stub))
            .map(|(line, _)| *line);
        // One line that stands for several may contain the placeholder anywhere.
        let is_collapsed = self.removed.len() > self.added.len() + 1 && self.policy != OmissionPolicy::Document;
        found.or_else(|| {
            suspects()
                .find(|line| is_collapsed && self.has_embedded_phrase(line))
                .copied()
        })
    }

    /// Whether a line contains a comment that only says that code is left out, or a phrase for it.
    fn has_embedded_phrase(&self, line: &str) -> bool {
        const PHRASES: [&str; 13] = [
            "keep the rest",
            "more code here",
            "stays the same",
            "stay the same",
            "omitted for brevity",
            "for brevity",
            "existing code",
            "rest of the code",
            "rest of implementation",
            "rest of the implementation",
            "same as before",
            "remains the same",
            "remains unchanged",
        ];
        let is_known = |text: &str| self.removed.iter().any(|removed| removed.contains(text));
        let comments = [("/*", "*/"), ("<!--", "-->"), ("{/*", "*/}")]
            .into_iter()
            .flat_map(|(open, close)| {
                line.split(open)
                    .skip(1)
                    .filter_map(move |rest| rest.split_once(close).map(|(inside, _)| inside))
            });
        let is_stub = |text: &str| {
            let inner = text.trim().trim_matches(|c: char| "{}[]()<>.…- ".contains(c));
            (is_phrase(inner) || inner.is_empty() && has_dots(text)) && !is_known(text.trim())
        };
        let lower = line.to_lowercase();
        comments.into_iter().any(is_stub) || PHRASES.iter().any(|phrase| lower.contains(phrase) && !is_known(phrase))
    }

    fn stands_for_lines(&self, stub: Stub<'_>) -> bool {
        if !stub.is_dots && self.is_commented_out(stub.text) {
            return false;
        }
        let is_certain = stub.is_dots || is_phrase(stub.text);
        // Added lines that are copies of removed ones, changed or not, replace them; all others are lost.
        let is_like = |removed: &str, added: &str| added.starts_with(removed) || similarity(removed, added) >= 0.5;
        let is_copy = |added: &&&str| self.removed.iter().any(|removed| is_like(removed.trim(), added.trim()));
        let code = || {
            self.added
                .iter()
                .filter(|added| self::stub(added).is_none_or(|stub| !stub.is_whole))
        };
        let lost = self.removed.len().saturating_sub(code().filter(is_copy).count());
        const CODE: [&str; 8] = ["#include", "#define", "#if", "#el", "#end", "#pragma", "#import", "#["];
        let is_tag = |line: &str| line.starts_with('<') && !line.starts_with("<!--");
        let is_code = |line: &&&str| {
            let line = line.trim();
            is_tag(line)
                || CODE.iter().any(|start| line.starts_with(start))
                || self::stub(line).is_none_or(|stub| !stub.is_whole)
        };
        let lost_code = self
            .removed
            .iter()
            .filter(is_code)
            .count()
            .saturating_sub(code().filter(is_copy).count());
        let net = self.removed.len().saturating_sub(self.added.len());
        if self.policy == OmissionPolicy::Document {
            return is_certain && (stub.is_marked && stub.is_whole && lost > 1 || lost > 2 && net > 0);
        }
        if is_certain && stub.is_whole {
            // A single word without a mark may be a statement or data.
            const NOTES: [&str; 5] = ["etc", "snip", "snipped", "omitted", "truncated"];
            let is_word = !stub.is_marked && !stub.text.contains(' ') && !NOTES.contains(&stub.text);
            return lost > if is_word { 3 } else { 1 }
                || !is_word && (lost_code > 0 || self.total_lost > 1 || lost > 0 && is_generic(stub.text));
        }
        // A comment about code in general represents the lines that are removed there.
        if stub.is_note && is_generic(stub.text) && (lost > 1 || lost_code > 0) {
            return true;
        }
        let is_shortened = code().all(|added| is_copy(&added));
        net > 0 && (is_certain || mentions_code(stub.text) && (is_shortened || !stub.is_whole && net > 2))
    }

    /// Whether the comment contains removed code.
    fn is_commented_out(&self, text: &str) -> bool {
        let text = text.trim();
        let is_in = |removed: &&str| removed.trim() == text || text.len() > 12 && removed.contains(text);
        self.removed.iter().any(is_in)
    }
}

/// A comment, a bracketed note or an ellipsis in a line.
#[derive(Clone, Copy)]
struct Stub<'l> {
    text: &'l str,
    /// Whether the line contains nothing else.
    is_whole: bool,
    /// Whether it is a comment, in brackets or has an ellipsis, rather than plain words.
    is_marked: bool,
    is_dots: bool,
    /// Whether the line is an ordinary comment, not a documentation comment or a directive.
    is_note: bool,
}

fn stub(line: &str) -> Option<Stub<'_>> {
    let text = line.trim();
    if text.is_empty() || text.len() > 200 {
        return None;
    }
    let brackets = |c: char| "{}[]()<>/*#-!;".contains(c);
    let is_ellipsis = |word: &str| matches!(word.trim_matches(brackets), "..." | "…" | "⋮" | "⋯");
    let is_dots = text.split_whitespace().any(is_ellipsis);
    let start = text.trim_start_matches(|c: char| brackets(c) || c.is_whitespace());
    let is_led_by_dots = start.starts_with("...") || start.starts_with('…');
    let is_bracketed = text.starts_with(['(', '[', '{', '<']) && text.ends_with([')', ']', '}', '>']);
    let is_comment = ["//", "#", "--", "/*", "<!--", ";", "%", "*", "{/*", "(*", "\"\"\""]
        .iter()
        .any(|mark| text.starts_with(mark));
    let inner = text.trim_matches(|c: char| brackets(c) || ".…⋮⋯\"_".contains(c) || c.is_whitespace());
    if is_comment || is_bracketed && is_prose(inner) || is_phrase(inner) || inner.is_empty() && is_dots {
        return Some(Stub {
            text: inner,
            is_whole: true,
            is_marked: is_comment || is_bracketed || has_dots(text),
            is_dots: is_dots && (is_led_by_dots || inner.is_empty() || mentions_code(inner) || is_generic(inner)),
            is_note: is_note(text) && (!inner.is_empty() || text.contains("..")),
        });
    }
    const MARKS: [&str; 5] = ["//", " #", "/*", "<!--", " --"];
    let is_edge = |c: char| brackets(c) || c == '.' || c.is_whitespace();
    let mut starts: Vec<usize> = MARKS
        .iter()
        .flat_map(|mark| text.match_indices(mark).map(|(at, mark)| at + mark.len()))
        .collect();
    starts.sort_unstable();
    let tails = || {
        starts.iter().enumerate().filter_map(|(at, from)| {
            let to = starts
                .get(at + 1)
                .map_or(text.len(), |next| next.saturating_sub(2).max(*from));
            text.get(*from..to).map(|tail| tail.trim_matches(is_edge))
        })
    };
    let tail = tails().find(|tail| is_phrase(tail)).or_else(|| tails().next_back());
    match tail {
        Some(tail) => Some(Stub {
            text: tail,
            is_whole: false,
            is_marked: true,
            is_dots,
            is_note: false,
        }),
        None => {
            // `fn f() { unchanged }`
            let inside = text
                .split_once(['{', ':'])
                .map_or("", |(_, inside)| inside)
                .trim_matches(|c: char| brackets(c) || c == '.' || c == '…' || c.is_whitespace());
            let is_stub = is_dots || is_phrase(inside);
            is_stub.then_some(Stub {
                text: inside,
                is_whole: false,
                is_marked: false,
                is_dots,
                is_note: false,
            })
        }
    }
}

fn is_note(text: &str) -> bool {
    let is_documentation = ["///", "//!", "/**", "/*!"].iter().any(|mark| text.starts_with(mark));
    let marks = ["//", "/*", "{/*", "(*", "<!--", "# ", "#.", "-- ", "--[", ";; ", "% "];
    !is_documentation && marks.iter().any(|mark| text.starts_with(mark))
}

/// Whether a line consists of several words in brackets about code that is left out.
fn is_bracketed_note(line: &str) -> bool {
    let text = line.trim();
    let inside = [('(', ')'), ('[', ']'), ('{', '}'), ('<', '>')]
        .into_iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    inside.is_some_and(|inside| {
        inside.contains(' ') && !inside.contains(',') && is_prose(inside) && is_phrase(inside.trim())
    })
}

/// Words only.
fn is_prose(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_alphabetic() || c.is_whitespace() || ".,'’…:-".contains(c))
}

/// Whether a text consists of words about code that is left out.
fn is_phrase(text: &str) -> bool {
    let words = || {
        text.split(|c: char| !c.is_alphanumeric() && c != '\'')
            .filter(|word| !word.is_empty())
    };
    let has = |list: &[&str], word: &str| list.contains(&word.to_lowercase().as_str());
    // "rest of query unchanged" may have a word of its own.
    let about = words().filter(|word| has(&CODE_WORDS, word)).count();
    let others = words().filter(|word| !has(&CODE_WORDS, word) && !has(&FILLERS, word));
    is_set_phrase(text)
        || is_prose(text)
            && OTHER_LANGUAGES
                .iter()
                .any(|phrase| text.to_lowercase().contains(phrase))
        || is_prose(text)
            && words().count() <= 14
            && (is_negated(text) || about > 0)
            && others.count() <= usize::from(about > 1)
}

/// Phrases for what follows without a word about code that is left out.
fn is_set_phrase(text: &str) -> bool {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    [
        "and so on",
        "and so forth",
        "and the rest",
        "more code here",
        "more code",
    ]
    .contains(&text.as_str())
}

/// The note at the start or end of inserted lines that stands for code of the file around them.
pub(crate) fn note_at_end(text: &str) -> Option<RefusalReason> {
    let is_placeholder =
        |line: &&str| stub(line).is_some_and(|stub| stub.is_whole && stub.is_note && is_phrase(stub.text));
    let mut solid = text.lines().filter(|line| !is_blank(line));
    let ends = [solid.next(), solid.next_back()];
    let found = ends.into_iter().flatten().find(is_placeholder);
    found.map(|line| RefusalReason::Placeholder(line.trim().to_owned()))
}

/// Whether a text has no words about particular code.
fn is_generic(text: &str) -> bool {
    let mut words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let is_generic = |word: &str| {
        let word = word.to_lowercase();
        let is_known = |list: &[&str]| list.contains(&word.as_str());
        word.parse::<usize>().is_ok() || is_known(&CODE_WORDS) || is_known(&FILLERS)
    };
    text != "end" && words.all(is_generic)
}

fn is_negated(text: &str) -> bool {
    let text = text.to_lowercase();
    [
        "do not change",
        "do not modify",
        "not changed",
        "not modified",
        "no change",
        "not touched",
        "not shown",
        "not included",
        "not repeated",
    ]
    .iter()
    .any(|phrase| text.contains(phrase))
}

fn mentions_code(text: &str) -> bool {
    let is_word = |word: &str| CODE_WORDS.contains(&word.to_lowercase().as_str());
    text.split_whitespace().count() <= 14
        && (is_negated(text) || text.split(|c: char| !c.is_alphanumeric()).any(is_word))
}

fn has_dots(line: &str) -> bool {
    line.contains("...") || line.contains(['…', '⋮', '⋯'])
}

/// Whether `line` is a placeholder for omitted code, in a comment, in brackets or bare.
pub(crate) fn is_omission(line: &str) -> bool {
    let text = line.trim();
    if text.is_empty() || text.len() > 160 {
        return false;
    }
    let Some(inner) = strip_comment(text) else { return false };
    let lower = inner.to_lowercase().replace(['…', '⋮', '⋯'], "...");
    let has_dots = lower.contains("...");
    let words = lower.replace("...", " ");
    let brackets = |c: char| "[](){}<> .:!".contains(c);
    let words = words.trim_end_matches(['.', ':', '!']).trim();
    let words = if words.trim_matches(brackets).is_empty() {
        ""
    } else {
        words
    };
    if words.is_empty() {
        return has_dots;
    }
    if has_dots && is_short(words) && WORDS.iter().any(|word| words.contains(word)) {
        return true;
    }
    PHRASES.iter().any(|phrase| words.contains(phrase)) && is_short(words)
}

/// Whether `line` contains only dots: an omission in most languages, a statement in some.
pub(crate) fn is_bare_dots(line: &str) -> bool {
    matches!(line.trim(), "..." | "…")
}

fn is_short(words: &str) -> bool {
    words.split_whitespace().count() <= 14
}

/// Words that indicate omitted code next to an ellipsis.
const WORDS: [&str; 20] = [
    "rest of",
    "existing",
    "unchanged",
    "remaining",
    "remains",
    "omitted",
    "same as",
    "other ",
    "previous",
    "keep",
    "snip",
    "code here",
    "as before",
    "more ",
    "truncated",
    "no changes",
    "not changed",
    "stays",
    "the rest",
    "implementation",
];

/// Phrases that indicate it without an ellipsis.
const PHRASES: [&str; 12] = [
    "rest of the code",
    "rest of the file",
    "rest of code",
    "rest of file",
    "rest of the function",
    "rest of the class",
    "rest of the method",
    "rest of your code",
    "existing code here",
    "existing code remains",
    "remains unchanged",
    "remain unchanged",
];

/// The content of a comment or bracket; the text itself if it starts or ends with dots.
fn strip_comment(text: &str) -> Option<&str> {
    for (open, close) in [
        ("/*", "*/"),
        ("<!--", "-->"),
        ("{/*", "*/}"),
        ("(", ")"),
        ("[", "]"),
        ("{#", "#}"),
        ("<", ">"),
    ] {
        if let Some(inner) = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)) {
            let inner = inner.trim();
            return (inner.starts_with("...") || inner.ends_with("...") || inner.contains('…') || open.len() > 1)
                .then_some(inner);
        }
    }
    for open in ["//", "#", "--", ";", "%", "*"] {
        if let Some(inner) = text.strip_prefix(open) {
            return Some(inner.trim_start_matches(['/', '#', '-', ';', '%', '!', '*']).trim());
        }
    }
    let spaced = |rest: &str| rest.is_empty() || rest.starts_with([' ', '.']);
    let dotted = |text: &str| {
        text.strip_prefix("...")
            .or_else(|| text.strip_prefix('…'))
            .is_some_and(spaced)
            || text.ends_with(" ...")
    };
    (dotted(text) && !text.contains(['(', ')', '=', ';', '{', '}', '"', '\'', '`', ',', '|', '&'])).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omissions_are_distinguished_from_code() {
        for line in [
            "// ... existing code ...",
            "    # ... rest of the function unchanged",
            "(rest of methods ...)",
            "(unchanged code ...)",
            "/* ... */",
            "<!-- ... other sections ... -->",
            "// rest of the code remains unchanged",
            "...",
            "{/* ... existing props ... */}",
            "# …",
            "... rest of file ...",
            "// ...",
        ] {
            assert!(is_omission(line), "{line}");
        }
        for line in [
            "let all = [...rest, ...existing];",
            "...props,",
            "...options.existing",
            "fn f(args: ...) {}",
            "// wait for the rest of the packets to arrive before we go on with the next one in line",
            "printf(\"existing...\");",
            "case 0...9:",
            "# Loading...",
            "console.log('...');",
            "text",
            "",
            "(a, b, ...)",
        ] {
            assert!(!is_omission(line), "{line}");
        }
    }
}
