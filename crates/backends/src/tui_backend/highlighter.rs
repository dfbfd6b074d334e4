//! A back end that only highlights source text, for output without the screen.

use super::highlight;
use futures::future::{BoxFuture, FutureExt as _};
use std::ops::Range;
use tui::{
    BackendFuture, DesktopBackend, ModelBackend, OpenedSession, ProcessBackend, ProjectBackend, PromptBackend,
    ReviewBackend, SessionBackend, SessionTarget, SettingsBackend, SyntaxToken, unavailable,
};

/// Highlights source text.
pub struct Highlighter;

impl ProjectBackend for Highlighter {
    fn highlight(&self, language: &str, text: &str) -> Option<Vec<(Range<usize>, SyntaxToken)>> {
        highlight(language, text)
    }
}

impl SessionBackend for Highlighter {
    fn open(&self, _: SessionTarget) -> BackendFuture<OpenedSession> {
        unavailable("sessions")
    }

    fn close(&self, _: session::SessionId) -> BoxFuture<'static, ()> {
        async {}.boxed()
    }
}

impl DesktopBackend for Highlighter {}
impl ModelBackend for Highlighter {}
impl ProcessBackend for Highlighter {}
impl PromptBackend for Highlighter {}
impl ReviewBackend for Highlighter {}
impl SettingsBackend for Highlighter {}
