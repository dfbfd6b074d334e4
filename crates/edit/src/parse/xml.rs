//! `<old_text line=N>` and `<new_text>`: tags inside the content stay content where the structure shows it, else the text is refused.

use crate::format::{Delta, Event, Malformed};
use crate::parse::event;
use crate::script::{Change, Edit, Replace, Scope, Unit};

const OLD: &str = "<old_text";
const NEW: &str = "<new_text";
/// Everything that models have been seen to close a section with.
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

/// Gathers the text; what it means is only certain at its end.
#[derive(Debug, Default)]
pub(crate) struct Xml {
    text: String,
    preview: Preview,
}

/// What has been told about the text so far.
#[derive(Debug, Default)]
struct Preview {
    at: usize,
    edit: usize,
    section: Section,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Outside,
    Old,
    Between,
    New,
}

impl Xml {
    pub(crate) fn push(&mut self, chunk: &str) -> Vec<Event> {
        self.text.push_str(chunk);
        let mut events = Vec::new();
        while self.preview.step(&self.text, &mut events) {}
        events
    }

    pub(crate) fn finish(self) -> Result<Vec<Edit>, Malformed> {
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
            edits.push(Edit::stated(
                names.last().cloned().into_iter().collect(),
                section.change,
            ));
        }
        check_gap(&text, &text[from..], from, edits.len())?;
        Ok(edits)
    }
}

struct Parsed {
    change: Change,
    end: usize,
}

fn section(text: &str, start: usize, done: usize) -> Result<Parsed, Malformed> {
    let fail = |at: usize, problem: &str| Malformed::new(done + 1, line_of(text, at), problem);
    let (attributes, old_start) = tag_end(text, start + OLD.len()).ok_or_else(|| fail(start, "the tag is cut off"))?;
    let (old_end, new_tag) =
        old_section(text, old_start).ok_or_else(|| fail(start, "`<old_text>` is not followed by `<new_text>`"))?;
    let (_, new_start) = tag_end(text, new_tag + NEW.len()).ok_or_else(|| fail(new_tag, "the tag is cut off"))?;
    let (new_end, end) = new_section(text, new_start).ok_or_else(|| fail(new_tag, "`<new_text>` is not closed"))?;
    let (old, new) = (&text[old_start..old_end], &text[new_start..new_end]);
    let unit = if old.starts_with('\n') { Unit::Lines } else { Unit::Text };
    let (old, new) = (inner(old, unit), inner(new, unit));
    if let Some(tag) = stray_tag(&old, &new) {
        return Err(fail(
            new_tag,
            &format!("the new text holds `{tag}`, which may be a mistake in the tags"),
        ));
    }
    let replace = Replace {
        readings: vec![(old, new)],
        hint: line_hint(attributes),
        scope: Scope::One,
        unit,
    };
    Ok(Parsed {
        change: Change::Replace(replace),
        end,
    })
}

/// Where the old text ends and `<new_text` starts: the first closing tag with nothing but space between.
fn old_section(text: &str, start: usize) -> Option<(usize, usize)> {
    let mut at = start;
    while let Some((closer, length)) = next_closer(text, at) {
        let after = closer + length;
        let rest = &text[after..];
        let skipped = rest.len() - rest.trim_start().len();
        if rest.trim_start().starts_with(NEW) {
            return Some((closer, after + skipped));
        }
        at = after;
    }
    // The closing tag is missing altogether, but the next section starts on its own line.
    let new_tag = find(text, "\n<new_text", start)? + 1;
    Some((new_tag, new_tag))
}

/// Where the new text ends and what follows starts: the last `</new_text>` before the next edit, or else the first other closing tag.
fn new_section(text: &str, start: usize) -> Option<(usize, usize)> {
    let limit = next_edit(text, start);
    let exact = text[start..limit]
        .rfind("</new_text>")
        .map(|at| (start + at, "</new_text>".len()));
    let (closer, length) = exact.or_else(|| next_closer(text, start).filter(|(at, _)| *at < limit))?;
    Some((closer, closer + length))
}

/// The next `<old_text` that is not content: it starts a line, or follows a closing tag, after something closed this section.
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

/// Text between edits may be prose, but not half a section.
fn check_gap(text: &str, gap: &str, at: usize, done: usize) -> Result<(), Malformed> {
    for tag in ["</new_text>", "</old_text>", NEW] {
        if let Some(found) = gap.find(tag) {
            return Err(Malformed::new(
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
    CLOSERS
        .into_iter()
        .chain(["<new_text>", "<old_text>"])
        .find(|tag| count(new, tag) > count(old, tag))
}

/// The content without the newline after the opening and the one before the closing tag.
fn inner(text: &str, unit: Unit) -> String {
    let text = text.strip_prefix('\n').unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    match unit {
        Unit::Lines if !text.is_empty() => format!("{text}\n"),
        Unit::Lines | Unit::Text => text.to_owned(),
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

impl Preview {
    /// Tells one thing more; false when nothing is certain yet.
    fn step(&mut self, text: &str, events: &mut Vec<Event>) -> bool {
        match self.section {
            Section::Outside => match find(text, OLD, self.at).and_then(|at| tag_end(text, at + OLD.len())) {
                Some((attributes, end)) => {
                    let hint = line_hint(attributes);
                    events.push(event(self.edit, Delta::Started { name: None, hint }));
                    self.enter(Section::Old, end)
                }
                None => false,
            },
            Section::Between => match find(text, NEW, self.at).and_then(|at| tag_end(text, at + NEW.len())) {
                Some((_, end)) => self.enter(Section::New, end),
                None => false,
            },
            Section::Old | Section::New => self.content(text, events),
        }
    }

    fn content(&mut self, text: &str, events: &mut Vec<Event>) -> bool {
        let closer = next_closer(text, self.at);
        let end = closer.map_or_else(|| certain(text, self.at), |(at, _)| at);
        let is_old = self.section == Section::Old;
        if end > self.at {
            let piece = text[self.at..end].to_owned();
            events.push(event(
                self.edit,
                if is_old { Delta::Old(piece) } else { Delta::New(piece) },
            ));
            self.at = end;
        }
        match closer {
            Some((at, length)) if is_old => self.enter(Section::Between, at + length),
            Some((at, length)) => {
                events.push(event(self.edit, Delta::Finished));
                self.edit += 1;
                self.enter(Section::Outside, at + length)
            }
            None => false,
        }
    }

    fn enter(&mut self, section: Section, at: usize) -> bool {
        self.section = section;
        self.at = at;
        true
    }
}

/// Up to where text is certainly content: a closing tag may have begun at its end.
fn certain(text: &str, from: usize) -> usize {
    let tail = text[from..].rfind('<').map(|at| from + at);
    let end = tail
        .filter(|at| CLOSERS.iter().any(|tag| tag.starts_with(&text[*at..])))
        .unwrap_or(text.len());
    let held = text[from..end].trim_end_matches('\n').len();
    from + held
}
