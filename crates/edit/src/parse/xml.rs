//! `<old_text line=N>` and `<new_text>`: tags in the content stay content if the structure is unambiguous, otherwise
//! the text is refused.

use crate::format::{EditDelta, EditEvent, MalformedEdit};
use crate::parse::event;
use crate::parsed_edit::{EditChange, ParsedEdit, ReplaceScope, ReplaceUnit, Replacement};

const OLD: &str = "<old_text";
const NEW: &str = "<new_text";
/// All closing tags that models have been seen to use.
const CLOSERS: [&str; 9] = [
    "</old_text>",
    "</new_text>",
    "</old>",
    "</new>",
    "</text>",
    "</edits>",
    "</edit>",
    "</parameter>",
    "</invoke>",
];

/// Closing tags that are not part of the format but follow a text by mistake.
const STRAY: [&str; 33] = [
    "</old_text>",
    "</new_text>",
    "</old>",
    "</new>",
    "</text>",
    "</edits>",
    "</edit>",
    "</parameter>",
    "</invoke>",
    "</content>",
    "</old_string>",
    "</new_string>",
    "</function>",
    "</function_calls>",
    "</tool_call>",
    "</edit_file>",
    "</replace>",
    "</search>",
    "</diff>",
    "</file>",
    "</file_edit>",
    "</replacement>",
    "</tool_use>",
    "</arguments>",
    "</apply_diff>",
    "</old_str>",
    "</new_str>",
    "</write_file>",
    "</write_to_file>",
    "</replace_in_file>",
    "</insert_content>",
    "</str_replace>",
    "</apply_patch>",
];

/// Opening tags of other formats that precede a text by mistake.
const STRAY_STARTS: [&str; 9] = [
    "<new_text>",
    "<new_string>",
    "<new_str>",
    "<content>",
    "<replace>",
    "<replacement>",
    "<file_text>",
    "<diff>",
    "<parameter name=",
];

/// Buffers the text; its meaning is certain only at the end.
#[derive(Debug, Default)]
pub(crate) struct XmlParser {
    text: String,
    preview: XmlPreview,
}

/// The events reported so far.
#[derive(Debug, Default)]
struct XmlPreview {
    at: usize,
    edit: usize,
    section: XmlSection,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum XmlSection {
    #[default]
    Outside,
    Old,
    Between,
    New,
}

impl XmlParser {
    pub(crate) fn push(&mut self, chunk: &str) -> Vec<EditEvent> {
        self.text.push_str(chunk);
        let mut events = Vec::new();
        while self.preview.step(&self.text, &mut events) {}
        events
    }

    pub(crate) fn finish(self) -> Result<Vec<ParsedEdit>, MalformedEdit> {
        let text = self.text.replace("\r\n", "\n");
        let mut edits = Vec::new();
        let mut names: Vec<String> = Vec::new();
        let mut from = 0;
        while let Some(start) = find(&text, OLD, from) {
            let gap = &text[from..start];
            check_gap(&text, gap, from, edits.len())?;
            names.extend(named(gap));
            let section = section(&text, start, edits.len())?;
            from = section.end;
            edits.push(ParsedEdit::stated(
                names.last().cloned().into_iter().collect(),
                section.change,
            ));
        }
        check_gap(&text, &text[from..], from, edits.len())?;
        Ok(edits)
    }
}

struct XmlEdit {
    change: EditChange,
    end: usize,
}

fn section(text: &str, start: usize, done: usize) -> Result<XmlEdit, MalformedEdit> {
    let fail = |at: usize, problem: &str| MalformedEdit::new(done + 1, line_of(text, at), problem);
    let (attributes, old_start) = tag_end(text, start + OLD.len()).ok_or_else(|| fail(start, "the tag is cut off"))?;
    let (old_end, new_tag) =
        old_section(text, old_start).ok_or_else(|| fail(start, "`<old_text>` is not followed by `<new_text>`"))?;
    let (_, new_start) = tag_end(text, new_tag + NEW.len()).ok_or_else(|| fail(new_tag, "the tag is cut off"))?;
    let (new_end, end) = new_section(text, new_start).ok_or_else(|| fail(new_tag, "`<new_text>` is not closed"))?;
    let (old, new) = (&text[old_start..old_end], &text[new_start..new_end]);
    let unit = if old.starts_with('\n') {
        ReplaceUnit::Lines
    } else {
        ReplaceUnit::Text
    };
    let (old, new) = (without_stray_end(old, new), without_stray_end(new, old));
    let (old, new) = match (without_cdata(old), without_cdata(new)) {
        (Some(old), Some(new)) if !old.starts_with('\n') => (old.to_owned(), new.to_owned()),
        (Some(old), Some(new)) => (inner(old, unit), inner(new, unit)),
        _ => (inner(old, unit), inner(new, unit)),
    };
    if let Some(tag) = stray_tag(&old, &new) {
        return Err(fail(
            new_tag,
            &format!("the new text contains `{tag}`, which may be a mistake in the tags"),
        ));
    }
    let replace = Replacement {
        readings: vec![(old, new)],
        hint: line_hint(attributes),
        scope: ReplaceScope::One,
        unit,
    };
    Ok(XmlEdit {
        change: EditChange::Replace(replace),
        end,
    })
}

/// The end of the old text and the start of `<new_text`: the first closing tag followed only by whitespace.
fn old_section(text: &str, start: usize) -> Option<(usize, usize)> {
    let mut at = start;
    while let Some((closer, length)) = next_closer(text, at) {
        let after = closer + length;
        let rest = &text[after..];
        let skipped = rest.len() - rest.trim_start().len();
        if rest.trim_start().starts_with(NEW) {
            return Some((closer, after + skipped));
        }
        // Prose between the two texts.
        if text[closer..].starts_with("</old_text>")
            && let Some(tag) = rest.find('<')
            && rest[tag..].starts_with(NEW)
        {
            return Some((closer, after + tag));
        }
        at = after;
    }
    // The closing tag is missing, but the next section starts on its own line.
    let new_tag = find(text, "\n<new_text", start)? + 1;
    Some((new_tag, new_tag))
}

/// The end of the new text and the start of the rest: the last `</new_text>` before the next edit, or the first other
/// closing tag.
fn new_section(text: &str, start: usize) -> Option<(usize, usize)> {
    let limit = next_edit(text, start);
    let exact = text[start..limit]
        .rfind("</new_text>")
        .map(|at| (start + at, "</new_text>".len()));
    let (closer, length) = exact.or_else(|| next_closer(text, start).filter(|(at, _)| *at < limit))?;
    Some((closer, closer + length))
}

/// The next `<old_text` that is not content: it starts a line, or follows a closing tag, after this section was closed.
fn next_edit(text: &str, start: usize) -> usize {
    let mut at = start;
    while let Some(open) = find(text, OLD, at) {
        let before = text[start..open].trim_end_matches([' ', '\t']);
        let is_closed = next_closer(text, start).is_some_and(|(closer, _)| closer < open);
        if is_closed && (before.ends_with('\n') || before.ends_with('>')) {
            return open;
        }
        at = open + OLD.len();
    }
    text.len()
}

fn next_closer(text: &str, from: usize) -> Option<(usize, usize)> {
    CLOSERS
        .iter()
        .filter_map(|tag| Some((find(text, tag, from)?, tag.len())))
        .min()
}

/// Text between edits may be prose, but not part of a section.
fn check_gap(text: &str, gap: &str, at: usize, done: usize) -> Result<(), MalformedEdit> {
    for tag in ["</new_text>", "</old_text>", NEW] {
        if let Some(found) = gap.find(tag) {
            return Err(MalformedEdit::new(
                done.max(1),
                line_of(text, at + found),
                format!("`{tag}` outside any edit"),
            ));
        }
    }
    Ok(())
}

fn stray_tag(old: &str, new: &str) -> Option<&'static str> {
    let count = |text: &str, tag: &str| text.lines().filter(|line| line.trim() == tag).count();
    STRAY
        .into_iter()
        .chain(["<new_text>", "<old_text>"])
        .find(|tag| count(new, tag) > count(old, tag) && !is_opened(new, tag))
}

/// The new text of another format without closing tags at its end that belong to no element of the edit or the file.
pub(crate) fn without_stray_tags(old: &str, new: &str, file: &str) -> Option<String> {
    let kept = without_stray_end(new, old);
    let removed = &new[kept.len()..];
    let is_element = STRAY.iter().any(|tag| removed.contains(tag) && is_opened(file, tag));
    (!removed.is_empty() && !is_element).then(|| match old.ends_with('\n') {
        true if !kept.ends_with('\n') => format!("{kept}\n"),
        true => kept.to_owned(),
        false => kept.trim_end_matches('\n').to_owned(),
    })
}

/// The text without an opening tag before it that belongs to no format of the file.
pub(crate) fn without_stray_start<'t>(old: &str, new: &'t str, file: &str) -> Option<&'t str> {
    let start = new.trim_start();
    let tag = STRAY_STARTS.iter().find(|tag| start.starts_with(**tag))?;
    let is_content = old.contains(tag) || file.contains(tag);
    let (_, rest) = start.split_once('>').filter(|_| !is_content)?;
    Some(rest.strip_prefix('\n').unwrap_or(rest))
}

/// The content of a whole file without closing tags at its end, on lines of their own, that it opens nowhere.
pub(crate) fn without_unopened_tags(text: &str) -> &str {
    let mut kept = text;
    while let Some((rest, last)) = kept.trim_end().rsplit_once('\n')
        && last.starts_with("</")
        && last.ends_with('>')
        && last.matches('<').count() == 1
        && !is_opened(rest, last)
    {
        kept = &kept[..=rest.len()];
    }
    kept
}

/// Whether a text opens the element that `tag` closes.
fn is_opened(text: &str, tag: &str) -> bool {
    let open = tag
        .strip_prefix("</")
        .map(|name| format!("<{}", name.trim_end_matches('>')));
    open.is_some_and(|open| text.contains(&open))
}

/// The content without closing tags at its end that belong to no element of it.
fn without_stray_end<'a>(text: &'a str, other: &str) -> &'a str {
    let mut kept = text;
    while let Some(rest) = STRAY.iter().find_map(|tag| {
        let rest = kept.trim_end().strip_suffix(tag)?;
        let is_content = is_opened(rest, tag) || other.contains(tag);
        (!is_content).then_some(rest)
    }) {
        kept = rest;
    }
    kept
}

/// The content of a text that is one CDATA section.
pub(crate) fn without_cdata(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix("<![CDATA[")?.strip_suffix("]]>")?;
    (!inside.contains("]]>")).then_some(inside)
}

/// The content without the newlines next to the tags.
fn inner(text: &str, unit: ReplaceUnit) -> String {
    let text = text.strip_prefix('\n').unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    match unit {
        ReplaceUnit::Lines if !text.is_empty() => format!("{text}\n"),
        ReplaceUnit::Lines | ReplaceUnit::Text => text.to_owned(),
    }
}

fn tag_end(text: &str, from: usize) -> Option<(&str, usize)> {
    let end = find(text, ">", from)?;
    Some((&text[from..end], end + 1))
}

fn line_hint(attributes: &str) -> Option<usize> {
    let (_, rest) = attributes.split_once("line")?;
    let digits: String = rest
        .trim_start_matches(['=', '"', '\'', ' '])
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// A file named by `<path>…</path>` or `path="…"`.
fn named(gap: &str) -> Option<String> {
    for (open, close) in [
        ("<path>", "</path>"),
        ("<file_path>", "</file_path>"),
        ("path=\"", "\""),
    ] {
        if let Some((_, rest)) = gap.rsplit_once(open)
            && let Some((name, _)) = rest.split_once(close)
        {
            return Some(name.trim().to_owned());
        }
    }
    None
}

fn find(text: &str, sought: &str, from: usize) -> Option<usize> {
    text.get(from..)?.find(sought).map(|at| from + at)
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

impl XmlPreview {
    /// Reports the next event; false if nothing is certain yet.
    fn step(&mut self, text: &str, events: &mut Vec<EditEvent>) -> bool {
        match self.section {
            XmlSection::Outside => match find(text, OLD, self.at).and_then(|at| tag_end(text, at + OLD.len())) {
                Some((attributes, end)) => {
                    let hint = line_hint(attributes);
                    events.push(event(self.edit, EditDelta::Started { name: None, hint }));
                    self.enter(XmlSection::Old, end)
                }
                None => false,
            },
            XmlSection::Between => match find(text, NEW, self.at).and_then(|at| tag_end(text, at + NEW.len())) {
                Some((_, end)) => self.enter(XmlSection::New, end),
                None => false,
            },
            XmlSection::Old | XmlSection::New => self.content(text, events),
        }
    }

    fn content(&mut self, text: &str, events: &mut Vec<EditEvent>) -> bool {
        let closer = next_closer(text, self.at);
        let end = closer.map_or_else(|| certain(text, self.at), |(at, _)| at);
        let is_old = self.section == XmlSection::Old;
        if end > self.at {
            let piece = text[self.at..end].to_owned();
            events.push(event(
                self.edit,
                if is_old {
                    EditDelta::Old(piece)
                } else {
                    EditDelta::New(piece)
                },
            ));
            self.at = end;
        }
        match closer {
            Some((at, length)) if is_old => self.enter(XmlSection::Between, at + length),
            Some((at, length)) => {
                events.push(event(self.edit, EditDelta::Finished));
                self.edit += 1;
                self.enter(XmlSection::Outside, at + length)
            }
            None => false,
        }
    }

    fn enter(&mut self, section: XmlSection, at: usize) -> bool {
        self.section = section;
        self.at = at;
        true
    }
}

/// The end of the text that is certainly content: the rest may start a closing tag.
fn certain(text: &str, from: usize) -> usize {
    let tail = text[from..].rfind('<').map(|at| from + at);
    let end = tail
        .filter(|at| CLOSERS.iter().any(|tag| tag.starts_with(&text[*at..])))
        .unwrap_or(text.len());
    let held = text[from..end].trim_end_matches('\n').len();
    from + held
}
