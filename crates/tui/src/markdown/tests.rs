//! Complete and streaming Markdown as rows.

use super::*;
use crate::backend::{
    BackendFuture, DesktopBackend, ModelBackend, OpenedSession, ProcessBackend, ProjectBackend, PromptBackend,
    ReviewBackend, SessionBackend, SessionTarget, SettingsBackend, SyntaxToken, unavailable,
};
use crate::keys::KeyMap;
use futures::future::{BoxFuture, FutureExt as _};
use std::ops::Range;

/// A backend that highlights one keyword.
struct Plain;

impl SessionBackend for Plain {
    fn open(&self, _: SessionTarget) -> BackendFuture<OpenedSession> {
        unavailable("sessions")
    }

    fn close(&self, _: session::SessionId) -> BoxFuture<'static, ()> {
        async {}.boxed()
    }
}

impl ProjectBackend for Plain {
    fn highlight(&self, language: &str, text: &str) -> Option<Vec<(Range<usize>, SyntaxToken)>> {
        (language == "rust").then(|| {
            text.match_indices("fn")
                .map(|(at, _)| (at..at + 2, SyntaxToken::Keyword))
                .collect()
        })
    }
}

impl ReviewBackend for Plain {}

impl ModelBackend for Plain {}

impl SettingsBackend for Plain {}

impl ProcessBackend for Plain {}

impl PromptBackend for Plain {}

impl DesktopBackend for Plain {}

fn lines(source: &str, width: usize) -> Vec<String> {
    let theme = Theme::default();
    let context = RenderContext {
        theme: &theme,
        backend: &Plain,
        keys: &KeyMap::default(),
        root: std::path::Path::new(""),
    };
    rows(source, width, context)
        .iter()
        .map(|row| row.text().trim_end().to_string())
        .collect()
}

#[test]
fn blocks_become_rows() {
    let cases: &[(&str, usize, &[&str])] = &[
        ("one two three", 7, &["one two", "three"]),
        ("a\n\nb", 20, &["a", "", "b"]),
        ("# T\ntext", 20, &["T", "", "text"]),
        ("- a\n- b\n  - c", 20, &["• a", "• b", "  • c"]),
        (
            "3. three\n4. four and more",
            12,
            &["3. three", "4. four and", "   more"],
        ),
        ("- [x] done\n- [ ] open", 20, &["• ☑ done", "• ☐ open"]),
        ("> quoted text here", 12, &["▎ quoted", "▎ text here"]),
        ("```rust\nfn a() {\n    b\n}\n```", 20, &["fn a() {", "    b", "}"]),
        ("```\nlong line of code\n```", 8, &["long lin", "e of cod", "e"]),
        ("[site](https://a.example)", 40, &["site (https://a.example)"]),
        ("<https://a.example>", 40, &["https://a.example"]),
        ("a  \nb", 20, &["a", "b"]),
        (
            "| a | bb |\n|--:|----|\n| 1 | 2 |",
            20,
            &["  a │ bb", "────┼────", "  1 │ 2"],
        ),
        ("| a | b |\n|---|---|\n| 1 | 2 |", 6, &["• a", "  b", "• 1", "  2"]),
        ("", 20, &[]),
    ];
    for (source, width, expected) in cases {
        assert_eq!(&lines(source, *width), expected, "{source:?}");
    }
}

#[test]
fn words_keep_their_styles() {
    let theme = Theme::default();
    let context = RenderContext {
        theme: &theme,
        backend: &Plain,
        keys: &KeyMap::default(),
        root: std::path::Path::new(""),
    };
    let found = rows("a **b** `c` *d* [e](https://x.example/e)", 80, context);
    let pieces: Vec<(&str, bool, bool)> = found[0]
        .spans
        .iter()
        .map(|piece| (piece.text.as_str(), piece.style != theme.text, piece.link.is_some()))
        .collect();
    assert_eq!(
        pieces,
        [
            ("a ", false, false),
            ("b", true, false),
            (" ", false, false),
            ("c", true, false),
            (" ", false, false),
            ("d", true, false),
            (" ", false, false),
            ("e", true, true),
            (" (https://x.example/e)", true, false),
        ]
    );
    let code = rows("```rust\nfn a\n```", 80, context);
    assert_eq!(
        code[0].spans[0],
        StyledSpan::new("fn", theme.token_style(SyntaxToken::Keyword))
    );
}

#[test]
fn no_row_exceeds_the_width() {
    let source = "# A long heading with words\n\n- item with a `long_code_span_inside` it\n  - nested **bold words** here\n\n\
                  > quote with more words than fit\n\n| column | another column |\n|---|---|\n| some text | other text 漢字 |\n";
    for width in 8..60 {
        for row in lines(source, width) {
            assert!(
                unicode_width::UnicodeWidthStr::width(row.as_str()) <= width,
                "{width}: {row:?}"
            );
        }
    }
}
