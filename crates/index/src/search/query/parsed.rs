//! A query as terms.

use crate::search::document::exact_check;
use crate::search::segment::NameRecord;
use crate::search::words::{Term, fold, foreign_terms, stem, term, words};

/// Words without content. They are used only if a query has no other.
const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "been", "being", "between", "by", "can", "code",
    "do", "does", "each", "find", "for", "from", "get", "gets", "has", "have", "how", "i", "in", "into", "is", "it",
    "its", "me", "of", "on", "one", "or", "show", "so", "such", "that", "the", "their", "them", "there", "these",
    "they", "this", "those", "through", "to", "up", "use", "used", "uses", "using", "via", "was", "we", "what", "when",
    "where", "which", "while", "who", "why", "will", "with", "within", "work", "works", "you",
];

/// The maximum number of terms; later words are dropped.
const MAX_TERMS: usize = 32;

/// A query as terms.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ParsedQuery {
    /// Distinct terms: words and identifiers of several words.
    pub(crate) terms: Vec<QueryTerm>,
    /// The number of words.
    pub(crate) words: usize,
    /// A single word or identifier.
    pub(crate) is_symbol: bool,
    /// It begins like a question.
    pub(crate) is_question: bool,
    /// Whether the current word is part of an expression such as `res.redirect` or `a::b`.
    is_dotted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct QueryTerm {
    pub(crate) term: Term,
    /// Whether it looks like a symbol: several words, a capital, or the whole query.
    pub(crate) is_identifier: bool,
    /// Whether it is a whole identifier of several words.
    pub(crate) is_compound: bool,
    /// The check of the exact word, as in names of definitions.
    pub(crate) check: u8,
}

impl QueryTerm {
    /// Whether a definition has this name.
    pub(crate) fn names(&self, definition: NameRecord) -> bool {
        self.term == definition.name && self.check == definition.check
    }
}

/// The low 16 bits of terms, as a set.
pub(crate) struct TermMarks(Vec<u64>);

impl TermMarks {
    pub(crate) fn contains(&self, bits: u16) -> bool {
        let word = self.0.get(usize::from(bits >> 6)).copied().unwrap_or(0);
        word & 1 << (bits & 63) != 0
    }
}

impl ParsedQuery {
    /// The marks of its terms.
    pub(crate) fn marks(&self) -> TermMarks {
        let mut marks = vec![0; 1 << 10];
        for term in &self.terms {
            let bits = term.term as u16;
            marks[usize::from(bits >> 6)] |= 1_u64 << (bits & 63);
        }
        TermMarks(marks)
    }

    pub(crate) fn parse(text: &str) -> Self {
        let all = Self::with(text, true);
        match all.terms.is_empty() {
            true => Self::with(text, false),
            false => all,
        }
    }

    fn with(text: &str, skips_stop_words: bool) -> Self {
        let folded = fold(text);
        let mut query = Self::default();
        let mut identifier: Vec<String> = Vec::new();
        let mut first = true;
        for word in words(&folded) {
            if !word.continues {
                query.push_identifier(&mut identifier, first, skips_stop_words);
                first = query.words == 0;
                query.is_dotted = is_dotted(&folded, word.text);
            }
            query.words += 1;
            identifier.push(word.text.to_owned());
        }
        query.push_identifier(&mut identifier, first, skips_stop_words);
        if !text.is_ascii() {
            foreign_terms(text, |term| {
                query.words += 1;
                query.push((term, 0), false, false);
            });
        }
        let trimmed = text.trim();
        query.is_symbol = !trimmed.is_empty() && !trimmed.contains(char::is_whitespace);
        if query.is_symbol {
            query.terms.iter_mut().for_each(|term| term.is_identifier = true);
        }
        let beginning = trimmed
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        query.is_question = ["how", "where", "what", "which", "why", "when"].contains(&beginning.as_str());
        query
    }

    /// Adds the words of an identifier, and the whole.
    fn push_identifier(&mut self, parts: &mut Vec<String>, first: bool, skips_stop_words: bool) {
        let parts = std::mem::take(parts);
        let is_compound = parts.len() > 1;
        let lower: Vec<String> = parts.iter().map(|part| part.to_ascii_lowercase()).collect();
        for (part, lower) in parts.iter().zip(&lower) {
            if skips_stop_words && !is_compound && STOP_WORDS.contains(&lower.as_str()) {
                continue;
            }
            let has_capital = part.starts_with(|letter: char| letter.is_ascii_uppercase());
            let is_code = !is_compound && (has_capital && !first || self.is_dotted);
            self.push((term(stem(lower)), exact_check(lower)), is_code, false);
        }
        if is_compound {
            let whole = lower.concat();
            self.push((term(stem(&whole)), exact_check(&whole)), true, true);
        }
    }

    fn push(&mut self, (term, check): (Term, u8), is_identifier: bool, is_compound: bool) {
        if let Some(known) = self.terms.iter_mut().find(|known| known.term == term) {
            known.is_identifier |= is_identifier;
            known.is_compound |= is_compound;
        } else if self.terms.len() < MAX_TERMS {
            self.terms.push(QueryTerm {
                term,
                is_identifier,
                is_compound,
                check,
            });
        }
    }
}

/// Whether a word of a text is next to `.`, `::`, `->`, `(` or a backtick, as in code.
fn is_dotted(text: &str, word: &str) -> bool {
    let start = (word.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let before = text.get(..start).unwrap_or_default();
    let after = text
        .get(start..)
        .unwrap_or_default()
        .trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
    let letter = |text: &str| text.starts_with(|letter: char| letter.is_ascii_alphanumeric());
    ["::", "->", "`", ".", "@", "#"]
        .iter()
        .any(|mark| before.ends_with(mark))
        || ["::", "->", "`", "("].iter().any(|mark| after.starts_with(mark))
        || after.strip_prefix('.').is_some_and(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_dropped_unless_nothing_else_remains() {
        let count = |text| ParsedQuery::parse(text).terms.len();
        assert_eq!(count("how does the parser work"), 1);
        assert_eq!(count("how does it work"), 4);
        assert_eq!(count(""), 0);
        let query = ParsedQuery::parse("where is HTTPServer closed");
        assert_eq!(query.terms.iter().filter(|term| term.is_compound).count(), 1);
        assert!(query.is_question && !query.is_symbol);
        assert!(ParsedQuery::parse("parse_url").is_symbol);
    }
}
