//! Analyses a file for the index: chunks with their terms, definitions and vectors.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use crate::search::chunks::{self, ChunkSpan};
use crate::search::codec::VectorCode;
use crate::search::embedding::{CompactEmbedding, Embedding, Token, push_tokens};
use crate::search::file_class::FileClass;
use crate::search::words::{MAX_WORD, Term, fold, foreign_terms, stem, term, words};
use crate::{Language, Outline, SymbolKind, outline};

/// Time limit for the syntax of one file.
const PARSE_TIME: Duration = Duration::from_secs(2);
/// Larger files are split by lines instead of syntax.
const MAX_PARSED: usize = 1024 * 1024;
/// Only this much of a chunk is analysed: longer ones are data in one line.
const MAX_ANALYSED: usize = 8 * 1024;
/// Languages whose syntax has no definitions worth a chunk.
const DATA_LANGUAGES: [&str; 6] = ["CSS", "HTML", "JSON", "TOML", "YAML", "Make"];
/// The maximum number of remembered words.
const MAX_REMEMBERED: usize = 40_000;
/// Characters of the beginning of a file that belong to its summary.
const SUMMARY_HEAD: usize = 600;
/// Names of definitions that belong to the summary.
const SUMMARY_NAMES: usize = 200;

/// A file as the index stores it.
#[derive(Debug, Clone, PartialEq)]
pub struct FileAnalysis {
    /// Its purpose.
    pub class: FileClass,
    /// The number of lines.
    pub lines: usize,
    pub(crate) chunks: Vec<AnalysedChunk>,
    /// The vector of its path, the names of its definitions and its beginning.
    pub(crate) summary: VectorCode,
    /// The terms of its stem and its folders.
    pub(crate) path: PathTerms,
}

/// A chunk as the index stores it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AnalysedChunk {
    pub(crate) span: ChunkSpan,
    /// The kind and the names of the definition that it shows, such as `method Parser::next`.
    pub(crate) label: String,
    /// Distinct terms with their weighted counts, by term.
    pub(crate) terms: Vec<(Term, u8)>,
    /// The number of words.
    pub(crate) length: u16,
    /// The definitions that start in it.
    pub(crate) definitions: Vec<DefinedName>,
    pub(crate) vector: VectorCode,
}

/// The name of a definition as terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DefinedName {
    pub(crate) kind: SymbolKind,
    /// The whole name, stemmed as in the text.
    pub(crate) name: Term,
    /// Distinguishes names with the same stem.
    pub(crate) check: u8,
    /// Its words.
    pub(crate) parts: Vec<Term>,
}

/// The terms of a path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PathTerms {
    pub(crate) stem: Vec<Term>,
    pub(crate) folders: Vec<Term>,
}

/// Stems and tokens of words that occurred before.
#[derive(Debug, Default)]
pub(crate) struct WordMemory {
    known: HashMap<Box<str>, (Term, Box<[Token]>)>,
}

/// Collects the terms and tokens of a text.
#[derive(Default)]
pub(crate) struct TermCounter {
    pub(crate) terms: Vec<Term>,
    pub(crate) tokens: Vec<Token>,
    /// The number of words.
    pub(crate) words: usize,
}

impl WordMemory {
    /// The vector of a text.
    pub(crate) fn embed(&mut self, text: &str) -> CompactEmbedding {
        let mut counter = TermCounter::default();
        self.count(text, &mut counter);
        CompactEmbedding::of(&Embedding::of_tokens(&mut counter.tokens))
    }

    /// Adds the words of a text, and its identifiers of several words.
    pub(crate) fn count(&mut self, text: &str, counter: &mut TermCounter) {
        let folded = fold(text);
        let mut identifier = String::new();
        let mut parts = 0;
        let mut lower = String::new();
        for word in words(&folded) {
            if word.text.len() > MAX_WORD {
                continue;
            }
            lower.clear();
            lower.push_str(word.text);
            lower.make_ascii_lowercase();
            if !word.continues {
                flush(&mut identifier, &mut parts, counter);
            }
            counter.words += 1;
            parts += 1;
            if identifier.len() < 2 * MAX_WORD {
                identifier.push_str(&lower);
            }
            let remembered = match self.known.get(lower.as_str()) {
                Some(known) => known,
                None => {
                    let mut tokens = Vec::new();
                    push_tokens(&lower, &mut tokens);
                    if self.known.len() >= MAX_REMEMBERED {
                        self.known.clear();
                    }
                    let value = (term(stem(&lower)), tokens.into_boxed_slice());
                    self.known.entry(lower.as_str().into()).or_insert(value)
                }
            };
            counter.terms.push(remembered.0);
            counter.tokens.extend_from_slice(&remembered.1);
        }
        flush(&mut identifier, &mut parts, counter);
        if !text.is_ascii() {
            foreign_terms(text, |term| {
                counter.words += 1;
                counter.terms.push(term);
            });
        }
    }
}

/// Adds an identifier of several words as one term.
fn flush(identifier: &mut String, parts: &mut usize, counter: &mut TermCounter) {
    if *parts > 1 {
        counter.terms.push(term(stem(identifier)));
    }
    identifier.clear();
    *parts = 0;
}

/// The term of a whole name, a check of its exact form, and the terms of its words.
pub(crate) fn name_terms(name: &str) -> (Term, u8, Vec<Term>) {
    let folded = fold(name);
    let mut whole = String::new();
    let mut parts = Vec::new();
    for word in words(&folded) {
        let lower = word.text.to_ascii_lowercase();
        parts.push(term(stem(&lower)));
        whole.push_str(&lower);
    }
    (term(stem(&whole)), exact_check(&whole), parts)
}

/// Seven bits of the hash of an exact lower-case name.
pub(crate) fn exact_check(lower: &str) -> u8 {
    (term(lower) & 0x7F) as u8
}

/// The stem of a file name: without extensions.
pub(crate) fn file_stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.find('.') {
        Some(0) | None => name,
        Some(dot) => &name[..dot],
    }
}

/// Analyses the file with this path, relative to the project and with forward slashes.
pub fn analyse(path: &str, text: &str) -> FileAnalysis {
    analyse_with(path, text, &mut WordMemory::default())
}

pub(crate) fn analyse_with(path: &str, text: &str, memory: &mut WordMemory) -> FileAnalysis {
    let class = FileClass::detect(path, text);
    let outline = outline_of(path, text, class);
    let outline = outline.as_ref();
    let path_terms = path_terms(path);
    let prefix = path_prefix(path);
    let spans = chunks::split(text, outline);
    let chunks = spans
        .into_iter()
        .map(|span| analyse_chunk(text, span, outline, &prefix, &path_terms, memory))
        .collect();
    FileAnalysis {
        class,
        lines: text.lines().count(),
        chunks,
        summary: summary(text, outline, &prefix, memory),
        path: path_terms,
    }
}

fn outline_of(path: &str, text: &str, class: FileClass) -> Option<Outline> {
    let path = Path::new(path);
    let language = Language::detect(path, text)?;
    let is_parsed =
        text.len() <= MAX_PARSED && !class.is(FileClass::GENERATED) && !DATA_LANGUAGES.contains(&language.name);
    is_parsed.then(|| outline(path, text, PARSE_TIME).ok())?
}

/// The text of a path in an embedded text: the stem twice, then the last two folders.
pub(crate) fn path_prefix(path: &str) -> String {
    let stem = file_stem(path);
    let folders: Vec<&str> = path.split('/').rev().skip(1).take(2).collect();
    let folders: Vec<&str> = folders.into_iter().rev().collect();
    format!("{stem} {stem} {} ", folders.join(" "))
}

fn path_terms(path: &str) -> PathTerms {
    let folders: Vec<&str> = path.split('/').rev().skip(1).take(3).collect();
    PathTerms {
        stem: name_terms(file_stem(path)).2,
        folders: folders.into_iter().flat_map(|folder| name_terms(folder).2).collect(),
    }
}

fn analyse_chunk(
    text: &str,
    span: ChunkSpan,
    outline: Option<&Outline>,
    prefix: &str,
    path: &PathTerms,
    memory: &mut WordMemory,
) -> AnalysedChunk {
    let content = text.get(span.start..span.end).unwrap_or_default();
    let content = &content[..content.floor_char_boundary(MAX_ANALYSED)];
    let mut counter = TermCounter::default();
    memory.count(content, &mut counter);
    let length = counter.words.min(usize::from(u16::MAX)) as u16;
    let inside: Vec<&crate::OutlineDefinition> = outline.map_or(Vec::new(), |outline| {
        let all = &outline.definitions;
        let first = all.partition_point(|definition| definition.first < span.first);
        // A definition starts at its comment or attribute, its name may be lines later.
        all.iter()
            .skip(first)
            .take_while(|definition| definition.first <= span.last)
            .collect()
    });
    let enclosing = outline.map(|outline| outline.path_to(span.first)).unwrap_or_default();
    let label = match inside.first() {
        Some(definition) => {
            let outer = outline
                .map(|outline| outline.path_to(definition.name_line))
                .unwrap_or_default();
            format!(
                "{} {}",
                definition.kind.name(),
                if outer.is_empty() { &definition.name } else { &outer }
            )
        }
        None if enclosing.is_empty() => String::new(),
        None => format!("in {enclosing}"),
    };
    let definitions: Vec<DefinedName> = inside
        .iter()
        .map(|definition| {
            let (name, check, parts) = name_terms(&definition.name);
            DefinedName {
                kind: definition.kind,
                name,
                check,
                parts,
            }
        })
        .collect();
    // The path and the names enclosing a chunk describe it as much as its text.
    counter
        .terms
        .extend(path.stem.iter().chain(&path.stem).chain(&path.folders));
    memory.count(&enclosing, &mut counter);
    let mut named = TermCounter::default();
    memory.count(prefix, &mut named);
    counter.tokens.append(&mut named.tokens);
    AnalysedChunk {
        span,
        label: label.chars().take(80).collect(),
        terms: count_terms(counter.terms),
        length,
        definitions,
        vector: VectorCode::of(&Embedding::of_tokens(&mut counter.tokens)),
    }
}

/// The vector of the path, the names of definitions and the beginning of the file.
fn summary(text: &str, outline: Option<&Outline>, prefix: &str, memory: &mut WordMemory) -> VectorCode {
    let mut counter = TermCounter::default();
    memory.count(prefix, &mut counter);
    for definition in outline
        .iter()
        .flat_map(|outline| &outline.definitions)
        .take(SUMMARY_NAMES)
    {
        memory.count(&definition.name, &mut counter);
    }
    memory.count(&text[..text.floor_char_boundary(SUMMARY_HEAD)], &mut counter);
    VectorCode::of(&Embedding::of_tokens(&mut counter.tokens))
}

/// Distinct terms with their counts.
fn count_terms(mut terms: Vec<Term>) -> Vec<(Term, u8)> {
    terms.sort_unstable();
    terms
        .chunk_by(|a, b| a == b)
        .filter_map(|same| Some((*same.first()?, same.len().min(255) as u8)))
        .collect()
}
