//! The forms of a call whose parameters are tags: our own, and the one that Qwen's coding models were trained on.
//!
//! Theirs is `<tool_call><function=name><parameter=key>value</parameter>…</function></tool_call>`. They forget the outer tag, or
//! only its beginning, so neither is asked for.

use super::hermes;
use super::tags::{Found, assigning, closing, opening, word};

/// How a call is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `<tool><parameter>value</parameter></tool>`
    Own,
    /// `<function=tool><parameter=name>value</parameter></function>`
    Function,
}

const FUNCTION: &str = "function";
const PARAMETER: &str = "parameter";

impl Form {
    /// Whether a text begins with the end of a call.
    pub(super) fn closing(self, text: &str, tool: &str) -> Found {
        match self {
            Form::Own => closing(text, tool),
            Form::Function => match closing(text, FUNCTION) {
                // The end of the outer tag belongs to it.
                Found::Yes(bytes) => {
                    let rest = text[bytes..].trim_start();
                    match rest.strip_prefix(hermes::CLOSE) {
                        Some(after) => Found::Yes(text.len() - after.len()),
                        None if hermes::CLOSE.starts_with(rest) => Found::Maybe,
                        None => Found::Yes(bytes),
                    }
                }
                found => found,
            },
        }
    }

    /// Whether a text begins with a parameter, and its name.
    pub(super) fn opening(self, text: &str) -> (Found, &str) {
        match self {
            Form::Own => (opening(text), text.strip_prefix('<').map(word).unwrap_or_default()),
            Form::Function if text.is_empty() => (Found::Maybe, ""),
            Form::Function => assigning(text, PARAMETER),
        }
    }

    /// What the tag at the end of a value is called.
    pub(super) fn end_of(self, parameter: &str) -> &str {
        match self {
            Form::Own => parameter,
            Form::Function => PARAMETER,
        }
    }
}

/// What a text that begins with `<function=…>` or `<tool_call>` turns out to be.
pub(super) enum Begins<'a> {
    /// A call of this tool, whose tags have so many bytes.
    Call(&'a str, usize),
    /// The form of a call whose input is JSON.
    Json,
    Maybe,
    No,
}

/// Whether a text begins with a call in one of the forms that models were trained on.
pub(super) fn begins(text: &str) -> Begins<'_> {
    let inside = match text.strip_prefix(hermes::OPEN) {
        Some(inside) => inside.trim_start(),
        None if hermes::OPEN.starts_with(text) => return Begins::Maybe,
        None => text,
    };
    let before = text.len() - inside.len();
    match assigning(inside, FUNCTION) {
        (Found::Yes(bytes), name) => Begins::Call(name, before + bytes),
        (Found::Maybe, _) => Begins::Maybe,
        (Found::No, _) if before > 0 => match inside.is_empty() {
            true => Begins::Maybe,
            false => Begins::Json,
        },
        (Found::No, _) => Begins::No,
    }
}
