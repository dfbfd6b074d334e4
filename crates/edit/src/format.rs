//! The formats in which models write edits, and the parser for each: any chunking of the text gives the same edits.

use crate::parse::apply_patch::ApplyPatch;
use crate::parse::json::Json;
use crate::parse::search_replace::SearchReplace;
use crate::parse::unified::Unified;
use crate::parse::whole::Whole;
use crate::parse::xml::Xml;
use crate::refusal::Why;
use crate::script::Edit;

/// How edit text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// To be recognised by its text.
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
}

impl Format {
    /// Every format with the name it goes by.
    pub const NAMES: [(&'static str, Self); 7] = [
        ("auto", Self::Auto),
        ("apply-patch", Self::ApplyPatch),
        ("search-replace", Self::SearchReplace),
        ("xml", Self::Xml),
        ("json", Self::Json),
        ("unified", Self::Unified),
        ("whole", Self::Whole),
    ];

    /// The name of the format.
    pub fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(_, format)| *format == self)
            .map_or("auto", |(name, _)| name)
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, format)| *format)
    }
}

/// A text that breaks its format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("edit {edit}: {why}")]
pub struct Malformed {
    /// Which edit, counted from 1; 0 for the text as a whole.
    pub edit: usize,
    /// What is wrong.
    pub why: Why,
}

impl Malformed {
    pub(crate) fn new(edit: usize, line: usize, problem: impl Into<String>) -> Self {
        Self {
            edit,
            why: Why::Malformed {
                line,
                problem: problem.into(),
            },
        }
    }
}

/// What a parser learns as text arrives. Edits are counted from 0 here, in the order in which they appear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Which edit.
    pub edit: usize,
    /// What about it.
    pub delta: Delta,
}

/// A piece of news about an edit that is still being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// It has begun, for the file of this name where one is known.
    Started {
        /// What the text calls the file.
        name: Option<String>,
        /// The line, counted from 1, where the old text should be.
        hint: Option<usize>,
    },
    /// More of the old text.
    Old(String),
    /// More of the new text.
    New(String),
    /// A line that is in both.
    Kept(String),
    /// It is complete.
    Finished,
}

/// Reads edit text piece by piece.
#[derive(Debug)]
pub struct Parser {
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    /// Until the format is known, text is only gathered.
    Unknown(String),
    ApplyPatch(ApplyPatch),
    SearchReplace(SearchReplace),
    Xml(Xml),
    Json(Json),
    Unified(Unified),
    Whole(Whole),
}

impl Parser {
    /// A parser for text in `format`.
    pub fn new(format: Format) -> Self {
        let inner = match format {
            Format::Auto => Inner::Unknown(String::new()),
            Format::ApplyPatch => Inner::ApplyPatch(ApplyPatch::default()),
            Format::SearchReplace => Inner::SearchReplace(SearchReplace::default()),
            Format::Xml => Inner::Xml(Xml::default()),
            Format::Json => Inner::Json(Json::default()),
            Format::Unified => Inner::Unified(Unified::default()),
            Format::Whole => Inner::Whole(Whole::default()),
        };
        Self { inner }
    }

    /// Takes in more text and says what is new.
    pub fn push(&mut self, chunk: &str) -> Vec<Event> {
        match &mut self.inner {
            Inner::Unknown(text) => {
                text.push_str(chunk);
                Vec::new()
            }
            Inner::ApplyPatch(parser) => parser.push(chunk),
            Inner::SearchReplace(parser) => parser.push(chunk),
            Inner::Xml(parser) => parser.push(chunk),
            Inner::Json(parser) => parser.push(chunk),
            Inner::Unified(parser) => parser.push(chunk),
            Inner::Whole(parser) => parser.push(chunk),
        }
    }

    /// The text is complete: all its edits, or what is wrong with it.
    pub fn finish(self) -> Result<Vec<Edit>, Malformed> {
        match self.inner {
            Inner::Unknown(text) => {
                let format = detect(&text).ok_or(Malformed {
                    edit: 0,
                    why: Why::UnknownFormat,
                })?;
                parse(&text, format)
            }
            Inner::ApplyPatch(parser) => parser.finish(),
            Inner::SearchReplace(parser) => parser.finish(),
            Inner::Xml(parser) => parser.finish(),
            Inner::Json(parser) => parser.finish(),
            Inner::Unified(parser) => parser.finish(),
            Inner::Whole(parser) => parser.finish(),
        }
    }
}

/// Parses a complete text.
pub fn parse(text: &str, format: Format) -> Result<Vec<Edit>, Malformed> {
    let mut parser = Parser::new(format);
    parser.push(text);
    parser.finish()
}

/// The format that `text` is written in, judged by its markers.
pub fn detect(text: &str) -> Option<Format> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let unfenced = start.strip_prefix("```json").unwrap_or(start).trim_start();
    if unfenced.starts_with(['{', '[']) && serde_like(unfenced) {
        return Some(Format::Json);
    }
    let mut removed_name = false;
    for line in text.lines() {
        let bare = line.trim();
        if bare == "*** Begin Patch" || bare.starts_with("*** Update File: ") || bare.starts_with("*** Add File: ") {
            return Some(Format::ApplyPatch);
        }
        if bare.starts_with("<<<<<") && bare.trim_start_matches('<').trim_start().starts_with("SEARCH") {
            return Some(Format::SearchReplace);
        }
        if bare.starts_with("<old_text") || bare.starts_with("<edits>") {
            return Some(Format::Xml);
        }
        if removed_name && line.starts_with("+++ ") {
            return Some(Format::Unified);
        }
        removed_name = line.starts_with("--- ");
        if line.starts_with("diff --git ") || line.starts_with("@@ -") {
            return Some(Format::Unified);
        }
    }
    if text.contains("<old_text") {
        return Some(Format::Xml);
    }
    text.lines()
        .any(|line| line.trim_start().starts_with("```"))
        .then_some(Format::Whole)
}

/// Whether an object or array starts here rather than, say, code.
fn serde_like(text: &str) -> bool {
    let inside = text.trim_start_matches(['{', '[']).trim_start();
    inside.starts_with(['"', '{', '}', ']']) || inside.is_empty()
}
