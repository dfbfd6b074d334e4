//! Call syntaxes with parameters as tags: hew's own, and the one that Qwen's coding models were trained on.
//!
//! Theirs is `<tool_call><function=name><parameter=key>value</parameter>…</function></tool_call>`. They often omit the
//! outer tag or its start, so neither is required.

use super::hermes;
use super::tags::{TagMatch, assigning, closing, opening, word};

/// The syntax of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallSyntax {
    /// `<tool><parameter>value</parameter></tool>`
    Tags,
    /// `<function=tool><parameter=name>value</parameter></function>`
    Function,
}

const FUNCTION: &str = "function";
const PARAMETER: &str = "parameter";

impl CallSyntax {
    /// Matches the end of a call.
    pub(super) fn closing(self, text: &str, tool: &str) -> TagMatch {
        match self {
            CallSyntax::Tags => closing(text, tool),
            CallSyntax::Function => match closing(text, FUNCTION) {
                // The end of the outer tag belongs to it.
                TagMatch::Yes(bytes) => {
                    let rest = text[bytes..].trim_start();
                    match rest.strip_prefix(hermes::CLOSE) {
                        Some(after) => TagMatch::Yes(text.len() - after.len()),
                        None if hermes::CLOSE.starts_with(rest) => TagMatch::Maybe,
                        None => TagMatch::Yes(bytes),
                    }
                }
                found => found,
            },
        }
    }

    /// Matches the start of a parameter and returns its name.
    pub(super) fn opening(self, text: &str) -> (TagMatch, &str) {
        match self {
            CallSyntax::Tags => (opening(text), text.strip_prefix('<').map(word).unwrap_or_default()),
            CallSyntax::Function if text.is_empty() => (TagMatch::Maybe, ""),
            CallSyntax::Function => assigning(text, PARAMETER),
        }
    }

    /// The name of the tag that ends a value.
    pub(super) fn end_of(self, parameter: &str) -> &str {
        match self {
            CallSyntax::Tags => parameter,
            CallSyntax::Function => PARAMETER,
        }
    }
}

/// Classifies a text that begins with `<function=…>` or `<tool_call>`.
pub(super) enum CallStart<'a> {
    /// A call of this tool; its tags have this many bytes.
    Call(&'a str, usize),
    /// A call with JSON input.
    Json,
    Maybe,
    No,
}

/// Matches the start of a call in one of the syntaxes that models were trained on.
pub(super) fn call_start(text: &str) -> CallStart<'_> {
    let inside = match text.strip_prefix(hermes::OPEN) {
        Some(inside) => inside.trim_start(),
        None if hermes::OPEN.starts_with(text) => return CallStart::Maybe,
        None => text,
    };
    let before = text.len() - inside.len();
    match assigning(inside, FUNCTION) {
        (TagMatch::Yes(bytes), name) => CallStart::Call(name, before + bytes),
        (TagMatch::Maybe, _) => CallStart::Maybe,
        (TagMatch::No, _) if before > 0 => match inside.is_empty() {
            true => CallStart::Maybe,
            false => CallStart::Json,
        },
        (TagMatch::No, _) => CallStart::No,
    }
}
