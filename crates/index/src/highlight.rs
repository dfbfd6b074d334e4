//! Highlights source text with the grammars' own queries, compiled on first use of a language.

use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, Parser, Query, QueryCursor, QueryCursorOptions, StreamingIterator as _};

use crate::Language;

/// Longer text is not highlighted.
const MAX_TEXT: usize = 512 << 10;
/// The time limit for highlighting, so that the screen stays responsive.
const LIMIT: Duration = Duration::from_millis(100);

/// The kind of a highlighted span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HighlightKind {
    /// A comment.
    Comment,
    /// A keyword.
    Keyword,
    /// A string or a character.
    String,
    /// A number or another literal.
    Number,
    /// The name of a type.
    Type,
    /// The name of a function.
    Function,
    /// A constant.
    Constant,
    /// A field, a key or an attribute.
    Property,
    /// A variable or a parameter.
    Variable,
    /// An operator.
    Operator,
    /// Brackets, commas and other punctuation.
    Punctuation,
    /// A tag of a markup language.
    Tag,
}

/// Highlights source text: returns ordered spans that do not overlap. `name` is a fence's info string, a file extension
/// or a language name. `None` if the language is unknown or has no query, or on timeout.
pub fn highlight(name: &str, text: &str) -> Option<Vec<(Range<usize>, HighlightKind)>> {
    highlight_within(LIMIT, name, text)
}

fn highlight_within(limit: Duration, name: &str, text: &str) -> Option<Vec<(Range<usize>, HighlightKind)>> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let language = Language::from_name(name)?;
    let colours = language.colours.get_or_init(|| compile(language)).as_ref()?;
    let mut parser = Parser::new();
    parser.set_language(&colours.language).ok()?;
    // Compiling a language's query on first use does not count.
    let deadline = Instant::now().checked_add(limit);
    let late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let go_on = || match late() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let (mut parsing, mut asking) = (|_: &_| go_on(), |_: &_| go_on());
    let options = ParseOptions::new().progress_callback(&mut parsing);
    let bytes = text.as_bytes();
    let tree = parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))?;
    let mut found: Vec<(Range<usize>, usize, HighlightKind)> = Vec::new();
    let mut cursor = QueryCursor::new();
    let options = QueryCursorOptions::new().progress_callback(&mut asking);
    let mut captures = cursor.captures_with_options(&colours.query, tree.root_node(), bytes, options);
    while let Some((matched, index)) = captures.next() {
        let Some(capture) = matched.captures().get(*index) else {
            continue;
        };
        let token = usize::try_from(capture.index)
            .ok()
            .and_then(|index| *colours.tokens.get(index)?);
        if let Some(token) = token {
            found.push((capture.node.byte_range(), matched.pattern_index, token));
        }
    }
    // A partial result would leave the rest plain.
    (!late()).then(|| flatten(found))
}

/// For duplicate captures the later pattern applies; nested captures are cut out of the outer ones.
fn flatten(mut found: Vec<(Range<usize>, usize, HighlightKind)>) -> Vec<(Range<usize>, HighlightKind)> {
    found.sort_by(|(a, one, _), (b, two, _)| (a.start, b.end, one).cmp(&(b.start, a.end, two)));
    let mut spans: Vec<(Range<usize>, HighlightKind)> = Vec::new();
    let mut open: Vec<(Range<usize>, HighlightKind)> = Vec::new();
    let mut at = 0;
    let put = |spans: &mut Vec<(Range<usize>, HighlightKind)>, range: Range<usize>, token| {
        if range.start < range.end {
            spans.push((range, token));
        }
    };
    for (range, _, token) in found {
        while let Some((outer, outer_token)) = open.last().filter(|(outer, _)| outer.end <= range.start).cloned() {
            put(&mut spans, at.max(outer.start)..outer.end, outer_token);
            at = at.max(outer.end);
            open.pop();
        }
        if open.last().is_some_and(|(outer, _)| *outer == range) {
            open.pop();
        }
        if let Some((outer, outer_token)) = open.last() {
            put(&mut spans, at.max(outer.start)..range.start, *outer_token);
        }
        at = at.max(range.start);
        open.push((range, token));
    }
    while let Some((outer, token)) = open.pop() {
        put(&mut spans, at.max(outer.start)..outer.end, token);
        at = at.max(outer.end);
    }
    spans
}

/// A grammar with its highlight query.
#[derive(Debug)]
pub(crate) struct HighlightQuery {
    language: tree_sitter::Language,
    query: Query,
    /// The kind of each capture of the query.
    tokens: Vec<Option<HighlightKind>>,
}

fn compile(language: &Language) -> Option<HighlightQuery> {
    let source = source(language.key)?;
    let grammar = language.grammar();
    let query = Query::new(&grammar, &source).ok()?;
    let tokens = query.capture_names().iter().map(|name| token(name)).collect();
    Some(HighlightQuery {
        language: grammar,
        query,
        tokens,
    })
}

/// The kind of a capture, by its conventional name.
fn token(name: &str) -> Option<HighlightKind> {
    let first = name.split('.').next().unwrap_or_default();
    Some(match first {
        "comment" => HighlightKind::Comment,
        "keyword" | "conditional" | "repeat" | "include" | "exception" | "storageclass" | "preproc" | "define" => {
            HighlightKind::Keyword
        }
        "string" | "character" | "escape" => HighlightKind::String,
        "number" | "float" | "boolean" => HighlightKind::Number,
        "type" | "constructor" | "namespace" | "module" => HighlightKind::Type,
        "function" | "method" => HighlightKind::Function,
        "constant" => HighlightKind::Constant,
        "property" | "attribute" | "field" | "label" | "annotation" => HighlightKind::Property,
        "variable" | "parameter" => HighlightKind::Variable,
        "operator" => HighlightKind::Operator,
        "punctuation" | "delimiter" => HighlightKind::Punctuation,
        "tag" => HighlightKind::Tag,
        _ => return None,
    })
}

/// The highlight query of a language; some grammars extend another's.
fn source(key: &str) -> Option<String> {
    let own = match key {
        "bash" => tree_sitter_bash::HIGHLIGHT_QUERY,
        key => HIGHLIGHTS
            .iter()
            .find(|(name, _)| *name == key)
            .map(|(_, query)| *query)?,
    };
    let below = match key {
        "cpp" => source("c"),
        "typescript" | "tsx" => source("javascript"),
        _ => None,
    };
    Some(format!("{}\n{own}", below.unwrap_or_default()))
}

include!(concat!(env!("OUT_DIR"), "/highlights.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    /// Regardless of the load of the machine.
    fn highlight_without_timeout(name: &str, text: &str) -> Option<Vec<(Range<usize>, HighlightKind)>> {
        highlight_within(Duration::from_secs(600), name, text)
    }
    use crate::languages;

    /// The highlighted pieces of a text.
    fn pieces<'t>(name: &str, text: &'t str) -> Vec<(&'t str, HighlightKind)> {
        let found = highlight_without_timeout(name, text).unwrap_or_default();
        found.into_iter().map(|(range, token)| (&text[range], token)).collect()
    }

    #[test]
    fn source_text_is_highlighted_by_kind() {
        let rust = pieces("rust", "fn main() { let x = \"a\"; } // end");
        for piece in [
            ("fn", HighlightKind::Keyword),
            ("main", HighlightKind::Function),
            ("\"a\"", HighlightKind::String),
            ("// end", HighlightKind::Comment),
        ] {
            assert!(rust.contains(&piece), "{piece:?} in {rust:?}");
        }
        let python = pieces("py", "def f(x):\n    return 1  # one\n");
        for piece in [
            ("def", HighlightKind::Keyword),
            ("f", HighlightKind::Function),
            ("1", HighlightKind::Number),
            ("# one", HighlightKind::Comment),
        ] {
            assert!(python.contains(&piece), "{piece:?} in {python:?}");
        }
        assert!(
            pieces("console", "echo \"$HOME\"")
                .iter()
                .any(|(_, token)| *token == HighlightKind::String)
        );
        assert!(pieces("tsx", "const a: number = 1;").contains(&("const", HighlightKind::Keyword)));
        assert_eq!(highlight_without_timeout("klingon", "x"), None);
    }

    #[test]
    fn spans_are_in_order_and_do_not_overlap_even_in_broken_text() {
        let broken = "fn main( { \"a \\n \\u{41}\", 'x', r#\"y\"# } } /* open";
        for language in languages() {
            let spans = highlight_without_timeout(language.name, broken).unwrap_or_default();
            for pair in spans.windows(2) {
                assert!(pair[0].0.end <= pair[1].0.start, "{}: {pair:?}", language.name);
            }
        }
    }

    #[test]
    fn nearly_every_language_has_a_highlight_query() {
        let without: Vec<&str> = languages()
            .iter()
            .filter(|language| compile(language).is_none())
            .map(|language| language.name)
            .collect();
        assert!(without.len() <= 4, "{without:?}");
    }

    #[test]
    fn text_that_takes_too_long_is_not_highlighted() {
        let text = "fn main() { let x = 1; }\n".repeat(2_000);
        assert!(highlight_within(Duration::ZERO, "rust", &text).is_none());
        assert!(highlight_without_timeout("rust", &text).is_some_and(|spans| !spans.is_empty()));
    }
}
