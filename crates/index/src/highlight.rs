//! Colours source text: what each piece of it is, by the grammars' own queries, compiled when a language is first needed.

use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, Parser, Query, QueryCursor, QueryCursorOptions, StreamingIterator as _};

use crate::Language;

/// More than this is not coloured.
const MOST: usize = 512 << 10;
/// What takes longer is not coloured: somebody waits for a frame.
const LIMIT: Duration = Duration::from_millis(100);

/// What a piece of source text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Token {
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
    /// Brackets, commas and the like.
    Punctuation,
    /// A tag of a markup language.
    Tag,
}

/// Colours source text: spans in order that do not overlap. `name` is what stands behind a fence, a file's ending or a
/// language's name. `None` where the language is not known or has no colours, or where it would take too long.
pub fn highlight(name: &str, text: &str) -> Option<Vec<(Range<usize>, Token)>> {
    highlight_within(LIMIT, name, text)
}

fn highlight_within(limit: Duration, name: &str, text: &str) -> Option<Vec<(Range<usize>, Token)>> {
    if text.len() > MOST {
        return None;
    }
    let language = Language::named(name)?;
    let colours = language.colours.get_or_init(|| make(language)).as_ref()?;
    let mut parser = Parser::new();
    parser.set_language(&colours.language).ok()?;
    // A language's first time, when its query is compiled, does not count.
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
    let mut found: Vec<(Range<usize>, usize, Token)> = Vec::new();
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
    // What was found until then would leave the rest plain.
    (!late()).then(|| flat(found))
}

/// What is captured twice counts as what the later pattern says; what lies within something else is cut out of it.
fn flat(mut found: Vec<(Range<usize>, usize, Token)>) -> Vec<(Range<usize>, Token)> {
    found.sort_by(|(a, one, _), (b, two, _)| (a.start, b.end, one).cmp(&(b.start, a.end, two)));
    let mut spans: Vec<(Range<usize>, Token)> = Vec::new();
    let mut open: Vec<(Range<usize>, Token)> = Vec::new();
    let mut at = 0;
    let put = |spans: &mut Vec<(Range<usize>, Token)>, range: Range<usize>, token| {
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

/// A grammar with its query for colours.
#[derive(Debug)]
pub(crate) struct Colours {
    language: tree_sitter::Language,
    query: Query,
    /// What each capture of the query is.
    tokens: Vec<Option<Token>>,
}

fn make(language: &Language) -> Option<Colours> {
    let source = source(language.key)?;
    let grammar = language.grammar();
    let query = Query::new(&grammar, &source).ok()?;
    let tokens = query.capture_names().iter().map(|name| token(name)).collect();
    Some(Colours {
        language: grammar,
        query,
        tokens,
    })
}

/// What a capture is, by the name that grammars give it.
fn token(name: &str) -> Option<Token> {
    let first = name.split('.').next().unwrap_or_default();
    Some(match first {
        "comment" => Token::Comment,
        "keyword" | "conditional" | "repeat" | "include" | "exception" | "storageclass" | "preproc" | "define" => {
            Token::Keyword
        }
        "string" | "character" | "escape" => Token::String,
        "number" | "float" | "boolean" => Token::Number,
        "type" | "constructor" | "namespace" | "module" => Token::Type,
        "function" | "method" => Token::Function,
        "constant" => Token::Constant,
        "property" | "attribute" | "field" | "label" | "annotation" => Token::Property,
        "variable" | "parameter" => Token::Variable,
        "operator" => Token::Operator,
        "punctuation" | "delimiter" => Token::Punctuation,
        "tag" => Token::Tag,
        _ => return None,
    })
}

/// The query for the colours of a language; some grammars build on another's.
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

    /// However busy the machine is.
    fn calmly(name: &str, text: &str) -> Option<Vec<(Range<usize>, Token)>> {
        highlight_within(Duration::from_secs(600), name, text)
    }
    use crate::languages;

    /// The pieces of a text that are something.
    fn pieces<'t>(name: &str, text: &'t str) -> Vec<(&'t str, Token)> {
        let found = calmly(name, text).unwrap_or_default();
        found.into_iter().map(|(range, token)| (&text[range], token)).collect()
    }

    #[test]
    fn source_text_is_coloured_by_what_it_is() {
        let rust = pieces("rust", "fn main() { let x = \"a\"; } // end");
        for piece in [
            ("fn", Token::Keyword),
            ("main", Token::Function),
            ("\"a\"", Token::String),
            ("// end", Token::Comment),
        ] {
            assert!(rust.contains(&piece), "{piece:?} in {rust:?}");
        }
        let python = pieces("py", "def f(x):\n    return 1  # one\n");
        for piece in [
            ("def", Token::Keyword),
            ("f", Token::Function),
            ("1", Token::Number),
            ("# one", Token::Comment),
        ] {
            assert!(python.contains(&piece), "{piece:?} in {python:?}");
        }
        assert!(
            pieces("console", "echo \"$HOME\"")
                .iter()
                .any(|(_, token)| *token == Token::String)
        );
        assert!(pieces("tsx", "const a: number = 1;").contains(&("const", Token::Keyword)));
        assert_eq!(calmly("klingon", "x"), None);
    }

    #[test]
    fn spans_are_in_order_and_do_not_overlap_even_in_broken_text() {
        let broken = "fn main( { \"a \\n \\u{41}\", 'x', r#\"y\"# } } /* open";
        for language in languages() {
            let spans = calmly(language.name, broken).unwrap_or_default();
            for pair in spans.windows(2) {
                assert!(pair[0].0.end <= pair[1].0.start, "{}: {pair:?}", language.name);
            }
        }
    }

    #[test]
    fn nearly_every_language_has_colours() {
        let without: Vec<&str> = languages()
            .iter()
            .filter(|language| make(language).is_none())
            .map(|language| language.name)
            .collect();
        assert!(without.len() <= 4, "{without:?}");
    }

    #[test]
    fn what_takes_too_long_is_left_plain() {
        let text = "fn main() { let x = 1; }\n".repeat(2_000);
        assert!(highlight_within(Duration::ZERO, "rust", &text).is_none());
        assert!(calmly("rust", &text).is_some_and(|spans| !spans.is_empty()));
    }
}
