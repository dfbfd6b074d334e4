//! The formats in which models write edits, and the parser for each. Chunking of the text does not affect the result.

use crate::parse::apply_patch::ApplyPatchParser;
use crate::parse::json::JsonParser;
use crate::parse::search_replace::SearchReplaceParser;
use crate::parse::unified::UnifiedDiffParser;
use crate::parse::whole::WholeFileParser;
use crate::parse::xml::XmlParser;
use crate::parsed_edit::{EditChange, ParsedEdit};
use crate::refusal::RefusalReason;

/// The format of an edit text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EditFormat {
    /// Detected from the text.
    Auto,
    /// `*** Begin Patch` … `*** End Patch`.
    ApplyPatch,
    /// `<<<<<<< SEARCH` … `=======` … `>>>>>>> REPLACE`, with a file name or a line hint.
    SearchReplace,
    /// `<old_text line=N>` and `<new_text>` tags.
    Xml,
    /// Tool arguments: a path and edits of old and new text, an insertion, or content.
    Json,
    /// A unified diff, whose line numbers may be wrong.
    Unified,
    /// Whole files in code fences.
    Whole,
    /// Tool arguments: a path and edits at line anchors.
    Anchors,
}

impl EditFormat {
    /// Every format with its name.
    pub const NAMES: [(&'static str, Self); 8] = [
        ("auto", Self::Auto),
        ("apply-patch", Self::ApplyPatch),
        ("search-replace", Self::SearchReplace),
        ("xml", Self::Xml),
        ("json", Self::Json),
        ("unified", Self::Unified),
        ("whole", Self::Whole),
        ("anchors", Self::Anchors),
    ];

    /// The name of the format.
    pub fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(_, format)| *format == self)
            .map_or("auto", |(name, _)| name)
    }

    /// The format with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, format)| *format)
    }
}

/// A text that violates its format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("edit {edit}: {why}")]
pub struct MalformedEdit {
    /// The edit, counted from 1; 0 for the whole text.
    pub edit: usize,
    /// The reason.
    pub why: RefusalReason,
}

impl MalformedEdit {
    pub(crate) fn new(edit: usize, line: usize, problem: impl Into<String>) -> Self {
        Self {
            edit,
            why: RefusalReason::Malformed {
                line,
                problem: problem.into(),
            },
        }
    }
}

/// A parser event. Edits are counted from 0 here, in order of appearance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditEvent {
    /// The edit.
    pub edit: usize,
    /// The update.
    pub delta: EditDelta,
}

/// An update of an edit that is still streaming.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditDelta {
    /// The edit starts; the file name if known.
    Started {
        /// The file name in the text.
        name: Option<String>,
        /// The expected line of the old text, counted from 1.
        hint: Option<usize>,
    },
    /// More of the old text.
    Old(String),
    /// More of the new text.
    New(String),
    /// A line in both texts.
    Kept(String),
    /// The edit is complete.
    Finished,
}

/// Parses edit text incrementally.
#[derive(Debug)]
pub struct EditParser {
    inner: FormatParser,
}

#[derive(Debug)]
enum FormatParser {
    /// The text is buffered until the format is known.
    Unknown(String),
    ApplyPatch(ApplyPatchParser),
    SearchReplace(SearchReplaceParser),
    Xml(XmlParser),
    Json(JsonParser),
    Unified(UnifiedDiffParser),
    Whole(WholeFileParser),
}

impl EditParser {
    /// A parser for text in `format`.
    pub fn new(format: EditFormat) -> Self {
        let inner = match format {
            EditFormat::Auto => FormatParser::Unknown(String::new()),
            EditFormat::ApplyPatch => FormatParser::ApplyPatch(ApplyPatchParser::default()),
            EditFormat::SearchReplace => FormatParser::SearchReplace(SearchReplaceParser::default()),
            EditFormat::Xml => FormatParser::Xml(XmlParser::default()),
            EditFormat::Json | EditFormat::Anchors => FormatParser::Json(JsonParser::default()),
            EditFormat::Unified => FormatParser::Unified(UnifiedDiffParser::default()),
            EditFormat::Whole => FormatParser::Whole(WholeFileParser::default()),
        };
        Self { inner }
    }

    /// Adds text and returns the new events.
    pub fn push(&mut self, chunk: &str) -> Vec<EditEvent> {
        match &mut self.inner {
            FormatParser::Unknown(text) => {
                text.push_str(chunk);
                Vec::new()
            }
            FormatParser::ApplyPatch(parser) => parser.push(chunk),
            FormatParser::SearchReplace(parser) => parser.push(chunk),
            FormatParser::Xml(parser) => parser.push(chunk),
            FormatParser::Json(parser) => parser.push(chunk),
            FormatParser::Unified(parser) => parser.push(chunk),
            FormatParser::Whole(parser) => parser.push(chunk),
        }
    }

    /// The text is complete: returns all edits, or the error.
    pub fn finish(self) -> Result<Vec<ParsedEdit>, MalformedEdit> {
        match self.inner {
            FormatParser::Unknown(text) => {
                let format = detect(&text).ok_or(MalformedEdit {
                    edit: 0,
                    why: RefusalReason::UnknownFormat,
                })?;
                parse(&text, format)
            }
            FormatParser::ApplyPatch(parser) => parser.finish(),
            FormatParser::SearchReplace(parser) => parser.finish(),
            FormatParser::Xml(parser) => parser.finish(),
            FormatParser::Json(parser) => parser.finish(),
            FormatParser::Unified(parser) => parser.finish(),
            FormatParser::Whole(parser) => parser.finish(),
        }
    }
}

/// Parses a complete text.
pub fn parse(text: &str, format: EditFormat) -> Result<Vec<ParsedEdit>, MalformedEdit> {
    let mut parser = EditParser::new(format);
    parser.push(text);
    parser.finish()
}

/// Detects the format of `text` from its markers.
pub fn detect(text: &str) -> Option<EditFormat> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let unfenced = start.strip_prefix("```json").unwrap_or(start).trim_start();
    if unfenced.starts_with(['{', '[']) && looks_like_json(unfenced) || is_fenced_json_edit(start) {
        return Some(EditFormat::Json);
    }
    let mut removed_name = false;
    for line in text.lines() {
        let bare = line.trim();
        if bare == "*** Begin Patch" || bare.starts_with("*** Update File: ") || bare.starts_with("*** Add File: ") {
            return Some(EditFormat::ApplyPatch);
        }
        let marker = bare.trim_start_matches(['<', '-']);
        if bare.len() >= marker.len() + 5 && marker.trim_start().starts_with("SEARCH") {
            return Some(EditFormat::SearchReplace);
        }
        if bare.starts_with("<old_text") || bare.starts_with("<edits>") {
            return Some(EditFormat::Xml);
        }
        if removed_name && line.starts_with("+++ ") {
            return Some(EditFormat::Unified);
        }
        removed_name = line.starts_with("--- ");
        if line.starts_with("diff --git ") || line.starts_with("@@ -") {
            return Some(EditFormat::Unified);
        }
    }
    if text.contains("<old_text") {
        return Some(EditFormat::Xml);
    }
    text.lines()
        .any(|line| line.trim_start().starts_with("```"))
        .then_some(EditFormat::Whole)
}

/// Whether the first code fence, of any language, contains the arguments of an edit.
fn is_fenced_json_edit(text: &str) -> bool {
    let is_fence = |line: &&str| ["```", "~~~"].iter().any(|mark| line.trim_start().starts_with(mark));
    let lines = text.split_inclusive('\n').skip_while(|line| !is_fence(line)).skip(1);
    let inside: String = lines.take_while(|line| !is_fence(line)).collect();
    if !inside.trim_start().starts_with(['{', '[']) {
        return false;
    }
    let changes = parse(&inside, EditFormat::Json).unwrap_or_default();
    let is_edit = |edit: &ParsedEdit| !matches!(edit.change, EditChange::Write(_) | EditChange::Create(_));
    looks_like_json(inside.trim_start()) && changes.iter().any(is_edit)
}

/// Whether an object or array starts here rather than code.
fn looks_like_json(text: &str) -> bool {
    let inside = text.trim_start_matches(['{', '[']).trim_start();
    inside.starts_with(['"', '{', '}', ']']) || inside.is_empty()
}
